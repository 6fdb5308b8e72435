//! The usage of an API: `sessions/<id>/usage.jsonl`, a line for each answer.
//!
//! The line is noted in `unbooked.json` before the reply is in the inbox, and booked afterwards. A note
//! counts as a line does, once, so that a limit of costs counts whatever was billed, also if the process
//! is killed in between. Where neither can be written, it is owed: a file in the folder for temporary
//! files, which is booked when that is possible again. A line that a kill cut off counts as nothing. A
//! file that cannot be read is an error, so that no limit passes for one that holds.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use serde::Serialize;

use super::Store;
use crate::api::{TokenUsage, UsageRecord, dollars};
use crate::error::{Error, Result};
use crate::fs::{own_directory, read_plain, write_new};
use crate::number::{count, grouped};
use crate::protocol::SessionId;

/// The file beside a session with the record that is booked next.
const UNBOOKED: &str = "unbooked.json";
/// The ending of a file with a record that could be kept nowhere beside the session.
const OWED: &str = ".usage.json";
/// The longest record that is owed, in bytes.
const LONGEST_OWED: u64 = 64 * 1024;

/// All answers of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotals {
    /// How many there were.
    pub requests: u64,
    /// Tokens, as the servers counted them, or estimated.
    #[serde(flatten)]
    pub usage: TokenUsage,
    /// The costs in millionths of a dollar, as far as prices are known.
    pub cost_micros: Option<u64>,
    /// How many answers are not in the costs, because their price is not known.
    pub unpriced: u64,
}

impl UsageTotals {
    /// Adds one more answer.
    fn add(&mut self, record: &UsageRecord) {
        self.requests += 1;
        self.usage.add(&record.usage);
        match record.cost_micros {
            Some(cost) => {
                self.cost_micros = Some(self.cost_micros.unwrap_or(0).saturating_add(cost));
            }
            None => self.unpriced += 1,
        }
    }

    /// Sums answers up.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r UsageRecord>) -> Self {
        let mut totals = Self::default();
        records.into_iter().for_each(|record| totals.add(record));
        totals
    }
}

impl fmt::Display for UsageTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = usize::try_from(self.usage.input).unwrap_or(usize::MAX);
        write!(f, "{} sent", count(sent, "token"))?;
        if self.usage.cached > 0 {
            write!(f, " ({} from the cache)", grouped(self.usage.cached))?;
        }
        write!(f, ", {} received", grouped(self.usage.output))?;
        if self.usage.reasoning > 0 {
            write!(f, " ({} to think)", grouped(self.usage.reasoning))?;
        }
        if self.usage.is_estimated {
            f.write_str(", partly estimated")?;
        }
        let Some(cost) = self.cost_micros else {
            return Ok(());
        };
        let about = if self.usage.is_estimated { "~" } else { "" };
        write!(f, ", {about}{}", dollars(cost))?;
        match usize::try_from(self.unpriced).unwrap_or(usize::MAX) {
            0 => Ok(()),
            unpriced => write!(f, " and {} without a price", count(unpriced, "answer")),
        }
    }
}

impl Store {
    /// The answers of APIs to a session, in their order.
    pub fn usage_records(&self, id: &SessionId) -> Result<Vec<UsageRecord>> {
        // Read first: what is booked meanwhile is found below.
        let noted: Option<UsageRecord> = self.aside(id, UNBOOKED);
        let mut records = self.booked(id)?;
        records.extend(noted.filter(|noted| !records.contains(noted)));
        Ok(records)
    }

    fn booked(&self, id: &SessionId) -> Result<Vec<UsageRecord>> {
        let path = self.usage_file(id);
        let bytes = match read_plain(&path, u64::MAX) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|cause| Error::file("read", &path, cause))?,
        };
        // A byte that is no text makes its own line useless, not all others.
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines();
        Ok(lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect())
    }

    /// The usage of APIs by a session, for people; nothing if it never used one, or cannot be read.
    pub fn usage(&self, id: &SessionId) -> Option<UsageTotals> {
        let totals = UsageTotals::of(&self.usage_records(id).ok()?);
        (totals.requests > 0).then_some(totals)
    }

    /// Refuses if nothing can be booked.
    pub fn ensure_bookable(&self, id: &SessionId) -> Result<()> {
        self.open_usage(id).map(drop)
    }

    /// Has an answer count although it is not booked yet. One that a kill left like that is booked.
    pub fn note_usage(&self, id: &SessionId, record: &UsageRecord) -> Result<()> {
        self.book_noted(id)?;
        own_directory(&self.folder(id))?;
        self.put_aside(id, UNBOOKED, record)?;
        self.ensure_bookable(id)
    }

    fn book_noted(&self, id: &SessionId) -> Result<()> {
        match self.aside(id, UNBOOKED) {
            Some(noted) => self.book_usage(id, &noted),
            None => Ok(()),
        }
    }

    /// Keeps an answer that cannot be booked until [`Self::book_owed`] can do it.
    pub fn owe_usage(&self, id: &SessionId, record: &UsageRecord) -> Result<()> {
        if self.aside(id, UNBOOKED).as_ref() == Some(record) {
            return Ok(());
        }
        let unique = uuid::Uuid::new_v4().simple().to_string();
        let path = std::env::temp_dir().join(format!("{}{unique}{OWED}", owed_start(id)));
        let json =
            crate::json::to_line(record).map_err(|cause| Error::file("write", &path, cause))?;
        write_new(&path, json.as_bytes()).map(drop)
    }

    /// Books what earlier processes noted or owe.
    pub fn book_owed(&self, id: &SessionId) -> Result<()> {
        self.book_noted(id)?;
        let start = owed_start(id);
        let files = std::fs::read_dir(std::env::temp_dir());
        for file in files.into_iter().flatten().flatten() {
            let name = file.file_name();
            let is_named = |name: &str| name.starts_with(&start) && name.ends_with(OWED);
            let path = file.path();
            // Others may write there too.
            if !name.to_str().is_some_and(is_named) || !crate::platform::is_own_file(&path) {
                continue;
            }
            let read = read_plain(&path, LONGEST_OWED).unwrap_or_default();
            if let Ok(record) = serde_json::from_slice(&read) {
                self.book_usage(id, &record)?;
                // What stays behind is booked already.
                let _ = std::fs::remove_file(&path);
            }
        }
        Ok(())
    }

    /// Books one answer, unless it is booked, and makes that last.
    pub fn book_usage(&self, id: &SessionId, record: &UsageRecord) -> Result<()> {
        if !self.booked(id)?.contains(record) {
            self.append_usage(id, record)?;
        }
        if self.aside(id, UNBOOKED).as_ref() == Some(record) {
            self.drop_aside(id, UNBOOKED);
        }
        Ok(())
    }

    fn append_usage(&self, id: &SessionId, record: &UsageRecord) -> Result<()> {
        let mut file = self.open_usage(id)?;
        let path = self.usage_file(id);
        let mut line =
            serde_json::to_string(record).map_err(|cause| Error::file("write", &path, cause))?;
        line.push('\n');
        let mut write = || -> std::io::Result<()> {
            // A line that a kill cut off must not swallow this one.
            if file.metadata()?.len() > 0 && !ends_with_line(&mut file)? {
                file.write_all(b"\n")?;
            }
            file.write_all(line.as_bytes())?;
            file.sync_data()
        };
        write().map_err(|cause| Error::file("write", &path, cause))
    }

    fn open_usage(&self, id: &SessionId) -> Result<File> {
        own_directory(&self.folder(id))?;
        let path = self.usage_file(id);
        let mut options = OpenOptions::new();
        options.create(true).append(true).read(true);
        crate::platform::ours(&mut options);
        let open = || {
            let file = options.open(&path)?;
            // A pipe takes what is written, and keeps nothing.
            if file.metadata()?.is_file() {
                Ok(file)
            } else {
                Err(std::io::Error::other("it is not a regular file"))
            }
        };
        open().map_err(|cause: std::io::Error| Error::file("write", &path, cause))
    }

    fn usage_file(&self, id: &SessionId) -> PathBuf {
        self.folder(id).join("usage.jsonl")
    }
}

/// The beginning of the names of files with records that a session owes.
fn owed_start(id: &SessionId) -> String {
    format!("agent-{id}-")
}

/// Returns true if the last line of the file is complete.
fn ends_with_line(file: &mut File) -> std::io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn record(round: u32, cost_micros: Option<u64>) -> UsageRecord {
        UsageRecord {
            at: Timestamp::from_second(1_700_000_000).unwrap(),
            round,
            provider: "ollama".to_owned(),
            model: "m".to_owned(),
            usage: TokenUsage {
                input: 100,
                output: 10,
                ..TokenUsage::default()
            },
            cost_micros,
            first_millis: 5,
            millis: 50,
        }
    }

    #[test]
    fn totals_read_well_and_say_what_is_estimated() {
        let mut half = record(1, None);
        half.usage.input = 2_000_000;
        half.usage.is_estimated = true;
        assert_eq!(
            UsageTotals::of([&record(1, None), &half]).to_string(),
            "2,000,100 tokens sent, 20 received, partly estimated"
        );
        half.cost_micros = Some(20_000);
        assert_eq!(
            UsageTotals::of([&record(1, None), &half]).to_string(),
            "2,000,100 tokens sent, 20 received, partly estimated, ~$0.0200 and 1 answer without a price"
        );
    }

    #[test]
    fn a_note_counts_once_whenever_a_kill_comes() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        let requests = || store.usage(&id).map_or(0, |totals| totals.requests);
        store.note_usage(&id, &record(1, None)).unwrap();
        assert_eq!(requests(), 1, "killed before it is booked");
        store.note_usage(&id, &record(2, None)).unwrap();
        assert_eq!(requests(), 2, "the one that was left is booked");
        store.book_usage(&id, &record(2, None)).unwrap();
        assert_eq!(requests(), 2);
        store.put_aside(&id, UNBOOKED, &record(2, None)).unwrap();
        assert_eq!(requests(), 2, "killed before the note is removed");
        store.note_usage(&id, &record(3, None)).unwrap();
        store.book_usage(&id, &record(3, None)).unwrap();
        assert_eq!(requests(), 3);
    }

    #[test]
    fn a_note_counts_although_nothing_can_be_booked_now() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        std::fs::create_dir_all(store.usage_file(&id)).unwrap();
        assert!(store.note_usage(&id, &record(1, None)).is_err());
        assert!(store.book_owed(&id).is_err());
        std::fs::remove_dir(store.usage_file(&id)).unwrap();
        store.book_owed(&id).unwrap();
        store.book_owed(&id).unwrap();
        assert_eq!(store.booked(&id).unwrap(), [record(1, None)]);
    }

    #[test]
    fn answers_are_booked_and_a_torn_line_counts_as_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        assert_eq!(store.usage(&id), None);
        store.book_usage(&id, &record(1, None)).unwrap();
        let file = store.usage_file(&id);
        let torn = [&std::fs::read(&file).unwrap()[..], b"{\"at\":\"20\xff"].concat();
        crate::fs::write_atomic(&file, &torn, crate::fs::Durability::Atomic).unwrap();
        store.book_usage(&id, &record(2, Some(7))).unwrap();
        let totals = store.usage(&id).unwrap();
        assert_eq!((totals.requests, totals.usage.total()), (2, 220));
        assert_eq!((totals.cost_micros, totals.unpriced), (Some(7), 1));
        let records = store.usage_records(&id).unwrap();
        let rounds: Vec<u32> = records.iter().map(|one| one.round).collect();
        assert_eq!(rounds, [1, 2]);
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(store.usage_records(&id).is_err());
        assert!(store.ensure_bookable(&id).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_the_books_is_refused_and_holds_nobody_up() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        own_directory(&store.folder(&id)).unwrap();
        let pipe = |path: &std::path::Path| {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        };
        pipe(&store.folder(&id).join(UNBOOKED));
        assert_eq!(store.usage_records(&id).unwrap(), []);
        pipe(&store.usage_file(&id));
        for refused in [
            store.ensure_bookable(&id),
            store.note_usage(&id, &record(1, None)),
            store.book_usage(&id, &record(1, None)),
            store.usage_records(&id).map(drop),
        ] {
            let refused = refused.unwrap_err();
            assert!(refused.to_string().contains("usage.jsonl"), "{refused}");
            assert!(
                format!("{refused:?}").contains("regular file"),
                "{refused:?}"
            );
        }
    }
}
