//! Checkpoints: what the workspace was before and after a round, so that a round can be undone.
//!
//! A snapshot is a tree of hashes; the content lies in a private store beside the sessions, each
//! content once, whoever changed the file and however. Taking one is a walk over the workspace that
//! reads only what changed since the last. The project's own repository is neither needed nor
//! touched. A snapshot of a few named paths costs no walk: the rest is taken over from an earlier
//! one, so that two of them differ only in these paths. Which snapshots belong to which round is for
//! the session to know.
//!
//! ```text
//! packs/<id>.pack     objects: contents of files, targets of links, trees      (pack, objects)
//! cache/<id>          what the last snapshot of a workspace saw                 (cache)
//! damaged/            packs that a broken disk left
//! lock                held by whoever changes the store; shared by its readers
//! ```
//!
//! A store of our own was taken rather than a shadow git repository: it works without git, takes
//! the time of `git status` on 80,000 files, and covers what git cannot (modes, empty directories,
//! ignored files that are small). Contents are copied, not borrowed from the project's repository,
//! whose objects may be pruned any day; the first snapshot copies everything once, in seconds, while
//! the person carries the first prompt. They are not compressed: reading and writing is what costs.

mod apart;
mod cache;
mod changes;
mod diff;
mod objects;
mod pack;
mod plan;
mod restore;
mod take;
mod tidy;
mod tree;

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use blake3::Hash;
use serde::{Deserialize, Serialize};

pub use changes::{Change, Difference, What};
pub use diff::{DiffLimits, Lines, Stat};
pub use plan::{Conflict, Plan, RestoreStep, Why};
pub use restore::{Force, KeepAside, Kept, Restored};
pub use take::is_ignore_file;
pub use tidy::{Tidied, WantedSnapshots};
pub use tree::{Node, Reason};

use crate::error::{Error, Result};
use crate::fs::{Durability, own_directory};
use crate::platform;
use crate::workspace::Workspace;
use crate::workspace::survey::{self, Scope};
use agent_protocol::RelPath;
use cache::Cache;
use objects::Objects;
use take::Taking;

/// What a checkpoint covers.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Files with more bytes than these are passed over, and named.
    pub max_file_bytes: u64,
    /// Ignored files with more bytes than these are passed over in silence.
    pub max_ignored_bytes: u64,
    /// The most new content that one snapshot stores, in bytes; what is more is passed over.
    pub max_new_bytes: u64,
    /// The size that tidying brings the whole store down to, in bytes.
    pub max_store_bytes: u64,
    /// What is looked at: leave out the directories of our own that lie in the workspace.
    pub scope: Scope,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_file_bytes: 10 * 1024 * 1024,
            max_ignored_bytes: 64 * 1024,
            max_new_bytes: 4 * 1024 * 1024 * 1024,
            max_store_bytes: 8 * 1024 * 1024 * 1024,
            scope: Scope {
                max_entries: 500_000,
                ..Scope::default()
            },
        }
    }
}

/// The state of a workspace at one time; equal ones are the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Snapshot(Hash);

/// A snapshot that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Which.
    pub snapshot: Snapshot,
    /// What it does not cover, but for what is ignored: the first thousand, sorted by path.
    pub passed_over: Vec<PassedOver>,
    /// How many it does not cover.
    pub passed_over_count: u64,
    /// The directories in which repositories lie, the first thousand of those that were looked at.
    pub repositories: Vec<PathBuf>,
    /// How many files were read, because they changed since the last snapshot or just now.
    pub files_read: u64,
    /// The files and directories that it covers, by their numbers in the file system.
    pub inodes: HashSet<u64>,
}

/// Something that a snapshot does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    /// Where, relative to the workspace.
    pub path: PathBuf,
    /// Why not.
    pub reason: Reason,
}

/// How much of the workspace a snapshot looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// All of it.
    #[default]
    Whole,
    /// Only what was named; all else is as an earlier one knows it.
    Named,
}

impl Reach {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// The state before something is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Its snapshot.
    pub snapshot: Snapshot,
    /// What that looked at: one after the change is comparable only if it looks at no more.
    #[serde(default, skip_serializing_if = "Reach::is_whole")]
    pub reach: Reach,
}

/// From one snapshot to another: from after a round to before it is its undo, the other way its
/// redo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// As the workspace should be now.
    pub from: Snapshot,
    /// As it should be then.
    pub to: Snapshot,
}

/// A turn, and the only paths of it that count, if not all do.
pub type PartialTurn = (Turn, Option<BTreeSet<String>>);

/// The checkpoints of all sessions of a base directory.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    objects: Objects,
    durability: Durability,
    clock: fn() -> SystemTime,
}

impl Store {
    /// Opens the store in this directory, and makes it if there is none.
    pub fn open(directory: &Path) -> Result<Self> {
        own_directory(directory)?;
        for part in ["packs", "cache"] {
            own_directory(&directory.join(part))?;
        }
        platform::make_private(directory)
            .map_err(|cause| Error::file("make private", directory, cause))?;
        let directory = directory
            .canonicalize()
            .map_err(|cause| Error::file("open", directory, cause))?;
        Ok(Self {
            objects: Objects::new(&directory.join("packs")),
            directory,
            durability: Durability::Synced,
            clock: SystemTime::now,
        })
    }

    /// From now on snapshots are not synced: the caller does that, before it relies on one.
    pub fn sync_later(&mut self) {
        self.durability = Durability::Atomic;
    }

    /// Takes a snapshot of the workspace.
    ///
    /// What is new is on the disk when it returns, unless syncing was left to the caller. A kill in
    /// the middle leaves the store as it was.
    pub fn take(&mut self, workspace: &Workspace, limits: &Limits) -> Result<Taken> {
        let _alone = self.lock_alone()?;
        self.refresh_alone()?;
        let limits = self.without_itself(workspace, limits);
        let cache_path = take::cache_path(&self.directory.join("cache"), workspace);
        let cache = Cache::read(&cache_path);
        let mut found =
            Taking::new(&self.objects, &limits, &cache, (self.clock)()).run(workspace)?;
        let cache = found.cache.take();
        let taken = self.keep(found)?;
        if let Some(cache) = cache {
            cache.write(&cache_path)?;
        }
        Ok(taken)
    }

    /// Takes a snapshot that looks only at these paths; all else is as an earlier one knows it.
    ///
    /// These are covered though they are ignored: who names them means them. Its cost depends on
    /// the paths and not on the workspace. Nothing comes back where they are not enough: the earlier one is not in the store any more, an ignore file is among them, or a
    /// name is taken by one that is written in another way.
    pub fn take_part(
        &mut self,
        workspace: &Workspace,
        limits: &Limits,
        earlier: Snapshot,
        paths: &[RelPath],
    ) -> Result<Option<Taken>> {
        let _alone = self.lock_alone()?;
        self.refresh_alone()?;
        let mut limits = self.without_itself(workspace, limits);
        limits.max_ignored_bytes = limits.max_file_bytes;
        let no_cache = Cache::default();
        let taking = Taking::new(&self.objects, &limits, &no_cache, (self.clock)());
        let found = taking.run_part(workspace, earlier.0, paths)?;
        found.map(|found| self.keep(found)).transpose()
    }

    /// Sets apart what differs between two snapshots and may be somebody else's: the first one anew,
    /// with these paths passed over, so that neither undo nor redo touches them; and the paths.
    ///
    /// A file that is gone is not among them: nothing is lost by making it again.
    pub fn set_apart(
        &mut self,
        workspace: &Workspace,
        before: Snapshot,
        now: Snapshot,
        why_apart: impl Fn(&Path, &Node, &survey::Stat) -> Option<Reason>,
    ) -> Result<(Snapshot, Vec<PassedOver>)> {
        let _alone = self.lock_alone()?;
        self.refresh_alone()?;
        let differences = changes::differences(&self.objects, before.0, now.0)?;
        let unclear = apart::unclear(workspace, &differences, why_apart);
        if unclear.is_empty() {
            return Ok((before, Vec::new()));
        }
        let (root, new) = apart::without(&self.objects, workspace, before.0, &unclear)?;
        self.objects.commit(new, self.durability)?;
        self.objects.merge()?;
        let apart = unclear
            .into_iter()
            .map(|(path, reason)| PassedOver { path, reason });
        Ok((Snapshot(root), apart.collect()))
    }

    /// The limits without the store: one that stores itself would grow with every look.
    fn without_itself(&self, workspace: &Workspace, limits: &Limits) -> Limits {
        let mut limits = limits.clone();
        if let Ok(own) = self.directory.strip_prefix(workspace.path()) {
            limits.scope.leave_out.push(own.to_owned());
        }
        limits
    }

    /// Puts what a snapshot found into the store.
    fn keep(&mut self, found: take::Found) -> Result<Taken> {
        self.objects.commit(found.new, self.durability)?;
        self.objects.merge()?;
        Ok(Taken {
            snapshot: Snapshot(found.root),
            passed_over: found.passed_over,
            passed_over_count: found.passed_over_count,
            repositories: found.repositories,
            files_read: found.files_read,
            inodes: found.inodes,
        })
    }

    /// What was changed between two snapshots, sorted by path.
    pub fn changes(&mut self, from: &Snapshot, to: &Snapshot) -> Result<Vec<Change>> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        self.changes_locked(from, to)
    }

    /// The changes between two snapshots as a unified diff.
    pub fn diff(&mut self, from: &Snapshot, to: &Snapshot, limits: &DiffLimits) -> Result<String> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let changes = self.changes_locked(from, to)?;
        diff::diff(&self.objects, &changes, limits)
    }

    /// The changes between two snapshots with the number of lines.
    pub fn stat(
        &mut self,
        from: &Snapshot,
        to: &Snapshot,
        limits: &DiffLimits,
    ) -> Result<Vec<Stat>> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let changes = self.changes_locked(from, to)?;
        diff::stat(&self.objects, changes, limits)
    }

    /// What a file or link was in a snapshot: its content, or where it led.
    pub fn content(&mut self, node: &Node) -> Result<Option<Vec<u8>>> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        match node {
            Node::File { content, .. } => self.objects.read(content).map(Some),
            Node::Link { target } => self.objects.read(target).map(Some),
            Node::Directory { .. } | Node::PassedOver { .. } => Ok(None),
        }
    }

    /// Plans to go through these turns, one after the other: the latest round first to undo.
    ///
    /// Changes nothing. Only what differs within a turn is touched, so that what a person changed
    /// between two rounds stays.
    pub fn plan(&mut self, workspace: &Workspace, turns: &[Turn]) -> Result<Plan> {
        let turns: Vec<PartialTurn> = turns.iter().map(|turn| (*turn, None)).collect();
        self.plan_parts(workspace, &turns)
    }

    /// Plans as [`Store::plan`] does; of a turn with names, only these paths.
    pub fn plan_parts(&mut self, workspace: &Workspace, turns: &[PartialTurn]) -> Result<Plan> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let differences = turns
            .iter()
            .map(|(turn, only)| {
                let differences = changes::differences(&self.objects, turn.from.0, turn.to.0)?;
                let mut differences = changes::expand(&self.objects, differences)?;
                if let Some(only) = only {
                    differences.retain(|one| only.contains(&*one.path.to_string_lossy()));
                }
                Ok(differences)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(plan::plan(workspace, differences))
    }

    /// Carries out a plan; every trouble with a file is told in what comes back.
    pub fn restore(
        &mut self,
        workspace: &Workspace,
        plan: &Plan,
        force: Force,
        keep: Option<KeepAside<'_>>,
    ) -> Result<Restored> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        restore::restore(workspace, &self.objects, plan, force, keep)
    }

    /// Puts the files of a snapshot into a workspace that has none of them.
    pub fn lay_out(&mut self, workspace: &Workspace, snapshot: &Snapshot) -> Result<Restored> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let all = changes::from_nothing(&self.objects, snapshot.0)?;
        let plan = plan::plan(workspace, vec![all]);
        restore::restore(workspace, &self.objects, &plan, Force::Skip, None)
    }

    /// Removes what nobody needs any more, and of the rounds the oldest until the limit is kept.
    ///
    /// The caller names all snapshots of all sessions that can still be undone, and sees to it that
    /// no session is going on beside.
    pub fn tidy(&mut self, wanted: &WantedSnapshots, max_bytes: u64) -> Result<Tidied> {
        let _alone = self.lock_alone()?;
        self.refresh_alone()?;
        let caches = self.directory.join("cache");
        tidy::tidy(&mut self.objects, &caches, wanted, max_bytes)
    }

    /// The size of all packs in this directory of a store, in bytes; looks only at the names.
    pub fn size(directory: &Path) -> u64 {
        let packs = std::fs::read_dir(directory.join("packs"));
        let sizes = packs.into_iter().flatten().flatten();
        sizes
            .filter_map(|entry| Some(entry.metadata().ok()?.len()))
            .sum()
    }

    fn changes_locked(&self, from: &Snapshot, to: &Snapshot) -> Result<Vec<Change>> {
        let differences = changes::differences(&self.objects, from.0, to.0)?;
        Ok(changes::changes(differences))
    }

    /// Learns which packs there are, and removes what a killed writer or a broken disk left.
    fn refresh_alone(&mut self) -> Result<()> {
        self.objects.refresh()?;
        if self.objects.clean(&self.directory.join("damaged"))? {
            // The caches may name what was lost.
            let cache = self.directory.join("cache");
            std::fs::remove_dir_all(&cache)
                .map_err(|cause| Error::file("remove", &cache, cause))?;
            own_directory(&cache)?;
        }
        Ok(())
    }

    fn lock_alone(&self) -> Result<File> {
        let path = self.directory.join("lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        platform::ours(&mut options);
        let lock = options
            .open(&path)
            .map_err(|cause| Error::file("open", &path, cause))?;
        granted(lock.lock()).map_err(|cause| Error::file("lock", &path, cause))?;
        Ok(lock)
    }

    /// Reading works in a base that cannot be written to.
    fn lock_shared(&self) -> Result<Option<File>> {
        let path = self.directory.join("lock");
        let Ok(lock) = File::open(&path) else {
            return Ok(None);
        };
        granted(lock.lock_shared()).map_err(|cause| Error::file("lock", &path, cause))?;
        Ok(Some(lock))
    }
}

/// Some network file systems know no locks: there only one program at a time is safe.
fn granted(locked: io::Result<()>) -> io::Result<()> {
    match locked {
        Err(cause) if cause.kind() == io::ErrorKind::Unsupported => Ok(()),
        other => other,
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl From<Snapshot> for String {
    fn from(snapshot: Snapshot) -> Self {
        snapshot.to_string()
    }
}

impl TryFrom<String> for Snapshot {
    type Error = blake3::HexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Hash::from_hex(text).map(Self)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
