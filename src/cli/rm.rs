//! `agent rm`: forgets a session.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::common::Common;
use crate::error::Result;
use crate::services::{open, remove};
use crate::ui::Ui;

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

/// A removed session, as `--json` prints it.
#[derive(Debug, Serialize)]
struct RemovedRow<'a> {
    id: &'a str,
    messages: usize,
    replies: usize,
}

impl Rm {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.caller(ui)?;
        let files = open::files_to_change(&caller)?;
        for id in remove::chosen(&files, &self.ids)? {
            if !self.yes && !remove::is_agreed(&caller, &files, &id)? {
                ui.say("Nothing was removed.");
                continue;
            }
            let removed = remove::remove(&caller, &files, &id)?;
            if common.json {
                ui.data(&RemovedRow {
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
