//! Walks a directory once for everything that is sought in it.
//!
//! Each directory is opened and listed once for all searches: a snapshot's survey, and the sandbox's
//! searches for repositories and for files to protect. Directories are taken level by level, and large
//! levels are split among threads.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

use super::crew::each_of;
use super::known_names::KnownNames;
use super::survey::{DirectoryContent, FileStat};
use crate::platform::files::{EntryKind, Flow, list_beneath, open_beneath, relative_to};

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
    /// Opened when it is needed, if the names are known from a survey.
    opened: OnceCell<Dir>,
    /// Sorted by name.
    pub entries: Arc<[NamedEntry]>,
    /// The files that may have more than one name, if that is known.
    pub linked: Option<&'a [Arc<OsStr>]>,
    /// What the last survey saw, if the names are known from it.
    pub(super) known: Option<&'a Arc<DirectoryContent>>,
    /// True if there are more.
    pub is_cut: bool,
}

impl DirectoryNames<'_> {
    /// The metadata of a file in the directory, without following links.
    pub fn metadata(&self, name: &OsStr) -> io::Result<Metadata> {
        match self.opened() {
            // The whole path would have to be looked up for every file.
            Ok(opened) => opened.symlink_metadata(name),
            Err(_) => self.root.symlink_metadata(self.inside.join(name)),
        }
    }

    /// The part of the metadata that a survey keeps, without following links.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<FileStat> {
        match self.opened() {
            Ok(opened) => FileStat::in_directory(opened, name),
            Err(_) => Ok(FileStat::of(&self.metadata(name)?)),
        }
    }

    /// The inode number of the directory, if it was listed now.
    pub(super) fn inode_listed(&self) -> Option<u64> {
        let listed = self.opened.get().filter(|_| self.known.is_none())?;
        Some(FileStat::of(&listed.dir_metadata().ok()?).inode)
    }

    pub(super) fn opened(&self) -> io::Result<&Dir> {
        if self.inside.as_os_str().is_empty() {
            return Ok(self.root);
        }
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = open_beneath(self.root, self.inside);
        let opened = opened.or_else(|_| self.root.open_dir(self.inside))?;
        Ok(self.opened.get_or_init(|| opened))
    }
}

/// Searches directories for something.
pub trait DirectorySearch: Sync {
    /// False if the limit on time or names is reached.
    fn may_go_on(&self) -> bool;

    /// Takes note of a directory that is not searched because of a limit.
    fn pass_over(&self, directory: &Path);

    /// The metadata of a directory to search, if this search has just seen it.
    fn stat_of(&self, _directory: &Path) -> Option<FileStat> {
        None
    }

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
    fn look_into(&self, directory: &Path, asking: SearchSet) -> Vec<(PathBuf, SearchSet)> {
        let mut next: Vec<(PathBuf, SearchSet)> = Vec::new();
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
            let beneath = search.search(directory, names);
            next.extend(beneath.into_iter().map(|beneath| (beneath, this)));
        }
        // Paths are compared component by component, which is slow.
        next.sort_unstable_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
        next.dedup_by(|(same, asking), (path, set)| {
            let is_same = same.as_os_str() == path.as_os_str();
            if is_same {
                *set |= *asking;
            }
            is_same
        });
        next
    }

    fn stat_of(&self, directory: &Path) -> Option<FileStat> {
        let mut searches = self.searches.iter();
        searches.find_map(|search| search.stat_of(directory))
    }

    fn names_of<'d>(&'d self, directory: &'d Path) -> io::Result<DirectoryNames<'d>> {
        let root = match self.opened {
            Ok(root) => root,
            Err(cause) => return Err(cause.kind().into()),
        };
        let inside = relative_to(self.root, directory);
        if let Some(known) = self.known
            && let Some(directory) = known.of(root, inside, self.stat_of(directory))
        {
            return Ok(DirectoryNames {
                root,
                inside,
                opened: OnceCell::new(),
                entries: Arc::clone(&directory.content.names),
                linked: known.linked(directory),
                known: Some(&directory.content),
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
            opened: OnceCell::from(opened),
            entries: entries.into(),
            linked: None,
            known: None,
            is_cut,
        })
    }
}
