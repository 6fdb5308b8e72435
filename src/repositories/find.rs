//! Finds the git directories beneath a directory, whatever they are called.
//!
//! Only names are read: no file is looked at unless it leads to a git directory. Links to directories
//! are not followed, but for one that is called `.git`. What cannot be read is passed by: git cannot
//! read it either.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most names that are read, and how long that may take.
const MAX_NAMES: usize = 1_000_000;
const MAX_TIME: Duration = Duration::from_secs(5);

/// The largest file that leads to a git directory.
const MAX_POINTER: u64 = 4_096;

/// Large directories in a git directory that hold no other one.
const STORES: [&str; 5] = ["objects", "refs", "logs", "lfs", "hooks"];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Git directories, complete ones and those that are called `.git`.
    pub(super) directories: BTreeSet<PathBuf>,
    /// Whether there was no time, or no number, left for the rest.
    pub(super) is_cut: bool,
}

/// Looks through a directory, but for those `left_out`.
pub(super) fn find(root: &Path, left_out: &[PathBuf]) -> Found {
    let mut search = Search {
        root,
        left_out,
        left: MAX_NAMES,
        until: Instant::now() + MAX_TIME,
        next: vec![root.to_owned()],
        found: Found::default(),
    };
    while let Some(directory) = search.next.pop() {
        if search.left == 0 || Instant::now() > search.until {
            search.found.is_cut = true;
            break;
        }
        search.look_into(&directory);
    }
    let Search { mut found, .. } = search;
    let mut led: Vec<PathBuf> = found.directories.iter().cloned().collect();
    while let Some(directory) = led.pop() {
        let shared = pointed_to(&directory.join("commondir"), "", &directory);
        if let Some(shared) = shared.filter(|shared| shared.starts_with(root))
            && found.directories.insert(shared.clone())
        {
            led.push(shared);
        }
    }
    found
}

/// What a file that leads to a git directory leads to, links resolved.
pub(super) fn pointed_to(file: &Path, word: &str, base: &Path) -> Option<PathBuf> {
    let path = pointer(file, word)?;
    base.join(path).canonicalize().ok()
}

/// What stands in a file that leads to a git directory.
pub(super) fn pointer(file: &Path, word: &str) -> Option<PathBuf> {
    let found = file.symlink_metadata().ok()?;
    if !found.is_file() || found.len() > MAX_POINTER {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let path = text.trim_end_matches(['\n', '\r']).strip_prefix(word)?;
    let path = path.trim_start_matches(' ');
    (!path.is_empty()).then(|| path.into())
}

/// Whether git would take a directory with these names for a git directory.
pub(super) fn is_git_directory(has: impl Fn(&str) -> bool) -> bool {
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

struct Search<'a> {
    root: &'a Path,
    left_out: &'a [PathBuf],
    left: usize,
    until: Instant,
    next: Vec<PathBuf>,
    found: Found,
}

impl Search<'_> {
    fn look_into(&mut self, directory: &Path) {
        const NAMES: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];
        let mut has = [false; NAMES.len()];
        let is_called_git = directory.file_name().is_some_and(is_git);
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        for entry in entries.flatten() {
            self.left = self.left.saturating_sub(1);
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else {
                continue;
            };
            if let Some(known) = NAMES.iter().position(|known| name == *known) {
                has[known] = true;
            }
            if kind.is_dir() {
                let is_store = is_called_git && STORES.iter().any(|store| name == *store);
                let path = entry.path();
                if !is_store && !self.left_out.contains(&path) {
                    self.next.push(path);
                }
            } else if is_git(&name) {
                self.follow(&entry.path(), kind.is_symlink());
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

    /// Notes where a file or a link called `.git` leads, if that is here.
    fn follow(&mut self, path: &Path, is_link: bool) {
        let target = if is_link {
            path.canonicalize().ok()
        } else {
            path.parent()
                .and_then(|parent| pointed_to(path, "gitdir:", parent))
        };
        let is_here = |target: &PathBuf| target.starts_with(self.root) && target.is_dir();
        self.found.directories.extend(target.filter(is_here));
    }
}

fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}
