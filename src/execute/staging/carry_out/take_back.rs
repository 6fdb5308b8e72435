//! Takes back the changes that were made before one failed.
//!
//! Changes that somebody else made to a file since then stay. The previous content is brought back,
//! or kept beside the file under a name that is told; it is never thrown away.

use super::{Failure, Inverse};
use crate::protocol::RelPath;
use crate::workspace::{FileProblem, MadeDirectories, Workspace};

/// How many names are tried for what cannot be brought back.
const MAX_NAMES: u32 = 99;

/// Takes changes back, the last one first, and tells what became of the step.
pub(super) fn take_back(
    workspace: &Workspace,
    undo: Vec<Inverse<'_>>,
    problem: &FileProblem,
) -> Failure {
    let (mut left, mut troubles) = (Vec::new(), Vec::new());
    for inverse in undo.into_iter().rev() {
        let Err(problem) = bring_back(workspace, &inverse) else {
            continue;
        };
        left.extend(inverse.paths().into_iter().cloned());
        troubles.push(match keep(workspace, &inverse) {
            KeptContent::NotNeeded => problem.to_string(),
            KeptContent::As(kept) => {
                let trouble = format!("{problem}; what it held before is kept in `{kept}`");
                left.push(kept);
                trouble
            }
            KeptContent::Nowhere => format!("{problem}; what it held before could not be kept"),
        });
    }
    let message = if troubles.is_empty() {
        format!("nothing was changed: {problem}")
    } else {
        format!(
            "{problem}; what was done before that could not all be undone: {}",
            troubles.join("; ")
        )
    };
    Failure { message, left }
}

fn bring_back(workspace: &Workspace, inverse: &Inverse<'_>) -> Result<(), FileProblem> {
    match inverse {
        Inverse::Exchange {
            staged,
            path,
            after,
        } => {
            let is_ours = |_: &_| Ok(workspace.digest(path)?.as_deref() == Some(*after));
            match workspace.exchange(staged, path, is_ours) {
                Ok(true) => {
                    workspace.remove_staged(staged);
                    Ok(())
                }
                // What was possible once is possible again; if not, the old content takes its name.
                Ok(false) => workspace.put(staged, path, &MadeDirectories::default()),
                Err(FileProblem::NotFound(_)) => workspace.rename(staged, path),
                Err(problem) => Err(problem),
            }
        }
        Inverse::Write {
            path,
            content,
            permission,
            after,
        } => match workspace.digest(path)? {
            Some(now) if Some(now.as_str()) != *after => Err(FileProblem::Changed((*path).clone())),
            _ => workspace.write_as(path, content, *permission),
        },
        Inverse::Remove { path, after } => match workspace.digest(path)? {
            Some(now) if now == *after => workspace.remove(path),
            Some(_) => Err(FileProblem::Changed((*path).clone())),
            None => Ok(()),
        },
        Inverse::Rename { from, to } => workspace.rename(from, to),
    }
}

/// Where the content is that could not be brought back.
enum KeptContent {
    /// Nothing is lost without it.
    NotNeeded,
    As(RelPath),
    Nowhere,
}

fn keep(workspace: &Workspace, inverse: &Inverse<'_>) -> KeptContent {
    match inverse {
        Inverse::Exchange { staged, path, .. } => {
            let lies = || matches!(workspace.stat(staged), Ok(Some(_))).then(|| (*staged).clone());
            keep_as(path, |name| workspace.rename(staged, name)).or_else(lies)
        }
        Inverse::Write {
            path,
            content,
            permission,
            ..
        } => keep_as(path, |name| match workspace.kind(name)? {
            None => workspace.write_as(name, content, *permission),
            Some(_) => Err(FileProblem::Exists(name.clone())),
        }),
        Inverse::Remove { .. } | Inverse::Rename { .. } => return KeptContent::NotNeeded,
    }
    .map_or(KeptContent::Nowhere, KeptContent::As)
}

/// Tries names like that of the file, beside it and then where its directory may not be in the way,
/// until one is free.
fn keep_as(path: &RelPath, keep: impl Fn(&RelPath) -> Result<(), FileProblem>) -> Option<RelPath> {
    let names = [path.as_str(), path.file_name()]
        .into_iter()
        .flat_map(|name| {
            let more = (2..=MAX_NAMES).map(move |number| format!("{name}.kept-{number}"));
            std::iter::once(format!("{name}.kept")).chain(more)
        });
    (names.filter_map(|name| RelPath::parse(&name).ok())).find(|name| keep(name).is_ok())
}
