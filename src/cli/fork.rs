//! `agent fork`: a new session from a point of another one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::common::Common;
use super::{resume, undo};
use crate::error::Result;
use crate::services::fork::{self, ForkedSession};
use crate::services::undo::{Force, PlannedReversal, Restored};
use crate::ui::{Ui, count, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent fork ab12
  agent fork ab12 --round 3 \"try it with SQLite instead\"
  agent fork ab12 --into ~/second-try
  agent fork ab12 --round 3 --in-place

By default the fork gets a directory of its own beside this one, with a copy of the files as they \
were after that round; both sessions can continue at the same time. With `--in-place` it works on \
the same files: later rounds are undone first, after asking you.";

/// Start a new session from a point in another one: to try another way
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Fork {
    /// The session: its ID, the first few digits of it, or `latest`
    #[arg(value_name = "ID")]
    id: String,
    /// An instruction for the model, in addition to the task; the words are joined
    #[arg(value_name = "INSTRUCTION")]
    instruction: Vec<String>,
    /// Fork after this round, 0 for the beginning; by default the latest one
    #[arg(long, value_name = "N")]
    round: Option<u32>,
    /// The new directory, with its own settings, messages and workspace
    #[arg(long, value_name = "DIR", conflicts_with = "in_place")]
    into: Option<PathBuf>,
    /// Work on the same files; changes of later rounds are undone first
    #[arg(long)]
    in_place: bool,
    /// Do not ask before undoing rounds
    #[arg(long, short)]
    yes: bool,
}

/// The new session, as `--json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ForkedRow<'a> {
    id: &'a str,
    from: &'a str,
    round: u32,
    base: &'a Path,
    workspace: &'a Path,
    outbox: &'a Path,
}

impl Fork {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let further = resume::instruction(&self.instruction, ui)?;
        let caller = common.acting_caller(ui)?;
        let planned = fork::plan(&caller, &self.id, self.round)?;
        let forked = if self.in_place {
            let agree = |planned: &PlannedReversal| {
                let shown = undo::shown(planned, Force::Skip);
                ui.say(&shown);
                Ok(self.yes || undo::is_agreed(planned, &shown)?)
            };
            let tell = |planned: &PlannedReversal, restored: &Restored| {
                undo::tell(ui, planned, restored);
            };
            let Some(forked) = planned.in_place(further, agree, tell)? else {
                ui.say("Nothing was done.");
                return Ok(ExitCode::SUCCESS);
            };
            forked
        } else {
            planned.beside(&caller, self.into.as_deref(), further)?
        };
        tell_missing(ui, &forked.not_copied);
        tell(ui, common.json, &forked);
        Ok(ExitCode::SUCCESS)
    }
}

fn tell_missing(ui: &Ui, not_copied: &[PathBuf]) {
    if let Some(first) = not_copied.first() {
        ui.say(&format!(
            "{} not copied, such as `{}`.",
            count(not_copied.len(), "file"),
            escape_line(&first.to_string_lossy())
        ));
    }
}

fn tell(ui: &Ui, is_json: bool, forked: &ForkedSession) {
    let ForkedSession {
        id, from, round, ..
    } = forked;
    if is_json {
        ui.data(&ForkedRow {
            id: id.as_str(),
            from: from.as_str(),
            round: *round,
            base: &forked.base,
            workspace: &forked.workspace,
            outbox: &forked.message,
        });
        return;
    }
    let shown = |path: &Path| escape_line(&path.display().to_string());
    let is_here = std::env::current_dir().is_ok_and(|here| here.starts_with(&forked.base));
    let place = if is_here {
        String::new()
    } else {
        format!("cd {} && ", crate::settings::quoted(&forked.base))
    };
    ui.say(&format!(
        "Session {id} continues session {from} after round {round}.\nWorkspace: {}\nMessage for a new chat: {}\nTo continue: {place}agent resume {id}",
        shown(&forked.workspace),
        shown(&forked.message),
    ));
}
