//! The folder of a batch: a folder for each task with its record, its base directory and its
//! worktree.
//!
//! A record is written before its task is begun and whenever something is known, atomically. What it
//! says of costs and of the end is read from the session itself, so that a kill between the two
//! loses nothing.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::tasks::BatchTask;
use crate::error::{Error, Result};
use crate::fs::{Durability, own_directory, read_plain, write_atomic};
use crate::number::count;
use crate::protocol::{CommandKind, SessionId, Status, StepResult, UnfinishedRun};
use crate::session::{LoopLock, Session, Store, UsageTotals, lock_soon, open_lock};

/// The version of a record; a newer one is not guessed at.
const SCHEMA: u32 = 1;
const RECORD: &str = "record.json";
const LOCK: &str = ".lock";

/// The most bytes of a record.
const MAX_RECORD: u64 = 1 << 20;

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStatus {
    /// The model is done, and the check passes, if there is one.
    Done,
    /// The rounds are used up, and the check fails.
    CheckFailed,
    /// It went as far as it could without a decision that only a person can make. The model may say that
    /// it is done.
    NeedsPerson,
    /// A limit stopped it: rounds, tokens or costs.
    StoppedByLimits,
    /// It could not be carried on.
    Error,
    /// It was stopped on the way.
    Interrupted,
    /// A job works on it.
    Running,
    /// Nothing was done for it.
    NotStarted,
}

impl TaskStatus {
    /// The status in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::CheckFailed => "check failed",
            Self::NeedsPerson => "needs a person",
            Self::StoppedByLimits => "stopped by limits",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::Running => "running",
            Self::NotStarted => "not started",
        }
    }
}

/// Everything that is known of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRecord {
    schema: u32,
    /// The task's ID.
    pub id: String,
    /// Its line in the file.
    pub line: usize,
    /// The identity of that line.
    fingerprint: String,
    /// How it stands.
    pub status: TaskStatus,
    /// True if another run of the batch leaves it as it is.
    pub is_finished: bool,
    /// The reason for its status, and what to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Its session.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// How many rounds are over.
    #[serde(default)]
    pub rounds: u32,
    /// How many of its steps were refused because nobody could be asked.
    #[serde(default)]
    pub refused: u32,
    /// All tokens, sent and received.
    #[serde(default)]
    pub tokens: u64,
    /// The costs in millionths of a dollar, if a price is known.
    #[serde(default)]
    pub cost_micros: Option<u64>,
    /// How long jobs worked on it.
    #[serde(default)]
    pub seconds: u64,
    /// Its base directory.
    pub base: PathBuf,
    /// Where the model works; nothing if the worktree was removed because it has no changes.
    pub folder: Option<PathBuf>,
    /// The branch of its worktree.
    #[serde(default)]
    pub branch: Option<String>,
    /// True if the record on the disk cannot be read, so nothing may be done for the task.
    #[serde(skip)]
    pub(super) is_unreadable: bool,
}

impl TaskRecord {
    /// The record of a task that has not begun.
    pub(super) fn new(task: &BatchTask, base: PathBuf) -> Self {
        Self {
            schema: SCHEMA,
            id: task.id.clone(),
            line: task.line,
            fingerprint: task.fingerprint.clone(),
            status: TaskStatus::NotStarted,
            is_finished: false,
            message: String::new(),
            session: None,
            rounds: 0,
            refused: 0,
            tokens: 0,
            cost_micros: None,
            seconds: 0,
            base,
            folder: None,
            branch: None,
            is_unreadable: false,
        }
    }

    /// Stands for a record that cannot be read, for this reason. It is never saved.
    pub(super) fn unreadable(task: &BatchTask, base: PathBuf, reason: String) -> Self {
        let mut record = Self {
            status: TaskStatus::Error,
            message: reason,
            is_unreadable: true,
            ..Self::new(task, base)
        };
        // Its spending still counts.
        record.refresh();
        record
    }

    /// Returns true if it was made for this very line.
    pub(super) fn is_of(&self, task: &BatchTask) -> bool {
        self.fingerprint == task.fingerprint
    }

    /// Takes over what the session on the disk says; returns the session, if there is one.
    pub(super) fn refresh(&mut self) -> Option<Session> {
        let (session, usage) = session_in(&self.base, self.session.as_ref())?;
        self.session = Some(session.session_id.clone());
        self.rounds = session.sequence_number.saturating_sub(1);
        self.refused = session.undecided_steps;
        if let Some(usage) = usage {
            self.tokens = usage.usage.total();
            self.cost_micros = usage.cost_micros;
        }
        Some(session)
    }
}

/// The session of a base directory: the one that is known, else the latest.
pub(super) fn session_in(
    base: &Path,
    known: Option<&SessionId>,
) -> Option<(Session, Option<UsageTotals>)> {
    let directory = base.join("sessions");
    if !directory.is_dir() {
        return None;
    }
    let store = Store::open(directory).ok()?;
    let session = match known.and_then(|id| store.load_or_rebuild(id).ok()) {
        Some((session, _)) => session,
        None => store.latest().ok()?,
    };
    let usage = store.usage(&session.session_id);
    Some((session, usage))
}

/// Returns true while a loop works in this base directory.
pub(super) fn is_at_work(base: &Path) -> bool {
    LoopLock::holder(&base.join("sessions")).is_some()
}

/// The reason why the runner could not start a command or the check, and no check that passes says that
/// nothing is missing.
pub(super) fn unstarted(session: &Session) -> Option<String> {
    if let Some(check) = &session.check {
        if check.outcome.status == Status::Ok {
            return None;
        }
        if check.outcome.unfinished == Some(UnfinishedRun::NotStarted) {
            return Some(format!("the check {}", check.outcome.message));
        }
    }
    let reason = session.unstarted_command.as_ref();
    reason.map(|reason| format!("a command {reason}"))
}

/// The status of a session that the model has ended, and the reason. What a check has passed is done,
/// whatever was refused on the way.
pub(super) fn status_when_done(session: &Session) -> (TaskStatus, String) {
    let check = session.check.as_ref();
    let is_checked = check.is_some_and(|check| check.outcome.status == Status::Ok);
    if let Some(reason) = unstarted(session) {
        return (TaskStatus::Error, reason);
    }
    match session.undecided_steps {
        0 => (TaskStatus::Done, String::new()),
        _ if is_checked => (TaskStatus::Done, String::new()),
        refused => {
            let steps = count(refused as usize, "step");
            let why = format!(
                "the model says that it is done, but {steps} needed a yes, and nobody could be asked"
            );
            (TaskStatus::NeedsPerson, why)
        }
    }
}

/// The status of a session whose rounds are used up, and the reason.
pub(super) fn status_at_limit(session: &Session) -> (TaskStatus, String) {
    let is_refused = |result: &&StepResult| {
        result.outcome.status == Status::Refused && !result.is(CommandKind::Done)
    };
    let check = session.check.as_ref();
    if session.planning.is_open() {
        let why = "its plan waits for your approval";
        return (TaskStatus::NeedsPerson, why.to_owned());
    }
    if let Some(reason) = unstarted(session) {
        return (TaskStatus::Error, reason);
    }
    if let Some(check) = check {
        let outcome = &check.outcome;
        // One that cannot run is set aside as skipped, with the exit code that says so.
        let is_impossible = outcome.status == Status::Skipped && outcome.exit_code.is_some();
        if outcome.status == Status::Refused || is_impossible {
            let why = format!(
                "the check `{}`: {}",
                check.command,
                outcome.message_and_remarks()
            );
            return (TaskStatus::NeedsPerson, why);
        }
        if check.failed() {
            let why = format!("`{}`: {}", check.command, outcome.message_and_remarks());
            return (TaskStatus::CheckFailed, why);
        }
    }
    match session.last_results.iter().find(is_refused) {
        Some(refused) => (TaskStatus::NeedsPerson, refused.outcome.message.clone()),
        None => (
            TaskStatus::StoppedByLimits,
            "its rounds are used up".to_owned(),
        ),
    }
}

/// The folder of a batch.
#[derive(Debug, Clone)]
pub(super) struct BatchFolder(pub(super) PathBuf);

impl BatchFolder {
    /// The folder of one task.
    pub(super) fn of_task(&self, id: &str) -> PathBuf {
        self.0.join(id)
    }

    /// Reads the record of a task; nothing if it was never begun.
    pub(super) fn load(&self, id: &str) -> Result<Option<TaskRecord>> {
        let path = self.of_task(id).join(RECORD);
        let hint =
            "move the folder away to begin this task anew, or name another folder with `--state`";
        let bytes = match read_plain(&path, MAX_RECORD) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(Error::file("read", &path, cause).hint(hint)),
        };
        let record: TaskRecord = serde_json::from_slice(&bytes)
            .map_err(|cause| Error::file("read", &path, cause).hint(hint))?;
        if record.schema > SCHEMA {
            return Err(Error::newer(&path));
        }
        Ok(Some(record))
    }

    /// Writes the record of a task.
    pub(super) fn save(&self, record: &TaskRecord) -> Result<()> {
        let directory = self.of_task(&record.id);
        own_directory(&directory)?;
        let path = directory.join(RECORD);
        let mut json =
            crate::json::to_lines(record).map_err(|cause| Error::file("write", &path, cause))?;
        json.push('\n');
        write_atomic(&path, json.as_bytes(), Durability::Durable)
    }

    /// Takes the lock of a whole batch, or that of a shard; shards of one file run beside each other.
    pub(super) fn lock(&self, shard: Option<&str>) -> Result<BatchLock> {
        own_directory(&self.0)?;
        let whole = open_lock(&self.0.join(LOCK))?;
        let Some(shard) = shard else {
            self.locked(lock_soon(|| whole.try_lock()))?;
            return Ok(BatchLock {
                _files: vec![whole],
            });
        };
        self.locked(lock_soon(|| whole.try_lock_shared()))?;
        let own = open_lock(&self.0.join(format!("{LOCK}-{shard}")))?;
        self.locked(lock_soon(|| own.try_lock()))?;
        Ok(BatchLock {
            _files: vec![whole, own],
        })
    }

    fn locked(&self, tried: std::result::Result<(), TryLockError>) -> Result<()> {
        match tried {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(Error::mendable(format!(
                "another `agent batch` works on these tasks, in `{}`",
                self.0.display()
            ))
            .hint("wait for it, or end it with Ctrl-C first")
            .hint("`--shard I/N` on each lets several share the file; `--state DIR` keeps another batch apart")),
            Err(TryLockError::Error(cause)) => Err(Error::file("lock", &self.0, cause)),
        }
    }
}

/// The locks of a running batch, given back when this is dropped or the process ends.
#[derive(Debug)]
pub(super) struct BatchLock {
    _files: Vec<File>,
}
