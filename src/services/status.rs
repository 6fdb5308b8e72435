//! Where a session stands: a reply that was taken and not carried out to its end, one that lies in the
//! inbox, open questions, the check, and other sessions that are not finished.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::open::SessionFiles;
use super::{Caller, api, choices, decide, find, notes, open};
use crate::agent::message_of;
use crate::approve::{Pending, Question};
use crate::compose::{Meter, measure};
use crate::error::{Error, Result};
pub use crate::mailbox::Posted;
use crate::mailbox::{self, Reading};
use crate::protocol::{Outcome, SessionId, Status};
use crate::reply;
pub use crate::session::Count;
use crate::session::{CheckReport, LoopLock, Session, Source, State, Store, Summary, UsageTotals};

/// Why the API ended the last run, beside the session.
const API_STOP: &str = "api-stop.json";

/// How many files of the inbox are looked into.
const MAX_FILES: usize = 100;

/// Where a session stands.
#[derive(Debug)]
pub struct SessionStanding {
    /// Sessions and messages, with what this session keeps.
    pub files: SessionFiles,
    /// The session.
    pub session: Session,
    /// The message of the round, if it is written.
    pub message: Option<MessageStanding>,
    /// True if a loop works on the session now.
    pub is_running: bool,
    /// True if the reply to the round was taken, and is not carried out to its end.
    pub is_taken: bool,
    /// How many calls the round has, if a client makes calls in the place of a reply.
    pub calls: Option<usize>,
    /// The name of a file in the inbox that a loop would take.
    pub reply_in_inbox: Option<String>,
    /// The open questions.
    pub questions: Vec<Question>,
    /// The model's question that nobody has answered yet.
    pub model_question: Option<String>,
    /// How many notes of the person go with the next message.
    pub notes: usize,
    /// How the check stands, if there is one.
    pub check: Option<CheckStanding>,
    /// The tokens and costs of APIs, if it used one.
    pub usage: Option<UsageTotals>,
    /// Why the API did not answer the round, if that ended the last run.
    pub api_stop: Option<String>,
    /// True if an answer of an API to the round is kept and not in the inbox.
    pub has_held_answer: bool,
    /// The rounds that a redo brings back.
    pub redoable: Vec<u32>,
    /// Other sessions that are not finished.
    pub others: Vec<Summary>,
}

/// A message that waits to be pasted.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageStanding {
    /// Its files.
    #[serde(flatten)]
    pub posted: Posted,
    /// How long it is, and what takes how much of it.
    #[serde(flatten)]
    pub meter: Meter,
    /// The chat that it goes to.
    pub chat: &'static str,
    /// How much that is of what the chat takes.
    pub percent: usize,
}

impl MessageStanding {
    fn new(files: &SessionFiles, posted: Posted) -> Self {
        let meter = measure(&message_of(&posted));
        let limit = files.carriage.limit_of(posted.attachment.as_deref());
        Self {
            percent: limit.percent(&meter),
            chat: &files.chat.name,
            posted,
            meter,
        }
    }
}

impl SessionStanding {
    /// The files of the message, if it is written.
    pub fn posted(&self) -> Option<&Posted> {
        self.message.as_ref().map(|message| &message.posted)
    }
}

/// How the check stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckStanding {
    /// The command.
    pub command: String,
    /// Its last result, if it has run.
    pub outcome: Option<Outcome>,
    /// True if rounds were undone or redone since.
    pub is_outdated: bool,
}

/// Remembers why the API ended a run, until the next one.
pub(super) fn keep_api_stop(store: &Store, id: &SessionId, why: &Error) -> Result<()> {
    store.put_aside(id, API_STOP, &why.to_string())
}

/// Forgets why the API ended the last run.
pub(super) fn forget_api_stop(store: &Store, id: &SessionId) {
    store.drop_aside(id, API_STOP);
}

/// Tells where the session that is meant stands.
pub fn status(caller: &Caller, id: Option<&str>) -> Result<SessionStanding> {
    let mut files = open::files(caller)?;
    let mut session = find::find_asking(&files.store, &*caller.person, id, find::find_any)?;
    choices::recall_files(&mut files, caller, &session)?;
    let id = session.session_id.clone();
    let holder = LoopLock::holder(files.store.directory());
    let holder = holder.filter(|holder| holder.session.as_ref() == Some(&id));
    let pending = Pending::of(&files.store.folder(&id));
    if let Some(open) = session.open_question()
        && let Some(answer) = pending.answer_to(&open.question)
    {
        // The next message or call tells it.
        open.answer = Some(answer);
    }
    let open = session.open_question();
    let model_question = open.map(|question| question.question.clone());
    let posted = files.mailbox.posted(&id, session.sequence_number);
    let taken = files.mailbox.claimed(&id, session.sequence_number);
    let takes_calls = holder.as_ref().is_some_and(|holder| holder.takes_calls);
    Ok(SessionStanding {
        message: posted.map(|posted| MessageStanding::new(&files, posted)),
        is_running: holder.is_some(),
        is_taken: taken.is_some(),
        calls: (taken.as_deref().and_then(count_calls)).or(takes_calls.then_some(0)),
        reply_in_inbox: reply_in_inbox(&files, &session),
        questions: decide::open_questions(&files, &id),
        model_question,
        notes: notes::waiting(&files, &id).len(),
        check: check(&files.store, &files.check, &session),
        usage: files.store.usage(&id),
        api_stop: files.store.aside(&id, API_STOP),
        has_held_answer: api::has_held_answer(&files.store, &id, session.sequence_number),
        redoable: redoable(&files.store, &id),
        others: others(&files.store, &session),
        session,
        files,
    })
}

fn redoable(store: &Store, id: &SessionId) -> Vec<u32> {
    let rounds = store.history(id).map(|history| history.redoable());
    let rounds = rounds.unwrap_or_default().into_iter();
    rounds.map(|checkpoint| checkpoint.round).collect()
}

/// How many calls a file in `processed/` has; nothing if it is a reply.
fn count_calls(taken: &Path) -> Option<usize> {
    let has_calls = mailbox::has_calls(&taken.to_string_lossy());
    has_calls.then(|| mailbox::read_calls(&std::fs::read(taken).unwrap_or_default()).len())
}

/// How the check of a session stands; nothing without a check.
pub fn check(store: &Store, command: &str, session: &Session) -> Option<CheckStanding> {
    if command.is_empty() {
        return None;
    }
    let is_of_it = |report: &&CheckReport| report.command == command;
    let report = session.check.as_ref().filter(is_of_it);
    let mut notes = store.notes(&session.session_id).all().into_iter();
    let is_outdated = report.is_some() && notes.any(|note| note.source == Source::Undo);
    let outcome = report.map(|report| report.outcome.clone());
    Some(CheckStanding {
        command: command.to_owned(),
        outcome: outcome.filter(|outcome| outcome.status != Status::Skipped),
        is_outdated,
    })
}

/// The other sessions that are not finished, the latest first.
pub fn others(store: &Store, session: &Session) -> Vec<Summary> {
    let Ok((summaries, _)) = store.summaries() else {
        return Vec::new();
    };
    let is_other = |one: &Summary| one.session_id != session.session_id;
    let others = summaries.into_iter();
    others
        .filter(|one| is_other(one) && one.state() != State::Done)
        .collect()
}

fn reply_in_inbox(files: &SessionFiles, session: &Session) -> Option<String> {
    let entries = std::fs::read_dir(files.mailbox.inbox()).ok()?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    let mut paths = paths.into_iter().take(MAX_FILES);
    let found = paths.find(|path| is_reply(path, session))?;
    Some(found.file_name()?.to_string_lossy().into_owned())
}

fn is_reply(path: &Path, session: &Session) -> bool {
    let Ok(Reading::Text(bytes)) = mailbox::read_reply(path) else {
        return false;
    };
    let (text, reply) = reply::read(&bytes);
    match &reply.end {
        Some(end) => *end == session.end_mark(),
        None => !reply.steps.is_empty() && !reply::is_outbox(&text),
    }
}
