//! `agent status`: where things stand and what to do now.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::{Common, approve, list, open, resume};
use crate::error::Result;
use crate::session::{Count, LoopLock, Summary};
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent status
  agent status ab12
  agent status --json latest";

/// Say where the session stands and what to do now
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Status {
    /// The session: its id, the first few digits of it, or `latest`; the latest unfinished one if it
    /// is left out
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
        let summary = Summary::of(&session);
        let state = summary.state().word();
        let task = session.task.lines().next().unwrap_or_default();
        agent
            .ui
            .line(&format!("Session {id} ({state}): {}", escape_line(task)));
        agent.ui.line(&format!(
            "Round {} of at most {}, {} changed, last saved {} ago",
            session.sequence_number,
            session.round_limit,
            files_changed(summary.changed_files),
            list::age(Timestamp::now(), summary.updated_at),
        ));
        agent
            .ui
            .line(&format!("Workspace {}", agent.workspace.display()));
        let running = LoopLock::holder(agent.store.directory()).and_then(|holder| holder.session);
        let is_running = running.as_ref() == Some(&id);
        let outbox = agent.mailbox.outbox_path(&id, session.sequence_number);
        let pending = approve::show_pending(&agent, &id);
        let next = if session.is_complete {
            format!("It has ended. `agent resume {id} \"...\"` goes on with a further instruction.")
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

pub(super) fn files_changed(count: Count) -> String {
    let plural = if count.0 == 1 { "" } else { "s" };
    format!("{} file{plural}", count.words())
}
