//! `agent rename`: gives a session a name.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::services::{find, list, open};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent rename parser              the latest session
  agent rename ab12 parser
  agent resume parser
  agent rename ab12 --remove";

/// Give a session a name, by which commands find it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Rename {
    /// The session, if it is not the latest one, and its name: letters, digits and `-_.`
    #[arg(value_name = "[ID] NAME", num_args = 1..=2, required = true)]
    words: Vec<String>,
    /// Take the name away
    #[arg(long)]
    remove: bool,
}

impl Rename {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let files = open::files(&common.caller(ui)?)?;
        let (id, name) = match (self.words.as_slice(), self.remove) {
            ([id], true) => (Some(id.as_str()), None),
            ([name], false) => (None, Some(name.as_str())),
            ([id, name], _) => (Some(id.as_str()), Some(name.as_str())),
            _ => (None, None),
        };
        let session = find::find_any(&files.store, ui, id)?.session_id;
        list::rename(&files, &session, name)?;
        ui.say(&match name {
            Some(name) => format!("Session {session} is now `{name}`."),
            None => format!("Session {session} has no name any more."),
        });
        Ok(ExitCode::SUCCESS)
    }
}
