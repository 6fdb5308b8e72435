//! `agent fork`: a new session from a point of another one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Common, open, resume, undo};
use crate::agent::Agent;
use crate::agent::fork::{ForkPoint, Forked};
use crate::agent::undo::{Wish, ensure_restored};
use crate::checkpoint::{Force, Restored};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::{Checkpoint, Store, Way};
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
    /// What the model should do there, in addition to the task; the words are joined
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

/// What was made, as `--json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    id: &'a str,
    from: &'a str,
    round: u32,
    base: &'a Path,
    workspace: &'a Path,
    outbox: &'a Path,
}

impl Fork {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let find = |store: &Store, _: &Ui| {
            let (session, _) = store.load_or_rebuild(&store.named(&self.id)?)?;
            Ok(session)
        };
        let opened = open::session(common, ui.clone(), find)?;
        let (agent, from) = (opened.agent, opened.session.session_id);
        let further = resume::instruction(&self.instruction)?;
        let point = agent.fork_point(&from, self.round)?;
        let round = point.round;
        let id = SessionId::from_random(uuid::Uuid::new_v4().as_fields().0);
        if self.in_place {
            if !self.take_back(&agent, ui, &point)? {
                ui.say("Nothing was done.");
                return Ok(ExitCode::SUCCESS);
            }
            let forked = agent.fork(point, id, further)?;
            tell(ui, common.json, &agent, &forked, (&from, round));
            return Ok(ExitCode::SUCCESS);
        }
        let directory = match &self.into {
            Some(directory) => directory.clone(),
            None => beside(&agent.base, &id)?,
        };
        let target = open::another(common, &directory, &agent)?;
        let restored = agent.copy_files(&point.files, &target)?;
        let forked = target.fork(point, id, further)?;
        tell_missing(ui, &restored);
        tell(ui, common.json, &target, &forked, (&from, round));
        Ok(ExitCode::SUCCESS)
    }

    /// Takes back what rounds after the point changed; tells whether the files are as they were.
    fn take_back(&self, agent: &Agent, ui: &Ui, point: &ForkPoint) -> Result<bool> {
        let history = agent.store.history(&point.session)?;
        let is_later = |round: &Checkpoint| round.round > point.round;
        // What an earlier try could not restore is still to be undone.
        let is_open =
            (history.unfinished(Way::Undo)).is_some_and(|(rounds, _)| rounds.iter().any(is_later));
        if !is_open && history.undoable(point.round).is_empty() {
            return Ok(true);
        }
        let reversal = agent.plan(&point.session, Wish::UndoTo(point.round))?;
        let shown = undo::shown(&point.session, &reversal, Force::Skip);
        ui.say(&shown);
        if !self.yes && !undo::is_agreed(agent, &point.session, &reversal, &shown)? {
            return Ok(false);
        }
        let restored = agent.carry_out(&point.session, &reversal, Force::Skip)?;
        undo::tell(agent, ui, &point.session, &reversal, &restored);
        ensure_restored(&restored)?;
        Ok(true)
    }
}

/// `project-fork-ab12cd34`, beside the project.
fn beside(base: &Path, id: &SessionId) -> Result<PathBuf> {
    let root = match (base.file_name(), base.parent()) {
        (Some(name), Some(project)) if name == crate::settings::DIRECTORY_NAME => project,
        _ => base,
    };
    match (root.file_name(), root.parent()) {
        (Some(name), Some(parent)) => {
            Ok(parent.join(format!("{}-fork-{id}", name.to_string_lossy())))
        }
        _ => Err(Error::mendable("there is no place beside this directory")
            .hint("`--into DIR` names another one")),
    }
}

fn tell_missing(ui: &Ui, restored: &Restored) {
    if let Some(first) = restored.skipped.first() {
        ui.say(&format!(
            "{} not copied, such as `{}`.",
            count(restored.skipped.len(), "file"),
            escape_line(&first.path.to_string_lossy())
        ));
    }
}

fn tell(ui: &Ui, is_json: bool, agent: &Agent, forked: &Forked, (from, round): (&SessionId, u32)) {
    let id = &forked.id;
    if is_json {
        ui.data(&Row {
            id: id.as_str(),
            from: from.as_str(),
            round,
            base: &agent.base,
            workspace: agent.workspace.path(),
            outbox: &forked.message.posted.pastes[0],
        });
        return;
    }
    let shown = |path: &Path| escape_line(&path.display().to_string());
    let is_here = std::env::current_dir().is_ok_and(|here| here.starts_with(&agent.base));
    let place = if is_here {
        String::new()
    } else {
        format!("cd {} && ", crate::settings::quoted(&agent.base))
    };
    ui.say(&format!(
        "Session {id} goes on from session {from} after round {round}.\nWorkspace: {}\nMessage for a new chat: {}\nTo go on: {place}agent resume {id}",
        shown(agent.workspace.path()),
        shown(&forked.message.posted.pastes[0]),
    ));
}
