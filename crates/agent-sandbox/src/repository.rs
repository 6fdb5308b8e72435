//! Protects the parts of a writable git directory that git runs or obeys.
//!
//! Git runs hooks and programs that its configuration names; other files lead it to another
//! configuration. Existing ones are read-only. Of the missing ones, `hooks` is reserved; names
//! whose mere presence would change what git does are checked when the command has ended.

use std::fs;
use std::path::{Path, PathBuf};

use super::layout::{Layout, LayoutEntry, open};
use super::{Confinement, OutsideRepository};

/// Files that git runs, obeys, or uses to find other repositories.
const CLOSED: [&str; 6] = [
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "modules",
    "worktrees",
];

/// Files that git obeys in the directory of one worktree.
const CLOSED_IN_WORKTREE: [&str; 4] = ["config.worktree", "commondir", "gitdir", "modules"];

/// True for a path in a part of a git directory that is closed as a whole.
pub(super) fn is_closed_part(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| CLOSED.iter().any(|closed| name == *closed))
}

/// Adds an existing, writable git directory.
pub(super) fn add(layout: &mut Layout, directory: &Path) {
    close(layout, directory, &CLOSED);
    layout
        .entry(directory.to_owned())
        .or_insert(LayoutEntry::Pinned);
}

/// Adds the repository outside the workspace.
pub(super) fn add_outside(layout: &mut Layout, outside: OutsideRepository, is_open: bool) {
    let OutsideRepository { shared, worktree } = outside;
    if !is_open {
        let beside = worktree.filter(|worktree| !worktree.starts_with(&shared));
        for directory in [Some(shared), beside].into_iter().flatten() {
            layout.insert(directory.clone(), LayoutEntry::Shown(directory));
        }
        return;
    }
    close(layout, &shared, &CLOSED);
    layout.insert(shared.clone(), open(&shared));
    if let Some(worktree) = worktree {
        close(layout, &worktree, &CLOSED_IN_WORKTREE);
        layout.insert(worktree.clone(), open(&worktree));
    }
}

fn close(layout: &mut Layout, directory: &Path, names: &[&str]) {
    for name in names {
        layout.insert(directory.join(name), LayoutEntry::Protected);
    }
}

/// Names that are missing in the writable git directories and must not be created.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// To be reserved, if missing.
    pub(super) hooks: Vec<PathBuf>,
    /// Missing now.
    pub(super) absent: Vec<PathBuf>,
    /// The directories among them that are outside the workspace.
    pub(super) outside: Vec<PathBuf>,
}

impl Missing {
    pub(super) fn of(confinement: &Confinement) -> Self {
        let mut missing = Self::default();
        for directory in &confinement.repositories {
            missing.add(directory);
        }
        if !confinement.git_write {
            return missing;
        }
        let own = confinement.workspace.join(".git");
        if own.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            missing.add(&own);
        }
        if let Some(outside) = confinement.repository.clone() {
            let real = |path: PathBuf| fs::canonicalize(&path).unwrap_or(path);
            let shared = real(outside.shared);
            missing.add(&shared);
            let worktree = outside.worktree.map(real);
            let of_worktree = worktree.iter();
            missing.absent(of_worktree.map(|worktree| worktree.join("config.worktree")));
            missing
                .outside
                .extend([Some(shared), worktree].into_iter().flatten());
        }
        missing
    }

    fn add(&mut self, directory: &Path) {
        self.hooks.push(directory.join("hooks"));
        self.absent(["commondir", "config.worktree"].map(|name| directory.join(name)));
        // A directory without a `HEAD` is about to become a repository.
        if directory.join("HEAD").symlink_metadata().is_ok() {
            self.absent([directory.join("config")]);
        }
    }

    fn absent(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        let paths = paths.into_iter();
        self.absent
            .extend(paths.filter(|path| path.symlink_metadata().is_err()));
    }
}
