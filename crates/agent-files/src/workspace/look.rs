//! Lists one directory of the workspace, as git and ripgrep would.
//!
//! Ignored files, `.git`, `.agent`, the records of other base directories, excluded paths and names
//! that a model cannot write are left out. Entries are sorted by full path: `a-b/x`, `a.rs`, `a/x`.
//! `walk` and `tour` descend into subdirectories.
//!
//! A directory whose names a survey knows is not listed again, and what an earlier walk made of these
//! names is taken as it is.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Memory};
use std::sync::{Arc, PoisonError, RwLock};

use blake3::Hash;
use cap_std::fs::Dir;

use super::ignored::{Absolute, IgnoreFiles, Is, Rules, is_ignored, join, read_beneath};
use super::neighbours::is_beneath;
use super::survey::{DirectoryContent, is_passed_by};
use super::{FileKind, FileProblem, KnownNames, OUR_DIRECTORY, Workspace};
use crate::platform::files::{self, EntryKind};
use crate::records::{RecordMarks, SESSIONS, SETTINGS};
use agent_protocol::RelPath;
use agent_protocol::generated::{GeneratedDirectories, has_credentials, is_ignored_output};

/// Limit on the files and directories that one walk lists.
const MAX_ENTRIES: usize = 500_000;

/// A directory to list, with the ignore rules of its parents.
pub(super) struct PendingDirectory {
    /// Relative to the root, whose path is empty.
    pub(super) path: String,
    pub(super) rules: Option<Arc<Rules>>,
}

/// The starting point of a walk.
pub(super) enum WalkStart {
    /// A directory.
    Directory(PendingDirectory),
    /// A file or a link.
    File(FileKind),
}

/// A directory that was listed.
pub(super) struct DirectoryListing {
    pub(super) opened: Dir,
    pub(super) content: Arc<ListedContent>,
    pub(super) rules: Option<Arc<Rules>>,
}

/// What is listed of a directory.
#[derive(Debug, Default)]
pub(super) struct ListedContent {
    ignore_files: IgnoreFiles,
    /// The ignore rules that it was listed by.
    rules: Option<Hash>,
    /// Sorted by path.
    pub(super) entries: Vec<ListedEntry>,
    /// Credential files, including ignored ones, as they often are.
    pub(super) credentials: Vec<ListedEntry>,
    /// Ignored directories other than build output and dependencies.
    pub(super) ignored: Vec<RelPath>,
    /// Directories of build output that its files tell about.
    pub(super) generated: GeneratedDirectories,
    /// Number of names that a model cannot write.
    unnamable: usize,
    /// True if it is the same for another walk that sees these names and rules.
    can_be_kept: bool,
}

/// A file, a link or a directory.
#[derive(Debug)]
pub(super) struct ListedEntry {
    pub(super) path: RelPath,
    pub(super) kind: EntryKind,
}

/// The raw names of a directory.
///
/// Kept in two buffers that seldom grow, because parallel walks contend for the allocator.
struct EntryNames {
    names: String,
    /// The end of each name, and its type.
    ends: Vec<(usize, EntryKind)>,
    /// Number of names that are not UTF-8.
    unnamable: usize,
    marks: RecordMarks,
    /// True if there are more, beyond the limit of the walk.
    is_cut: bool,
}

impl Default for EntryNames {
    fn default() -> Self {
        Self {
            names: String::with_capacity(1024),
            ends: Vec::with_capacity(64),
            unnamable: 0,
            marks: RecordMarks::default(),
            is_cut: false,
        }
    }
}

impl EntryNames {
    fn push(&mut self, name: &str, kind: EntryKind) {
        self.names.push_str(name);
        self.ends.push((self.names.len(), kind));
    }

    fn iter(&self) -> impl Iterator<Item = (&str, EntryKind)> + Clone {
        let mut start = 0;
        self.ends.iter().map(move |(end, kind)| {
            let name = &self.names[start..*end];
            start = *end;
            (name, *kind)
        })
    }
}

/// Lists directories and counts entries against the limit.
pub(super) struct DirectoryLister<'a> {
    workspace: &'a Workspace,
    /// Records of the base directories in the workspace that the walk has come across so far.
    records: RwLock<Vec<RelPath>>,
    /// The names that the last survey saw.
    known: Option<KnownNames>,
    seen: AtomicUsize,
    is_cut: AtomicBool,
    unnamable: AtomicUsize,
}

impl Workspace {
    /// The starting point of a walk. Ignored files are left out, unless the starting directory
    /// itself is ignored: a caller who names it wants to see it.
    pub(super) fn start(&self, beneath: Option<&RelPath>) -> Result<WalkStart, FileProblem> {
        let Some(path) = beneath else {
            return Ok(WalkStart::Directory(PendingDirectory {
                path: String::new(),
                rules: None,
            }));
        };
        if files::open_beneath(&self.root, path.as_str()).is_err() {
            self.refuse_hidden(path)?;
        }
        if self.is_of_a_base(path) {
            return Err(FileProblem::Hidden(path.clone()));
        }
        match self.kind(path)? {
            None => Err(FileProblem::NotFound(path.clone())),
            Some(FileKind::Directory) => Ok(WalkStart::Directory(PendingDirectory {
                path: path.as_str().to_owned(),
                rules: self.rules_above(path),
            })),
            Some(kind) => Ok(WalkStart::File(kind)),
        }
    }

    /// The ignore rules from the parents of a directory; `None` if they ignore it.
    fn rules_above(&self, path: &RelPath) -> Option<Arc<Rules>> {
        let mut rules = None;
        let mut directory = String::new();
        for name in path.components() {
            let read = |name: &str| read_beneath(self, &directory, name);
            rules = Rules::read(
                read,
                Path::new(&directory),
                IgnoreFiles::POSSIBLE,
                rules,
                None,
            );
            directory = join(&directory, name);
            if is_ignored(rules.as_deref(), Path::new(&directory), Is::Directory) {
                return None;
            }
        }
        rules
    }
}

impl<'a> DirectoryLister<'a> {
    /// Lists what is beneath this directory, or the whole workspace.
    pub(super) fn new(workspace: &'a Workspace, beneath: Option<&RelPath>) -> Self {
        let records = beneath.map_or_else(Vec::new, |path| workspace.records_around(path));
        Self {
            workspace,
            records: RwLock::new(records),
            known: workspace.names_seen(),
            seen: AtomicUsize::new(0),
            is_cut: AtomicBool::new(false),
            unnamable: AtomicUsize::new(0),
        }
    }

    /// True if the limit was reached, so that there are more files than were listed.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Memory::Relaxed)
    }

    /// The number of names that a model cannot write.
    pub(super) fn unnamable(&self) -> usize {
        self.unnamable.load(Memory::Relaxed)
    }

    /// Lists a directory; `None` if it cannot be read or is gone.
    pub(super) fn look(&self, place: &PendingDirectory) -> Option<DirectoryListing> {
        let (opened, content, rules) = if let Some((opened, known)) = self.open_known(place) {
            let (content, rules) = self.listed_before(place, known).or_else(|| {
                let (mut names, mut all) = (EntryNames::default(), known.names.iter());
                let _ = all.try_for_each(|(name, kind)| self.note(&mut names, name, *kind));
                let (content, rules) = self.sort_out(place, &names)?;
                if content.can_be_kept {
                    let _ = known.listed.set(Arc::clone(&content));
                }
                Some((content, rules))
            })?;
            (opened, content, rules)
        } else {
            let mut names = EntryNames::default();
            let note = |name: &OsStr, kind| self.note(&mut names, name, kind);
            let root = &self.workspace.root;
            let opened = files::list_beneath(root, place.path.as_ref(), note).ok()?;
            let (content, rules) = self.sort_out(place, &names)?;
            (opened, content, rules)
        };
        (self.unnamable).fetch_add(content.unnamable, Memory::Relaxed);
        Some(DirectoryListing {
            opened,
            content,
            rules,
        })
    }

    fn note(&self, names: &mut EntryNames, name: &OsStr, kind: EntryKind) -> ControlFlow<()> {
        if self.seen.fetch_add(1, Memory::Relaxed) >= MAX_ENTRIES {
            self.is_cut.store(true, Memory::Relaxed);
            names.is_cut = true;
            return ControlFlow::Break(());
        }
        match name.to_str() {
            Some(name) => {
                names.marks.note(name.as_ref());
                names.push(name, kind);
            }
            None => names.unnamable += 1,
        }
        ControlFlow::Continue(())
    }

    /// What is listed of these names, and the ignore rules; `None` if they are those of sessions.
    fn sort_out(
        &self,
        place: &PendingDirectory,
        names: &EntryNames,
    ) -> Option<(Arc<ListedContent>, Option<Arc<Rules>>)> {
        let holds_sessions = names.marks.are_complete();
        if holds_sessions && !place.path.is_empty() {
            return None;
        }
        let has = |wanted: &str| names.iter().any(|(name, _)| name == wanted);
        let is_base = has(SETTINGS) || has(SESSIONS);
        let records = self.records_met(&place.path, is_base);
        let ignore_files = IgnoreFiles::among(has, place.path.is_empty());
        let rules = self.rules(place, ignore_files);
        let mut content = ListedContent {
            ignore_files,
            rules: rules.as_ref().map(|rules| rules.digest),
            entries: Vec::with_capacity(names.ends.len()),
            unnamable: names.unnamable,
            // Records of another base can come without a change of this directory.
            can_be_kept: !names.is_cut && !is_base && !holds_sessions && records.is_empty(),
            ..ListedContent::default()
        };
        let mut absolute = Absolute::within(&place.path);
        let paths = RelPath::of_entries(&place.path, names.iter().map(|(name, _)| name));
        for ((name, kind), path) in names.iter().zip(paths) {
            let Some(path) = path else {
                content.unnamable += 1;
                continue;
            };
            if self.is_left_out(&path, &records) {
                continue;
            }
            if kind == EntryKind::File && has_credentials(name) {
                let path = path.clone();
                content.credentials.push(ListedEntry { path, kind });
            }
            if kind == EntryKind::Special || is_passed_by(OsStr::new(name)) {
                continue;
            }
            let is = if kind == EntryKind::Directory {
                Is::Directory
            } else {
                Is::File
            };
            let rules = rules.as_deref();
            if !rules.is_some_and(|rules| rules.leave_out(absolute.of(name), is)) {
                if is == Is::File {
                    content.generated.note(&place.path, name);
                }
                content.entries.push(ListedEntry { path, kind });
            } else if is == Is::Directory && !is_ignored_output(name) {
                content.ignored.push(path);
            }
        }
        // All entries share the directory prefix.
        let shared = place.path.len();
        (content.entries).sort_unstable_by(|a: &ListedEntry, b: &ListedEntry| {
            let (a_name, b_name) = (&a.path.as_str()[shared..], &b.path.as_str()[shared..]);
            path_order((a_name, a.is_directory()), (b_name, b.is_directory()))
        });
        Some((Arc::new(content), rules))
    }

    /// Opens a directory whose names a survey saw, if it is still the same.
    fn open_known(&self, place: &PendingDirectory) -> Option<(Dir, &DirectoryContent)> {
        let (known, path) = (self.known.as_ref()?, Path::new(&place.path));
        let beneath = if place.path.is_empty() {
            "."
        } else {
            &place.path
        };
        let opened = files::open_beneath(&self.workspace.root, beneath).ok()?;
        let directory = known.of_opened(&opened, path)?;
        Some((opened, &*directory.content))
    }

    /// What an earlier walk listed of these names, with the rules, if this one would list the same.
    fn listed_before(
        &self,
        place: &PendingDirectory,
        known: &DirectoryContent,
    ) -> Option<(Arc<ListedContent>, Option<Arc<Rules>>)> {
        let listed = known.listed.get()?;
        let records = self.records.read();
        if !records.unwrap_or_else(PoisonError::into_inner).is_empty() {
            return None;
        }
        let rules = self.rules(place, listed.ignore_files);
        if listed.rules != rules.as_ref().map(|rules| rules.digest) {
            return None;
        }
        let count = known.names.len();
        if self.seen.fetch_add(count, Memory::Relaxed) + count > MAX_ENTRIES {
            self.seen.fetch_sub(count, Memory::Relaxed);
            return None;
        }
        Some((Arc::clone(listed), rules))
    }

    /// The rules in a directory that has these ignore files.
    fn rules(&self, place: &PendingDirectory, which: IgnoreFiles) -> Option<Arc<Rules>> {
        Rules::read(
            |name| read_beneath(self.workspace, &place.path, name),
            Path::new(&place.path),
            which,
            place.rules.clone(),
            None,
        )
    }

    /// The records that were met so far, with those of this directory. A directory comes before
    /// those beneath it.
    fn records_met(&self, directory: &str, is_base: bool) -> Vec<RelPath> {
        if is_base {
            let found = self.workspace.records_of_base(directory);
            let records = self.records.write();
            (records.unwrap_or_else(PoisonError::into_inner)).extend(found);
        }
        let records = self.records.read();
        records.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_left_out(&self, path: &RelPath, records: &[RelPath]) -> bool {
        self.workspace.left_out.contains(path)
            || records.iter().any(|records| is_beneath(path, records))
    }
}

impl ListedEntry {
    pub(super) fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    /// The directory to list next, if this is a directory.
    pub(super) fn place(&self, rules: Option<&Arc<Rules>>) -> PendingDirectory {
        PendingDirectory {
            path: self.path.as_str().to_owned(),
            rules: rules.cloned(),
        }
    }
}

/// Orders paths so that a directory sorts where its first file would.
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

/// True for `.git` and `.agent`, in any letter case, as some file systems ignore it.
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
