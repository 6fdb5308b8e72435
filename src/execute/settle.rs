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
use found::{Found, Lies};
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

/// An obstacle to a change, in words.
enum Trouble {
    /// The intended content is kept, or is worth nothing.
    Settled(String),
    /// The intended content exists only under its temporary name.
    NotKept(String),
}

/// Brings a batch to its end.
pub fn settle(workspace: &Workspace, batch: &StagedBatch, keep: Keep<'_>) -> Settled {
    let changes: Vec<&StagedChange> = batch.steps.iter().flat_map(|step| &step.changes).collect();
    let found = Found::look(workspace, &changes);
    let mut made = made(&found, &batch.steps).into_iter();
    let mut results = Vec::with_capacity(batch.steps.len());
    let mut unsettled = BTreeSet::new();
    for step in &batch.steps {
        let mut troubles = Vec::new();
        for (change, is_made) in step.changes.iter().zip(made.by_ref()) {
            let ended = bring_to_its_end(workspace, &found, change, is_made, keep);
            if !matches!(&ended, Err(Trouble::NotKept(_))) {
                discard(workspace, [change]);
            }
            if let Err(Trouble::Settled(words) | Trouble::NotKept(words)) = ended {
                troubles.push(words);
                unsettled.extend(change.effects().into_iter().map(|(path, _, _)| path));
            }
        }
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
        let mut message = format!(
            "interrupted: `agent` was stopped while this was under way; {}",
            troubles.join("; ")
        );
        match changed.len() {
            0 => {}
            1 => message.push_str("; its other file is changed"),
            more => {
                let _ = write!(message, "; its other {more} files are changed");
            }
        }
        result.outcome = Outcome::failed(message).with_changed(changed);
    }
    result
}

/// Makes a change now if it is not made; tells what stands in the way.
fn bring_to_its_end(
    workspace: &Workspace,
    found: &Found<'_>,
    change: &StagedChange,
    is_made: bool,
    keep: Keep<'_>,
) -> Result<(), Trouble> {
    match (found.foreign(change), change) {
        // What got its name and was changed after that is the person's business.
        (None, _) | (Some(_), StagedChange::Write { .. }) if is_made => Ok(()),
        (Some(path), _) => Err(conflict(workspace, found, change, path, keep)),
        (None, StagedChange::Write { path, .. }) if found.lies(change) != Lies::New => {
            let words = format!("`{path}` was not written; send the change again");
            Err(Trouble::Settled(words))
        }
        (None, _) => {
            let made = MadeDirectories::default();
            let attempt = || make(workspace, change, &Stats::new(), &made);
            // Half a patch is worse than a second attempt.
            attempt().or_else(|_| attempt()).map_err(|problem| {
                workspace.remove_made(made);
                match problem {
                    FileProblem::Changed(path) => conflict(workspace, found, change, &path, keep),
                    problem => Trouble::Settled(problem.to_string()),
                }
            })
        }
    }
}

/// Keeps what was meant for a file that somebody else changed.
fn conflict(
    workspace: &Workspace,
    found: &Found<'_>,
    change: &StagedChange,
    path: &RelPath,
    keep: Keep<'_>,
) -> Trouble {
    let stays = format!("`{path}` was changed by somebody else meanwhile and stays as it is");
    let staged = match change {
        StagedChange::Write { staged, .. } if found.lies(change) == Lies::New => staged,
        _ => {
            let words = format!("{stays}; look at it before you send the change again");
            return Trouble::Settled(words);
        }
    };
    let kept = workspace
        .read(staged, u64::MAX)
        .map_err(|problem| problem.to_string())
        .and_then(|content| keep(path, &content));
    match kept {
        Ok(place) => Trouble::Settled(format!(
            "{stays}; what you meant is kept for the user in `{place}`; read the file before you send the change again"
        )),
        Err(problem) => Trouble::NotKept(format!(
            "{stays}; what you meant could not be kept elsewhere ({problem}) and lies in `{staged}`; read the file before you send the change again"
        )),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
