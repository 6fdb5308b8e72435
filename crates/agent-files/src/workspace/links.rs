//! Which files had a single name when the whole workspace was last surveyed.
//!
//! The sandbox must know the files with more than one name before a command runs, and a survey sees
//! the link count of every file anyway. The counts of a directory hold while nothing was added to it,
//! removed from it or renamed in it; its change time says so, which no command can set.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;

use super::Workspace;
use super::survey::FileStat;

/// For so long nobody is expected to have given a file another name.
const FRESH: Duration = Duration::from_secs(1);

/// The link counts that a survey saw.
#[derive(Debug, Default)]
pub struct LinkCounts(HashMap<PathBuf, CountedDirectory>);

/// A directory whose files were counted.
#[derive(Debug)]
struct CountedDirectory {
    inode: u64,
    changed: i64,
    others: Vec<OsString>,
}

impl LinkCounts {
    /// Adds a directory, as it was before its files were counted: all of them have a single name, except
    /// for these others.
    pub fn add(&mut self, path: PathBuf, stat: &FileStat, others: Vec<OsString>) {
        let directory = CountedDirectory {
            inode: stat.inode,
            changed: stat.changed,
            others,
        };
        self.0.insert(path, directory);
    }

    /// The files in a directory that may have more than one name, if this is known and the directory is
    /// still the same. The path is relative to the workspace.
    pub fn others_in(&self, path: &Path, opened: &Dir) -> Option<&[OsString]> {
        let known = self.0.get(path)?;
        let now = FileStat::of(&opened.dir_metadata().ok()?);
        let is_same = known.inode == now.inode && known.changed == now.changed;
        is_same.then_some(&known.others)
    }
}

impl Workspace {
    /// Keeps the link counts of a survey for the next command.
    pub(crate) fn keep_link_counts(&self, counts: LinkCounts) {
        let kept = self.link_counts.lock();
        *kept.unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), counts));
    }

    /// The link counts of the last survey, once, if it has just been made. A command gives files other
    /// names, so they serve only one.
    pub fn take_link_counts(&self) -> Option<LinkCounts> {
        let kept = self.link_counts.lock();
        let (at, counts) = kept.unwrap_or_else(PoisonError::into_inner).take()?;
        (at.elapsed() < FRESH).then_some(counts)
    }
}
