//! Takes a snapshot: surveys the workspace and reads only files that changed since the last one.
//!
//! Directories are visited on several threads, parents before children; their trees are built
//! afterwards, children before parents. New objects go into one pack, which is complete before the
//! cache refers to it. `part` takes a snapshot of only some paths.

mod part;

pub use part::is_ignore_file;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use blake3::Hash;

use super::cache::{CacheWriter, Directories, Print};
use super::objects::Objects;
use super::pack::PackWriter;
use super::tree::{Node, Reason};
use super::{CheckpointLimits, PassedOver};
use crate::error::{Error, Result};
use crate::platform::files::bytes_of_name;
use crate::workspace::crew::{both, each_of};
use crate::workspace::survey::{
    DirectoryState, FileRead, KeptDirectory, KeptSurvey, ListedDirectory, SurveyListing, Surveyed,
    SurveyedDirectory, Visited,
};
use crate::workspace::{FileKind, Workspace};

/// A file that changed this recently is read again: the granularity of the coarsest file system
/// clock.
const TICK: Duration = Duration::from_secs(2);
/// At most this many passed-over files are listed; the rest is counted.
const MAX_NAMED: usize = 1_000;

/// A snapshot in progress.
pub(super) struct SnapshotBuilder<'a> {
    objects: &'a Objects,
    limits: &'a CheckpointLimits,
    known: KnownBefore<'a>,
    /// Files modified at or after this time may change again without a new timestamp.
    settled_before: i64,
    new: Mutex<PackWriter>,
    new_bytes: AtomicU64,
    files_read: AtomicU64,
    failure: Mutex<Option<Error>>,
    has_failed: AtomicBool,
    /// True if the cache lacks something.
    has_news: AtomicBool,
    /// True if a file was read that is not the one that was surveyed.
    is_torn: AtomicBool,
    pub(super) lists_files: ListsFiles,
}

/// The earlier snapshot that spares reading unchanged files.
pub(super) enum KnownBefore<'a> {
    /// The cache that an earlier process wrote.
    Cached(Directories<'a>),
    /// The last snapshot of this process.
    Seen(&'a SeenDirectories),
}

/// The directories of a snapshot, by the bytes of their paths.
pub(super) type SeenDirectories = HashMap<OsString, Arc<SeenDirectory>>;

/// The entries of a directory in an earlier snapshot, and its tree.
struct EarlierDirectory<'a> {
    entries: Vec<(&'a [u8], Print, Node)>,
    tree: Option<Hash>,
}

/// Says if a snapshot lists the files too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListsFiles {
    Yes,
    No,
}

/// A visited directory.
#[derive(Debug, Clone)]
pub(super) struct SeenDirectory {
    path: PathBuf,
    /// The fingerprint from its survey; `None` in a snapshot of a few paths.
    fingerprint: Option<Hash>,
    entries: Vec<SeenEntry>,
    has_git: bool,
    state: DirectoryState,
    /// The stored tree of these entries, if it is known.
    tree: Option<Hash>,
    listed: Arc<ListedDirectory>,
}

#[derive(Debug, Clone)]
struct SeenEntry {
    name: Arc<OsStr>,
    node: Node,
    print: Print,
    inode: u64,
    is_entered: bool,
}

/// A finished snapshot whose objects are not committed yet.
pub(super) struct FinishedSnapshot {
    pub(super) root: Hash,
    pub(super) passed_over: Vec<PassedOver>,
    pub(super) passed_over_count: u64,
    pub(super) repositories: Vec<PathBuf>,
    pub(super) files_read: u64,
    /// True if files or directories changed places meanwhile, so that it may show no state that ever was.
    pub(super) is_torn: bool,
    /// Sorted.
    pub(super) inodes: Vec<u64>,
    /// The files, if they were to be listed.
    pub(super) listing: Option<SurveyListing>,
    pub(super) directories: SeenDirectories,
    pub(super) cache: Option<CacheWriter>,
    pub(super) new: PackWriter,
}

impl<'a> SnapshotBuilder<'a> {
    pub(super) fn new(
        objects: &'a Objects,
        limits: &'a CheckpointLimits,
        known: KnownBefore<'a>,
        settled_before: i64,
    ) -> Self {
        Self {
            objects,
            limits,
            known,
            settled_before,
            new: Mutex::new(objects.writer()),
            new_bytes: AtomicU64::new(0),
            files_read: AtomicU64::new(0),
            failure: Mutex::new(None),
            has_failed: AtomicBool::new(false),
            has_news: AtomicBool::new(false),
            is_torn: AtomicBool::new(false),
            lists_files: ListsFiles::No,
        }
    }

    /// Takes the snapshot of what a survey saw.
    pub(super) fn run(self, workspace: &Workspace, survey: KeptSurvey) -> Result<FinishedSnapshot> {
        let seen = self.see_all(workspace, survey);
        if let Some(failure) = lock(&self.failure).take() {
            return Err(failure);
        }
        ensure_readable(workspace, &seen)?;
        if self.lists_files == ListsFiles::No {
            return self.assemble(seen);
        }
        let mut states = seen.iter().map(|visited| visited.value.state);
        let is_cut = states.any(|state| state == DirectoryState::TooMany);
        let listed = seen.iter().map(|visited| Arc::clone(&visited.value.listed));
        let listed: Vec<_> = listed.collect();
        let join = || workspace.join_listed(&listed, is_cut);
        let (listing, finished) = both(join, || self.assemble(seen));
        let mut finished = finished?;
        finished.listing = Some(listing);
        Ok(finished)
    }

    /// Looks at what the survey saw, and reads what changed.
    fn see_all(
        &self,
        workspace: &Workspace,
        survey: KeptSurvey,
    ) -> Vec<Visited<Arc<SeenDirectory>>> {
        let (directories, children): (Vec<_>, Vec<_>) = (survey.directories.into_iter())
            .map(|visited| (Mutex::new(Some(visited.value)), visited.children))
            .unzip();
        let seen = each_of(&directories, |directory| {
            let directory = lock(directory).take();
            directory.map(|directory| self.see_again(directory, workspace))
        });
        let seen = seen.into_iter().flatten().zip(children);
        seen.map(|(value, children)| Visited { value, children })
            .collect()
    }

    /// A directory that the survey sees as this process saw it last is the same.
    fn see_again(&self, directory: KeptDirectory, workspace: &Workspace) -> Arc<SeenDirectory> {
        if let KnownBefore::Seen(directories) = &self.known
            && let Some(before) = directories.get(directory.path().as_os_str())
            && before.fingerprint == Some(directory.content.fingerprint)
            && before.is_repeatable()
        {
            return Arc::clone(before);
        }
        let fingerprint = Some(directory.content.fingerprint);
        let seen = self.see(&directory.again(workspace));
        Arc::new(SeenDirectory {
            fingerprint,
            ..seen
        })
    }

    fn see(&self, directory: &SurveyedDirectory<'_>) -> SeenDirectory {
        let listed = directory.listed();
        let surveyed = &directory.content.entries;
        let path = directory.path();
        let earlier = self.earlier(path);
        let mut known = earlier
            .as_ref()
            .map(|earlier| earlier.entries.iter().peekable());
        let mut entries = Vec::with_capacity(surveyed.len());
        let (mut is_same, mut is_news) = (earlier.is_some(), earlier.is_none());
        for surveyed in surveyed {
            let Some(name) = bytes_of_name(&surveyed.name) else {
                continue;
            };
            let mut known_here = None;
            if let Some(known) = &mut known {
                while known.next_if(|(other, ..)| *other < name).is_some() {
                    (is_same, is_news) = (false, true);
                }
                known_here = known.next_if(|(other, ..)| *other == name);
            }
            let known_here = known_here.map(|(_, print, node)| (*print, *node));
            let entry = self.enter(directory, surveyed, known_here);
            is_same &= known_here.is_some_and(|(_, node)| node == entry.node);
            is_news |= known_here.is_none_or(|(print, _)| print != entry.print);
            entries.push(entry);
        }
        if known.is_some_and(|mut rest| rest.next().is_some()) {
            (is_same, is_news) = (false, true);
        }
        self.has_news.fetch_or(is_news, Ordering::Relaxed);
        SeenDirectory {
            path: path.to_owned(),
            fingerprint: None,
            has_git: directory.content.has_git,
            state: directory.content.state,
            tree: earlier.filter(|_| is_same).and_then(|earlier| earlier.tree),
            entries,
            listed: Arc::new(listed),
        }
    }

    /// The directory in an earlier snapshot.
    fn earlier(&self, path: &Path) -> Option<EarlierDirectory<'_>> {
        match &self.known {
            KnownBefore::Cached(directories) => {
                let cached = directories.get(bytes_of_name(path.as_os_str())?)?;
                Some(EarlierDirectory {
                    entries: cached.entries().collect(),
                    tree: Some(cached.tree),
                })
            }
            KnownBefore::Seen(directories) => {
                let seen = directories.get(path.as_os_str())?;
                let entries = seen.entries.iter().filter_map(|entry| {
                    let name = bytes_of_name(&entry.name)?;
                    Some((name, entry.print, entry.node))
                });
                Some(EarlierDirectory {
                    entries: entries.collect(),
                    tree: seen.tree,
                })
            }
        }
    }

    fn enter(
        &self,
        directory: &SurveyedDirectory<'_>,
        surveyed: &Surveyed,
        known: Option<(Print, Node)>,
    ) -> SeenEntry {
        let stat = &surveyed.stat;
        let mut print = Print::of(stat);
        if stat.modified.max(stat.changed) >= self.settled_before {
            print = Print::NONE;
        }
        let node = match (stat.kind, known) {
            (FileKind::Directory, _) if surveyed.is_entered => {
                print = Print::NONE;
                // Corrected when the tree of the directory has been built.
                let tree = match known {
                    Some((_, Node::Directory { tree, .. })) => tree,
                    _ => Hash::from_bytes([0; 32]),
                };
                let mode = mode_of(stat.mode);
                Node::Directory { tree, mode }
            }
            (FileKind::Directory, _) => {
                print = Print::NONE;
                passed_over(Reason::Ignored)
            }
            (FileKind::File { .. } | FileKind::Link, Some((before, node)))
                if print != Print::NONE && before == print && node.object().is_some() =>
            {
                node
            }
            (FileKind::File { .. }, _) => self.file(directory, surveyed, &mut print),
            (FileKind::Link, _) => self.link(directory, surveyed),
            (FileKind::Special, _) => passed_over(Reason::Special),
        };
        SeenEntry {
            name: Arc::clone(&surveyed.name),
            node,
            print,
            inode: surveyed.stat.inode,
            is_entered: surveyed.is_entered,
        }
    }

    /// Reads a file. If another one is there by now, the metadata prove nothing about it.
    fn file(
        &self,
        directory: &SurveyedDirectory<'_>,
        surveyed: &Surveyed,
        print: &mut Print,
    ) -> Node {
        let stat = &surveyed.stat;
        if stat.size > self.limits.max_ignored_bytes && directory.is_ignored(surveyed) {
            return passed_over(Reason::Ignored);
        }
        let too_large = || Node::PassedOver {
            reason: Reason::TooLarge,
            mark: mark_of(&Print::of(stat)),
        };
        if stat.size > self.limits.max_file_bytes {
            return too_large();
        }
        self.files_read.fetch_add(1, Ordering::Relaxed);
        match directory.read(surveyed, self.limits.max_file_bytes) {
            Ok(Some(FileRead { bytes, is_other })) => {
                if is_other {
                    *print = Print::NONE;
                    self.is_torn.store(true, Ordering::Relaxed);
                }
                let size = bytes.len() as u64;
                match self.keep(&bytes) {
                    Some(content) => Node::File {
                        content,
                        size,
                        mode: mode_of(stat.mode),
                    },
                    None => passed_over(Reason::NoRoom),
                }
            }
            Ok(None) => too_large(),
            Err(_) => passed_over(Reason::Unreadable),
        }
    }

    fn link(&self, directory: &SurveyedDirectory<'_>, surveyed: &Surveyed) -> Node {
        let target = directory.read_link(surveyed).ok();
        let target = target.as_deref().and_then(bytes_of_name);
        match target.map(|target| self.keep(target)) {
            Some(Some(target)) => Node::Link { target },
            Some(None) => passed_over(Reason::NoRoom),
            None => passed_over(Reason::Unreadable),
        }
    }

    /// Stores an object if it is new. Returns `None` if the limit on new content is reached.
    fn keep(&self, content: &[u8]) -> Option<Hash> {
        let hash = blake3::hash(content);
        if self.objects.contains(&hash) {
            return Some(hash);
        }
        let size = content.len() as u64;
        if self.new_bytes.fetch_add(size, Ordering::Relaxed) + size > self.limits.max_new_bytes {
            self.new_bytes.fetch_sub(size, Ordering::Relaxed);
            return None;
        }
        // After a failure the snapshot is discarded; the walk only has to finish.
        if !self.has_failed.load(Ordering::Relaxed)
            && let Err(error) = lock(&self.new).add(hash, content)
        {
            self.has_failed.store(true, Ordering::Relaxed);
            lock(&self.failure).get_or_insert(error);
        }
        Some(hash)
    }

    /// Builds the trees bottom-up.
    fn assemble(self, mut seen: Vec<Visited<Arc<SeenDirectory>>>) -> Result<FinishedSnapshot> {
        let mut new = self
            .new
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut trees = vec![Hash::from_bytes([0; 32]); seen.len()];
        let mut has_news = self.has_news.into_inner();
        let mut bytes = Vec::new();
        let states: Vec<DirectoryState> = seen.iter().map(|visited| visited.value.state).collect();
        for (index, Visited { value, children }) in seen.iter_mut().enumerate().rev() {
            let beneath = trees[children.clone()]
                .iter()
                .zip(&states[children.clone()]);
            let corrected = value.corrected(beneath);
            if let (true, Some(tree)) = (corrected.is_empty(), value.tree) {
                trees[index] = tree;
                continue;
            }
            has_news = true;
            let value = Arc::make_mut(value);
            for (place, node) in corrected {
                value.entries[place].node = node;
            }
            bytes.clear();
            value.encode(&mut bytes);
            trees[index] = blake3::hash(&bytes);
            value.tree = Some(trees[index]);
            if !self.objects.contains(&trees[index]) {
                new.add(trees[index], &bytes)?;
            }
        }
        let mut finished = report(&seen, &trees, new, self.files_read.into_inner());
        finished.is_torn = self.is_torn.into_inner();
        finished.cache = has_news.then(|| cache_of(&seen, &trees, finished.root));
        let directories = seen.into_iter().map(|visited| visited.value);
        finished.directories = directories
            .map(|directory| (directory.path.clone().into_os_string(), directory))
            .collect();
        Ok(finished)
    }
}

/// A file that changed before this time, in nanoseconds since 1970, has a new time if it changes again.
pub(super) fn settled_before(now: SystemTime) -> i64 {
    let now = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let settled = now.saturating_sub(TICK).as_nanos();
    i64::try_from(settled).unwrap_or(i64::MAX)
}

fn ensure_readable(workspace: &Workspace, seen: &[Visited<Arc<SeenDirectory>>]) -> Result<()> {
    let state = seen.first().map(|root| root.value.state);
    if state == Some(DirectoryState::Known) {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "could not read the workspace `{}`",
        workspace.path().display()
    )))
}

fn report(
    seen: &[Visited<Arc<SeenDirectory>>],
    trees: &[Hash],
    new: PackWriter,
    files_read: u64,
) -> FinishedSnapshot {
    let root = trees.first().copied().unwrap_or(blake3::hash(b""));
    let mut found = FinishedSnapshot {
        root,
        passed_over: Vec::new(),
        passed_over_count: 0,
        repositories: Vec::new(),
        files_read,
        is_torn: false,
        inodes: Vec::with_capacity(seen.iter().map(|one| one.value.entries.len()).sum()),
        listing: None,
        directories: SeenDirectories::new(),
        cache: None,
        new,
    };
    for Visited { value, .. } in seen {
        if value.has_git && found.repositories.len() < MAX_NAMED {
            found.repositories.push(value.path.clone());
        }
        for entry in &value.entries {
            let reason = entry.node.passed_over();
            if reason.is_none() {
                found.inodes.push(entry.inode);
            }
            if let Some(reason) = reason
                && reason != Reason::Ignored
            {
                found.passed_over_count += 1;
                if found.passed_over.len() < MAX_NAMED {
                    found.passed_over.push(PassedOver {
                        path: value.path.join(&*entry.name),
                        reason,
                    });
                }
            }
        }
    }
    found.inodes.sort_unstable();
    found.passed_over.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn cache_of(seen: &[Visited<Arc<SeenDirectory>>], trees: &[Hash], root: Hash) -> CacheWriter {
    let mut cache = CacheWriter::new(root);
    for (Visited { value, .. }, tree) in seen.iter().zip(trees) {
        let entries = value.entries.iter().filter_map(|entry| {
            let name = bytes_of_name(&entry.name)?;
            Some((name, entry.print, entry.node))
        });
        if let Some(path) = bytes_of_name(value.path.as_os_str()) {
            cache.directory(path, *tree, entries);
        }
    }
    cache
}

impl SeenDirectory {
    fn encode(&self, bytes: &mut Vec<u8>) {
        for entry in &self.entries {
            if let Some(name) = bytes_of_name(&entry.name) {
                entry.node.encode(name, bytes);
            }
        }
    }

    /// The subdirectories that are not as they were known, by their index, after they were visited.
    fn corrected<'b>(
        &self,
        beneath: impl Iterator<Item = (&'b Hash, &'b DirectoryState)>,
    ) -> Vec<(usize, Node)> {
        let entered = self.entries.iter().enumerate();
        let entered = entered.filter(|(_, entry)| entry.is_entered).zip(beneath);
        let settled =
            entered.map(|((at, entry), (tree, state))| (at, entry, entry.settled(*tree, *state)));
        settled
            .filter(|(_, entry, node)| entry.node != *node)
            .map(|(at, _, node)| (at, node))
            .collect()
    }

    /// True if it gives the same again while its metadata are the same.
    pub(super) fn is_repeatable(&self) -> bool {
        let is_final = |entry: &SeenEntry| match &entry.node {
            Node::Directory { .. } => true,
            Node::File { .. } | Node::Link { .. } => entry.print != Print::NONE,
            Node::PassedOver { reason, .. } => {
                let by_metadata = [Reason::Ignored, Reason::TooLarge, Reason::Special];
                !entry.is_entered && by_metadata.contains(reason)
            }
        };
        self.state == DirectoryState::Known && self.entries.iter().all(is_final)
    }
}

impl SeenEntry {
    /// The node of a directory after it was visited.
    fn settled(&self, tree: Hash, state: DirectoryState) -> Node {
        match (self.node, state) {
            (Node::Directory { mode, .. }, DirectoryState::Known) => Node::Directory { tree, mode },
            (_, DirectoryState::TooMany) => passed_over(Reason::TooMany),
            _ => passed_over(Reason::Unreadable),
        }
    }
}

fn passed_over(reason: Reason) -> Node {
    Node::PassedOver { reason, mark: 0 }
}

fn mark_of(print: &Print) -> u64 {
    let hash = blake3::hash(print.bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap_or(&[0; 8]))
}

/// The permission bits that undo restores.
pub(super) fn mode_of(mode: u32) -> u16 {
    u16::try_from(mode & 0o7777).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cache file of a workspace.
pub(super) fn cache_path(directory: &Path, workspace: &Workspace) -> PathBuf {
    let path = workspace.path().as_os_str().as_encoded_bytes();
    let name = blake3::hash(path).to_hex();
    directory.join(&name[..16])
}
