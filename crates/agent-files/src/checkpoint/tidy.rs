//! Removing what no snapshot needs any more, so that the store does not grow for ever.
//!
//! What is under way is kept whatever it takes; then the rounds, the latest first, as long as the
//! limit allows; then what the caches know, which only saves the next snapshot some reading.

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

/// The snapshots that are still of use.
#[derive(Debug, Clone, Default)]
pub struct WantedSnapshots {
    /// Those that are kept whatever they take: of rounds that are under way or were interrupted.
    pub needed: Vec<Snapshot>,
    /// Those of finished rounds, the latest round first; all of a round are kept, or none.
    pub rounds: Vec<[Snapshot; 2]>,
    /// Those that only save work, as the caches do: the first to go.
    pub handy: Vec<Snapshot>,
}

/// What tidying did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tidied {
    /// Bytes that were freed.
    pub freed: u64,
    /// Bytes that the store has now.
    pub left: u64,
    /// Objects that should be there and are not: snapshots that cannot be restored in full.
    pub missing: u64,
    /// How many rounds were given up because the limit was met.
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
            // It would name objects that are gone.
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
    // Those that an earlier one gave up are no news.
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

/// The newest caches and their trees, the newest first; the others are removed.
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
        // One that stays may name what is gone; without its root it is not used.
        let _ = std::fs::remove_file(path);
    }
    let newest = found.into_iter().rev().take(MAX_CACHES);
    newest
        .filter_map(|(_, path)| Some((Cache::read(&path).root().map(Snapshot)?, path)))
        .map(|(root, path)| (path, root))
        .collect()
}

/// The objects that stay.
struct LiveObjects<'a> {
    objects: &'a Objects,
    hashes: HashSet<Hash>,
    /// Trees whose entries are among them. A file can have the bytes of a tree: that its hash is
    /// known does not say that the tree was read.
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

    /// Adds all objects beneath these trees, unless that would be more than so many bytes.
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
