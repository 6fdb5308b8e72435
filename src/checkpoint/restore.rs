//! Carrying out a plan.
//!
//! A file that the rounds did not create is never deleted: what is removed is known byte for byte,
//! and directories only go when they are empty. Every step looks again before it acts. Doing half of
//! a plan and then all of it is the same as doing all of it.

use std::io;
use std::path::PathBuf;

use blake3::Hash;

use super::objects::Objects;
use super::plan::{Conflict, Plan, Step, Why, has_directory, is_alike, look};
use super::take::mode_of;
use super::tree::{Node, Reason};
use crate::error::Result;
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
    pub done: Vec<Step>,
    /// What was not, sorted by path.
    pub skipped: Vec<Conflict>,
    /// The copies that were kept of what was in the way.
    pub kept: Vec<Kept>,
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
) -> Restored {
    let mut restoring = Restoring {
        workspace,
        objects,
        restored: Restored::default(),
    };
    let mut steps = plan.steps.clone();
    for conflict in &plan.conflicts {
        match force {
            Force::KeepCopies if restoring.make_way(conflict) => steps.push(Step {
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
    if !restored.done.is_empty() || !restored.kept.is_empty() {
        // The next snapshot tells the truth in any case.
        let _ = workspace.sync();
    }
    restored
}

struct Restoring<'a> {
    workspace: &'a Workspace,
    objects: &'a Objects,
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

    fn run(&mut self, steps: &[Step]) {
        // A directory that nobody may write into would keep what is in it.
        for step in steps.iter().filter(|step| has_directory(step.now)) {
            if let Some(Node::Directory { mode, .. }) = step.now
                && mode & 0o700 != 0o700
            {
                let open = u32::from(mode | 0o700);
                let _ = self.workspace.set_mode_exact(&step.path, open);
            }
        }
        let leaves = |step: &&Step| step.now.is_some() && step.then.is_none();
        for step in steps.iter().filter(leaves).rev() {
            self.attempt(step, Self::remove);
        }
        let gives_way = |step: &&Step| {
            step.then.is_some() && has_directory(step.now) && !has_directory(step.then)
        };
        for step in steps.iter().filter(gives_way).rev() {
            // If it fails, so does what should come in its place, which is then told.
            let _ = self.workspace.remove_directory_exact(&step.path);
        }
        let comes = |step: &&Step| step.then.is_some();
        for step in steps.iter().filter(comes) {
            self.attempt(step, Self::put);
        }
        for step in steps.iter().rev() {
            self.settle_mode(step);
        }
    }

    /// Gives a directory its mode, also one that was opened to be removed and stays.
    fn settle_mode(&self, step: &Step) {
        let Some(Node::Directory { mode, .. }) = step.then.or(step.now) else {
            return;
        };
        let stat = self.workspace.stat_exact(&step.path);
        if matches!(stat, Ok(Some(stat)) if stat.is_directory() && mode_of(stat.mode) != mode) {
            let _ = self.workspace.set_mode_exact(&step.path, u32::from(mode));
        }
    }

    fn attempt(&mut self, step: &Step, act: fn(&Self, &Step) -> Result<(), Why>) {
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
    fn ensure_same(&self, step: &Step) -> Result<(), Why> {
        let actual = look(self.workspace, &step.path, &[step.now]).map_err(failed)?;
        let is_replaced_directory = has_directory(step.now) && actual.is_none();
        if is_alike(actual, step.now) || is_replaced_directory {
            Ok(())
        } else {
            Err(Why::ChangedSince)
        }
    }

    fn remove(&self, step: &Step) -> Result<(), Why> {
        if has_directory(step.now) {
            return match self.workspace.remove_directory_exact(&step.path) {
                Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    Err(Why::NotEmpty)
                }
                other => other.map_err(failed),
            };
        }
        self.ensure_same(step)?;
        self.workspace.remove_exact(&step.path).map_err(failed)
    }

    fn put(&self, step: &Step) -> Result<(), Why> {
        if has_directory(step.now) && has_directory(step.then) {
            // Its mode comes last of all.
            return Ok(());
        }
        self.ensure_same(step)?;
        let (workspace, path) = (self.workspace, step.path.as_path());
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
            (Some(Node::File { content, mode, .. }), _) => {
                let content = self.read(&content)?;
                workspace
                    .write_exact(path, &content, u32::from(mode))
                    .map_err(failed)
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

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn failed(cause: io::Error) -> Why {
    Why::Failed(cause.to_string())
}
