//! How far a batch came before it was stopped.
//!
//! A run is a series of writes, which 0.1.0 made at the same time, or one other change; runs are made
//! one after the other. With one of them under way, all before it are made and all
//! after it are not: so every file outside of it contains what it should. Where no run fits,
//! somebody brought back an older content, or a step was given up and later ones were made; then
//! each change of the batch is decided by itself.

use std::collections::{BTreeMap, BTreeSet};

use super::found::{FoundBatch, Lies};
use crate::protocol::{RelPath, StagedChange, StagedStep};

/// The changes in the order in which they are made, those together that had none among them.
fn runs(changes: &[StagedChange]) -> impl Iterator<Item = &[StagedChange]> {
    let is_write = |change: &StagedChange| matches!(change, StagedChange::Write { .. });
    changes.chunk_by(move |one, next| is_write(one) && is_write(next))
}

/// Which changes are made, in the order of the changes.
pub(super) fn made(found: &FoundBatch<'_>, steps: &[StagedStep]) -> Vec<bool> {
    let runs: Vec<&[StagedChange]> = (steps.iter())
        .flat_map(|step| runs(&step.changes))
        .collect();
    let Some(under_way) = under_way(found, &runs) else {
        return each_by_itself(found, &runs);
    };
    let made = runs.iter().enumerate().flat_map(|(place, run)| {
        let by_themselves = (place == under_way).then(|| decide(found, run));
        by_themselves.unwrap_or_else(|| vec![place < under_way; run.len()])
    });
    made.collect()
}

/// The run that was under way.
///
/// Where the contents leave a choice, the temporary names decide; then the later one.
fn under_way(found: &FoundBatch<'_>, runs: &[&[StagedChange]]) -> Option<usize> {
    let mut contents: BTreeMap<&RelPath, Option<&str>> = BTreeMap::new();
    for change in runs.iter().copied().flatten().rev() {
        for (path, before, _) in change.effects() {
            contents.insert(path, before);
        }
    }
    let differs = |path: &RelPath, content| usize::from(found.differs(path, content));
    // Files outside of the run that do not contain what they should.
    let mut different: usize = (contents.iter())
        .map(|(path, content)| differs(path, *content))
        .sum();
    // Contents outside of the run that should lie under their temporary names and do not, or the
    // other way round.
    let mut misplaced: usize = runs.iter().map(|run| contents_of(found, run).named).sum();
    let mut best = None;
    for (place, run) in runs.iter().enumerate() {
        let Contents { named, waiting } = contents_of(found, run);
        misplaced -= named;
        for (path, _, _) in run.iter().flat_map(StagedChange::effects) {
            if let Some(content) = contents.remove(path) {
                different -= differs(path, content);
            }
        }
        let fits = different == 0 && run.iter().all(|change| found.is_possible(change));
        let contradictory = run.iter().filter(|change| found.is_contradictory(change));
        let wrong = misplaced + contradictory.count();
        if fits && best.is_none_or(|(least, _)| wrong <= least) {
            best = Some((wrong, place));
        }
        for (path, _, after) in run.iter().flat_map(StagedChange::effects) {
            if let Some(content) = contents.insert(path, after) {
                different -= differs(path, content);
            }
            different += differs(path, after);
        }
        misplaced += waiting;
    }
    best.map(|(_, place)| place)
}

/// How many new contents of a run are where.
struct Contents {
    /// They have their names, or are gone.
    named: usize,
    /// They lie under their temporary names.
    waiting: usize,
}

fn contents_of(found: &FoundBatch<'_>, run: &[StagedChange]) -> Contents {
    let writes = run
        .iter()
        .filter(|change| matches!(change, StagedChange::Write { .. }));
    let is_waiting = |change: &&StagedChange| found.lies(change) == Lies::New;
    let waiting = writes.clone().filter(is_waiting).count();
    Contents {
        named: writes.count() - waiting,
        waiting,
    }
}

/// Decides each change of a run by its own files.
fn decide(found: &FoundBatch<'_>, run: &[StagedChange]) -> Vec<bool> {
    // A content that is nowhere was thrown away with the others of its run.
    let is_given_up = run.iter().any(|change| found.is_lost(change));
    let decide = |change: &StagedChange| {
        let is_unknown = found.foreign(change).is_some() && found.lies(change) != Lies::Old;
        found.is_made(change) && !(is_given_up && is_unknown)
    };
    run.iter().map(decide).collect()
}

/// Decides each change of the batch by its own files, the last one first: what was made of a file
/// later tells that what came before it was made, too.
fn each_by_itself(found: &FoundBatch<'_>, runs: &[&[StagedChange]]) -> Vec<bool> {
    let mut later: BTreeSet<&RelPath> = BTreeSet::new();
    let mut made = Vec::new();
    for run in runs.iter().rev() {
        for (change, is_made) in run.iter().zip(decide(found, run)).rev() {
            let effects = change.effects();
            let is_overtaken = effects.iter().any(|(path, _, _)| later.contains(path))
                && (effects.iter())
                    .all(|(path, _, after)| later.contains(path) || !found.differs(path, *after));
            let is_made = is_made || is_overtaken;
            if is_made {
                later.extend(effects.into_iter().map(|(path, _, _)| path));
            }
            made.push(is_made);
        }
    }
    made.reverse();
    made
}
