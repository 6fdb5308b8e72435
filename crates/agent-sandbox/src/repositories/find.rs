//! Finds the git directories below a directory, whatever their names.
//!
//! Only names are read: no file is opened unless it points to a git directory. Links to directories
//! are not followed, except for one named `.git`. In a directory that cannot be listed, git still
//! finds what it knows by name, and the person knows other names. If a command closed it, it is
//! opened; otherwise the names that git knows are checked, and the directory is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{give_back, really};

/// Limits on the names to read, and on the time.
const MAX_NAMES: usize = 1_000_000;
const MAX_TIME: Duration = Duration::from_secs(5);

/// Bytes to read of a file that points to a git directory.
const MAX_POINTER: u64 = 1 << 20;

/// Directories in a git directory whose files git reads or writes. Hooks are compared one by one.
const USED: [&str; 13] = [
    "branches",
    "info",
    "lfs",
    "logs",
    "modules",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "remotes",
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
    /// Files and links that point to a git directory elsewhere, with their targets.
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

/// Searches a directory, except for `left_out`. Directories that cannot be listed are opened if
/// `may_open` says so.
pub(super) fn find(
    root: &Path,
    left_out: &[PathBuf],
    may_open: &dyn Fn(&Path) -> bool,
) -> FoundRepositories {
    let mut search = RepositorySearch {
        root,
        left_out,
        may_open,
        left: MAX_NAMES,
        until: Instant::now() + MAX_TIME,
        next: vec![root.to_owned()],
        found: FoundRepositories::default(),
    };
    while let Some(directory) = search.next.pop() {
        if search.left == 0 || Instant::now() > search.until {
            search.found.is_cut = true;
            break;
        }
        search.look_into(&directory);
    }
    let mut led: Vec<PathBuf> = search.found.directories.iter().cloned().collect();
    while let Some(directory) = led.pop() {
        let file = directory.join("commondir");
        let Some(shared) = pointed_to(&file, "", &directory) else {
            continue;
        };
        let found = &mut search.found;
        if !shared.starts_with(root) {
            found.leading_out.insert(file, shared);
        } else if shared.is_dir() && found.directories.insert(shared.clone()) {
            led.push(shared);
        }
    }
    for directory in search.found.directories.clone() {
        search.look_for_links(&directory);
    }
    search.found
}

/// The target of a file that points to a git directory, with links resolved: git also reads it
/// through a link.
fn pointed_to(file: &Path, word: &str, base: &Path) -> Option<PathBuf> {
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
    // As in git: one space after the keyword, and everything else belongs to the path.
    let path = text[..=end].strip_prefix(word.as_bytes())?;
    let is_path = !path.is_empty() && !path.contains(&0);
    is_path.then(|| from_bytes(path))
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

struct RepositorySearch<'a> {
    root: &'a Path,
    left_out: &'a [PathBuf],
    may_open: &'a dyn Fn(&Path) -> bool,
    left: usize,
    until: Instant,
    next: Vec<PathBuf>,
    found: FoundRepositories,
}

impl RepositorySearch<'_> {
    fn look_into(&mut self, directory: &Path) {
        const NAMES: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];
        let mut has = [false; NAMES.len()];
        let is_called_git = directory.file_name().is_some_and(is_git);
        let Ok(entries) = self.entries(directory) else {
            return self.look_by_name(directory, is_called_git);
        };
        for entry in entries.flatten() {
            self.left = self.left.saturating_sub(1);
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else {
                continue;
            };
            if let Some(known) = NAMES
                .iter()
                .position(|known| name.eq_ignore_ascii_case(known))
            {
                has[known] = true;
            }
            if kind.is_dir() {
                let path = entry.path();
                if !self.left_out.contains(&path) {
                    self.next.push(path);
                }
            } else if is_git(&name) {
                self.follow(&entry.path(), kind.is_symlink());
            } else if kind.is_symlink()
                && let Ok(target) = agent_files::fs::canonical(entry.path())
                && !target.starts_with(self.root)
                && target.is_dir()
            {
                self.found.outward.insert(target);
            }
        }
        let is_complete = is_git_directory(|name| {
            let mut pairs = NAMES.iter().zip(has);
            pairs.any(|(known, has)| has && *known == name)
        });
        if is_called_git || is_complete {
            self.found.directories.insert(directory.to_owned());
        }
    }

    fn entries(&mut self, directory: &Path) -> io::Result<fs::ReadDir> {
        fs::read_dir(directory).or_else(|cause| {
            if cause.kind() != io::ErrorKind::PermissionDenied || !(self.may_open)(directory) {
                return Err(cause);
            }
            give_back(self.root, directory)?;
            let entries = fs::read_dir(directory)?;
            self.found.opened.insert(directory.to_owned());
            Ok(entries)
        })
    }

    /// Records the links in a git directory, except for those in others inside it.
    fn look_for_links(&mut self, git: &Path) {
        let mut next = vec![git.to_owned()];
        while let Some(directory) = next.pop() {
            if self.left == 0 || Instant::now() > self.until {
                self.found.is_cut = true;
                return;
            }
            let Ok(entries) = self.entries(&directory) else {
                if directory.symlink_metadata().is_ok() {
                    self.found.closed.insert(directory);
                }
                continue;
            };
            let is_top = directory == git;
            let is_store = directory.ends_with("objects") && directory.parent() == Some(git);
            for entry in entries.flatten() {
                self.left = self.left.saturating_sub(1);
                let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else {
                    continue;
                };
                let is_one_of =
                    |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
                let path = entry.path();
                if kind.is_symlink() {
                    let is_other = is_top && (is_one_of(&COMPARED) || super::is_idle(&name));
                    let target =
                        agent_files::fs::canonical(&path).or_else(|_| fs::read_link(&path));
                    if let (false, Ok(target)) = (is_other, target) {
                        self.found.links.insert(path, target);
                    }
                } else if kind.is_dir() {
                    // There are many of these, and git only reads what is in them.
                    let is_fan = is_store && name.len() == 2;
                    let is_used = if is_top { is_one_of(&USED) } else { !is_fan };
                    if is_used && !self.found.directories.contains(&path) {
                        next.push(path);
                    }
                }
            }
        }
    }

    /// Checks the known names in a directory that cannot be listed.
    fn look_by_name(&mut self, directory: &Path, is_called_git: bool) {
        if directory.symlink_metadata().is_err() {
            return;
        }
        self.found.closed.insert(directory.to_owned());
        let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
        if is_called_git || is_git_directory(has) {
            self.found.directories.insert(directory.to_owned());
        }
        let git = directory.join(".git");
        match git.symlink_metadata() {
            Ok(found) if found.is_dir() => self.next.push(git),
            Ok(found) => self.follow(&git, found.is_symlink()),
            Err(_) => {}
        }
    }

    /// Records the target of a file or link named `.git`.
    fn follow(&mut self, path: &Path, is_link: bool) {
        let directory = is_link
            .then(|| agent_files::fs::canonical(path).ok())
            .flatten();
        let target = directory.filter(|target| target.is_dir()).or_else(|| {
            let parent = path.parent()?;
            pointed_to(path, "gitdir: ", parent)
        });
        match target {
            Some(target) if !target.starts_with(self.root) => {
                self.found.leading_out.insert(path.to_owned(), target);
            }
            Some(target) if target.is_dir() => {
                self.found.directories.insert(target);
            }
            _ => {}
        }
    }
}

fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}
