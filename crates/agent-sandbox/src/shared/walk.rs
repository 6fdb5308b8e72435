//! The walk: by levels, those with many directories shared out among threads.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::is_git;
use crate::{Confinement, PROTECTED, STATE, repository};

/// How long a walk may take, on a disk or a machine that is slow.
const MAX_TIME: Duration = Duration::from_secs(5);

/// How many directories are worth a second thread, and the most threads that there are.
pub(super) const MANY_DIRECTORIES: usize = 32;
const MAX_THREADS: usize = 4;

/// Packages come with what their authors' editors obey; nobody opens them there, and package
/// managers must be able to remove them.
const PACKAGES: &str = "node_modules";

/// Names by which git knows a git directory.
const GIT_NAMES: [&str; 5] = ["HEAD", "objects", "refs", "commondir", "config"];

/// A file with more names than one.
#[derive(Default)]
pub(super) struct Linked {
    count: u64,
    /// The directory of each, which many share, and the name in it.
    names: Vec<(Arc<Path>, OsString)>,
}

impl Linked {
    pub(super) fn is_also_outside(&self) -> bool {
        (self.names.len() as u64) < self.count
    }

    /// Whether one of the names is such a one.
    pub(super) fn has_name(&self, is_such: impl Fn(&Path) -> bool) -> bool {
        let mut names = self.names.iter();
        names.any(|(directory, name)| is_such(&directory.join(name)))
    }

    pub(super) fn into_paths(self) -> impl Iterator<Item = PathBuf> {
        let names = self.names.into_iter();
        names.map(|(directory, name)| directory.join(name))
    }
}

/// What a part of a walk has seen.
#[derive(Default)]
pub(super) struct Seen {
    /// To be looked into next.
    directories: Vec<PathBuf>,
    pub(super) linked: HashMap<(u64, u64), Linked>,
    /// To be made read-only: what leads to repositories, what tools obey, what cannot be read.
    pub(super) found: BTreeSet<PathBuf>,
    /// Git directories further down that are called `.git`.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// Git directories of other names: those without files of their own, and what links lead to.
    pub(super) bare: BTreeSet<PathBuf>,
    /// Our own state, but for that at the top.
    pub(super) states: BTreeSet<PathBuf>,
    /// Directories that were not looked into, or not to the end.
    pub(super) unseen: BTreeSet<PathBuf>,
}

impl Seen {
    /// All git directories, and files that lead to some.
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

/// Walks through the workspace.
pub(super) fn through(confinement: &Confinement) -> Seen {
    let walk = Walk {
        confinement,
        left: AtomicUsize::new(confinement.max_names),
        until: Instant::now() + MAX_TIME,
    };
    let mut seen = Seen::default();
    let mut level = vec![confinement.workspace.clone()];
    while !level.is_empty() {
        for part in walk.look_into_level(&level) {
            seen.absorb(part);
        }
        level = std::mem::take(&mut seen.directories);
    }
    seen
}

struct Walk<'a> {
    confinement: &'a Confinement,
    /// How many names may still be looked at.
    left: AtomicUsize,
    until: Instant,
}

/// A directory that is being looked into.
struct Place<'a> {
    directory: &'a Path,
    /// The same, once a file of it is remembered.
    shared: Option<Arc<Path>>,
    is_top: bool,
    /// Whether what tools obey matters here.
    is_obeyed: bool,
    /// Which of [`GIT_NAMES`] are in it.
    git_names: [bool; GIT_NAMES.len()],
}

impl<'a> Place<'a> {
    fn new(directory: &'a Path, workspace: &Path) -> Self {
        let inside = directory.strip_prefix(workspace).unwrap_or(directory);
        let is_top = directory == workspace;
        Self {
            directory,
            shared: None,
            is_top,
            is_obeyed: !is_top && inside.components().all(|part| part.as_os_str() != PACKAGES),
            git_names: [false; GIT_NAMES.len()],
        }
    }

    fn note(&mut self, name: &OsStr) {
        if let Some(known) = GIT_NAMES.iter().position(|known| name == *known) {
            self.git_names[known] = true;
        }
    }

    /// Whether git would take it for a repository, whatever it is called.
    fn is_git_directory(&self) -> bool {
        let [head, objects, refs, common, _] = self.git_names;
        head && (common || (objects && refs))
    }

    /// Whether it is the workspace, and one that lacks only what a command can put back.
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

impl Walk<'_> {
    /// Looks into all of these, with more than one thread if they are many.
    fn look_into_level(&self, level: &[PathBuf]) -> Vec<Seen> {
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
                    // What was not seen would not be protected.
                    std::panic::resume_unwind(panic)
                }),
                // There are no more threads to be had.
                Err(_) => self.look_into_all(part),
            }));
            seen
        })
    }

    fn look_into_all(&self, directories: &[PathBuf]) -> Seen {
        let mut seen = Seen::default();
        for directory in directories {
            let first = seen.directories.len();
            let is_in_time = Instant::now() < self.until;
            match self.look_into(directory, is_in_time, &mut seen) {
                Ok(Look::Whole) => continue,
                Ok(Look::Cut) => {
                    seen.unseen.insert(directory.clone());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // Whoever owns it can let themselves in again.
                Err(_) => {
                    seen.found.insert(directory.clone());
                }
            }
            // It is closed as a whole, or gone.
            seen.directories.truncate(first);
        }
        seen
    }

    fn look_into(&self, directory: &Path, is_in_time: bool, seen: &mut Seen) -> io::Result<Look> {
        if !is_in_time {
            return Ok(Look::Cut);
        }
        let first = seen.directories.len();
        let mut place = Place::new(directory, &self.confinement.workspace);
        for entry in fs::read_dir(directory)? {
            let one_less = |left: usize| left.checked_sub(1);
            let order = Ordering::Relaxed;
            if self.left.fetch_update(order, order, one_less).is_err() {
                return Ok(Look::Cut);
            }
            match self.look_at(&entry?, &mut place, seen) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if is_git(directory) || place.is_git_directory() || place.is_bare_top() {
            meet_repository(&place, first, seen);
        }
        Ok(Look::Whole)
    }

    fn look_at(&self, entry: &DirEntry, place: &mut Place<'_>, seen: &mut Seen) -> io::Result<()> {
        let kind = entry.file_type()?;
        let name = entry.file_name();
        place.note(&name);
        if kind.is_dir() {
            self.meet_directory(entry.path(), place, seen);
        } else if kind.is_file() {
            look_at_file(entry, name, place, seen)?;
        } else if kind.is_symlink() && name.eq_ignore_ascii_case(".git") && !place.is_top {
            // Nothing can be mounted on a link; what it leads to can at least be kept.
            let workspace = &self.confinement.workspace;
            let target = fs::canonicalize(entry.path()).ok();
            let is_below = |target: &PathBuf| target.starts_with(workspace) && target != workspace;
            seen.bare.extend(target.filter(is_below));
        }
        Ok(())
    }

    /// Notes a directory that is kept, or that is to be looked into.
    fn meet_directory(&self, path: PathBuf, place: &Place<'_>, seen: &mut Seen) {
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
            // One that lacks something counts too: a command can take it away and put it back.
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

/// Notes that the place is a git directory; what is closed in it need not be looked at.
fn meet_repository(place: &Place<'_>, first: usize, seen: &mut Seen) {
    let beneath = seen.directories.split_off(first);
    if place.is_top || is_git(place.directory) {
        let is_open = |path: &PathBuf| !repository::is_closed_part(path);
        seen.directories.extend(beneath.into_iter().filter(is_open));
    }
    if !is_git(place.directory) {
        seen.bare.insert(place.directory.to_owned());
    }
}

/// How far a directory was looked into.
enum Look {
    Whole,
    /// There was no time, or no number, left.
    Cut,
}

fn look_at_file(
    entry: &DirEntry,
    name: OsString,
    place: &mut Place<'_>,
    seen: &mut Seen,
) -> io::Result<()> {
    let is_git = name.eq_ignore_ascii_case(".git") && !place.is_top;
    // That of a submodule says where its configuration is.
    if is_git || (place.is_obeyed && is_tool_configuration(&name)) {
        seen.found.insert(entry.path());
        return Ok(());
    }
    let file = entry.metadata()?;
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
