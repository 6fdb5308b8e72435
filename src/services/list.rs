//! The sessions of a base directory.

use std::io::Read as _;

use super::open::SessionFiles;
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::LoopLock;
pub use crate::session::{Summary, UsageTotals, now};

/// Sessions, the latest first, and those that could not be read.
#[derive(Debug)]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<ListedSession>,
    /// Why some are not among them.
    pub troubles: Vec<Error>,
}

/// A session of the list.
#[derive(Debug)]
pub struct ListedSession {
    /// The task, and how far it is.
    pub summary: Summary,
    /// The name that the person gave to it.
    pub name: Option<String>,
    /// True if a loop works on it now.
    pub is_running: bool,
    /// The tokens and costs of APIs, if it used one.
    pub usage: Option<UsageTotals>,
}

/// Lists the sessions.
pub fn list(files: &SessionFiles) -> Result<SessionList> {
    let (sessions, troubles) = files.store.summaries()?;
    let running = LoopLock::holder(files.store.directory()).and_then(|holder| holder.session);
    let sessions = sessions.into_iter().map(|summary| ListedSession {
        is_running: running.as_ref() == Some(&summary.session_id),
        usage: files.store.usage(&summary.session_id),
        name: files.store.name(&summary.session_id),
        summary,
    });
    Ok(SessionList {
        sessions: sessions.collect(),
        troubles,
    })
}

/// Lists the sessions that have a word in their name, their task, their replies or the names of the
/// files that they changed.
pub fn search(files: &SessionFiles, word: &str) -> Result<SessionList> {
    let word = word.to_lowercase();
    let mut found = list(files)?;
    found.sessions.retain(|session| has(files, session, &word));
    Ok(found)
}

fn has(files: &SessionFiles, listed: &ListedSession, word: &str) -> bool {
    /// Longer replies are searched at their beginning only.
    const MOST: u64 = 4 << 20;
    let is_in = |text: &str| text.to_lowercase().contains(word);
    let id = &listed.summary.session_id;
    if listed.name.as_deref().is_some_and(is_in) || is_in(&listed.summary.task) {
        return true;
    }
    let session = files.store.load(id);
    let changed = session.is_ok_and(|session| {
        let mut names = session.changed_files.iter();
        names.any(|name| is_in(name))
    });
    if changed {
        return true;
    }
    let Ok((_, replies)) = files.mailbox.letters_of(id) else {
        return false;
    };
    replies.iter().any(|path| {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(MOST).read_to_end(&mut bytes));
        read.is_ok() && is_in(&String::from_utf8_lossy(&bytes))
    })
}

/// Names a session, or takes its name away.
pub fn rename(files: &SessionFiles, id: &SessionId, name: Option<&str>) -> Result<()> {
    files.store.rename(id, name)
}
