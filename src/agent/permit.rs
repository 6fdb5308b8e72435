//! What the person permits, before a step is executed.

use crate::protocol::{Command, Outcome, Step};
use crate::settings::Commands;

/// What may be executed.
#[derive(Debug, Clone, Copy)]
pub struct Permit {
    /// Whether the model may run commands.
    pub commands: Commands,
}

impl Permit {
    /// Whether the model may run commands at all.
    pub(super) fn runs_commands(self) -> bool {
        self.commands == Commands::Run
    }

    /// The refusal of a step, if it is not permitted.
    pub(super) fn refusal(self, step: &Step) -> Option<Outcome> {
        match (&step.command, self.commands) {
            (Command::RunCommand { .. }, Commands::Off) => Some(Outcome::refused(
                "the user has switched commands off; work with files only, and say what to run in a MESSAGE",
            )),
            _ => None,
        }
    }
}
