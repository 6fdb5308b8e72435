//! Removes a session with its messages and replies; the workspace stays as it is.

use std::sync::Arc;

use super::guard::Testing;
use super::open::{FirstRun, SessionFiles, settings};
use super::{Caller, choices, guard, status};
use crate::approve::Question;
use crate::error::{Error, Result};
use crate::escape::escape_line;
use crate::interrupt::Interrupt;
use crate::number::count;
use crate::protocol::{Event, SessionId, is_yes};
use crate::runner::{Runner, RunnerChoice};
use crate::session::{LoopLock, RoundLock, Session, Store};

/// The letters that went with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedLetters {
    /// How many messages.
    pub messages: usize,
    /// How many replies.
    pub replies: usize,
}

/// The sessions that are meant, each once, none of which a loop works on.
pub fn chosen(files: &SessionFiles, names: &[String]) -> Result<Vec<SessionId>> {
    let mut ids = Vec::new();
    for name in names {
        let id = files.store.named(name)?;
        ensure_idle(files, &id)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Asks the person if a session may go, with what it is about and what goes with it.
pub fn is_agreed(caller: &Caller, files: &SessionFiles, id: &SessionId) -> Result<bool> {
    let (messages, replies) = files.mailbox.letters_of(id)?;
    let task = match files.store.summary(id) {
        Ok(summary) => format!(": {}", escape_line(summary.title())),
        Err(_) => String::new(),
    };
    let replies = match replies.len() {
        1 => "1 reply".to_owned(),
        amount => format!("{amount} replies"),
    };
    let letters = format!("{} and {replies}", count(messages.len(), "message"));
    let question = Question::about_removal(&format!("Session {id}{task}"), &letters);
    match caller.ask(&question)? {
        None => Err(
            Error::mendable("there is no terminal to ask on, so nothing was removed")
                .hint("`--yes` removes it without asking"),
        ),
        Some(answer) => Ok(is_yes(&answer)),
    }
}

/// Refuses a session that a loop works on.
fn ensure_idle(files: &SessionFiles, id: &SessionId) -> Result<()> {
    let Some(holder) = LoopLock::holder(files.store.directory()) else {
        return Ok(());
    };
    // One that has just begun has not said yet what it works on.
    if holder.session.as_ref().is_some_and(|other| other != id) {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "session {id} is at work in process {}",
        holder.process
    ))
    .hint("end that loop with Ctrl-C first"))
}

/// Removes what belongs to a session, here and where its commands ran; its own file last, so that a
/// second try finds the rest.
pub fn remove(caller: &Caller, files: &SessionFiles, id: &SessionId) -> Result<RemovedLetters> {
    ensure_idle(files, id)?;
    if let Some(notice) = leave_runner(caller, files, id) {
        caller.person.emit(notice);
    }
    let _alone = RoundLock::take(files.store.directory())?;
    ensure_idle(files, id)?;
    let (messages, replies) = files.mailbox.letters_of(id)?;
    for letter in messages.iter().chain(&replies) {
        crate::fs::remove(letter)?;
    }
    files.mailbox.forget_latest(id);
    files.store.remove(id)?;
    Ok(RemovedLetters {
        messages: messages.len(),
        replies: replies.len(),
    })
}

/// Takes leave of the runner of a session, as at its end. Nothing is done for a session that cannot be
/// read or whose runner the person did not choose, nor for one that is done if another one is not.
fn leave_runner(caller: &Caller, files: &SessionFiles, id: &SessionId) -> Option<Event> {
    let session = files.store.load(id).ok()?;
    let (choice, runner) = runner_elsewhere(caller, &session)?;
    expect_files(&*runner, &session);
    let others = status::others(&files.store, &session);
    if session.is_complete && !runner.awaits_results() && !others.is_empty() {
        return None;
    }
    finish_runner(&*runner, &choice, None, &caller.interrupt)
}

/// The runner of a session and the words for it, if it is not this machine and the person chose it.
fn runner_elsewhere(caller: &Caller, session: &Session) -> Option<(RunnerChoice, Arc<dyn Runner>)> {
    let (base, now) = settings(caller, FirstRun::Refuse).ok()?;
    let recalled = choices::recall(caller, (&base, &now), session).ok()?;
    let loaded = recalled.loaded;
    let workspace = &loaded.paths.workspace;
    if loaded.settings.runner == RunnerChoice::Local || !workspace.is_dir() {
        return None;
    }
    let runner = guard::runner(&loaded, workspace, &caller.trust, Testing::Unremembered).ok()?;
    Some((loaded.settings.runner, runner))
}

/// The latest session that is done and whose runner has results that have not come back.
pub(super) fn done_with_results(caller: &Caller, store: &Store) -> Option<SessionId> {
    let (summaries, _) = store.summaries().ok()?;
    let done = summaries.into_iter().filter(|summary| summary.is_complete);
    let mut sessions = done.filter_map(|summary| store.load(&summary.session_id).ok());
    let session = sessions.find(|session| {
        let runner = (session.has_files_elsewhere)
            .then(|| runner_elsewhere(caller, session))
            .flatten();
        runner.is_some_and(|(_, runner)| runner.awaits_results())
    })?;
    Some(session.session_id)
}

/// Tells the runner of a session that is not done if the session left files with it: when it is done,
/// the runner has removed them.
pub(super) fn expect_files(runner: &dyn Runner, session: &Session) {
    if session.has_files_elsewhere && !session.is_complete {
        runner.expect_files();
    }
}

/// Removes what the runner of an ended session keeps elsewhere; a sentence for the person if it is kept,
/// with the session that takes what is missing, if it stays.
pub(super) fn finish_runner(
    runner: &dyn Runner,
    choice: &RunnerChoice,
    session: Option<&SessionId>,
    interrupt: &Interrupt,
) -> Option<Event> {
    if !runner.keeps_files() {
        return None;
    }
    let reason = runner.finish(interrupt.flag()).err()?;
    let session = session.filter(|_| runner.awaits_results());
    let taken = session.map(|id| format!(" `agent end {id}` takes them too."));
    let text = format!(
        "`{choice}` still has files of this workspace: {reason}.{} `agent doctor --clean --runner {choice}` removes them with what has not come back.",
        taken.unwrap_or_default()
    );
    Some(Event::Notice { text })
}
