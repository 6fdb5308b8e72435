//! How the person's check stands, as the next message tells it.

use serde::{Deserialize, Serialize};

use crate::protocol::{Outcome, Status};

/// What the last run of the check told.
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
    /// In an earlier round; nothing has changed since, and it was told then.
    Before,
}

impl CheckReport {
    /// Whether the work is good.
    pub fn passed(&self) -> bool {
        self.outcome.status == Status::Ok
    }
}
