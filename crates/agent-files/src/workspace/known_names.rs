//! The names in each directory, and which files had a single name, when the whole workspace was last
//! surveyed.
//!
//! The sandbox must look through the workspace before a command runs, and a survey has just seen the
//! names and the link count of every file. What is known of a directory holds while nothing was added
//! to it, removed from it or renamed in it. Its change time says so, which no command can set; what
//! our own steps change is forgotten besides, in case the file system keeps no such time.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;

use super::Workspace;
use super::joint_walk::NamedEntry;
use super::survey::FileStat;
use crate::platform::files::inode_and_change;

/// For so long nobody is expected to have given a file another name.
const FRESH: Duration = Duration::from_secs(1);

/// The names that a survey saw.
#[derive(Debug, Default)]
pub struct KnownNames(HashMap<PathBuf, KnownDirectory>);

/// A directory that a survey has listed.
#[derive(Debug)]
pub struct KnownDirectory {
    inode: u64,
    changed: i64,
    /// Everything in it.
    pub names: Arc<[NamedEntry]>,
    /// The files that may have more than one name.
    pub linked: Vec<Arc<OsStr>>,
}

impl KnownDirectory {
    /// A directory with the metadata that it had before it was listed.
    pub fn new(stat: &FileStat, names: Arc<[NamedEntry]>, linked: Vec<Arc<OsStr>>) -> Self {
        Self {
            inode: stat.inode,
            changed: stat.changed,
            names,
            linked,
        }
    }
}

impl KnownNames {
    /// Adds a directory. The path is relative to the workspace.
    pub fn add(&mut self, path: PathBuf, directory: KnownDirectory) {
        self.0.insert(path, directory);
    }

    /// The directory at a path relative to the workspace, if it is known and still the same.
    pub fn of(&self, root: &Dir, path: &Path) -> Option<&KnownDirectory> {
        let known = self.0.get(path)?;
        let now = inode_and_change(root, path).ok()?;
        (now == (known.inode, known.changed)).then_some(known)
    }
}

impl Workspace {
    /// Keeps the names that a survey saw for the next command.
    pub(crate) fn keep_names(&self, names: KnownNames) {
        let kept = self.known_names.lock();
        *kept.unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), names));
    }

    /// The names that the last survey saw, once, if it has just been made. A command creates files and
    /// gives others more names, so they serve only one.
    pub fn take_names(&self) -> Option<KnownNames> {
        let kept = self.known_names.lock();
        let (at, names) = kept.unwrap_or_else(PoisonError::into_inner).take()?;
        (at.elapsed() < FRESH).then_some(names)
    }

    /// Forgets the names in the directories above these paths, which a step is about to change.
    pub fn forget_names_around<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) {
        let mut kept = self.known_names.lock();
        let kept = kept.as_deref_mut().ok().and_then(Option::as_mut);
        let Some((_, KnownNames(directories))) = kept else {
            return;
        };
        for path in paths {
            for directory in path.ancestors().skip(1) {
                directories.remove(directory);
            }
        }
    }
}
