//! Makes the prepared changes of a step: all of them, or none if one fails.
//!
//! A file that gets another content changes names with it, where the system can do that: the old
//! content lies under the temporary name until all changes are made, and goes back by the same way.

use std::collections::BTreeMap;

use crate::protocol::{RelPath, StagedChange};
use crate::workspace::crew::each_of;
use crate::workspace::survey::Stat;
use crate::workspace::{FileProblem, Permission, Workspace};

/// What the system knew of files when they were read, where a later change would show in it.
pub(in super::super) type Stats = BTreeMap<RelPath, Stat>;

/// What brings back a file as it was.
enum Inverse<'a> {
    /// The file lies under the temporary name.
    Exchange {
        staged: &'a RelPath,
        path: &'a RelPath,
    },
    Write {
        path: &'a RelPath,
        content: Vec<u8>,
        permission: Permission,
    },
    Remove(&'a RelPath),
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
) -> Result<(), String> {
    if let [only] = changes {
        return make(workspace, only, stats).map_err(|problem| {
            discard(workspace, changes);
            problem.to_string()
        });
    }
    let mut undo = Vec::with_capacity(changes.len());
    let is_write = |change: &StagedChange| matches!(change, StagedChange::Write { .. });
    // Contents of files have nothing to do with each other; all else is done in its order.
    for run in changes.chunk_by(|one, next| is_write(one) && is_write(next)) {
        let mut problem = None;
        for made in each_of(run, |change| make_reversibly(workspace, change, stats)) {
            match made {
                Ok(inverse) => undo.push(inverse),
                Err(first) => {
                    problem.get_or_insert(first);
                }
            }
        }
        if let Some(problem) = problem {
            let problem = take_back(workspace, undo, &problem);
            discard(workspace, changes);
            return Err(problem);
        }
    }
    each_of(&undo, |inverse| {
        if let Inverse::Exchange { staged, .. } = inverse {
            // What fails once may work the next time; what stays behind has a name that nobody is
            // shown.
            let again = |_| workspace.remove_staged(staged);
            let _ = workspace.remove_staged(staged).or_else(again);
        }
    });
    Ok(())
}

/// Makes one change, if the files are what they were when it was prepared.
pub(in super::super) fn make(
    workspace: &Workspace,
    change: &StagedChange,
    stats: &Stats,
) -> Result<(), FileProblem> {
    for (path, before, _) in change.effects() {
        let is_as_before = match (stats.get(path), before) {
            (Some(stat), Some(_)) if workspace.stat(path)? == Some(*stat) => true,
            _ => workspace.digest(path)?.as_deref() == before,
        };
        if !is_as_before {
            return Err(FileProblem::Changed(path.clone()));
        }
    }
    match change {
        StagedChange::Write { path, staged, .. } => workspace.put(staged, path),
        StagedChange::Remove { path, .. } => workspace.remove(path),
        StagedChange::Rename { from, to, .. } => workspace.rename(from, to),
    }
}

/// The same, and tells what takes it back.
fn make_reversibly<'a>(
    workspace: &Workspace,
    change: &'a StagedChange,
    stats: &Stats,
) -> Result<Inverse<'a>, FileProblem> {
    if let StagedChange::Write {
        path,
        staged,
        before: Some(before),
        ..
    } = change
    {
        let is_as_before = |stat: &Stat| match stats.get(path) {
            Some(known) if known == stat => Ok(true),
            _ => Ok(workspace.digest(path)?.as_ref() == Some(before)),
        };
        if workspace.exchange(staged, path, is_as_before)? {
            return Ok(Inverse::Exchange { staged, path });
        }
    }
    let inverse = inverse(workspace, change)?;
    make(workspace, change, stats)?;
    Ok(inverse)
}

/// Removes contents that were prepared and are not wanted.
pub(in super::super) fn discard(workspace: &Workspace, changes: &[StagedChange]) {
    for change in changes {
        if let StagedChange::Write { staged, .. } = change {
            // What stays behind has a name that nobody is shown.
            let _ = workspace.remove_staged(staged);
        }
    }
}

fn inverse<'a>(
    workspace: &Workspace,
    change: &'a StagedChange,
) -> Result<Inverse<'a>, FileProblem> {
    let path = match change {
        StagedChange::Write { path, .. } | StagedChange::Remove { path, .. } => path,
        StagedChange::Rename { from, to, .. } => {
            return Ok(Inverse::Rename { from: to, to: from });
        }
    };
    match workspace.read(path, u64::MAX) {
        Ok(content) => Ok(Inverse::Write {
            path,
            content,
            permission: workspace.permission(path)?,
        }),
        Err(FileProblem::NotFound(_)) => Ok(Inverse::Remove(path)),
        Err(problem) => Err(problem),
    }
}

fn take_back(workspace: &Workspace, undo: Vec<Inverse<'_>>, problem: &FileProblem) -> String {
    let bring_back = |inverse: Inverse<'_>| match inverse {
        Inverse::Exchange { staged, path } => {
            let is_possible = workspace.exchange(staged, path, |_| Ok(true))?;
            // What was possible once is possible again; if not, the old content takes its name.
            if is_possible {
                Ok(())
            } else {
                workspace.put(staged, path)
            }
        }
        Inverse::Write {
            path,
            content,
            permission,
        } => workspace.write_as(path, &content, permission),
        Inverse::Remove(path) => workspace.remove(path),
        Inverse::Rename { from, to } => workspace.rename(from, to),
    };
    let lost: Vec<String> = undo
        .into_iter()
        .rev()
        .filter_map(|inverse| bring_back(inverse).err())
        .map(|problem| problem.to_string())
        .collect();
    if lost.is_empty() {
        problem.to_string()
    } else {
        format!(
            "{problem}; but what was done before could not all be taken back: {}",
            lost.join("; ")
        )
    }
}
