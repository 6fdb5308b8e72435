//! Undo and redo of rounds.
//!
//! The changes are planned first and shown by the caller; they are carried out only if the plan is
//! still the same. A loop that waits for a reply is not disturbed, and one that carries out a reply
//! is never interrupted by an undo. The next message tells the model which files changed, and how.
//! Files that cannot be restored are reported and remembered: the same command, given again,
//! completes the work.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Agent;
use super::recover::disarmed;
use super::shown_paths::ShownPaths;
use crate::checkpoint::{
    ChangeKind, CheckpointStore, Conflict, ConflictReason, Force, KeepAside, Node, PartialTurn,
    Reach, Reason, RestorePlan, RestoreStep, Restored, Snapshot, SnapshotChange, Turn,
};
use crate::error::{Error, Result};
use crate::escape::escape_line;
use crate::execute::unseen_by_commands;
use crate::protocol::{Bounded, Event, SessionId};
use crate::repositories::{Inventory, KeptInventory};
use crate::session::{
    Checkpoint, History, Journal, REMEMBERED_FILES, Record, ReversalDirection, RoundLock, Source,
    Sync,
};

/// Where undo keeps what it removes, in the folder of a session.
pub(super) const REMOVED: &str = "removed";

/// How the names of its directories begin.
pub(super) const ROUND: &str = "round-";

/// How many files the note to the model names.
const NAMED: usize = 50;

/// The undo or redo that the person asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The latest round that changed something is undone.
    UndoLatest,
    /// All rounds after this one are undone.
    UndoTo(u32),
    /// The rounds that the latest undo reverted are reapplied.
    Redo,
}

/// Rounds to be undone or put again, and what that would change.
#[derive(Debug, PartialEq, Eq)]
pub struct Reversal {
    /// The undo or redo that the person asked for.
    pub wish: Wish,
    /// The rounds, in the order in which they are gone through.
    pub rounds: Vec<u32>,
    /// The changes to be made.
    pub plan: RestorePlan,
    /// Later rounds that stay, because there is no checkpoint of them.
    pub uncovered: Vec<u32>,
    /// The state that an undo of commands goes back to: files that it removes because they are not
    /// part of that state are kept aside.
    ///
    /// Nothing is kept for file steps, whose reply has the content, or for a redo, which an undo
    /// reverts.
    keeps: Option<Snapshot>,
}

/// The files that the rounds of a session changed, on the whole and at some time.
#[derive(Debug)]
pub(super) struct NetChanges {
    /// The names of all that a round changed, also one that was undone.
    touched: BTreeSet<String>,
    /// The differences from the state at the start of the session.
    changes: Vec<SnapshotChange>,
}

/// The names of a change: the old one of a rename too.
fn names_of(change: &SnapshotChange) -> impl Iterator<Item = String> {
    let from = match &change.kind {
        ChangeKind::Renamed { from } => Some(name_of(from)),
        _ => None,
    };
    from.into_iter().chain([name_of(&change.path)])
}

fn name_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Agent {
    /// Tells what a wish would change; changes nothing.
    pub fn plan(&self, id: &SessionId, wish: Wish) -> Result<Reversal> {
        let _alone = RoundLock::take(self.store.directory())?;
        let (_, reversal) = self.plan_alone(id, wish)?;
        Ok(reversal)
    }

    /// Carries out what was shown, unless it would be something else by now.
    ///
    /// Files that could not be restored are among the skipped ones; see [`ensure_restored`].
    pub fn carry_out(&self, id: &SessionId, shown: &Reversal, force: Force) -> Result<Restored> {
        let _alone = RoundLock::take(self.store.directory())?;
        let (mut journal, reversal) = self.plan_alone(id, shown.wish)?;
        if reversal != *shown {
            return Err(Error::mendable(
                "the files, or the rounds, have changed since they were shown; nothing was done",
            )
            .hint("try again, and look again"));
        }
        let plan = &reversal.plan;
        let has_work = !plan.steps.is_empty() || !plan.already.is_empty();
        if !has_work && !plan.conflicts.is_empty() {
            if plan.conflicts.iter().all(Conflict::is_beyond_force) {
                return Err(self.not_covered(id, &reversal));
            }
            if force == Force::Skip {
                return Err(Error::mendable(
                    "every one of these files is left as it is, so nothing was done",
                )
                .hint(format!(
                    "`agent {} --force` does it all the same, and keeps a copy of each beside it",
                    verb(reversal.wish)
                )));
            }
        }
        let mut store = CheckpointStore::open(&self.store.objects())?;
        let directory = self.removed(id, &reversal);
        let known = self.store.created_by_steps(id, &reversal.rounds)?;
        let keep = reversal.keeps.map(|target| KeepAside {
            directory: &directory,
            target,
            known: &known,
        });
        let restored = self.disarming(|| store.restore(&self.workspace, plan, force, keep))?;
        let is_begun = !restored.done.is_empty() || !restored.kept.is_empty();
        if !is_begun && plan.already.is_empty() {
            ensure_restored(&restored)?;
        }
        let failed = restored.skipped.iter().filter(|one| is_failed(one));
        let open = failed.map(|one| one.path.to_string_lossy().into_owned());
        let open = open.collect();
        // The note first: an undo that was killed here is completed by the next one.
        let note = note(&reversal, &restored);
        let notes = self.store.notes(id);
        let last = notes.all().into_iter().rev();
        let last = last.into_iter().find(|note| note.source == Source::Undo);
        // Between two of the same undo there is a redo: this one was left by a try that was killed.
        if last.is_none_or(|last| last.text != note) {
            notes.add(Source::Undo, &note)?;
        }
        let rounds = reversal.rounds;
        let path_of = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let done = restored.done.iter().map(|step| path_of(&step.path));
        let skipped = restored.skipped.iter().map(|one| path_of(&one.path));
        let reversed = Event::Reversed {
            redone: reversal.wish == Wish::Redo,
            rounds: rounds.clone(),
            restored: Bounded::new(NAMED, done),
            skipped: Bounded::new(NAMED, skipped),
        };
        let record = match reversal.wish {
            Wish::UndoLatest | Wish::UndoTo(_) => Record::Undone { rounds, open },
            Wish::Redo => Record::Redone { rounds, open },
        };
        journal.append(&[record], Sync::Now)?;
        self.store.events(id).append(reversed);
        // Only what is counted and listed depends on it.
        let _ = self.keep_changed_files(id);
        Ok(restored)
    }

    /// Keeps which files the session changed on the whole, now that rounds were undone or redone.
    fn keep_changed_files(&self, id: &SessionId) -> Result<()> {
        let session = self.store.load(id)?;
        let net = self.net_changes(id, None)?;
        let files = self.changed_on_the_whole(&session.changed_files, &net);
        self.store.keep_reversal(&session, files)
    }

    /// The names of files that a session changed on the whole: without those that it left as they had
    /// been, temporary ones for example, without new ones that somebody deleted since, and without build
    /// output and ignored ones. What no checkpoint covers stays as it is known.
    pub(super) fn changed_on_the_whole(
        &self,
        known: &BTreeSet<String>,
        net: &NetChanges,
    ) -> BTreeSet<String> {
        let root = self.workspace.path();
        let shown = ShownPaths::of(&self.workspace);
        let counts = |path: &Path| shown.as_ref().is_none_or(|shown| shown.counts(path));
        let is_listed = |change: &SnapshotChange| {
            let is_gone = || root.join(&change.path).symlink_metadata().is_err();
            change.kind != ChangeKind::NotCovered(Reason::Meanwhile)
                && (change.kind == ChangeKind::Deleted || !is_gone())
        };
        let uncovered = known.iter().filter(|name| !net.touched.contains(*name));
        let covered = net.changes.iter().cloned();
        let covered = covered.filter_map(|change| change.seen(counts));
        let covered = covered.filter(is_listed);
        let covered = covered.map(|change| name_of(&change.path));
        let names = uncovered.cloned().chain(covered);
        names.take(REMEMBERED_FILES).collect()
    }

    /// Finds what the rounds of a session changed on the whole, with one that its journal may not have
    /// yet.
    pub(super) fn net_changes(
        &self,
        id: &SessionId,
        latest: Option<(Snapshot, Snapshot)>,
    ) -> Result<NetChanges> {
        let history = self.store.history(id)?;
        let mut objects = CheckpointStore::open(&self.store.objects())?;
        let with_latest = |mut rounds: Vec<(Snapshot, Snapshot)>| {
            rounds.extend(latest.filter(|latest| rounds.last() != Some(latest)));
            rounds
        };
        let mut touched = BTreeSet::new();
        for (before, after) in with_latest(history.all_snapshots()) {
            let changes = objects.changes(&before, &after)?;
            touched.extend(changes.iter().flat_map(names_of));
        }
        let changes = objects.net_changes(&with_latest(history.snapshots(0)))?;
        Ok(NetChanges { touched, changes })
    }

    /// Writes files, and disables what that made git run or obey: a file that was harmless when it was
    /// changed may lie in a repository by now.
    pub(super) fn disarming<T>(&self, restore: impl FnOnce() -> T) -> T {
        let authorizer = &self.manner.authorizer;
        let workspace = self.workspace.path();
        let left_out = unseen_by_commands(workspace, authorizer.confinement.as_ref());
        let before = Inventory::take(workspace, &left_out);
        let kept = KeptInventory::new(workspace, left_out.clone(), before.clone());
        if let Some(file) = &authorizer.kept_inventory {
            // As before a command: without it, a kill leaves what was restored as it is.
            let _ = kept.keep(file);
        }
        self.workspace.forget_survey();
        let restored = restore();
        let mut now = Inventory::take_after(&before, workspace, &left_out, &[], None);
        let told = now.disarm_and_tell(&before, workspace);
        let cache =
            (authorizer.confinement.as_ref()).and_then(|confinement| confinement.cache.as_ref());
        let in_cache = cache.and_then(|cache| now.disarm_cache(cache));
        if let Some(file) = &authorizer.kept_inventory {
            let _ = crate::fs::remove(file);
        }
        for report in told.into_iter().chain(in_cache) {
            self.tell(Event::Recovery(disarmed(&report)));
        }
        restored
    }

    /// Says that nothing of these rounds can be put back; an undo can go on to the round before them.
    fn not_covered(&self, id: &SessionId, reversal: &Reversal) -> Error {
        let error = Error::mendable("checkpoints do not cover these files, so nothing was done");
        let before = self.store.history(id).ok().and_then(|history| {
            let rounds = history.undoable(0).into_iter().map(|round| round.round);
            rounds
                .into_iter()
                .find(|round| !reversal.rounds.contains(round))
        });
        match before {
            Some(round) if reversal.wish != Wish::Redo => error.hint(format!(
                "`agent undo --to {}` undoes round {round} too, and leaves these files as they are",
                round - 1
            )),
            _ => error,
        }
    }

    /// Where an undo of these rounds keeps what it removes; the same for the same undo again.
    pub fn removed(&self, id: &SessionId, reversal: &Reversal) -> PathBuf {
        let latest = reversal.rounds.iter().max().copied().unwrap_or_default();
        let folder = self.store.folder(id).join(REMOVED);
        folder.join(format!("{ROUND}{latest:04}"))
    }

    fn plan_alone(&self, id: &SessionId, wish: Wish) -> Result<(Journal, Reversal)> {
        let (journal, recovered) = self.store.journal(id)?;
        if recovered.claimed.is_some() {
            return Err(Error::mendable(format!(
                "a reply of session {id} was being carried out when `agent` stopped"
            ))
            .hint(format!("`agent resume {id}` settles that first")));
        }
        let history = self.store.history(id)?;
        let rounds = choose(&history, wish)?;
        let uncovered = match (wish, rounds.last()) {
            (Wish::UndoTo(_), Some((first, _))) => history.uncovered(first.round),
            _ => Vec::new(),
        };
        let turns = rounds.iter();
        let turns: Vec<PartialTurn> = turns
            .map(|(round, only)| (turn(round, wish), only.clone()))
            .collect();
        let ran_commands = |round: &u32| history.reach(*round) == Some(Reach::Whole);
        let is_undo = wish != Wish::Redo;
        let numbers: Vec<u32> = rounds.iter().map(|(round, _)| round.round).collect();
        let keeps = (turns.last())
            .filter(|_| is_undo && numbers.iter().any(ran_commands))
            .map(|(turn, _)| turn.to);
        let mut store = CheckpointStore::open(&self.store.objects())?;
        let reversal = Reversal {
            wish,
            rounds: numbers,
            plan: (store.plan_parts(&self.workspace, &turns)).map_err(tidied)?,
            uncovered,
            keeps,
        };
        Ok((journal, reversal))
    }
}

/// Adds why a checkpoint may be missing.
pub fn tidied(error: Error) -> Error {
    error.hint(
        "checkpoints are kept of the latest 50 rounds, for 30 days after the end of a session, and as long as all together fit into `MaxUndoMegabytes`",
    )
}

/// A round, and the only paths of it that are still to be restored, if not all are.
type Chosen = (Checkpoint, Option<BTreeSet<String>>);

/// The rounds to go through, in their order: what an earlier try left open, or whole rounds.
fn choose(history: &History, wish: Wish) -> Result<Vec<Chosen>> {
    let way = match wish {
        Wish::UndoLatest | Wish::UndoTo(_) => ReversalDirection::Undo,
        Wish::Redo => ReversalDirection::Redo,
    };
    let mut chosen: Vec<Chosen> = Vec::new();
    if let Some((rounds, paths)) = history.unfinished(way) {
        let rounds = rounds.into_iter().filter(|round| match wish {
            Wish::UndoTo(last) => round.round > last,
            Wish::UndoLatest | Wish::Redo => true,
        });
        chosen.extend(rounds.map(|round| (round, Some(paths.clone()))));
    }
    if chosen.is_empty() || matches!(wish, Wish::UndoTo(_)) {
        let whole = match choose_whole(history, wish) {
            Err(_) if !chosen.is_empty() => Vec::new(),
            whole => whole?,
        };
        chosen.extend(whole.into_iter().map(|round| (round, None)));
    }
    Ok(chosen)
}

fn choose_whole(history: &History, wish: Wish) -> Result<Vec<Checkpoint>> {
    let (rounds, nothing) = match wish {
        Wish::UndoLatest => {
            let mut rounds = history.undoable(0);
            rounds.truncate(1);
            let reached = rounds.first().map_or(0, |round| round.round);
            if let Some(later) = history.uncovered(reached).last() {
                return Err(uncovered(*later, reached));
            }
            (rounds, "there is no round to undo".to_owned())
        }
        Wish::UndoTo(last) => (
            history.undoable(last),
            format!("there is no round after round {last} to undo"),
        ),
        Wish::Redo => (history.redoable(), "there is nothing to redo".to_owned()),
    };
    if rounds.is_empty() {
        let hint = match wish {
            Wish::Redo => {
                "only undone rounds can be redone, and only until a later round changes files"
            }
            _ => "only rounds that changed files, and are not undone already, can be undone",
        };
        return Err(Error::mendable(nothing).hint(hint));
    }
    Ok(rounds)
}

/// A round stands in the way that cannot be undone; `reached` is the one before it that can.
fn uncovered(round: u32, reached: u32) -> Error {
    let error = Error::mendable(format!(
        "round {round} cannot be undone: no snapshot of it could be taken"
    ));
    match reached.checked_sub(1) {
        None => error.hint("no round before it can be undone either"),
        Some(to) => error.hint(format!(
            "`agent undo --to {to}` undoes round {reached} and leaves what round {round} changed"
        )),
    }
}

/// Returns the command line for a wish, without `agent`.
fn verb(wish: Wish) -> String {
    match wish {
        Wish::UndoLatest => "undo".to_owned(),
        Wish::UndoTo(last) => format!("undo --to {last}"),
        Wish::Redo => "redo".to_owned(),
    }
}

fn turn(round: &Checkpoint, wish: Wish) -> Turn {
    match wish {
        Wish::UndoLatest | Wish::UndoTo(_) => Turn {
            from: round.after,
            to: round.before,
            original: round.original,
        },
        Wish::Redo => Turn {
            from: round.before,
            to: round.after,
            original: None,
        },
    }
}

/// `round 3`, or `rounds 4 and 3`, in words.
pub fn named(rounds: &[u32]) -> String {
    let numbers: Vec<String> = rounds.iter().map(ToString::to_string).collect();
    match numbers.split_last() {
        None => "no round".to_owned(),
        Some((only, [])) => format!("round {only}"),
        Some((last, others)) => format!("rounds {} and {last}", others.join(", ")),
    }
}

/// The steps without those for directories that follow from what is below them.
pub fn files(steps: &[RestoreStep]) -> Vec<&RestoreStep> {
    let parents: BTreeSet<&Path> = (steps.iter())
        .flat_map(|step| step.path.ancestors().skip(1))
        .collect();
    let follows = |step: &RestoreStep| is_directory(step) && parents.contains(&*step.path);
    steps.iter().filter(|step| !follows(step)).collect()
}

/// Returns true if a step makes, changes or removes a directory.
pub fn is_directory(step: &RestoreStep) -> bool {
    let nodes = [step.now, step.then];
    nodes.iter().flatten().any(Node::is_directory)
}

/// Says what happens to a file, as words to put after its name.
fn effect(step: &RestoreStep) -> &'static str {
    match (&step.now, &step.then) {
        (_, None) => "does not exist any more",
        (None, Some(_)) => "exists again",
        (Some(_), Some(_)) => "is changed",
    }
}

/// Why a file is left alone, in words after its name.
pub fn obstacle(conflict: &Conflict) -> String {
    match &conflict.why {
        ConflictReason::ChangedSince => "was changed since".to_owned(),
        ConflictReason::ChangedBetween => "was changed between the rounds".to_owned(),
        ConflictReason::NotCovered(reason @ Reason::Meanwhile) => reason.words().to_owned(),
        ConflictReason::NotCovered(reason) => {
            format!("is not covered by checkpoints: it {}", reason.words())
        }
        ConflictReason::NotEmpty => "holds files that the rounds did not create".to_owned(),
        ConflictReason::Failed(cause) => format!("could not be restored: {cause}"),
    }
}

fn is_failed(conflict: &Conflict) -> bool {
    matches!(conflict.why, ConflictReason::Failed(_))
}

/// Refuses to call it done while something could not be restored.
pub fn ensure_restored(restored: &Restored) -> Result<()> {
    let Some(failed) = restored.skipped.iter().find(|one| is_failed(one)) else {
        return Ok(());
    };
    let path = escape_line(&failed.path.to_string_lossy());
    Err(Error::mendable(format!("`{path}` {}", obstacle(failed)))
        .hint("what could be done is done; fix this, and the same command completes it"))
}

/// Writes the note that tells the model what was undone or redone.
fn note(reversal: &Reversal, restored: &Restored) -> String {
    let rounds = named(&reversal.rounds);
    let mut text = match reversal.wish {
        Wish::UndoLatest | Wish::UndoTo(_) => {
            format!("[undo] The user undid {rounds}: these files are now as they were before:")
        }
        Wish::Redo => {
            format!("[redo] The user redid {rounds}: these files are now as they were after it:")
        }
    };
    let (mut files, already) = (files(&restored.done), files(&reversal.plan.already));
    files.extend(already);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let lines = files
        .iter()
        .map(|step| (&step.path, effect(step).to_owned()));
    list(&mut text, lines);
    if files.is_empty() {
        text.push_str("\n- none");
    }
    if !restored.skipped.is_empty() {
        text.push_str("\nThese were left as they are:");
        let lines = restored.skipped.iter();
        list(
            &mut text,
            lines.map(|conflict| (&conflict.path, obstacle(conflict))),
        );
    }
    if !reversal.uncovered.is_empty() {
        let stay = named(&reversal.uncovered);
        let _ = write!(text, "\nWhat {stay} changed stays as it is.");
    }
    text.push_str("\nRead a file again before you change it.");
    text
}

fn list<'a>(
    text: &mut String,
    lines: impl ExactSizeIterator<Item = (&'a std::path::PathBuf, String)>,
) {
    let rest = lines.len().saturating_sub(NAMED);
    for (path, what) in lines.take(NAMED) {
        let path = escape_line(&path.to_string_lossy());
        let _ = write!(text, "\n- `{path}` {what}");
    }
    if rest > 0 {
        let _ = write!(text, "\n- and {rest} more");
    }
}
