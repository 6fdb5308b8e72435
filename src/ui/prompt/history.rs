//! The lines entered at the prompt, kept in a private file for the next time.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::past::MAX_HISTORY;
use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, write_atomic};
use crate::known_keys::KnownKeys;

/// The largest file that is read, in bytes: beyond it, it is not ours.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The file `history` in the state directory of this person; none if they have no home.
#[derive(Debug)]
pub struct HistoryFile {
    file: Option<PathBuf>,
}

impl HistoryFile {
    /// The one in this directory.
    pub fn kept_in(state: Option<&Path>) -> Self {
        Self {
            file: state.map(|state| state.join("history")),
        }
    }

    /// The latest lines, the oldest first; the file is shortened when it has far too many.
    pub fn load(&self) -> Vec<String> {
        let Some(file) = &self.file else {
            return Vec::new();
        };
        if fs::metadata(file).is_ok_and(|found| found.len() > MAX_BYTES) {
            return Vec::new();
        }
        // What was kept is a convenience: one that cannot be read is as good as none.
        let bytes = fs::read(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let all: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let latest = &all[all.len().saturating_sub(MAX_HISTORY)..];
        if all.len() > 2 * MAX_HISTORY {
            let kept = latest.join("\n") + "\n";
            let _ = write_atomic(file, kept.as_bytes(), Durability::Atomic);
        }
        latest.iter().map(ToString::to_string).collect()
    }

    /// Keeps a line; a text of several lines is not kept.
    pub fn remember(&self, line: &str) -> Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| !line.contains('\n')) else {
            return Ok(());
        };
        if let Some(directory) = file.parent() {
            create_directory(directory)?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        crate::platform::private(&mut options);
        let line = KnownKeys::of_this_process().scrub(line.trim_end()) + "\n";
        options
            .open(file)
            .and_then(|mut opened| opened.write_all(line.as_bytes()))
            .map_err(|cause| Error::file("write", file, cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_last_and_the_oldest_are_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let history = HistoryFile::kept_in(Some(&state.path().join("agent")));
        assert!(history.load().is_empty());
        for number in 0..=2 * MAX_HISTORY {
            history.remember(&format!("line {number}")).unwrap();
        }
        history.remember("two\nlines").unwrap();
        let lines = history.load();
        assert_eq!(lines.len(), MAX_HISTORY);
        assert_eq!(lines.last().unwrap(), "line 2000");
        let kept = fs::read_to_string(state.path().join("agent/history")).unwrap();
        assert_eq!(kept.lines().count(), MAX_HISTORY);
        history.remember("another").unwrap();
        assert_eq!(history.load().last().unwrap(), "another");
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;

        let state = tempfile::tempdir().unwrap();
        HistoryFile::kept_in(Some(state.path()))
            .remember("x")
            .unwrap();
        let file = fs::metadata(state.path().join("history")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn without_a_home_nothing_is_kept() {
        let history = HistoryFile::kept_in(None);
        history.remember("x").unwrap();
        assert!(history.load().is_empty());
    }
}
