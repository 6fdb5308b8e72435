//! Notes for the model. Each is a file, so that any process can leave one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs::{Durability, own_directory, read_plain, write_atomic};
use crate::known_keys::KnownKeys;

/// The largest note that is read, in bytes.
const MAX_NOTE: u64 = 16 << 20;

/// Returns true for a note that tells the model of an undo or a redo, and is no word of the person.
pub fn is_reversal_note(note: &str) -> bool {
    note.starts_with("[undo]") || note.starts_with("[redo]")
}

/// The notes of one session.
#[derive(Debug)]
pub struct Notes {
    folder: PathBuf,
    directory: PathBuf,
}

/// One note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    file: PathBuf,
    /// Where it comes from.
    pub source: Source,
    /// The text.
    pub text: String,
}

/// Where a note comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The person said it; it can be the answer to a question.
    Person,
    /// The person took a round back, or put it again.
    Undo,
    /// The person adds files: their paths, one on each line.
    Added,
}

impl Source {
    fn ending(self) -> &'static str {
        match self {
            Self::Person => ".txt",
            Self::Undo => ".undo.txt",
            Self::Added => ".add.txt",
        }
    }
}

impl Notes {
    /// Those in the folder of a session.
    pub(super) fn of(folder: PathBuf) -> Self {
        Self {
            directory: folder.join("notes"),
            folder,
        }
    }

    /// Where they lie; made if it is missing, so that it can be watched.
    pub fn directory(&self) -> Result<&Path> {
        own_directory(&self.folder)?;
        own_directory(&self.directory)?;
        Ok(&self.directory)
    }

    /// Leaves a note, and returns it as it is kept.
    pub fn add(&self, source: Source, text: &str) -> Result<String> {
        let directory = self.directory()?;
        let time = super::now().as_nanosecond();
        let text = self.without_keys(source, text.to_owned());
        write_atomic(
            &directory.join(format!("{time:020}{}", source.ending())),
            text.as_bytes(),
            Durability::Durable,
        )?;
        Ok(text)
    }

    /// The words of the person without keys of APIs; all else is ours.
    fn without_keys(&self, source: Source, text: String) -> String {
        match source {
            Source::Person => KnownKeys::of_session(&self.folder).scrub(&text),
            Source::Undo | Source::Added => text,
        }
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
            let has_ending = |source: &Source| file.to_string_lossy().ends_with(source.ending());
            let source = [Source::Undo, Source::Added].into_iter().find(has_ending);
            let source = source.unwrap_or(Source::Person);
            let text = String::from_utf8(read_plain(&file, MAX_NOTE).ok()?).ok()?;
            Some(Note {
                source,
                // Anybody may have left the file.
                text: self.without_keys(source, text),
                file,
            })
        };
        files.into_iter().filter_map(read).collect()
    }

    /// Forgets the notes that the session has told, and that a killed process could not remove.
    pub fn remove_told(&self, told: &[String], until: jiff::Timestamp) {
        let until = format!("{:020}", until.as_nanosecond());
        for note in self.all() {
            let time = note.file.file_name().unwrap_or_default().to_string_lossy();
            let is_earlier = time.get(..20).is_some_and(|time| time <= until.as_str());
            if is_earlier && told.contains(&note.text) {
                self.remove(&note);
            }
        }
    }

    /// Withdraws a note; returns false if it is gone already.
    pub fn withdraw(&self, note: &Note) -> Result<bool> {
        match fs::remove_file(&note.file) {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(Error::file("remove the note", &note.file, cause)),
        }
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
        let notes = Notes::of(directory.path().to_owned());
        assert!(notes.all().is_empty());
        for text in ["one", "two", "three"] {
            notes.add(Source::Person, text).unwrap();
        }
        let texts: Vec<String> = notes.all().into_iter().map(|note| note.text).collect();
        assert_eq!(texts, ["one", "two", "three"]);
        notes.remove(&notes.all()[0]);
        assert_eq!(notes.all().len(), 2);
        notes.add(Source::Undo, "four").unwrap();
        let sources: Vec<Source> = notes.all().iter().map(|note| note.source).collect();
        assert_eq!(sources, [Source::Person, Source::Person, Source::Undo]);
        let now = super::super::now();
        notes.add(Source::Person, "two").unwrap();
        notes.remove_told(&["two".to_owned()], now);
        let texts: Vec<String> = notes.all().into_iter().map(|note| note.text).collect();
        assert_eq!(texts, ["three", "four", "two"]);
    }
}
