//! Excludes paths from a snapshot that may not be the round's own work.
//!
//! After a kill it is unknown who changed a file since the round last reported; and a file that a
//! round moved out of an ignored directory is missing from the snapshot before it. A snapshot that
//! passes over such paths makes no claim about them, so no undo deletes or overwrites them. The
//! caller decides path by path; this module handles the directories: one that contains a path which
//! is not excluded stays covered.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::changes::{SnapshotDifference, entries};
use super::objects::Objects;
use super::pack::PackWriter;
use super::take::mode_of;
use super::tree::{Node, Reason};
use crate::error::Result;
use crate::platform::files::bytes_of_name;
use crate::workspace::Workspace;
use crate::workspace::survey::FileStat;

/// The mode for a directory whose mode is unknown.
const USUAL_MODE: u16 = 0o755;

/// The paths to exclude with the reasons, outermost ones only.
pub(super) fn unclear(
    workspace: &Workspace,
    differences: &[SnapshotDifference],
    why_apart: impl Fn(&Path, &Node, &FileStat) -> Option<Reason>,
) -> BTreeMap<PathBuf, Reason> {
    let mut unclear = BTreeMap::new();
    let passed_over: HashMap<&Path, Reason> = (differences.iter())
        .filter_map(|one| Some((one.path.as_path(), one.before?.passed_over()?)))
        .collect();
    // A file that was ignored until now was not moved.
    let reason_before = |path: &Path| path.ancestors().find_map(|above| passed_over.get(above));
    let mut holds_clear: HashSet<&Path> = HashSet::new();
    // Visits the contents of a directory before the directory itself.
    for difference in differences.iter().rev() {
        let path = difference.path.as_path();
        let is_known = |node: &Node| node.passed_over().is_none();
        let Some(node) = difference.after.filter(is_known) else {
            continue;
        };
        let replaces_directory = difference.before.is_some_and(|node| node.is_directory());
        if node.is_directory() && replaces_directory {
            continue;
        }
        let why = match workspace.stat_exact(path) {
            Ok(Some(stat)) => match why_apart(path, &node, &stat) {
                // The files below would be lost with the directory, while undo keeps the only copy
                // of what took its place.
                Some(Reason::MovedIn) if replaces_directory => None,
                Some(Reason::MovedIn) => reason_before(path).copied().or(Some(Reason::MovedIn)),
                other => other,
            },
            Ok(None) => None,
            Err(_) => Some(Reason::Unreadable),
        };
        if let Some(why) = why.filter(|_| !holds_clear.contains(path)) {
            unclear.insert(path.to_owned(), why);
        } else {
            holds_clear.extend(path.ancestors().skip(1));
        }
    }
    let has_unclear_above = |path: &PathBuf| {
        let mut above = path.ancestors().skip(1);
        above.any(|above| unclear.contains_key(above))
    };
    let outermost = unclear.iter().filter(|(path, _)| !has_unclear_above(path));
    outermost.map(|(path, why)| (path.clone(), *why)).collect()
}

type Nodes = BTreeMap<Box<[u8]>, Node>;

/// Builds the tree without these paths, and the new objects for it.
pub(super) fn without(
    objects: &Objects,
    workspace: &Workspace,
    root: Hash,
    unclear: &BTreeMap<PathBuf, Reason>,
) -> Result<(Hash, PackWriter)> {
    let mut directories = directories_above(objects, root, unclear)?;
    for (path, reason) in unclear {
        let node = Node::PassedOver {
            reason: *reason,
            mark: 0,
        };
        put(&mut directories, path, node);
    }
    let mut new = objects.writer();
    let mut tree = root;
    // Deepest directories first, the root last.
    while let Some((path, nodes)) = directories.pop_last() {
        let mut bytes = Vec::new();
        for (name, node) in &nodes {
            node.encode(name, &mut bytes);
        }
        tree = blake3::hash(&bytes);
        if !objects.contains(&tree) && !new.contains(&tree) {
            new.add(tree, &bytes)?;
        }
        let stat = workspace.stat_exact(&path).ok().flatten();
        let mode = stat.map_or(USUAL_MODE, |stat| mode_of(stat.mode));
        let mode = match get(&directories, &path) {
            Some(Node::Directory { mode, .. }) => mode,
            _ => mode,
        };
        put(&mut directories, &path, Node::Directory { tree, mode });
    }
    Ok((tree, new))
}

/// The entries of all directories above these paths, by path; empty for a directory that did not
/// exist.
fn directories_above(
    objects: &Objects,
    root: Hash,
    paths: &BTreeMap<PathBuf, Reason>,
) -> Result<BTreeMap<PathBuf, Nodes>> {
    let above = paths.keys().flat_map(|path| path.ancestors().skip(1));
    let above: BTreeSet<&Path> = above.collect();
    let mut directories = BTreeMap::new();
    for path in above {
        let tree = if path.as_os_str().is_empty() {
            Some(root)
        } else {
            match get(&directories, path) {
                Some(Node::Directory { tree, .. }) => Some(tree),
                _ => None,
            }
        };
        let nodes: Nodes = entries(objects, tree)?.into_iter().collect();
        directories.insert(path.to_owned(), nodes);
    }
    Ok(directories)
}

fn get(directories: &BTreeMap<PathBuf, Nodes>, path: &Path) -> Option<Node> {
    let name = bytes_of_name(path.file_name()?)?;
    directories.get(path.parent()?)?.get(name).copied()
}

fn put(directories: &mut BTreeMap<PathBuf, Nodes>, path: &Path, node: Node) {
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
        && let (Some(nodes), Some(name)) = (directories.get_mut(parent), bytes_of_name(name))
    {
        nodes.insert(name.into(), node);
    }
}
