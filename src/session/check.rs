//! How the person's check stands, as the next message tells it.

use serde::{Deserialize, Serialize};

use crate::protocol::{Outcome, Status};

/// The result of the last check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The command.
    pub command: String,
    /// When it ran.
    pub when: CheckedWhen,
    /// How it ended, and what it printed.
    pub outcome: Outcome,
}

/// When a check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckedWhen {
    /// Before the first message.
    AtStart,
    /// After the steps of the last reply.
    AfterRound,
    /// After the person took rounds back, or put them again.
    AfterReversal,
    /// In an earlier round; nothing has changed since, and it was told then.
    Before,
    /// In an earlier round, and told then; files have changed since, or may have.
    Outdated,
    /// It has not: the person set it while the session was under way.
    NotYet,
}

impl CheckedWhen {
    /// True if an earlier message reported it.
    pub fn is_told(self) -> bool {
        matches!(self, Self::Before | Self::Outdated)
    }
}

impl CheckReport {
    /// The state of a check that has not run yet.
    pub fn not_yet(command: String) -> Self {
        let word = "it has not run yet; it runs after the next reply that changes something or says [DONE]";
        Self {
            command,
            when: CheckedWhen::NotYet,
            outcome: Outcome::skipped(word),
        }
    }

    /// True if it ran and did not pass.
    pub fn failed(&self) -> bool {
        self.outcome.status == Status::Failed
    }

    /// True if it passed.
    pub fn passed(&self) -> bool {
        self.outcome.status == Status::Ok
    }
}
