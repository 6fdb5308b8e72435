//! `agent notes`: the notes that wait for the next message.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::services::notes::{self, WhichNotes};
use crate::services::{find, open};
use crate::ui::{Ui, count, first_line};

const EXAMPLES: &str = "\
Examples:
  agent notes
  agent notes --drop 2
  agent notes --drop all";

/// List your notes for the next message, or withdraw one
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct NotesArgs {
    /// Withdraw the note with this number, or `all`
    #[arg(long, value_name = "N|all", value_parser = which)]
    drop: Option<WhichNotes>,
    /// The session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

fn which(text: &str) -> Result<WhichNotes, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(WhichNotes::All),
        (_, Ok(number)) => Ok(WhichNotes::Number(number)),
        _ => Err("give the number of a note, or `all`".to_owned()),
    }
}

impl NotesArgs {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let files = open::files(&common.caller(ui)?)?;
        let id = find::find(&files.store, ui, self.session.as_deref())?.session_id;
        if let Some(which) = self.drop {
            let withdrawn = notes::withdraw(&files, &id, which)?;
            ui.say(&match withdrawn.as_slice() {
                [one] => format!("Withdrawn: {}", first_line(one)),
                several => format!("Withdrew {}.", count(several.len(), "note")),
            });
            return Ok(ExitCode::SUCCESS);
        }
        let waiting = notes::waiting(&files, &id);
        if waiting.is_empty() {
            ui.say("No notes wait for the next message.");
        }
        for (number, text) in (1..).zip(&waiting) {
            ui.line(&format!("{number}. {}", first_line(text)));
        }
        Ok(ExitCode::SUCCESS)
    }
}
