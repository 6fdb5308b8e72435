//! Remembers the last snapshot of a workspace, so that unchanged files are not read again.
//!
//! A file with the same size, times, inode and mode as last time has the same content, unless it
//! changed within the clock tick in which it was read. Such an entry is stored without its stat and
//! read again, as git does. A missing or damaged cache costs only time. The writer ensures that a
//! cache refers only to stored objects.
//!
//! ```text
//! cache     = "agent-cache 1\n" root:[u8; 32] directory* hash:[u8; 32]
//! directory = length:u32 path_length:u16 path tree:[u8; 32] entry*   length of all that follows
//! entry     = stat entry-of-a-tree
//! stat      = size:u64 modified:i64 changed:i64 inode:u64 mode:u32   numbers little-endian
//! ```

use std::collections::HashMap;
use std::path::Path;

use blake3::Hash;

use super::tree::Node;
use crate::error::Result;
use crate::fs::{Durability, write_atomic};
use crate::workspace::survey::FileStat;

const MAGIC: &[u8] = b"agent-cache 1\n";
const HASH: usize = 32;
const STAT: usize = 8 * 4 + 4;

/// The stat fields that are compared to detect a changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Print([u8; STAT]);

impl Print {
    pub(super) fn of(stat: &FileStat) -> Self {
        let mut print = [0; STAT];
        print[..8].copy_from_slice(&stat.size.to_le_bytes());
        print[8..16].copy_from_slice(&stat.modified.to_le_bytes());
        print[16..24].copy_from_slice(&stat.changed.to_le_bytes());
        print[24..32].copy_from_slice(&stat.inode.to_le_bytes());
        print[32..].copy_from_slice(&stat.mode.to_le_bytes());
        Self(print)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Matches no file.
    pub(super) const NONE: Self = Self([u8::MAX; STAT]);
}

/// A cache file, read in one piece.
#[derive(Debug, Default)]
pub(super) struct Cache {
    bytes: Vec<u8>,
}

/// A cached directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct CachedDirectory<'a> {
    /// The hash of its stored tree.
    pub(super) tree: Hash,
    entries: &'a [u8],
}

/// Cached directories by path.
pub(super) type Directories<'a> = HashMap<&'a [u8], CachedDirectory<'a>>;

impl Cache {
    /// Reads a cache. A missing or damaged one is treated as empty.
    pub(super) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_default();
        if is_whole(&bytes) {
            Self { bytes }
        } else {
            Self::default()
        }
    }

    /// The tree of the whole workspace.
    pub(super) fn root(&self) -> Option<Hash> {
        let root = self.bytes.get(MAGIC.len()..MAGIC.len() + HASH)?;
        Some(Hash::from_bytes(root.try_into().ok()?))
    }

    pub(super) fn directories(&self) -> Directories<'_> {
        let end = self.bytes.len().saturating_sub(HASH);
        let mut bytes = (self.bytes.get(MAGIC.len() + HASH..end)).unwrap_or_default();
        let mut directories = HashMap::new();
        while let Some((path, directory)) = take_directory(&mut bytes) {
            directories.insert(path, directory);
        }
        directories
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.len().checked_sub(HASH) else {
        return false;
    };
    bytes.starts_with(MAGIC)
        && end >= MAGIC.len() + HASH
        && blake3::hash(&bytes[..end]).as_bytes() == &bytes[end..]
}

fn take_directory<'a>(bytes: &mut &'a [u8]) -> Option<(&'a [u8], CachedDirectory<'a>)> {
    let length = u32::from_le_bytes(*take(bytes)?);
    let (mut all, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    let path_length = u16::from_le_bytes(*take(&mut all)?);
    let (path, mut all) = all.split_at_checked(usize::from(path_length))?;
    let tree = Hash::from_bytes(*take::<HASH>(&mut all)?);
    Some((path, CachedDirectory { tree, entries: all }))
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}

impl<'a> CachedDirectory<'a> {
    /// The entries, sorted by name.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'a [u8], Print, Node)> {
        let mut bytes = self.entries;
        std::iter::from_fn(move || {
            let print = Print(*take(&mut bytes)?);
            let (name, node) = Node::decode(&mut bytes)?;
            Some((name, print, node))
        })
    }
}

/// A cache that is being written.
#[derive(Debug)]
pub(super) struct CacheWriter {
    bytes: Vec<u8>,
    /// Offset of the current directory.
    start: usize,
}

impl CacheWriter {
    pub(super) fn new(root: Hash) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(root.as_bytes());
        Self { bytes, start: 0 }
    }

    /// Starts a directory. Paths too long for the format are not cached.
    pub(super) fn directory<'b>(
        &mut self,
        path: &[u8],
        tree: Hash,
        entries: impl Iterator<Item = (&'b [u8], Print, Node)>,
    ) {
        let Ok(path_length) = u16::try_from(path.len()) else {
            return;
        };
        self.start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&path_length.to_le_bytes());
        self.bytes.extend_from_slice(path);
        self.bytes.extend_from_slice(tree.as_bytes());
        for (name, print, node) in entries {
            self.bytes.extend_from_slice(&print.0);
            node.encode(name, &mut self.bytes);
        }
        let length = self.bytes.len() - self.start - 4;
        match u32::try_from(length) {
            Ok(length) => {
                self.bytes[self.start..self.start + 4].copy_from_slice(&length.to_le_bytes());
            }
            Err(_) => self.bytes.truncate(self.start),
        }
    }

    pub(super) fn write(mut self, path: &Path) -> Result<()> {
        let hash = blake3::hash(&self.bytes);
        self.bytes.extend_from_slice(hash.as_bytes());
        write_atomic(path, &self.bytes, Durability::Atomic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_comes_back_or_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache");
        let hash = blake3::hash(b"x");
        let node = Node::Link { target: hash };
        let mut writer = CacheWriter::new(hash);
        writer.directory(b"", hash, [(&b"a"[..], Print::NONE, node)].into_iter());
        writer.directory(b"sub", hash, std::iter::empty());
        writer.write(&path).unwrap();
        let cache = Cache::read(&path);
        let directories = cache.directories();
        assert_eq!(cache.root(), Some(hash));
        assert_eq!(directories.len(), 2);
        let entries: Vec<_> = directories[&b""[..]].entries().collect();
        assert_eq!(entries, [(&b"a"[..], Print::NONE, node)]);

        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            write_atomic(&path, &whole[..length], Durability::Atomic).unwrap();
            let cache = Cache::read(&path);
            assert!(cache.root().is_none() && cache.directories().is_empty());
        }
    }
}
