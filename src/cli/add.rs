//! `agent add`: files for the next message, and the flags of the same purpose.

use std::process::ExitCode;

use clap::Args;

use super::Common;
use crate::agent::Agent;
use crate::agent::added::AddedContext;
use crate::approve::Person;
use crate::error::{Error, Result};
use crate::services::{find, open};
use crate::session::{Source, Store};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent add src/parser.py
  agent add 'tests/*.py' docs/format.md
  agent add --session ab12 src";

/// Show files in the next message
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Add {
    /// A file, a directory, or a pattern such as `src/*.py`
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// The session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl Add {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        if self.paths.is_empty() {
            return Err(Error::usage("there is nothing to add").hint("agent add src/parser.py"));
        }
        let find =
            |store: &Store, person: &dyn Person| find::find(store, person, self.session.as_deref());
        let opened = open::session(&common.caller(ui), find)?;
        let added = opened.agent.find_added(&open::here()?, &self.paths, None)?;
        let notes = opened.agent.store.notes(&opened.session.session_id);
        let names: Vec<String> = added.files.iter().map(ToString::to_string).collect();
        if !names.is_empty() {
            notes.add(Source::Added, &names.join("\n"))?;
            ui.say(&format!("The next message shows {}.", named(&names)));
        }
        if let Some(note) = added.note() {
            notes.add(Source::Person, &note)?;
        }
        tell_attached(&added, ui);
        Ok(ExitCode::SUCCESS)
    }
}

/// The flags that add context to a message.
#[derive(Debug, Args)]
pub(super) struct AddFlags {
    /// Show this in the message: a file, a directory, or a pattern such as `src/*.py`; may be
    /// repeated
    #[arg(long, value_name = "PATH")]
    add: Vec<String>,
    /// Show in the message what has changed since a commit, by default the last one
    #[arg(
        long,
        value_name = "REV",
        num_args = 0..=1,
        default_missing_value = "HEAD",
        require_equals = true
    )]
    add_diff: Option<String>,
}

impl AddFlags {
    /// Returns true if there is something to add.
    pub(super) fn is_given(&self) -> bool {
        !self.add.is_empty() || self.add_diff.is_some()
    }

    /// Finds what they name, and tells the person what to attach.
    pub(super) fn find(&self, agent: &Agent, ui: &Ui) -> Result<AddedContext> {
        let added = agent.find_added(&open::here()?, &self.add, self.add_diff.as_deref())?;
        tell_attached(&added, ui);
        Ok(added)
    }
}

/// Only the chat itself can read these.
fn tell_attached(added: &AddedContext, ui: &Ui) {
    if !added.attached.is_empty() {
        let names: Vec<String> = added.attached.iter().map(ToString::to_string).collect();
        let names = named(&names);
        ui.say(&format!(
            "Attach to the chat yourself, beside the message: {names}."
        ));
    }
}

/// The names for a sentence; of many only the first.
fn named(names: &[String]) -> String {
    const MOST: usize = 5;
    let shown: Vec<String> = names
        .iter()
        .take(MOST)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
