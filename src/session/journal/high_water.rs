//! The high-water mark of a journal: its length when it was last synced.
//!
//! Nothing is executed before the record that announces it is synced. So a journal that is shorter
//! than its mark has lost records that were acted on, even if it ends with a whole line; one that is
//! not has lost at most what nobody had acted on. The mark itself is not synced: after power loss it
//! may be older than the journal, never newer. `round` records tell that there is a mark: if it is
//! gone, as much may be lost.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How many digits the length has in the file, so that a new one covers the old one.
const DIGITS: usize = 20;

/// Keeps the mark in `sessions/<id>/journal.length`.
#[derive(Debug)]
pub(super) struct HighWaterMark {
    path: PathBuf,
    file: Option<File>,
}

impl HighWaterMark {
    pub(super) fn of_journal(journal: &Path) -> Self {
        // `<id>.journal.jsonl` lies beside the folder `<id>`.
        let folder = journal.with_extension("").with_extension("");
        Self {
            path: folder.join("journal.length"),
            file: None,
        }
    }

    /// The last length that was noted; nothing if none was, or power loss took it.
    pub(super) fn read(&self) -> Option<u64> {
        let text = fs::read_to_string(&self.path).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    }

    /// Notes that so many bytes of the journal are on the disk.
    pub(super) fn note(&mut self, length: u64) {
        // Without a mark a loss at the end of a line is not noticed; that is no reason to stop.
        let _ = self.write(length);
    }

    /// Makes the mark if there is none. Returns true if it exists now.
    pub(super) fn ensure(&mut self) -> bool {
        if self.read().is_none() {
            self.note(0);
        }
        self.read().is_some()
    }

    /// Notes it before the journal gets shorter: after power loss that must not look like a loss.
    pub(super) fn lower(&mut self, length: u64) -> std::io::Result<()> {
        if self.read().is_none() {
            return Ok(());
        }
        self.write(length)?.sync_data()
    }

    fn write(&mut self, length: u64) -> std::io::Result<&File> {
        let file = if let Some(file) = self.file.take() {
            file
        } else {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            crate::platform::ours(&mut options);
            options.open(&self.path)?
        };
        let mut file = &*self.file.insert(file);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(format!("{length:0DIGITS$}\n").as_bytes())?;
        Ok(file)
    }
}
