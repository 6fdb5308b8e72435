//! `agent rm`: forgets a session.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Common, open};
use crate::approve::{Answer, Question};
use crate::error::{Error, Kind, Result};
use crate::interrupt::Interrupt;
use crate::protocol::SessionId;
use crate::session::{LoopLock, RoundLock};
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
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let files = open::files(common, ui)?;
        let mut ids: Vec<SessionId> = Vec::new();
        for text in &self.ids {
            let id = files.store.named(text)?;
            refuse_a_running_one(&files, &id)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        for id in &ids {
            if self.yes || is_agreed(&files, id)? {
                remove(common, &files, id)?;
            } else {
                files.ui.say("Nothing was removed.");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn refuse_a_running_one(files: &open::Files, id: &SessionId) -> Result<()> {
    let Some(holder) = LoopLock::holder(files.store.directory()) else {
        return Ok(());
    };
    // One that has just begun has not said yet what it works on.
    if holder.session.as_ref().is_some_and(|other| other != id) {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "session {id} is at work in process {}",
        holder.process
    ))
    .hint("end that loop with Ctrl-C first"))
}

fn is_agreed(files: &open::Files, id: &SessionId) -> Result<bool> {
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
    match (files.ui).ask(&question, &Interrupt::default()) {
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

/// Removes what belongs to a session; its own file last, so that a second try finds the rest.
fn remove(common: &Common, files: &open::Files, id: &SessionId) -> Result<()> {
    let _alone = RoundLock::take(files.store.directory())?;
    refuse_a_running_one(files, id)?;
    let (messages, replies) = files.mailbox.letters_of(id)?;
    for letter in messages.iter().chain(&replies) {
        crate::fs::remove(letter)?;
    }
    files.store.remove(id)?;
    if common.json {
        files.ui.data(&Row {
            id: id.as_str(),
            messages: messages.len(),
            replies: replies.len(),
        });
    } else {
        files.ui.say(&format!("Session {id} is removed."));
    }
    Ok(())
}
