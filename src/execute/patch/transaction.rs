//! Writes, removals and renames that happen all or not at all.

use crate::protocol::RelPath;
use crate::workspace::{FileProblem, Permission, Workspace};

/// Something to be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
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

/// Does all of it; if one part fails, takes the parts before it back and tells what failed.
pub(super) fn carry_out(workspace: &Workspace, operations: &[Operation]) -> Result<(), String> {
    let mut undo = Vec::new();
    for operation in operations {
        let done = inverse(workspace, operation)
            .and_then(|inverse| carry_out_one(workspace, operation).map(|()| inverse));
        match done {
            Ok(inverse) => undo.push(inverse),
            Err(problem) => return Err(take_back(workspace, undo, &problem)),
        }
    }
    Ok(())
}

fn carry_out_one(workspace: &Workspace, operation: &Operation) -> Result<(), FileProblem> {
    match operation {
        Operation::Write {
            path,
            content,
            permission,
        } => workspace.write_as(path, content, *permission),
        Operation::Remove(path) => workspace.remove(path),
        Operation::Rename { from, to } => workspace.rename(from, to),
    }
}

/// What brings back the files as they are now.
fn inverse(workspace: &Workspace, operation: &Operation) -> Result<Operation, FileProblem> {
    let path = match operation {
        Operation::Write { path, .. } | Operation::Remove(path) => path,
        Operation::Rename { from, to } => {
            return Ok(Operation::Rename {
                from: to.clone(),
                to: from.clone(),
            });
        }
    };
    match workspace.read(path, u64::MAX) {
        Ok(content) => Ok(Operation::Write {
            path: path.clone(),
            content,
            permission: workspace.permission(path)?,
        }),
        Err(FileProblem::NotFound(_)) => Ok(Operation::Remove(path.clone())),
        Err(problem) => Err(problem),
    }
}

fn take_back(workspace: &Workspace, undo: Vec<Operation>, problem: &FileProblem) -> String {
    let lost: Vec<String> = undo
        .into_iter()
        .rev()
        .filter_map(|operation| carry_out_one(workspace, &operation).err())
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
