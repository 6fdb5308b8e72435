//! Removes a session with its messages and replies; the workspace stays as it is.

use super::open::SessionFiles;
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::{LoopLock, RoundLock};

/// The letters that went with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedLetters {
    /// How many messages.
    pub messages: usize,
    /// How many replies.
    pub replies: usize,
}

/// Refuses a session that a loop works on.
pub fn ensure_idle(files: &SessionFiles, id: &SessionId) -> Result<()> {
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

/// Removes what belongs to a session; its own file last, so that a second try finds the rest.
pub fn remove(files: &SessionFiles, id: &SessionId) -> Result<RemovedLetters> {
    let _alone = RoundLock::take(files.store.directory())?;
    ensure_idle(files, id)?;
    let (messages, replies) = files.mailbox.letters_of(id)?;
    for letter in messages.iter().chain(&replies) {
        crate::fs::remove(letter)?;
    }
    files.store.remove(id)?;
    Ok(RemovedLetters {
        messages: messages.len(),
        replies: replies.len(),
    })
}
