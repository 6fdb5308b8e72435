//! The packs of a store as one set of objects.
//!
//! Adding or removing packs needs the store's exclusive lock, reading its shared lock. A damaged
//! pack is moved aside, so that the others stay usable.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::pack::{EXTENSION, Pack, PackExtent, PackWriter};
use crate::error::{Error, Result};
use crate::fs::{self, Durability};

/// Packs are merged when there are more than this.
const MAX_PACKS: usize = 24;
/// The number of packs, smallest first, that one merge combines.
const MERGED: usize = 16;

/// The packs of one directory.
#[derive(Debug)]
pub(super) struct Objects {
    directory: PathBuf,
    packs: Vec<Pack>,
    /// Our own files in the directory that are not complete packs.
    rubbish: Vec<PathBuf>,
    damaged: Vec<PathBuf>,
}

impl Objects {
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            packs: Vec::new(),
            rubbish: Vec::new(),
            damaged: Vec::new(),
        }
    }

    /// Reloads the list of packs; known ones are not read again.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let cannot = |cause| Error::file("read", &self.directory, cause);
        let mut known: HashMap<PathBuf, Pack> = std::mem::take(&mut self.packs)
            .into_iter()
            .map(|pack| (pack.path.clone(), pack))
            .collect();
        self.rubbish.clear();
        self.damaged.clear();
        for entry in std::fs::read_dir(&self.directory).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            if path.extension().is_none_or(|end| end != EXTENSION) {
                self.rubbish.push(path);
            } else if let Some(pack) = known.remove(&path) {
                self.packs.push(pack);
            } else {
                match Pack::open(path.clone()) {
                    Ok(pack) => self.packs.push(pack),
                    Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => {
                        self.damaged.push(path);
                    }
                    Err(cause) if cause.kind() == std::io::ErrorKind::Unsupported => {
                        return Err(Error::newer(&path));
                    }
                    Err(cause) => return Err(Error::file("read", &path, cause)),
                }
            }
        }
        Ok(())
    }

    /// Removes leftovers of killed writers and moves damaged packs aside. Returns true if a pack
    /// was damaged.
    pub(super) fn clean(&mut self, aside: &Path) -> Result<bool> {
        for path in self.rubbish.drain(..) {
            // A leftover only takes up space, and the next run tries again.
            let _ = std::fs::remove_file(path);
        }
        let is_damaged = !self.damaged.is_empty();
        for path in self.damaged.drain(..) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            fs::take_aside(&path, aside, &name)?;
        }
        Ok(is_damaged)
    }

    pub(super) fn contains(&self, hash: &Hash) -> bool {
        self.packs.iter().any(|pack| pack.find(hash).is_some())
    }

    /// The stored size of an object in bytes; 0 if it is missing.
    pub(super) fn length(&self, hash: &Hash) -> u64 {
        let mut found = self.packs.iter().filter_map(|pack| pack.find(hash));
        found.next().map_or(0, PackExtent::stored)
    }

    /// Reads an object, or reports that it is missing or damaged.
    pub(super) fn read(&self, hash: &Hash) -> Result<Vec<u8>> {
        let mut cause = None;
        for pack in &self.packs {
            if let Some(extent) = pack.find(hash) {
                match pack.read(hash, extent) {
                    Ok(bytes) => return Ok(bytes),
                    Err(error) => cause = Some(Error::file("read", &pack.path, error)),
                }
            }
        }
        let lost = Error::mendable(format!(
            "a checkpoint in `{}` is damaged: the object `{}` is missing",
            self.directory.display(),
            hash.to_hex()
        ));
        Err(match cause {
            Some(cause) => lost.because(cause),
            None => lost,
        })
    }

    pub(super) fn writer(&self) -> PackWriter {
        PackWriter::new(&self.directory)
    }

    /// Finishes a pack and adds it to the set.
    pub(super) fn commit(&mut self, writer: PackWriter, durability: Durability) -> Result<()> {
        if let Some(path) = writer.finish(durability)? {
            let pack = Pack::open(path.clone());
            self.packs
                .push(pack.map_err(|cause| Error::file("read", &path, cause))?);
        }
        Ok(())
    }

    /// Merges the smallest packs if there are too many.
    pub(super) fn merge(&mut self) -> Result<()> {
        if self.packs.len() <= MAX_PACKS {
            return Ok(());
        }
        self.packs.sort_by_key(|pack| pack.size);
        let merged: HashSet<PathBuf> = self.packs[..MERGED]
            .iter()
            .map(|pack| pack.path.clone())
            .collect();
        self.rewrite(&merged, |_| true)?;
        Ok(())
    }

    /// The live and dead bytes of each pack.
    pub(super) fn shares(&self, wanted: &HashSet<Hash>) -> Vec<(PathBuf, u64, u64)> {
        let share = |pack: &Pack| {
            let (mut live, mut dead) = (0, 0);
            for (hash, extent) in pack.objects() {
                let share = if wanted.contains(&hash) {
                    &mut live
                } else {
                    &mut dead
                };
                *share += extent.stored();
            }
            (pack.path.clone(), live, dead)
        };
        self.packs.iter().map(share).collect()
    }

    /// Copies the wanted objects of these packs into a new pack and removes them. Returns the bytes
    /// freed.
    pub(super) fn rewrite(
        &mut self,
        which: &HashSet<PathBuf>,
        is_wanted: impl Fn(&Hash) -> bool,
    ) -> Result<u64> {
        let old: u64 = self.bytes();
        let mut writer = self.writer();
        for pack in self.packs.iter().filter(|pack| which.contains(&pack.path)) {
            for (hash, extent) in pack.objects().filter(|(hash, _)| is_wanted(hash)) {
                // A damaged object is lost either way.
                if let Ok(content) = pack.read(&hash, extent) {
                    writer.add(hash, &content)?;
                }
            }
        }
        // The new pack must be on disk before the old ones are removed.
        self.commit(writer, Durability::Synced)?;
        self.packs.retain(|pack| {
            let is_kept = !which.contains(&pack.path);
            if !is_kept {
                // A pack that cannot be removed holds nothing that the new one lacks.
                let _ = std::fs::remove_file(&pack.path);
            }
            is_kept
        });
        Ok(old.saturating_sub(self.bytes()))
    }

    /// The total size of all packs.
    pub(super) fn bytes(&self) -> u64 {
        self.packs.iter().map(|pack| pack.size).sum()
    }
}
