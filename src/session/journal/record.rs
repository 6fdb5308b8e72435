//! What the journal tells, line by line.

use serde::{Deserialize, Serialize};

use super::super::{CheckReport, PastRound, Session};
use super::KeptSession;
use crate::checkpoint::{Before, Snapshot};
use crate::protocol::{Batch, SessionId, StepResult};

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
    /// What the workspace is before the steps of a round.
    Before {
        /// The round.
        sequence: u32,
        /// Its checkpoint.
        #[serde(flatten)]
        before: Before,
    },
    /// What the steps of a round made of the workspace.
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
        /// What they said.
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
        /// What they change in files, prepared and not yet made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        batch: Option<Batch>,
    },
    /// A step was executed.
    Finished {
        /// The round.
        sequence: u32,
        /// What became of it.
        result: StepResult,
    },
    /// What was before is compacted; always the first record.
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
    },
}

/// How much it can matter that records are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MissingRecords {
    /// They never were on the disk as a whole, so nothing was done on their word.
    NotActedOn,
    /// What they announced may have been done.
    ActedOn,
}
