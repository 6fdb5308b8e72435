//! The paths that a container shows, must not change and must not see, for engines that mount the
//! workspace as a whole.
//!
//! An engine follows links when it mounts something. So whatever is mounted lies beneath a real
//! directory, without a link on the way.

use std::path::{Path, PathBuf};

use super::changeable::Changeable;
#[cfg(target_os = "linux")]
use super::layout::{self, LayoutEntry};
use super::{Confinement, linked};
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

/// A path outside the workspace that commands see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraPath {
    /// The path that the person named.
    pub named: PathBuf,
    /// The file or directory, without links.
    pub real: PathBuf,
    /// True if commands can change it.
    pub is_writable: bool,
}

impl Confinement {
    /// The extra paths that exist and whose target no command can choose. The repository outside the
    /// workspace is among them, read-only.
    pub fn extra_paths(&self) -> Vec<ExtraPath> {
        let changeable = Changeable::of(self);
        let repository = self.repository.iter();
        let repository = repository.flat_map(|one| [Some(&one.shared), one.worktree.as_ref()]);
        let shown = repository.flatten().chain(&self.extra_read);
        let shown = shown.map(|path| (path, false));
        let open = self.extra_write.iter().map(|path| (path, true));
        let extra = shown.chain(open).filter_map(|(path, is_writable)| {
            let real = agent_files::fs::canonical(path).ok()?;
            let is_top = path.parent().is_none() || real.parent().is_none();
            // The workspace is writable already, except for what must stay closed.
            let is_inside = is_writable && real.starts_with(&self.workspace);
            let is_left_out = is_top || is_inside || changeable.decides_target_of(path);
            (!is_left_out).then(|| ExtraPath {
                named: path.clone(),
                real,
                is_writable,
            })
        });
        extra.collect()
    }

    /// The first link in the workspace that keeps something from being protected by a mount: the link
    /// itself could be removed and replaced.
    pub fn link_in_the_way(&self) -> Option<PathBuf> {
        let workspace = &self.workspace;
        let named = self.read_only.iter().chain(&self.pinned);
        let mut inside = named.filter(|path| path.starts_with(workspace));
        linked::protected_link(self).or_else(|| {
            let link = inside.find_map(|path| link_beneath(workspace, path))?;
            Some(link.strip_prefix(workspace).unwrap_or(&link).to_owned())
        })
    }

    /// The existing paths in the workspace and in the extra paths that are covered for a command,
    /// parents first.
    pub fn shields(&self) -> Vec<(PathBuf, Shield)> {
        let real =
            |path: &PathBuf| agent_files::fs::canonical(path).unwrap_or_else(|_| path.clone());
        let extra = self.extra_paths();
        let opened = |is_writable: bool| {
            let chosen = extra
                .iter()
                .filter(move |path| path.is_writable == is_writable);
            chosen.map(|path| path.real.clone()).collect()
        };
        let mut searched = Self {
            extra_read: opened(false),
            extra_write: opened(true),
            hidden: self.hidden.iter().map(real).collect(),
            ..self.clone()
        };
        searched.search();
        let extra = extra.iter().map(|path| path.real.as_path());
        let places: Vec<&Path> = [self.workspace.as_path()]
            .into_iter()
            .chain(extra)
            .collect();
        let is_inside = |path: &Path| {
            let mut around = places.iter().filter(|place| path.starts_with(place));
            !places.contains(&path)
                && path.symlink_metadata().is_ok()
                && around.any(|place| link_beneath(place, path).is_none())
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

/// The first link on the way from a directory to a path in it.
fn link_beneath(directory: &Path, path: &Path) -> Option<PathBuf> {
    let inside = path.strip_prefix(directory).ok()?;
    let mut way = directory.to_owned();
    inside.components().find_map(|part| {
        way.push(part);
        way.is_symlink().then(|| way.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_covered_through_a_link_and_the_link_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        for path in ["outside/workflows", "work/real"] {
            std::fs::create_dir_all(top.join(path)).unwrap();
        }
        let link = |name: &str| std::os::unix::fs::symlink("../outside", top.join(name)).unwrap();
        let mut confinement = Confinement::of_workspace(top.join("work"));
        assert_eq!(confinement.link_in_the_way(), None);
        link("work/.container");
        confinement.read_only = vec![top.join("work/.container/file")];
        let named = confinement.link_in_the_way();
        assert_eq!(named.as_deref(), Some(Path::new(".container")));
        link("work/.github");
        let named = confinement.link_in_the_way();
        assert_eq!(named.as_deref(), Some(Path::new(".github")));
        assert_eq!(confinement.shields(), []);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn records_in_an_extra_path_are_covered_under_their_real_name() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        for path in ["base/sessions", "base/work", "other"] {
            std::fs::create_dir_all(top.join(path)).unwrap();
        }
        std::os::unix::fs::symlink("base", top.join("link")).unwrap();
        std::os::unix::fs::symlink("/", top.join("all")).unwrap();
        let mut confinement = Confinement::of_workspace(top.join("base/work"));
        confinement.hidden = vec![top.join("link/sessions"), top.join("other")];
        // A command could lead the second elsewhere, and the third is closed.
        std::fs::create_dir(top.join("base/work/.git")).unwrap();
        let named = ["base", "link", "base/work/.git", "all", "none"].map(|name| top.join(name));
        confinement.extra_write = named.to_vec();
        let extra = confinement.extra_paths();
        assert_eq!((extra.len(), &extra[0].real), (1, &top.join("base")));
        let hidden = (top.join("base/sessions"), Shield::Hidden);
        let closed = (top.join("base/work/.git"), Shield::ReadOnly);
        assert_eq!(confinement.shields(), [hidden, closed]);
    }

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
