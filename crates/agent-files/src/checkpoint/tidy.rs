//! Removes objects that no snapshot needs, so that the store does not grow forever.
//!
//! Snapshots in use are always kept. Then rounds, latest first, up to the size limit. Then the
//! cached trees, which only save some reading.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use blake3::Hash;

use super::Snapshot;
use super::cache::Cache;
use super::objects::Objects;
use super::tree::decode_tree;
use crate::error::Result;

/// Caches of at most this many workspaces are kept, the newest ones.
const MAX_CACHES: usize = 8;
/// A pack is rewritten if at least this percentage of it is unused.
const WORTH_REWRITING: u64 = 25;

/// The snapshots to keep.
#[derive(Debug, Clone, Default)]
pub struct WantedSnapshots {
    /// Kept whatever their size: snapshots of rounds that are running or were interrupted.
    pub needed: Vec<Snapshot>,
    /// Snapshots of finished rounds, latest first; both of a round are kept, or neither.
    pub rounds: Vec<[Snapshot; 2]>,
    /// Snapshots that only save work, as the caches do: the first to be dropped.
    pub handy: Vec<Snapshot>,
}

/// The result of pruning the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tidied {
    /// Bytes freed.
    pub freed: u64,
    /// Size of the store afterwards, in bytes.
    pub left: u64,
    /// Missing objects: snapshots that cannot be restored completely.
    pub missing: u64,
    /// Rounds that were dropped to keep the size limit.
    pub given_up: usize,
}

pub(super) fn tidy(
    objects: &mut Objects,
    caches: &Path,
    wanted: &WantedSnapshots,
    max_bytes: u64,
) -> Result<Tidied> {
    let mut live = LiveObjects::new(objects);
    live.add(&wanted.needed, u64::MAX);
    let fits = |round: &&[Snapshot; 2]| live.add(&round[..], max_bytes);
    let kept = wanted.rounds.iter().take_while(fits).count();
    for snapshot in &wanted.handy {
        live.add(&[*snapshot], max_bytes);
    }
    for (path, root) in newest(caches) {
        if !live.add(&[root], max_bytes) {
            // It would refer to removed objects.
            let _ = std::fs::remove_file(path);
        }
    }
    let LiveObjects {
        hashes, missing, ..
    } = live;
    let least = if objects.bytes() > max_bytes {
        0
    } else {
        WORTH_REWRITING
    };
    let is_worth = |(_, live, dead): &(PathBuf, u64, u64)| {
        let total = live.saturating_add(*dead).max(1);
        *dead > 0 && dead.saturating_mul(100) / total >= least
    };
    let which: HashSet<PathBuf> = objects
        .shares(&hashes)
        .into_iter()
        .filter(is_worth)
        .map(|(path, ..)| path)
        .collect();
    // Rounds that an earlier run dropped are not counted again.
    let is_given_up = |one: &Snapshot| !hashes.contains(&one.0) && objects.contains(&one.0);
    let given_up: HashSet<&[Snapshot; 2]> = (wanted.rounds[kept..].iter())
        .filter(|round| round.iter().any(is_given_up))
        .collect();
    let given_up = given_up.len();
    let freed = objects.rewrite(&which, |hash| hashes.contains(hash))?;
    Ok(Tidied {
        freed,
        left: objects.bytes(),
        missing,
        given_up,
    })
}

/// The newest caches with their trees, newest first. Removes the others.
fn newest(caches: &Path) -> Vec<(PathBuf, Snapshot)> {
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
        // A cache that cannot be removed is ignored once its root object is gone.
        let _ = std::fs::remove_file(path);
    }
    let newest = found.into_iter().rev().take(MAX_CACHES);
    newest
        .filter_map(|(_, path)| Some((Cache::read(&path).root().map(Snapshot)?, path)))
        .map(|(root, path)| (path, root))
        .collect()
}

/// The objects to keep.
struct LiveObjects<'a> {
    objects: &'a Objects,
    hashes: HashSet<Hash>,
    /// Trees whose entries have been added. Separate from `hashes`, because a file can have the
    /// same bytes as a tree.
    read: HashSet<Hash>,
    bytes: u64,
    missing: u64,
}

impl<'a> LiveObjects<'a> {
    fn new(objects: &'a Objects) -> Self {
        Self {
            objects,
            hashes: HashSet::new(),
            read: HashSet::new(),
            bytes: 0,
            missing: 0,
        }
    }

    /// Adds all objects of these snapshots. Returns false, and adds nothing, if that exceeds the
    /// limit.
    fn add(&mut self, snapshots: &[Snapshot], max_bytes: u64) -> bool {
        let (bytes, missing) = (self.bytes, self.missing);
        let (mut new, mut new_trees) = (Vec::new(), Vec::new());
        let mut trees: Vec<Hash> = snapshots.iter().map(|snapshot| snapshot.0).collect();
        while let Some(tree) = trees.pop() {
            if !self.read.insert(tree) {
                continue;
            }
            new_trees.push(tree);
            self.want(tree, &mut new);
            let content = self.objects.read(&tree).ok();
            let Some(entries) = content.as_deref().and_then(decode_tree) else {
                self.missing += 1;
                continue;
            };
            for (_, node) in entries {
                match node.object() {
                    Some(tree) if node.is_directory() => trees.push(tree),
                    Some(content) => self.want(content, &mut new),
                    None => {}
                }
            }
            if self.bytes > max_bytes {
                break;
            }
        }
        let fits = self.bytes <= max_bytes;
        if !fits {
            for hash in new {
                self.hashes.remove(&hash);
            }
            for tree in new_trees {
                self.read.remove(&tree);
            }
            (self.bytes, self.missing) = (bytes, missing);
        }
        fits
    }

    fn want(&mut self, hash: Hash, new: &mut Vec<Hash>) {
        if self.hashes.insert(hash) {
            new.push(hash);
            self.bytes = self.bytes.saturating_add(self.objects.length(&hash));
        }
    }
}
