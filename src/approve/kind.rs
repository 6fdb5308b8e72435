//! What a question is about, and so which answers it has.

use serde::{Deserialize, Serialize};

use super::Verdict;

/// What the person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Whether a step is carried out.
    #[default]
    Step,
    /// Whether a command that was run is run again with the network: `yes` is once, `always` is for
    /// the rest of the session.
    Network,
    /// Whether the work begins that a plan describes.
    Plan,
    /// If values that may be no secrets are sent as they are.
    Secrets,
}

impl Kind {
    /// Whether it is the usual one.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    pub(super) fn is_step(&self) -> bool {
        *self == Self::Step
    }

    /// The word for a decision, as the person is told it.
    pub fn word(self, verdict: &Verdict) -> &'static str {
        match (self, verdict) {
            (Self::Network, Verdict::Yes) => "once",
            (Self::Network, Verdict::Always) => "session",
            _ => verdict.word(),
        }
    }

    /// Whether a typed decision is one of the answers.
    pub(super) fn takes(self, verdict: &Verdict) -> bool {
        match self {
            Self::Step => true,
            Self::Network | Self::Plan | Self::Secrets => {
                matches!(verdict, Verdict::Yes | Verdict::No { .. } | Verdict::Stop)
            }
        }
    }

    /// What can be answered on the terminal, where it is not the usual.
    pub(super) fn prompt(self) -> Option<&'static str> {
        match self {
            Self::Step => None,
            Self::Network => {
                Some("Run again with the network? o once, s this session, n no, q stop")
            }
            Self::Plan => {
                Some("Approve the plan? y yes, n no (say what to change), e edit, q stop")
            }
            Self::Secrets => Some("Send them as they are? y yes, n keep them back, q stop"),
        }
    }
}
