//! Putting files back: a plan that can be shown, and carrying it out.
//!
//! A plan touches only paths that differ between snapshots, and only where the file is now what the
//! snapshot says; everything else is a conflict, which is named and left alone. A file that the
//! rounds did not create is never deleted: what is removed is known byte for byte, and directories
//! only go when they are empty. Every step looks again before it acts. Doing half of a plan and
//! then all of it is the same as doing all of it.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::changes::Difference;
use super::objects::Objects;
use super::take::mode_of;
use super::tree::{Node, Reason};
use crate::error::Result;
use crate::platform::files::{bytes_of_name, name_of_bytes};
use crate::workspace::{Kind, Workspace};

/// What is to be put back, and what stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What will be done, sorted by path.
    pub steps: Vec<Step>,
    /// What will not be done unless it is forced, sorted by path.
    pub conflicts: Vec<Conflict>,
}

/// One path that is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where, relative to the workspace.
    pub path: PathBuf,
    /// What is there now.
    pub now: Option<Node>,
    /// What will be there.
    pub then: Option<Node>,
}

/// One path that is not put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Where, relative to the workspace.
    pub path: PathBuf,
    /// Why not.
    pub why: Why,
    /// What would be there.
    pub then: Option<Node>,
}

/// Why a path is not put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It is not what the rounds left: somebody changed it since.
    ChangedSince,
    /// Somebody changed it between two of the rounds.
    ChangedBetween,
    /// Its content is not in the checkpoints.
    NotCovered(Reason),
    /// There is something in the directory that the rounds did not create.
    NotEmpty,
    /// The system said no.
    Failed(String),
}

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

/// Where a path should come from and go to, over all rounds.
struct Course {
    now: Option<Node>,
    then: Option<Node>,
    is_broken: bool,
}

/// Makes a plan from the differences of one round after the other, each from now to then.
pub(super) fn plan(workspace: &Workspace, rounds: Vec<Vec<Difference>>) -> Plan {
    let mut courses: BTreeMap<PathBuf, Course> = BTreeMap::new();
    for difference in rounds.into_iter().flatten() {
        let Difference {
            path,
            before,
            after,
        } = difference;
        courses
            .entry(path)
            .and_modify(|course| {
                course.is_broken |= !is_alike(course.then, before);
                course.then = after;
            })
            .or_insert(Course {
                now: before,
                then: after,
                is_broken: false,
            });
    }
    let mut plan = Plan::default();
    for (path, course) in courses {
        match decide(workspace, &path, &course) {
            Verdict::Nothing => {}
            Verdict::Do(now) => plan.steps.push(Step {
                path,
                now,
                then: course.then,
            }),
            Verdict::Not(why) => plan.conflicts.push(Conflict {
                path,
                why,
                then: course.then,
            }),
        }
    }
    keep_filled_directories(workspace, &mut plan);
    plan
}

enum Verdict {
    Nothing,
    /// With what is there.
    Do(Option<Node>),
    Not(Why),
}

fn decide(workspace: &Workspace, path: &Path, course: &Course) -> Verdict {
    let (now, then) = (course.now, course.then);
    let is_ignored =
        |node: Option<Node>| node.is_none_or(|node| node.passed_over() == Some(Reason::Ignored));
    if is_alike(now, then) || (is_ignored(now) && is_ignored(then)) {
        return Verdict::Nothing;
    }
    let actual = match look(workspace, path, &[now, then]) {
        Ok(actual) => actual,
        Err(cause) => return Verdict::Not(Why::Failed(cause.to_string())),
    };
    if is_alike(actual, then) {
        return Verdict::Nothing;
    }
    let passed_over = |node: Option<Node>| node.and_then(|node| node.passed_over());
    // Nothing is lost by making what is missing.
    if actual.is_none() && then.is_some() && passed_over(then).is_none() {
        return Verdict::Do(actual);
    }
    if let Some(reason) = passed_over(now).or(passed_over(then)) {
        return Verdict::Not(Why::NotCovered(reason));
    }
    if course.is_broken {
        return Verdict::Not(Why::ChangedBetween);
    }
    match (actual, now, then) {
        // Nothing is lost by removing what is empty.
        (Some(Node::Directory { .. }), Some(Node::Directory { .. }), None) => Verdict::Do(actual),
        // Somebody made the directory already, with rights of their own.
        (Some(Node::Directory { .. }), None, Some(Node::Directory { .. })) => Verdict::Nothing,
        _ if is_alike(actual, now) => Verdict::Do(actual),
        _ => Verdict::Not(Why::ChangedSince),
    }
}

/// Whether both are the same file; of directories only the modes count.
fn is_alike(a: Option<Node>, b: Option<Node>) -> bool {
    match (a, b) {
        (Some(Node::Directory { mode: a, .. }), Some(Node::Directory { mode: b, .. })) => a == b,
        _ => a == b,
    }
}

/// What is at the path now; content is only read where it may be one of these.
fn look(workspace: &Workspace, path: &Path, expected: &[Option<Node>]) -> io::Result<Option<Node>> {
    let Some(stat) = workspace.stat_exact(path)? else {
        return Ok(None);
    };
    let unknown = Node::PassedOver {
        reason: Reason::Unreadable,
        mark: 0,
    };
    Ok(Some(match stat.kind {
        Kind::Directory => Node::Directory {
            tree: Hash::from_bytes([0; 32]),
            mode: mode_of(stat.mode),
        },
        Kind::Link => {
            let target = workspace.read_link_exact(path)?;
            match bytes_of_name(&target) {
                Some(target) => Node::Link {
                    target: blake3::hash(target),
                },
                None => unknown,
            }
        }
        Kind::File { size } => {
            let has_size = |node: &Option<Node>| matches!(node, Some(Node::File { size: known, .. }) if *known == size);
            let content = if expected.iter().any(has_size) {
                workspace.read_exact(path, size)?
            } else {
                None
            };
            match content {
                Some(content) => Node::File {
                    content: blake3::hash(&content),
                    size: content.len() as u64,
                    mode: mode_of(stat.mode),
                },
                None => unknown,
            }
        }
        Kind::Special => unknown,
    }))
}

/// Drops directories from the plan that will not be empty, and what should come in their place.
fn keep_filled_directories(workspace: &Workspace, plan: &mut Plan) {
    let mut removed: HashSet<PathBuf> = (plan.steps.iter())
        .filter(|step| step.now.is_some() && !has_directory(step.now))
        .filter(|step| step.then.is_none())
        .map(|step| step.path.clone())
        .collect();
    let mut filled: HashSet<PathBuf> = HashSet::new();
    // The deepest first: a directory is empty when all that is in it goes.
    for step in plan.steps.iter().rev() {
        if !has_directory(step.now) || has_directory(step.then) {
            continue;
        }
        let names = workspace.names_exact(&step.path).unwrap_or_default();
        if names
            .iter()
            .all(|name| removed.contains(&step.path.join(name)))
        {
            removed.insert(step.path.clone());
        } else {
            filled.insert(step.path.clone());
        }
    }
    let Plan { steps, conflicts } = plan;
    steps.retain(|step| {
        let is_kept = !filled.contains(&step.path);
        // A directory that merely stays is no news; a file that cannot come back is.
        if !is_kept && step.then.is_some() {
            conflicts.push(Conflict {
                path: step.path.clone(),
                why: Why::NotEmpty,
                then: step.then,
            });
        }
        is_kept
    });
    conflicts.sort_by(|a, b| a.path.cmp(&b.path));
}

fn has_directory(node: Option<Node>) -> bool {
    node.is_some_and(|node| node.is_directory())
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
