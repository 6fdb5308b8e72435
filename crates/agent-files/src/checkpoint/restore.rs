//! Carrying out a plan.
//!
//! A file that the rounds did not create is never deleted: what is removed is known byte for byte,
//! and directories only go when they are empty. What a command made may be the only copy of something
//! that no checkpoint covers, so an undo moves it aside unless the workspace has the same content
//! afterwards. Every step looks again before it acts. Doing half of a plan and then all of it is the
//! same as doing all of it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::Snapshot;
use super::changes::from_nothing;
use super::objects::Objects;
use super::plan::{Conflict, Plan, RestoreStep, Why, has_directory, is_alike, look};
use super::take::mode_of;
use super::tree::{Node, Reason};
use crate::error::{Error, Result};
use crate::fs::{Durability, free_name, own_directory, write_atomic};
use crate::platform::files::name_of_bytes;
use crate::workspace::Workspace;

/// What to do with conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Leave them alone.
    Skip,
    /// Keep a copy beside, and put the file back.
    KeepCopies,
}

/// What was put back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// What was done, sorted by path.
    pub done: Vec<RestoreStep>,
    /// What was not, sorted by path.
    pub skipped: Vec<Conflict>,
    /// The copies that were kept of what was in the way.
    pub kept: Vec<Kept>,
    /// What was removed or replaced, and is kept outside of the workspace, sorted by path.
    pub aside: Vec<Kept>,
}

/// Where an undo keeps what it removes or replaces.
#[derive(Debug, Clone, Copy)]
pub struct KeepAside<'a> {
    /// A directory of our own, outside of the workspace.
    pub directory: &'a Path,
    /// The state that the workspace will have: what has the same content there is not kept.
    pub target: Snapshot,
    /// The hashes of contents that stand elsewhere, which are not kept either.
    pub known: &'a HashSet<String>,
}

/// What is kept, and where.
struct Keeping<'a> {
    directory: &'a Path,
    /// The contents that the workspace has afterwards.
    elsewhere: HashSet<Hash>,
}

/// A copy that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What was put back.
    pub path: PathBuf,
    /// What was there before.
    pub copy: PathBuf,
}

/// Carries out a plan, in the order that works: make room, make directories, put files.
pub(super) fn restore(
    workspace: &Workspace,
    objects: &Objects,
    plan: &Plan,
    force: Force,
    keep: Option<KeepAside<'_>>,
) -> Result<Restored> {
    let loses_content = plan.steps.iter().any(|step| lost(step).is_some());
    let keeping = match keep.filter(|_| loses_content) {
        Some(keep) => {
            let mut elsewhere = contents_after(objects, keep.target.0, plan)?;
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
    restoring.run(&steps);
    let mut restored = restoring.restored;
    restored.done.sort_by(|a, b| a.path.cmp(&b.path));
    restored.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    restored.aside.sort_by(|a, b| a.path.cmp(&b.path));
    if !restored.done.is_empty() || !restored.kept.is_empty() {
        // The next snapshot tells the truth in any case.
        let _ = workspace.sync();
    }
    Ok(restored)
}

/// The content that a step takes from the workspace, if it does.
fn lost(step: &RestoreStep) -> Option<Hash> {
    match (step.now, step.then) {
        (Some(Node::File { content: now, .. }), Some(Node::File { content: then, .. }))
            if now == then =>
        {
            None
        }
        (Some(Node::File { content, size, .. }), _) if size > 0 => Some(content),
        _ => None,
    }
}

/// The contents of all files of a snapshot, but for those that stay in the way of a plan.
fn contents_after(objects: &Objects, root: Hash, plan: &Plan) -> Result<HashSet<Hash>> {
    let blocked: HashSet<&Path> = (plan.conflicts.iter())
        .map(|conflict| conflict.path.as_path())
        .collect();
    let files = from_nothing(objects, root)?.into_iter();
    let files = files.filter(|file| !blocked.contains(file.path.as_path()));
    let contents = files.filter_map(|file| match file.after {
        Some(Node::File { content, .. }) => Some(content),
        _ => None,
    });
    Ok(contents.collect())
}

struct Restoring<'a> {
    workspace: &'a Workspace,
    objects: &'a Objects,
    keeping: Option<Keeping<'a>>,
    /// Files that were put, by the file that they replaced and what they are now: other names of
    /// that file become names of the new one.
    put: HashMap<(u64, Node), PathBuf>,
    restored: Restored,
}

impl Restoring<'_> {
    /// Sets aside what is in the way of a conflict; tells whether the file can be put back now.
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
                self.restored.kept.push(Kept {
                    path: conflict.path.clone(),
                    copy,
                });
                true
            }
            Err(_) => false,
        }
    }

    fn run(&mut self, steps: &[RestoreStep]) {
        // A directory that nobody may write into would keep what is in it.
        for step in steps.iter().filter(|step| has_directory(step.now)) {
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
            // If it fails, so does what should come in its place, which is then told.
            let _ = self.workspace.remove_directory_exact(&step.path);
        }
        let comes = |step: &&RestoreStep| step.then.is_some();
        for step in steps.iter().filter(comes) {
            self.attempt(step, Self::put);
        }
        for step in steps.iter().rev() {
            self.settle_mode(step);
        }
    }

    /// Gives a directory its mode, also one that was opened to be removed and stays.
    fn settle_mode(&self, step: &RestoreStep) {
        let Some(Node::Directory { mode, .. }) = step.then.or(step.now) else {
            return;
        };
        let stat = self.workspace.stat_exact(&step.path);
        if matches!(stat, Ok(Some(stat)) if stat.is_directory() && mode_of(stat.mode) != mode) {
            let _ = self.workspace.set_mode_exact(&step.path, u32::from(mode));
        }
    }

    fn attempt(&mut self, step: &RestoreStep, act: fn(&mut Self, &RestoreStep) -> Result<(), Why>) {
        match act(self, step) {
            Ok(()) => self.restored.done.push(step.clone()),
            Err(why) => self.restored.skipped.push(Conflict {
                path: step.path.clone(),
                why,
                then: step.then,
            }),
        }
    }

    /// Makes sure that it is still what the plan saw.
    fn ensure_same(&self, step: &RestoreStep) -> Result<(), Why> {
        let actual = look(self.workspace, &step.path, &[step.now]).map_err(failed)?;
        let is_replaced_directory = has_directory(step.now) && actual.is_none();
        if is_alike(actual, step.now) || is_replaced_directory {
            Ok(())
        } else {
            Err(Why::ChangedSince)
        }
    }

    fn remove(&mut self, step: &RestoreStep) -> Result<(), Why> {
        if has_directory(step.now) {
            return match self.workspace.remove_directory_exact(&step.path) {
                Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    Err(Why::NotEmpty)
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

    /// Keeps what a step takes away, if the workspace will not have it elsewhere.
    fn keep(&mut self, step: &RestoreStep, how: KeptBy) -> Result<Leftover, Why> {
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
        let cannot = |error: Error| Why::Failed(format!("it could not be kept: {error}"));
        own_directory(directory).map_err(cannot)?;
        // An undo that was killed, or the same one before a redo, kept it already.
        let is_kept = || std::fs::read(&wanted).is_ok_and(|bytes| blake3::hash(&bytes) == content);
        let (copy, left) = if is_kept() {
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
        self.restored.aside.push(Kept {
            path: step.path.clone(),
            copy,
        });
        Ok(left)
    }

    fn put(&mut self, step: &RestoreStep) -> Result<(), Why> {
        if has_directory(step.now) && has_directory(step.then) {
            // Its mode comes last of all.
            return Ok(());
        }
        self.ensure_same(step)?;
        let (workspace, path) = (self.workspace, step.path.as_path());
        self.keep(step, KeptBy::Copied)?;
        match (step.then, step.now) {
            (Some(Node::Directory { .. }), now) => {
                if now.is_some() {
                    workspace.remove_exact(path).map_err(failed)?;
                }
                workspace.make_directory_exact(path).map_err(failed)
            }
            (Some(Node::File { content, mode, .. }), Some(Node::File { content: same, .. }))
                if content == same =>
            {
                workspace
                    .set_mode_exact(path, u32::from(mode))
                    .map_err(failed)
            }
            (Some(then @ Node::File { content, mode, .. }), _) => {
                let stat = workspace.stat_exact(path).map_err(failed)?;
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
                let target = name_of_bytes(&target).ok_or(Why::NotCovered(Reason::Unreadable))?;
                workspace.link_exact(path, &target).map_err(failed)
            }
            (Some(Node::PassedOver { reason, .. }), _) => Err(Why::NotCovered(reason)),
            (None, _) => Ok(()),
        }
    }

    fn read(&self, hash: &Hash) -> Result<Vec<u8>, Why> {
        (self.objects.read(hash)).map_err(|error| Why::Failed(error.to_string()))
    }
}

/// How something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeptBy {
    /// The file itself is moved, where that is possible.
    Moved,
    /// A copy is made.
    Copied,
}

/// What is left of a file in the workspace after it was kept.
enum Leftover {
    Gone,
    There,
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn failed(cause: io::Error) -> Why {
    Why::Failed(cause.to_string())
}
