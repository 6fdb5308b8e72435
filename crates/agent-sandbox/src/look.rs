//! Looks through the workspace once for everything that is sought in it.
//!
//! Each directory is opened and listed once for all searches. Directories are taken level by level,
//! and large levels are split among threads.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use agent_files::platform::files::{EntryKind, Flow, list_beneath};
use agent_files::workspace::crew::each_of;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// Limit on the names that are read from one directory.
const MAX_NAMES: usize = 1_000_000;

/// The names in a directory.
pub(crate) struct DirectoryNames {
    /// For a search that asks more about a name.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "the search for shared files is for Linux")
    )]
    pub(crate) opened: Dir,
    /// Unsorted.
    pub(crate) entries: Vec<(OsString, EntryKind)>,
    /// True if there are more.
    pub(crate) is_cut: bool,
}

/// Searches directories for something.
pub(crate) trait DirectorySearch: Sync {
    /// False if the limit on time or names is reached.
    fn may_go_on(&self) -> bool;

    /// Takes note of a directory that is not searched because of a limit.
    fn pass_over(&self, directory: &Path);

    /// Searches a directory. Returns the subdirectories to search.
    fn search(&self, directory: &Path, names: &io::Result<DirectoryNames>) -> Vec<PathBuf>;
}

/// Calls each search for the root and for the directories that it asks for.
pub(crate) fn look_through(root: &Path, searches: &[&dyn DirectorySearch]) {
    let mut opened = Dir::open_ambient_dir(root, ambient_authority());
    let everyone: Vec<usize> = (0..searches.len()).collect();
    let mut level = vec![(root.to_owned(), everyone)];
    while !level.is_empty() {
        let look = |(directory, asking): &(PathBuf, Vec<usize>)| {
            look_into(root, &opened, directory, searches, asking)
        };
        let beneath = each_of(&level, look);
        level = beneath.into_iter().flatten().collect();
        if opened.is_err() {
            // A search may have opened it for its owner.
            opened = Dir::open_ambient_dir(root, ambient_authority());
        }
    }
}

/// The directories to look into next, with the indices of the searches that ask for them.
fn look_into(
    root: &Path,
    opened: &io::Result<Dir>,
    directory: &Path,
    searches: &[&dyn DirectorySearch],
    asking: &[usize],
) -> BTreeMap<PathBuf, Vec<usize>> {
    let mut next: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    let (asking, over): (Vec<usize>, Vec<usize>) =
        (asking.iter()).partition(|index| searches[**index].may_go_on());
    for index in over {
        searches[index].pass_over(directory);
    }
    if asking.is_empty() {
        return next;
    }
    let names = match opened {
        Ok(opened) => names_of(opened, directory.strip_prefix(root).unwrap_or(directory)),
        Err(cause) => Err(cause.kind().into()),
    };
    for index in asking {
        for beneath in searches[index].search(directory, &names) {
            next.entry(beneath).or_default().push(index);
        }
    }
    next
}

fn names_of(root: &Dir, inside: &Path) -> io::Result<DirectoryNames> {
    let mut entries = Vec::new();
    let mut is_cut = false;
    let opened = list_beneath(root, inside, |name, kind| {
        if entries.len() == MAX_NAMES {
            is_cut = true;
            return Flow::Break(());
        }
        entries.push((name.to_owned(), kind));
        Flow::Continue(())
    })?;
    Ok(DirectoryNames {
        opened,
        entries,
        is_cut,
    })
}
