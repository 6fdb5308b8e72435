//! The records of the journal.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::{CheckReport, PastRound, SCHEMA, Session};
use super::KeptSession;
use crate::checkpoint::{Before, Snapshot};
use crate::error::Error;
use crate::protocol::{SessionId, StagedBatch, StepResult};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Record {
    /// A reply was taken out of the inbox for this round.
    Claimed {
        /// The round that it answers.
        sequence: u32,
        /// Where it lies now, in `inbox/processed/`.
        file: String,
        /// The identity of its text.
        identity: String,
    },
    /// The state of the workspace before the steps of a round.
    Before {
        /// The round.
        sequence: u32,
        /// Its checkpoint.
        #[serde(flatten)]
        before: Before,
    },
    /// The state of the workspace after the steps of a round.
    After {
        /// The round.
        sequence: u32,
        /// Its checkpoint.
        snapshot: Snapshot,
    },
    /// The steps of a round may have changed something, and there is no checkpoint to tell what.
    Uncovered {
        /// The round.
        sequence: u32,
    },
    /// The person's check is about to be run.
    Checking {
        /// The round.
        sequence: u32,
        /// The command.
        command: String,
    },
    /// The person's check has ended.
    Checked {
        /// The round.
        sequence: u32,
        /// How.
        report: CheckReport,
    },
    /// The person took these rounds back.
    Undone {
        /// The rounds.
        rounds: Vec<u32>,
        /// The files that could not be restored.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<String>,
    },
    /// The person put these rounds again.
    Redone {
        /// The rounds.
        rounds: Vec<u32>,
        /// The files that could not be restored.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<String>,
    },
    /// The person opened a session again that had ended.
    Reopened {
        /// The round that comes next.
        sequence: u32,
    },
    /// The person said what they want beyond the task.
    Instructed {
        /// The round whose message tells it first.
        sequence: u32,
        /// The text.
        text: String,
    },
    /// The message of a round was written anew for a chat that knows nothing.
    HandedOver {
        /// The round.
        sequence: u32,
    },
    /// The session goes on from a round of another one.
    Forked {
        /// The other session.
        from: SessionId,
        /// The last round that they have in common.
        round: u32,
    },
    /// These steps are about to be executed, by their numbers.
    Started {
        /// The round.
        sequence: u32,
        /// The numbers of the steps.
        steps: Vec<u32>,
        /// Their file changes, staged but not yet made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        batch: Option<StagedBatch>,
    },
    /// A step was executed.
    Finished {
        /// The round.
        sequence: u32,
        /// Its result.
        result: StepResult,
    },
    /// Earlier records are compacted; always the first record.
    Compacted {
        /// How often that was done.
        number: u64,
        /// How many bytes the compacted records after this one have.
        bytes: u64,
    },
    /// A round that is over, without the session that it left.
    Told {
        /// The round.
        #[serde(flatten)]
        round: PastRound,
    },
    /// How the session stood after one of the latest rounds.
    Kept {
        /// The round.
        round: u32,
        /// The session.
        session: KeptSession,
    },
    /// Records before this one are missing: what they told of the round under way is unknown.
    Truncated {
        /// How much that can matter.
        missing: MissingRecords,
    },
    /// A round is over; the session goes on from here.
    Round {
        /// The session as it was saved.
        session: Box<Session>,
        /// True if the length of the journal was noted by then, so that a missing note is a loss. The
        /// journal itself sets it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        marked: bool,
    },
}

/// How much it can matter that records are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MissingRecords {
    /// They never were on the disk as a whole, so nothing was done on their word.
    NotActedOn,
    /// Their steps may have been carried out.
    ActedOn,
}

/// The names of all records; any other comes from a newer version.
const NAMES: [&str; 19] = [
    "claimed",
    "before",
    "after",
    "uncovered",
    "checking",
    "checked",
    "undone",
    "redone",
    "reopened",
    "instructed",
    "handedOver",
    "forked",
    "started",
    "finished",
    "compacted",
    "told",
    "kept",
    "truncated",
    "round",
];

/// Why a line of a journal cannot be used.
#[derive(Debug)]
pub(in crate::session) enum RecordProblem {
    /// A newer version wrote it.
    Newer,
    /// It is no record.
    Damaged(serde_json::Error),
}

impl Record {
    /// Reads a line.
    pub(in crate::session) fn parse(line: &[u8]) -> Result<Self, RecordProblem> {
        match serde_json::from_slice(line) {
            Ok(Self::Round { session, .. }) if session.schema > SCHEMA => Err(RecordProblem::Newer),
            Ok(record) => Ok(record),
            Err(cause) => Err(RecordProblem::new(line, cause)),
        }
    }
}

impl RecordProblem {
    /// Tells a record of a newer version from damage: it is whole, but has another name or schema.
    pub(in crate::session) fn new(line: &[u8], cause: serde_json::Error) -> Self {
        #[derive(Deserialize)]
        struct RecordName {
            event: String,
        }
        #[derive(Deserialize)]
        struct RoundSchema {
            session: SessionSchema,
        }
        #[derive(Deserialize)]
        struct SessionSchema {
            schema: u32,
        }
        let has_newer_name = serde_json::from_slice::<RecordName>(line)
            .is_ok_and(|name| !NAMES.contains(&name.event.as_str()));
        let has_newer_schema = serde_json::from_slice::<RoundSchema>(line)
            .is_ok_and(|round| round.session.schema > SCHEMA);
        if has_newer_name || has_newer_schema {
            Self::Newer
        } else {
            Self::Damaged(cause)
        }
    }

    /// Says so of a line of this journal, named like `line 7`.
    pub(in crate::session) fn in_line(self, path: &Path, which: &str) -> Error {
        match self {
            Self::Newer => Error::newer(path)
                .because(format!(
                    "{which} has a form that this version does not know"
                ))
                .hint("if no newer one was used here, restore the file from a backup"),
            Self::Damaged(cause) => {
                Error::mendable(format!("{which} of `{}` cannot be read", path.display()))
                    .because(cause)
                    .hint("restore the file from a backup; if a newer `agent` wrote it, update")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::session;

    #[test]
    fn every_record_is_named() {
        let unknown = serde_json::from_str::<Record>(r#"{"event": "x"}"#).unwrap_err();
        let names = NAMES.map(|name| format!("`{name}`")).join(", ");
        let said = unknown.to_string();
        assert!(said.contains(&format!("expected one of {names}")), "{said}");
    }

    #[test]
    fn a_newer_record_is_told_from_a_damaged_one() {
        let is_newer =
            |line: &str| matches!(Record::parse(line.as_bytes()), Err(RecordProblem::Newer));
        assert!(is_newer(r#"{"event":"merged","rounds":[1]}"#));
        assert!(is_newer(
            r#"{"event":"round","session":{"schema":2,"name":"x"}}"#
        ));
        let mut session = session("ab12cd34");
        session.schema = SCHEMA + 1;
        let session = Box::new(session);
        assert!(is_newer(
            &serde_json::to_string(&Record::Round {
                session,
                marked: false
            })
            .unwrap()
        ));
        for damaged in [
            r#"{"event":"claimed"}"#,
            r#"{"event":"merg"#,
            r#"{"event":"round","session":{"schema":1}}"#,
            "7",
            "",
        ] {
            let problem = Record::parse(damaged.as_bytes()).unwrap_err();
            assert!(matches!(problem, RecordProblem::Damaged(_)), "{damaged}");
        }
    }
}
