//! `agent diff`: the files that changed during a round.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::common::Common;
use crate::error::Result;
use crate::protocol::generated::GeneratedDirectories;
use crate::services::diff::{self, ChangeKind, DiffStat, WhichRounds};
use crate::services::open;
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent diff
  agent diff --round 3 --stat
  agent diff --since 0             all rounds
  agent diff ab12

Shows the whole session once it has ended; before that the latest round that changed files. Build \
output and files that git ignores are only named, and not in `--json`; `--all` shows them too. Files are shown as the \
rounds left them: what you changed since is not in it.";

/// Show what changed, including what commands changed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Diff {
    /// The session; by default the latest one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only this round
    #[arg(long, value_name = "N")]
    round: Option<u32>,
    /// All rounds after this one; 0 means all
    #[arg(long, value_name = "N", conflicts_with = "round")]
    since: Option<u32>,
    /// Also build output and ignored files
    #[arg(long)]
    all: bool,
    /// Only file names and line counts
    #[arg(long)]
    stat: bool,
}

/// A changed file, as `--json` prints it.
#[derive(Debug, Serialize)]
struct DiffRow {
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
        let caller = common.acting_caller(ui)?;
        open::name_base_above(&caller);
        let which = match (self.round, self.since) {
            (Some(round), _) => WhichRounds::Round(round),
            (None, Some(after)) => WhichRounds::After(after),
            (None, None) => WhichRounds::Fitting,
        };
        let mut changed = diff::changes(&caller, self.id.as_deref(), which)?;
        let (round, id) = (changed.round, &changed.session);
        if !common.json {
            let back = if changed.is_undone {
                ", which was undone"
            } else {
                ""
            };
            let rounds = match changed.rounds {
                (first, last) if first == last => format!("Round {first}"),
                (first, last) => format!("Rounds {first} to {last}"),
            };
            ui.say(&format!("{rounds} of session {id}{back}:"));
        }
        let shown = (!self.all).then(|| changed.shown_paths()).flatten();
        let mut folded = FoldedOutput::of(shown.as_ref().map(|shown| shown.generated().clone()));
        let paths = changed.paths()?;
        for path in &paths {
            if shown.as_ref().is_some_and(|shown| shown.is_ignored(path)) {
                folded.ignore(path);
            }
            folded.count(path);
        }
        if !common.json && paths.iter().all(|path| folded.has(path)) {
            ui.say(if paths.is_empty() && !changed.has_ignored_changes()? {
                "No file is different after it."
            } else {
                "Only build output and files that git ignores changed."
            });
        }
        if !common.json && !changed.is_undone {
            tell_gone(ui, &changed.gone()?);
        }
        if common.json || self.stat {
            let stats = changed.files_without(|path| folded.has(path))?;
            for row in stats.iter().map(|stat| row(round, stat)) {
                if common.json {
                    ui.data(&row);
                } else {
                    ui.line(&line(&row));
                }
            }
        } else {
            ui.patch(&changed.text_without(|path| folded.has(path))?);
        }
        if !common.json {
            for line in folded.lines() {
                ui.line(&line);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Names files that are shown as the rounds left them and are gone now.
fn tell_gone(ui: &Ui, gone: &[PathBuf]) {
    const NAMED: usize = 3;
    let named = gone.iter().take(NAMED);
    let named: Vec<_> = named
        .map(|path| format!("`{}`", escape_line(&path.to_string_lossy())))
        .collect();
    let more = match gone.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if !named.is_empty() {
        ui.say(&format!("Deleted since: {}{more}.", named.join(", ")));
    }
}

/// Build output among the changes: a line for each directory instead of all its files.
pub(super) struct FoldedOutput {
    /// `None` where everything is shown.
    generated: Option<GeneratedDirectories>,
    counts: BTreeMap<String, u64>,
    /// Files that git ignores.
    ignored: BTreeSet<PathBuf>,
}

impl FoldedOutput {
    pub(super) fn of(generated: Option<GeneratedDirectories>) -> Self {
        Self {
            generated,
            counts: BTreeMap::new(),
            ignored: BTreeSet::new(),
        }
    }

    /// Only names this file, because git ignores it.
    fn ignore(&mut self, path: &Path) {
        if self.directory(path).is_none() {
            self.ignored.insert(path.to_owned());
        }
    }

    /// Returns true if the path is in a directory that is told as one line.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.ignored.contains(path) || self.directory(path).is_some()
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
        let generated = self.counts.iter().map(|(directory, count)| {
            let plural = if *count == 1 { "" } else { "s" };
            let directory = escape_line(directory);
            format!("generated    {directory}/ ({count} file{plural}, not shown)")
        });
        let ignored = self.ignored.iter().map(|path| {
            let path = escape_line(&path.to_string_lossy());
            format!("ignored      {path} (not shown; `--all` shows it)")
        });
        generated.chain(ignored)
    }
}

fn row(round: u32, stat: &DiffStat) -> DiffRow {
    let (change, from) = match &stat.change.kind {
        ChangeKind::Created => ("created", None),
        ChangeKind::Deleted => ("deleted", None),
        ChangeKind::Modified => ("modified", None),
        ChangeKind::Mode => ("mode", None),
        ChangeKind::Kind => ("kind", None),
        ChangeKind::Renamed { from } => ("renamed", Some(from.to_string_lossy().into_owned())),
        ChangeKind::NotCovered(_) => ("not covered", None),
    };
    DiffRow {
        round,
        path: stat.change.path.to_string_lossy().into_owned(),
        change,
        from,
        added: stat.lines.map(|lines| lines.added),
        removed: stat.lines.map(|lines| lines.removed),
    }
}

fn line(row: &DiffRow) -> String {
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
