//! Whether a file in the inbox is a reply to this round.
//!
//! A person saves the wrong file, the previous reply once more, our own outbox, a reply from
//! another session's tab. None of these may be executed, and each is told from the others, because
//! what to do next differs. What another session waits for stays where it is.

use super::round::continues;
use super::{Agent, Conversation};
use crate::error::Result;
use crate::mailbox::{Candidate, Reading};
use crate::protocol::SessionId;
use crate::reply::{self, Reply};
use crate::ui::{Takes, escape_line};

/// What becomes of a file in the inbox.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is a reply to this round.
    Take(Judged),
    /// It is not, and this is why, in words for the person.
    Reject(String),
    /// It answers this session, which is not finished either and will take it.
    Leave(SessionId),
    /// It vanished before it could be read.
    Gone,
}

/// A reply that may be executed.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) reply: Reply,
    pub(super) identity: String,
}

/// How the name of a file begins by which `agent paste` says that the number does not matter.
pub const ANYWAY: &str = "agent-paste-anyway-";

/// The identity of a reply's text: the same for the same text, however it was saved.
pub fn identity(text: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for word in text.split_whitespace() {
        hasher.update(word.as_bytes());
        hasher.update(b" ");
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

impl Agent {
    /// The other session that a file in the inbox answers, if that one is not finished.
    pub fn other_session(&self, id: &SessionId, candidate: &Candidate) -> Option<SessionId> {
        let Ok(Reading::Text(bytes)) = self.mailbox.read(candidate) else {
            return None;
        };
        self.awaited_elsewhere(id, &reply::read(&bytes).1)
    }

    /// Says that a reply stays in the inbox for the session that it answers.
    pub fn tell_left(&self, name: &str, other: &SessionId) {
        self.ui.say(&format!(
            "`{}` answers session {other}, which is not finished: it stays in the inbox, and `agent resume {other}` takes it.",
            escape_line(name)
        ));
    }

    fn awaited_elsewhere(&self, id: &SessionId, reply: &Reply) -> Option<SessionId> {
        let other = reply.end.as_ref().map(|end| &end.session)?;
        let is_unfinished = || (self.store.load(other)).is_ok_and(|session| !session.is_complete);
        (other != id && is_unfinished()).then(|| other.clone())
    }
}

impl Conversation<'_> {
    /// Reads a file and decides what it is.
    pub(super) fn judge(&self, candidate: &Candidate) -> Result<Verdict> {
        let bytes = match self.agent.mailbox.read(candidate)? {
            Reading::Text(bytes) => bytes,
            Reading::TooLarge { size } => {
                return Ok(Verdict::Reject(format!(
                    "it has {size} bytes; a chat reply is never that large"
                )));
            }
            Reading::NotText => return Ok(Verdict::Reject("it is not text".to_owned())),
            Reading::Gone => return Ok(Verdict::Gone),
        };
        let (text, reply) = reply::read(&bytes);
        if text.trim().is_empty() {
            return Ok(Verdict::Reject("it holds no text".to_owned()));
        }
        if reply::is_outbox(&text) {
            return Ok(Verdict::Reject(
                "it is our own message; save the chat's reply to it instead".to_owned(),
            ));
        }
        if reply.steps.is_empty()
            && let Some((number, total)) = reply::acknowledged_part(&text)
        {
            return Ok(Verdict::Reject(format!(
                "it is the chat's answer to part {number} of {total}; paste the next part, and save only the answer to the last one"
            )));
        }
        if let Some(other) = self
            .agent
            .awaited_elsewhere(&self.session.session_id, &reply)
        {
            return Ok(Verdict::Leave(other));
        }
        let identity = identity(&text);
        if let Some(why) = self.mismatch(&reply, &identity, &candidate.name) {
            return Ok(Verdict::Reject(why));
        }
        Ok(Verdict::Take(Judged { reply, identity }))
    }

    /// Why a reply does not answer this round, if it does not.
    fn mismatch(&self, reply: &Reply, identity: &str, name: &str) -> Option<String> {
        let session = &self.session;
        let anyway = name.starts_with(ANYWAY);
        if let Some(end) = &reply.end
            && end.session != session.session_id
        {
            return Some(format!(
                "it answers session {}, this is session {}",
                end.session, session.session_id
            ));
        }
        if session.replies.iter().any(|known| known == identity) && !anyway {
            return Some("this very reply was processed in an earlier round; save the chat's answer to the latest message, or use it once more with `agent paste --anyway`".to_owned());
        }
        let end = reply.end.as_ref()?;
        if end.sequence == session.sequence_number || anyway || continues(session, reply) {
            return None;
        }
        self.ask_about_number(end.sequence)
    }

    fn ask_about_number(&self, says: u32) -> Option<String> {
        let is = self.session.sequence_number;
        let question =
            format!("The reply says round {says}, this is round {is}. Use it anyway? [y/N]");
        let agent = self.agent;
        match (agent.ui).ask(&question, Takes::YesOrNo, &agent.interrupt) {
            answer if answer.is_yes() => None,
            _ => Some(format!(
                "it answers round {says}, this is round {is}; `agent paste --anyway` with that file uses it all the same"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_the_same_identity_however_it_was_saved() {
        assert_eq!(identity("a\r\nb\r\n"), identity("a\nb"));
        assert_ne!(identity("a b"), identity("ab"));
    }
}
