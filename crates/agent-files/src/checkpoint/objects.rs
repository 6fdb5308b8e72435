//! All packs of a store: where an object is, and how many packs there may be.
//!
//! Whoever adds or removes packs holds the store's lock alone; whoever reads shares it. A pack that
//! is damaged is put aside, so that the rest stays of use.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::pack::{EXTENSION, Extent, Pack, PackWriter};
use crate::error::{Error, Result};
use crate::fs::{self, Durability};

/// More packs than these are made fewer.
const MAX_PACKS: usize = 24;
/// How many of them, the smallest, become one.
const MERGED: usize = 16;

/// The packs of one directory.
#[derive(Debug)]
pub(super) struct Objects {
    directory: PathBuf,
    packs: Vec<Pack>,
    /// Files of ours in the directory that are not whole packs.
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

    /// Learns which packs there are now; those that it knows are not read again.
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

    /// Removes what a killed writer left, and puts damaged packs aside; tells whether there were.
    pub(super) fn clean(&mut self, aside: &Path) -> Result<bool> {
        for path in self.rubbish.drain(..) {
            // It costs nothing but room; the next one tries again.
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

    /// What an object takes up, in bytes; nothing if it is missing.
    pub(super) fn length(&self, hash: &Hash) -> u64 {
        let mut found = self.packs.iter().filter_map(|pack| pack.find(hash));
        found.next().map_or(0, Extent::stored)
    }

    /// Reads an object; the error says that it is missing or damaged.
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

    /// Ends a pack and knows it from now on.
    pub(super) fn commit(&mut self, writer: PackWriter, durability: Durability) -> Result<()> {
        if let Some(path) = writer.finish(durability)? {
            let pack = Pack::open(path.clone());
            self.packs
                .push(pack.map_err(|cause| Error::file("read", &path, cause))?);
        }
        Ok(())
    }

    /// Makes one of the smallest packs when there are too many.
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

    /// How many bytes of each pack are wanted, and how many are not.
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

    /// Copies what is wanted of these packs into a new one and removes them; tells bytes freed.
    pub(super) fn rewrite(
        &mut self,
        which: &HashSet<PathBuf>,
        is_wanted: impl Fn(&Hash) -> bool,
    ) -> Result<u64> {
        let old: u64 = self.bytes();
        let mut writer = self.writer();
        for pack in self.packs.iter().filter(|pack| which.contains(&pack.path)) {
            for (hash, extent) in pack.objects().filter(|(hash, _)| is_wanted(hash)) {
                // One that is damaged is lost either way; the others are not.
                if let Ok(content) = pack.read(&hash, extent) {
                    writer.add(hash, &content)?;
                }
            }
        }
        // Before the old ones go, the new one is on the disk.
        self.commit(writer, Durability::Synced)?;
        self.packs.retain(|pack| {
            let is_kept = !which.contains(&pack.path);
            if !is_kept {
                // One that stays behind has nothing that the new one lacks.
                let _ = std::fs::remove_file(&pack.path);
            }
            is_kept
        });
        Ok(old.saturating_sub(self.bytes()))
    }

    /// The size of all packs.
    pub(super) fn bytes(&self) -> u64 {
        self.packs.iter().map(|pack| pack.size).sum()
    }
}
