//! Carries out one call after the other.
//!
//! A session is held from the first call on until no call came for a minute, the session ends, another
//! one begins, somebody else wants to undo a round, or the client goes. Then the round ends, the message
//! is written with which a person can go on, and the base directory is free for others.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::catalogue::ToolCall;
use super::connection::{Connection, QueuedCall, in_words};
use crate::error::Result;
use crate::protocol::SessionId;
use crate::services::run::{self, CallDesk, ContextRequest, HeldSession};
use crate::services::{Caller, find, open};

/// How often is looked if somebody wants the round to end.
const NEXT_LOOK: Duration = Duration::from_millis(200);

/// The task of a session that begins with another call than `begin`.
const UNNAMED_TASK: &str = "A task from a chat that calls tools; the user gave it there.";

/// The worker, and the session that it goes on with.
#[derive(Debug)]
pub(super) struct CallWorker {
    connection: Arc<Connection>,
    caller: Caller,
    session: CurrentSession,
    idle: Duration,
}

/// The session of the next call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CurrentSession {
    /// The one that was named, or the latest unfinished one; if there is none, one begins.
    Found(Option<String>),
    /// This one.
    Known(SessionId),
    /// This one has ended: `begin` begins another one.
    Ended(SessionId),
}

/// A session that is held, with what its first answer tells before anything else.
struct OpenedCalls {
    held: HeldSession,
    /// Nothing if the call begins it.
    news: Option<String>,
}

impl CallWorker {
    pub(super) fn new(
        connection: Arc<Connection>,
        caller: Caller,
        session: Option<String>,
        idle: Duration,
    ) -> Self {
        Self {
            connection,
            caller,
            session: CurrentSession::Found(session),
            idle,
        }
    }

    /// Carries out calls until the client goes.
    pub(super) fn run(mut self, calls: &Receiver<QueuedCall>) {
        let mut next = None;
        loop {
            let call = match next.take() {
                Some(call) => call,
                None => match self.wait(calls, None) {
                    Some(call) => call,
                    None => return,
                },
            };
            if self.connection.begin_call(&call) {
                next = self.hold(call.call, calls);
            }
        }
    }

    /// Waits for a call; nothing if the client goes, or if none comes in time.
    fn wait(&self, calls: &Receiver<QueuedCall>, held: Option<&HeldSession>) -> Option<QueuedCall> {
        let since = Instant::now();
        loop {
            match calls.recv_timeout(NEXT_LOOK) {
                Ok(call) => return Some(call),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let is_over =
                |held: &HeldSession| since.elapsed() >= self.idle || held.is_round_wanted();
            if self.connection.is_closed() || held.is_some_and(is_over) {
                return None;
            }
        }
    }

    /// Holds a session while calls for it come; returns the call that is for another one.
    fn hold(&mut self, first: ToolCall, calls: &Receiver<QueuedCall>) -> Option<QueuedCall> {
        let opened = match self.open(&first) {
            Ok(opened) => opened,
            Err(error) => {
                let words = if self.has_ended() {
                    "The session has ended. `begin` begins another one.".to_owned()
                } else {
                    in_words(&error)
                };
                self.connection.answer(&words, true);
                return None;
            }
        };
        let held = opened.held;
        self.session = CurrentSession::Known(held.id().clone());
        let mut desk = match held.take_calls() {
            Ok(desk) => desk,
            Err(error) => {
                self.connection.answer(&in_words(&error), true);
                return None;
            }
        };
        let mut news = news(&mut desk, opened.news);
        let (mut call, mut next) = (Some(first), None);
        while let Some(this) = call.take() {
            match self.carry_out(&mut desk, &held, this, &std::mem::take(&mut news)) {
                Ok(HasEnded::No) => {}
                Ok(HasEnded::Yes) => {
                    self.session = CurrentSession::Ended(held.id().clone());
                    break;
                }
                Err(error) => {
                    self.connection.answer(&in_words(&error), true);
                    // What is under way is settled when the session is opened again.
                    return None;
                }
            }
            while call.is_none() && next.is_none() {
                match self.wait(calls, Some(&held)) {
                    Some(waiting) if waiting.call.task().is_some() => next = Some(waiting),
                    Some(waiting) if self.connection.begin_call(&waiting) => {
                        call = Some(waiting.call);
                    }
                    // It was cancelled before it began.
                    Some(_) => {}
                    None => break,
                }
            }
        }
        if let Err(error) = desk.leave() {
            tracing::warn!("the round could not be ended: {}", in_words(&error));
        }
        next
    }

    /// Opens the session that a call is for, or begins one.
    fn open(&self, call: &ToolCall) -> Result<OpenedCalls> {
        open::ensure_set_up(&self.caller)?;
        let begin = |task: &str| run::begin(&self.caller, task, &ContextRequest::default());
        if let Some(task) = call.task() {
            let held = begin(task)?;
            return Ok(OpenedCalls { held, news: None });
        }
        let id = match &self.session {
            CurrentSession::Known(id) | CurrentSession::Ended(id) => Some(id.to_string()),
            CurrentSession::Found(named) => named.clone(),
        };
        if id.is_none() {
            let files = open::files(&self.caller);
            let has_one = files.is_ok_and(|files| {
                find::find_open(&files.store, &*self.caller.person, None).is_ok()
            });
            if !has_one {
                let held = begin(&self.unnamed_task())?;
                let news = format!("Session {} begins.", held.id());
                let news = Some(news);
                return Ok(OpenedCalls { held, news });
            }
        }
        let is_other = matches!(self.session, CurrentSession::Found(_));
        let held = run::for_calls(&self.caller, id.as_deref())?;
        let news = is_other.then(|| {
            format!(
                "This continues session {}, which is not finished; its task: {}\nFor another task call `begin`.",
                held.id(),
                held.task()
            )
        });
        Ok(OpenedCalls {
            held,
            news: Some(news.unwrap_or_default()),
        })
    }

    /// Returns true if the session that calls went to has ended, and nobody has opened it again.
    fn has_ended(&self) -> bool {
        let CurrentSession::Ended(id) = &self.session else {
            return false;
        };
        let session = open::files(&self.caller).and_then(|files| files.store.load(id));
        session.is_ok_and(|session| session.is_complete)
    }

    fn unnamed_task(&self) -> String {
        match self.connection.client_name() {
            name if name.is_empty() => UNNAMED_TASK.to_owned(),
            name => format!("{UNNAMED_TASK} ({name})"),
        }
    }

    fn carry_out(
        &self,
        desk: &mut CallDesk<'_>,
        held: &HeldSession,
        call: ToolCall,
        news: &str,
    ) -> Result<HasEnded> {
        let room = call.room;
        if call.task().is_some() {
            let overview = desk.overview(room.characters)?;
            let id = held.id();
            let text =
                format!("{news}Session {id} begins. Its files, rules and check:\n\n{overview}");
            self.connection.answer(&text, false);
            return Ok(HasEnded::No);
        }
        let command = match call.command(held.workspace()) {
            Ok(command) => command,
            Err(why) => {
                self.connection.answer(&format!("{news}{why}"), true);
                return Ok(HasEnded::No);
            }
        };
        self.connection.cover_progress(desk.text_cover(&command));
        let answer = desk.call(command, room)?;
        let text = format!("{news}{}", answer.text);
        if !self.connection.answer(&text, answer.is_error) {
            desk.keep_unanswered()?;
        }
        Ok(if answer.has_ended {
            HasEnded::Yes
        } else {
            HasEnded::No
        })
    }
}

/// Says if a call ended the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HasEnded {
    Yes,
    No,
}

/// The words before the first answer of a held session: that a session continues, and which calls a
/// killed process left unfinished. Each ends with an empty line.
fn news(desk: &mut CallDesk<'_>, opened: Option<String>) -> String {
    let mut news = opened.filter(|news| !news.is_empty()).unwrap_or_default();
    if !news.is_empty() {
        news.push_str("\n\n");
    }
    let left = desk.take_left();
    desk.redacted(news) + &left
}
