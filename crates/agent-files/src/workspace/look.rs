//! One directory of the workspace, as git and ripgrep would see it.
//!
//! What is ignored, `.git`, `.agent`, what is left out and what a model cannot name is not there.
//! Entries stand in the order of their paths: `a-b/x`, `a.rs`, `a/x`. Walking on from here is left to
//! `walk` and `tour`.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Memory};

use cap_std::fs::Dir;

use super::ignored::{Absolute, IgnoreFiles, Is, Rules, is_ignored, join, read_beneath};
use super::survey::is_passed_by;
use super::{FileProblem, Kind, OUR_DIRECTORY, Workspace};
use crate::platform::files::{self, EntryKind};
use agent_protocol::RelPath;
use agent_protocol::generated::{has_credentials, is_ignored_output};

/// The most files and directories that one walk names.
const MAX_ENTRIES: usize = 500_000;

/// A directory to look into, and the rules from above it.
pub(super) struct Place {
    /// Relative to the root, which is empty.
    pub(super) path: String,
    pub(super) rules: Option<Arc<Rules>>,
}

/// Where to begin.
pub(super) enum Start {
    /// At a directory.
    Directory(Place),
    /// The path is a file, or a link.
    File(Kind),
}

/// What a directory holds.
pub(super) struct Looked {
    pub(super) opened: Dir,
    /// In the order of their paths.
    pub(super) entries: Vec<Entry>,
    /// Files that are there to keep secrets, also those that are ignored, as they often are.
    pub(super) credentials: Vec<Entry>,
    /// Directories that are ignored and that no tool fills, by their names.
    pub(super) ignored: Vec<RelPath>,
    pub(super) rules: Option<Arc<Rules>>,
}

/// A file, a link or a directory.
pub(super) struct Entry {
    pub(super) path: RelPath,
    pub(super) kind: EntryKind,
}

/// The names that a directory told, one after the other.
///
/// In two pieces of memory that seldom have to grow: threads that walk wait for each other where
/// memory is moved about.
struct Told {
    names: String,
    /// Where each name ends, and what has it.
    ends: Vec<(usize, EntryKind)>,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            names: String::with_capacity(1024),
            ends: Vec::with_capacity(64),
        }
    }
}

impl Told {
    fn push(&mut self, name: &str, kind: EntryKind) {
        self.names.push_str(name);
        self.ends.push((self.names.len(), kind));
    }

    fn iter(&self) -> impl Iterator<Item = (&str, EntryKind)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, kind)| {
            let name = &self.names[start..*end];
            start = *end;
            (name, *kind)
        })
    }
}

/// Looks into directories, and counts.
pub(super) struct Looker<'a> {
    workspace: &'a Workspace,
    seen: AtomicUsize,
    is_cut: AtomicBool,
    unnamable: AtomicUsize,
}

impl Workspace {
    /// Where a walk beneath a path begins; ignored files are left out, unless the directory itself
    /// is ignored: whoever names it wants to see it.
    pub(super) fn start(&self, beneath: Option<&RelPath>) -> Result<Start, FileProblem> {
        let Some(path) = beneath else {
            return Ok(Start::Directory(Place {
                path: String::new(),
                rules: None,
            }));
        };
        if files::open_beneath(&self.root, path.as_str()).is_err() {
            self.refuse_hidden(path)?;
        }
        match self.kind(path)? {
            None => Err(FileProblem::NotFound(path.clone())),
            Some(Kind::Directory) => Ok(Start::Directory(Place {
                path: path.as_str().to_owned(),
                rules: self.rules_above(path),
            })),
            Some(kind) => Ok(Start::File(kind)),
        }
    }

    /// The rules that hold in a directory from those above it; none if they ignore it.
    fn rules_above(&self, path: &RelPath) -> Option<Arc<Rules>> {
        let mut rules = None;
        let mut directory = String::new();
        for name in path.components() {
            let read = |name: &str| read_beneath(self, &directory, name);
            rules = Rules::read(read, Path::new(&directory), IgnoreFiles::POSSIBLE, rules);
            directory = join(&directory, name);
            if is_ignored(rules.as_deref(), Path::new(&directory), Is::Directory) {
                return None;
            }
        }
        rules
    }
}

impl<'a> Looker<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            seen: AtomicUsize::new(0),
            is_cut: AtomicBool::new(false),
            unnamable: AtomicUsize::new(0),
        }
    }

    /// Whether it stopped at the limit, so that there are more files than it saw.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Memory::Relaxed)
    }

    /// How many names could not be told to a model.
    pub(super) fn unnamable(&self) -> usize {
        self.unnamable.load(Memory::Relaxed)
    }

    /// Looks into one directory; one that cannot be read, or vanished, holds nothing.
    pub(super) fn look(&self, place: &Place) -> Option<Looked> {
        let mut told = Told::default();
        let root = &self.workspace.root;
        let opened = files::list_beneath(root, &place.path, |name, kind| {
            if self.seen.fetch_add(1, Memory::Relaxed) >= MAX_ENTRIES {
                self.is_cut.store(true, Memory::Relaxed);
                return ControlFlow::Break(());
            }
            match name.to_str() {
                Some(name) => told.push(name, kind),
                None => self.count_unnamable(),
            }
            ControlFlow::Continue(())
        })
        .ok()?;
        let has = |wanted: &str| told.iter().any(|(name, _)| name == wanted);
        let rules = Rules::read(
            |name| read_beneath(self.workspace, &place.path, name),
            Path::new(&place.path),
            IgnoreFiles::among(has, place.path.is_empty()),
            place.rules.clone(),
        );
        let mut entries = Vec::with_capacity(told.ends.len());
        let (mut credentials, mut ignored_directories) = (Vec::new(), Vec::new());
        let mut absolute = Absolute::within(&place.path);
        for (name, kind) in told.iter() {
            let ignored = |is| {
                let rules = rules.as_deref();
                rules.is_some_and(|rules| rules.leave_out(absolute.of(name), is))
            };
            let entry = self.entry(place, name, kind, ignored);
            if entry.is_none() && kind == EntryKind::Directory && !is_ignored_output(name) {
                let path = RelPath::of_entry(&place.path, name);
                let path = path.filter(|path| self.may_hold_files(path));
                ignored_directories.extend(path);
            }
            entries.extend(entry);
            if kind == EntryKind::File && has_credentials(name) {
                let path = RelPath::of_entry(&place.path, name);
                let path = path.filter(|path| !self.workspace.left_out.contains(path));
                credentials.extend(path.map(|path| Entry { path, kind }));
            }
        }
        // The directory is the same for all.
        let shared = place.path.len();
        entries.sort_unstable_by(|a: &Entry, b: &Entry| {
            let (a_name, b_name) = (&a.path.as_str()[shared..], &b.path.as_str()[shared..]);
            path_order((a_name, a.is_directory()), (b_name, b.is_directory()))
        });
        Some(Looked {
            opened,
            entries,
            credentials,
            ignored: ignored_directories,
            rules,
        })
    }

    /// Whether a directory is one of the workspace at all, and neither `.git` nor ours.
    fn may_hold_files(&self, path: &RelPath) -> bool {
        let is_passed_by = is_passed_by(OsStr::new(path.file_name()));
        !is_passed_by && !self.workspace.left_out.contains(path)
    }

    fn entry(
        &self,
        place: &Place,
        name: &str,
        kind: EntryKind,
        is_ignored: impl FnOnce(Is) -> bool,
    ) -> Option<Entry> {
        let Some(path) = RelPath::of_entry(&place.path, name) else {
            self.count_unnamable();
            return None;
        };
        let is = if kind == EntryKind::Directory {
            Is::Directory
        } else {
            Is::File
        };
        let is_there = kind != EntryKind::Special
            && !is_passed_by(OsStr::new(name))
            && !self.workspace.left_out.contains(&path)
            && !is_ignored(is);
        is_there.then_some(Entry { path, kind })
    }

    fn count_unnamable(&self) {
        self.unnamable.fetch_add(1, Memory::Relaxed);
    }
}

impl Entry {
    pub(super) fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    /// The place to look into next, if it is a directory.
    pub(super) fn place(&self, rules: Option<&Arc<Rules>>) -> Place {
        Place {
            path: self.path.as_str().to_owned(),
            rules: rules.cloned(),
        }
    }
}

/// The order of what stands at or beneath two different paths: a directory's own is that of its
/// first file.
pub(super) fn path_order(
    (a, a_is_directory): (&str, bool),
    (b, b_is_directory): (&str, bool),
) -> Ordering {
    let shared = a.len().min(b.len());
    let next = |path: &str, is_directory: bool| {
        let slash = is_directory.then_some(b'/');
        path.as_bytes().get(shared).copied().or(slash)
    };
    a.as_bytes()[..shared]
        .cmp(&b.as_bytes()[..shared])
        .then_with(|| next(a, a_is_directory).cmp(&next(b, b_is_directory)))
        .then_with(|| a.len().cmp(&b.len()))
}

/// The repository's own files and ours; on some file systems in any letter case.
pub(super) fn is_hidden(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(OUR_DIRECTORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_stand_where_their_files_would() {
        let mut entries = [
            ("a", true),
            ("a.rs", false),
            ("a-b", true),
            ("a0", false),
            ("b", false),
        ];
        entries.sort_by(|a, b| path_order(*a, *b));
        let names = entries.map(|(name, _)| name);
        assert_eq!(names, ["a-b", "a.rs", "a", "a0", "b"]);
        let mut paths = ["a/x", "a.rs", "a-b/x", "a0", "b"];
        paths.sort_unstable();
        assert_eq!(paths, ["a-b/x", "a.rs", "a/x", "a0", "b"]);
    }
}
