//! `agent handoff`: the session goes on in another chat.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::services::handoff;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent handoff
  agent handoff ab12

Paste the message into a new chat, of the same vendor or another one. Its reply is used as always, \
also by a loop that waits in another terminal.";

/// Rewrite the message for another chat: one that knows nothing of the work
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Handoff {
    /// The session: its ID, the first few digits of it, or `latest`; by default the latest
    /// unfinished one
    #[arg(value_name = "ID")]
    id: Option<String>,
}

impl Handoff {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let handed = handoff::hand_over(&common.acting_caller(ui)?, self.id.as_deref())?;
        let next = if handed.is_running {
            "The loop that runs takes the reply.".to_owned()
        } else {
            format!("`agent resume {}` waits for the reply.", handed.session)
        };
        ui.say(&format!(
            "It has all that a new chat must know; the old chat is not needed any more. {next}"
        ));
        Ok(ExitCode::SUCCESS)
    }
}
