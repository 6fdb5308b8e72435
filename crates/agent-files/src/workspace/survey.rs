//! Everything the workspace holds, by its exact names, with what the system knows of each.
//!
//! `walk` names what a model may be told; a survey names all that a checkpoint must know: ignored
//! files, empty directories, names that are not UTF-8. The same ignore rules decide which
//! directories are gone into. `.git`, `.agent` and files of ours that are not whole yet are passed
//! by in silence. Nothing is followed and nothing is changed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::crew::each_of;
use super::ignored::{IgnoreFiles, Is, MAX_IGNORE_BYTES, Rules, is_ignored};
use super::look::is_hidden;
use super::{Kind, Workspace, kind_of};
use crate::error::{Error, Result};
use crate::fs::TEMPORARY;
use crate::platform::files;
use agent_protocol::RelPath;

/// What the system knows of a file without reading it, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// The permission bits that can be given back; 0 where there are none.
    pub mode: u32,
    /// In bytes.
    pub size: u64,
    /// When its content was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything of it was last changed, in nanoseconds since 1970: nobody can set it back.
    pub changed: i64,
    /// Its number in the file system; 0 where there is none.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970; a rename does not change it. Not every file
    /// system knows.
    pub born: Option<i64>,
}

/// What is surveyed and what is not.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// The most names that are looked at.
    pub max_entries: usize,
    /// Directories that are passed by as if they were not there, relative to the root.
    pub leave_out: Vec<PathBuf>,
    /// The only names that are looked at, the directories above each among them, ignored or not;
    /// all that is not ignored if none.
    pub only: Option<BTreeSet<PathBuf>>,
}

impl Scope {
    fn looks_at(&self, directory: &Path, name: &OsStr) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.contains(&directory.join(name)))
    }
}

/// One directory, while it is looked at.
pub struct Directory<'a> {
    workspace: &'a Workspace,
    place: &'a Place,
    /// None if it could not be opened.
    opened: Option<Dir>,
    rules: Option<Arc<Rules>>,
    /// What it holds, sorted by name.
    pub entries: Vec<Surveyed>,
    /// Whether a repository lies in it.
    pub has_git: bool,
    /// Whether its names could be read, all of them.
    pub state: State,
}

/// Whether a directory could be looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// All its names are known.
    Known,
    /// It could not be read.
    Unreadable,
    /// The limit on names was met.
    TooMany,
}

/// One name in a directory.
pub struct Surveyed {
    /// The exact name.
    pub name: OsString,
    /// What the system knows of it.
    pub stat: Stat,
    /// Whether it is a directory that is gone into.
    pub is_entered: bool,
}

/// What the visitor made of a directory, and where in the answers its directories are.
#[derive(Debug)]
pub struct Visited<T> {
    /// What the visitor said.
    pub value: T,
    /// Those that are gone into, in the order of their names.
    pub children: Range<usize>,
}

/// A directory to look into.
struct Place {
    path: PathBuf,
    rules: Option<Arc<Rules>>,
}

impl Workspace {
    /// Shows every directory to the visitor, on several threads; parents stand before children.
    pub fn survey<T: Send>(
        &self,
        scope: &Scope,
        visit: impl Fn(Directory<'_>) -> T + Sync,
    ) -> Result<Vec<Visited<T>>> {
        self.ensure_in_place()?;
        let seen = AtomicUsize::new(0);
        let look = |place: &Place| {
            let directory = Directory::look(self, place, scope, &seen);
            let places = directory.places();
            (visit(directory), places)
        };
        let mut visited: Vec<Visited<T>> = Vec::new();
        let mut level = vec![Place {
            path: PathBuf::new(),
            rules: None,
        }];
        while !level.is_empty() {
            let mut next = Vec::new();
            let after = visited.len() + level.len();
            for (value, places) in each_of(&level, look) {
                let start = after + next.len();
                visited.push(Visited {
                    value,
                    children: start..start + places.len(),
                });
                next.extend(places);
            }
            level = next;
        }
        Ok(visited)
    }

    /// Makes sure that the workspace is where it was when it was opened.
    ///
    /// A directory that was deleted while it is open looks empty, which would be a terrible lie.
    pub fn ensure_in_place(&self) -> Result<()> {
        let gone = || {
            Error::mendable(format!(
                "the workspace `{}` was moved or deleted",
                self.path.display()
            ))
            .hint("put it back, or start again with `--workspace`; `agent resume` goes on, and carries out a reply that was taken")
        };
        let there = std::fs::metadata(&self.path).map_err(|cause| gone().because(cause))?;
        let here = (self.root.dir_metadata()).map_err(|cause| gone().because(cause))?;
        if is_same(&there, &here) {
            Ok(())
        } else {
            Err(gone())
        }
    }
}

#[cfg(unix)]
fn is_same(there: &std::fs::Metadata, here: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    use std::os::unix::fs::MetadataExt as _;
    there.dev() == here.dev() && there.ino() == here.ino()
}

#[cfg(not(unix))]
fn is_same(there: &std::fs::Metadata, _here: &Metadata) -> bool {
    there.is_dir()
}

impl<'a> Directory<'a> {
    fn look(workspace: &'a Workspace, place: &'a Place, scope: &Scope, seen: &AtomicUsize) -> Self {
        let path = &place.path;
        let opened = if path.as_os_str().is_empty() {
            workspace.root.try_clone()
        } else {
            workspace.root.open_dir_nofollow(path)
        };
        let mut directory = Self {
            workspace,
            place,
            opened: opened.ok(),
            rules: None,
            entries: Vec::new(),
            has_git: false,
            state: State::Known,
        };
        match directory.names(scope.max_entries, seen) {
            Ok(names) => directory.sort_in(names, scope),
            Err(state) => directory.state = state,
        }
        directory
    }

    fn names(&self, max_entries: usize, seen: &AtomicUsize) -> Result<Vec<OsString>, State> {
        let opened = self.opened.as_ref().ok_or(State::Unreadable)?;
        let mut names = Vec::new();
        for name in files::names_in(opened).map_err(|_| State::Unreadable)? {
            if seen.fetch_add(1, Ordering::Relaxed) >= max_entries {
                return Err(State::TooMany);
            }
            names.push(name.map_err(|_| State::Unreadable)?);
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sort_in(&mut self, names: Vec<OsString>, scope: &Scope) {
        self.rules = self.rules_here(&names);
        self.entries.reserve(names.len());
        for name in names {
            self.has_git |= name == ".git";
            if is_passed_by(&name) || !scope.looks_at(self.path(), &name) {
                continue;
            }
            // What vanished in the meantime is not there.
            let opened = self.opened.as_ref();
            let Some(Ok(metadata)) = opened.map(|opened| opened.symlink_metadata(&name)) else {
                continue;
            };
            let stat = Stat::of(&metadata);
            let is_entered = stat.kind == Kind::Directory && {
                let path = self.path().join(&name);
                if scope.leave_out.contains(&path) {
                    continue;
                }
                scope.only.is_some() || !is_ignored(self.rules.as_deref(), &path, Is::Directory)
            };
            self.entries.push(Surveyed {
                name,
                stat,
                is_entered,
            });
        }
    }

    fn rules_here(&self, names: &[OsString]) -> Option<Arc<Rules>> {
        let has = |wanted: &str| {
            names
                .binary_search_by(|name| name.as_os_str().cmp(OsStr::new(wanted)))
                .is_ok()
        };
        let read = |wanted: &str| {
            if has(wanted) {
                return self
                    .read_name(OsStr::new(wanted), MAX_IGNORE_BYTES)
                    .ok()
                    .flatten();
            }
            // The one that lies deeper, in the repository.
            let path = RelPath::parse(wanted).ok()?;
            self.workspace.read(&path, MAX_IGNORE_BYTES).ok()
        };
        let is_root = self.path().as_os_str().is_empty();
        let which = IgnoreFiles::among(has, is_root);
        Rules::read(read, self.path(), which, self.place.rules.clone())
    }

    /// Reads a file of this directory; `None` if it has more than so many bytes, or is no regular
    /// file any more.
    pub fn read(&self, entry: &Surveyed, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        self.read_name(&entry.name, max_bytes)
    }

    fn read_name(&self, name: &OsStr, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let opened = self.opened.as_ref().ok_or(io::ErrorKind::NotFound)?;
        read_regular(opened, name, max_bytes)
    }

    /// Whether something here answers to a name, be it written in another way.
    ///
    /// Where letter case does not count, a name that no entry has can still be taken.
    pub fn answers_to(&self, name: &OsStr) -> bool {
        let opened = self.opened.as_ref();
        opened.is_some_and(|opened| opened.symlink_metadata(name).is_ok())
    }

    /// Where it is, relative to the root, which is empty.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Whether the ignore rules pass over a file of this directory.
    pub fn is_ignored(&self, entry: &Surveyed) -> bool {
        let path = self.path().join(&entry.name);
        is_ignored(self.rules.as_deref(), &path, Is::File)
    }

    /// Where a link of this directory leads.
    pub fn read_link(&self, entry: &Surveyed) -> io::Result<OsString> {
        let opened = self.opened.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(opened.read_link_contents(&entry.name)?.into_os_string())
    }

    fn places(&self) -> Vec<Place> {
        let entered = self.entries.iter().filter(|entry| entry.is_entered);
        entered
            .map(|entry| Place {
                path: self.path().join(&entry.name),
                rules: self.rules.clone(),
            })
            .collect()
    }
}

/// Reads a regular file, no link; `None` if it has more than so many bytes.
pub(super) fn read_regular(
    directory: &Dir,
    name: &OsStr,
    max_bytes: u64,
) -> io::Result<Option<Vec<u8>>> {
    let mut options = OpenOptions::new();
    // Without `nonblock`, opening a pipe would wait for somebody to write into it.
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let file = directory.open_with(name, &options)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > max_bytes {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    // It may grow while it is read.
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max_bytes).then_some(bytes))
}

/// The repository's own files and ours.
pub(super) fn is_passed_by(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let is_temporary = || name.strip_prefix(TEMPORARY)?.strip_suffix(".tmp");
    is_hidden(name) || is_temporary().is_some()
}

impl Stat {
    #[cfg(unix)]
    pub(super) fn of(metadata: &Metadata) -> Self {
        use cap_std::fs::MetadataExt;

        let nanoseconds =
            |seconds: i64, rest: i64| (seconds.saturating_mul(1_000_000_000)).saturating_add(rest);
        Self {
            kind: kind_of(metadata),
            mode: mode_to_restore(metadata),
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            born: born(metadata),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn of(metadata: &Metadata) -> Self {
        let nanoseconds = |time: io::Result<cap_std::time::SystemTime>| {
            time.ok()
                .and_then(|time| {
                    time.into_std()
                        .duration_since(std::time::SystemTime::UNIX_EPOCH)
                        .ok()
                })
                .and_then(|since| i64::try_from(since.as_nanos()).ok())
                .unwrap_or_default()
        };
        Self {
            kind: kind_of(metadata),
            mode: 0,
            size: metadata.len(),
            modified: nanoseconds(metadata.modified()),
            changed: nanoseconds(metadata.created()),
            inode: 0,
            born: born(metadata),
        }
    }
}

fn born(metadata: &Metadata) -> Option<i64> {
    let born = metadata.created().ok()?.into_std();
    let since = born
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .ok()?;
    i64::try_from(since.as_nanos()).ok()
}

/// The permission bits, without setuid and setgid for a file of another user: whoever writes it
/// again owns it, and would lend out their own rights.
#[cfg(unix)]
fn mode_to_restore(metadata: &Metadata) -> u32 {
    use cap_std::fs::MetadataExt;

    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    let lends = metadata.is_file() && !is_ours;
    metadata.mode() & if lends { 0o1777 } else { 0o7777 }
}
