//! A message from which a new chat can continue.

use super::{Caller, find, open};
use crate::error::Result;
use crate::protocol::SessionId;
use crate::session::LoopLock;

/// A message that was rewritten for a new chat, and told as an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedSession {
    /// The session.
    pub session: SessionId,
    /// True if a loop waits for the reply.
    pub is_running: bool,
}

/// Rewrites the message of a session for a chat that knows nothing of the work.
pub fn hand_over(caller: &Caller, id: Option<&str>) -> Result<HandedSession> {
    let (opened, session) = open::session(caller, find::find, id)?;
    let (agent, session) = (opened.agent, session.session_id);
    let handed = agent.hand_over(&session)?;
    agent.tell_outbox(
        handed.sequence,
        &handed.posted,
        &handed.text,
        &handed.cuts,
        false,
    );
    let is_running = LoopLock::holder(agent.store.directory())
        .is_some_and(|holder| holder.session.as_ref() == Some(&session));
    Ok(HandedSession {
        session,
        is_running,
    })
}
