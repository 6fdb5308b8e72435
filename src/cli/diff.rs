//! `agent diff`: what a round changed, whoever changed it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Common, open, resume};
use crate::agent::Agent;
use crate::agent::undo::tidied;
use crate::checkpoint::{ChangeKind, CheckpointStore, DiffLimits, DiffStat};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::protocol::generated::GeneratedDirectories;
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
        let changes = store.changes(&before, &after).map_err(tidied)?;
        let mut folded = FoldedOutput::of(&agent, common.json);
        for change in &changes {
            folded.count(&change.path);
        }
        if common.json || self.stat {
            for stat in store.stat(&before, &after, &limits).map_err(tidied)? {
                let row = row(round, &stat);
                if common.json {
                    ui.data(&row);
                } else if !folded.has(&stat.change.path) {
                    ui.line(&line(&row));
                }
            }
        } else {
            let text = store
                .diff_without(&before, &after, &limits, |path| folded.has(path))
                .map_err(tidied)?;
            ui.patch(&text);
        }
        for line in folded.lines() {
            ui.line(&line);
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

/// Build output among the changes: a line for each directory instead of all its files.
pub(super) struct FoldedOutput {
    /// `None` where everything is shown.
    generated: Option<GeneratedDirectories>,
    counts: BTreeMap<String, u64>,
}

impl FoldedOutput {
    pub(super) fn of(agent: &Agent, shows_all: bool) -> Self {
        let walked = (!shows_all)
            .then(|| agent.workspace.walk(None).ok())
            .flatten();
        let generated = walked.map(|walked| {
            GeneratedDirectories::among(walked.files.iter().map(|file| file.path.as_str()))
        });
        Self {
            generated,
            counts: BTreeMap::new(),
        }
    }

    /// Returns true if the path is in a directory that is told as one line.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.directory(path).is_some()
    }

    /// Counts a changed file if it is not shown.
    pub(super) fn count(&mut self, path: &Path) {
        if let Some(directory) = self.directory(path) {
            *self.counts.entry(directory).or_default() += 1;
        }
    }

    fn directory(&self, path: &Path) -> Option<String> {
        let path = path.to_str()?;
        let directory = self.generated.as_ref()?.containing_output(path)?;
        Some(directory.to_owned())
    }

    /// A line for each directory.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.counts.iter().map(|(directory, count)| {
            let plural = if *count == 1 { "" } else { "s" };
            let directory = escape_line(directory);
            format!("generated    {directory}/ ({count} file{plural}, not shown)")
        })
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
