//! `agent status`: where things stand and what to do now.

use std::process::ExitCode;

use clap::Args;

use super::{Common, approve, list, open, resume};
use crate::error::Result;
use crate::session::LoopLock;
use crate::ui::{Ui, escape_line};

/// Say where the session stands and what to do now
#[derive(Debug, Args)]
pub(super) struct Status {
    /// The session; the latest unfinished one if it is left out
    #[arg(value_name = "ID")]
    id: Option<String>,
}

impl Status {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let agent = open::files(common, ui)?;
        let mut session = resume::find(&agent.store, &agent.ui, self.id.as_deref())?;
        if common.json {
            agent.ui.data(&session);
            return Ok(ExitCode::SUCCESS);
        }
        let id = session.session_id.clone();
        let state = list::state(&session);
        let task = session.task.lines().next().unwrap_or_default();
        agent
            .ui
            .line(&format!("Session {id} ({state}): {}", escape_line(task)));
        agent.ui.line(&format!(
            "Round {} of at most {}; workspace {}",
            session.sequence_number,
            session.round_limit,
            agent.workspace.display()
        ));
        let is_running = LoopLock::holder(agent.store.directory()).is_some();
        let outbox = agent.mailbox.outbox_path(&id, session.sequence_number);
        let pending = approve::show_pending(&agent, &id);
        let next = if session.is_complete {
            "It has ended; nothing is to be done.".to_owned()
        } else if pending > 0 {
            "Decide with: agent approve [N|all], or agent decline [N|all] --reason \"...\""
                .to_owned()
        } else if let Some(question) = session.open_question() {
            format!(
                "The model asks: {}\nAnswer with: agent say \"...\"",
                escape_line(&question.question)
            )
        } else if !is_running {
            format!("No loop is running: `agent resume {id}` goes on.")
        } else {
            format!(
                "Paste {} into the chat and save the reply in {}",
                outbox.display(),
                agent.mailbox.inbox().display()
            )
        };
        agent.ui.line(&next);
        Ok(ExitCode::SUCCESS)
    }
}
