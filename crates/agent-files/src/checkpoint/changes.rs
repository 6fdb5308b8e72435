//! Compares two snapshots.
//!
//! Equal trees are skipped. If a directory was passed over on one side, nothing is claimed about
//! its contents: a directory that is no longer ignored was not created.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::objects::Objects;
use super::tree::{Node, Reason, decode_tree};
use crate::error::{Error, Result};
use crate::platform::files::name_of_bytes;

/// A path that differs between two snapshots. `None` means that nothing was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotDifference {
    /// The path relative to the workspace.
    pub path: PathBuf,
    /// The node in the first snapshot.
    pub before: Option<Node>,
    /// The node in the second snapshot.
    pub after: Option<Node>,
}

/// A difference classified for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotChange {
    /// The path relative to the workspace; for a rename, the new one.
    pub path: PathBuf,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The node before, at the old path for a rename.
    pub before: Option<Node>,
    /// The node after.
    pub after: Option<Node>,
}

impl SnapshotChange {
    /// The change for somebody who does not see all paths: a file that got a name which is left out is
    /// gone.
    pub fn seen(self, is_shown: impl Fn(&Path) -> bool) -> Option<Self> {
        if is_shown(&self.path) {
            return Some(self);
        }
        let ChangeKind::Renamed { from } = self.kind else {
            return None;
        };
        is_shown(&from).then_some(Self {
            path: from,
            kind: ChangeKind::Deleted,
            before: self.before,
            after: None,
        })
    }
}

/// The kind of a change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// The file is new.
    Created,
    /// The file is gone.
    Deleted,
    /// The content or the link target changed.
    Modified,
    /// Only the permission bits changed.
    Mode,
    /// The type changed, for example from a file to a link.
    Kind,
    /// The content moved to another path.
    Renamed {
        /// The old path.
        from: PathBuf,
    },
    /// The file changed, and its content on one side is not covered.
    NotCovered(Reason),
}

/// A directory to compare; `None` is treated as empty.
struct Pair {
    path: PathBuf,
    before: Option<Hash>,
    after: Option<Hash>,
}

/// The differences between two snapshots.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// All differing paths, sorted; directories before their contents.
    pub(super) differences: Vec<SnapshotDifference>,
    /// Directories of which only the contents differ, as they are in the second snapshot.
    pub(super) passages: Vec<(PathBuf, Node)>,
}

/// All differing paths, sorted; directories before their contents.
pub(super) fn differences(
    objects: &Objects,
    before: Hash,
    after: Hash,
) -> Result<Vec<SnapshotDifference>> {
    Ok(comparison(objects, before, after)?.differences)
}

/// All differing paths, and the directories that lead to them.
pub(super) fn comparison(objects: &Objects, before: Hash, after: Hash) -> Result<Comparison> {
    between(objects, Some(before), Some(after))
}

/// All paths of a snapshot, as if everything were new.
pub(super) fn from_nothing(objects: &Objects, after: Hash) -> Result<Vec<SnapshotDifference>> {
    Ok(between(objects, None, Some(after))?.differences)
}

fn between(objects: &Objects, before: Option<Hash>, after: Option<Hash>) -> Result<Comparison> {
    let mut found = Comparison::default();
    let mut pairs = vec![Pair {
        path: PathBuf::new(),
        before,
        after,
    }];
    while let Some(pair) = pairs.pop() {
        if pair.before == pair.after {
            continue;
        }
        let old = entries(objects, pair.before)?;
        let new = entries(objects, pair.after)?;
        compare(&pair.path, &old, &new, &mut found, &mut pairs)?;
    }
    (found.differences).sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Adds the contents of directories of which only the second state is known.
///
/// To restore a directory that used to be covered, each of its files must be checked.
pub(super) fn expand(
    objects: &Objects,
    differences: Vec<SnapshotDifference>,
) -> Result<Vec<SnapshotDifference>> {
    let mut expanded = Vec::with_capacity(differences.len());
    let mut rest = differences;
    while let Some(difference) = rest.pop() {
        let is_unknown = |node: Node| node.passed_over().is_some();
        if difference.before.is_some_and(is_unknown)
            && let Some(Node::Directory { tree, .. }) = difference.after
        {
            for (name, node) in entries(objects, Some(tree))? {
                rest.push(SnapshotDifference {
                    path: difference.path.join(path_of(&name)?),
                    before: difference.before,
                    after: Some(node),
                });
            }
        }
        expanded.push(difference);
    }
    expanded.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(expanded)
}

fn path_of(name: &[u8]) -> Result<PathBuf> {
    let name = name_of_bytes(name).ok_or_else(|| {
        Error::mendable("a checkpoint contains a file name that this system does not support")
    })?;
    Ok(PathBuf::from(name))
}

pub(super) type Entries = Vec<(Box<[u8]>, Node)>;

/// The entries of a tree, sorted by name.
pub(super) fn entries(objects: &Objects, tree: Option<Hash>) -> Result<Entries> {
    let Some(tree) = tree else {
        return Ok(Vec::new());
    };
    let bytes = objects.read(&tree)?;
    let entries = decode_tree(&bytes).ok_or_else(|| damaged(&tree))?;
    Ok(entries
        .into_iter()
        .map(|(name, node)| (name.into(), node))
        .collect())
}

fn damaged(tree: &Hash) -> Error {
    Error::mendable(format!(
        "a checkpoint is damaged: `{}` is not a directory",
        tree.to_hex()
    ))
}

fn compare(
    path: &Path,
    old: &Entries,
    new: &Entries,
    found: &mut Comparison,
    pairs: &mut Vec<Pair>,
) -> Result<()> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let (name, before, after) = match (old.peek(), new.peek()) {
            (None, None) => return Ok(()),
            (Some(a), Some(b)) if a.0 == b.0 => (&a.0, Some(a.1), Some(b.1)),
            (Some(a), Some(b)) if a.0 < b.0 => (&a.0, Some(a.1), None),
            (Some(a), None) => (&a.0, Some(a.1), None),
            (_, Some(b)) => (&b.0, None, Some(b.1)),
        };
        if before.is_some() {
            old.next();
        }
        if after.is_some() {
            new.next();
        }
        if before == after {
            continue;
        }
        let path = path.join(path_of(name)?);
        let is_known = |node: Option<Node>| node.is_none_or(|node| node.passed_over().is_none());
        let (old_tree, new_tree) = (tree_of(before), tree_of(after));
        if is_known(before) && is_known(after) && (old_tree.is_some() || new_tree.is_some()) {
            pairs.push(Pair {
                path: path.clone(),
                before: old_tree,
                after: new_tree,
            });
        }
        match after {
            Some(directory) if is_same_directory(before, after) => {
                found.passages.push((path, directory));
            }
            _ => found.differences.push(SnapshotDifference {
                path,
                before,
                after,
            }),
        }
    }
}

fn tree_of(node: Option<Node>) -> Option<Hash> {
    match node {
        Some(Node::Directory { tree, .. }) => Some(tree),
        _ => None,
    }
}

/// True if both are directories of the same mode, so that only their contents differ.
fn is_same_directory(before: Option<Node>, after: Option<Node>) -> bool {
    match (before, after) {
        (Some(Node::Directory { mode: old, .. }), Some(Node::Directory { mode: new, .. })) => {
            old == new
        }
        _ => false,
    }
}

/// Classifies differences for display.
pub(super) fn changes(differences: Vec<SnapshotDifference>) -> Vec<SnapshotChange> {
    let mut changes: Vec<SnapshotChange> = Vec::new();
    let mut rest = differences.into_iter().peekable();
    while let Some(difference) = rest.next() {
        // A created or deleted directory is implied by its contents.
        let is_told = is_only_directory(&difference)
            && (rest.peek()).is_some_and(|next| next.path.starts_with(&difference.path));
        if let Some(kind) = change_kind(&difference).filter(|_| !is_told) {
            changes.push(SnapshotChange {
                path: difference.path,
                kind,
                before: difference.before,
                after: difference.after,
            });
        }
    }
    pair_renames(changes)
}

fn is_only_directory(difference: &SnapshotDifference) -> bool {
    let is_directory = |node: Option<Node>| node.is_none_or(|node| node.is_directory());
    is_directory(difference.before) && is_directory(difference.after)
}

/// Returns true if one side of a difference was passed over because git ignores it.
pub(super) fn is_ignored(difference: &SnapshotDifference) -> bool {
    let is_passed_over =
        |node: Option<Node>| node.and_then(|node| node.passed_over()) == Some(Reason::Ignored);
    is_passed_over(difference.before) || is_passed_over(difference.after)
}

/// The kind of a difference. `None` if one side was ignored: whether ignored files are looked at
/// depends on the paths that a round names.
fn change_kind(difference: &SnapshotDifference) -> Option<ChangeKind> {
    let (before, after) = (difference.before, difference.after);
    if is_ignored(difference) {
        return None;
    }
    let passed_over = |node: Option<Node>| node.and_then(|node| node.passed_over());
    if let Some(reason) = passed_over(before).or(passed_over(after)) {
        return Some(ChangeKind::NotCovered(reason));
    }
    let Some(before) = before else {
        return Some(ChangeKind::Created);
    };
    Some(match (before, after) {
        (_, None) => ChangeKind::Deleted,
        (Node::Directory { .. }, Some(Node::Directory { .. })) => ChangeKind::Mode,
        (Node::File { content: old, .. }, Some(Node::File { content: new, .. })) => {
            if old == new {
                ChangeKind::Mode
            } else {
                ChangeKind::Modified
            }
        }
        (Node::Link { .. }, Some(Node::Link { .. })) => ChangeKind::Modified,
        _ => ChangeKind::Kind,
    })
}

/// Pairs a deleted and a created file of the same content as a rename.
fn pair_renames(changes: Vec<SnapshotChange>) -> Vec<SnapshotChange> {
    let mut gone: HashMap<Hash, Vec<usize>> = HashMap::new();
    for (index, change) in changes.iter().enumerate().rev() {
        if let (ChangeKind::Deleted, Some(hash)) = (&change.kind, content(change.before)) {
            gone.entry(hash).or_default().push(index);
        }
    }
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    for (index, change) in changes.iter().enumerate() {
        if let (ChangeKind::Created, Some(hash)) = (&change.kind, content(change.after))
            && let Some(from) = gone.get_mut(&hash).and_then(Vec::pop)
        {
            came_from.insert(index, from);
        }
    }
    let old: Vec<(PathBuf, Option<Node>)> = changes
        .iter()
        .map(|change| (change.path.clone(), change.before))
        .collect();
    let went: std::collections::HashSet<usize> = came_from.values().copied().collect();
    let rename = |(index, mut change): (usize, SnapshotChange)| {
        if let Some(from) = came_from.get(&index) {
            let (path, before) = old[*from].clone();
            change.kind = ChangeKind::Renamed { from: path };
            change.before = before;
        }
        (!went.contains(&index)).then_some(change)
    };
    changes.into_iter().enumerate().filter_map(rename).collect()
}

/// The content of a file, or the target of a symbolic link; `None` for empty files, which are all
/// alike.
pub(super) fn content(node: Option<Node>) -> Option<Hash> {
    match node {
        Some(Node::File { content, size, .. }) if size > 0 => Some(content),
        Some(Node::Link { target }) => Some(target),
        _ => None,
    }
}
