//! `agent rm`: forgets a session.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::Common;
use crate::approve::{Answer, Question};
use crate::error::{Error, Kind, Result};
use crate::interrupt::Interrupt;
use crate::protocol::SessionId;
use crate::services::open::{self, SessionFiles};
use crate::services::remove;
use crate::ui::{Ui, count, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent rm ab12cd34
  agent rm --yes ab12 77

Shows what would be removed, and asks. The files of the workspace stay as they are; a removed \
session cannot be undone any more.";

/// Remove sessions: their state, messages and replies, never the workspace
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Rm {
    /// The sessions: 8 hex digits, the first few of them, or `latest`
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// What was removed, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    id: &'a str,
    messages: usize,
    replies: usize,
}

impl Rm {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let files = open::files(&common.caller(ui))?;
        let mut ids: Vec<SessionId> = Vec::new();
        for text in &self.ids {
            let id = files.store.named(text)?;
            remove::ensure_idle(&files, &id)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        for id in &ids {
            if !self.yes && !is_agreed(&files, ui, id)? {
                ui.say("Nothing was removed.");
                continue;
            }
            let removed = remove::remove(&files, id)?;
            if common.json {
                ui.data(&Row {
                    id: id.as_str(),
                    messages: removed.messages,
                    replies: removed.replies,
                });
            } else {
                ui.say(&format!("Session {id} is removed."));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn is_agreed(files: &SessionFiles, ui: &Ui, id: &SessionId) -> Result<bool> {
    let (messages, replies) = files.mailbox.letters_of(id)?;
    let task = match files.store.summary(id) {
        Ok(summary) => format!(": {}", escape_line(summary.title())),
        Err(_) => String::new(),
    };
    let letters = format!(
        "{} and {}",
        count(messages.len(), "message"),
        count_replies(replies.len()),
    );
    let question = Question::about_removal(&format!("Session {id}{task}"), &letters);
    match ui.ask(&question, &Interrupt::default()) {
        Answer::Interrupted => Err(Error::new(Kind::Interrupted, "interrupted")),
        Answer::Nobody | Answer::Elsewhere => Err(Error::mendable(
            "there is no terminal to ask on, so nothing was removed",
        )
        .hint("`--yes` removes it without asking")),
        answer @ Answer::Text(_) => Ok(answer.is_yes()),
    }
}

fn count_replies(amount: usize) -> String {
    if amount == 1 {
        "1 reply".to_owned()
    } else {
        format!("{amount} replies")
    }
}
