//! A plan of what is put back: what an undo or redo would do, to be shown before it is done.
//!
//! It touches only paths that differ between snapshots, and only where the file is now what the
//! snapshot says; everything else is a conflict, which is named and left alone. Nothing is changed
//! here.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::changes::Difference;
use super::take::mode_of;
use super::tree::{Node, Reason};
use crate::platform::files::bytes_of_name;
use crate::workspace::{Kind, Workspace};

/// What is to be put back, and what stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What will be done, sorted by path.
    pub steps: Vec<RestoreStep>,
    /// What will not be done unless it is forced, sorted by path.
    pub conflicts: Vec<Conflict>,
    /// What is so already, sorted by path: by somebody's hand, or by a try that was killed.
    pub already: Vec<RestoreStep>,
}

/// One path that is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreStep {
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
                // What was in a directory before it was covered nobody knows: it is made again as
                // it was when it was first known, because its files come back.
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
    let mut plan = Plan::default();
    for (path, course) in courses {
        match decide(workspace, &path, &course) {
            Verdict::Nothing => {}
            Verdict::Already => plan.already.push(RestoreStep {
                path,
                now: course.now,
                then: course.then,
            }),
            Verdict::Do(now) => plan.steps.push(RestoreStep {
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
    Already,
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
        return Verdict::Already;
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
pub(super) fn is_alike(a: Option<Node>, b: Option<Node>) -> bool {
    match (a, b) {
        (Some(Node::Directory { mode: a, .. }), Some(Node::Directory { mode: b, .. })) => a == b,
        _ => a == b,
    }
}

/// What is at the path now; content is only read where it may be one of these.
pub(super) fn look(
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
    let Plan {
        steps, conflicts, ..
    } = plan;
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

pub(super) fn has_directory(node: Option<Node>) -> bool {
    node.is_some_and(|node| node.is_directory())
}
