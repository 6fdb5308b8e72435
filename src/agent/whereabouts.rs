//! Where a session works, and on whose repository, in words that hold when all of it is moved.

use std::path::{Component, Path, PathBuf};

use super::Agent;
use crate::protocol::Event;
use crate::session::Session;

impl Agent {
    /// The workspace as a session keeps it: from the base directory where one lies in the other,
    /// else absolute; nothing if it cannot be written as text.
    pub fn workspace_from_base(&self) -> Option<String> {
        from(&self.base, self.workspace.path())
            .to_str()
            .map(str::to_owned)
    }

    /// The repository outside of the workspace that it belongs to, as a session keeps it: none of the
    /// paths if there is none, nothing if nobody looked.
    pub fn repository_from_workspace(&self) -> Option<Vec<String>> {
        let confinement = self.manner.authorizer.confinement.as_ref()?;
        let outside = confinement.repository.iter();
        let paths = outside.flat_map(|outside| [Some(&outside.shared), outside.worktree.as_ref()]);
        let named = |path: &PathBuf| {
            let path = relative(self.workspace.path(), path);
            path.to_string_lossy().into_owned()
        };
        Some(paths.flatten().map(named).collect())
    }

    /// Holds a session to the repository that its workspace belonged to when it began: what the
    /// workspace says since then may have been written by a command.
    pub fn hold_to_repository(&mut self, session: &Session) {
        let is_other_place = session.workspace != self.workspace_from_base();
        let Some(kept) = session.outside_repository.as_ref() else {
            return;
        };
        if is_other_place || self.repository_from_workspace().as_ref() == Some(kept) {
            return;
        }
        let confinement = self.manner.authorizer.confinement.as_mut();
        let left = confinement.and_then(|confinement| confinement.repository.take());
        if let Some(outside) = left {
            self.tell(Event::RepositoryHidden {
                repository: outside.shared.display().to_string(),
            });
        }
    }
}

/// An absolute path, from an absolute directory.
fn relative(directory: &Path, path: &Path) -> PathBuf {
    let same = directory.components().zip(path.components());
    let same = same.take_while(|(one, other)| one == other).count();
    let up = directory
        .components()
        .skip(same)
        .map(|_| Component::ParentDir);
    up.chain(path.components().skip(same)).collect()
}

fn from(base: &Path, workspace: &Path) -> PathBuf {
    if base == workspace {
        return PathBuf::from(".");
    }
    if let Ok(beneath) = workspace.strip_prefix(base) {
        return beneath.to_owned();
    }
    match base.strip_prefix(workspace) {
        Ok(down) => down.components().map(|_| "..").collect(),
        Err(_) => workspace.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_named_from_the_base_if_one_lies_in_the_other() {
        let case = |workspace: &str, expected: &str| {
            let named = from(Path::new("/project/.agent"), Path::new(workspace));
            assert_eq!(named, Path::new(expected));
        };
        case("/project/.agent/workspace", "workspace");
        case("/project/.agent", ".");
        case("/project", "..");
        case("/", "../..");
        case("/elsewhere", "/elsewhere");
    }

    #[test]
    fn a_repository_is_named_from_the_workspace() {
        let case = |path: &str, expected: &str| {
            let named = relative(Path::new("/home/me/work"), Path::new(path));
            assert_eq!(named, Path::new(expected));
        };
        case("/home/me/.git", "../.git");
        case("/home/me/main/.git/worktrees/w", "../main/.git/worktrees/w");
        case("/srv/x", "../../../srv/x");
    }
}
