//! The paths in a workspace that a container must not change or see, for engines that mount the
//! workspace as a whole.

use std::path::PathBuf;

use super::Confinement;
#[cfg(target_os = "linux")]
use super::layout::{self, LayoutEntry};
#[cfg(not(target_os = "linux"))]
use super::{PROTECTED, STATE};

/// How a path in the workspace is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shield {
    /// It is read-only.
    ReadOnly,
    /// It appears empty.
    Hidden,
    /// It is writable and cannot be renamed.
    Pinned,
}

impl Confinement {
    /// The existing paths in the workspace that are covered for a command, parents first.
    pub fn shields(&self) -> Vec<(PathBuf, Shield)> {
        let mut searched = self.clone();
        searched.search();
        let is_inside = |path: &PathBuf| {
            path.starts_with(&searched.workspace)
                && *path != searched.workspace
                && path
                    .symlink_metadata()
                    .is_ok_and(|found| !found.is_symlink())
        };
        let mut shields = searched.all_shields();
        shields.retain(|(path, _)| is_inside(path));
        shields
    }

    #[cfg(target_os = "linux")]
    fn all_shields(&self) -> Vec<(PathBuf, Shield)> {
        let layout = layout::of(self).into_iter();
        let shields = layout.filter_map(|(path, entry)| {
            let shield = match entry {
                LayoutEntry::Protected | LayoutEntry::Shown(_) => Shield::ReadOnly,
                LayoutEntry::Hidden | LayoutEntry::Masked => Shield::Hidden,
                LayoutEntry::Pinned | LayoutEntry::Open(_) => Shield::Pinned,
                _ => return None,
            };
            Some((path, shield))
        });
        shields.collect()
    }

    #[cfg(not(target_os = "linux"))]
    fn all_shields(&self) -> Vec<(PathBuf, Shield)> {
        let names = PROTECTED.iter().copied();
        let git = Some(".git").filter(|_| !self.git_write);
        let closed = names.chain(git).map(|name| self.workspace.join(name));
        let closed = closed.chain(self.read_only.iter().cloned());
        let hidden = [self.workspace.join(STATE)].into_iter();
        let hidden = hidden.chain(self.hidden.iter().cloned());
        let closed = closed.map(|path| (path, Shield::ReadOnly));
        let hidden = hidden.map(|path| (path, Shield::Hidden));
        closed.chain(hidden).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exists_of_the_protected_paths_is_covered() {
        let workspace = tempfile::tempdir().unwrap();
        let workspace = workspace.path().canonicalize().unwrap();
        for name in [".git", ".vscode", ".agent", "src"] {
            std::fs::create_dir(workspace.join(name)).unwrap();
        }
        let shields = Confinement::of_workspace(&workspace).shields();
        let shield = |name: &str| {
            let path = workspace.join(name);
            let found = shields.iter().find(|(shielded, _)| *shielded == path);
            found.map(|(_, shield)| *shield)
        };
        assert_eq!(shield(".git"), Some(Shield::ReadOnly));
        assert_eq!(shield(".vscode"), Some(Shield::ReadOnly));
        assert_eq!(shield(".agent"), Some(Shield::Hidden));
        assert_eq!(shield("src"), None);
        assert_eq!(shield(".idea"), None);
    }
}
