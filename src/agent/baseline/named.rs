//! Which files the steps of a round name, and which of them they wrote.
//!
//! A file that a step was to change and did not is somebody else's, whatever it contains by now: no
//! undo of the round touches it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Baseline, RoundJournal};
use crate::checkpoint::{Before, Node, Reach, Reason, Snapshot};
use crate::protocol::{RelPath, StagedChange, StagedStep, Status, Step, StepResult};
use crate::session::{Record, Sync};
use crate::workspace::survey::FileStat;

/// The files that the steps change by themselves.
pub(super) fn named_by(steps: &[Step]) -> Vec<RelPath> {
    let paths = steps.iter().flat_map(|step| step.command.changed_paths());
    let paths: BTreeSet<&RelPath> = paths.collect();
    paths.into_iter().cloned().collect()
}

/// The files that the steps of a round changed by themselves: what a step named and did not write
/// is somebody else's.
pub(super) fn written_by(steps: &[Step], results: &[StepResult]) -> Vec<RelPath> {
    let mut paths = BTreeSet::new();
    for (step, result) in steps.iter().zip(results) {
        if result.outcome.status == Status::Ok {
            paths.extend(step.command.changed_paths());
        }
        paths.extend(&result.outcome.changed);
    }
    paths.into_iter().cloned().collect()
}

impl Baseline<'_> {
    /// Remembers the files that a step was to change and did not.
    pub(in crate::agent) fn note_others(&mut self, step: &StagedStep) {
        let changed = &step.result.outcome.changed;
        let effects = step.changes.iter().flat_map(StagedChange::effects);
        let paths = effects.map(|(path, ..)| path);
        let paths = paths.filter(|path| !changed.contains(path));
        let paths = paths.map(|path| PathBuf::from(path.as_str()));
        self.of_others.extend(paths);
    }

    /// The checkpoint before a round that looked at everything, with the files passed over that are
    /// not the round's: those, and what it moved out of places that no checkpoint covers.
    ///
    /// One that looked only at what its steps wrote knows neither.
    pub(super) fn leave_others(
        &mut self,
        before: Before,
        after: Snapshot,
        covered: Option<&CoveredBefore>,
        sequence: u32,
        journal: &mut RoundJournal<'_>,
    ) -> Before {
        let others = std::mem::take(&mut self.of_others);
        if before.reach == Reach::Named || (others.is_empty() && covered.is_none()) {
            return before;
        }
        let workspace = &self.agent.workspace;
        let why_apart = |path: &Path, _: &Node, stat: &FileStat| {
            if others.contains(path) {
                return Some(Reason::Meanwhile);
            }
            let is_moved_in = covered.is_some_and(|covered| covered.is_foreign(stat));
            is_moved_in.then_some(Reason::MovedIn)
        };
        let apart = self
            .store()
            .and_then(|store| store.set_apart(workspace, before.snapshot, after, why_apart));
        let Ok((snapshot, found)) = apart else {
            return before;
        };
        if found.is_empty() {
            return before;
        }
        let without = before.apart(snapshot);
        let record = Record::Before {
            sequence,
            before: without,
        };
        if journal.append(&[record], Sync::Later).is_err() {
            return before;
        }
        let mut moved_in = found;
        moved_in.retain(|one| one.reason != Reason::Meanwhile);
        self.tell_passed_over(&moved_in);
        without
    }
}

/// The files that the checkpoint before a round covered, to tell what the round created from what
/// was there.
#[derive(Debug)]
pub(super) struct CoveredBefore {
    /// The files and directories, by their numbers in the file system, sorted.
    pub(super) inodes: Vec<u64>,
    /// When it was begun, in nanoseconds since 1970.
    pub(super) at: i64,
}

/// How far the time of a new file may lie behind the clock, in nanoseconds: file systems take it
/// from one that ticks a hundred times a second.
const CLOCK_LAG: i64 = 50_000_000;

impl CoveredBefore {
    /// Returns true if a file is older than the round and was not covered under any name.
    ///
    /// A rename keeps the number and the time of birth of a file; what was copied is new.
    fn is_foreign(&self, stat: &FileStat) -> bool {
        let is_older = |born: i64| born < self.at.saturating_sub(CLOCK_LAG);
        stat.born.is_some_and(is_older) && self.inodes.binary_search(&stat.inode).is_err()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::{Command, Outcome};

    #[test]
    fn a_file_that_a_step_only_named_is_not_what_the_round_wrote() {
        let step = |number: u32| Step {
            number,
            line: 1,
            command: Command::DeleteFile {
                path: RelPath::parse(&format!("f{number}")).unwrap(),
            },
        };
        let steps: Vec<Step> = (1..=3).map(step).collect();
        let partly = RelPath::parse("f3").unwrap();
        let outcomes = [
            Outcome::ok("deleted"),
            Outcome::failed(
                "`f2` was changed by somebody else in the meantime and was left as it is",
            ),
            Outcome::failed("1 of 2").with_changed([partly]),
        ];
        let results: Vec<StepResult> = (steps.iter().zip(outcomes))
            .map(|(step, outcome)| StepResult::new(step, outcome, Duration::ZERO))
            .collect();
        let written = written_by(&steps, &results);
        let written: Vec<&str> = written.iter().map(RelPath::as_str).collect();
        assert_eq!(written, ["f1", "f3"]);
        assert_eq!(named_by(&steps).len(), 3);
    }
}
