//! `agent status`: where things stand and what to do now.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::{Common, approve, list, open, resume};
use crate::agent::message_of;
use crate::compose::{Meter, measure};
use crate::error::Result;
use crate::mailbox::Posted;
use crate::session::{Count, LoopLock, Session, Summary};
use crate::ui::{Ui, escape_line, length, space};

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
        let id = session.session_id.clone();
        let posted = agent.mailbox.posted(&id, session.sequence_number);
        let message = posted.as_ref().map(|posted| Message::of(&agent, posted));
        if common.json {
            agent.ui.data(&Report {
                session: &session,
                message,
            });
            return Ok(ExitCode::SUCCESS);
        }
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
        if let Some(message) = &message {
            agent.ui.line(&message.to_string());
        }
        let running = LoopLock::holder(agent.store.directory()).and_then(|holder| holder.session);
        let is_running = running.as_ref() == Some(&id);
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
            paste(posted.as_ref(), agent.mailbox.inbox())
        };
        agent.ui.line(&next);
        Ok(ExitCode::SUCCESS)
    }
}

pub(super) fn files_changed(count: Count) -> String {
    let plural = if count.0 == 1 { "" } else { "s" };
    format!("{} file{plural}", count.words())
}

/// What `--json` tells.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    session: &'a Session,
    message: Option<Message<'a>>,
}

/// The message that is to be pasted.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(flatten)]
    posted: &'a Posted,
    #[serde(flatten)]
    meter: Meter,
    chat: &'a str,
    percent: usize,
}

impl<'a> Message<'a> {
    fn of(agent: &open::Files, posted: &'a Posted) -> Self {
        let meter = measure(&message_of(posted));
        Self {
            posted,
            percent: agent.carriage.limit.percent(&meter),
            chat: &agent.chat.name,
            meter,
        }
    }
}

impl std::fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let takes = self.meter.takes.iter();
        write!(
            f,
            "Its message: {}, {} % of what `{}` takes ({})",
            length(self.meter.characters, self.meter.tokens),
            self.percent,
            self.chat,
            space(&takes.map(|takes| (takes.what, takes.characters)).collect())
        )
    }
}

/// What to do with a message that waits.
pub(super) fn paste(posted: Option<&Posted>, inbox: &Path) -> String {
    let inbox = inbox.display();
    let Some(posted) = posted else {
        return "The next message is being written.".to_owned();
    };
    let pastes: Vec<String> = posted
        .pastes
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    match &posted.attachment {
        Some(file) => format!(
            "Paste {} into the chat, drag {} into it, and save the reply in {inbox}",
            pastes.join(", "),
            file.display()
        ),
        None if pastes.len() > 1 => format!(
            "Paste these into the chat, one after the other, and save its reply to the last one in {inbox}\n  {}",
            pastes.join("\n  ")
        ),
        None => format!(
            "Paste {} into the chat and save the reply in {inbox}",
            pastes.join(", ")
        ),
    }
}
