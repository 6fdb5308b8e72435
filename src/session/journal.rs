//! The journal: what is about to happen and what happened, one JSON object a line, appended.
//!
//! It is the memory that survives a crash in the middle of a round. Before a step runs, the journal
//! says so on the disk; so a step that has a `started` and no `finished` may have happened, and is
//! reported as interrupted rather than run again. `round` carries the whole session as it was
//! saved: should the session file be lost or stale, the journal has it.

mod record;
mod recovered;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs::sync_directory;

use crate::checkpoint::Snapshot;
use crate::session::Session;

pub use self::record::Record;
pub(super) use self::record::RecordProblem;
pub use self::recovered::{CheckProgress, ClaimedReply, Recovered};

/// Whether an append waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// It is on the disk when the call returns.
    Now,
    /// It is with the system; a later synced append takes it along.
    Later,
}

/// The checkpoints that the end of a journal depends on.
///
/// The state file may not know them: it is written after the journal, and only when a round ends.
#[derive(Debug, Default)]
pub struct JournalEnd {
    /// The session as the last finished round left it.
    pub session: Option<Session>,
    /// The checkpoints of the round that was not finished.
    pub under_way: Vec<Snapshot>,
}

impl JournalEnd {
    /// Reads the end of a journal and leaves the file alone; a torn last line is passed over.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let failed = |cause: std::io::Error| Error::file("read", path, cause);
        let file = match File::open(path) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            opened => opened.map_err(failed)?,
        };
        let (mut at, tail) = read_tail(&file).map_err(failed)?;
        let mut end = Self::default();
        for line in tail.split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                break;
            }
            let record =
                Record::parse(line).map_err(|problem| unreadable(path, &file, at, problem))?;
            match record {
                Record::Round { session } => end.session = Some(*session),
                Record::Before { before, .. } => end.under_way.push(before.snapshot),
                Record::After { snapshot, .. } => end.under_way.push(snapshot),
                _ => {}
            }
            at += line.len() as u64;
        }
        Ok(end)
    }
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
    /// line, and so is a record of a newer version: nothing is guessed, and nothing is changed.
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
            let record = Record::parse(line)
                .map_err(|problem| unreadable(&self.path, &self.file, known, problem))?;
            records.push(record);
            known += line.len() as u64;
        }
        self.known = known;
        Ok(records)
    }

    /// Appends records in one write.
    pub fn append(&mut self, records: &[Record], sync: Sync) -> Result<()> {
        let mut lines = String::new();
        for record in records {
            lines += &crate::json::to_line(record)
                .map_err(|cause| Error::file("write", &self.path, cause))?;
            lines.push('\n');
        }
        let write = || {
            let mut file = &self.file;
            file.write_all(lines.as_bytes())?;
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
    let torn = tail.split_off(whole);
    let mut at = start;
    for line in tail.split_inclusive(|byte| *byte == b'\n') {
        let record = Record::parse(line).map_err(|problem| unreadable(path, file, at, problem))?;
        recovered.take(record);
        at += line.len() as u64;
    }
    // Only once the rest is known to be readable: a journal that is refused stays as it is.
    if !torn.is_empty() {
        recovered.torn_bytes = torn.len() as u64;
        file.set_len(at).map_err(failed)?;
    }
    Ok((recovered, at))
}

/// Names the line that cannot be read, which begins at this byte.
fn unreadable(path: &Path, mut file: &File, at: u64, problem: RecordProblem) -> Error {
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
    problem.in_line(path, &which)
}

/// The journal from its last whole `round` on, and where that begins; all of it if there is none.
///
/// A `round` that was torn ended nothing: what was under way before it still is.
fn read_tail(mut file: &File) -> std::io::Result<(u64, Vec<u8>)> {
    const ROUND: &[u8] = b"\n{\"event\":\"round\"";
    let length = file.seek(SeekFrom::End(0))?;
    let mut window = FIRST_WINDOW.min(length);
    loop {
        file.seek(SeekFrom::Start(length - window))?;
        let mut tail = Vec::with_capacity(usize::try_from(window).unwrap_or_default());
        file.take(window).read_to_end(&mut tail)?;
        let whole = memchr::memrchr(b'\n', &tail).unwrap_or(0);
        if let Some(at) = memchr::memmem::rfind(&tail[..whole], ROUND) {
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
    fn a_torn_round_ends_nothing() {
        let round = Record::Round {
            session: Box::new(session("ab12cd34")),
        };
        let (_directory, path) = journal_with(&[round.clone(), claimed(1), round]);
        let whole = fs::read(&path).unwrap();
        let last = memchr::memrchr(b'\n', &whole[..whole.len() - 1]).unwrap() + 1;
        for length in last + 1..whole.len() {
            crate::fs::write_atomic(&path, &whole[..length], crate::fs::Durability::Atomic)
                .unwrap();
            let (_, recovered) = Journal::open(&path).unwrap();
            assert_eq!(recovered.torn_bytes, (length - last) as u64);
            assert_eq!(file_of(&recovered), Some("r1.txt"));
            assert!(recovered.session.is_some());
        }
    }

    #[test]
    fn a_journal_that_is_refused_keeps_its_torn_line() {
        let (_directory, path) = journal_with(&[claimed(1)]);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"event\":\"merged\"}\n{\"event\":\"cla")
            .unwrap();
        let before = fs::read(&path).unwrap();
        let error = Journal::open(&path).unwrap_err();
        assert!(error.to_string().contains("newer `agent`"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
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
        file.write_all(b"{\"event\":\"undone\"}\n").unwrap();
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
            .write_all(b"{\"event\":\"claimed\"}\n")
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
