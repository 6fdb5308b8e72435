//! Settles a batch of file changes that was under way when the program was stopped.
//!
//! Changes are made in their order, so that a point can be found up to which they are made: the one
//! at which every file contains what it should. From there on they are made now. A file that is
//! neither what it was before nor what one of the changes made of it was changed by somebody else:
//! it stays as it is, and what was meant for it is kept elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::staging::carry_out::{Stats, discard, make};
use crate::protocol::{Batch, Outcome, RelPath, StagedChange, StagedFile, StagedStep, StepResult};
use crate::workspace::{FileProblem, Workspace};

/// Keeps a content that was meant for a file, and tells where.
pub type Keep<'a> = &'a mut dyn FnMut(&RelPath, &[u8]) -> Result<String, String>;

/// What became of a batch.
#[derive(Debug, PartialEq, Eq)]
pub struct Settled {
    /// What is told of its steps.
    pub results: Vec<StepResult>,
    /// What is known of its files.
    pub files: Vec<StagedFile>,
}

/// Brings a batch to its end.
pub fn settle(workspace: &Workspace, batch: &Batch, keep: Keep<'_>) -> Settled {
    let changes: Vec<&StagedChange> = batch.steps.iter().flat_map(|step| &step.changes).collect();
    let found = Found::look(workspace, &changes);
    let made = found.made(&changes);
    let mut place = 0;
    let mut results = Vec::with_capacity(batch.steps.len());
    let mut unsettled = BTreeSet::new();
    for step in &batch.steps {
        let mut troubles = Vec::new();
        for change in &step.changes {
            let is_made = place < made;
            if let Err(trouble) = found.settle(workspace, change, is_made, keep) {
                troubles.push(trouble);
                unsettled.extend(change.effects().into_iter().map(|(path, _, _)| path));
            }
            place += 1;
        }
        discard(workspace, &step.changes);
        results.push(told(step, &troubles, &unsettled));
    }
    let is_settled = |file: &&StagedFile| !unsettled.contains(&file.path);
    Settled {
        files: batch.files.iter().filter(is_settled).cloned().collect(),
        results,
    }
}

fn told(step: &StagedStep, troubles: &[String], unsettled: &BTreeSet<&RelPath>) -> StepResult {
    let mut result = step.result.clone();
    if !troubles.is_empty() {
        let changed = result.outcome.changed.drain(..);
        let changed: Vec<RelPath> = changed.filter(|path| !unsettled.contains(path)).collect();
        result.outcome = Outcome::failed(format!(
            "interrupted: `agent` was stopped while this was under way; {}",
            troubles.join("; ")
        ))
        .with_changed(changed);
    }
    result
}

/// What the files contain now.
struct Found<'a> {
    now: BTreeMap<&'a RelPath, Option<String>>,
    /// Files that are neither as before nor as any change left them.
    foreign: BTreeSet<&'a RelPath>,
    /// Contents that are still under their temporary names.
    staged: BTreeSet<&'a RelPath>,
}

impl<'a> Found<'a> {
    fn look(workspace: &Workspace, changes: &[&'a StagedChange]) -> Self {
        let mut expected: BTreeMap<&RelPath, BTreeSet<Option<&str>>> = BTreeMap::new();
        let mut staged = BTreeSet::new();
        for change in changes {
            for (path, before, after) in change.effects() {
                expected.entry(path).or_default().extend([before, after]);
            }
            if let StagedChange::Write {
                staged: lies,
                after,
                ..
            } = change
                && matches!(workspace.digest(lies), Ok(Some(hash)) if hash == *after)
            {
                staged.insert(lies);
            }
        }
        let (mut now, mut foreign) = (BTreeMap::new(), BTreeSet::new());
        for (path, contents) in expected {
            match workspace.digest(path) {
                Ok(content) if contents.contains(&content.as_deref()) => {
                    now.insert(path, content);
                }
                _ => {
                    foreign.insert(path);
                }
            }
        }
        Self {
            now,
            foreign,
            staged,
        }
    }

    /// How many of the changes are made.
    ///
    /// Where the contents leave a choice, the temporary names decide; then the later point.
    fn made(&self, changes: &[&StagedChange]) -> usize {
        let mut contents: BTreeMap<&RelPath, Option<&str>> = BTreeMap::new();
        for change in changes.iter().rev() {
            for (path, before, _) in change.effects() {
                contents.insert(path, before);
            }
        }
        let differs = |path: &RelPath, content: Option<&str>| {
            self.now
                .get(path)
                .is_some_and(|now| now.as_deref() != content)
        };
        let mut different = contents
            .iter()
            .filter(|(path, content)| differs(path, **content))
            .count();
        let is_staged = |change: &&StagedChange| matches!(change, StagedChange::Write { staged, .. } if self.staged.contains(staged));
        let is_write = |change: &&StagedChange| matches!(change, StagedChange::Write { .. });
        // Contents that should be under their temporary names and are not, or the other way round.
        let mut misplaced = (changes.iter().copied())
            .filter(|change| is_write(change) && !is_staged(change))
            .count();
        let mut best = (different == 0).then_some((misplaced, 0));
        for (place, change) in changes.iter().enumerate() {
            for (path, _, after) in change.effects() {
                let before = contents.insert(path, after).flatten();
                different -= usize::from(differs(path, before));
                different += usize::from(differs(path, after));
            }
            match (is_write(change), is_staged(change)) {
                (true, true) => misplaced += 1,
                (true, false) => misplaced -= 1,
                (false, _) => {}
            }
            if different == 0 && best.is_none_or(|(least, _)| misplaced <= least) {
                best = Some((misplaced, place + 1));
            }
        }
        best.map_or(0, |(_, made)| made)
    }

    /// Makes a change now if it is not made; tells what stands in the way.
    fn settle(
        &self,
        workspace: &Workspace,
        change: &StagedChange,
        is_made: bool,
        keep: Keep<'_>,
    ) -> Result<(), String> {
        let foreign = change
            .effects()
            .into_iter()
            .map(|(path, _, _)| path)
            .find(|path| self.foreign.contains(path));
        match (foreign, change) {
            (None, _) if is_made => Ok(()),
            // It got its name, and was changed after that: that is the person's business.
            (Some(_), StagedChange::Write { staged, .. })
                if is_made && !self.staged.contains(staged) =>
            {
                Ok(())
            }
            (Some(path), _) => Err(conflict(workspace, change, path, keep)),
            (None, StagedChange::Write { path, staged, .. }) if !self.staged.contains(staged) => {
                Err(format!("`{path}` was not written; send the change again"))
            }
            (None, _) => make(workspace, change, &Stats::new()).map_err(|problem| match problem {
                FileProblem::Changed(path) => conflict(workspace, change, &path, keep),
                problem => problem.to_string(),
            }),
        }
    }
}

/// Keeps what was meant for a file that somebody else changed.
fn conflict(
    workspace: &Workspace,
    change: &StagedChange,
    path: &RelPath,
    keep: Keep<'_>,
) -> String {
    let stays = format!("`{path}` was changed by somebody else meanwhile and stays as it is");
    let StagedChange::Write { staged, .. } = change else {
        return format!("{stays}; look at it before you send the change again");
    };
    let kept = workspace
        .read(staged, u64::MAX)
        .map_err(|problem| problem.to_string())
        .and_then(|content| keep(path, &content));
    match kept {
        Ok(place) => format!(
            "{stays}; what you meant is kept for the user in `{place}`; read the file before you send the change again"
        ),
        Err(problem) => format!("{stays}; what you meant could not be kept: {problem}"),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
