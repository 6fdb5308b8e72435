//! The names in each directory, and which files had a single name, when the whole workspace was last
//! surveyed.
//!
//! The names in a directory hold while nothing was added to it, removed from it or renamed in it. Its
//! change time says so, which no command can set; what our own steps change is forgotten besides, in
//! case the file system keeps no such time. So the next survey or walk lists only directories that
//! changed.
//!
//! The sandbox must look through the workspace before a command runs, and a survey has just seen all
//! names and the link count of every file. Nothing tells when a file gets another name elsewhere, so
//! this serves one command, for a moment. For that moment the names hold without another look, too.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;

use super::Workspace;
use super::survey::{DirectoryContent, FileStat};
use crate::platform::files::{inode_and_change, keeps_change_times};

/// For so long nobody else is expected to have changed what the survey saw.
const FRESH: Duration = Duration::from_secs(1);

/// The names that a survey saw.
#[derive(Debug, Clone, Default)]
pub struct KnownNames {
    /// By path relative to the workspace, and its bytes: a path is hashed component by component.
    directories: Arc<HashMap<OsString, KnownDirectory>>,
    /// True if the survey has just been made: all directories and link counts are as it saw them.
    is_fresh: bool,
}

/// A directory that a survey has listed.
#[derive(Debug, Clone)]
pub struct KnownDirectory {
    inode: u64,
    changed: i64,
    /// What was in it.
    pub content: Arc<DirectoryContent>,
}

impl KnownDirectory {
    /// A directory with the metadata that it had before it was listed.
    pub fn new(stat: &FileStat, content: Arc<DirectoryContent>) -> Self {
        Self {
            inode: stat.inode,
            changed: stat.changed,
            content,
        }
    }
}

impl KnownNames {
    /// The names from a survey that was just made.
    pub fn new(directories: impl Iterator<Item = (PathBuf, KnownDirectory)>) -> Self {
        let directories = directories.map(|(path, directory)| (path.into(), directory));
        Self {
            directories: Arc::new(directories.collect()),
            is_fresh: true,
        }
    }

    /// These names once somebody may have changed something: they must be checked.
    #[must_use]
    pub fn aged(&self) -> Self {
        Self {
            directories: Arc::clone(&self.directories),
            is_fresh: false,
        }
    }

    /// The directory at a path relative to the workspace, if it is known and still the same; `stat` is
    /// its metadata, if somebody has just looked.
    pub fn of(&self, root: &Dir, path: &Path, stat: Option<FileStat>) -> Option<&KnownDirectory> {
        let known = self.directories.get(path.as_os_str())?;
        if self.is_fresh {
            return Some(known);
        }
        let seen = stat.map(|stat| (stat.inode, stat.changed));
        let now = seen.or_else(|| inode_and_change(root, path).ok())?;
        (now == (known.inode, known.changed)).then_some(known)
    }

    /// An open directory at a path relative to the workspace, if it is known and still the same.
    pub(super) fn of_opened(&self, opened: &Dir, path: &Path) -> Option<&KnownDirectory> {
        let known = self.directories.get(path.as_os_str())?;
        let now = inode_and_change(opened, Path::new("")).ok()?;
        (now == (known.inode, known.changed)).then_some(known)
    }

    /// The files of a directory that may have more than one name, if that is known.
    pub fn linked<'d>(&self, directory: &'d KnownDirectory) -> Option<&'d [Arc<OsStr>]> {
        self.is_fresh.then_some(&directory.content.linked)
    }
}

impl Workspace {
    /// Keeps the names that a survey saw for the next command and the next survey, unless the file
    /// system might not tell that they changed.
    pub(crate) fn keep_names(&self, names: KnownNames) {
        if !keeps_change_times(&self.root) {
            return;
        }
        let kept = self.known_names.lock();
        *kept.unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), names));
    }

    /// Keeps the names once more, if a survey that saw the same knows no more directories: `most` at most,
    /// and `count` counts them.
    pub(crate) fn renew_names(&self, most: usize, count: impl FnOnce() -> usize) -> bool {
        let mut kept = self.known_names.lock();
        let kept = kept.as_deref_mut().ok().and_then(Option::as_mut);
        let Some((at, names)) = kept else {
            return false;
        };
        let kept = names.directories.len();
        let is_all = kept == most || kept == count();
        if is_all {
            (*at, names.is_fresh) = (Instant::now(), true);
        }
        is_all
    }

    /// The names that the last survey saw, for a command. Once, if it has just been made, they tell how
    /// many names files have.
    pub fn names_before_command(&self) -> Option<KnownNames> {
        let names = self.names_seen();
        let mut kept = self.known_names.lock().ok()?;
        let (at, kept) = kept.as_mut()?;
        let is_fresh = std::mem::take(&mut kept.is_fresh) && at.elapsed() < FRESH;
        Some(KnownNames { is_fresh, ..names? })
    }

    /// The names that the last survey saw.
    pub fn names_seen(&self) -> Option<KnownNames> {
        let kept = self.known_names.lock().ok()?;
        kept.as_ref().map(|(_, names)| names.aged())
    }

    /// Forgets the names in the directories above these paths, which a step is about to change.
    pub fn forget_names_around<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) {
        let mut kept = self.known_names.lock();
        let kept = kept.as_deref_mut().ok().and_then(Option::as_mut);
        let Some((_, names)) = kept else {
            return;
        };
        let directories = Arc::make_mut(&mut names.directories);
        for path in paths {
            for directory in path.ancestors().skip(1) {
                directories.remove(directory.as_os_str());
            }
        }
    }
}
