//! The sessions of a base directory.

use super::open::SessionFiles;
use crate::error::{Error, Result};
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
        summary,
    });
    Ok(SessionList {
        sessions: sessions.collect(),
        troubles,
    })
}
