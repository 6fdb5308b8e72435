//! Walks the workspace level by level; large levels are split among threads.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt};

use super::is_git;
use crate::{Confinement, PROTECTED, STATE, repository};
use agent_files::platform::files::{EntryKind, Flow, list_beneath};
use agent_files::records::RecordMarks;

/// Time limit of a walk, for a slow disk or machine.
const MAX_TIME: Duration = Duration::from_secs(5);

/// The number of directories that justifies a second thread, and the maximum number of threads.
pub(super) const MANY_DIRECTORIES: usize = 32;
const MAX_THREADS: usize = 4;

/// Packages contain editor configuration of their authors; nobody opens them there, and package
/// managers must be able to remove them.
const PACKAGES: &str = "node_modules";

/// Names by which git recognises a git directory.
const GIT_NAMES: [&str; 5] = ["HEAD", "objects", "refs", "commondir", "config"];

/// A file with more than one name.
#[derive(Default)]
pub(super) struct Linked {
    count: u64,
    /// The directory of each name, which many share, and the name in it.
    names: Vec<(Arc<Path>, OsString)>,
}

impl Linked {
    pub(super) fn is_also_outside(&self) -> bool {
        (self.names.len() as u64) < self.count
    }

    /// True if one of the names satisfies the condition.
    pub(super) fn has_name(&self, is_such: impl Fn(&Path) -> bool) -> bool {
        let mut names = self.names.iter();
        names.any(|(directory, name)| is_such(&directory.join(name)))
    }

    pub(super) fn into_paths(self) -> impl Iterator<Item = PathBuf> {
        let names = self.names.into_iter();
        names.map(|(directory, name)| directory.join(name))
    }
}

/// The results of a part of a walk.
#[derive(Default)]
pub(super) struct WalkResult {
    /// Directories to search next.
    directories: Vec<PathBuf>,
    pub(super) linked: HashMap<(u64, u64), Linked>,
    /// Paths to make read-only: those that lead to repositories, tool configuration, unreadable
    /// directories.
    pub(super) found: BTreeSet<PathBuf>,
    /// Nested git directories named `.git`.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// Git directories with other names: bare ones, and targets of links.
    pub(super) bare: BTreeSet<PathBuf>,
    /// Our own state directories, except for the one at the top, and directories of sessions.
    pub(super) states: BTreeSet<PathBuf>,
    /// Directories that were not searched, or not completely.
    pub(super) unseen: BTreeSet<PathBuf>,
}

impl WalkResult {
    /// All git directories, and files that point to one.
    pub(super) fn git_directories(&self) -> Vec<PathBuf> {
        let files = self.found.iter().filter(|path| is_git(path));
        let all = self.repositories.iter().chain(&self.bare).chain(files);
        all.cloned().collect()
    }

    fn absorb(&mut self, mut other: Self) {
        self.directories.append(&mut other.directories);
        self.found.append(&mut other.found);
        self.repositories.append(&mut other.repositories);
        self.bare.append(&mut other.bare);
        self.unseen.append(&mut other.unseen);
        self.states.append(&mut other.states);
        for (file, part) in other.linked {
            let whole = self.linked.entry(file).or_default();
            whole.count = part.count;
            whole.names.extend(part.names);
        }
    }
}

/// Walks the workspace.
pub(super) fn through(confinement: &Confinement) -> WalkResult {
    let mut seen = WalkResult::default();
    let Ok(root) = Dir::open_ambient_dir(&confinement.workspace, ambient_authority()) else {
        seen.found.insert(confinement.workspace.clone());
        return seen;
    };
    let walk = WorkspaceWalk {
        confinement,
        root,
        left: AtomicUsize::new(confinement.max_names),
        until: Instant::now() + MAX_TIME,
    };
    let mut level = vec![confinement.workspace.clone()];
    while !level.is_empty() {
        for part in walk.look_into_level(&level) {
            seen.absorb(part);
        }
        level = std::mem::take(&mut seen.directories);
    }
    seen
}

struct WorkspaceWalk<'a> {
    confinement: &'a Confinement,
    /// The workspace, opened.
    root: Dir,
    /// Names that may still be looked at.
    left: AtomicUsize,
    until: Instant,
}

/// A directory that is being searched.
struct WalkedDirectory<'a> {
    directory: &'a Path,
    opened: Dir,
    /// Its path, shared by the files that are remembered.
    shared: Option<Arc<Path>>,
    is_top: bool,
    /// True if tool configuration matters here.
    is_obeyed: bool,
    /// The [`GIT_NAMES`] that it contains.
    git_names: [bool; GIT_NAMES.len()],
    records: RecordMarks,
}

impl<'a> WalkedDirectory<'a> {
    fn new(directory: &'a Path, opened: Dir, workspace: &Path) -> Self {
        let inside = directory.strip_prefix(workspace).unwrap_or(directory);
        let is_top = directory == workspace;
        Self {
            directory,
            opened,
            shared: None,
            is_top,
            is_obeyed: !is_top && inside.components().all(|part| part.as_os_str() != PACKAGES),
            git_names: [false; GIT_NAMES.len()],
            records: RecordMarks::default(),
        }
    }

    fn note(&mut self, name: &OsStr) {
        if let Some(known) = GIT_NAMES.iter().position(|known| name == *known) {
            self.git_names[known] = true;
        }
        self.records.note(name.to_str().unwrap_or_default());
    }

    /// True if git would take it for a repository, whatever its name.
    fn is_git_directory(&self) -> bool {
        let [head, objects, refs, common, _] = self.git_names;
        head && (common || (objects && refs))
    }

    /// True if it is the workspace and lacks only what a command could put back.
    fn is_bare_top(&self) -> bool {
        const MAX_BYTES: u64 = 64 * 1024;
        let [.., config] = self.git_names;
        if !self.is_top || !config {
            return false;
        }
        let path = self.directory.join("config");
        let is_short = |file: fs::Metadata| file.is_file() && file.len() < MAX_BYTES;
        path.symlink_metadata().is_ok_and(is_short)
            && fs::read_to_string(path).is_ok_and(|text| text.contains("repositoryformatversion"))
    }
}

impl WorkspaceWalk<'_> {
    /// Searches these directories, on several threads if there are many.
    fn look_into_level(&self, level: &[PathBuf]) -> Vec<WalkResult> {
        if level.len() < MANY_DIRECTORIES {
            return vec![self.look_into_all(level)];
        }
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let share = level.len().div_ceil(threads.min(MAX_THREADS));
        thread::scope(|scope| {
            let (own, others) = level.split_at(share);
            let others: Vec<_> = others
                .chunks(share)
                .map(|part| {
                    let work = move || self.look_into_all(part);
                    (part, thread::Builder::new().spawn_scoped(scope, work))
                })
                .collect();
            let mut seen = vec![self.look_into_all(own)];
            seen.extend(others.into_iter().map(|(part, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| {
                    // Paths that were missed would not be protected.
                    std::panic::resume_unwind(panic)
                }),
                // No more threads are available.
                Err(_) => self.look_into_all(part),
            }));
            seen
        })
    }

    fn look_into_all(&self, directories: &[PathBuf]) -> WalkResult {
        let mut seen = WalkResult::default();
        for directory in directories {
            let first = seen.directories.len();
            let is_in_time = Instant::now() < self.until;
            match self.look_into(directory, is_in_time, &mut seen) {
                Ok(SearchExtent::Whole) => continue,
                Ok(SearchExtent::Cut) => {
                    seen.unseen.insert(directory.clone());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // The owner can restore their own access.
                Err(_) => {
                    seen.found.insert(directory.clone());
                }
            }
            // It is closed as a whole, or gone.
            seen.directories.truncate(first);
        }
        seen
    }

    fn look_into(
        &self,
        directory: &Path,
        is_in_time: bool,
        seen: &mut WalkResult,
    ) -> io::Result<SearchExtent> {
        if !is_in_time {
            return Ok(SearchExtent::Cut);
        }
        let first = seen.directories.len();
        let workspace = &self.confinement.workspace;
        let inside = directory.strip_prefix(workspace).unwrap_or(directory);
        let mut entries = Vec::new();
        let mut extent = SearchExtent::Whole;
        let opened = list_beneath(&self.root, inside, |name, kind| {
            let one_less = |left: usize| left.checked_sub(1);
            let order = Ordering::Relaxed;
            if self.left.fetch_update(order, order, one_less).is_err() {
                extent = SearchExtent::Cut;
                return Flow::Break(());
            }
            entries.push((name.to_owned(), kind));
            Flow::Continue(())
        })?;
        if matches!(extent, SearchExtent::Cut) {
            return Ok(extent);
        }
        let mut place = WalkedDirectory::new(directory, opened, workspace);
        for (name, kind) in entries {
            match self.look_at(name, kind, &mut place, seen) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if place.records.are_complete() && !place.is_top {
            seen.directories.truncate(first);
            seen.states.insert(directory.to_owned());
            return Ok(SearchExtent::Whole);
        }
        if is_git(directory) || place.is_git_directory() || place.is_bare_top() {
            meet_repository(&place, first, seen);
        }
        Ok(SearchExtent::Whole)
    }

    fn look_at(
        &self,
        name: OsString,
        kind: EntryKind,
        place: &mut WalkedDirectory<'_>,
        seen: &mut WalkResult,
    ) -> io::Result<()> {
        place.note(&name);
        match kind {
            EntryKind::Directory => self.meet_directory(place.directory.join(name), place, seen),
            EntryKind::File => look_at_file(name, place, seen)?,
            EntryKind::Link if name.eq_ignore_ascii_case(".git") && !place.is_top => {
                // Nothing can be mounted on a link, but its target can be protected.
                let workspace = &self.confinement.workspace;
                let target = fs::canonicalize(place.directory.join(name)).ok();
                let is_below =
                    |target: &PathBuf| target.starts_with(workspace) && target != workspace;
                seen.bare.extend(target.filter(is_below));
            }
            EntryKind::Link | EntryKind::Special => {}
        }
        Ok(())
    }

    /// Records a directory to protect or to search.
    fn meet_directory(&self, path: PathBuf, place: &WalkedDirectory<'_>, seen: &mut WalkResult) {
        let confinement = self.confinement;
        let is_hidden = || confinement.hidden.contains(&path);
        if (place.is_top && path.ends_with(STATE)) || is_hidden() {
            return;
        }
        if path
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(STATE))
        {
            seen.states.insert(path);
            return;
        }
        let is_git = is_git(&path);
        if is_git && place.is_top {
            if confinement.git_write {
                seen.directories.push(path);
            }
        } else if is_git {
            // An incomplete one counts too: a command can remove a part and put it back.
            seen.repositories.insert(path.clone());
            if confinement.git_write {
                seen.directories.push(path);
            }
        } else if place.is_obeyed && path.file_name().is_some_and(is_tool_configuration) {
            seen.found.insert(path);
        } else {
            seen.directories.push(path);
        }
    }
}

/// Records that this is a git directory; its closed parts need not be searched.
fn meet_repository(place: &WalkedDirectory<'_>, first: usize, seen: &mut WalkResult) {
    let beneath = seen.directories.split_off(first);
    if place.is_top || is_git(place.directory) {
        let is_open = |path: &PathBuf| !repository::is_closed_part(path);
        seen.directories.extend(beneath.into_iter().filter(is_open));
    }
    if !is_git(place.directory) {
        seen.bare.insert(place.directory.to_owned());
    }
}

/// How completely a directory was searched.
enum SearchExtent {
    Whole,
    /// The limit on time or names was reached.
    Cut,
}

fn look_at_file(
    name: OsString,
    place: &mut WalkedDirectory<'_>,
    seen: &mut WalkResult,
) -> io::Result<()> {
    let is_git = name.eq_ignore_ascii_case(".git") && !place.is_top;
    // The `.git` file of a submodule says where its configuration is.
    if is_git || (place.is_obeyed && is_tool_configuration(&name)) {
        seen.found.insert(place.directory.join(name));
        return Ok(());
    }
    // From the open directory: the whole path would have to be looked up for every file.
    let file = place.opened.symlink_metadata(&name)?;
    if file.nlink() > 1 {
        let directory = place.directory;
        let directory = place.shared.get_or_insert_with(|| Arc::from(directory));
        let linked = seen.linked.entry((file.dev(), file.ino())).or_default();
        linked.count = file.nlink();
        linked.names.push((Arc::clone(directory), name));
    }
    Ok(())
}

fn is_tool_configuration(name: &OsStr) -> bool {
    PROTECTED
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}
