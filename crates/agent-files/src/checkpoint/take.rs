//! Taking a snapshot: one survey, and reading only what the last one did not see.
//!
//! Directories are looked at on several threads, parents before children; their trees are made
//! afterwards, children before parents. What is new goes into one pack, which is on the disk before
//! the cache says so. A snapshot of only some paths is in `part`.

mod part;

pub use part::is_ignore_file;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use blake3::Hash;

use super::cache::{Cache, CacheWriter, Directories, Print};
use super::objects::Objects;
use super::pack::PackWriter;
use super::tree::{Node, Reason};
use super::{Limits, PassedOver};
use crate::error::{Error, Result};
use crate::platform::files::bytes_of_name;
use crate::workspace::survey::{Directory, State, Surveyed, Visited};
use crate::workspace::{Kind, Workspace};

/// How long after its last change a file is still read again: the coarsest clock of file systems.
const TICK: Duration = Duration::from_secs(2);
/// The most passed over files that are named; the rest is only counted.
const MAX_NAMED: usize = 1_000;

/// One snapshot in the making.
pub(super) struct Taking<'a> {
    objects: &'a Objects,
    limits: &'a Limits,
    cached: Directories<'a>,
    /// Files that were changed at or after this time may change again unnoticed.
    settled_before: i64,
    new: Mutex<PackWriter>,
    new_bytes: AtomicU64,
    files_read: AtomicU64,
    failure: Mutex<Option<Error>>,
    has_failed: AtomicBool,
}

/// What was seen of one directory.
pub(super) struct Seen {
    path: PathBuf,
    entries: Vec<Entry>,
    has_git: bool,
    state: State,
    /// The tree that the cache has, if it has the same names.
    cached_tree: Option<Hash>,
    is_news_for_cache: bool,
}

struct Entry {
    name: OsString,
    node: Node,
    print: Print,
    inode: u64,
    is_entered: bool,
    /// What the cache had.
    cached: Option<Node>,
}

/// What a snapshot found.
pub(super) struct Found {
    pub(super) root: Hash,
    pub(super) passed_over: Vec<PassedOver>,
    pub(super) passed_over_count: u64,
    pub(super) repositories: Vec<PathBuf>,
    pub(super) files_read: u64,
    pub(super) inodes: HashSet<u64>,
    pub(super) cache: Option<CacheWriter>,
    pub(super) new: PackWriter,
}

impl<'a> Taking<'a> {
    pub(super) fn new(
        objects: &'a Objects,
        limits: &'a Limits,
        cache: &'a Cache,
        now: SystemTime,
    ) -> Self {
        // A cache whose objects are not there any more is of no use.
        let is_usable = cache.root().is_some_and(|root| objects.contains(&root));
        let cached = if is_usable {
            cache.directories()
        } else {
            Directories::new()
        };
        let now = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let settled = now.saturating_sub(TICK).as_nanos();
        Self {
            objects,
            limits,
            cached,
            settled_before: i64::try_from(settled).unwrap_or(i64::MAX),
            new: Mutex::new(objects.writer()),
            new_bytes: AtomicU64::new(0),
            files_read: AtomicU64::new(0),
            failure: Mutex::new(None),
            has_failed: AtomicBool::new(false),
        }
    }

    pub(super) fn run(self, workspace: &Workspace) -> Result<Found> {
        let seen = workspace.survey(&self.limits.scope, |directory| self.see(directory))?;
        if let Some(failure) = lock(&self.failure).take() {
            return Err(failure);
        }
        ensure_readable(workspace, &seen)?;
        self.assemble(seen)
    }

    fn see(&self, mut directory: Directory<'_>) -> Seen {
        let surveyed = std::mem::take(&mut directory.entries);
        let path = directory.path();
        let cached = bytes_of_name(path.as_os_str()).and_then(|path| self.cached.get(path));
        let mut known = cached.map(|cached| cached.entries().peekable());
        let mut entries = Vec::with_capacity(surveyed.len());
        let mut has_same_names = cached.is_some();
        let mut is_news = cached.is_none();
        for surveyed in surveyed {
            let Some(name) = bytes_of_name(&surveyed.name) else {
                continue;
            };
            let mut known_here = None;
            if let Some(known) = &mut known {
                while known.next_if(|(other, ..)| *other < name).is_some() {
                    has_same_names = false;
                }
                known_here = known.next_if(|(other, ..)| *other == name);
            }
            let known_here = known_here.map(|(_, print, node)| (print, node));
            let entry = self.enter(&directory, surveyed, known_here);
            has_same_names &= known_here.is_some();
            is_news |= known_here.is_none_or(|(print, _)| print != entry.print);
            entries.push(entry);
        }
        has_same_names &= known.is_none_or(|mut rest| rest.next().is_none());
        Seen {
            path: path.to_owned(),
            has_git: directory.has_git,
            state: directory.state,
            cached_tree: cached.filter(|_| has_same_names).map(|cached| cached.tree),
            is_news_for_cache: is_news || !has_same_names,
            entries,
        }
    }

    fn enter(
        &self,
        directory: &Directory<'_>,
        surveyed: Surveyed,
        known: Option<(Print, Node)>,
    ) -> Entry {
        let stat = &surveyed.stat;
        let mut print = Print::of(stat);
        if stat.modified.max(stat.changed) >= self.settled_before {
            print = Print::NONE;
        }
        let node = match (stat.kind, known) {
            (Kind::Directory, _) if surveyed.is_entered => {
                print = Print::NONE;
                // The tree is known when those beneath it are.
                Node::Directory {
                    tree: Hash::from_bytes([0; 32]),
                    mode: mode_of(stat.mode),
                }
            }
            (Kind::Directory, _) => {
                print = Print::NONE;
                passed_over(Reason::Ignored)
            }
            (Kind::File { .. } | Kind::Link, Some((before, node)))
                if print != Print::NONE && before == print && node.object().is_some() =>
            {
                node
            }
            (Kind::File { .. }, _) => self.file(directory, &surveyed),
            (Kind::Link, _) => self.link(directory, &surveyed),
            (Kind::Special, _) => passed_over(Reason::Special),
        };
        Entry {
            name: surveyed.name,
            node,
            print,
            inode: surveyed.stat.inode,
            is_entered: surveyed.is_entered,
            cached: known.map(|(_, node)| node),
        }
    }

    fn file(&self, directory: &Directory<'_>, surveyed: &Surveyed) -> Node {
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
            Ok(Some(content)) => {
                let size = content.len() as u64;
                match self.keep(&content) {
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

    fn link(&self, directory: &Directory<'_>, surveyed: &Surveyed) -> Node {
        let target = directory.read_link(surveyed).ok();
        let target = target.as_deref().and_then(bytes_of_name);
        match target.map(|target| self.keep(target)) {
            Some(Some(target)) => Node::Link { target },
            Some(None) => passed_over(Reason::NoRoom),
            None => passed_over(Reason::Unreadable),
        }
    }

    /// Stores an object, if it is new; `None` if there is no more room for it.
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
        // After a failure the snapshot comes to nothing; only the walk is brought to its end.
        if !self.has_failed.load(Ordering::Relaxed)
            && let Err(error) = lock(&self.new).add(hash, content)
        {
            self.has_failed.store(true, Ordering::Relaxed);
            lock(&self.failure).get_or_insert(error);
        }
        Some(hash)
    }

    /// Makes the trees, those without directories of their own first.
    fn assemble(self, mut seen: Vec<Visited<Seen>>) -> Result<Found> {
        let mut new = self
            .new
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut trees = vec![Hash::from_bytes([0; 32]); seen.len()];
        let mut bytes = Vec::new();
        let states: Vec<State> = seen.iter().map(|visited| visited.value.state).collect();
        for (index, Visited { value, children }) in seen.iter_mut().enumerate().rev() {
            let found = trees[children.clone()]
                .iter()
                .zip(&states[children.clone()]);
            let entered = value.entries.iter_mut().filter(|entry| entry.is_entered);
            for (entry, (hash, state)) in entered.zip(found) {
                entry.settle(*hash, *state);
            }
            if let Some(tree) = value.unchanged() {
                trees[index] = tree;
                continue;
            }
            value.is_news_for_cache = true;
            bytes.clear();
            value.encode(&mut bytes);
            trees[index] = blake3::hash(&bytes);
            if !self.objects.contains(&trees[index]) {
                new.add(trees[index], &bytes)?;
            }
        }
        let files_read = self.files_read.into_inner();
        Ok(report(&seen, &trees, new, files_read))
    }
}

fn ensure_readable(workspace: &Workspace, seen: &[Visited<Seen>]) -> Result<()> {
    let state = seen.first().map(|root| root.value.state);
    if state == Some(State::Known) {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "could not read the workspace `{}`",
        workspace.path().display()
    )))
}

fn report(seen: &[Visited<Seen>], trees: &[Hash], new: PackWriter, files_read: u64) -> Found {
    let root = trees.first().copied().unwrap_or(blake3::hash(b""));
    let mut found = Found {
        root,
        passed_over: Vec::new(),
        passed_over_count: 0,
        repositories: Vec::new(),
        files_read,
        inodes: HashSet::new(),
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
                found.inodes.insert(entry.inode);
            }
            if let Some(reason) = reason
                && reason != Reason::Ignored
            {
                found.passed_over_count += 1;
                if found.passed_over.len() < MAX_NAMED {
                    found.passed_over.push(PassedOver {
                        path: value.path.join(&entry.name),
                        reason,
                    });
                }
            }
        }
    }
    found.passed_over.sort_by(|a, b| a.path.cmp(&b.path));
    if seen.iter().any(|visited| visited.value.is_news_for_cache) {
        found.cache = Some(cache_of(seen, trees, root));
    }
    found
}

fn cache_of(seen: &[Visited<Seen>], trees: &[Hash], root: Hash) -> CacheWriter {
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

impl Seen {
    fn encode(&self, bytes: &mut Vec<u8>) {
        for entry in &self.entries {
            if let Some(name) = bytes_of_name(&entry.name) {
                entry.node.encode(name, bytes);
            }
        }
    }

    /// The tree that the cache has, if this directory is still the same.
    fn unchanged(&self) -> Option<Hash> {
        let is_same = |entry: &Entry| entry.cached == Some(entry.node);
        self.cached_tree
            .filter(|_| self.entries.iter().all(is_same))
    }
}

impl Entry {
    /// Says what came of a directory that was gone into.
    fn settle(&mut self, hash: Hash, state: State) {
        match (&mut self.node, state) {
            (Node::Directory { tree, .. }, State::Known) => *tree = hash,
            (node, State::TooMany) => *node = passed_over(Reason::TooMany),
            (node, _) => *node = passed_over(Reason::Unreadable),
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

/// The bits that undo gives back.
pub(super) fn mode_of(mode: u32) -> u16 {
    u16::try_from(mode & 0o7777).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file in which the cache of a workspace is kept.
pub(super) fn cache_path(directory: &Path, workspace: &Workspace) -> PathBuf {
    let path = workspace.path().as_os_str().as_encoded_bytes();
    let name = blake3::hash(path).to_hex();
    directory.join(&name[..16])
}
