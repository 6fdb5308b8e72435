//! Events of a session as they come, from another process than the one that acts.

use std::time::Duration;

use super::Caller;
use super::open::SessionFiles;
use crate::protocol::{Envelope, Event};
use crate::session::{EventReader, Session};
use crate::watch::Doorbell;

/// How often a session is looked at where nothing reports changes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Says why nothing more is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowEnd {
    /// The session has ended.
    Ended,
    /// The caller was interrupted.
    Interrupted,
    /// Nobody reads what is told any more.
    Unheard,
    /// The session was removed.
    Removed,
}

/// Tells every event from this number on, or from the latest message on, until the session ends or
/// nobody hears it.
pub fn follow(
    caller: &Caller,
    files: &SessionFiles,
    session: &Session,
    from: Option<u64>,
    is_heard: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Envelope),
) -> FollowEnd {
    let folder = files.store.folder(&session.session_id);
    let had_folder = folder.exists();
    let bell = Doorbell::on(&folder);
    let waker = bell.waker();
    caller.interrupt.on_raise(move || waker.wake());
    let mut reader = EventReader::starting_at(&folder, from.unwrap_or(1));
    let mut news = reader.read();
    if from.is_none() {
        let is_outbox = |envelope: &Envelope| matches!(envelope.event, Event::Outbox { .. });
        let round = news.iter().rposition(is_outbox).unwrap_or(0);
        news.drain(..round);
    }
    let mut is_over = session.is_complete;
    loop {
        for envelope in &news {
            tell(envelope);
            match envelope.event {
                Event::Done { .. } | Event::Ended { .. } => is_over = true,
                Event::Session { .. } => is_over = false,
                _ => {}
            }
        }
        if is_over {
            return FollowEnd::Ended;
        }
        if caller.interrupt.is_raised() {
            return FollowEnd::Interrupted;
        }
        if !is_heard() {
            return FollowEnd::Unheard;
        }
        if had_folder && !folder.exists() {
            return FollowEnd::Removed;
        }
        bell.wait_for(LOOK_EVERY);
        news = reader.read();
    }
}
