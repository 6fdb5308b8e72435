//! The rounds of a session as its journal tells them, for those who look back.
//!
//! Nothing is changed or cut off here: the journal may be another process's, at work. A line that
//! cannot be read is counted and passed over, because what can be read is still worth showing. A
//! line of a newer version is refused: without it the rest may mean something else.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journal::{KeptSession, RecordProblem};
use super::{History, ModelQuestion, Record, SCHEMA, Session, Store};
use crate::error::{Error, Result};
use crate::protocol::Issue;
use crate::protocol::{SessionId, StepResult};

/// The history of a session, read from its journal.
#[derive(Debug, Default)]
pub struct Past {
    /// The rounds that are over, in their order.
    pub rounds: Vec<PastRound>,
    /// Which rounds changed the workspace, and which are undone.
    pub history: History,
    /// From which session it was forked, and after which of its rounds.
    pub origin: Option<(SessionId, u32)>,
    /// How many lines could not be read.
    pub unreadable: usize,
    /// The round that is under way, with the results that are there already.
    pub under_way: Option<PastRound>,
}

/// A round that is over.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PastRound {
    /// Its number.
    pub number: u32,
    /// The reply to it: its file in `inbox/processed/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The results of its steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<StepResult>,
    /// The parts of the reply that could not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
    /// The model's questions and the person's answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<ModelQuestion>,
    /// The person's notes for the next message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The fields of the session that are read from a `round` record.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    schema: u32,
    sequence_number: u32,
    updated_at: Timestamp,
    last_results: Vec<StepResult>,
    #[serde(default)]
    last_issues: Vec<Issue>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    questions: Vec<ModelQuestion>,
}

#[derive(Debug, Deserialize)]
struct RoundRecord {
    session: Saved,
}

impl Store {
    /// The rounds of a session.
    pub fn past(&self, id: &SessionId) -> Result<Past> {
        Past::read(&self.journal_path(id))
    }
}

impl Store {
    /// The session as it stood after a round.
    ///
    /// It may have been saved several times then, as when a question was answered: the last counts.
    pub fn after_round(&self, id: &SessionId, round: u32) -> Result<Option<Session>> {
        #[derive(Deserialize)]
        struct Whole {
            session: Session,
        }
        let path = self.journal_path(id);
        let failed = |cause: io::Error| Error::file("read", &path, cause);
        let mut reader = BufReader::new(File::open(&path).map_err(failed)?);
        let (mut line, mut found) = (Vec::new(), None);
        let (mut kept, mut told) = (Value::Null, Vec::new());
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 && line.ends_with(b"\n") {
            if is_round(&line)
                && let Ok(record) = serde_json::from_slice::<RoundRecord>(&line)
                && record.session.sequence_number == round + 1
            {
                let whole = serde_json::from_slice::<Whole>(&line);
                found = Some(whole.map_err(|cause| failed(cause.into()))?.session);
            } else if line.starts_with(b"{\"event\":\"kept\"")
                && let Ok(Record::Kept { round: of, session }) = serde_json::from_slice(&line)
            {
                kept = session.follow(kept).unwrap_or_default();
                if of == round {
                    let session = KeptSession::with_results(kept.clone(), &told);
                    let session = serde_json::from_value(session);
                    found = Some(session.map_err(|cause| failed(cause.into()))?);
                }
            } else if line.starts_with(b"{\"event\":\"told\"")
                && let Ok(Record::Told { round: of }) = serde_json::from_slice(&line)
                && of.number == round
            {
                told = of.results;
            }
            line.clear();
        }
        Ok(found)
    }
}

pub(super) fn is_round(line: &[u8]) -> bool {
    line.starts_with(b"{\"event\":\"round\"")
}

impl Past {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let failed = |cause: io::Error| Error::file("read", path, cause);
        let mut past = Self::default();
        let file = match File::open(path) {
            Ok(file) => file,
            // One that was never at work.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(past),
            Err(cause) => return Err(failed(cause)),
        };
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        let mut claimed = None;
        let mut number = 0_u64;
        // The results of the round that is under way, not read yet: most rounds are over.
        let mut finished = Vec::new();
        // A last line without its end is torn, or being written.
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 && line.ends_with(b"\n") {
            number += 1;
            if is_round(&line) {
                finished.clear();
            } else if line.starts_with(b"{\"event\":\"finished\"") {
                finished.push(line.clone());
            }
            match past.take(&line, &mut claimed) {
                Ok(()) => {}
                Err(RecordProblem::Damaged(_)) => past.unreadable += 1,
                Err(newer) => return Err(newer.in_line(path, &format!("line {number}"))),
            }
            line.clear();
        }
        let last = past.rounds.last().map_or(0, |last| last.number);
        past.under_way = claimed
            .filter(|(number, _)| *number > last)
            .map(|(number, file)| {
                let results = finished
                    .iter()
                    .filter_map(|line| match Record::parse(line) {
                        Ok(Record::Finished { sequence, result }) if sequence == number => {
                            Some(result)
                        }
                        _ => None,
                    });
                PastRound {
                    number,
                    file: Some(file),
                    results: results.collect(),
                    ..PastRound::default()
                }
            });
        Ok(past)
    }

    fn take(
        &mut self,
        line: &[u8],
        claimed: &mut Option<(u32, String)>,
    ) -> Result<(), RecordProblem> {
        if is_round(line) {
            let record: RoundRecord =
                serde_json::from_slice(line).map_err(|cause| RecordProblem::new(line, cause))?;
            if record.session.schema > SCHEMA {
                return Err(RecordProblem::Newer);
            }
            self.end(record.session, claimed);
            return Ok(());
        }
        // What steps did is told again at the end of their round, as the model is told it.
        if line.starts_with(b"{\"event\":\"finished\"")
            || line.starts_with(b"{\"event\":\"started\"")
            || line.starts_with(b"{\"event\":\"kept\"")
        {
            return Ok(());
        }
        match Record::parse(line)? {
            Record::Claimed { sequence, file, .. } => *claimed = Some((sequence, file)),
            Record::Forked { from, round } => self.origin = Some((from, round)),
            Record::Told { round } => self.rounds.push(round),
            record => self.history.take(&record),
        }
        Ok(())
    }

    /// A session was saved: a round is over, or the last one has an answer more.
    fn end(&mut self, saved: Saved, claimed: &mut Option<(u32, String)>) {
        let number = saved.sequence_number.saturating_sub(1);
        let last = self.rounds.last().map_or(0, |last| last.number);
        // A fork begins in the middle: what was before is the past of another session.
        let begun_with = self.origin.as_ref().map_or(0, |(_, round)| *round);
        if number < last || number <= begun_with {
            return;
        }
        let is_known = number == last;
        if !is_known {
            let file = claimed.take().filter(|(sequence, _)| *sequence == number);
            self.rounds.push(PastRound {
                number,
                file: file.map(|(_, file)| file),
                ended_at: Some(saved.updated_at),
                ..PastRound::default()
            });
        }
        if let Some(round) = self.rounds.last_mut() {
            round.results = saved.last_results;
            round.issues = saved.last_issues;
            round.questions = saved.questions;
            round.notes = saved.notes;
        }
    }
}
