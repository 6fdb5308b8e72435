//! Settles a batch of file changes that was under way when the program was stopped.
//!
//! Runs of changes follow each other in their order, but new contents of files within a run are put
//! into place by several threads, in no order. So the run is looked for that can have been under way
//! (`progress`), and each of its changes is decided by itself: a file that has what was meant for it
//! is done; what still lies under its temporary name is put into place now. A file that is neither
//! what it was before nor what one of the changes made of it was changed by somebody else: it stays
//! as it is, and what was meant for it is kept elsewhere; where that fails, it stays under its
//! temporary name.

mod found;
mod progress;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::staging::carry_out::{Stats, discard, make};
use crate::protocol::{
    Outcome, RelPath, StagedBatch, StagedChange, StagedFile, StagedStep, StepResult,
};
use crate::workspace::{FileProblem, MadeDirectories, Workspace};
use found::{FoundBatch, Lies};
use progress::made;

/// Keeps a content that was meant for a file, and tells where.
pub type Keep<'a> = &'a mut dyn FnMut(&RelPath, &[u8]) -> Result<String, String>;

/// The outcome of settling a batch.
#[derive(Debug, PartialEq, Eq)]
pub struct Settled {
    /// The results of its steps.
    pub results: Vec<StepResult>,
    /// The knowledge about its files.
    pub files: Vec<StagedFile>,
}

/// An obstacle to a change.
struct Obstacle {
    message: String,
    /// Advice for the model.
    hint: &'static str,
    /// False if the intended content exists only under its temporary name; else it is kept, or is
    /// worth nothing.
    is_kept: bool,
}

impl Obstacle {
    fn new(message: String, hint: &'static str) -> Self {
        Self {
            message,
            hint,
            is_kept: true,
        }
    }
}

/// Brings a batch to its end.
pub fn settle(workspace: &Workspace, batch: &StagedBatch, keep: Keep<'_>) -> Settled {
    let changes: Vec<&StagedChange> = batch.steps.iter().flat_map(|step| &step.changes).collect();
    let found = FoundBatch::look(workspace, &changes);
    let mut made = made(&found, &batch.steps).into_iter();
    let mut results = Vec::with_capacity(batch.steps.len());
    let mut unsettled = BTreeSet::new();
    for step in &batch.steps {
        let mut obstacles = Vec::new();
        for (change, is_made) in step.changes.iter().zip(made.by_ref()) {
            let ended = bring_to_its_end(workspace, &found, change, is_made, keep);
            if ended.as_ref().err().is_none_or(|obstacle| obstacle.is_kept) {
                discard(workspace, [change]);
            }
            if let Err(obstacle) = ended {
                obstacles.push(obstacle);
                unsettled.extend(change.effects().into_iter().map(|(path, _, _)| path));
            }
        }
        results.push(told(step, &obstacles, &unsettled));
    }
    let is_settled = |file: &&StagedFile| !unsettled.contains(&file.path);
    Settled {
        files: batch.files.iter().filter(is_settled).cloned().collect(),
        results,
    }
}

fn told(step: &StagedStep, obstacles: &[Obstacle], unsettled: &BTreeSet<&RelPath>) -> StepResult {
    let mut result = step.result.clone();
    if !obstacles.is_empty() {
        let changed = result.outcome.changed.drain(..);
        let changed: Vec<RelPath> = changed.filter(|path| !unsettled.contains(path)).collect();
        let mut message = "interrupted: `agent` was stopped while this was under way".to_owned();
        let mut hints: Vec<&str> = Vec::new();
        for obstacle in obstacles {
            let _ = write!(message, "; {}", obstacle.message);
            if !obstacle.hint.is_empty() && !hints.contains(&obstacle.hint) {
                hints.push(obstacle.hint);
            }
        }
        match changed.len() {
            0 => {}
            1 => message.push_str("; its other file is changed"),
            more => {
                let _ = write!(message, "; its other {more} files are changed");
            }
        }
        result.outcome =
            (Outcome::failed(message).with_hint(hints.join("; "))).with_changed(changed);
    }
    result
}

/// Makes a change now if it is not made; tells what stands in the way.
fn bring_to_its_end(
    workspace: &Workspace,
    found: &FoundBatch<'_>,
    change: &StagedChange,
    is_made: bool,
    keep: Keep<'_>,
) -> Result<(), Obstacle> {
    match (found.foreign(change), change) {
        // What got its name and was changed after that is the person's business.
        (None, _) | (Some(_), StagedChange::Write { .. }) if is_made => Ok(()),
        (Some(path), _) => Err(conflict(workspace, found, change, path, keep)),
        (None, StagedChange::Write { path, .. }) if found.lies(change) != Lies::New => {
            let message = format!("`{path}` was not written");
            Err(Obstacle::new(message, "send the change again"))
        }
        (None, _) => {
            let made = MadeDirectories::default();
            let attempt = || make(workspace, change, &Stats::new(), &made);
            // Half a patch is worse than a second attempt.
            attempt().or_else(|_| attempt()).map_err(|problem| {
                workspace.remove_made(made);
                match problem {
                    FileProblem::Changed(path) => conflict(workspace, found, change, &path, keep),
                    problem => Obstacle::new(problem.to_string(), ""),
                }
            })
        }
    }
}

/// Keeps what was meant for a file that somebody else changed.
fn conflict(
    workspace: &Workspace,
    found: &FoundBatch<'_>,
    change: &StagedChange,
    path: &RelPath,
    keep: Keep<'_>,
) -> Obstacle {
    let stays = format!("`{path}` was changed by somebody else meanwhile and stays as it is");
    let staged = match change {
        StagedChange::Write { staged, .. } if found.lies(change) == Lies::New => staged,
        _ => {
            return Obstacle::new(stays, "look at it before you send the change again");
        }
    };
    let kept = workspace
        .read(staged, u64::MAX)
        .map_err(|problem| problem.to_string())
        .and_then(|content| keep(path, &content));
    let is_kept = kept.is_ok();
    let message = match kept {
        Ok(place) => format!("{stays}; what was meant for it is kept for the user in `{place}`"),
        Err(problem) => format!(
            "{stays}; what was meant for it could not be kept elsewhere ({problem}) and is in `{staged}`"
        ),
    };
    Obstacle {
        is_kept,
        ..Obstacle::new(message, "read the file before you send the change again")
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
