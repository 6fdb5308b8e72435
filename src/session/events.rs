//! The events of a session as a file, `sessions/<id>/events.jsonl`: one envelope a line.
//!
//! Every process that works on the session appends: the loop, `agent undo`, `agent say`. A lock of
//! its own (`events.lock`) makes the numbers unique, because events are told inside and outside of the
//! round lock. Nothing depends on the file, so it is not synced, and what cannot be written is only not
//! kept. It is bounded: the oldest events go, and the numbers go on. A line that a kill cut off is
//! removed by the next append. The lock file has the last number, so that none is given twice after
//! the events themselves were cut or deleted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lock::lock_soon;
use super::now;
use crate::error::Error;
use crate::fs::{Durability, own_directory, write_atomic};
use crate::protocol::{EVENT_SCHEMA, Envelope, Event, SessionId};

/// The size from which on the oldest events are removed, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// How much is kept then.
const KEPT: usize = 1024 * 1024;
/// The longest line, in bytes; the texts of longer ones are cut.
const MAX_LINE: usize = 256 * 1024;
/// The longest text in a line that was too long.
const MAX_TEXT: usize = 8 * 1024;
/// The digits of a number in the lock file, so that each overwrites the one before it.
const NUMBER_WIDTH: usize = 20;
/// Greater numbers than this are not believed.
const MAX_NUMBER: u64 = 1 << 53;
/// How much of the end of the file is read first to find the last number.
const TAIL: u64 = 16 * 1024;

/// A line of the file: what `--json` prints.
#[derive(Serialize)]
struct EventLine<'a> {
    #[serde(flatten)]
    envelope: &'a Envelope,
    schema: u32,
}

/// Only the number of a line, whatever version wrote the rest.
#[derive(Deserialize)]
struct EventNumber {
    seq: u64,
}

/// Numbers the events of a session and keeps them.
#[derive(Debug)]
pub struct EventLog {
    session: SessionId,
    folder: PathBuf,
    /// The last number that this process gave, in case the file cannot be read.
    last: u64,
}

impl EventLog {
    /// The events of a session, in its folder.
    pub fn of(folder: PathBuf, session: SessionId) -> Self {
        Self {
            session,
            folder,
            last: 0,
        }
    }

    /// The session whose events these are.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Gives an event its number and its time, and keeps it.
    pub fn append(&mut self, event: Event) -> Envelope {
        let mut envelope = Envelope {
            seq: self.last + 1,
            at: now(),
            session: self.session.clone(),
            event,
        };
        if let Err(cause) = self.try_append(&mut envelope) {
            tracing::debug!(%cause, "an event was not kept");
        }
        self.last = envelope.seq;
        envelope
    }

    fn try_append(&self, envelope: &mut Envelope) -> io::Result<()> {
        // Where the folder of all sessions is gone, the base was renamed: it is not made anew.
        if !self.folder.parent().is_some_and(Path::is_dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        own_directory(&self.folder).map_err(io::Error::other)?;
        let mut lock = self.lock()?;
        let path = path_in(&self.folder);
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        crate::platform::ours(&mut options);
        let mut file = options.open(&path)?;
        let end = EventsEnd::find(&mut file)?;
        if end.is_torn {
            file.set_len(end.length)?;
        }
        envelope.seq = end.seq.max(self.last).max(kept_number(&mut lock)) + 1;
        let line = line_of(envelope)?;
        if end.length + line.len() as u64 > MAX_FILE {
            trim(&path, &mut file, &line)?;
        } else {
            file.write_all(line.as_bytes()).inspect_err(|_| {
                let _ = file.set_len(end.length);
            })?;
        }
        keep_number(&mut lock, envelope.seq)
    }

    /// Keeps others from appending; where there are no locks, only one program at a time is safe.
    fn lock(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        crate::platform::ours(&mut options);
        let file = options.open(lock_in(&self.folder))?;
        match lock_soon(|| file.try_lock()) {
            Err(fs::TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Unsupported => {}
            other => other?,
        }
        Ok(file)
    }
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join("events.jsonl")
}

fn lock_in(folder: &Path) -> PathBuf {
    folder.join("events.lock")
}

/// The last number that was given, as the lock file has it; 0 if that is not known.
fn kept_number(lock: &mut File) -> u64 {
    let mut text = String::new();
    let read = lock.take(NUMBER_WIDTH as u64).read_to_string(&mut text);
    let number = read.ok().and_then(|_| text.trim().parse().ok());
    number.filter(|number| *number < MAX_NUMBER).unwrap_or(0)
}

fn keep_number(lock: &mut File, number: u64) -> io::Result<()> {
    lock.seek(SeekFrom::Start(0))?;
    lock.write_all(format!("{number:0NUMBER_WIDTH$}").as_bytes())
}

/// The number in a line, unless it is one that no session has: what was written there by hand must not
/// end the counting.
fn number_of(line: &[u8]) -> Option<u64> {
    let EventNumber { seq } = serde_json::from_slice(line).ok()?;
    (seq < MAX_NUMBER).then_some(seq)
}

/// Where the whole lines of the file end, and the number of the last one.
struct EventsEnd {
    length: u64,
    seq: u64,
    is_torn: bool,
}

impl EventsEnd {
    fn find(file: &mut File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        let mut tail = TAIL;
        loop {
            let start = size.saturating_sub(tail);
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.take(size - start).read_to_end(&mut bytes)?;
            let whole = bytes.iter().rposition(|byte| *byte == b'\n');
            let whole = whole.map_or(0, |at| at + 1);
            let seq = bytes[..whole]
                .rsplit(|byte| *byte == b'\n')
                .find_map(number_of);
            if seq.is_some() || start == 0 {
                return Ok(Self {
                    length: start + whole as u64,
                    seq: seq.unwrap_or(0),
                    is_torn: whole < bytes.len(),
                });
            }
            tail = tail.saturating_mul(8);
        }
    }
}

/// The line of an event, with its line break; one that is too long has less in it.
fn line_of(envelope: &Envelope) -> io::Result<String> {
    let schema = EVENT_SCHEMA;
    let json = |value: &EventLine<'_>| crate::json::to_line(value).map_err(io::Error::other);
    let mut line = json(&EventLine { envelope, schema })?;
    if line.len() > MAX_LINE {
        line = shortened(envelope, &line)?;
    }
    line.push('\n');
    Ok(line)
}

fn shortened(envelope: &Envelope, line: &str) -> io::Result<String> {
    let mut value: Value = serde_json::from_str(line)?;
    cut_texts(&mut value);
    let short = crate::json::escaped(value.to_string());
    if short.len() <= MAX_LINE {
        return Ok(short);
    }
    let name = value["event"].as_str().unwrap_or_default().to_owned();
    let bytes = line.len();
    let envelope = Envelope {
        event: Event::Omitted { name, bytes },
        ..envelope.clone()
    };
    let schema = EVENT_SCHEMA;
    let omitted = EventLine {
        envelope: &envelope,
        schema,
    };
    crate::json::to_line(&omitted).map_err(io::Error::other)
}

fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            let kept = text.floor_char_boundary(MAX_TEXT);
            let left_out = text.len() - kept;
            *text = format!("{} [... {left_out} bytes left out]", &text[..kept]);
        }
        Value::Array(values) => values.iter_mut().for_each(cut_texts),
        Value::Object(fields) => fields.values_mut().for_each(cut_texts),
        _ => {}
    }
}

/// Puts the latest events and a new one in the place of all.
fn trim(path: &Path, file: &mut File, line: &str) -> io::Result<()> {
    let size = file.metadata()?.len();
    let start = size.saturating_sub(KEPT as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    // Where the middle of a line was met, the next one begins behind its break.
    let begin = bytes.iter().position(|byte| *byte == b'\n');
    let mut content = bytes.split_off(begin.map_or(bytes.len(), |at| at + 1));
    content.extend_from_slice(line.as_bytes());
    write_atomic(path, &content, Durability::Atomic).map_err(|error: Error| io::Error::other(error))
}

/// Reads the events of a session as they come.
#[derive(Debug)]
pub struct EventReader {
    path: PathBuf,
    /// The first number that was not given out yet.
    next: u64,
    /// Up to where the file was read.
    offset: u64,
    /// The number of its first line then: another one means that the file was trimmed.
    first: Option<u64>,
}

impl EventReader {
    /// Begins with the event of this number.
    pub fn starting_at(folder: &Path, seq: u64) -> Self {
        Self {
            path: path_in(folder),
            next: seq.max(1),
            offset: 0,
            first: None,
        }
    }

    /// Gives the events that are new. Where some are not kept any more, a `reset` comes in their
    /// place.
    pub fn read(&mut self) -> Vec<Envelope> {
        self.try_read().unwrap_or_default()
    }

    fn try_read(&mut self) -> io::Result<Vec<Envelope>> {
        let mut options = OpenOptions::new();
        options.read(true);
        crate::platform::ours(&mut options);
        let mut file = BufReader::new(options.open(&self.path)?);
        let mut line = Vec::new();
        file.by_ref()
            .take(2 * MAX_LINE as u64)
            .read_until(b'\n', &mut line)?;
        let first = number_of(&line);
        let size = file.get_ref().metadata()?.len();
        let is_other = first != self.first || size < self.offset;
        if is_other {
            self.offset = 0;
            self.first = first;
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(2 * MAX_FILE).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(whole.map_or(0, |at| at + 1));
        self.offset += bytes.len() as u64;
        let lines = bytes.split(|byte| *byte == b'\n');
        let all: Vec<Envelope> = lines
            .filter_map(|line| serde_json::from_slice::<Envelope>(line).ok())
            .filter(|envelope| envelope.seq < MAX_NUMBER)
            .collect();
        let mut news = Vec::new();
        // Where the lock file was lost too, numbers begin at 1 again.
        if is_other
            && let (Some(begin), Some(end)) = (all.first(), all.last())
            && end.seq + 1 < self.next
        {
            self.next = begin.seq;
            news.push(reset_before(begin));
        }
        for envelope in all {
            if envelope.seq < self.next {
                continue;
            }
            if envelope.seq > self.next {
                news.push(reset_before(&envelope));
            }
            self.next = envelope.seq + 1;
            news.push(envelope);
        }
        Ok(news)
    }
}

/// Says that the events before this one are not kept.
fn reset_before(envelope: &Envelope) -> Envelope {
    Envelope {
        seq: envelope.seq.saturating_sub(1),
        event: Event::Reset,
        ..envelope.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn log(folder: &Path) -> EventLog {
        EventLog::of(folder.to_owned(), SessionId::parse("ab12cd34").unwrap())
    }

    fn note(text: &str) -> Event {
        let text = text.to_owned();
        Event::Note { text }
    }

    fn numbers(folder: &Path, from: u64) -> Vec<u64> {
        let read = EventReader::starting_at(folder, from).read();
        read.iter().map(|envelope| envelope.seq).collect()
    }

    #[test]
    fn numbers_go_on_over_processes() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (log(folder.path()), log(folder.path()));
        assert_eq!(one.append(note("a")).seq, 1);
        assert_eq!(other.append(note("b")).seq, 2);
        assert_eq!(one.append(note("c")).seq, 3);
        assert_eq!(log(folder.path()).append(note("d")).seq, 4);
        assert_eq!(numbers(folder.path(), 1), [1, 2, 3, 4]);
        assert_eq!(numbers(folder.path(), 3), [3, 4]);
    }

    #[test]
    fn many_who_append_at_once_get_numbers_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut log = log(folder.path());
                    for _ in 0..25 {
                        log.append(note("x"));
                    }
                });
            }
        });
        let expected: Vec<u64> = (1..=100).collect();
        assert_eq!(numbers(folder.path(), 1), expected);
    }

    #[test]
    fn a_kill_at_every_byte_of_a_write_loses_no_more_than_that_event() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(folder.path());
        let mut first = log(folder.path());
        first.append(note("one"));
        first.append(note("two"));
        let before = fs::read(&path).unwrap();
        let lock = lock_in(folder.path());
        let number = fs::read(&lock).unwrap();
        first.append(note("three"));
        let after = fs::read(&path).unwrap();
        for cut in before.len()..=after.len() {
            write_atomic(&path, &after[..cut], Durability::Atomic).unwrap();
            // The number is kept after the line.
            write_atomic(&lock, &number, Durability::Atomic).unwrap();
            let mut reader = EventReader::starting_at(folder.path(), 1);
            let seen = reader.read().len();
            let next = log(folder.path()).append(note("next"));
            let is_whole = cut == after.len();
            assert_eq!(seen, if is_whole { 3 } else { 2 }, "cut at {cut}");
            assert_eq!(next.seq, if is_whole { 4 } else { 3 }, "cut at {cut}");
            // A reader that watched meanwhile sees the next one, and nothing twice.
            assert_eq!(reader.read(), [next], "cut at {cut}");
        }
    }

    #[test]
    fn the_file_is_bounded_and_a_reader_of_what_is_gone_is_told_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = log(folder.path());
        let text = "x".repeat(100_000);
        let mut reader = EventReader::starting_at(folder.path(), 1);
        let mut seen = Vec::new();
        for _ in 0..100 {
            log.append(note(&text));
            seen.extend(reader.read());
        }
        let size = fs::metadata(path_in(folder.path())).unwrap().len();
        assert!(size <= MAX_FILE, "{size}");
        // A reader that followed missed nothing.
        let seqs: Vec<u64> = seen.iter().map(|envelope| envelope.seq).collect();
        assert_eq!(seqs, (1..=100).collect::<Vec<u64>>());
        let late = EventReader::starting_at(folder.path(), 1).read();
        assert_eq!(late[0].event, Event::Reset);
        assert_eq!(late.last().unwrap().seq, 100);
        assert!(late.windows(2).all(|two| two[0].seq + 1 == two[1].seq));
    }

    #[test]
    fn a_long_event_is_kept_in_short_and_told_whole() {
        let folder = tempfile::tempdir().unwrap();
        let whole = note(&"é".repeat(MAX_LINE));
        let told = log(folder.path()).append(whole.clone());
        assert_eq!(told.event, whole);
        let kept = EventReader::starting_at(folder.path(), 1).read();
        let Event::Note { text } = &kept[0].event else {
            panic!("{:?}", kept[0]);
        };
        assert!(text.ends_with("bytes left out]") && text.len() < MAX_LINE);
        let files = vec!["a/long/name".repeat(20); 10_000];
        let id = SessionId::parse("ab12cd34").unwrap();
        log(folder.path()).append(Event::Done {
            id,
            summary: String::new(),
            rounds: 1,
            changed: 1,
            files,
            lines: BTreeMap::new(),
            seconds: 1,
            workspace: String::new(),
        });
        let kept = EventReader::starting_at(folder.path(), 2).read();
        assert!(matches!(&kept[0].event, Event::Omitted { name, .. } if name == "done"));
    }

    #[test]
    fn a_file_that_cannot_be_written_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(path_in(folder.path())).unwrap();
        let mut log = log(folder.path());
        assert_eq!(log.append(note("a")).seq, 1);
        assert_eq!(log.append(note("b")).seq, 2);
    }

    #[test]
    fn a_folder_that_is_gone_is_not_made_again() {
        let base = tempfile::tempdir().unwrap();
        let (before, after) = (base.path().join("before"), base.path().join("after"));
        fs::create_dir_all(before.join("sessions")).unwrap();
        let mut log = log(&before.join("sessions"));
        assert_eq!(log.append(note("a")).seq, 1);
        #[expect(clippy::disallowed_methods, reason = "as the person moves it")]
        fs::rename(&before, &after).unwrap();
        assert_eq!(log.append(note("b")).seq, 2);
        assert!(!before.exists());
        assert_eq!(numbers(&after.join("sessions"), 1), [1]);
    }

    #[test]
    fn numbers_go_on_after_the_file_was_lost_or_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(folder.path());
        for _ in 0..5 {
            log(folder.path()).append(note("a"));
        }
        let mut reader = EventReader::starting_at(folder.path(), 1);
        assert_eq!(reader.read().len(), 5);
        fs::remove_file(&path).unwrap();
        assert_eq!(log(folder.path()).append(note("b")).seq, 6);
        write_atomic(&path, b"", Durability::Atomic).unwrap();
        assert_eq!(log(folder.path()).append(note("c")).seq, 7);
        // A reader that followed missed one and hears of it; so does one that asks for what is gone.
        for read in [
            reader.read(),
            EventReader::starting_at(folder.path(), 2).read(),
        ] {
            let events: Vec<_> = read.iter().map(|envelope| &envelope.event).collect();
            assert_eq!(events, [&Event::Reset, &note("c")]);
        }
        let text = fs::read_to_string(&path).unwrap();
        log(folder.path()).append(note("d"));
        write_atomic(&path, text.as_bytes(), Durability::Atomic).unwrap();
        assert_eq!(log(folder.path()).append(note("e")).seq, 9);
    }

    #[test]
    fn where_the_number_is_lost_too_they_begin_anew_and_readers_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = EventReader::starting_at(folder.path(), 1);
        for _ in 0..5 {
            log(folder.path()).append(note("a"));
        }
        assert_eq!(reader.read().len(), 5);
        for garbage in ["", "x\u{fffd}", "99999999999999999999"] {
            fs::remove_file(path_in(folder.path())).unwrap();
            let lock = lock_in(folder.path());
            write_atomic(&lock, garbage.as_bytes(), Durability::Atomic).unwrap();
            log(folder.path()).append(note("b"));
            let news = reader.read();
            let events: Vec<_> = news.iter().map(|envelope| &envelope.event).collect();
            assert_eq!(events, [&Event::Reset, &note("b")], "{garbage}");
            for _ in 0..3 {
                log(folder.path()).append(note("c"));
            }
            assert_eq!(reader.read().len(), 3);
        }
    }

    #[test]
    fn a_number_that_no_session_has_ends_no_counting() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = log(folder.path());
        let mut envelope = log.append(note("one"));
        for seq in [u64::MAX, u64::MAX - 1, MAX_NUMBER] {
            envelope.seq = seq;
            let path = path_in(folder.path());
            let mut text = fs::read_to_string(&path).unwrap();
            text.push_str(&line_of(&envelope).unwrap());
            write_atomic(&path, text.as_bytes(), Durability::Atomic).unwrap();
        }
        assert_eq!(log.append(note("two")).seq, 2);
        assert_eq!(numbers(folder.path(), 1), [1, 2]);
        assert!(numbers(folder.path(), u64::MAX).len() < 4);
    }
}
