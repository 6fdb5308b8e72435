//! Searches directories for what must be protected.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cap_std::fs::MetadataExt;

use super::is_git;
use crate::{Confinement, PROTECTED, STATE, repository};
use agent_files::fs::joined;
use agent_files::platform::files::{EntryKind, as_walked, relative_to};
use agent_files::records::RecordMarks;
use agent_files::workspace::joint_walk::{DirectoryNames, DirectorySearch};

/// Time limit of a walk, for a slow disk or machine.
const MAX_TIME: Duration = Duration::from_secs(5);

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

/// The search of a workspace.
pub(super) struct WorkspaceWalk<'a> {
    confinement: &'a Confinement,
    /// The hidden paths, as bytes: paths are compared component by component, which is slow.
    hidden: Vec<OsString>,
    /// Names that may still be looked at.
    left: AtomicUsize,
    until: Instant,
    seen: Mutex<WalkResult>,
}

impl DirectorySearch for WorkspaceWalk<'_> {
    fn may_go_on(&self) -> bool {
        Instant::now() < self.until
    }

    fn pass_over(&self, directory: &Path) {
        self.absorb(WalkResult {
            unseen: BTreeSet::from([directory.to_owned()]),
            ..WalkResult::default()
        });
    }

    fn search(&self, directory: &Path, names: &io::Result<DirectoryNames<'_>>) -> Vec<PathBuf> {
        let mut seen = WalkResult::default();
        let extent = match names {
            Ok(names) => self.look_into(directory, names, &mut seen),
            Err(cause) => Err(cause.kind().into()),
        };
        let mut next = std::mem::take(&mut seen.directories);
        if !matches!(extent, Ok(SearchExtent::Whole)) {
            // It is closed as a whole, or gone.
            next.clear();
        }
        match extent {
            Ok(SearchExtent::Whole) => {}
            Ok(SearchExtent::Cut) => {
                seen.unseen.insert(directory.to_owned());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // The owner can restore their own access.
            Err(_) => {
                seen.found.insert(directory.to_owned());
            }
        }
        self.absorb(seen);
        next
    }
}

/// A directory that is being searched.
struct WalkedDirectory<'a> {
    directory: &'a Path,
    names: &'a DirectoryNames<'a>,
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
    fn new(directory: &'a Path, names: &'a DirectoryNames<'a>, workspace: &Path) -> Self {
        let inside = relative_to(workspace, directory).as_os_str();
        let is_top = inside.is_empty();
        let is_separator = |byte: &u8| std::path::is_separator(char::from(*byte));
        let mut parts = inside.as_encoded_bytes().split(is_separator);
        Self {
            directory,
            names,
            shared: None,
            is_top,
            is_obeyed: !is_top && parts.all(|part| part != PACKAGES.as_bytes()),
            git_names: [false; GIT_NAMES.len()],
            records: RecordMarks::default(),
        }
    }

    fn note(&mut self, name: &OsStr) {
        if let Some(known) = GIT_NAMES.iter().position(|known| name == *known) {
            self.git_names[known] = true;
        }
        self.records.note(name);
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

impl<'a> WorkspaceWalk<'a> {
    pub(super) fn new(confinement: &'a Confinement) -> Self {
        Self {
            confinement,
            hidden: as_walked(&confinement.hidden),
            left: AtomicUsize::new(confinement.max_names),
            until: Instant::now() + MAX_TIME,
            seen: Mutex::default(),
        }
    }

    pub(super) fn finish(self) -> WalkResult {
        self.seen
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn absorb(&self, part: WalkResult) {
        let seen = self.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).absorb(part);
    }

    /// False if these are more names than may be looked at.
    fn may_look_at(&self, names: usize) -> bool {
        let order = Ordering::Relaxed;
        let fewer = |left: usize| left.checked_sub(names);
        let is_enough = self.left.fetch_update(order, order, fewer).is_ok();
        if !is_enough {
            self.left.store(0, order);
        }
        is_enough
    }

    fn look_into(
        &self,
        directory: &Path,
        names: &DirectoryNames<'_>,
        seen: &mut WalkResult,
    ) -> io::Result<SearchExtent> {
        if names.is_cut || !self.may_look_at(names.entries.len()) {
            return Ok(SearchExtent::Cut);
        }
        let workspace = &self.confinement.workspace;
        let mut place = WalkedDirectory::new(directory, names, workspace);
        for (name, kind) in names.entries.iter() {
            match self.look_at(name, *kind, &mut place, seen) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if place.records.are_complete() && !place.is_top {
            seen.directories.clear();
            seen.states.insert(directory.to_owned());
            return Ok(SearchExtent::Whole);
        }
        if is_git(directory) || place.is_git_directory() || place.is_bare_top() {
            meet_repository(&place, seen);
        }
        Ok(SearchExtent::Whole)
    }

    fn look_at(
        &self,
        name: &OsStr,
        kind: EntryKind,
        place: &mut WalkedDirectory<'_>,
        seen: &mut WalkResult,
    ) -> io::Result<()> {
        place.note(name);
        match kind {
            EntryKind::Directory => self.meet_directory(joined(place.directory, name), place, seen),
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
        let is_hidden = || {
            self.hidden
                .iter()
                .any(|hidden| *hidden == *path.as_os_str())
        };
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
fn meet_repository(place: &WalkedDirectory<'_>, seen: &mut WalkResult) {
    let beneath = std::mem::take(&mut seen.directories);
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
    name: &OsStr,
    place: &mut WalkedDirectory<'_>,
    seen: &mut WalkResult,
) -> io::Result<()> {
    let is_git = name.eq_ignore_ascii_case(".git") && !place.is_top;
    // The `.git` file of a submodule says where its configuration is.
    if is_git || (place.is_obeyed && is_tool_configuration(name)) {
        seen.found.insert(place.directory.join(name));
        return Ok(());
    }
    let linked = place.names.linked;
    if linked.is_some_and(|linked| linked.iter().all(|other| **other != *name)) {
        return Ok(());
    }
    let file = place.names.metadata(name)?;
    if file.nlink() > 1 {
        let directory = place.directory;
        let directory = place.shared.get_or_insert_with(|| Arc::from(directory));
        let linked = seen.linked.entry((file.dev(), file.ino())).or_default();
        linked.count = file.nlink();
        linked.names.push((Arc::clone(directory), name.to_owned()));
    }
    Ok(())
}

fn is_tool_configuration(name: &OsStr) -> bool {
    PROTECTED
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}
