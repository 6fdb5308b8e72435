//! The reply of a round that arrives call by call: a file in `processed/` with a step on each line.
//!
//! It grows while the round goes on. A line is on the disk before its step is begun; half a line, or one
//! that the journal does not mention, was never begun.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use super::{Mailbox, round_prefix};
use crate::error::{Error, Result};
use crate::fs::sync_directory;
use crate::protocol::{SessionId, Step};

/// How the names of such files end.
const CALLS: &str = "_calls.jsonl";

/// The file of a round that is under way.
#[derive(Debug)]
pub struct CallsFile {
    /// Where it is.
    pub path: PathBuf,
    /// How long it is, in bytes.
    pub length: u64,
    file: File,
}

/// How safe a line must be before its step is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSafety {
    /// It must outlive a loss of power.
    Synced,
    /// It may go with the system: its step changes nothing.
    Written,
}

/// Returns true if a file in `processed/` has the calls of a round.
pub fn has_calls(name: &str) -> bool {
    name.ends_with(CALLS)
}

/// Reads the steps of such a file; half a line at its end is left out.
pub fn read_calls(bytes: &[u8]) -> Vec<Step> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.filter(|line| line.ends_with(b"\n"));
    whole
        .map_while(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// The line by which such a file is told from others.
pub fn first_call(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

impl Mailbox {
    /// Begins the file of a round with its first call, and makes that last.
    pub fn begin_calls(&self, id: &SessionId, sequence: u32, first: &Step) -> Result<CallsFile> {
        let directory = self.processed();
        let path = directory.join(format!("{}{CALLS}", round_prefix(id, sequence)));
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(true);
        crate::platform::ours(&mut options);
        let file = options
            .open(&path)
            .map_err(|cause| Error::file("write", &path, cause))?;
        let mut calls = CallsFile {
            path,
            length: 0,
            file,
        };
        calls.append(first, CallSafety::Synced)?;
        sync_directory(&directory).map_err(|cause| Error::file("sync", &directory, cause))?;
        Ok(calls)
    }
}

impl CallsFile {
    /// Adds a call.
    pub fn append(&mut self, step: &Step, safety: CallSafety) -> Result<()> {
        let failed = |cause| Error::file("write", &self.path, cause);
        let mut line = serde_json::to_vec(step).map_err(|cause| failed(cause.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed)?;
        if safety == CallSafety::Synced {
            self.file.sync_data().map_err(failed)?;
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Command;

    fn step(number: u32, text: &str) -> Step {
        Step {
            number,
            line: number,
            command: Command::Message {
                text: text.to_owned(),
            },
        }
    }

    #[test]
    fn calls_are_read_back_and_half_a_line_is_none() {
        let base = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open(base.path().join("outbox"), base.path().join("inbox")).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        let steps = [step(1, "a\nb"), step(2, "[/MESSAGE] \u{2028}")];
        let mut calls = mailbox.begin_calls(&id, 7, &steps[0]).unwrap();
        calls.append(&steps[1], CallSafety::Written).unwrap();
        assert!(has_calls(&calls.path.to_string_lossy()));
        assert_eq!(mailbox.claimed(&id, 7), Some(calls.path.clone()));
        let mut bytes = std::fs::read(&calls.path).unwrap();
        assert_eq!(calls.length, bytes.len() as u64);
        assert_eq!(read_calls(&bytes), steps);
        bytes.truncate(bytes.len() - 1);
        assert_eq!(read_calls(&bytes), steps[..1]);
    }
}
