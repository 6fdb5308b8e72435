//! What differs between two snapshots.
//!
//! Trees that are equal are not looked into. Where one side was passed over, nothing is claimed
//! about what lies beneath: a directory that was ignored and is not any more was not created.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::objects::Objects;
use super::tree::{Node, Reason, decode_tree};
use crate::error::{Error, Result};
use crate::platform::files::name_of_bytes;

/// One path that differs, and what stood there; `None` is nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where, relative to the workspace.
    pub path: PathBuf,
    /// In the first snapshot.
    pub before: Option<Node>,
    /// In the second.
    pub after: Option<Node>,
}

/// A difference with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where, relative to the workspace; the new name of what was renamed.
    pub path: PathBuf,
    /// What happened.
    pub what: What,
    /// What stood there before, or at the old name.
    pub before: Option<Node>,
    /// What stands there after.
    pub after: Option<Node>,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// It is new.
    Created,
    /// It is gone.
    Deleted,
    /// Its content is another, or where it leads.
    Modified,
    /// Only its permission bits are others.
    Mode,
    /// It is something else: a link instead of a file, and such.
    Kind,
    /// The same content has another name.
    Renamed {
        /// The old name.
        from: PathBuf,
    },
    /// It was changed, and its content is not known on one side.
    NotCovered(Reason),
}

/// A directory that is compared; `None` has nothing in it.
struct Pair {
    path: PathBuf,
    before: Option<Hash>,
    after: Option<Hash>,
}

/// Every path that differs, sorted; directories stand before what is in them.
pub(super) fn differences(objects: &Objects, before: Hash, after: Hash) -> Result<Vec<Difference>> {
    between(objects, Some(before), Some(after))
}

/// Every path of a snapshot, as if all of it were new.
pub(super) fn from_nothing(objects: &Objects, after: Hash) -> Result<Vec<Difference>> {
    between(objects, None, Some(after))
}

fn between(
    objects: &Objects,
    before: Option<Hash>,
    after: Option<Hash>,
) -> Result<Vec<Difference>> {
    let mut differences = Vec::new();
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
        compare(&pair.path, &old, &new, &mut differences, &mut pairs)?;
    }
    differences.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(differences)
}

/// Adds what lies in directories of which only the second state is known.
///
/// To put a directory back that was covered and is not any more, each file of it must be looked at.
pub(super) fn expand(objects: &Objects, differences: Vec<Difference>) -> Result<Vec<Difference>> {
    let mut expanded = Vec::with_capacity(differences.len());
    let mut rest = differences;
    while let Some(difference) = rest.pop() {
        let is_unknown = |node: Node| node.passed_over().is_some();
        if difference.before.is_some_and(is_unknown)
            && let Some(Node::Directory { tree, .. }) = difference.after
        {
            for (name, node) in entries(objects, Some(tree))? {
                rest.push(Difference {
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
    let name = name_of_bytes(name)
        .ok_or_else(|| Error::mendable("a checkpoint has a name that this system has not"))?;
    Ok(PathBuf::from(name))
}

pub(super) type Entries = Vec<(Box<[u8]>, Node)>;

/// What a tree holds, sorted by name.
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
    differences: &mut Vec<Difference>,
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
        if !is_same_directory(before, after) {
            differences.push(Difference {
                path,
                before,
                after,
            });
        }
    }
}

fn tree_of(node: Option<Node>) -> Option<Hash> {
    match node {
        Some(Node::Directory { tree, .. }) => Some(tree),
        _ => None,
    }
}

/// Whether both are directories of the same mode: then only what is in them differs.
fn is_same_directory(before: Option<Node>, after: Option<Node>) -> bool {
    match (before, after) {
        (Some(Node::Directory { mode: old, .. }), Some(Node::Directory { mode: new, .. })) => {
            old == new
        }
        _ => false,
    }
}

/// The differences as a person would tell them.
pub(super) fn changes(differences: Vec<Difference>) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let mut rest = differences.into_iter().peekable();
    while let Some(difference) = rest.next() {
        // A directory that came or went with what is in it is told by what is in it.
        let is_told = is_only_directory(&difference)
            && (rest.peek()).is_some_and(|next| next.path.starts_with(&difference.path));
        if let Some(what) = name(&difference).filter(|_| !is_told) {
            changes.push(Change {
                path: difference.path,
                what,
                before: difference.before,
                after: difference.after,
            });
        }
    }
    pair_renames(changes)
}

fn is_only_directory(difference: &Difference) -> bool {
    let is_directory = |node: Option<Node>| node.is_none_or(|node| node.is_directory());
    is_directory(difference.before) && is_directory(difference.after)
}

/// What happened; nothing that a person would want to hear where one side was ignored: whether it
/// was looked at depends on what a round names.
fn name(difference: &Difference) -> Option<What> {
    let (before, after) = (difference.before, difference.after);
    let is_ignored =
        |node: Option<Node>| node.and_then(|node| node.passed_over()) == Some(Reason::Ignored);
    if is_ignored(before) || is_ignored(after) {
        return None;
    }
    let passed_over = |node: Option<Node>| node.and_then(|node| node.passed_over());
    if let Some(reason) = passed_over(before).or(passed_over(after)) {
        return Some(What::NotCovered(reason));
    }
    let Some(before) = before else {
        return Some(What::Created);
    };
    Some(match (before, after) {
        (_, None) => What::Deleted,
        (Node::Directory { .. }, Some(Node::Directory { .. })) => What::Mode,
        (Node::File { content: old, .. }, Some(Node::File { content: new, .. })) => {
            if old == new {
                What::Mode
            } else {
                What::Modified
            }
        }
        (Node::Link { .. }, Some(Node::Link { .. })) => What::Modified,
        _ => What::Kind,
    })
}

/// Takes a file that went and one that came with the same content for one that was renamed.
fn pair_renames(changes: Vec<Change>) -> Vec<Change> {
    let mut gone: HashMap<Hash, Vec<usize>> = HashMap::new();
    for (index, change) in changes.iter().enumerate().rev() {
        if let (What::Deleted, Some(hash)) = (&change.what, content(change.before)) {
            gone.entry(hash).or_default().push(index);
        }
    }
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    for (index, change) in changes.iter().enumerate() {
        if let (What::Created, Some(hash)) = (&change.what, content(change.after))
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
    let rename = |(index, mut change): (usize, Change)| {
        if let Some(from) = came_from.get(&index) {
            let (path, before) = old[*from].clone();
            change.what = What::Renamed { from: path };
            change.before = before;
        }
        (!went.contains(&index)).then_some(change)
    };
    changes.into_iter().enumerate().filter_map(rename).collect()
}

/// The content by which a rename is recognised; empty files are all alike.
fn content(node: Option<Node>) -> Option<Hash> {
    match node {
        Some(Node::File { content, size, .. }) if size > 0 => Some(content),
        Some(Node::Link { target }) => Some(target),
        _ => None,
    }
}
