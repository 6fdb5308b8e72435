//! Events of a session as they come, from another process than the one that acts.

use std::time::Duration;

use super::Caller;
use super::open::SessionFiles;
use crate::protocol::{Envelope, Event};
use crate::session::{EventReader, LoopLock, Session};
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
    // The session itself says that it has ended: its last event may not have been written, and others
    // may come after the one that says so.
    let has_ended = || {
        let is_left = !LoopLock::is_at_work_on(files.store.directory(), &session.session_id);
        is_left && (files.store.load(&session.session_id)).is_ok_and(|session| session.is_complete)
    };
    loop {
        news.iter().for_each(&mut *tell);
        if has_ended() {
            reader.read().iter().for_each(&mut *tell);
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
