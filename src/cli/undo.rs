//! `agent undo` and `agent redo`: takes rounds back, and puts them again.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::common::Common;
use super::diff::FoldedOutput;
use crate::error::{Error, Result};
use crate::services::diff::ShownPaths;
use crate::services::open;
use crate::services::undo::{
    self, Conflict, Force, PlannedReversal, Restored, Reversal, Wish, ensure_restored, files,
    is_directory, named, obstacle,
};
use crate::ui::{Ui, escape_line};

/// How many files of a kind are named on the terminal.
const SHOWN: usize = 100;

const UNDO_EXAMPLES: &str = "\
Examples:
  agent undo
  agent undo --to 3
  agent undo --all
  agent undo ab12 --yes";

/// Undo the latest round that changed files: whatever changed them
#[derive(Debug, Args)]
#[command(after_help = UNDO_EXAMPLES)]
pub(super) struct Undo {
    /// The session; by default the latest one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Undo all rounds after this one; 0 undoes all
    #[arg(long, value_name = "N")]
    to: Option<u32>,
    /// Undo all rounds, like `--to 0`
    #[arg(long, conflicts_with = "to")]
    all: bool,
    #[command(flatten)]
    consent: Consent,
}

const REDO_EXAMPLES: &str = "\
Examples:
  agent redo
  agent redo ab12";

/// Reapply the rounds that the last undo reverted
#[derive(Debug, Args)]
#[command(after_help = REDO_EXAMPLES)]
pub(super) struct Redo {
    /// The session; by default the latest one
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Debug, Args)]
struct Consent {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Also restore files that were changed since; a copy of each is kept beside it
    #[arg(long)]
    force: bool,
}

impl Undo {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let to = self.to.or(self.all.then_some(0));
        let wish = to.map_or(Wish::UndoLatest, Wish::UndoTo);
        reverse(common, ui, self.id.as_deref(), wish, &self.consent)
    }
}

impl Redo {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        reverse(common, ui, self.id.as_deref(), Wish::Redo, &self.consent)
    }
}

/// Shows what would change, asks, and does it.
fn reverse(
    common: &Common,
    ui: &Ui,
    id: Option<&str>,
    wish: Wish,
    consent: &Consent,
) -> Result<ExitCode> {
    let caller = common.acting_caller(ui)?;
    open::name_base_above(&caller);
    let planned = undo::plan(&caller, id, wish)?;
    let force = if consent.force {
        Force::KeepCopies
    } else {
        Force::Skip
    };
    let shown = shown(&planned, force);
    ui.say(&shown);
    // Nothing of it can be done: that is told at once, instead of asking first.
    if !consent.yes && !planned.is_vain(force) && !is_agreed(&planned, &shown)? {
        ui.say("Nothing was done.");
        return Ok(ExitCode::SUCCESS);
    }
    let restored = planned.carry_out(force)?;
    tell(ui, &planned, &restored);
    if common.json {
        ui.data(&UndoOutcome::of(&planned.reversal, &restored));
    }
    ensure_restored(&restored)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks about what was shown; another terminal may answer too.
pub(super) fn is_agreed(planned: &PlannedReversal, shown: &str) -> Result<bool> {
    planned.is_agreed(shown)?.ok_or_else(|| {
        Error::mendable("there is no terminal to ask on, so nothing was done")
            .hint("`--yes` does it without asking")
    })
}

/// Describes the planned changes for the person.
pub(super) fn shown(planned: &PlannedReversal, force: Force) -> String {
    let (id, reversal) = (&planned.session, &planned.reversal);
    let rounds = named(&reversal.rounds);
    let plan = &reversal.plan;
    let mut text = match reversal.wish {
        Wish::UndoLatest | Wish::UndoTo(_) => format!("Undoing {rounds} of session {id}:"),
        Wish::Redo => format!("Redoing {rounds} of session {id}:"),
    };
    let mut steps = files(&plan.steps);
    let shown = planned.shown_paths();
    let mut folded = FoldedOutput::of(shown.as_ref().map(|shown| shown.generated().clone()));
    for step in &steps {
        folded.count(&step.path);
    }
    steps.retain(|step| !folded.has(&step.path));
    let all = steps.len();
    // A log that a command made, for example: undo deletes it, and redo creates it. What the rounds
    // changed or deleted is listed.
    let is_redo = reversal.wish == Wish::Redo;
    steps.retain(|step| {
        let is_made = if is_redo {
            step.now.is_none()
        } else {
            step.then.is_none()
        };
        let is_ignored = |shown: &ShownPaths| shown.would_be_ignored(&step.path);
        !is_made || !shown.as_ref().is_some_and(is_ignored)
    });
    let ignored = all - steps.len();
    for step in steps.iter().take(SHOWN) {
        let verb = match (&step.now, &step.then) {
            (_, None) => "delete",
            (None, Some(_)) => "create",
            (Some(_), Some(_)) => "change",
        };
        let path = escape_line(&step.path.to_string_lossy());
        let slash = if is_directory(step) { "/" } else { "" };
        let _ = write!(text, "\n  {verb} {path}{slash}");
    }
    text.push_str(&more(steps.len()));
    for line in folded.lines() {
        let _ = write!(text, "\n  {line}");
    }
    if ignored > 0 {
        let verb = if is_redo { "create" } else { "delete" };
        let _ = write!(text, "\n  {verb} {} that git ignores", counted(ignored));
    }
    if plan.steps.is_empty() && plan.conflicts.is_empty() {
        text.push_str("\n  the files are already that way");
    }
    let is_forced = |one: &&Conflict| force == Force::KeepCopies && !one.is_beyond_force();
    let (forced, left): (Vec<_>, Vec<_>) = plan.conflicts.iter().partition(is_forced);
    let groups = [
        (
            "Restored all the same; a copy is kept as NAME.kept:",
            forced,
        ),
        ("Left as they are:", left),
    ];
    for (heading, conflicts) in groups.into_iter().filter(|(_, group)| !group.is_empty()) {
        let _ = write!(text, "\n{heading}");
        for conflict in conflicts.iter().take(SHOWN) {
            text.push_str(&item(&conflict.path, &obstacle(conflict)));
        }
        text.push_str(&more(conflicts.len()));
    }
    let is_forcible = |one: &Conflict| !one.is_beyond_force();
    if force == Force::Skip && plan.conflicts.iter().any(is_forcible) {
        text.push_str(
            "\nWith `--force` what can be is restored all the same, and a copy of each is kept.",
        );
    }
    if !reversal.uncovered.is_empty() {
        let stay = named(&reversal.uncovered);
        let _ = write!(
            text,
            "\nWhat {stay} changed stays as it is: no checkpoint could be taken."
        );
    }
    text
}

fn more(count: usize) -> String {
    match count.saturating_sub(SHOWN) {
        0 => String::new(),
        rest => format!("\n  and {rest} more"),
    }
}

fn item(path: &Path, what: &str) -> String {
    format!("\n  {} {what}", escape_line(&path.to_string_lossy()))
}

pub(super) fn tell(ui: &Ui, planned: &PlannedReversal, restored: &Restored) {
    let (id, reversal) = (&planned.session, &planned.reversal);
    let rounds = named(&reversal.rounds);
    let it = if reversal.rounds.len() == 1 {
        "it"
    } else {
        "them"
    };
    let but = if ensure_restored(restored).is_err() {
        " except for what could not be restored"
    } else {
        ""
    };
    let mut text = match reversal.wish {
        Wish::UndoLatest | Wish::UndoTo(_) => {
            format!("Undid {rounds}{but}. `agent redo` brings {it} back.")
        }
        Wish::Redo => format!("Redid {rounds}{but}."),
    };
    for kept in restored.kept.iter().take(SHOWN) {
        let copy = format!("is kept as {}", escape_line(&kept.copy.to_string_lossy()));
        text.push_str(&item(&kept.path, &copy));
    }
    if !restored.aside.is_empty() {
        let place = planned.removed();
        let _ = write!(
            text,
            "\nNothing is lost: what was removed or replaced and has no other copy ({}) is kept for 30 days in {}",
            counted(restored.aside.len()),
            escape_line(&place.to_string_lossy())
        );
    }
    // Those in the plan were shown; these came up on the way.
    let foreseen = &reversal.plan.conflicts;
    let others = restored
        .skipped
        .iter()
        .filter(|one| !foreseen.contains(one));
    for conflict in others.take(SHOWN) {
        text.push_str(&item(&conflict.path, &obstacle(conflict)));
    }
    if planned.has_ended() {
        let _ = write!(
            text,
            "\nThe session has ended; `agent resume {id} \"...\"` continues it, and its message tells the model of this."
        );
    } else if planned.is_heard_by_call() {
        text.push_str("\nThe model hears of it with its next call.");
    } else {
        text.push_str("\nThe model hears of it with the next message.");
    }
    ui.say(&text);
}

fn counted(files: usize) -> String {
    let s = if files == 1 { "" } else { "s" };
    format!("{files} file{s}")
}

/// The result, as `--json` prints it.
#[derive(Debug, Serialize)]
struct UndoOutcome<'a> {
    rounds: &'a [u32],
    restored: Vec<String>,
    skipped: Vec<String>,
    kept: Vec<String>,
}

impl<'a> UndoOutcome<'a> {
    fn of(reversal: &'a Reversal, restored: &Restored) -> Self {
        let name = |path: &Path| path.to_string_lossy().into_owned();
        Self {
            rounds: &reversal.rounds,
            restored: restored.done.iter().map(|step| name(&step.path)).collect(),
            skipped: restored.skipped.iter().map(|one| name(&one.path)).collect(),
            kept: (restored.kept.iter().chain(&restored.aside))
                .map(|kept| name(&kept.copy))
                .collect(),
        }
    }
}
