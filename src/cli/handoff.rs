//! `agent handoff`: the session goes on in another chat.

use std::process::ExitCode;

use clap::Args;

use super::{Common, choices, open, resume};
use crate::error::Result;
use crate::session::LoopLock;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent handoff
  agent handoff ab12

Paste the message into a new chat, of the same vendor or another one. Its reply is taken as usual, \
also by a loop that waits in another terminal.";

/// Write the message anew for another chat: one that knows nothing of the work
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Handoff {
    /// The session: its id, the first few digits of it, or `latest`; the latest unfinished one if
    /// it is left out
    #[arg(value_name = "ID")]
    id: Option<String>,
}

impl Handoff {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let mut agent = open::agent(common, ui, open::FirstRun::Refuse)?;
        let session = resume::find(&agent.store, &agent.ui, self.id.as_deref())?;
        choices::recall(&mut agent, common, &session)?;
        let id = session.session_id;
        let handed = agent.hand_over(&id)?;
        agent.tell_outbox(
            handed.sequence,
            &handed.posted,
            &handed.text,
            &handed.cuts,
            false,
        );
        let is_running = LoopLock::holder(agent.store.directory())
            .is_some_and(|holder| holder.session.as_ref() == Some(&id));
        let next = if is_running {
            "The loop that runs takes the reply.".to_owned()
        } else {
            format!("`agent resume {id}` waits for the reply.")
        };
        agent.ui.say(&format!(
            "It has all that a new chat must know; the old chat is not needed any more. {next}"
        ));
        Ok(ExitCode::SUCCESS)
    }
}
