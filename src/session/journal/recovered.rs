//! Reads the state of an unfinished round from its records.

use std::time::SystemTime;

use super::super::{CheckReport, SCHEMA, Session};
use super::{MissingRecords, Record};
use crate::checkpoint::Before;
use crate::protocol::{StagedBatch, StepResult};

/// An unfinished round, as the journal describes it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The session as the last finished round left it, if any round was finished.
    pub session: Option<Session>,
    /// The claimed reply of the round that was under way.
    pub claimed: Option<ClaimedReply>,
    /// Steps of that round that were begun.
    pub started: Vec<u32>,
    /// Their file changes, batch by batch.
    pub batches: Vec<StagedBatch>,
    /// Steps of that round that were finished.
    pub finished: Vec<StepResult>,
    /// The state of the workspace before that round.
    pub before: Option<Before>,
    /// How far the person's check came.
    pub check: CheckProgress,
    /// Rounds that were undone since the session was saved.
    pub undone: Vec<u32>,
    /// Rounds that were put again since the session was saved.
    pub redone: Vec<u32>,
    /// Set if records of that round are missing: steps not mentioned here may have run.
    pub missing: Option<MissingRecords>,
    /// How many bytes a half-written last line has.
    pub torn_bytes: u64,
    /// How many bytes the journal once had beyond its last whole line.
    pub lost_bytes: u64,
    /// True if the length of the journal was noted when the session was saved.
    pub is_marked: bool,
    /// When the journal was last written.
    pub written_at: Option<SystemTime>,
}

/// A reply that is being carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedReply {
    /// Its file in `inbox/processed/`.
    pub file: String,
    /// Its hash when it was claimed.
    pub identity: String,
}

/// How far the person's check came since the session was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CheckProgress {
    /// It was not begun.
    #[default]
    NotBegun,
    /// This command was begun, and nobody knows how it ended.
    Begun(String),
    /// It ended like this.
    Ended(CheckReport),
}

impl Recovered {
    pub(super) fn take(&mut self, record: Record) {
        match record {
            Record::Claimed { file, identity, .. } => {
                self.claimed = Some(ClaimedReply { file, identity });
                self.before = None;
                self.check = CheckProgress::NotBegun;
                self.started.clear();
                self.batches.clear();
                self.finished.clear();
            }
            Record::Started { steps, batch, .. } => {
                // A step that is begun a second time is not finished, whatever it was before.
                self.finished
                    .retain(|result| !steps.contains(&result.number));
                self.started.extend(steps);
                self.batches.extend(batch);
            }
            Record::Finished { result, .. } => self.finished.push(result),
            Record::Round {
                mut session,
                marked,
            } => {
                // As with a state file: an older form goes on as one of this version.
                session.schema = SCHEMA;
                *self = Self {
                    session: Some(*session),
                    is_marked: marked,
                    ..Self::default()
                };
            }
            Record::Before { before, .. } => self.before = Some(before),
            Record::Checking { command, .. } => self.check = CheckProgress::Begun(command),
            Record::Checked { report, .. } => self.check = CheckProgress::Ended(report),
            Record::Undone { rounds, .. } => {
                self.redone.retain(|round| !rounds.contains(round));
                self.undone.extend(rounds);
            }
            Record::Redone { rounds, .. } => {
                self.undone.retain(|round| !rounds.contains(round));
                self.redone.extend(rounds);
            }
            Record::Truncated { missing } => self.missing = self.missing.max(Some(missing)),
            Record::After { .. }
            | Record::Uncovered { .. }
            | Record::Reopened { .. }
            | Record::Instructed { .. }
            | Record::HandedOver { .. }
            | Record::Compacted { .. }
            | Record::Told { .. }
            | Record::Kept { .. }
            | Record::Forked { .. } => {}
        }
    }
}
