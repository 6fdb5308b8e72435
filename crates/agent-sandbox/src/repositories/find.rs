//! Finds the git directories below a directory, whatever their names.
//!
//! Only names are read: no file is opened unless it points to a git directory. Links to directories
//! are not followed, except for one named `.git`. In a directory that cannot be listed, git still
//! finds what it knows by name, and the person knows other names. If a command closed it, it is
//! opened; otherwise the names that git knows are checked, and the directory is reported.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent_files::fs::joined;
use agent_files::platform::files::{EntryKind, as_walked};
use agent_files::workspace::joint_walk::{DirectoryNames, DirectorySearch, NamedEntry};
use agent_files::workspace::survey::FileStat;

use super::{give_back, has_several_names, is_absent, really};

/// Limits on the names to read, and on the time.
const MAX_NAMES: usize = 1_000_000;
const MAX_TIME: Duration = Duration::from_secs(5);

/// Bytes to read of a file that points to a git directory.
const MAX_POINTER: u64 = 1 << 20;

/// The entries by which git knows a git directory.
pub const GIT_ENTRIES: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

/// Directories in a git directory whose files git reads or writes. In one that is not named `.git`,
/// others may be the person's.
const USED: [&str; 15] = [
    "branches",
    "info",
    "lfs",
    "logs",
    "lost-found",
    "modules",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "remotes",
    "rr-cache",
    "sequencer",
    "worktrees",
];

/// Links of these names are compared as what they stand for.
const COMPARED: [&str; 3] = ["config", "config.worktree", "hooks"];

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct FoundRepositories {
    /// Git directories: complete ones, and those named `.git`.
    pub(super) directories: BTreeSet<PathBuf>,
    /// Files and links that point to a git directory which is elsewhere, or does not name them as its
    /// own, with their targets.
    pub(super) leading_out: BTreeMap<PathBuf, PathBuf>,
    /// Where other links lead out of the searched directory.
    pub(super) outward: BTreeSet<PathBuf>,
    /// Links in git directories, with their real targets, or as written if those are missing. Git
    /// reads, writes and deletes files through them.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// Directories that could not be listed.
    pub(super) closed: BTreeSet<PathBuf>,
    /// Directories that could be listed once their owner had opened them.
    pub(super) opened: BTreeSet<PathBuf>,
    /// True if the limit on time or names was reached.
    pub(super) is_cut: bool,
}

/// The target of a file that points to a git directory, with links resolved: git also reads it
/// through a link.
pub(super) fn pointed_to(file: &Path, word: &str, base: &Path) -> Option<PathBuf> {
    let path = pointer(&agent_files::fs::canonical(file).ok()?, word)?;
    Some(really(&base.join(path)))
}

/// The path in a file that points to a git directory.
pub(super) fn pointer(file: &Path, word: &str) -> Option<PathBuf> {
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    // Git skips any number of line breaks at the end, and no path is longer than this.
    let mut text = Vec::new();
    let file = fs::File::open(file).ok()?;
    file.take(MAX_POINTER).read_to_end(&mut text).ok()?;
    let end = text
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    // As in git: one space after the keyword, and everything else up to a zero byte is the path.
    let path = text[..=end].strip_prefix(word.as_bytes())?;
    let path = path.split(|byte| *byte == 0).next()?;
    (!path.is_empty()).then(|| from_bytes(path))
}

#[cfg(unix)]
pub(super) fn from_bytes(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
pub(super) fn from_bytes(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// True if git would take a directory with these names for a git directory.
pub(super) fn is_git_directory(has: impl Fn(&str) -> bool) -> bool {
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// A search of a directory, except for `left_out`. Directories that cannot be listed are opened if
/// `may_open` says so.
pub(super) struct RepositorySearch<'a> {
    root: &'a Path,
    /// By their bytes: paths are compared component by component, which is slow.
    left_out: Vec<OsString>,
    may_open: &'a (dyn Fn(&Path) -> bool + Sync),
    left: AtomicUsize,
    until: Instant,
    /// Time that other searches of the same walk took, in nanoseconds of all threads. It does not count.
    taken_by_others: AtomicU64,
    found: Mutex<FoundRepositories>,
    /// The names in git directories, which are looked at once more when all of these are known.
    names_in_git: Mutex<HashMap<PathBuf, Arc<[NamedEntry]>>>,
}

impl DirectorySearch for RepositorySearch<'_> {
    fn may_go_on(&self) -> bool {
        let taken = self.taken_by_others.load(Ordering::Relaxed);
        let until = self.until + Duration::from_nanos(taken);
        self.left.load(Ordering::Relaxed) > 0 && Instant::now() <= until
    }

    fn pass_over(&self, _directory: &Path) {
        self.found().is_cut = true;
    }

    fn search(&self, directory: &Path, names: &io::Result<DirectoryNames<'_>>) -> Vec<PathBuf> {
        match names {
            Ok(names) => {
                if names.is_cut {
                    self.pass_over(directory);
                }
                let next = self.look_into(directory, &names.entries);
                if !names.is_cut && self.is_in_git(directory) {
                    let kept = self.names_in_git.lock();
                    let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
                    kept.insert(directory.to_owned(), Arc::clone(&names.entries));
                }
                next
            }
            Err(cause) => match self.entries_once_open(directory, cause) {
                Ok(entries) => self.look_into(directory, &names_of(entries)),
                Err(_) => self.look_by_name(directory),
            },
        }
    }
}

/// Another search of the same walk, on its own time.
pub(super) struct OtherSearch<'a> {
    search: &'a dyn DirectorySearch,
    taken: &'a AtomicU64,
}

impl DirectorySearch for OtherSearch<'_> {
    fn may_go_on(&self) -> bool {
        self.search.may_go_on()
    }

    fn pass_over(&self, directory: &Path) {
        self.search.pass_over(directory);
    }

    fn stat_of(&self, directory: &Path) -> Option<FileStat> {
        self.search.stat_of(directory)
    }

    fn search(&self, directory: &Path, names: &io::Result<DirectoryNames<'_>>) -> Vec<PathBuf> {
        let began = Instant::now();
        let next = self.search.search(directory, names);
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.taken.fetch_add(took, Ordering::Relaxed);
        next
    }
}

impl<'a> RepositorySearch<'a> {
    /// Another search of the same walk; what it takes is not taken from the time of this one.
    pub(super) fn beside<'s>(&'s self, search: &'s dyn DirectorySearch) -> OtherSearch<'s> {
        OtherSearch {
            search,
            taken: &self.taken_by_others,
        }
    }

    pub(super) fn new(
        root: &'a Path,
        left_out: &[PathBuf],
        may_open: &'a (dyn Fn(&Path) -> bool + Sync),
    ) -> Self {
        Self {
            root,
            left_out: as_walked(left_out),
            may_open,
            left: AtomicUsize::new(MAX_NAMES),
            until: Instant::now() + MAX_TIME,
            taken_by_others: AtomicU64::new(0),
            found: Mutex::default(),
            names_in_git: Mutex::default(),
        }
    }

    /// The result, once all directories were searched.
    pub(super) fn finish(self) -> FoundRepositories {
        let mut led: Vec<PathBuf> = self.found().directories.iter().cloned().collect();
        while let Some(directory) = led.pop() {
            let file = directory.join("commondir");
            // The shared git directory finds its work trees only here.
            let is_own =
                |shared: &Path| directory.parent() == Some(shared.join("worktrees").as_path());
            if let Some(shared) = self.led_by(file, "", &directory, is_own)
                && self.found().directories.insert(shared.clone())
            {
                led.push(shared);
            }
        }
        let directories = self.found().directories.clone();
        for directory in &directories {
            self.look_for_links(directory, &directories);
        }
        self.found
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self) -> MutexGuard<'_, FoundRepositories> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, names: usize) {
        let less = |left: usize| Some(left.saturating_sub(names));
        let order = Ordering::Relaxed;
        let _ = self.left.fetch_update(order, order, less);
    }

    fn look_into(&self, directory: &Path, names: &[NamedEntry]) -> Vec<PathBuf> {
        let mut has = [false; GIT_ENTRIES.len()];
        let mut next = Vec::new();
        self.count(names.len());
        for (name, kind) in names {
            let name: &OsStr = name;
            if let Some(known) = GIT_ENTRIES
                .iter()
                .position(|known| name.eq_ignore_ascii_case(known))
            {
                has[known] = true;
            }
            match kind {
                EntryKind::Directory => {
                    let path = joined(directory, name);
                    if !self
                        .left_out
                        .iter()
                        .any(|other| *other == *path.as_os_str())
                    {
                        next.push(path);
                    }
                }
                _ if is_git(name) => {
                    self.follow(&directory.join(name), *kind == EntryKind::Link);
                }
                EntryKind::Link => {
                    if let Ok(target) = agent_files::fs::canonical(directory.join(name))
                        && !self.is_searched(&target)
                        && target.is_dir()
                    {
                        self.found().outward.insert(target);
                    }
                }
                EntryKind::File | EntryKind::Special => {}
            }
        }
        let is_complete = is_git_directory(|name| {
            let mut pairs = GIT_ENTRIES.iter().zip(has);
            pairs.any(|(known, has)| has && *known == name)
        });
        if is_complete || directory.file_name().is_some_and(is_git) {
            // It can be listed and not searched.
            if directory
                .join("HEAD")
                .symlink_metadata()
                .is_err_and(|cause| is_denied(&cause))
            {
                let _ = self.open(directory);
            }
            self.found().directories.insert(directory.to_owned());
        }
        next
    }

    /// True for a place within the searched directory that is not left out.
    fn is_searched(&self, place: &Path) -> bool {
        let is_in = |directory: &OsString| place.starts_with(directory);
        place.starts_with(self.root) && !self.left_out.iter().any(is_in)
    }

    /// Opens a directory for its owner, and those above it, as far as it may.
    fn open(&self, directory: &Path) -> io::Result<()> {
        if !(self.may_open)(directory) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let inside = directory.ancestors();
        let mut inside: Vec<&Path> = inside
            .take_while(|one| one.starts_with(self.root))
            .collect();
        inside.reverse();
        for one in inside {
            if (self.may_open)(one) && give_back(self.root, one)? {
                self.found().opened.insert(one.to_owned());
            }
        }
        Ok(())
    }

    /// True if a directory is a git directory or in one, as far as those are known: the targets of
    /// pointers are found later. One that was opened may have more names than were listed before.
    fn is_in_git(&self, directory: &Path) -> bool {
        let found = self.found();
        let mut within = directory.ancestors();
        !found.directories.is_empty()
            && !found.opened.contains(directory)
            && within.any(|directory| found.directories.contains(directory))
    }

    /// The names in a git directory.
    fn names_in_git(&self, directory: &Path) -> io::Result<Arc<[NamedEntry]>> {
        let kept = self.names_in_git.lock();
        let kept = kept
            .unwrap_or_else(PoisonError::into_inner)
            .remove(directory);
        if let Some(names) = kept {
            return Ok(names);
        }
        let entries = fs::read_dir(directory);
        let entries = entries.or_else(|cause| self.entries_once_open(directory, &cause))?;
        Ok(names_of(entries))
    }

    /// The entries of a directory that could not be listed, if it may be opened for its owner.
    fn entries_once_open(&self, directory: &Path, cause: &io::Error) -> io::Result<fs::ReadDir> {
        if !is_denied(cause) {
            return Err(cause.kind().into());
        }
        self.open(directory)?;
        fs::read_dir(directory)
    }

    /// The directory of the workspace that a file points to. Records the file if git may be led elsewhere
    /// by it: out of the workspace, to a git directory that is still to be completed or has another work
    /// tree, whose own files its relative paths would no longer mean, or wherever git itself writes into
    /// it.
    fn led_by(
        &self,
        file: PathBuf,
        word: &str,
        base: &Path,
        is_own: impl Fn(&Path) -> bool,
    ) -> Option<PathBuf> {
        let target = pointed_to(&file, word, base);
        let is_plain =
            |target: &Path| self.is_whole(target) && is_own(target) && !has_several_names(&file);
        let leads = match &target {
            Some(target) if !is_plain(target) => Some(target),
            None if is_unreadable(&file) => Some(&file),
            _ => None,
        };
        if let Some(leads) = leads.cloned() {
            self.found().leading_out.insert(file, leads);
        }
        target.filter(|target| target.starts_with(self.root) && target.is_dir())
    }

    /// True for a git directory of the workspace with all that git asks for.
    fn is_whole(&self, directory: &Path) -> bool {
        directory.starts_with(self.root) && super::is_git_directory(directory)
    }

    /// Records a file that names a directory outside: git writes and deletes there.
    fn lead_out(&self, file: PathBuf, word: &str, base: &Path) {
        if let Some(target) = pointed_to(&file, word, base)
            && !target.starts_with(self.root)
        {
            self.found().leading_out.insert(file, target);
        }
    }

    /// Records the links in a git directory, except for those in others inside it, and work trees
    /// that are said to be outside.
    fn look_for_links(&self, git: &Path, all: &BTreeSet<PathBuf>) {
        let is_called_git = git.file_name().is_some_and(is_git);
        let mut next = vec![git.to_owned()];
        while let Some(directory) = next.pop() {
            if !self.may_go_on() {
                return self.pass_over(&directory);
            }
            let Ok(names) = self.names_in_git(&directory) else {
                let found = directory.symlink_metadata();
                if !found.is_err_and(|cause| is_absent(&cause)) {
                    self.found().closed.insert(directory);
                }
                continue;
            };
            let is_top = directory == git;
            let is_store = directory.ends_with("objects") && directory.parent() == Some(git);
            let above = directory.parent().and_then(Path::file_name);
            let is_worktree = above.is_some_and(|above| above.eq_ignore_ascii_case("worktrees"));
            self.count(names.len());
            for (name, kind) in names.iter() {
                let (name, kind): (&OsStr, EntryKind) = (name, *kind);
                let is_one_of =
                    |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
                let path = directory.join(name);
                if kind == EntryKind::Link {
                    let is_other = is_top && (is_one_of(&COMPARED) || super::is_idle(name));
                    let target =
                        agent_files::fs::canonical(&path).or_else(|_| fs::read_link(&path));
                    if let (false, Ok(target)) = (is_other, target) {
                        self.found().links.insert(path, target);
                    }
                } else if kind == EntryKind::Directory {
                    // There are many of these, and git only reads what is in them.
                    let is_fan = is_store && name.len() == 2;
                    // Hooks are compared one by one.
                    let is_used = (is_called_git && !is_one_of(&COMPARED)) || is_one_of(&USED);
                    if !is_fan && (!is_top || is_used) && !all.contains(&path) {
                        next.push(path);
                    }
                } else if is_worktree && is_one_of(&["gitdir"]) {
                    self.lead_out(path, "", &directory);
                }
            }
        }
    }

    /// Checks the known names in a directory that cannot be listed. Returns the git directory to
    /// search.
    fn look_by_name(&self, directory: &Path) -> Vec<PathBuf> {
        // One whose path is too long is there, and git finds it by a shorter one.
        let found = directory.symlink_metadata();
        if found.is_err_and(|cause| is_absent(&cause)) {
            return Vec::new();
        }
        self.found().closed.insert(directory.to_owned());
        let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
        if directory.file_name().is_some_and(is_git) || is_git_directory(has) {
            self.found().directories.insert(directory.to_owned());
        }
        let git = directory.join(".git");
        match git.symlink_metadata() {
            Ok(found) if found.is_dir() => return vec![git],
            Ok(found) => self.follow(&git, found.is_symlink()),
            Err(_) => {}
        }
        Vec::new()
    }

    /// Records the target of a file or link named `.git`.
    fn follow(&self, path: &Path, is_link: bool) {
        let target = agent_files::fs::canonical(path);
        if is_link && target.as_ref().map_or(true, |target| target.is_dir()) {
            let target = target.unwrap_or_else(|_| really(path));
            self.found()
                .leading_out
                .insert(path.to_owned(), target.clone());
            if target.starts_with(self.root) && target.is_dir() {
                self.found().directories.insert(target);
            }
            return;
        }
        let parent = path.parent().unwrap_or(path);
        let is_own = |git: &Path| super::work_trees(git).contains(parent);
        if let Some(target) = self.led_by(path.to_owned(), "gitdir: ", parent, is_own) {
            self.found().directories.insert(target);
        }
    }
}

/// True for a file that is there and that nobody can read now.
fn is_unreadable(file: &Path) -> bool {
    match file.symlink_metadata() {
        Ok(found) => found.is_file() && fs::File::open(file).is_err(),
        Err(cause) => !is_absent(&cause),
    }
}

fn is_denied(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::PermissionDenied
}

fn names_of(entries: fs::ReadDir) -> Arc<[NamedEntry]> {
    let known = entries.flatten().filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        let kind = if kind.is_dir() {
            EntryKind::Directory
        } else if kind.is_symlink() {
            EntryKind::Link
        } else {
            EntryKind::File
        };
        Some((entry.file_name().into(), kind))
    });
    known.collect()
}

pub(super) fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search that takes long in each directory.
    struct SlowSearch;

    impl SlowSearch {
        const TIME: Duration = Duration::from_millis(20);
    }

    impl DirectorySearch for SlowSearch {
        fn may_go_on(&self) -> bool {
            true
        }

        fn pass_over(&self, _directory: &Path) {}

        fn search(&self, _: &Path, _: &io::Result<DirectoryNames<'_>>) -> Vec<PathBuf> {
            let began = Instant::now();
            while began.elapsed() < Self::TIME {}
            Vec::new()
        }
    }

    #[test]
    fn another_search_of_the_same_walk_takes_its_own_time() {
        let root = Path::new("/");
        let mut search = RepositorySearch::new(root, &[], &|_| false);
        let names = Err(io::ErrorKind::NotFound.into());
        search.beside(&SlowSearch).search(root, &names);
        let taken = search.taken_by_others.load(Ordering::Relaxed);
        assert!(Duration::from_nanos(taken) >= SlowSearch::TIME);
        search.until = Instant::now().checked_sub(SlowSearch::TIME).unwrap();
        search.taken_by_others = AtomicU64::new(0);
        assert!(!search.may_go_on());
        search.taken_by_others = AtomicU64::new(u64::from(u32::MAX) * 100);
        assert!(search.may_go_on());
    }
}
