//! The journal: what is about to happen and what happened, one JSON object a line, appended.
//!
//! It is the memory that survives a crash in the middle of a round. Before a step runs, the journal
//! says so on the disk; so a step that has a `started` and no `finished` may have happened, and is
//! reported as interrupted rather than run again. `round` carries the whole session as it was
//! saved: should the session file be lost or stale, the journal has it.
//!
//! Only what ends with a line break counts. Where the end is torn, or the journal is shorter than it
//! once was, records are missing: the next append says so with `truncated`, and until the next
//! `round` nothing is executed on the ground that the journal does not mention it.

mod compact;
mod delta;
mod high_water;
mod record;
mod recovered;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs::sync_directory;

use crate::checkpoint::Snapshot;
use crate::session::Session;

pub use self::compact::KeptSession;
pub use self::delta::JsonDelta;
use self::high_water::HighWaterMark;
pub(super) use self::record::RecordProblem;
pub use self::record::{MissingRecords, Record};
pub use self::recovered::{CheckProgress, ClaimedReply, Recovered};

/// When an append reaches the disk.
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
                Record::Round { session, .. } => end.session = Some(*session),
                Record::Before { before, .. } => {
                    end.under_way.push(before.snapshot);
                    end.under_way.extend(before.original);
                }
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
/// The loop and an undo may have it open at the same time; the one that appends holds the `RoundLock`.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// How much of it is known here, in bytes.
    known: u64,
    mark: HighWaterMark,
    /// Records that are missing, which the next append has to tell.
    untold: Option<MissingRecords>,
    /// How often it was compacted.
    number: u64,
    /// How many bytes are compacted.
    compacted: u64,
    /// How long the last `round` record is, in bytes.
    last_round: u64,
}

impl Journal {
    /// Opens or makes the journal of a session and tells what it knows.
    ///
    /// Nothing in it is changed: a torn last line, left by a crash, is cut off by the next append.
    /// Damage before it is an error that names the line, and so is a record of a newer version:
    /// nothing is guessed.
    pub fn open(path: &Path) -> Result<(Self, Recovered)> {
        let failed = |cause: std::io::Error| Error::file("open", path, cause);
        let is_new = !path.exists();
        let file = open_file(path).map_err(failed)?;
        if let (true, Some(directory)) = (is_new, path.parent()) {
            sync_directory(directory).map_err(failed)?;
        }
        let written_at = file.metadata().and_then(|metadata| metadata.modified());
        let JournalTail {
            mut recovered,
            known,
            last_round,
        } = read(path, &file)?;
        recovered.written_at = written_at.ok();
        let mark = HighWaterMark::of_journal(path);
        let noted = mark.read();
        recovered.lost_bytes = noted.unwrap_or_default().saturating_sub(known);
        let is_mark_lost = noted.is_none() && recovered.is_marked;
        let untold = if recovered.lost_bytes > 0 || is_mark_lost {
            Some(MissingRecords::ActedOn)
        } else if recovered.torn_bytes > 0 {
            Some(noted.map_or(MissingRecords::ActedOn, |_| MissingRecords::NotActedOn))
        } else {
            None
        };
        recovered.missing = recovered.missing.max(untold);
        let (number, compacted) = header(&file).map_err(failed)?;
        let path = path.to_owned();
        let journal = Self {
            path,
            file,
            known,
            mark,
            untold,
            number,
            compacted,
            last_round,
        };
        Ok((journal, recovered))
    }

    /// Opens the file that has the name now, because another one took it.
    fn reopen(&mut self) -> Result<()> {
        let failed = |cause: std::io::Error| Error::file("open", &self.path, cause);
        self.file = open_file(&self.path).map_err(failed)?;
        (self.number, self.compacted) = header(&self.file).map_err(failed)?;
        let tail = read(&self.path, &self.file)?;
        (self.known, self.last_round) = (tail.known, tail.last_round);
        Ok(())
    }

    /// Notices that another process compacted the journal: what it has since its last `round` is
    /// news then, at the risk of being told twice.
    fn notice_replacement(&mut self) -> Result<()> {
        // One that is gone is not replaced.
        let now = File::open(&self.path).and_then(|file| header(&file));
        if now.is_ok_and(|(number, _)| number != self.number) {
            self.reopen()?;
            let (start, _) =
                read_tail(&self.file).map_err(|cause| Error::file("read", &self.path, cause))?;
            self.known = start + self.last_round;
        }
        Ok(())
    }

    /// Records that other processes appended since the last call.
    ///
    /// A line that cannot be read is an error that names it: what it told cannot be guessed.
    pub fn news(&mut self) -> Result<Vec<Record>> {
        self.notice_replacement()?;
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

    /// Appends records in one write, after whole lines only.
    pub fn append(&mut self, records: &[Record], sync: Sync) -> Result<()> {
        let failed = |path: &Path, cause: std::io::Error| Error::file("write", path, cause);
        let start = (self.cut_torn_end()).map_err(|cause| failed(&self.path, cause))?;
        let missing = self.untold.map(|missing| Record::Truncated { missing });
        let mut lines = String::new();
        let mut last_round = self.last_round;
        for record in missing.iter().chain(records) {
            let start = lines.len();
            let round = self.marked(record);
            lines += &crate::json::to_line(round.as_ref().unwrap_or(record))
                .map_err(|cause| Error::file("write", &self.path, cause))?;
            lines.push('\n');
            if round.is_some() {
                last_round = (lines.len() - start) as u64;
            }
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
            // What cannot be cut off now is cut off by the next append.
            let _ = self.file.set_len(start);
            failed(&self.path, cause)
        })?;
        self.untold = None;
        self.last_round = last_round;
        // What another process appended and nobody asked for yet stays news.
        if start <= self.known {
            self.known = start + lines.len() as u64;
        }
        if sync == Sync::Now {
            self.note_synced();
        }
        Ok(())
    }

    /// A `round` record that tells whether there is a mark; `None` for other records.
    fn marked(&mut self, record: &Record) -> Option<Record> {
        let Record::Round { session, .. } = record else {
            return None;
        };
        Some(Record::Round {
            session: session.clone(),
            marked: self.mark.ensure(),
        })
    }

    /// Cuts off half a line, which a process left that was killed or had no room; tells where the
    /// journal ends then.
    fn cut_torn_end(&mut self) -> std::io::Result<u64> {
        let mut file = &self.file;
        let length = file.metadata()?.len();
        if length < self.known {
            self.untold = Some(MissingRecords::ActedOn);
        }
        if length <= self.known {
            return Ok(length);
        }
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(self.known))?;
        file.read_to_end(&mut rest)?;
        let end = self.known + whole_lines(&rest) as u64;
        if end < length {
            self.untold.get_or_insert(MissingRecords::NotActedOn);
            file.set_len(end)?;
        }
        Ok(end)
    }

    /// Brings what was appended onto the disk.
    pub fn sync(&mut self) -> Result<()> {
        self.file
            .sync_data()
            .map_err(|cause| Error::file("write", &self.path, cause))?;
        self.note_synced();
        Ok(())
    }

    /// Notes that all of it is on the disk, after somebody synced the whole file system.
    pub fn note_synced(&mut self) {
        self.mark.note(self.known);
    }
}

/// How many bytes of a text are whole lines.
fn whole_lines(text: &[u8]) -> usize {
    memchr::memrchr(b'\n', text).map_or(0, |last| last + 1)
}

/// Reads what happened since the last finished round; tells how many bytes are whole lines.
///
/// Only the end of the journal is read, so that the cost does not grow with the rounds before.
/// Records are appended in whole lines: one without its line break was torn by a crash, one that
/// cannot be read in spite of it is damaged.
fn read(path: &Path, file: &File) -> Result<JournalTail> {
    let failed = |cause: std::io::Error| Error::file("read", path, cause);
    let (start, tail) = read_tail(file).map_err(failed)?;
    let mut recovered = Recovered::default();
    let (whole, torn) = tail.split_at(whole_lines(&tail));
    let mut at = start;
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        let record = Record::parse(line).map_err(|problem| unreadable(path, file, at, problem))?;
        recovered.take(record);
        at += line.len() as u64;
    }
    recovered.torn_bytes = torn.len() as u64;
    let last_round = match &recovered.session {
        Some(_) => memchr::memchr(b'\n', whole).map_or(0, |end| end as u64 + 1),
        None => 0,
    };
    Ok(JournalTail {
        recovered,
        known: at,
        last_round,
    })
}

fn open_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    crate::platform::ours(&mut options);
    options.open(path)
}

/// How often a journal was compacted, and how many bytes that left; it may be a short one, or none.
fn header(mut file: &File) -> std::io::Result<(u64, u64)> {
    let mut first = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MAX_HEADER).read_to_end(&mut first)?;
    let line = first.split(|byte| *byte == b'\n').next();
    Ok(match line.map(serde_json::from_slice) {
        Some(Ok(Record::Compacted { number, bytes })) => (number, bytes),
        _ => (0, 0),
    })
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
fn read_tail(mut file: &File) -> std::io::Result<(u64, Vec<u8>)> {
    const ROUND: &[u8] = b"\n{\"event\":\"round\"";
    let length = file.seek(SeekFrom::End(0))?;
    let mut window = FIRST_WINDOW.min(length);
    loop {
        file.seek(SeekFrom::Start(length - window))?;
        let mut tail = Vec::with_capacity(usize::try_from(window).unwrap_or_default());
        file.take(window).read_to_end(&mut tail)?;
        // A torn `round` is none: what was under way before it still is.
        let whole = &tail[..whole_lines(&tail)];
        if let Some(at) = memchr::memmem::rfind(whole, ROUND) {
            return Ok((length - window + at as u64 + 1, tail.split_off(at + 1)));
        }
        if window == length {
            return Ok((0, tail));
        }
        window = (window * 4).min(length);
    }
}

/// The end of a journal.
struct JournalTail {
    recovered: Recovered,
    /// How many bytes of the journal are whole lines.
    known: u64,
    /// How long the last `round` is.
    last_round: u64,
}

/// The most bytes that the record of a compaction has.
const MAX_HEADER: u64 = 128;
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
                marked: false,
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
                marked: false,
            },
        ]);
        let (_, recovered) = Journal::open(&path).unwrap();
        assert_eq!(recovered.claimed, None);
        assert!(recovered.started.is_empty());
    }

    /// A journal that is cut to so many bytes, as a crash does it.
    fn cut(path: &Path, whole: &[u8], length: usize) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(0).unwrap();
        (&file).write_all(&whole[..length]).unwrap();
    }

    fn round() -> Record {
        Record::Round {
            session: Box::new(session("ab12cd34")),
            marked: false,
        }
    }

    fn started(step: u32) -> Record {
        Record::Started {
            sequence: 1,
            steps: vec![step],
            batch: None,
        }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_by_the_next_append_wherever_it_was_torn() {
        let (_directory, path) = journal_with(&[claimed(1), claimed(2)]);
        let whole = fs::read(&path).unwrap();
        let first = whole_lines(&whole[..whole.len() - 1]);
        for length in first + 1..whole.len() {
            cut(&path, &whole, length);
            let (mut journal, recovered) = Journal::open(&path).unwrap();
            assert_eq!(recovered.torn_bytes, (length - first) as u64);
            assert_eq!(file_of(&recovered), Some("r1.txt"));
            assert_eq!(fs::read(&path).unwrap(), whole[..length]);
            journal.append(&[claimed(3)], Sync::Later).unwrap();
            let (_, recovered) = Journal::open(&path).unwrap();
            assert_eq!(file_of(&recovered), Some("r3.txt"));
            assert_eq!(recovered.missing, Some(MissingRecords::ActedOn));
        }
    }

    #[test]
    fn a_torn_round_leaves_the_one_before_it_under_way() {
        let (_directory, path) = journal_with(&[round(), claimed(1), started(1)]);
        let before = fs::read(&path).unwrap().len();
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.append(&[round()], Sync::Now).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in before..whole.len() {
            cut(&path, &whole, length);
            let (_, recovered) = Journal::open(&path).unwrap();
            assert_eq!(file_of(&recovered), Some("r1.txt"), "{length}");
            assert_eq!(recovered.started, [1], "{length}");
            assert!(recovered.session.is_some(), "{length}");
        }
    }

    /// Sessions of version 0.1.0 never had a mark.
    #[test]
    fn a_mark_that_is_gone_counts_as_a_loss_and_one_that_never_was_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("ab12cd34");
        fs::create_dir(&folder).unwrap();
        let path = directory.path().join("ab12cd34.journal.jsonl");
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.append(&[round()], Sync::Later).unwrap();
        journal.append(&[claimed(1)], Sync::Now).unwrap();
        let rest = fs::read(&path).unwrap().len();
        journal.append(&[started(1)], Sync::Now).unwrap();
        let whole = fs::read(&path).unwrap();
        assert_eq!(Journal::open(&path).unwrap().1.missing, None);
        fs::remove_file(folder.join("journal.length")).unwrap();
        for length in [rest, whole.len()] {
            cut(&path, &whole, length);
            let (_, recovered) = Journal::open(&path).unwrap();
            assert_eq!(recovered.missing, Some(MissingRecords::ActedOn));
        }
        // It is told once.
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.append(&[round()], Sync::Now).unwrap();
        assert_eq!(Journal::open(&path).unwrap().1.missing, None);
        let (_directory, path) = journal_with(&[round(), claimed(1)]);
        assert_eq!(Journal::open(&path).unwrap().1.missing, None);
    }

    #[test]
    fn a_journal_that_is_shorter_than_it_was_has_lost_what_was_acted_on() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("ab12cd34")).unwrap();
        let path = directory.path().join("ab12cd34.journal.jsonl");
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.append(&[round()], Sync::Now).unwrap();
        let between = fs::read(&path).unwrap().len();
        journal.append(&[claimed(1)], Sync::Now).unwrap();
        journal.append(&[started(1)], Sync::Later).unwrap();
        let whole = fs::read(&path).unwrap();
        let synced = whole_lines(&whole[..whole.len() - 1]);
        for (length, missing) in [
            (between, Some(MissingRecords::ActedOn)),
            (between + 1, Some(MissingRecords::ActedOn)),
            (synced, None),
            (synced + 1, Some(MissingRecords::NotActedOn)),
        ] {
            cut(&path, &whole, length);
            let (_, recovered) = Journal::open(&path).unwrap();
            assert_eq!(recovered.missing, missing, "{length}");
        }
        cut(&path, &whole, between);
        let (mut journal, _) = Journal::open(&path).unwrap();
        journal.append(&[claimed(2)], Sync::Now).unwrap();
        let (mut journal, recovered) = Journal::open(&path).unwrap();
        assert_eq!(recovered.missing, Some(MissingRecords::ActedOn));
        journal.append(&[round()], Sync::Now).unwrap();
        assert_eq!(Journal::open(&path).unwrap().1.missing, None);
    }

    #[test]
    fn half_a_line_of_another_process_is_not_glued_to_the_next_one() {
        let (_directory, path) = journal_with(&[claimed(1)]);
        let (mut ours, _) = Journal::open(&path).unwrap();
        let mut theirs = File::options().append(true).open(&path).unwrap();
        theirs.write_all(b"{\"event\":\"und").unwrap();
        assert!(ours.news().unwrap().is_empty());
        ours.append(&[claimed(2)], Sync::Later).unwrap();
        ours.append(&[claimed(3)], Sync::Later).unwrap();
        assert!(ours.news().unwrap().is_empty());
        assert_eq!(file_of(&Journal::open(&path).unwrap().1), Some("r3.txt"));
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
            marked: false,
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
