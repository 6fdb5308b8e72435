//! Checkpoints: the state of the workspace before and after each round, so that a round can be
//! undone.
//!
//! A snapshot is a tree of hashes; contents are in a private store beside the sessions, each one
//! once. Taking a snapshot walks the workspace and reads only files that changed since the last
//! one. The project's own repository is neither needed nor touched. A snapshot of a few named paths
//! needs no walk: it takes everything else from an earlier snapshot, so that the two differ only in
//! these paths. The session knows which snapshots belong to which round.
//!
//! ```text
//! packs/<id>.pack     objects: contents of files, targets of links, trees      (pack, objects)
//! cache/<id>          what the last snapshot of a workspace saw                 (cache)
//! damaged/            packs that a broken disk left
//! lock                held by the process that changes the store; shared by its readers
//! ```
//!
//! A store of our own instead of a shadow git repository: it works without git, takes as long as
//! `git status` on 80,000 files, and covers what git does not (modes, empty directories, small
//! ignored files). Contents are copied rather than shared with the project's repository, which may
//! prune its objects at any time. The first snapshot copies everything once, within seconds, while
//! the person pastes the first message. Objects are not compressed: I/O dominates the cost.

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

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use blake3::Hash;
use serde::{Deserialize, Serialize};

pub use changes::{ChangeKind, SnapshotChange, SnapshotDifference};
pub use diff::{DiffLimits, DiffStat};
pub use plan::{Conflict, ConflictReason, RestorePlan, RestoreStep};
pub use restore::{Force, KeepAside, KeptCopy, Restored};
pub use take::is_ignore_file;
pub use tidy::{Tidied, WantedSnapshots};
pub use tree::{Node, Reason};

use crate::error::{Error, Result};
use crate::fs::{Durability, own_directory};
use crate::platform;
use crate::workspace::Workspace;
use crate::workspace::survey::{self, KeptSurvey, SurveyListing, SurveyScope, SurveyedTree};
use crate::workspace::walk::Walked;
use agent_protocol::RelPath;
use cache::{Cache, Directories};
use objects::Objects;
use take::{KnownBefore, ListsFiles, SeenDirectories, SnapshotBuilder};

/// Limits of a checkpoint and of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointLimits {
    /// Files with more bytes are passed over and listed in the result.
    pub max_file_bytes: u64,
    /// Ignored files with more bytes are passed over silently.
    pub max_ignored_bytes: u64,
    /// Limit on the new content of one snapshot, in bytes; files beyond it are passed over.
    pub max_new_bytes: u64,
    /// The store is pruned to this size, in bytes.
    pub max_store_bytes: u64,
    /// The part of the workspace to look at. It should leave out our own directories in the
    /// workspace.
    pub scope: SurveyScope,
}

impl Default for CheckpointLimits {
    fn default() -> Self {
        Self {
            max_file_bytes: 10 * 1024 * 1024,
            max_ignored_bytes: 64 * 1024,
            max_new_bytes: 4 * 1024 * 1024 * 1024,
            max_store_bytes: 8 * 1024 * 1024 * 1024,
            scope: SurveyScope {
                max_entries: 500_000,
                ..SurveyScope::default()
            },
        }
    }
}

/// The state of a workspace at one moment. Equal snapshots have equal files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Snapshot(Hash);

/// The result of taking a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenSnapshot {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Files that the snapshot does not cover, ignored ones aside: the first thousand, sorted by
    /// path.
    pub passed_over: Vec<PassedOver>,
    /// The number of files that the snapshot does not cover, ignored ones aside.
    pub passed_over_count: u64,
    /// Directories that contain a repository: the first thousand among those visited.
    pub repositories: Vec<PathBuf>,
    /// The number of files that had to be read, because they changed since the last snapshot.
    pub files_read: u64,
    /// Inode numbers of the files and directories that the snapshot covers, sorted.
    pub inodes: Vec<u64>,
}

/// A file or directory that a snapshot does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    /// The path relative to the workspace.
    pub path: PathBuf,
    /// The reason.
    pub reason: Reason,
}

/// The part of the workspace that a snapshot looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// All of it.
    #[default]
    Whole,
    /// Only the named paths; everything else is copied from an earlier snapshot.
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

/// The snapshot before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// The part that it looked at. A snapshot after the change must not look at more, or the two
    /// cannot be compared.
    #[serde(default, skip_serializing_if = "Reach::is_whole")]
    pub reach: Reach,
    /// The snapshot as it was taken, if paths were excluded from it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Snapshot>,
}

impl Before {
    /// This one, with paths excluded.
    #[must_use]
    pub fn apart(self, snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            original: self.original.or(Some(self.snapshot)),
            ..self
        }
    }
}

/// A pair of snapshots to move between. After a round to before it is an undo; the other way is a
/// redo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The expected state of the workspace now.
    pub from: Snapshot,
    /// The state to restore.
    pub to: Snapshot,
    /// The state to restore before paths were excluded from it because it is unclear who changed
    /// them. They are restored if the person insists.
    pub original: Option<Snapshot>,
}

/// A turn, restricted to these paths unless they are `None`.
pub type PartialTurn = (Turn, Option<BTreeSet<String>>);

/// The checkpoints of all sessions in a base directory.
#[derive(Debug)]
pub struct CheckpointStore {
    directory: PathBuf,
    objects: Objects,
    durability: Durability,
    clock: fn() -> SystemTime,
    /// The last snapshot of everything that this process took.
    last: Option<LastSnapshot>,
}

/// A snapshot of everything, and what it was made from.
#[derive(Debug)]
struct LastSnapshot {
    workspace: PathBuf,
    limits: CheckpointLimits,
    /// What the survey saw, if one that sees the same would give the same snapshot.
    tree: Option<SurveyedTree>,
    taken: TakenSnapshot,
    /// The files, if they were listed.
    listing: Option<SurveyListing>,
    directories: SeenDirectories,
}

impl LastSnapshot {
    /// True if it says something about this workspace.
    fn is_of(&self, workspace: &Workspace, limits: &CheckpointLimits, objects: &Objects) -> bool {
        self.workspace == workspace.path()
            && self.limits == *limits
            && objects.contains(&self.taken.snapshot.0)
    }

    /// The snapshot again, and the files if they are to be listed.
    fn again(
        &mut self,
        workspace: &Workspace,
        lists_files: ListsFiles,
    ) -> (TakenSnapshot, Arc<Walked>) {
        let listing = (self.listing.as_mut()).filter(|_| lists_files == ListsFiles::Yes);
        let walked = listing.map(|listing| workspace.walked(listing));
        (self.taken.clone(), walked.unwrap_or_default())
    }
}

impl CheckpointStore {
    /// Opens the store in this directory, or creates it.
    pub fn open(directory: &Path) -> Result<Self> {
        own_directory(directory)?;
        for part in ["packs", "cache"] {
            own_directory(&directory.join(part))?;
        }
        platform::make_private(directory)
            .map_err(|cause| Error::file("make private", directory, cause))?;
        let directory = crate::fs::canonical(directory)
            .map_err(|cause| Error::file("open", directory, cause))?;
        Ok(Self {
            objects: Objects::new(&directory.join("packs")),
            directory,
            durability: Durability::Synced,
            clock: SystemTime::now,
            last: None,
        })
    }

    /// Leaves syncing to the caller, who must do it before relying on a snapshot.
    pub fn sync_later(&mut self) {
        self.durability = Durability::Atomic;
    }

    /// Takes a snapshot of the workspace.
    ///
    /// New objects are on disk when it returns, unless syncing was left to the caller. If the
    /// process is killed, the store stays as it was.
    pub fn take(
        &mut self,
        workspace: &Workspace,
        limits: &CheckpointLimits,
    ) -> Result<TakenSnapshot> {
        let (taken, _) = self.take_with(workspace, limits, ListsFiles::No)?;
        Ok(taken)
    }

    /// Takes a snapshot and lists the files as [`Workspace::walk`] would, with one walk for both.
    pub fn take_listed(
        &mut self,
        workspace: &Workspace,
        limits: &CheckpointLimits,
    ) -> Result<(TakenSnapshot, Arc<Walked>)> {
        self.take_with(workspace, limits, ListsFiles::Yes)
    }

    fn take_with(
        &mut self,
        workspace: &Workspace,
        limits: &CheckpointLimits,
        lists_files: ListsFiles,
    ) -> Result<(TakenSnapshot, Arc<Walked>)> {
        const MOST_LOOKS: usize = 3;
        let _alone = self.lock_alone()?;
        self.refresh_alone()?;
        let limits = self.without_itself(workspace, limits);
        let mut looks = 1;
        loop {
            let (taken, walked, is_torn) = self.take_once(workspace, &limits, lists_files)?;
            if !is_torn || looks == MOST_LOOKS {
                return Ok((taken, walked));
            }
            looks += 1;
        }
    }

    /// Takes a snapshot, and tells if it is torn.
    fn take_once(
        &mut self,
        workspace: &Workspace,
        limits: &CheckpointLimits,
        lists_files: ListsFiles,
    ) -> Result<(TakenSnapshot, Arc<Walked>, bool)> {
        let survey = self.survey(workspace, &limits.scope, lists_files)?;
        let settled_before = take::settled_before(survey.began);
        workspace.remember_scope(&survey.scope);
        let objects = &self.objects;
        (self.last).take_if(|last| !last.is_of(workspace, limits, objects));
        if let Some(last) = &mut self.last
            && last.tree.as_ref().is_some_and(|last| survey.has_seen(last))
            && (last.listing.is_some() || lists_files == ListsFiles::No)
        {
            let most = survey.directories.len();
            if !workspace.renew_names(most, || survey.count_settled(settled_before)) {
                workspace.keep_names(survey.known_names(settled_before));
            }
            // To free the memory of a large one takes its time.
            let _ = thread::Builder::new().spawn(move || drop(survey));
            let (taken, walked) = last.again(workspace, lists_files);
            return Ok((taken, walked, false));
        }
        workspace.keep_names(survey.known_names(settled_before));
        let tree = survey.tree();
        let cache_path = take::cache_path(&self.directory.join("cache"), workspace);
        let cache = match &self.last {
            Some(_) => Cache::default(),
            None => Cache::read(&cache_path),
        };
        let known = match &self.last {
            Some(last) => KnownBefore::Seen(&last.directories),
            // A cache is useless if its objects are no longer stored.
            None if cache
                .root()
                .is_some_and(|root| self.objects.contains(&root)) =>
            {
                KnownBefore::Cached(cache.directories())
            }
            None => KnownBefore::Cached(Directories::new()),
        };
        let mut builder = SnapshotBuilder::new(&self.objects, limits, known, settled_before);
        builder.lists_files = lists_files;
        let mut found = builder.run(workspace, survey)?;
        let directories = std::mem::take(&mut found.directories);
        let is_repeatable = directories.values().all(|seen| seen.is_repeatable());
        let (cache, listing) = (found.cache.take(), found.listing.take());
        let is_torn = found.is_torn;
        let taken = self.keep(found)?;
        if let Some(cache) = cache {
            cache.write(&cache_path)?;
        }
        let files_read = taken.files_read;
        let last = self.last.insert(LastSnapshot {
            workspace: workspace.path().to_owned(),
            limits: limits.clone(),
            tree: is_repeatable.then_some(tree),
            taken: TakenSnapshot {
                files_read: 0,
                ..taken
            },
            listing,
            directories,
        });
        let (taken, walked) = last.again(workspace, lists_files);
        Ok((
            TakenSnapshot {
                files_read,
                ..taken
            },
            walked,
            is_torn,
        ))
    }

    /// Surveys the workspace. After a command, that was done in the look that followed it, if nothing
    /// has happened since.
    fn survey(
        &self,
        workspace: &Workspace,
        scope: &SurveyScope,
        lists_files: ListsFiles,
    ) -> Result<KeptSurvey> {
        let kept = match lists_files {
            ListsFiles::Yes => workspace.take_survey(scope),
            ListsFiles::No => None,
        };
        match kept {
            Some(kept) => workspace.ensure_in_place().map(|()| kept),
            None => workspace.survey_everything(scope, (self.clock)()),
        }
    }

    /// Takes a snapshot that looks only at these paths and copies everything else from an earlier
    /// one.
    ///
    /// Named paths are covered even if they are ignored. The cost depends on the paths, not on the
    /// size of the workspace. Returns `None` if a full snapshot is needed: the earlier one is no
    /// longer in the store, an ignore file is among the paths, or a name collides with one that
    /// differs only in spelling.
    pub fn take_part(
        &mut self,
        workspace: &Workspace,
        limits: &CheckpointLimits,
        earlier: Snapshot,
        paths: &[RelPath],
    ) -> Result<Option<TakenSnapshot>> {
        let _alone = self.lock_alone()?;
        self.refresh_alone()?;
        let mut limits = self.without_itself(workspace, limits);
        limits.max_ignored_bytes = limits.max_file_bytes;
        let settled_before = take::settled_before((self.clock)());
        let nothing = KnownBefore::Cached(Directories::new());
        let taking = SnapshotBuilder::new(&self.objects, &limits, nothing, settled_before);
        let found = taking.run_part(workspace, earlier.0, paths)?;
        found.map(|found| self.keep(found)).transpose()
    }

    /// Excludes paths from undo that may not be the round's own work.
    ///
    /// Returns a copy of `before` in which these paths are passed over, so that neither undo nor
    /// redo touches them, and the paths. A deleted file is never excluded: recreating it loses
    /// nothing.
    pub fn set_apart(
        &mut self,
        workspace: &Workspace,
        before: Snapshot,
        now: Snapshot,
        why_apart: impl Fn(&Path, &Node, &survey::FileStat) -> Option<Reason>,
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

    /// Leaves the store itself out of the snapshot, or it would grow with every one.
    fn without_itself(&self, workspace: &Workspace, limits: &CheckpointLimits) -> CheckpointLimits {
        let mut limits = limits.clone();
        if let Ok(own) = self.directory.strip_prefix(workspace.path()) {
            limits.scope.leave_out.push(own.to_owned());
        }
        limits
    }

    /// Commits the new objects of a snapshot to the store.
    fn keep(&mut self, found: take::FinishedSnapshot) -> Result<TakenSnapshot> {
        self.objects.commit(found.new, self.durability)?;
        self.objects.merge()?;
        Ok(TakenSnapshot {
            snapshot: Snapshot(found.root),
            passed_over: found.passed_over,
            passed_over_count: found.passed_over_count,
            repositories: found.repositories,
            files_read: found.files_read,
            inodes: found.inodes,
        })
    }

    /// Returns true if ignored files that no snapshot covers came or went between two snapshots.
    pub fn has_ignored_changes(&mut self, from: &Snapshot, to: &Snapshot) -> Result<bool> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let differences = changes::differences(&self.objects, from.0, to.0)?;
        Ok(differences.iter().any(changes::is_ignored))
    }

    /// The changes between two snapshots, sorted by path.
    pub fn changes(&mut self, from: &Snapshot, to: &Snapshot) -> Result<Vec<SnapshotChange>> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        self.changes_locked(from, to)
    }

    /// Returns true if the earlier snapshot covers every path in which the later one differs from it.
    pub fn covers(&mut self, earlier: &Snapshot, later: &Snapshot) -> Result<bool> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let differences = changes::differences(&self.objects, earlier.0, later.0)?;
        let is_covered = |node: Node| node.passed_over().is_none();
        Ok((differences.iter()).all(|difference| difference.before.is_some_and(is_covered)))
    }

    /// The changes between two snapshots as a unified diff.
    pub fn diff(&mut self, from: &Snapshot, to: &Snapshot, limits: &DiffLimits) -> Result<String> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let changes = self.changes_locked(from, to)?;
        diff::diff(&self.objects, &changes, limits)
    }

    /// The changes of several rounds as one, sorted by path. A round is the snapshots before and after
    /// it, and the earliest stands first. Changes between two rounds are left out, unless a later round
    /// changed the same path, and so is a path that ends as it began.
    pub fn net_changes(&mut self, rounds: &[(Snapshot, Snapshot)]) -> Result<Vec<SnapshotChange>> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let mut net: BTreeMap<PathBuf, SnapshotDifference> = BTreeMap::new();
        for (from, to) in rounds {
            for difference in changes::differences(&self.objects, from.0, to.0)? {
                match net.entry(difference.path.clone()) {
                    Entry::Occupied(known) => known.into_mut().after = difference.after,
                    Entry::Vacant(new) => {
                        new.insert(difference);
                    }
                }
            }
        }
        let net = net.into_values();
        let differences = net.filter(|one| one.before != one.after).collect();
        Ok(changes::changes(differences))
    }

    /// Changes as a unified diff.
    pub fn diff_of(&mut self, changes: &[SnapshotChange], limits: &DiffLimits) -> Result<String> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        diff::diff(&self.objects, changes, limits)
    }

    /// Changes with line counts.
    pub fn stat_of(
        &mut self,
        changes: Vec<SnapshotChange>,
        limits: &DiffLimits,
    ) -> Result<Vec<DiffStat>> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        diff::stat(&self.objects, changes, limits)
    }

    /// The content of a file or the target of a link in a snapshot.
    pub fn content(&mut self, node: &Node) -> Result<Option<Vec<u8>>> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        match node {
            Node::File { content, .. } => self.objects.read(content).map(Some),
            Node::Link { target } => self.objects.read(target).map(Some),
            Node::Directory { .. } | Node::PassedOver { .. } => Ok(None),
        }
    }

    /// Plans to go through these turns in order: to undo, the latest round first.
    ///
    /// Changes nothing. A plan touches only paths that differ within a turn, so that the person's
    /// own changes between two rounds stay.
    pub fn plan(&mut self, workspace: &Workspace, turns: &[Turn]) -> Result<RestorePlan> {
        let turns: Vec<PartialTurn> = turns.iter().map(|turn| (*turn, None)).collect();
        self.plan_parts(workspace, &turns)
    }

    /// Plans like [`CheckpointStore::plan`], restricted to the given paths of each turn.
    pub fn plan_parts(
        &mut self,
        workspace: &Workspace,
        turns: &[PartialTurn],
    ) -> Result<RestorePlan> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let mut originals = BTreeMap::new();
        for (turn, _) in turns {
            // If the original was pruned, the others can still be restored.
            if let Some(original) = turn.original
                && let Ok(excluded) = changes::differences(&self.objects, original.0, turn.to.0)
            {
                originals.extend(plan::originals(excluded));
            }
        }
        let mut passages = BTreeMap::new();
        let differences = turns
            .iter()
            .map(|(turn, only)| {
                let found = changes::comparison(&self.objects, turn.from.0, turn.to.0)?;
                passages.extend(found.passages);
                let mut differences = changes::expand(&self.objects, found.differences)?;
                if let Some(only) = only {
                    differences.retain(|one| only.contains(&*one.path.to_string_lossy()));
                }
                Ok(differences)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(plan::plan(workspace, differences, passages, &originals))
    }

    /// Carries out a plan. Problems with single files are part of the result.
    pub fn restore(
        &mut self,
        workspace: &Workspace,
        plan: &RestorePlan,
        force: Force,
        keep: Option<KeepAside<'_>>,
    ) -> Result<Restored> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        restore::restore(workspace, &self.objects, plan, force, keep)
    }

    /// Writes all files of a snapshot into a workspace that has none of them.
    pub fn lay_out(&mut self, workspace: &Workspace, snapshot: &Snapshot) -> Result<Restored> {
        let _shared = self.lock_shared()?;
        self.objects.refresh()?;
        let all = changes::from_nothing(&self.objects, snapshot.0)?;
        let plan = plan::plan(workspace, vec![all], BTreeMap::new(), &BTreeMap::new());
        restore::restore(workspace, &self.objects, &plan, Force::Skip, None)
    }

    /// Removes objects that no snapshot needs, and the oldest rounds until the store fits the
    /// limit.
    ///
    /// The caller lists all snapshots of all sessions that can still be undone, and ensures that no
    /// session is running.
    pub fn tidy(&mut self, wanted: &WantedSnapshots, max_bytes: u64) -> Result<Tidied> {
        let _alone = self.lock_alone()?;
        self.refresh_alone()?;
        let caches = self.directory.join("cache");
        tidy::tidy(&mut self.objects, &caches, wanted, max_bytes)
    }

    /// The size of all packs in a store directory, in bytes, without opening them.
    pub fn size(directory: &Path) -> u64 {
        let packs = std::fs::read_dir(directory.join("packs"));
        let sizes = packs.into_iter().flatten().flatten();
        sizes
            .filter_map(|entry| Some(entry.metadata().ok()?.len()))
            .sum()
    }

    fn changes_locked(&self, from: &Snapshot, to: &Snapshot) -> Result<Vec<SnapshotChange>> {
        let differences = changes::differences(&self.objects, from.0, to.0)?;
        Ok(changes::changes(differences))
    }

    /// Reloads the list of packs, and cleans up after killed writers and disk errors.
    fn refresh_alone(&mut self) -> Result<()> {
        self.objects.refresh()?;
        if self.objects.clean(&self.directory.join("damaged"))? {
            // The caches may refer to lost objects.
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

    /// Takes a shared lock. Returns `None` if the lock file cannot be opened, so that a
    /// read-only store can be read.
    fn lock_shared(&self) -> Result<Option<File>> {
        let path = self.directory.join("lock");
        let Ok(lock) = File::open(&path) else {
            return Ok(None);
        };
        granted(lock.lock_shared()).map_err(|cause| Error::file("lock", &path, cause))?;
        Ok(Some(lock))
    }
}

/// Treats missing lock support as success: on some network file systems only one process at a time
/// is safe.
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
