//! Compacting a journal: what recovery and history need stays, the rest goes.
//!
//! A `round` record has the whole session, so that a long session has written itself down thousands
//! of times. Of a round that is over, its results stay (`told`), and with them what undo goes by. Of
//! the latest rounds the session stays too, for forks, written as what changed since the round before
//! (`kept`), without the results that stand there already. The last `round` and all after it stay
//! byte by byte: recovery reads nothing else.
//!
//! The new file is written beside the old one and takes its name when it is on the disk. A line that
//! cannot be read is a reason to leave all as it is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::past::{Past, PastRound, is_round};
use super::{Journal, JsonDelta, Record};
use crate::error::{Error, Result};
use crate::fs::{AtomicFile, Durability};
use crate::protocol::StepResult;

/// Of how many of the latest rounds the session is kept: as many as have checkpoints.
const KEPT_SESSIONS: u32 = 50;
/// How many characters of the output of a step are kept of rounds before these, and how many it may
/// have more to be left alone, as one that was cut already has. The message that told the model has
/// more of it.
const MAX_OLD_DETAIL: usize = 400;
const DETAIL_SLACK: usize = 100;
/// A journal is compacted when it has grown by so many times its last `round`, and by a part of what
/// compacting left, so that the work of it does not grow with the rounds before.
const GROWTH: u64 = 4;
const GROWTH_PART: u64 = 4;

/// The session as it stood after a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeptSession {
    /// All of it.
    Whole(Value),
    /// The changes since the previous snapshot.
    Changes(JsonDelta),
}

impl KeptSession {
    /// Makes this session of the one that is kept before it; nothing if that cannot be.
    pub(in super::super) fn follow(self, before: Value) -> Option<Value> {
        match self {
            Self::Whole(session) => Some(session),
            Self::Changes(delta) => {
                let mut session = before;
                delta.apply(&mut session)?;
                Some(session)
            }
        }
    }

    /// Gives a kept session the results of its round.
    pub(in super::super) fn with_results(mut session: Value, told: &[StepResult]) -> Value {
        if let Some(fields) = session.as_object_mut()
            && !fields.contains_key(LAST_RESULTS)
        {
            fields.insert(LAST_RESULTS.to_owned(), json!(told));
        }
        session
    }
}

/// The field of a session that `told` has too.
const LAST_RESULTS: &str = "lastResults";

#[derive(Deserialize)]
struct RawRound {
    session: Value,
}

impl Journal {
    /// True if compacting is worth the work.
    pub fn is_long(&self) -> bool {
        let growth = self.known.saturating_sub(self.compacted);
        growth > GROWTH * self.last_round.max(MIN_ROUND) + self.compacted / GROWTH_PART
    }

    /// Replaces the journal by one that has what is needed; tells by how many bytes it is shorter.
    ///
    /// The caller holds the `RoundLock`, has asked for news, and no round is under way.
    pub fn compact(&mut self) -> Result<u64> {
        // Where it cannot be done, it is tried again when it has grown as much once more.
        self.compacted = self.known;
        let Some(compacted) = Compacted::read(&self.path)? else {
            return Ok(0);
        };
        let failed = |cause: io::Error| Error::file("write", &self.path, cause);
        let lines = compacted.lines(self.number + 1).map_err(failed)?;
        let (before, length) = (self.known, lines.len() as u64 + compacted.tail.len() as u64);
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let mut draft = AtomicFile::begin(directory)?;
        draft.write_all(&lines).map_err(failed)?;
        draft.write_all(&compacted.tail).map_err(failed)?;
        self.mark.lower(length.min(before)).map_err(failed)?;
        draft.finish(&self.path, Durability::Durable)?;
        self.reopen()?;
        self.note_synced();
        Ok(before.saturating_sub(self.known))
    }
}

/// The size of a short `round` record; small journals are left alone.
const MIN_ROUND: u64 = 16 * 1024;

/// The part of a journal that is still needed.
#[derive(Default)]
struct Compacted {
    /// The records for forks and undo.
    history: Vec<u8>,
    rounds: Vec<PastRound>,
    /// The sessions after the latest rounds.
    sessions: BTreeMap<u32, Value>,
    /// The last `round`, and what comes after it.
    tail: Vec<u8>,
}

impl Compacted {
    /// Nothing if there is no whole round, or a line cannot be read.
    fn read(path: &Path) -> Result<Option<Self>> {
        let past = Past::read(path)?;
        let Some(last) = past.rounds.last().map(|last| last.number) else {
            return Ok(None);
        };
        if past.unreadable > 0 {
            return Ok(None);
        }
        let mut compacted = Self {
            rounds: past.rounds,
            ..Self::default()
        };
        let failed = |cause: io::Error| Error::file("read", path, cause);
        let mut reader = BufReader::new(File::open(path).map_err(failed)?);
        let (mut line, mut kept) = (Vec::new(), Value::Null);
        let first = last.saturating_sub(KEPT_SESSIONS);
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 && line.ends_with(b"\n") {
            if is_round(&line) {
                // What went before is told elsewhere; until the next one this may be the last.
                compacted.end_tail(path, first)?;
                compacted.tail.append(&mut line);
                continue;
            }
            if !compacted.tail.is_empty() {
                compacted.tail.extend_from_slice(&line);
            } else if !compacted.take(&line, &mut kept, first) {
                return Ok(None);
            }
            line.clear();
        }
        compacted.leave_out_results();
        Ok(Some(compacted).filter(|compacted| !compacted.tail.is_empty()))
    }

    /// Takes the results out of the sessions whose round is told; that of a fork begins with the
    /// results of another session.
    fn leave_out_results(&mut self) {
        for told in &self.rounds {
            let session = self.sessions.get_mut(&told.number);
            if let Some(fields) = session.and_then(Value::as_object_mut) {
                fields.remove(LAST_RESULTS);
            }
        }
    }

    /// Takes what is to be kept of the last `round` and the records after it, because another
    /// `round` follows.
    fn end_tail(&mut self, path: &Path, first: u32) -> Result<()> {
        let tail = std::mem::take(&mut self.tail);
        let mut lines = tail.split_inclusive(|byte| *byte == b'\n');
        let Some(round) = lines.next() else {
            return Ok(());
        };
        // Only the sessions of the latest rounds are looked into.
        if let Some(number) = number_of(round).filter(|number| *number >= first) {
            let RawRound { session } =
                serde_json::from_slice(round).map_err(|cause| Error::file("read", path, cause))?;
            self.sessions.insert(number, session);
        }
        for line in lines.filter(|line| is_history(line)) {
            self.history.extend_from_slice(line);
        }
        Ok(())
    }

    /// Takes what is to be kept of a record before the first `round`; tells whether it can be read.
    fn take(&mut self, line: &[u8], kept: &mut Value, first: u32) -> bool {
        if is_history(line) {
            self.history.extend_from_slice(line);
        } else if line.starts_with(b"{\"event\":\"kept\"") {
            let Ok(Record::Kept { round, session }) = serde_json::from_slice(line) else {
                return false;
            };
            let Some(session) = session.follow(std::mem::take(kept)) else {
                return false;
            };
            if round >= first {
                self.sessions.insert(round, session.clone());
            }
            *kept = session;
        }
        true
    }

    /// The lines before the tail.
    fn lines(&self, number: u64) -> io::Result<Vec<u8>> {
        let mut lines = self.history.clone();
        let mut write = |record: &Record| -> io::Result<()> {
            lines.extend_from_slice(crate::json::to_line(record)?.as_bytes());
            lines.push(b'\n');
            Ok(())
        };
        let last = self.rounds.last().map_or(0, |last| last.number);
        for round in &self.rounds {
            let mut round = round.clone();
            if round.number < last.saturating_sub(KEPT_SESSIONS) {
                shorten(&mut round);
            }
            write(&Record::Told { round })?;
        }
        let mut before: Option<&Value> = None;
        for (round, session) in &self.sessions {
            let kept = match before {
                None => KeptSession::Whole(session.clone()),
                Some(before) => match JsonDelta::between(before, session) {
                    None => continue,
                    Some(delta) => KeptSession::Changes(delta),
                },
            };
            let round = *round;
            write(&Record::Kept {
                round,
                session: kept,
            })?;
            before = Some(session);
        }
        let bytes = lines.len() as u64;
        let header = Record::Compacted { number, bytes };
        let mut whole = crate::json::to_line(&header)?.into_bytes();
        whole.push(b'\n');
        whole.append(&mut lines);
        Ok(whole)
    }
}

/// Which round a `round` record ends.
fn number_of(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Numbered {
        sequence_number: u32,
    }
    #[derive(Deserialize)]
    struct NumberedRound {
        session: Numbered,
    }
    let record: NumberedRound = serde_json::from_slice(line).ok()?;
    Some(record.session.sequence_number.saturating_sub(1))
}

/// True for records that undo and forks need, and for actions of the person.
fn is_history(line: &[u8]) -> bool {
    const EVENTS: [&[u8]; 9] = [
        b"before\"",
        b"after\"",
        b"uncovered\"",
        b"undone\"",
        b"redone\"",
        b"reopened\"",
        b"instructed\"",
        b"handedOver\"",
        b"forked\"",
    ];
    let event = line.strip_prefix(b"{\"event\":\"");
    event.is_some_and(|event| EVENTS.iter().any(|name| event.starts_with(name)))
}

/// Leaves the beginning and the end of long outputs.
fn shorten(round: &mut PastRound) {
    for result in &mut round.results {
        let detail = &mut result.outcome.detail;
        let total = detail.text.chars().count();
        if total > MAX_OLD_DETAIL + DETAIL_SLACK {
            let omitted = total - MAX_OLD_DETAIL;
            let half = MAX_OLD_DETAIL / 2;
            let head: String = detail.text.chars().take(half).collect();
            let tail: String = detail.text.chars().skip(total - half).collect();
            detail.text =
                format!("{head}\n[TRUNCATED: {omitted} characters are no longer kept]\n{tail}");
            detail.omitted += omitted as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::super::tests::session;
    use super::super::super::{Session, Store};
    use super::*;
    use crate::checkpoint::{Before, Reach, Snapshot};
    use crate::protocol::{Command, Outcome, SessionId, Step};
    use crate::session::Sync;

    fn id() -> SessionId {
        SessionId::parse("ab12cd34").unwrap()
    }

    fn after_round(round: u32) -> Session {
        let mut session = session("ab12cd34");
        session.sequence_number = round + 1;
        session.replies = (round.saturating_sub(9)..=round)
            .map(|one| one.to_string())
            .collect();
        session.plan = Some("a plan\n".repeat(100));
        let step = Step {
            number: 1,
            line: 1,
            command: Command::RunCommand {
                script: format!("echo {round}"),
                timeout: None,
            },
        };
        let outcome = Outcome::ok(format!("round {round}"))
            .with_detail("much ".repeat(if round == 3 { 1_000 } else { 1 }));
        session.last_results = vec![StepResult::new(&step, outcome, std::time::Duration::ZERO)];
        session
    }

    fn records(round: u32) -> Vec<Record> {
        let snapshot = |number: u32| Snapshot::try_from(format!("{number:064x}")).unwrap();
        let (sequence, reach) = (round, Reach::Whole);
        vec![
            Record::Claimed {
                sequence,
                file: format!("r{round}.txt"),
                identity: "x".to_owned(),
            },
            Record::Before {
                sequence,
                before: Before {
                    snapshot: snapshot(round),
                    reach,
                    original: None,
                },
            },
            Record::Started {
                sequence,
                steps: vec![1],
                batch: None,
            },
            Record::After {
                sequence,
                snapshot: snapshot(round + 1),
            },
            Record::Round {
                session: Box::new(after_round(round)),
                marked: false,
            },
        ]
    }

    /// A session of so many rounds, of which one was taken back.
    fn played(rounds: u32) -> (tempfile::TempDir, Store, Journal) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        store.save(&after_round(rounds)).unwrap();
        let (mut journal, _) = store.journal(&id()).unwrap();
        let begun = Record::Round {
            session: Box::new(after_round(0)),
            marked: false,
        };
        journal.append(&[begun], Sync::Now).unwrap();
        play(&mut journal, 1..=rounds);
        (directory, store, journal)
    }

    fn play(journal: &mut Journal, rounds: std::ops::RangeInclusive<u32>) {
        for round in rounds {
            journal.append(&records(round), Sync::Now).unwrap();
            if round == 5 {
                let undone = Record::Undone {
                    rounds: vec![5],
                    open: Vec::new(),
                };
                journal.append(&[undone], Sync::Now).unwrap();
            }
        }
    }

    #[test]
    fn what_is_shown_undone_forked_and_recovered_stays() {
        let (_directory, store, mut journal) = played(120);
        let (past, length) = (store.past(&id()).unwrap(), journal.known);
        let saved = journal.compact().unwrap();
        assert_eq!(journal.known, length - saved);
        assert!(journal.known < length / 3, "{length} {saved}");
        for more in 1..=2 {
            let now = store.past(&id()).unwrap();
            assert_eq!(now.history, past.history);
            assert_eq!(store.history(&id()).unwrap(), past.history);
            assert_eq!(now.unreadable, 0);
            for (now, then) in now.rounds.iter().zip(&past.rounds) {
                if then.number == 3 {
                    let detail = &now.results[0].outcome.detail.text;
                    assert!(detail.contains("[TRUNCATED: 4600 characters"), "{detail}");
                } else {
                    assert_eq!(now, then);
                }
            }
            assert_eq!(now.rounds.len(), past.rounds.len());
            for round in 70..=120 {
                let session = store.after_round(&id(), round).unwrap();
                assert_eq!(session, Some(after_round(round)), "{round}");
            }
            assert_eq!(store.after_round(&id(), 60).unwrap(), None);
            let (_, recovered) = store.journal(&id()).unwrap();
            assert_eq!(recovered.session, Some(after_round(120)));
            assert_eq!((recovered.missing, recovered.claimed), (None, None));
            // Once more makes nothing different but the header.
            let before = journal.known;
            assert_eq!(journal.compact().unwrap(), 0, "{more}");
            assert_eq!(journal.known, before, "{more}");
        }
    }

    #[test]
    fn rounds_after_a_compaction_are_as_good_as_those_before() {
        let (_directory, store, mut journal) = played(40);
        journal.compact().unwrap();
        play(&mut journal, 41..=80);
        journal.compact().unwrap();
        for round in 30..=80 {
            let session = store.after_round(&id(), round).unwrap();
            assert_eq!(session, Some(after_round(round)), "{round}");
        }
        let past = store.past(&id()).unwrap();
        let numbers: Vec<u32> = past.rounds.iter().map(|round| round.number).collect();
        assert_eq!(numbers, (1..=80).collect::<Vec<u32>>());
        assert!(past.rounds.iter().all(|round| round.file.is_some()));
        assert_eq!(past.history.undoable(0).len(), 79);
    }

    #[test]
    fn results_are_kept_once_and_those_of_a_fork_with_its_session() {
        let (_directory, store, mut journal) = played(60);
        let forked = Record::Forked {
            from: SessionId::parse("12345678").unwrap(),
            round: 30,
        };
        let path = store.journal_path(&id());
        let rest = fs::read_to_string(&path).unwrap();
        let whole = format!("{}\n{rest}", crate::json::to_line(&forked).unwrap());
        crate::fs::write_atomic(&path, whole.as_bytes(), Durability::Atomic).unwrap();
        journal.compact().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        // The results of a told round stand there alone, and in the last `round`.
        for (round, times) in [(30, 1), (31, 1), (59, 1), (60, 2)] {
            let found = text.matches(&format!("\"round {round}\"")).count();
            assert_eq!(found, times, "{round}");
        }
        for round in [30, 31, 59, 60] {
            let session = store.after_round(&id(), round).unwrap();
            assert_eq!(session, Some(after_round(round)), "{round}");
        }
    }

    #[test]
    fn what_is_under_way_and_who_has_it_open_are_not_disturbed() {
        let (_directory, store, mut journal) = played(60);
        let (mut theirs, _) = store.journal(&id()).unwrap();
        let undone = Record::Undone {
            rounds: vec![60],
            open: Vec::new(),
        };
        journal
            .append(std::slice::from_ref(&undone), Sync::Now)
            .unwrap();
        journal.compact().unwrap();
        assert_eq!(theirs.news().unwrap(), [undone]);
        assert!(theirs.news().unwrap().is_empty());
        theirs.append(&records(61)[..3], Sync::Now).unwrap();
        let (_, recovered) = store.journal(&id()).unwrap();
        assert_eq!(recovered.undone, [60]);
        assert_eq!(recovered.started, [1]);
        assert_eq!(recovered.missing, None);
        assert_eq!(journal.news().unwrap().len(), 3);
    }

    #[test]
    fn a_journal_with_a_damaged_line_is_left_alone() {
        let (_directory, store, mut journal) = played(20);
        let path = store.journal_path(&id());
        let text = fs::read_to_string(&path).unwrap();
        let (whole, damaged) = ("\"before\",\"sequence\"", "\"before\",\"sequenc\"");
        let text = text.replacen(whole, damaged, 1);
        crate::fs::write_atomic(&path, text.as_bytes(), Durability::Atomic).unwrap();
        assert_eq!(journal.compact().unwrap(), 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_journal_is_long_when_it_has_written_itself_down_often() {
        let (_directory, _store, mut journal) = played(3);
        assert!(!journal.is_long());
        journal.known = (GROWTH + 1) * MIN_ROUND;
        assert!(journal.is_long());
        journal.compacted = 64 * MIN_ROUND;
        journal.known = journal.compacted + (GROWTH + 16) * MIN_ROUND;
        assert!(!journal.is_long());
    }
}
