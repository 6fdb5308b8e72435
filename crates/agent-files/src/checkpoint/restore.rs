//! Carries out a restore plan.
//!
//! Files that the rounds did not create are never deleted: a removed file is known byte for byte,
//! and a directory is removed only if it is empty. A file that a command created may be the only
//! copy of something that no checkpoint covers, so an undo moves it aside unless the workspace will
//! still have its content. Every step checks again before it acts. A plan can be carried out again
//! after it was interrupted.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::Snapshot;
use super::changes::{content, from_nothing};
use super::objects::Objects;
use super::plan::{
    Conflict, ConflictReason, RestorePlan, RestoreStep, current_node, has_directory, is_alike,
};
use super::take::mode_of;
use super::tree::{Node, Reason};
use crate::error::{Error, Result};
use crate::fs::{Durability, free_name, own_directories, write_atomic};
use crate::platform::files::{bytes_of_name, name_of_bytes};
use crate::workspace::Workspace;

/// How to handle conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Leave the files alone.
    Skip,
    /// Keep a copy next to the file, then restore it.
    KeepCopies,
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// Restored paths, sorted.
    pub done: Vec<RestoreStep>,
    /// Paths that were not restored, sorted.
    pub skipped: Vec<Conflict>,
    /// Copies of conflicting files, next to the originals.
    pub kept: Vec<KeptCopy>,
    /// Removed or replaced files that were kept outside the workspace, sorted by path.
    pub aside: Vec<KeptCopy>,
}

/// Where an undo keeps the files that it removes or replaces.
#[derive(Debug, Clone, Copy)]
pub struct KeepAside<'a> {
    /// A directory of the program, outside the workspace.
    pub directory: &'a Path,
    /// The state of the workspace after the undo; contents that it includes are not kept.
    pub target: Snapshot,
    /// Hashes of contents that exist elsewhere and are not kept either.
    pub known: &'a HashSet<String>,
}

/// The place for kept files, and the contents that need not be kept.
struct Keeping<'a> {
    directory: &'a Path,
    /// Contents that the workspace has after the restore.
    elsewhere: HashSet<Hash>,
}

/// A file that was kept before it was replaced or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCopy {
    /// The path that was restored.
    pub path: PathBuf,
    /// The path of the copy.
    pub copy: PathBuf,
}

/// Carries out a plan in a safe order: remove files, create directories, write files.
pub(super) fn restore(
    workspace: &Workspace,
    objects: &Objects,
    plan: &RestorePlan,
    force: Force,
    keep: Option<KeepAside<'_>>,
) -> Result<Restored> {
    let loses_content = plan.steps.iter().any(|step| lost(step).is_some());
    let keeping = match keep.filter(|_| loses_content) {
        Some(keep) => {
            let mut elsewhere = contents_after(workspace, objects, keep.target.0, plan)?;
            elsewhere.extend(
                keep.known
                    .iter()
                    .filter_map(|hash| Hash::from_hex(hash).ok()),
            );
            Some(Keeping {
                directory: keep.directory,
                elsewhere,
            })
        }
        None => None,
    };
    let mut restoring = Restoring {
        workspace,
        objects,
        keeping,
        put: HashMap::new(),
        restored: Restored::default(),
    };
    let mut steps = plan.steps.clone();
    for conflict in &plan.conflicts {
        match force {
            Force::KeepCopies if restoring.make_way(conflict) => steps.push(RestoreStep {
                path: conflict.path.clone(),
                now: None,
                then: conflict.then,
            }),
            _ => restoring.restored.skipped.push(conflict.clone()),
        }
    }
    steps.sort_by(|a, b| a.path.cmp(&b.path));
    restoring.run(&steps, &plan.closed);
    let mut restored = restoring.restored;
    restored.done.sort_by(|a, b| a.path.cmp(&b.path));
    restored.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    restored.aside.sort_by(|a, b| a.path.cmp(&b.path));
    if !restored.done.is_empty() || !restored.kept.is_empty() {
        // A failed sync is harmless: the next snapshot records the actual state.
        let _ = workspace.sync();
    }
    Ok(restored)
}

/// The content that a step removes from the workspace, if any.
fn lost(step: &RestoreStep) -> Option<Hash> {
    content(step.now).filter(|now| content(step.then) != Some(*now))
}

/// The content of a file that was kept; that of a symbolic link is its target.
fn kept_content(path: &Path) -> Option<Hash> {
    match std::fs::read_link(path) {
        Ok(target) => bytes_of_name(target.as_os_str()).map(blake3::hash),
        Err(_) => std::fs::read(path).ok().map(|bytes| blake3::hash(&bytes)),
    }
}

/// The contents that the steps remove and that files of the workspace have after the restore.
///
/// The person may have changed a file that no step touches: the snapshot alone does not tell.
fn contents_after(
    workspace: &Workspace,
    objects: &Objects,
    root: Hash,
    plan: &RestorePlan,
) -> Result<HashSet<Hash>> {
    let removed: HashSet<Hash> = plan.steps.iter().filter_map(lost).collect();
    let blocked: HashSet<&Path> = (plan.conflicts.iter())
        .map(|conflict| conflict.path.as_path())
        .collect();
    let steps = plan.steps.iter().filter(|step| step.then.is_some());
    let written: HashSet<&Path> = steps.map(|step| step.path.as_path()).collect();
    let mut contents = HashSet::new();
    for file in from_nothing(objects, root)? {
        let Some(left) = content(file.after) else {
            continue;
        };
        let path = file.path.as_path();
        let is_wanted = removed.contains(&left) && !contents.contains(&left);
        if !is_wanted || blocked.contains(path) {
            continue;
        }
        let has_content = || {
            let now = current_node(workspace, path, &[file.after]);
            now.is_ok_and(|now| content(now) == Some(left))
        };
        if written.contains(path) || has_content() {
            contents.insert(left);
        }
    }
    Ok(contents)
}

struct Restoring<'a> {
    workspace: &'a Workspace,
    objects: &'a Objects,
    keeping: Option<Keeping<'a>>,
    /// Written files by the inode they replaced and their new node, so that the other hard links of
    /// that inode are linked to the new file.
    put: HashMap<(u64, Node), PathBuf>,
    restored: Restored,
}

impl Restoring<'_> {
    /// Moves a conflicting file aside. Returns true if the path can be restored now.
    fn make_way(&mut self, conflict: &Conflict) -> bool {
        let stat = self.workspace.stat_exact(&conflict.path).ok().flatten();
        let is_directory_still =
            has_directory(conflict.then) && stat.is_some_and(|stat| stat.is_directory());
        let is_unknown = conflict
            .then
            .is_some_and(|node| node.passed_over().is_some());
        if is_unknown || is_directory_still {
            return false;
        }
        if stat.is_none() {
            return true;
        }
        match self.workspace.set_aside_exact(&conflict.path) {
            Ok(copy) => {
                self.restored.kept.push(KeptCopy {
                    path: conflict.path.clone(),
                    copy,
                });
                true
            }
            Err(_) => false,
        }
    }

    fn run(&mut self, steps: &[RestoreStep], closed: &[RestoreStep]) {
        let mut directories: Vec<&RestoreStep> = steps.iter().chain(closed).collect();
        directories.sort_by(|a, b| a.path.cmp(&b.path));
        // Files in a read-only directory could not be removed.
        for step in directories.iter().filter(|step| has_directory(step.now)) {
            if let Some(Node::Directory { mode, .. }) = step.now
                && mode & 0o700 != 0o700
            {
                let open = u32::from(mode | 0o700);
                let _ = self.workspace.set_mode_exact(&step.path, open);
            }
        }
        let leaves = |step: &&RestoreStep| step.now.is_some() && step.then.is_none();
        for step in steps.iter().filter(leaves).rev() {
            self.attempt(step, Self::remove);
        }
        let gives_way = |step: &&RestoreStep| {
            step.then.is_some() && has_directory(step.now) && !has_directory(step.then)
        };
        for step in steps.iter().filter(gives_way).rev() {
            // If this fails, writing to its path fails too and is reported.
            let _ = self.workspace.remove_directory_exact(&step.path);
        }
        let comes = |step: &&RestoreStep| step.then.is_some();
        for step in steps.iter().filter(comes) {
            self.attempt(step, Self::put);
        }
        for step in directories.iter().rev() {
            self.settle_mode(step);
        }
    }

    /// Sets the final mode of a directory, including one that was made writable and stays.
    fn settle_mode(&self, step: &RestoreStep) {
        let Some(Node::Directory { mode, .. }) = step.then.or(step.now) else {
            return;
        };
        let stat = self.workspace.stat_exact(&step.path);
        if matches!(stat, Ok(Some(stat)) if stat.is_directory() && mode_of(stat.mode) != mode) {
            let _ = self.workspace.set_mode_exact(&step.path, u32::from(mode));
        }
    }

    fn attempt(
        &mut self,
        step: &RestoreStep,
        act: fn(&mut Self, &RestoreStep) -> Result<(), ConflictReason>,
    ) {
        match act(self, step) {
            Ok(()) => self.restored.done.push(step.clone()),
            Err(why) => self.restored.skipped.push(Conflict {
                path: step.path.clone(),
                why,
                then: step.then,
            }),
        }
    }

    /// Checks that the file is still in the state that the plan saw.
    fn ensure_same(&self, step: &RestoreStep) -> Result<(), ConflictReason> {
        let actual = current_node(self.workspace, &step.path, &[step.now]).map_err(failed)?;
        let is_replaced_directory = has_directory(step.now) && actual.is_none();
        if is_alike(actual, step.now) || is_replaced_directory {
            Ok(())
        } else {
            Err(ConflictReason::ChangedSince)
        }
    }

    fn remove(&mut self, step: &RestoreStep) -> Result<(), ConflictReason> {
        if has_directory(step.now) {
            return match self.workspace.remove_directory_exact(&step.path) {
                Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    Err(ConflictReason::NotEmpty)
                }
                other => other.map_err(failed),
            };
        }
        self.ensure_same(step)?;
        match self.keep(step, KeptBy::Moved)? {
            Leftover::Gone => Ok(()),
            Leftover::There => self.workspace.remove_exact(&step.path).map_err(failed),
        }
    }

    /// Keeps the content that a step removes, unless the workspace will still have it.
    fn keep(&mut self, step: &RestoreStep, how: KeptBy) -> Result<Leftover, ConflictReason> {
        let Some(keeping) = &self.keeping else {
            return Ok(Leftover::There);
        };
        let lost = lost(step).filter(|content| !keeping.elsewhere.contains(content));
        let Some(content) = lost else {
            return Ok(Leftover::There);
        };
        let wanted = keeping.directory.join(&step.path);
        let Some((directory, name)) = wanted.parent().zip(wanted.file_name()) else {
            return Ok(Leftover::There);
        };
        let cannot =
            |error: Error| ConflictReason::Failed(format!("it could not be kept: {error}"));
        let top = keeping.directory.parent().unwrap_or(keeping.directory);
        own_directories(top, directory).map_err(cannot)?;
        // An undo that was killed, or an earlier undo of the same round, has kept it already.
        let (copy, left) = if kept_content(&wanted) == Some(content) {
            (wanted, Leftover::There)
        } else {
            let copy = free_name(directory, &name.to_string_lossy());
            let is_moved =
                how == KeptBy::Moved && (self.workspace.move_out_exact(&step.path, &copy)).is_ok();
            if !is_moved {
                let bytes = self.read(&content)?;
                write_atomic(&copy, &bytes, Durability::Synced).map_err(cannot)?;
            }
            let left = if is_moved {
                Leftover::Gone
            } else {
                Leftover::There
            };
            (copy, left)
        };
        self.restored.aside.push(KeptCopy {
            path: step.path.clone(),
            copy,
        });
        Ok(left)
    }

    fn put(&mut self, step: &RestoreStep) -> Result<(), ConflictReason> {
        if has_directory(step.now) && has_directory(step.then) {
            // The mode is set at the very end.
            return Ok(());
        }
        if let (Some(Node::PassedOver { reason, .. }), Some(Node::File { mode, .. })) =
            (step.now, step.then)
        {
            return self.open_file(step, mode, reason);
        }
        self.ensure_same(step)?;
        let (workspace, path) = (self.workspace, step.path.as_path());
        self.keep(step, KeptBy::Copied)?;
        let stat = workspace.stat_exact(path).map_err(failed)?;
        // A file with several names is written anew: its other names may keep their mode.
        let is_shared = stat.is_some_and(|stat| stat.links > 1);
        match (step.then, step.now) {
            (Some(Node::Directory { mode, .. }), now) => {
                if now.is_some() {
                    workspace.remove_exact(path).map_err(failed)?;
                }
                // After a kill nobody comes back to set its mode: it must not be too open now.
                let open = u32::from(mode | 0o700);
                let made = workspace.make_directory_with_mode(path, open);
                made.map_err(failed)
            }
            (Some(Node::File { content, mode, .. }), Some(Node::File { content: same, .. }))
                if content == same && !is_shared =>
            {
                workspace
                    .set_mode_exact(path, u32::from(mode))
                    .map_err(failed)
            }
            (Some(then @ Node::File { content, mode, .. }), _) => {
                let replaced = stat.map(|stat| (stat.inode, then));
                let linked = replaced.and_then(|replaced| self.put.get(&replaced));
                if linked.is_some_and(|first| workspace.hard_link_exact(first, path).is_ok()) {
                    return Ok(());
                }
                let content = self.read(&content)?;
                workspace
                    .write_exact(path, &content, u32::from(mode))
                    .map_err(failed)?;
                if let Some(replaced) = replaced.filter(|(inode, _)| *inode != 0) {
                    self.put.insert(replaced, path.to_owned());
                }
                Ok(())
            }
            (Some(Node::Link { target }), _) => {
                let target = self.read(&target)?;
                let target =
                    name_of_bytes(&target).ok_or(ConflictReason::NotCovered(Reason::Unreadable))?;
                workspace.link_exact(path, &target).map_err(failed)
            }
            (Some(Node::PassedOver { reason, .. }), _) => Err(ConflictReason::NotCovered(reason)),
            (None, _) => Ok(()),
        }
    }

    /// Gives a file that could not be read its mode back, if it has the wanted content.
    fn open_file(
        &self,
        step: &RestoreStep,
        mode: u16,
        reason: Reason,
    ) -> Result<(), ConflictReason> {
        let (workspace, path) = (self.workspace, step.path.as_path());
        let stat = workspace.stat_exact(path).map_err(failed)?;
        let closed = stat.filter(|stat| stat.links == 1 && mode_of(stat.mode) & 0o400 == 0);
        let Some(closed) = closed else {
            return Err(ConflictReason::ChangedSince);
        };
        let set_mode = |mode: u16| workspace.set_mode_exact(path, u32::from(mode));
        set_mode(mode).map_err(failed)?;
        let actual = current_node(workspace, path, &[step.then]);
        if actual.is_ok_and(|actual| is_alike(actual, step.then)) {
            return Ok(());
        }
        set_mode(mode_of(closed.mode)).map_err(failed)?;
        Err(ConflictReason::NotCovered(reason))
    }

    fn read(&self, hash: &Hash) -> Result<Vec<u8>, ConflictReason> {
        (self.objects.read(hash)).map_err(|error| ConflictReason::Failed(error.to_string()))
    }
}

/// How to keep a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeptBy {
    /// Move the file itself, if possible.
    Moved,
    /// Copy it.
    Copied,
}

/// The state of a kept file in the workspace.
enum Leftover {
    Gone,
    There,
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn failed(cause: io::Error) -> ConflictReason {
    ConflictReason::Failed(cause.to_string())
}
