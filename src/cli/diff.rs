//! `agent diff`: what a round changed, whoever changed it.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Common, open, resume};
use crate::agent::Agent;
use crate::agent::undo::tidied;
use crate::checkpoint::{ChangeKind, CheckpointStore, DiffLimits, DiffStat};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::{Checkpoint, Store};
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent diff
  agent diff --round 3 --stat
  agent diff ab12";

/// Show the changes of a round, including those made by its commands
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Diff {
    /// The session; by default the latest one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The round; by default the latest one that changed files and is not undone
    #[arg(long, value_name = "N")]
    round: Option<u32>,
    /// Only file names and line counts
    #[arg(long)]
    stat: bool,
}

/// A changed file, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Row {
    round: u32,
    path: String,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    added: Option<usize>,
    removed: Option<usize>,
}

impl Diff {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let find = |store: &Store, ui: &Ui| resume::find_any(store, ui, self.id.as_deref());
        let opened = open::session(common, ui.clone(), find)?;
        let (agent, id) = (opened.agent, opened.session.session_id);
        let Checkpoint {
            round,
            before,
            after,
        } = self.choose(common, &agent, &id)?;
        let mut store = CheckpointStore::open(&agent.store.objects())?;
        let limits = DiffLimits::default();
        if common.json || self.stat {
            for stat in store.stat(&before, &after, &limits).map_err(tidied)? {
                let row = row(round, &stat);
                if common.json {
                    ui.data(&row);
                } else {
                    ui.line(&line(&row));
                }
            }
        } else {
            let text = store.diff(&before, &after, &limits).map_err(tidied)?;
            ui.patch(&text);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn choose(&self, common: &Common, agent: &Agent, id: &SessionId) -> Result<Checkpoint> {
        let history = agent.store.history(id)?;
        let found = match self.round {
            Some(round) => history.round(round),
            None => history.undoable(0).first().copied(),
        };
        let found = found.ok_or_else(|| {
            let is_uncovered = |round: u32| history.uncovered(0).contains(&round);
            Error::mendable(match self.round {
                Some(round) if is_uncovered(round) => {
                    format!("no checkpoint of round {round} of session {id} could be taken")
                }
                Some(round) => format!("round {round} of session {id} changed no files"),
                None => format!("no round of session {id} changed files, or all are undone"),
            })
            .hint("`--round N` names a round; `agent list` shows the sessions that there are")
        })?;
        let round = found.round;
        let back = if history.is_undone(round) {
            ", which was undone"
        } else {
            ""
        };
        if !common.json {
            (common.ui()).say(&format!("Round {round} of session {id}{back}:"));
        }
        Ok(found)
    }
}

fn row(round: u32, stat: &DiffStat) -> Row {
    let (change, from) = match &stat.change.kind {
        ChangeKind::Created => ("created", None),
        ChangeKind::Deleted => ("deleted", None),
        ChangeKind::Modified => ("modified", None),
        ChangeKind::Mode => ("mode", None),
        ChangeKind::Kind => ("kind", None),
        ChangeKind::Renamed { from } => ("renamed", Some(from.to_string_lossy().into_owned())),
        ChangeKind::NotCovered(_) => ("not covered", None),
    };
    Row {
        round,
        path: stat.change.path.to_string_lossy().into_owned(),
        change,
        from,
        added: stat.lines.map(|lines| lines.added),
        removed: stat.lines.map(|lines| lines.removed),
    }
}

fn line(row: &Row) -> String {
    let count = |sign: char, number: Option<usize>| {
        number.map_or_else(String::new, |number| format!("{sign}{number}"))
    };
    let from = row
        .from
        .as_deref()
        .map(|from| format!("{} -> ", escape_line(from)));
    format!(
        "{:<11}  {:>6} {:>6}  {}{}",
        row.change,
        count('+', row.added),
        count('-', row.removed),
        from.unwrap_or_default(),
        escape_line(&row.path)
    )
}
