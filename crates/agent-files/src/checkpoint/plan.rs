//! Plans an undo or redo, so that it can be shown before it is carried out.
//!
//! A plan touches only paths that differ between the snapshots, and only if the file is in the
//! expected state now. Everything else is a conflict, which is reported and left alone. This module
//! changes nothing.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::changes::SnapshotDifference;
use super::take::mode_of;
use super::tree::{Node, Reason};
use crate::platform::files::bytes_of_name;
use crate::workspace::survey::FileStat;
use crate::workspace::{FileKind, Workspace};

/// The steps of a restore, and the conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestorePlan {
    /// Paths to restore, sorted.
    pub steps: Vec<RestoreStep>,
    /// Paths that are left alone unless forced, sorted.
    pub conflicts: Vec<Conflict>,
    /// Paths that are already in the wanted state, sorted: restored by hand, or by an attempt that
    /// was killed.
    pub already: Vec<RestoreStep>,
    /// Directories that keep a mode in which nothing in them can be restored, sorted: they are opened
    /// meanwhile.
    pub(super) closed: Vec<RestoreStep>,
}

impl RestorePlan {
    /// Returns true if the rounds changed nothing that checkpoints cover.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.conflicts.is_empty() && self.already.is_empty()
    }
}

/// A path to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreStep {
    /// The path relative to the workspace.
    pub path: PathBuf,
    /// The node that is there now.
    pub now: Option<Node>,
    /// The node to restore.
    pub then: Option<Node>,
}

/// A path that cannot be restored safely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path relative to the workspace.
    pub path: PathBuf,
    /// The reason.
    pub why: ConflictReason,
    /// The node that would be restored.
    pub then: Option<Node>,
}

impl Conflict {
    /// True if the path cannot be restored even if the person insists.
    pub fn is_beyond_force(&self) -> bool {
        matches!(self.why, ConflictReason::NotCovered(_))
            && self.then.is_some_and(|node| node.passed_over().is_some())
    }
}

/// The reason why a path is not restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictReason {
    /// Somebody changed the file after the rounds.
    ChangedSince,
    /// Somebody changed the file between two of the rounds.
    ChangedBetween,
    /// The content is not in the checkpoints.
    NotCovered(Reason),
    /// The directory contains something that the rounds did not create.
    NotEmpty,
    /// The operating system reported an error.
    Failed(String),
}

/// The expected and the wanted state of a path, over all rounds.
struct Course {
    now: Option<Node>,
    then: Option<Node>,
    is_broken: bool,
}

/// The nodes of paths before they were excluded from a snapshot because it is unclear who changed
/// them; `None` for one that did not exist.
pub(super) type Originals = BTreeMap<PathBuf, Option<Node>>;

/// The originals among the differences between a snapshot and the one with paths excluded.
pub(super) fn originals(
    excluded: Vec<SnapshotDifference>,
) -> impl Iterator<Item = (PathBuf, Option<Node>)> {
    let is_unclear = |one: &SnapshotDifference| {
        let reason = one.after.and_then(|node| node.passed_over());
        let is_known = match reason {
            Some(Reason::Meanwhile) => true,
            // Another file was moved onto it.
            Some(Reason::MovedIn) => one.before.is_some(),
            _ => false,
        };
        // The contents of a directory would be missing.
        is_known && !has_directory(one.before)
    };
    let excluded = excluded.into_iter().filter(is_unclear);
    excluded.map(|one| (one.path, one.before))
}

/// Plans a restore from the differences of consecutive rounds, each from its current to its wanted
/// state. `passages` are the directories of which only the contents differ.
pub(super) fn plan(
    workspace: &Workspace,
    rounds: Vec<Vec<SnapshotDifference>>,
    mut passages: BTreeMap<PathBuf, Node>,
    originals: &Originals,
) -> RestorePlan {
    let mut courses: BTreeMap<PathBuf, Course> = BTreeMap::new();
    for difference in rounds.into_iter().flatten() {
        let SnapshotDifference {
            path,
            before,
            after,
        } = difference;
        courses
            .entry(path)
            .and_modify(|course| {
                course.is_broken |= !is_alike(course.then, before);
                // The contents of a directory before it was first covered are unknown. It is
                // recreated in the first known state, because its files come back.
                let is_beyond = after.is_some_and(|node| node.passed_over().is_some());
                if !(is_beyond && has_directory(course.then) && course.now.is_none()) {
                    course.then = after;
                }
            })
            .or_insert(Course {
                now: before,
                then: after,
                is_broken: false,
            });
    }
    let mut plan = RestorePlan::default();
    for (path, mut course) in courses {
        let mut decision = decide(workspace, &path, &course);
        if let StepDecision::Not(ConflictReason::NotCovered(Reason::Meanwhile | Reason::MovedIn)) =
            decision
            && course.then.is_some_and(|node| node.passed_over().is_some())
            && let Some(original) = originals.get(&path)
        {
            course.then = *original;
            let actual = current_node(workspace, &path, &[*original]);
            if actual.is_ok_and(|actual| is_alike(actual, *original)) {
                decision = StepDecision::Already;
            }
        }
        passages.remove(&path);
        if let (StepDecision::Nothing | StepDecision::Already, Some(then)) =
            (&decision, course.then)
        {
            passages.insert(path.clone(), then);
        }
        match decision {
            StepDecision::Nothing => {}
            StepDecision::Already => plan.already.push(RestoreStep {
                path,
                now: course.now,
                then: course.then,
            }),
            StepDecision::Do(now) => plan.steps.push(RestoreStep {
                path,
                now,
                then: course.then,
            }),
            StepDecision::Not(why) => plan.conflicts.push(Conflict {
                path,
                why,
                then: course.then,
            }),
        }
    }
    keep_filled_directories(workspace, &mut plan);
    open_closed_directories(workspace, &mut plan, passages);
    plan
}

/// Adds the directories that are not to be changed themselves and in which their mode allows no
/// change.
fn open_closed_directories(
    workspace: &Workspace,
    plan: &mut RestorePlan,
    passages: BTreeMap<PathBuf, Node>,
) {
    let paths = plan.steps.iter().chain(&plan.already);
    let parents = paths.filter_map(|step| step.path.parent().map(Path::to_owned));
    let parents: HashSet<PathBuf> = parents.collect();
    for (path, node) in passages {
        let Node::Directory { mode, .. } = node else {
            continue;
        };
        if mode & 0o700 == 0o700 || !parents.contains(&path) {
            continue;
        }
        let actual = current_node(workspace, &path, &[]).ok().flatten();
        let step = RestoreStep {
            path,
            now: actual,
            then: Some(node),
        };
        if is_alike(actual, step.then) {
            plan.closed.push(step);
        } else if was_opened(actual, step.then) {
            plan.steps.push(step);
        }
    }
    plan.steps.sort_by(|a, b| a.path.cmp(&b.path));
}

enum StepDecision {
    Nothing,
    Already,
    /// Holds the node that is there now.
    Do(Option<Node>),
    Not(ConflictReason),
}

fn decide(workspace: &Workspace, path: &Path, course: &Course) -> StepDecision {
    let (now, then) = (course.now, course.then);
    let is_ignored =
        |node: Option<Node>| node.is_none_or(|node| node.passed_over() == Some(Reason::Ignored));
    if is_alike(now, then) || (is_ignored(now) && is_ignored(then)) {
        return StepDecision::Nothing;
    }
    if is_only_closed(workspace, path, course) {
        return StepDecision::Do(now);
    }
    let actual = match current_node(workspace, path, &[now, then]) {
        Ok(actual) => actual,
        Err(cause) => return StepDecision::Not(ConflictReason::Failed(cause.to_string())),
    };
    if is_alike(actual, then) {
        return StepDecision::Already;
    }
    let passed_over = |node: Option<Node>| node.and_then(|node| node.passed_over());
    // Creating a missing file loses nothing.
    if actual.is_none() && then.is_some() && passed_over(then).is_none() {
        return StepDecision::Do(actual);
    }
    if let Some(reason) = passed_over(now).or(passed_over(then)) {
        return StepDecision::Not(ConflictReason::NotCovered(reason));
    }
    if course.is_broken {
        return StepDecision::Not(ConflictReason::ChangedBetween);
    }
    if was_opened(actual, now) || was_opened(actual, then) {
        return StepDecision::Do(actual);
    }
    match (actual, now, then) {
        // Removing an empty directory loses nothing.
        (Some(Node::Directory { .. }), Some(Node::Directory { .. }), None) => {
            StepDecision::Do(actual)
        }
        // Somebody created the directory already, with a mode of their own.
        (Some(Node::Directory { .. }), None, Some(Node::Directory { .. })) => StepDecision::Nothing,
        _ if is_alike(actual, now) => StepDecision::Do(actual),
        _ => StepDecision::Not(ConflictReason::ChangedSince),
    }
}

/// True for a file that nobody can read now and of which perhaps only the mode was changed: the
/// restore reads it when it has opened it.
fn is_only_closed(workspace: &Workspace, path: &Path, course: &Course) -> bool {
    let Some(Node::File { size: known, .. }) = course.then else {
        return false;
    };
    let is_unreadable = |node: Node| node.passed_over() == Some(Reason::Unreadable);
    let is_closed = |stat: FileStat| {
        stat.kind == FileKind::File { size: known } && mode_of(stat.mode) & 0o400 == 0
    };
    course.now.is_some_and(is_unreadable)
        && !course.is_broken
        && matches!(workspace.stat_exact(path), Ok(Some(stat)) if is_closed(stat))
}

/// True for a directory that a restore has opened, to change files in it, and was killed before it gave
/// it its mode.
fn was_opened(actual: Option<Node>, expected: Option<Node>) -> bool {
    match (actual, expected) {
        (Some(Node::Directory { mode: a, .. }), Some(Node::Directory { mode: b, .. })) => {
            a == b | 0o700
        }
        _ => false,
    }
}

/// True if both are the same node; directories are compared by mode only.
pub(super) fn is_alike(a: Option<Node>, b: Option<Node>) -> bool {
    match (a, b) {
        (Some(Node::Directory { mode: a, .. }), Some(Node::Directory { mode: b, .. })) => a == b,
        _ => a == b,
    }
}

/// The node at the path now. Reads the content only if the size matches one of the expected nodes.
pub(super) fn current_node(
    workspace: &Workspace,
    path: &Path,
    expected: &[Option<Node>],
) -> io::Result<Option<Node>> {
    let Some(stat) = workspace.stat_exact(path)? else {
        return Ok(None);
    };
    let unknown = Node::PassedOver {
        reason: Reason::Unreadable,
        mark: 0,
    };
    Ok(Some(match stat.kind {
        FileKind::Directory => Node::Directory {
            tree: Hash::from_bytes([0; 32]),
            mode: mode_of(stat.mode),
        },
        FileKind::Link => {
            let target = workspace.read_link_exact(path)?;
            match bytes_of_name(&target) {
                Some(target) => Node::Link {
                    target: blake3::hash(target),
                },
                None => unknown,
            }
        }
        FileKind::File { size } => {
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
        FileKind::Special => unknown,
    }))
}

/// Drops the removal of directories that will not be empty, and reports what cannot take their
/// place.
fn keep_filled_directories(workspace: &Workspace, plan: &mut RestorePlan) {
    let mut removed: HashSet<PathBuf> = (plan.steps.iter())
        .filter(|step| step.now.is_some() && !has_directory(step.now))
        .filter(|step| step.then.is_none())
        .map(|step| step.path.clone())
        .collect();
    let mut filled: HashSet<PathBuf> = HashSet::new();
    // Deepest first: a directory will be empty if everything in it is removed.
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
    let RestorePlan {
        steps, conflicts, ..
    } = plan;
    steps.retain(|step| {
        let is_kept = !filled.contains(&step.path);
        // A directory that stays is not worth reporting; a file that cannot come back is.
        if !is_kept && step.then.is_some() {
            conflicts.push(Conflict {
                path: step.path.clone(),
                why: ConflictReason::NotEmpty,
                then: step.then,
            });
        }
        is_kept
    });
    conflicts.sort_by(|a, b| a.path.cmp(&b.path));
}

pub(super) fn has_directory(node: Option<Node>) -> bool {
    node.is_some_and(|node| node.is_directory())
}
