//! What the person says between two rounds, each note a file, so that any process can leave one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::fs::{Durability, create_directory, write_atomic};

/// The notes of one session.
#[derive(Debug)]
pub struct Notes {
    directory: PathBuf,
}

/// One note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    file: PathBuf,
    /// What the person said.
    pub text: String,
}

impl Notes {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Where they lie; made if it is missing, so that it can be watched.
    pub fn directory(&self) -> Result<&Path> {
        create_directory(&self.directory)?;
        Ok(&self.directory)
    }

    /// Leaves a note.
    pub fn add(&self, text: &str) -> Result<()> {
        let directory = self.directory()?;
        let time = jiff::Timestamp::now().as_nanosecond();
        write_atomic(
            &directory.join(format!("{time:020}.txt")),
            text.as_bytes(),
            Durability::Durable,
        )
    }

    /// All notes, the oldest first.
    pub fn all(&self) -> Vec<Note> {
        let mut files: Vec<PathBuf> = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
            .collect();
        files.sort();
        let read = |file: PathBuf| {
            Some(Note {
                text: fs::read_to_string(&file).ok()?,
                file,
            })
        };
        files.into_iter().filter_map(read).collect()
    }

    /// Forgets a note that has found its way into the session.
    pub fn remove(&self, note: &Note) {
        // One that cannot be removed is told once more, which is better than not at all.
        let _ = fs::remove_file(&note.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_in_the_order_in_which_they_were_left() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path().join("notes"));
        assert!(notes.all().is_empty());
        for text in ["one", "two", "three"] {
            notes.add(text).unwrap();
        }
        let texts: Vec<String> = notes.all().into_iter().map(|note| note.text).collect();
        assert_eq!(texts, ["one", "two", "three"]);
        notes.remove(&notes.all()[0]);
        assert_eq!(notes.all().len(), 2);
    }
}
