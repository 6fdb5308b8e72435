//! Keeps the output of a running command in a file while it runs.
//!
//! Should the program be stopped, the next one tells the model. The beginning and the end are kept,
//! at most so many bytes. Not synced: after power loss it is missing, and the rest is the same.
//!
//! The time of its last change tells when the command was last known to run, also of one that prints
//! nothing: what was changed until then was not changed while nobody was there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::platform::files;

/// Marks the gap between the beginning and the end.
const GAP: &str = "\n[TRUNCATED: the middle was not kept]\n";

/// How often a command that prints nothing shows that it runs.
const BEAT: Duration = Duration::from_secs(1);

/// The output of one running command.
#[derive(Debug)]
pub struct Printed {
    path: PathBuf,
    /// Nothing where it cannot be written: then the command runs all the same.
    file: Option<File>,
    /// How many bytes the beginning and the end may have, each.
    half: usize,
    /// How many bytes the beginning has.
    head: usize,
    tail: String,
    /// True if there is a gap between them.
    is_cut: bool,
    /// When the file was last changed.
    changed: Instant,
}

impl Printed {
    /// Begins to keep the output of a step.
    pub fn begin(folder: &Path, sequence: u32, step: u32, max_bytes: usize) -> Self {
        let path = place(folder, sequence, step);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        crate::platform::ours(&mut options);
        Self {
            file: options.open(&path).ok(),
            path,
            half: max_bytes / 2,
            head: 0,
            tail: String::new(),
            is_cut: false,
            changed: Instant::now(),
        }
    }

    /// Takes the next piece; nothing if the command only shows that it runs.
    pub fn push(&mut self, text: &str) {
        if text.is_empty() {
            self.beat();
            return;
        }
        self.changed = Instant::now();
        // Once something is at the end, nothing is added to the beginning.
        let room = if self.tail.is_empty() {
            self.half - self.head
        } else {
            0
        };
        let (head, rest) = text.split_at(text.floor_char_boundary(room));
        self.tail.push_str(rest);
        let surplus = self.tail.len().saturating_sub(self.half);
        self.is_cut |= surplus > 0;
        self.tail.drain(..self.tail.ceil_char_boundary(surplus));
        let start = self.head as u64;
        self.head += head.len();
        let gap = if self.is_cut { GAP } else { "" };
        let text = format!("{head}{gap}{}", self.tail);
        let write = |mut file: &File| -> io::Result<()> {
            file.seek(SeekFrom::Start(start))?;
            file.write_all(text.as_bytes())?;
            file.set_len(start + text.len() as u64)
        };
        if self.file.as_ref().is_some_and(|file| write(file).is_err()) {
            self.file = None;
        }
    }

    fn beat(&mut self) {
        if self.changed.elapsed() < BEAT {
            return;
        }
        self.changed = Instant::now();
        // Without it, what the command changes is left alone by an undo after a kill.
        let _ = self.file.as_ref().map(files::touch);
    }

    /// The command has ended, and its output is told as its result.
    pub fn finish(self) {
        drop(self.file);
        // One that stays behind belongs to a step that is never looked for again.
        let _ = fs::remove_file(&self.path);
    }

    /// The output of a command until the program was stopped.
    pub fn left(folder: &Path, sequence: u32, step: u32) -> Option<String> {
        let bytes = fs::read(place(folder, sequence, step)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// When a command of the round was last known to run, as far as that is kept.
    pub fn last_known_to_run(folder: &Path, sequence: u32) -> Option<SystemTime> {
        let beginning = format!("running-{sequence:04}-");
        let is_ours = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            name.to_str()
                .is_some_and(|name| name.starts_with(&beginning))
        };
        fs::read_dir(folder)
            .ok()?
            .filter_map(Result::ok)
            .filter(is_ours)
            .filter_map(|entry| entry.metadata().ok()?.modified().ok())
            .max()
    }

    /// Forgets what is left of a step.
    pub fn forget(folder: &Path, sequence: u32, step: u32) {
        let _ = fs::remove_file(place(folder, sequence, step));
    }
}

fn place(folder: &Path, sequence: u32, step: u32) -> PathBuf {
    folder.join(format!("running-{sequence:04}-{step}.txt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let mut printed = Printed::begin(folder.path(), 3, 2, 18);
        let left = || Printed::left(folder.path(), 3, 2).unwrap();
        printed.push("begin ");
        assert_eq!(left(), "begin ");
        printed.push("gr\u{fc}n");
        assert_eq!(left(), "begin gr\u{fc}n");
        for number in 0..1000 {
            printed.push(&format!("{number} and so on, "));
        }
        printed.push("end");
        assert_eq!(left(), format!("begin gr{GAP}o on, end"));
        printed.finish();
        assert_eq!(Printed::left(folder.path(), 3, 2), None);
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_left() {
        let mut printed = Printed::begin(Path::new("/nowhere/at/all"), 1, 1, 20);
        printed.push("text");
        printed.finish();
        assert_eq!(Printed::left(Path::new("/nowhere/at/all"), 1, 1), None);
    }
}
