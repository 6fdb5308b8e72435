//! A pack: an immutable file with many objects, each found by its hash.
//!
//! One file per object would cost a directory entry, a sync and a disk block each. A pack is
//! renamed into place when it is complete.
//!
//! ```text
//! pack    = "agent-pack 1\n" content* index trailer
//! index   = (hash:[u8; 32] offset:u64 length:u64)*       sorted by hash
//! trailer = count:u64 index_offset:u64 index_hash:[u8; 32]           numbers little-endian
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use blake3::Hash;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::fs::{AtomicFile, Durability};

const MAGIC: &[u8] = b"agent-pack 1\n";
/// The magic of every version.
const NAME: &[u8] = b"agent-pack ";
const INDEXED: usize = 32 + 8 + 8;
const TRAILER: usize = 8 + 8 + 32;
/// File name extension of packs.
pub(super) const EXTENSION: &str = "pack";

/// A complete pack, opened for reading.
#[derive(Debug)]
pub(super) struct Pack {
    pub(super) path: PathBuf,
    /// Size in bytes, including the index.
    pub(super) size: u64,
    file: File,
    index: Vec<u8>,
}

/// The position of an object in a pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackExtent {
    offset: u64,
    length: u64,
}

impl Pack {
    /// Opens a pack and reads its index. Fails with `InvalidData` if it is damaged and with
    /// `Unsupported` if its format is newer.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let mut file = File::open(&path)?;
        let size = file.metadata()?.len();
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let mut magic = Vec::with_capacity(MAGIC.len());
        (&file).take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if magic.starts_with(NAME) && magic != MAGIC {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let trailer_at = size.checked_sub(TRAILER as u64).ok_or_else(damaged)?;
        let mut trailer = [0; TRAILER];
        file.seek(SeekFrom::Start(trailer_at))?;
        file.read_exact(&mut trailer)?;
        let (count, rest) = trailer.split_at(8);
        let (index_at, hash) = rest.split_at(8);
        let count = number(count);
        let index_at = number(index_at);
        let length = count
            .checked_mul(INDEXED as u64)
            .filter(|length| index_at.checked_add(*length) == Some(trailer_at))
            .ok_or_else(damaged)?;
        let mut index = vec![0; usize::try_from(length).map_err(|_| damaged())?];
        file.seek(SeekFrom::Start(index_at))?;
        file.read_exact(&mut index)?;
        if blake3::hash(&index).as_bytes() != hash {
            return Err(damaged());
        }
        Ok(Self {
            path,
            size,
            file,
            index,
        })
    }

    pub(super) fn find(&self, hash: &Hash) -> Option<PackExtent> {
        let (records, _) = self.index.as_chunks::<INDEXED>();
        let at = records
            .binary_search_by(|record| record[..32].cmp(hash.as_bytes()))
            .ok()?;
        Some(extent(&records[at]))
    }

    /// Reads an object and verifies its hash.
    pub(super) fn read(&self, hash: &Hash, extent: PackExtent) -> io::Result<Vec<u8>> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let end = extent.offset.checked_add(extent.length);
        if end.is_none_or(|end| end > self.size) {
            return Err(damaged());
        }
        let length = usize::try_from(extent.length).map_err(|_| damaged())?;
        let mut bytes = vec![0; length];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(extent.offset))?;
        file.read_exact(&mut bytes)?;
        if blake3::hash(&bytes) == *hash {
            Ok(bytes)
        } else {
            Err(damaged())
        }
    }

    /// All objects of the pack.
    pub(super) fn objects(&self) -> impl Iterator<Item = (Hash, PackExtent)> {
        let (records, _) = self.index.as_chunks::<INDEXED>();
        records.iter().map(|record| {
            let mut hash = [0; 32];
            hash.copy_from_slice(&record[..32]);
            (Hash::from_bytes(hash), extent(record))
        })
    }
}

impl PackExtent {
    /// The bytes that the object takes up, including its index record.
    pub(super) fn stored(self) -> u64 {
        self.length.saturating_add(INDEXED as u64)
    }
}

fn extent(record: &[u8; INDEXED]) -> PackExtent {
    PackExtent {
        offset: number(&record[32..40]),
        length: number(&record[40..]),
    }
}

fn number(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(bytes);
    u64::from_le_bytes(number)
}

/// A pack that is being written.
#[derive(Debug)]
pub(super) struct PackWriter {
    directory: PathBuf,
    draft: Option<AtomicFile>,
    offset: u64,
    objects: HashMap<Hash, PackExtent>,
}

impl PackWriter {
    /// Creates no file before the first object.
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            draft: None,
            offset: 0,
            objects: HashMap::new(),
        }
    }

    pub(super) fn contains(&self, hash: &Hash) -> bool {
        self.objects.contains_key(hash)
    }

    /// Appends an object, unless the pack already has it.
    pub(super) fn add(&mut self, hash: Hash, content: &[u8]) -> Result<()> {
        if self.contains(&hash) {
            return Ok(());
        }
        if self.draft.is_none() {
            self.draft = Some(AtomicFile::begin(&self.directory)?);
            self.append(MAGIC)?;
        }
        let extent = PackExtent {
            offset: self.offset,
            length: content.len() as u64,
        };
        self.append(content)?;
        self.objects.insert(hash, extent);
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(draft) = &mut self.draft else {
            return Ok(());
        };
        draft
            .write_all(bytes)
            .map_err(|cause| Error::file("write into", &self.directory, cause))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes the index and renames the pack into place; `None` if it has no objects.
    pub(super) fn finish(mut self, durability: Durability) -> Result<Option<PathBuf>> {
        if self.draft.is_none() {
            return Ok(None);
        }
        let mut objects: Vec<(Hash, PackExtent)> = self.objects.drain().collect();
        objects.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        let mut index = Vec::with_capacity(objects.len() * INDEXED);
        for (hash, extent) in &objects {
            index.extend_from_slice(hash.as_bytes());
            index.extend_from_slice(&extent.offset.to_le_bytes());
            index.extend_from_slice(&extent.length.to_le_bytes());
        }
        let index_at = self.offset;
        let mut trailer = (objects.len() as u64).to_le_bytes().to_vec();
        trailer.extend_from_slice(&index_at.to_le_bytes());
        trailer.extend_from_slice(blake3::hash(&index).as_bytes());
        self.append(&index)?;
        self.append(&trailer)?;
        let name = format!("{}.{EXTENSION}", Uuid::new_v4().simple());
        let path = self.directory.join(name);
        if let Some(draft) = self.draft {
            draft.finish(&path, durability)?;
        }
        Ok(Some(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(directory: &Path, contents: &[&[u8]]) -> PathBuf {
        let mut writer = PackWriter::new(directory);
        for content in contents {
            writer.add(blake3::hash(content), content).unwrap();
        }
        writer.finish(Durability::Atomic).unwrap().unwrap()
    }

    #[test]
    fn objects_come_back_by_their_hash() {
        let directory = tempfile::tempdir().unwrap();
        let path = pack(directory.path(), &[b"one", b"", b"two", b"one"]);
        let pack = Pack::open(path).unwrap();
        assert_eq!(pack.objects().count(), 3);
        for content in [&b"one"[..], b"", b"two"] {
            let hash = blake3::hash(content);
            let extent = pack.find(&hash).unwrap();
            assert_eq!(pack.read(&hash, extent).unwrap(), content);
        }
        assert!(pack.find(&blake3::hash(b"three")).is_none());
    }

    #[test]
    fn a_pack_of_a_newer_form_is_not_taken_for_a_damaged_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = pack(directory.path(), &[b"one"]);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[NAME.len()] = b'2';
        crate::fs::write_atomic(&path, &bytes, Durability::Atomic).unwrap();
        let error = Pack::open(path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn a_pack_without_objects_is_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let writer = PackWriter::new(directory.path());
        assert!(writer.finish(Durability::Atomic).unwrap().is_none());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = pack(directory.path(), &[b"one", b"two"]);
        let whole = std::fs::read(&path).unwrap();
        for at in MAGIC.len()..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let damaged = directory.path().join("damaged");
            crate::fs::write_atomic(&damaged, &bytes, Durability::Atomic).unwrap();
            let is_whole = Pack::open(damaged).is_ok_and(|pack| {
                [&b"one"[..], b"two"].iter().all(|content| {
                    let hash = blake3::hash(content);
                    pack.find(&hash)
                        .is_some_and(|extent| pack.read(&hash, extent).is_ok())
                })
            });
            assert!(!is_whole, "byte {at}");
        }
        for length in 0..whole.len() {
            let cut = directory.path().join("cut");
            crate::fs::write_atomic(&cut, &whole[..length], Durability::Atomic).unwrap();
            assert!(Pack::open(cut).is_err(), "{length}");
        }
    }
}
