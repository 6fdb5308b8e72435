//! How far a session is that plans before it works.

use serde::{Deserialize, Serialize};

/// Where a session stands between a plan and the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Planning {
    /// It works without a plan that somebody must approve.
    #[default]
    Off,
    /// The model looks around; nothing is changed.
    Underway,
    /// The model's plan waits for the person.
    Proposed,
    /// The person approved the plan, and the work has begun.
    Approved,
}

impl Planning {
    /// True if only reading steps are carried out.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Underway | Self::Proposed)
    }
}

/// The person's decision about the plan, as one message reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNews {
    /// The number of that outbox.
    pub sequence: u32,
    /// The words.
    pub text: String,
}
