//! Walks a directory once for everything that is sought in it.
//!
//! Each directory is opened and listed once for all searches: a snapshot's survey, and the sandbox's
//! searches for repositories and for files to protect. Directories are taken level by level, and large
//! levels are split among threads.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

use super::crew::each_of;
use super::known_names::KnownNames;
use crate::platform::files::{EntryKind, Flow, list_beneath};

/// Limit on the names that are read from one directory.
const MAX_NAMES: usize = 1_000_000;

/// A name in a directory. The survey and the known names share it, because a walk of a large workspace
/// spends much of its own time in the allocator.
pub type NamedEntry = (Arc<OsStr>, EntryKind);

/// The names in a directory.
pub struct DirectoryNames<'a> {
    root: &'a Dir,
    /// Relative to the root.
    inside: &'a Path,
    /// `None` if the names are known from a survey.
    opened: Option<Dir>,
    /// Sorted by name.
    pub entries: Arc<[NamedEntry]>,
    /// The files that may have more than one name, if that is known.
    pub linked: Option<&'a [Arc<OsStr>]>,
    /// True if there are more.
    pub is_cut: bool,
}

impl DirectoryNames<'_> {
    /// The metadata of a file in the directory, without following links.
    pub fn metadata(&self, name: &OsStr) -> io::Result<Metadata> {
        match &self.opened {
            // The whole path would have to be looked up for every file.
            Some(opened) => opened.symlink_metadata(name),
            None => self.root.symlink_metadata(self.inside.join(name)),
        }
    }

    /// The directory, if it was opened.
    pub(super) fn opened(&self) -> Option<&Dir> {
        self.opened.as_ref()
    }
}

/// Searches directories for something.
pub trait DirectorySearch: Sync {
    /// False if the limit on time or names is reached.
    fn may_go_on(&self) -> bool;

    /// Takes note of a directory that is not searched because of a limit.
    fn pass_over(&self, directory: &Path);

    /// Searches a directory. Returns the subdirectories to search.
    fn search(&self, directory: &Path, names: &io::Result<DirectoryNames<'_>>) -> Vec<PathBuf>;
}

/// Calls each search for the root and for the directories that it asks for.
///
/// A directory that is still as a survey saw it is not opened again.
pub fn look_through(root: &Path, searches: &[&dyn DirectorySearch], known: Option<&KnownNames>) {
    let open = || Dir::open_ambient_dir(root, ambient_authority());
    walk_together(root, open, searches, known);
}

/// Does the same with a root that `open` opens.
pub(super) fn walk_together(
    root: &Path,
    open: impl Fn() -> io::Result<Dir>,
    searches: &[&dyn DirectorySearch],
    known: Option<&KnownNames>,
) {
    let mut opened = open();
    let everyone: SearchSet = (1 << searches.len()) - 1;
    let mut level = vec![(root.to_owned(), everyone)];
    while !level.is_empty() {
        let walk = JointWalk {
            root,
            opened: &opened,
            searches,
            known,
        };
        let beneath = each_of(&level, |(directory, asking)| {
            walk.look_into(directory, *asking)
        });
        level = beneath.into_iter().flatten().collect();
        if opened.is_err() {
            // A search may have opened it for its owner.
            opened = open();
        }
    }
}

/// Searches, by the bits of their indices; a walk has a handful.
type SearchSet = u8;

struct JointWalk<'a> {
    root: &'a Path,
    opened: &'a io::Result<Dir>,
    searches: &'a [&'a dyn DirectorySearch],
    known: Option<&'a KnownNames>,
}

impl JointWalk<'_> {
    /// The directories to look into next, with the searches that ask for them.
    fn look_into(&self, directory: &Path, asking: SearchSet) -> BTreeMap<PathBuf, SearchSet> {
        let mut next: BTreeMap<PathBuf, SearchSet> = BTreeMap::new();
        let mut names = None;
        for (index, search) in self.searches.iter().enumerate() {
            let this: SearchSet = 1 << index;
            if asking & this == 0 {
                continue;
            }
            if !search.may_go_on() {
                search.pass_over(directory);
                continue;
            }
            let names = names.get_or_insert_with(|| self.names_of(directory));
            for beneath in search.search(directory, names) {
                *next.entry(beneath).or_default() |= this;
            }
        }
        next
    }

    fn names_of<'d>(&'d self, directory: &'d Path) -> io::Result<DirectoryNames<'d>> {
        let root = match self.opened {
            Ok(root) => root,
            Err(cause) => return Err(cause.kind().into()),
        };
        let inside = directory.strip_prefix(self.root).unwrap_or(directory);
        if let Some(known) = self.known.and_then(|known| known.of(root, inside)) {
            return Ok(DirectoryNames {
                root,
                inside,
                opened: None,
                entries: Arc::clone(&known.names),
                linked: Some(&known.linked),
                is_cut: false,
            });
        }
        let mut entries = Vec::new();
        let mut is_cut = false;
        let opened = list_beneath(root, inside, |name, kind| {
            if entries.len() == MAX_NAMES {
                is_cut = true;
                return Flow::Break(());
            }
            entries.push((Arc::from(name), kind));
            Flow::Continue(())
        })?;
        entries.sort_unstable_by(|(a, _): &NamedEntry, (b, _)| a.cmp(b));
        Ok(DirectoryNames {
            root,
            inside,
            opened: Some(opened),
            entries: entries.into(),
            linked: None,
            is_cut,
        })
    }
}
