//! The sessions of a base directory.

use super::open::SessionFiles;
use crate::error::{Error, Result};
use crate::session::LoopLock;
pub use crate::session::{Summary, now};

/// Sessions, the latest first, and those that could not be read.
#[derive(Debug)]
pub struct SessionList {
    /// Each session, with true if a loop works on it now.
    pub sessions: Vec<(Summary, bool)>,
    /// Why some are not among them.
    pub troubles: Vec<Error>,
}

/// Lists the sessions.
pub fn list(files: &SessionFiles) -> Result<SessionList> {
    let (sessions, troubles) = files.store.summaries()?;
    let running = LoopLock::holder(files.store.directory()).and_then(|holder| holder.session);
    let sessions = sessions.into_iter().map(|session| {
        let is_running = running.as_ref() == Some(&session.session_id);
        (session, is_running)
    });
    Ok(SessionList {
        sessions: sessions.collect(),
        troubles,
    })
}
