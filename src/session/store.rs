//! Where sessions lie: `sessions/<id>.json`, its journal and its folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{EventLog, History, Journal, JournalEnd, Notes, Recovered, SCHEMA, Session};
use crate::error::{Error, Result};
use crate::fs::{
    AtomicFile, Durability, TEMPORARY, own_directory, read_plain, refuse_link, write_atomic,
};
use crate::protocol::SessionId;

/// Keeps which files a session changed, as the latest undo or redo left them. The session's own file
/// belongs to the loop.
const CHANGED_FILES: &str = "changed-files.json";

/// The files that a session changed after an undo or redo in a round; later rounds change others.
#[derive(Serialize, Deserialize)]
struct ReversedFiles {
    sequence: u32,
    files: BTreeSet<String>,
}

/// The directory of all sessions of a base directory.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Opens the directory, making it where it is missing.
    pub fn open(directory: PathBuf) -> Result<Self> {
        own_directory(&directory)?;
        let store = Self { directory };
        refuse_link(&store.objects())?;
        Ok(store)
    }

    /// The directory itself.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where checkpoints are kept, of all sessions together.
    pub fn objects(&self) -> PathBuf {
        self.directory.join("objects")
    }

    /// The folder of one session: its log, its notes, what its listing was.
    pub fn folder(&self, id: &SessionId) -> PathBuf {
        self.directory.join(id.as_str())
    }

    pub(super) fn file(&self, id: &SessionId) -> PathBuf {
        self.directory.join(format!("{id}.json"))
    }

    /// Opens the journal of a session.
    pub fn journal(&self, id: &SessionId) -> Result<(Journal, Recovered)> {
        Journal::open(&self.journal_path(id))
    }

    /// The checkpoints that the end of a session's journal depends on.
    pub fn journal_end(&self, id: &SessionId) -> Result<JournalEnd> {
        JournalEnd::read(&self.journal_path(id))
    }

    /// Which rounds of a session changed the workspace.
    pub fn history(&self, id: &SessionId) -> Result<History> {
        History::read(&self.journal_path(id))
    }

    pub(super) fn journal_path(&self, id: &SessionId) -> PathBuf {
        self.directory.join(format!("{id}.journal.jsonl"))
    }

    /// Removes files that were being written when a process was killed, here and among the messages.
    ///
    /// Nobody writes one for as long as an hour; one that is younger may still get its name.
    pub fn remove_drafts(&self, outbox: &Path, now: SystemTime) -> Result<()> {
        const ABANDONED: Duration = Duration::from_hours(1);
        let folders = self.ids()?.into_iter().map(|id| self.folder(&id));
        for directory in folders.chain([self.directory.clone(), outbox.to_owned()]) {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let is_draft = entry
                    .file_name()
                    .as_encoded_bytes()
                    .starts_with(TEMPORARY.as_bytes());
                let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
                let written = entry.metadata().and_then(|found| found.modified());
                let age = written.map(|written| now.duration_since(written).unwrap_or_default());
                if is_draft && is_file && age.is_ok_and(|age| age > ABANDONED) {
                    crate::fs::remove(&entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// Saves a session.
    ///
    /// Not synced: a file that power loss made stale or empty is rebuilt from the journal, which
    /// was synced before.
    pub fn save(&self, session: &Session) -> Result<()> {
        own_directory(&self.folder(&session.session_id))?;
        let path = self.file(&session.session_id);
        let mut json =
            crate::json::to_lines(session).map_err(|cause| Error::file("write", &path, cause))?;
        json.push('\n');
        write_atomic(&path, json.as_bytes(), Durability::Atomic)
    }

    /// Reads a session; where its own file is lost or damaged, from its journal, and says so.
    ///
    /// A file of a newer version is neither read nor overwritten.
    pub fn load_or_rebuild(&self, id: &SessionId) -> Result<(Session, Option<Error>)> {
        let trouble = match self.read(id) {
            Ok(session) => return Ok((session, None)),
            Err(Unloadable::Newer) => return Err(Error::newer(&self.file(id))),
            Err(Unloadable::Other(trouble)) => trouble,
        };
        if !self.journal_path(id).exists() {
            return Err(trouble);
        }
        let (_, recovered) = self.journal(id)?;
        let Some(session) = recovered.session else {
            return Err(trouble);
        };
        self.save(&session)?;
        Ok((session, Some(trouble)))
    }

    /// Reads a session.
    pub fn load(&self, id: &SessionId) -> Result<Session> {
        self.read(id).map_err(|trouble| match trouble {
            Unloadable::Newer => Error::newer(&self.file(id)),
            Unloadable::Other(trouble) => trouble,
        })
    }

    fn read(&self, id: &SessionId) -> Result<Session, Unloadable> {
        refuse_link(&self.folder(id))?;
        let path = self.file(id);
        let json = fs::read(&path).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => Error::mendable(format!("there is no session `{id}`"))
                .hint("`agent list` shows the sessions that there are"),
            _ => Error::file("read", &path, cause),
        })?;
        let mut session = parse(&path, &json)?;
        self.recall_reversal(&mut session);
        Ok(session)
    }

    /// Keeps the files that a session changed on the whole, after an undo or redo.
    pub fn keep_reversal(&self, session: &Session, files: BTreeSet<String>) -> Result<()> {
        let sequence = session.sequence_number;
        let kept = ReversedFiles { sequence, files };
        self.put_aside(&session.session_id, CHANGED_FILES, &kept)
    }

    /// Gives a session the files that it changed on the whole, if an undo or redo came after its last
    /// round.
    pub fn recall_reversal(&self, session: &mut Session) {
        if let Some(files) = self.reversed_files(&session.session_id, session.sequence_number) {
            session.changed_files = files;
        }
    }

    pub(super) fn reversed_files(&self, id: &SessionId, sequence: u32) -> Option<BTreeSet<String>> {
        let kept = self.aside::<ReversedFiles>(id, CHANGED_FILES)?;
        (kept.sequence == sequence).then_some(kept.files)
    }

    /// Removes a session: its folder, its journal, and its file last, so that what a kill leaves is
    /// still known by its name.
    pub fn remove(&self, id: &SessionId) -> Result<()> {
        for path in [self.folder(id), self.journal_path(id), self.file(id)] {
            crate::fs::remove(&path)?;
        }
        Ok(())
    }

    /// The events of a session.
    pub fn events(&self, id: &SessionId) -> EventLog {
        EventLog::of(self.folder(id), id.clone())
    }

    /// The notes of the person that no outbox has told yet.
    pub fn notes(&self, id: &SessionId) -> Notes {
        Notes::of(self.folder(id))
    }

    /// A value kept beside the session to make the next message shorter; `None` if it was lost.
    pub fn aside<T: DeserializeOwned>(&self, id: &SessionId, name: &str) -> Option<T> {
        let path = self.folder(id).join(name);
        serde_json::from_slice(&read_plain(&path, u64::MAX).ok()?).ok()
    }

    /// Keeps something beside a session that can be done without, so it is not synced.
    pub fn put_aside(&self, id: &SessionId, name: &str, value: &impl Serialize) -> Result<()> {
        let folder = self.folder(id);
        let path = folder.join(name);
        // The listing of a large workspace is long: it need not be in memory a second time.
        let mut draft = AtomicFile::begin(&folder)?;
        serde_json::to_writer(&mut draft, value)
            .map_err(|cause| Error::file("write", &path, cause))?;
        draft.finish(&path, Durability::Atomic)
    }

    /// Keeps something beside a session that it cannot do without, also after power loss.
    pub fn put_aside_durably(
        &self,
        id: &SessionId,
        name: &str,
        value: &impl Serialize,
    ) -> Result<()> {
        let path = self.folder(id).join(name);
        let json =
            crate::json::to_line(value).map_err(|cause| Error::file("write", &path, cause))?;
        write_atomic(&path, json.as_bytes(), Durability::Durable)
    }

    /// Forgets what was kept beside a session.
    pub fn drop_aside(&self, id: &SessionId, name: &str) {
        // What stays behind does no harm.
        let _ = fs::remove_file(self.folder(id).join(name));
    }

    /// All sessions, the latest first; those that cannot be read are named instead.
    pub fn all(&self) -> Result<(Vec<Session>, Vec<Error>)> {
        let (mut sessions, mut troubles) = (Vec::new(), Vec::new());
        for id in self.ids()? {
            match self.load_or_rebuild(&id) {
                Ok((session, _)) => sessions.push(session),
                Err(trouble) => troubles.push(trouble),
            }
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(session.updated_at));
        Ok((sessions, troubles))
    }

    /// The latest session, ended or not.
    pub fn latest(&self) -> Result<Session> {
        let summary = self.latest_summary()?;
        (self.load_or_rebuild(&summary.session_id)).map(|(session, _)| session)
    }

    /// The latest session that has not ended.
    ///
    /// A session that cannot be read may be the latest: then nothing is chosen.
    pub fn latest_unfinished(&self) -> Result<Session> {
        let (summaries, mut troubles) = self.summaries()?;
        if let Some(trouble) = troubles.pop() {
            return Err(trouble.hint("`agent resume <ID>` continues the session that you name"));
        }
        let has_ended = !summaries.is_empty();
        let unfinished = summaries.into_iter().find(|summary| !summary.is_complete);
        if let Some(summary) = unfinished {
            return (self.load_or_rebuild(&summary.session_id)).map(|(session, _)| session);
        }
        let error = Error::mendable("there is no unfinished session here")
            .hint("`agent new \"<task>\"` starts one; `agent list` shows those that have ended");
        let further = "`agent resume latest \"<what to do next>\"` continues the latest one";
        Err(if has_ended {
            error.hint(further)
        } else {
            error
        })
    }
}

/// Why the state file of a session cannot be used.
enum Unloadable {
    /// A newer version wrote it: the journal beside it is no help, and nothing may be overwritten.
    Newer,
    /// It is missing or damaged.
    Other(Error),
}

impl From<Error> for Unloadable {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

fn parse(path: &Path, json: &[u8]) -> Result<Session, Unloadable> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u32,
    }
    let damaged = |cause| {
        Error::mendable(format!("`{}` is not a session file", path.display()))
            .because(cause)
            .hint("if you edited it by hand, revert that; the journal beside it has the last state")
    };
    let version: Version = serde_json::from_slice(json).map_err(damaged)?;
    if version.schema > SCHEMA {
        return Err(Unloadable::Newer);
    }
    let mut session: Session = serde_json::from_slice(json).map_err(damaged)?;
    // An older form was read, and what is written from now on is of this one.
    session.schema = SCHEMA;
    if session.sequence_number == 0 {
        let cause = serde::de::Error::custom("`sequenceNumber` is counted from 1");
        return Err(damaged(cause).into());
    }
    Ok(session)
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};

    use super::*;
    use crate::session::tests::session;
    use crate::session::{Record, Sync};

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        (directory, store)
    }

    #[test]
    fn a_session_comes_back_as_it_was_saved() {
        let (_directory, store) = store();
        let session = session("ab12cd34");
        store.save(&session).unwrap();
        assert_eq!(store.load(&session.session_id).unwrap(), session);
    }

    #[test]
    fn what_a_kill_left_half_written_goes_once_nobody_can_be_writing_it() {
        let (directory, store) = store();
        let outbox = directory.path();
        let session = session("ab12cd34");
        store.save(&session).unwrap();
        let id = &session.session_id;
        let drafts = [
            store.directory.join(".agent-x"),
            store.folder(id).join(".agent-y"),
            outbox.join(".agent-z"),
        ];
        for draft in &drafts {
            write_atomic(draft, b"half", Durability::Atomic).unwrap();
        }
        let now = SystemTime::now();
        store.remove_drafts(outbox, now).unwrap();
        assert!(drafts.iter().all(|draft| draft.exists()));
        let later = now + Duration::from_hours(2);
        store.remove_drafts(outbox, later).unwrap();
        assert!(!drafts.iter().any(|draft| draft.exists()));
        assert_eq!(store.load(id).unwrap(), session);
    }

    #[test]
    fn the_latest_unfinished_session_is_found() {
        let (_directory, store) = store();
        for (id, age, complete) in [
            ("00000001", 3, false),
            ("00000002", 2, false),
            ("00000003", 1, true),
        ] {
            let mut session = session(id);
            session.updated_at = Timestamp::UNIX_EPOCH - age.hours();
            session.is_complete = complete;
            store.save(&session).unwrap();
        }
        assert_eq!(
            store.latest_unfinished().unwrap().session_id.as_str(),
            "00000002"
        );
    }

    #[test]
    fn says_what_to_do_where_there_is_none() {
        let (_directory, store) = store();
        let error = store.latest_unfinished().unwrap_err();
        assert!(error.hints()[0].contains("agent new"));
    }

    #[test]
    fn an_older_form_goes_on_as_one_of_this_version() {
        let (_directory, store) = store();
        let mut session = session("ab12cd34");
        let id = session.session_id.clone();
        session.schema = SCHEMA - 1;
        store.save(&session).unwrap();
        assert_eq!(store.load(&id).unwrap().schema, SCHEMA);
        let (mut journal, _) = store.journal(&id).unwrap();
        let round = Record::Round {
            session: Box::new(session),
            marked: false,
        };
        journal.append(&[round], Sync::Later).unwrap();
        let (_, recovered) = store.journal(&id).unwrap();
        assert_eq!(recovered.session.unwrap().schema, SCHEMA);
    }

    #[test]
    fn a_damaged_or_newer_file_is_named() {
        let (_directory, store) = store();
        let mut session = session("ab12cd34");
        session.schema = SCHEMA + 1;
        store.save(&session).unwrap();
        let error = store.load(&session.session_id).unwrap_err();
        assert!(
            error.to_string().contains("was written by a newer `agent`"),
            "{error}"
        );
        write_atomic(&store.file(&session.session_id), b"{", Durability::Atomic).unwrap();
        let error = store.load(&session.session_id).unwrap_err();
        assert!(error.to_string().contains("not a session file"), "{error}");
    }
}
