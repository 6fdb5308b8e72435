//! Removing what no snapshot needs any more, so that the store does not grow for ever.
//!
//! What the caches know is kept too: it is what the next snapshot begins with.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use blake3::Hash;

use super::Snapshot;
use super::cache::Cache;
use super::objects::Objects;
use super::tree::decode_tree;
use crate::error::Result;

/// Caches of more workspaces than these are forgotten, the oldest first.
const MAX_CACHES: usize = 8;
/// A pack is written again when so much of it, in percent, is not needed.
const WORTH_REWRITING: u64 = 25;

/// What tidying did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tidied {
    /// Bytes that were freed.
    pub freed: u64,
    /// Bytes that the store has now.
    pub left: u64,
    /// Objects that should be there and are not: snapshots that cannot be restored in full.
    pub missing: u64,
}

pub(super) fn tidy(objects: &mut Objects, caches: &Path, keep: &[Snapshot]) -> Result<Tidied> {
    let mut roots: Vec<Hash> = keep.iter().map(|snapshot| snapshot.0).collect();
    roots.extend(keep_newest(caches));
    let (wanted, missing) = reachable(objects, roots);
    let is_worth = |(_, live, dead): &(PathBuf, u64, u64)| {
        let total = live.saturating_add(*dead).max(1);
        dead.saturating_mul(100) / total >= WORTH_REWRITING
    };
    let which: HashSet<PathBuf> = objects
        .shares(&wanted)
        .into_iter()
        .filter(is_worth)
        .map(|(path, ..)| path)
        .collect();
    let freed = objects.rewrite(&which, |hash| wanted.contains(hash))?;
    Ok(Tidied {
        freed,
        left: objects.bytes(),
        missing,
    })
}

/// The trees of the newest caches; the others are removed.
fn keep_newest(caches: &Path) -> Vec<Hash> {
    let mut found: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(caches)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            (modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path())
        })
        .collect();
    found.sort();
    for (_, path) in found.iter().rev().skip(MAX_CACHES) {
        // One that stays may name what is gone; without its root it is not used.
        let _ = std::fs::remove_file(path);
    }
    let newest = found.iter().rev().take(MAX_CACHES);
    newest
        .filter_map(|(_, path)| Cache::read(path).root())
        .collect()
}

/// All objects beneath these trees, and how many could not be found.
fn reachable(objects: &Objects, mut trees: Vec<Hash>) -> (HashSet<Hash>, u64) {
    let mut wanted: HashSet<Hash> = HashSet::new();
    // A file can have the bytes of a tree: that it is wanted does not say that the tree was read.
    let mut read: HashSet<Hash> = HashSet::new();
    let mut missing = 0;
    while let Some(tree) = trees.pop() {
        wanted.insert(tree);
        if !read.insert(tree) {
            continue;
        }
        let bytes = objects.read(&tree).ok();
        let Some(entries) = bytes.as_deref().and_then(decode_tree) else {
            missing += 1;
            continue;
        };
        for (_, node) in entries {
            match node.object() {
                Some(tree) if node.is_directory() => trees.push(tree),
                Some(content) => {
                    wanted.insert(content);
                }
                None => {}
            }
        }
    }
    (wanted, missing)
}
