//! Makes the prepared changes of a step: all of them, or none if one fails.

use crate::protocol::{RelPath, StagedChange};
use crate::workspace::{FileProblem, Permission, Workspace};

/// What brings back a file as it was.
enum Inverse {
    Write {
        path: RelPath,
        content: Vec<u8>,
        permission: Permission,
    },
    Remove(RelPath),
    Rename {
        from: RelPath,
        to: RelPath,
    },
}

/// Makes the changes; if one fails, takes those before it back and tells what failed.
///
/// A file that is no longer what it was when its change was prepared is left as it is.
pub(in super::super) fn carry_out(
    workspace: &Workspace,
    changes: &[StagedChange],
) -> Result<(), String> {
    let mut undo = Vec::new();
    let is_one = changes.len() == 1;
    for change in changes {
        let inverse = if is_one {
            Ok(None)
        } else {
            inverse(workspace, change).map(Some)
        };
        match inverse.and_then(|inverse| make(workspace, change).map(|()| inverse)) {
            Ok(inverse) => undo.extend(inverse),
            Err(problem) => {
                discard(workspace, changes);
                return Err(take_back(workspace, undo, &problem));
            }
        }
    }
    Ok(())
}

/// Makes one change, if the files are what they were when it was prepared.
pub(in super::super) fn make(
    workspace: &Workspace,
    change: &StagedChange,
) -> Result<(), FileProblem> {
    for (path, before, _) in change.effects() {
        if workspace.digest(path)?.as_deref() != before {
            return Err(FileProblem::Changed(path.clone()));
        }
    }
    match change {
        StagedChange::Write { path, staged, .. } => workspace.put(staged, path),
        StagedChange::Remove { path, .. } => workspace.remove(path),
        StagedChange::Rename { from, to, .. } => workspace.rename(from, to),
    }
}

/// Removes contents that were prepared and are not wanted.
pub(in super::super) fn discard(workspace: &Workspace, changes: &[StagedChange]) {
    for change in changes {
        if let StagedChange::Write { staged, .. } = change {
            // What stays behind has a name that nobody is shown.
            let _ = workspace.remove(staged);
        }
    }
}

fn inverse(workspace: &Workspace, change: &StagedChange) -> Result<Inverse, FileProblem> {
    let path = match change {
        StagedChange::Write { path, .. } | StagedChange::Remove { path, .. } => path,
        StagedChange::Rename { from, to, .. } => {
            return Ok(Inverse::Rename {
                from: to.clone(),
                to: from.clone(),
            });
        }
    };
    match workspace.read(path, u64::MAX) {
        Ok(content) => Ok(Inverse::Write {
            path: path.clone(),
            content,
            permission: workspace.permission(path)?,
        }),
        Err(FileProblem::NotFound(_)) => Ok(Inverse::Remove(path.clone())),
        Err(problem) => Err(problem),
    }
}

fn take_back(workspace: &Workspace, undo: Vec<Inverse>, problem: &FileProblem) -> String {
    let bring_back = |inverse: Inverse| match inverse {
        Inverse::Write {
            path,
            content,
            permission,
        } => workspace.write_as(&path, &content, permission),
        Inverse::Remove(path) => workspace.remove(&path),
        Inverse::Rename { from, to } => workspace.rename(&from, &to),
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
