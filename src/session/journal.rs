//! The journal: what is about to happen and what happened, one JSON object a line, appended.
//!
//! It is the memory that survives a crash in the middle of a round. Before a step runs, the journal
//! says so on the disk; so a step that has a `started` and no `finished` may have happened, and is
//! reported as interrupted rather than run again. `round` carries the whole session as it was
//! saved: should the session file be lost or stale, the journal has it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{CheckReport, Session};
use crate::checkpoint::{Before, Snapshot};
use crate::error::{Error, Result};
use crate::fs::sync_directory;
use crate::protocol::{Batch, SessionId, StepResult};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Record {
    /// A reply was taken out of the inbox for this round.
    Claimed {
        /// The round that it answers.
        sequence: u32,
        /// Where it lies now, in `inbox/processed/`.
        file: String,
        /// The identity of its text.
        identity: String,
    },
    /// What the workspace is before the steps of a round.
    Before {
        /// The round.
        sequence: u32,
        /// Its checkpoint.
        #[serde(flatten)]
        before: Before,
    },
    /// What the steps of a round made of the workspace.
    After {
        /// The round.
        sequence: u32,
        /// Its checkpoint.
        snapshot: Snapshot,
    },
    /// The steps of a round may have changed something, and there is no checkpoint to tell what.
    Uncovered {
        /// The round.
        sequence: u32,
    },
    /// The person's check is about to be run.
    Checking {
        /// The round.
        sequence: u32,
        /// The command.
        command: String,
    },
    /// The person's check has ended.
    Checked {
        /// The round.
        sequence: u32,
        /// How.
        report: CheckReport,
    },
    /// The person took these rounds back.
    Undone {
        /// The rounds.
        rounds: Vec<u32>,
        /// The files that could not be restored.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<String>,
    },
    /// The person put these rounds again.
    Redone {
        /// The rounds.
        rounds: Vec<u32>,
        /// The files that could not be restored.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<String>,
    },
    /// The person opened a session again that had ended.
    Reopened {
        /// The round that comes next.
        sequence: u32,
    },
    /// The person said what they want beyond the task.
    Instructed {
        /// The round whose message tells it first.
        sequence: u32,
        /// What they said.
        text: String,
    },
    /// The message of a round was written anew for a chat that knows nothing.
    HandedOver {
        /// The round.
        sequence: u32,
    },
    /// The session goes on from a round of another one.
    Forked {
        /// The other session.
        from: SessionId,
        /// The last round that they have in common.
        round: u32,
    },
    /// These steps are about to be executed, by their numbers.
    Started {
        /// The round.
        sequence: u32,
        /// The numbers of the steps.
        steps: Vec<u32>,
        /// What they change in files, prepared and not yet made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        batch: Option<Batch>,
    },
    /// A step was executed.
    Finished {
        /// The round.
        sequence: u32,
        /// What became of it.
        result: StepResult,
    },
    /// A round is over; the session goes on from here.
    Round {
        /// The session as it was saved.
        session: Box<Session>,
    },
}

/// What the journal knows of a round that was not finished.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The session as the last finished round left it, if any round was finished.
    pub session: Option<Session>,
    /// The claimed reply of the round that was under way.
    pub claimed: Option<ClaimedReply>,
    /// Steps of that round that were begun.
    pub started: Vec<u32>,
    /// What they change in files, group by group.
    pub batches: Vec<Batch>,
    /// Steps of that round that were finished.
    pub finished: Vec<StepResult>,
    /// What the workspace was before that round.
    pub before: Option<Before>,
    /// How far the person's check came.
    pub check: CheckProgress,
    /// Rounds that were taken back since the session was saved.
    pub undone: Vec<u32>,
    /// Rounds that were put again since the session was saved.
    pub redone: Vec<u32>,
    /// How many bytes of a half-written last line were cut off.
    pub torn_bytes: u64,
    /// When the journal was last written.
    pub written_at: Option<SystemTime>,
}

/// A reply that is being carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedReply {
    /// Its file in `inbox/processed/`.
    pub file: String,
    /// What it was when it was claimed.
    pub identity: String,
}

/// How far the person's check came since the session was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CheckProgress {
    /// It was not begun.
    #[default]
    NotBegun,
    /// This command was begun, and nobody knows how it ended.
    Begun(String),
    /// It ended like this.
    Ended(CheckReport),
}

/// Whether an append waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// It is on the disk when the call returns.
    Now,
    /// It is with the system; a later synced append takes it along.
    Later,
}

/// An open journal.
///
/// The loop and an undo may have it open at the same time; whoever appends holds the `RoundLock`.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// How much of it is known here, in bytes.
    known: u64,
}

impl Journal {
    /// Opens or makes the journal of a session and tells what it knows.
    ///
    /// A torn last line, left by a crash, is cut off. Damage before it is an error that names the
    /// line: nothing is guessed.
    pub fn open(path: &Path) -> Result<(Self, Recovered)> {
        let failed = |cause: std::io::Error| Error::file("open", path, cause);
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        crate::platform::ours(&mut options);
        let is_new = !path.exists();
        let file = options.open(path).map_err(failed)?;
        if let (true, Some(directory)) = (is_new, path.parent()) {
            sync_directory(directory).map_err(failed)?;
        }
        // Before a torn line is cut off, which counts as a write.
        let written_at = file.metadata().and_then(|metadata| metadata.modified());
        let (mut recovered, known) = read(path, &file)?;
        recovered.written_at = written_at.ok();
        let path = path.to_owned();
        Ok((Self { path, file, known }, recovered))
    }

    /// What others appended since this was opened, or asked the last time.
    ///
    /// A line that cannot be read is an error that names it: what it told cannot be guessed.
    pub fn news(&mut self) -> Result<Vec<Record>> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut news = Vec::new();
            let mut file = &self.file;
            if file.metadata()?.len() > self.known {
                file.seek(SeekFrom::Start(self.known))?;
                file.read_to_end(&mut news)?;
            }
            Ok(news)
        };
        let news = read().map_err(|cause| Error::file("read", &self.path, cause))?;
        let mut records = Vec::new();
        let mut known = self.known;
        for line in news.split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                break;
            }
            let record = serde_json::from_slice(line)
                .map_err(|cause| damaged(&self.path, &self.file, known, cause))?;
            records.push(record);
            known += line.len() as u64;
        }
        self.known = known;
        Ok(records)
    }

    /// Appends records in one write.
    pub fn append(&mut self, records: &[Record], sync: Sync) -> Result<()> {
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, record)
                .map_err(|cause| Error::file("write", &self.path, cause))?;
            lines.push(b'\n');
        }
        let write = || {
            let mut file = &self.file;
            file.write_all(&lines)?;
            if sync == Sync::Now {
                file.sync_data()
            } else {
                Ok(())
            }
        };
        write().map_err(|cause| {
            // Half a line would be glued to the next one; what cannot be cut off now is cut off
            // when the journal is opened again.
            let _ = self.file.set_len(self.known);
            Error::file("write", &self.path, cause)
        })?;
        self.known += lines.len() as u64;
        Ok(())
    }

    /// Brings what was appended onto the disk.
    pub fn sync(&self) -> Result<()> {
        self.file
            .sync_data()
            .map_err(|cause| Error::file("write", &self.path, cause))
    }
}

/// Reads what happened since the last finished round, and cuts off a torn last line; tells how long
/// the journal is.
///
/// Only the end of the journal is read, so that the cost does not grow with the rounds before.
/// Records are appended in whole lines: one without its line break was torn by a crash, one that
/// cannot be read in spite of it is damaged.
fn read(path: &Path, file: &File) -> Result<(Recovered, u64)> {
    let failed = |cause: std::io::Error| Error::file("read", path, cause);
    let (start, mut tail) = read_tail(file).map_err(failed)?;
    let mut recovered = Recovered::default();
    let whole = tail
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    if whole < tail.len() {
        recovered.torn_bytes = (tail.len() - whole) as u64;
        file.set_len(start + whole as u64).map_err(failed)?;
        tail.truncate(whole);
    }
    let mut at = start;
    for line in tail.split_inclusive(|byte| *byte == b'\n') {
        let record =
            serde_json::from_slice(line).map_err(|cause| damaged(path, file, at, cause))?;
        recovered.take(record);
        at += line.len() as u64;
    }
    Ok((recovered, start + whole as u64))
}

/// Names the line that cannot be read, which begins at this byte.
fn damaged(path: &Path, mut file: &File, at: u64, cause: serde_json::Error) -> Error {
    let mut lines = 1;
    let mut count = || -> std::io::Result<()> {
        file.seek(SeekFrom::Start(0))?;
        let mut before = BufReader::new(file.take(at));
        loop {
            let chunk = before.fill_buf()?;
            if chunk.is_empty() {
                return Ok(());
            }
            lines += memchr::memchr_iter(b'\n', chunk).count();
            let length = chunk.len();
            before.consume(length);
        }
    };
    let which = match count() {
        Ok(()) => format!("line {lines}"),
        Err(_) => "a line near the end".to_owned(),
    };
    damaged_line(path, &which, cause)
}

/// Says that a line, named like `line 7`, cannot be read.
pub(super) fn damaged_line(path: &Path, which: &str, cause: serde_json::Error) -> Error {
    Error::mendable(format!("{which} of `{}` cannot be read", path.display()))
        .because(cause)
        .hint("if a newer version of `agent` wrote it, update; else restore the file from a backup")
}

/// The journal from its last `round` on, and where that begins; all of it if there is none.
fn read_tail(mut file: &File) -> std::io::Result<(u64, Vec<u8>)> {
    const ROUND: &[u8] = b"\n{\"event\":\"round\"";
    let length = file.seek(SeekFrom::End(0))?;
    let mut window = FIRST_WINDOW.min(length);
    loop {
        file.seek(SeekFrom::Start(length - window))?;
        let mut tail = Vec::with_capacity(usize::try_from(window).unwrap_or_default());
        file.take(window).read_to_end(&mut tail)?;
        if let Some(at) = memchr::memmem::rfind(&tail, ROUND) {
            return Ok((length - window + at as u64 + 1, tail.split_off(at + 1)));
        }
        if window == length {
            return Ok((0, tail));
        }
        window = (window * 4).min(length);
    }
}

/// How much of the end is looked at first, in bytes.
const FIRST_WINDOW: u64 = 64 * 1024;

impl Recovered {
    fn take(&mut self, record: Record) {
        match record {
            Record::Claimed { file, identity, .. } => {
                self.claimed = Some(ClaimedReply { file, identity });
                self.before = None;
                self.check = CheckProgress::NotBegun;
                self.started.clear();
                self.batches.clear();
                self.finished.clear();
            }
            Record::Started { steps, batch, .. } => {
                // A step that is begun a second time is not finished, whatever it was before.
                self.finished
                    .retain(|result| !steps.contains(&result.number));
                self.started.extend(steps);
                self.batches.extend(batch);
            }
            Record::Finished { result, .. } => self.finished.push(result),
            Record::Round { session } => {
                *self = Self {
                    session: Some(*session),
                    ..Self::default()
                };
            }
            Record::Before { before, .. } => self.before = Some(before),
            Record::Checking { command, .. } => self.check = CheckProgress::Begun(command),
            Record::Checked { report, .. } => self.check = CheckProgress::Ended(report),
            Record::Undone { rounds, .. } => {
                self.redone.retain(|round| !rounds.contains(round));
                self.undone.extend(rounds);
            }
            Record::Redone { rounds, .. } => {
                self.undone.retain(|round| !rounds.contains(round));
                self.redone.extend(rounds);
            }
            Record::After { .. }
            | Record::Uncovered { .. }
            | Record::Reopened { .. }
            | Record::Instructed { .. }
            | Record::HandedOver { .. }
            | Record::Forked { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::session::tests::session;

    fn claimed(sequence: u32) -> Record {
        Record::Claimed {
            sequence,
            file: format!("r{sequence}.txt"),
            identity: "x".to_owned(),
        }
    }

    fn file_of(recovered: &Recovered) -> Option<&str> {
        recovered
            .claimed
            .as_ref()
            .map(|claimed| claimed.file.as_str())
    }

    fn journal_with(records: &[Record]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j.jsonl");
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.append(records, Sync::Now).unwrap();
        (directory, path)
    }

    #[test]
    fn tells_what_was_under_way() {
        let (_directory, path) = journal_with(&[
            Record::Round {
                session: Box::new(session("ab12cd34")),
            },
            claimed(1),
            Record::Started {
                sequence: 1,
                steps: vec![1, 2],
                batch: None,
            },
        ]);
        let (_, recovered) = Journal::open(&path).unwrap();
        assert_eq!(file_of(&recovered), Some("r1.txt"));
        assert_eq!(recovered.started, [1, 2]);
        assert!(recovered.session.is_some());
    }

    #[test]
    fn a_finished_round_leaves_nothing_under_way() {
        let (_directory, path) = journal_with(&[
            claimed(1),
            Record::Started {
                sequence: 1,
                steps: vec![1],
                batch: None,
            },
            Record::Round {
                session: Box::new(session("ab12cd34")),
            },
        ]);
        let (_, recovered) = Journal::open(&path).unwrap();
        assert_eq!(recovered.claimed, None);
        assert!(recovered.started.is_empty());
    }

    #[test]
    fn a_torn_last_line_is_cut_off_wherever_it_was_torn() {
        let (_directory, path) = journal_with(&[claimed(1), claimed(2)]);
        let whole = fs::read(&path).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for length in first + 1..whole.len() {
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(0)
                .unwrap();
            File::options()
                .append(true)
                .open(&path)
                .unwrap()
                .write_all(&whole[..length])
                .unwrap();
            let (mut journal, recovered) = Journal::open(&path).unwrap();
            assert_eq!(recovered.torn_bytes, (length - first) as u64);
            assert_eq!(file_of(&recovered), Some("r1.txt"));
            journal.append(&[claimed(3)], Sync::Later).unwrap();
            assert_eq!(file_of(&Journal::open(&path).unwrap().1), Some("r3.txt"));
        }
    }

    #[test]
    fn what_another_process_appended_is_news_once() {
        let (_directory, path) = journal_with(&[claimed(1)]);
        let (mut ours, _) = Journal::open(&path).unwrap();
        let (mut theirs, _) = Journal::open(&path).unwrap();
        ours.append(&[claimed(2)], Sync::Later).unwrap();
        assert!(ours.news().unwrap().is_empty());
        let undone = Record::Undone {
            rounds: vec![1],
            open: Vec::new(),
        };
        theirs.news().unwrap();
        theirs
            .append(std::slice::from_ref(&undone), Sync::Later)
            .unwrap();
        assert_eq!(ours.news().unwrap(), [undone]);
        assert!(ours.news().unwrap().is_empty());
    }

    #[test]
    fn news_that_cannot_be_read_are_an_error_each_time() {
        let (_directory, path) = journal_with(&[claimed(1)]);
        let (mut ours, _) = Journal::open(&path).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"event\":\"undonf\"}\n").unwrap();
        for _ in 0..2 {
            let error = ours.news().unwrap_err();
            assert!(error.to_string().starts_with("line 2 of `"), "{error}");
        }
    }

    #[test]
    fn a_whole_line_that_cannot_be_read_is_named_and_not_cut_off() {
        let (_directory, path) = journal_with(&[claimed(1)]);
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"event\":\"newer\"}\n")
            .unwrap();
        let before = fs::read(&path).unwrap();
        let error = Journal::open(&path).unwrap_err();
        assert!(error.to_string().starts_with("line 2 of `"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn only_the_end_counts_however_long_the_journal_is() {
        let round = Record::Round {
            session: Box::new(session("ab12cd34")),
        };
        let mut records = vec![Record::Started {
            sequence: 1,
            steps: (0..30_000).collect(),
            batch: None,
        }];
        records.extend([round.clone(), claimed(7)]);
        records.push(Record::Started {
            sequence: 7,
            steps: (0..30_000).collect(),
            batch: None,
        });
        let (_directory, path) = journal_with(&records);
        let (_, recovered) = Journal::open(&path).unwrap();
        assert_eq!(file_of(&recovered), Some("r7.txt"));
        assert_eq!(recovered.started.len(), 30_000);
        assert!(recovered.session.is_some());
    }
}
