//! Takes over sessions that somebody else began.
//!
//! A project can bring the records of a session along, with decisions in them. They are somebody
//! else's: questions are put again to this person. (The network counts as given only if the person's own
//! file says so.)

use std::path::Path;

use crate::approve::{KnownSessions, Pending};
use crate::error::Result;
use crate::protocol::SessionId;
use crate::session::Store;

/// Ensures that nothing in the session was decided by somebody else; returns true if something was.
pub(super) fn take_over(
    known: &KnownSessions,
    base: &Path,
    store: &Store,
    id: &SessionId,
) -> Result<bool> {
    // Where nothing can be remembered, every session would be somebody else's.
    if !known.can_remember() || known.has(base, id)? {
        return Ok(false);
    }
    let is_decided = Pending::of(&store.folder(id)).forget_decisions()?;
    let _ = known.add(base, id);
    Ok(is_decided)
}
