//! Takes over sessions that somebody else began.
//!
//! A project can bring the records of a session along, with decisions in them. They are somebody
//! else's: questions are put again to this person. (The network counts as given only if the person's own
//! file says so.)

use std::path::Path;

use super::Caller;
use super::open::SessionFiles;
use crate::approve::{KnownSessions, Pending};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::Store;

/// Remembers a session that this person begins.
pub(super) fn begin(caller: &Caller, base: &Path, id: &SessionId) -> Result<()> {
    KnownSessions::kept_in(caller.trust.directory()).add(base, id)
}

/// Ensures that nothing in the session was decided by somebody else.
pub(super) fn take_over(caller: &Caller, base: &Path, store: &Store, id: &SessionId) -> Result<()> {
    if KnownSessions::kept_in(caller.trust.directory()).has(base, id)? {
        return Ok(());
    }
    if Pending::of(&store.folder(id)).forget_decisions()? {
        caller.say(format!(
            "Session {id} was not begun by you in this directory: what was decided in it does not \
             count, and is asked again."
        ));
    }
    begin(caller, base, id)
}

/// Refuses a decision in a session that is not this person's yet: it would be forgotten with those of
/// others.
pub(super) fn ensure_own(files: &SessionFiles, id: &SessionId) -> Result<()> {
    if !files.known.can_remember() || files.known.has(&files.base.directory, id)? {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "session {id} was not begun by you in this directory"
    ))
    .hint(format!(
        "`agent resume {id}` takes it over, and asks you what is open"
    )))
}
