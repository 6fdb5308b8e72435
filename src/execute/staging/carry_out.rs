//! Makes the prepared changes of a step: all of them, or none if one fails.
//!
//! A file that gets another content changes names with it, where the system can do that: the old
//! content lies under the temporary name until all changes are made, and goes back by the same way.
//! The previous content of a file is never thrown away unless the step is done or the file has it
//! again.

mod take_back;

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::{RelPath, StagedChange};
use crate::workspace::survey::FileStat;
use crate::workspace::{ExecutableBit, FileProblem, MadeDirectories, Workspace};
use take_back::take_back;

/// The metadata of files when they were read, where a later change would show in it.
pub(in super::super) type Stats = BTreeMap<RelPath, FileStat>;

/// Why the changes of a step were not made.
#[derive(Debug)]
pub(in super::super) struct Failure {
    /// In words for the model and the person.
    pub(in super::super) message: String,
    /// Files that are not as they were before; mostly none.
    pub(in super::super) left: Vec<RelPath>,
}

/// The operation that restores a file.
enum Inverse<'a> {
    /// The file lies under the temporary name.
    Exchange {
        staged: &'a RelPath,
        path: &'a RelPath,
        /// Its content since the change.
        after: &'a str,
    },
    Write {
        path: &'a RelPath,
        content: Vec<u8>,
        permission: ExecutableBit,
        /// Its content since the change; `None` if it is gone.
        after: Option<&'a str>,
    },
    Remove {
        path: &'a RelPath,
        after: &'a str,
    },
    Rename {
        from: &'a RelPath,
        to: &'a RelPath,
    },
}

/// Makes the changes; if one fails, takes those before it back and tells what failed.
///
/// A file that is no longer what it was when its change was prepared is left as it is.
pub(in super::super) fn carry_out(
    workspace: &Workspace,
    changes: &[StagedChange],
    stats: &Stats,
) -> Result<(), Failure> {
    let made = MadeDirectories::default();
    if let [only] = changes {
        return make(workspace, only, stats, &made).map_err(|problem| {
            discard(workspace, changes);
            workspace.remove_made(made);
            Failure {
                message: problem.to_string(),
                left: Vec::new(),
            }
        });
    }
    let mut undo = Vec::with_capacity(changes.len());
    for change in changes {
        match make_reversibly(workspace, change, stats, &made) {
            Ok(inverse) => undo.push(inverse),
            Err(problem) => {
                let failure = give_up(workspace, changes, undo, &problem);
                workspace.remove_made(made);
                return Err(failure);
            }
        }
    }
    for inverse in &undo {
        if let Inverse::Exchange { staged, .. } = inverse {
            workspace.remove_staged(staged);
        }
    }
    Ok(())
}

/// Takes back what was made, and removes the contents that were prepared.
fn give_up(
    workspace: &Workspace,
    changes: &[StagedChange],
    undo: Vec<Inverse<'_>>,
    problem: &FileProblem,
) -> Failure {
    let old_contents = undo.iter().filter_map(|inverse| match inverse {
        Inverse::Exchange { staged, .. } => Some(*staged),
        _ => None,
    });
    let old_contents: BTreeSet<&RelPath> = old_contents.collect();
    let failure = take_back(workspace, undo, problem);
    let new_contents = changes.iter().filter(|change| {
        !matches!(change, StagedChange::Write { staged, .. } if old_contents.contains(staged))
    });
    discard(workspace, new_contents);
    failure
}

/// Makes one change, if the files are what they were when it was prepared.
pub(in super::super) fn make(
    workspace: &Workspace,
    change: &StagedChange,
    stats: &Stats,
    made: &MadeDirectories,
) -> Result<(), FileProblem> {
    for (path, before, _) in change.effects() {
        let is_as_before = match (stats.get(path), before) {
            (Some(stat), Some(_)) if workspace.stat(path)? == Some(*stat) => true,
            _ => {
                workspace.content_like(path, before.as_slice())?.as_deref() == before
                    || is_its_own_name(workspace, change, path)
            }
        };
        if !is_as_before {
            return Err(FileProblem::Changed(path.clone()));
        }
    }
    match change {
        StagedChange::Write { path, staged, .. } => workspace.put(staged, path, made),
        StagedChange::Remove { path, .. } => workspace.remove(path),
        StagedChange::Rename { from, to, .. } => workspace.rename_noting(from, to, made),
    }
}

/// Returns true if the new name of a file is taken only by the file itself, in other letter case.
fn is_its_own_name(workspace: &Workspace, change: &StagedChange, path: &RelPath) -> bool {
    matches!(change, StagedChange::Rename { from, to, .. } if path == to && workspace.is_same_name(from, to))
}

/// Makes a change, and returns the operation that reverts it.
fn make_reversibly<'a>(
    workspace: &Workspace,
    change: &'a StagedChange,
    stats: &Stats,
    made: &MadeDirectories,
) -> Result<Inverse<'a>, FileProblem> {
    if let StagedChange::Write {
        path,
        staged,
        before: Some(before),
        after,
    } = change
        // Of two files of the same content nobody could tell which one is the new one.
        && before != after
    {
        let is_as_before = |stat: &FileStat| match stats.get(path) {
            Some(known) if known == stat => Ok(true),
            _ => {
                let now = workspace.content_like(path, &[before])?;
                Ok(now.as_ref() == Some(before))
            }
        };
        if workspace.exchange(staged, path, is_as_before)? {
            return Ok(Inverse::Exchange {
                staged,
                path,
                after,
            });
        }
    }
    let inverse = inverse(workspace, change)?;
    make(workspace, change, stats, made)?;
    Ok(inverse)
}

/// Removes contents that were prepared and are not wanted.
pub(in super::super) fn discard<'a>(
    workspace: &Workspace,
    changes: impl IntoIterator<Item = &'a StagedChange>,
) {
    for change in changes {
        if let StagedChange::Write { staged, .. } = change {
            workspace.remove_staged(staged);
        }
    }
}

fn inverse<'a>(
    workspace: &Workspace,
    change: &'a StagedChange,
) -> Result<Inverse<'a>, FileProblem> {
    let (path, after) = match change {
        StagedChange::Write { path, after, .. } => (path, Some(after.as_str())),
        StagedChange::Remove { path, .. } => (path, None),
        StagedChange::Rename { from, to, .. } => {
            return Ok(Inverse::Rename { from: to, to: from });
        }
    };
    match (workspace.read(path, u64::MAX), after) {
        (Ok(content), _) => Ok(Inverse::Write {
            path,
            content,
            permission: workspace.permission(path)?,
            after,
        }),
        (Err(FileProblem::NotFound(_)), Some(after)) => Ok(Inverse::Remove { path, after }),
        (Err(problem), _) => Err(problem),
    }
}

impl Inverse<'_> {
    /// The files that it brings back.
    fn paths(&self) -> Vec<&RelPath> {
        match self {
            Self::Exchange { path, .. } | Self::Write { path, .. } | Self::Remove { path, .. } => {
                vec![path]
            }
            Self::Rename { from, to } => vec![from, to],
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
