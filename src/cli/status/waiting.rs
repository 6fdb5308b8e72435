//! What a session waits for besides the chat: a reply that was taken and not carried out to its end,
//! one that lies in the inbox, and other sessions that are not finished.

use std::path::{Path, PathBuf};

use super::super::open::Files;
use crate::mailbox::{self, Reading};
use crate::reply;
use crate::session::{Session, State, Store, Summary};
use crate::ui::escape_line;

/// How many files of the inbox are looked into.
const MAX_FILES: usize = 100;

/// How many other sessions are named.
const NAMED: usize = 3;

/// Whether the reply to the current round was taken, and is not carried out to its end.
pub(super) fn is_taken(files: &Files, session: &Session) -> bool {
    let (id, sequence) = (&session.session_id, session.sequence_number);
    files.mailbox.claimed(id, sequence).is_some()
}

/// The name of a file in the inbox that a loop would take.
pub(super) fn in_inbox(files: &Files, session: &Session) -> Option<String> {
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

/// A line about the other sessions that are not finished; nothing if there are none.
pub(in super::super) fn others(store: &Store, session: &Session) -> Option<String> {
    let (summaries, _) = store.summaries().ok()?;
    let is_other = |one: &&Summary| one.session_id != session.session_id;
    let others: Vec<_> = (summaries.iter())
        .filter(|one| is_other(one) && one.state() != State::Done)
        .collect();
    let named = others.iter().take(NAMED).map(|one| {
        let title: String = one.title().chars().take(40).collect();
        format!("{} ({})", one.session_id, escape_line(&title))
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return None;
    }
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    Some(format!(
        "Also unfinished: {}{more}; `agent resume ID` continues one.",
        named.join(", ")
    ))
}
