//! Which files the steps of a round name, and which of them they wrote.
//!
//! A file that a step was to change and did not is somebody else's, whatever it contains by now: no
//! undo of the round touches it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::agent::Conversation;
use crate::checkpoint::{Before, Node, Reach, Snapshot};
use crate::protocol::{RelPath, StagedChange, StagedStep, Status, Step, StepResult};
use crate::session::{Record, Sync};
use crate::workspace::survey::Stat;

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

impl Conversation<'_> {
    /// Remembers the files that a step was to change and did not.
    pub(in crate::agent) fn note_others(&mut self, step: &StagedStep) {
        let changed = &step.result.outcome.changed;
        let effects = step.changes.iter().flat_map(StagedChange::effects);
        let paths = effects.map(|(path, ..)| path);
        let paths = paths.filter(|path| !changed.contains(path));
        let paths = paths.map(|path| PathBuf::from(path.as_str()));
        self.checkpoints.of_others.extend(paths);
    }

    /// The checkpoint before a round that looked at everything, with those files passed over.
    ///
    /// One that looked only at what its steps wrote does not know them.
    pub(super) fn leave_others(&mut self, before: Before, after: Snapshot) -> Snapshot {
        let others = std::mem::take(&mut self.checkpoints.of_others);
        if before.reach == Reach::Named || others.is_empty() {
            return before.snapshot;
        }
        let workspace = &self.agent.workspace;
        let is_of_others = |path: &Path, _: &Node, _: &Stat| others.contains(path);
        let apart = self
            .store()
            .and_then(|store| store.set_apart(workspace, before.snapshot, after, is_of_others));
        let Ok((snapshot, found)) = apart else {
            return before.snapshot;
        };
        if found.is_empty() {
            return before.snapshot;
        }
        let record = Record::Before {
            sequence: self.session.sequence_number,
            before: Before { snapshot, ..before },
        };
        match self.journal.append(&[record], Sync::Later) {
            Ok(()) => snapshot,
            Err(_) => before.snapshot,
        }
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
            Outcome::failed("`f2` was changed by somebody else meanwhile; it stays as it is"),
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
