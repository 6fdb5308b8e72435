//! Finds the session that a person means.

use crate::approve::{Pending, Person};
use crate::error::{Error, Result};
use crate::protocol::{Event, SessionId, SetupNews};
pub use crate::session::Session;
use crate::session::{LoopLock, Store};

/// A way to find the session that is meant: [`find`], [`find_open`] or [`find_any`].
pub type FindSession = fn(&Store, &dyn Person, Option<&str>) -> Result<Session>;

/// The session that was named; else the one that a loop works on, or the latest unfinished one.
pub fn find(store: &Store, person: &dyn Person, id: Option<&str>) -> Result<Session> {
    let running = LoopLock::holder(store.directory()).and_then(|holder| holder.session);
    let id = match (id, running) {
        (Some(text), _) => store.named(text)?,
        (None, Some(id)) => id,
        (None, None) => return store.latest_unfinished(),
    };
    let (session, trouble) = store.load_or_rebuild(&id)?;
    if let Some(trouble) = trouble {
        person.emit(Event::Setup(SetupNews::SessionRebuilt {
            id,
            cause: trouble.to_string(),
        }));
    }
    Ok(session)
}

/// The session that this way finds; if nothing waits for the person there and none was named, the latest
/// ended one where something does: an undo is asked about after the end too.
pub fn find_asking(
    store: &Store,
    person: &dyn Person,
    id: Option<&str>,
    way: FindSession,
) -> Result<Session> {
    let found = way(store, person, id);
    let asks = |id: &SessionId| !Pending::of(&store.folder(id)).open_questions().is_empty();
    if id.is_some() || (found.as_ref()).is_ok_and(|found| asks(&found.session_id)) {
        return found;
    }
    let (mut all, _) = store.summaries()?;
    all.retain(|one| one.is_complete && asks(&one.session_id));
    match all.first() {
        Some(one) => store.load(&one.session_id),
        None => found,
    }
}

/// The session that [`find`] finds, unless it has ended.
pub fn find_open(store: &Store, person: &dyn Person, id: Option<&str>) -> Result<Session> {
    let session = find(store, person, id)?;
    if !session.is_complete {
        return Ok(session);
    }
    let id = &session.session_id;
    Err(Error::mendable(format!("session {id} has ended"))
        .hint(format!(
            "`agent resume {id} \"<what to do next>\"` continues it"
        ))
        .hint("`agent new \"<task>\"` begins another one"))
}

/// The session that was named, the one that a loop works on, or the latest one, ended or not.
pub fn find_any(store: &Store, person: &dyn Person, id: Option<&str>) -> Result<Session> {
    let holder = LoopLock::holder(store.directory());
    if id.is_some() || holder.is_some_and(|holder| holder.session.is_some()) {
        find(store, person, id)
    } else {
        store.latest()
    }
}
