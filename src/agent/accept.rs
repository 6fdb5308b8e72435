//! Decides if a file in the inbox is a reply to this round.
//!
//! A person saves the wrong file, the previous reply once more, our own outbox, a reply from
//! another session's tab. None of these may be executed, and they are told apart because the next
//! step differs. A reply that another session waits for stays where it is.

use std::path::Path;

use super::round::continues;
use super::{Agent, file_name};
use crate::approve::{self, Question};
use crate::error::Result;
use crate::mailbox::{self, Candidate, Reading};
use crate::protocol::{Event, RelPath, SessionId};
use crate::reply::{self, Repair, Reply, ReplyWorkspace, TruncatedReply};
use crate::session::Session;
use crate::workspace::Workspace;

/// The decision about a file in the inbox.
#[derive(Debug)]
pub(super) enum InboxVerdict {
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

/// Why a file is no reply whose bytes are no text.
const NO_TEXT: &str = "it is not text; save the chat's reply as plain text, such as `reply.txt`";

/// Returns true if so many characters are garbage that this is a document or a picture, not text.
fn is_junk(text: &str, reply: &Reply) -> bool {
    let is_stray = |character: &char| {
        *character == '\u{fffd}'
            || (character.is_control()
                && !matches!(character, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'))
    };
    let stray = text.chars().filter(is_stray).count();
    // Of a reply that has commands a part may have been damaged on its way.
    let share = if is_nothing(reply) { 20 } else { 4 };
    stray.saturating_mul(share) > text.chars().count()
}

/// Reads a reply where its workspace is known.
pub fn read_beside_files(workspace: &Workspace, bytes: &[u8]) -> (String, Reply) {
    const MAX_BYTES: u64 = 1024 * 1024;
    let file = |path: &RelPath| String::from_utf8(workspace.read(path, MAX_BYTES).ok()?).ok();
    let root = workspace.path();
    reply::read_in(ReplyWorkspace { root, file: &file }, bytes)
}

/// Reads a reply of this name.
///
/// A whole one of an API has the mark of its round, which the courier sets; one without it broke off,
/// even if all that came can be read.
pub(super) fn read_reply_in(workspace: &Workspace, name: &str, bytes: &[u8]) -> (String, Reply) {
    let (text, mut reply) = read_beside_files(workspace, bytes);
    let is_broken = mailbox::is_by_api(name) && reply::end_mark(&text).is_none();
    if is_broken && reply.cut.is_none() && !text.trim().is_empty() {
        let lines = text.trim_end().lines().count();
        let line = u32::try_from(lines).unwrap_or(u32::MAX);
        reply.cut = Some(TruncatedReply::in_text(line));
    }
    (text, reply)
}

/// Returns true if the reply holds no steps, not even malformed or truncated ones.
fn is_nothing(reply: &Reply) -> bool {
    reply.steps.is_empty() && reply.issues.is_empty() && reply.cut.is_none()
}

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
        self.tell(Event::LeftInInbox {
            name: name.to_owned(),
            answers: other.clone(),
        });
    }

    fn awaited_elsewhere(&self, id: &SessionId, reply: &Reply) -> Option<SessionId> {
        let other = reply.end.as_ref().map(|end| &end.session)?;
        let is_unfinished = || (self.store.load(other)).is_ok_and(|session| !session.is_complete);
        (other != id && is_unfinished()).then(|| other.clone())
    }
}

/// Judges files in the inbox for a session that waits for a reply.
#[derive(Debug)]
pub(super) struct ReplyJudge<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: &'a Session,
}

impl ReplyJudge<'_> {
    /// Reads a file and decides what it is.
    pub(super) fn judge(&self, candidate: &Candidate) -> Result<InboxVerdict> {
        let bytes = match self.agent.mailbox.read(candidate)? {
            Reading::Text(bytes) => bytes,
            Reading::TooLarge { size } => {
                return Ok(InboxVerdict::Reject(format!(
                    "it has {size} bytes; a chat reply is never that large"
                )));
            }
            Reading::NotText => return Ok(InboxVerdict::Reject(NO_TEXT.to_owned())),
            Reading::Gone => return Ok(InboxVerdict::Gone),
        };
        let (text, reply) = read_reply_in(&self.agent.workspace, &candidate.name, &bytes);
        if text.trim().is_empty() {
            return Ok(InboxVerdict::Reject("it holds no text".to_owned()));
        }
        if is_junk(&text, &reply) {
            return Ok(InboxVerdict::Reject(NO_TEXT.to_owned()));
        }
        if reply::is_outbox(&text) {
            return Ok(InboxVerdict::Reject(
                "it is our own message; save the chat's reply to it instead".to_owned(),
            ));
        }
        if reply.steps.is_empty()
            && let Some((number, total)) = reply::acknowledged_part(&text)
        {
            return Ok(InboxVerdict::Reject(format!(
                "it is the chat's answer to part {number} of {total}; paste the next part, and save only the answer to the last one"
            )));
        }
        if let Some((other, _)) = mailbox::answered_by_api(&candidate.name)
            && other != self.session.session_id
        {
            let found = self.agent.store.load(&other);
            let is_unfinished = found.is_ok_and(|session| !session.is_complete);
            return Ok(if is_unfinished {
                InboxVerdict::Leave(other)
            } else {
                InboxVerdict::Reject(format!("it answers session {other}, which has ended"))
            });
        }
        if let Some(other) = self
            .agent
            .awaited_elsewhere(&self.session.session_id, &reply)
        {
            return Ok(InboxVerdict::Leave(other));
        }
        if is_nothing(&reply) && reply::awaits_part(&text) && self.goes_in_parts() {
            return Ok(InboxVerdict::Reject(
                "it is the chat's answer to one part of the message; paste the next part, and save only the answer to the last one".to_owned(),
            ));
        }
        let identity = identity(&text);
        if let Some(why) = self.mismatch(&reply, &identity, candidate)? {
            return Ok(InboxVerdict::Reject(why));
        }
        for Repair { what, count, .. } in &reply.repairs {
            tracing::debug!(what, count, "reply repaired");
        }
        Ok(InboxVerdict::Take(Judged { reply, identity }))
    }

    /// Returns true if another file in the inbox is the reply to this round, so that there is no
    /// need to ask about `candidate`.
    fn has_another_reply(&self, candidate: &Candidate) -> bool {
        const MOST_FILES: usize = 100;
        let session = self.session;
        let answers = |path: &Path| {
            let Ok(Reading::Text(bytes)) = mailbox::read_reply(path) else {
                return false;
            };
            reply::end_mark(&reply::decode(&bytes).0).is_some_and(|end| {
                end.session == session.session_id && end.sequence == session.sequence_number
            })
        };
        let files = std::fs::read_dir(self.agent.mailbox.inbox());
        let mut files = files.into_iter().flatten().flatten().take(MOST_FILES);
        files.any(|file| {
            let is_file = file.file_type().is_ok_and(|kind| kind.is_file());
            is_file && file.path() != candidate.path && answers(&file.path())
        })
    }

    /// Returns true if the message of this round is pasted in parts.
    fn goes_in_parts(&self) -> bool {
        let session = self.session;
        let mailbox = &self.agent.mailbox;
        let posted = mailbox.posted(&session.session_id, session.sequence_number);
        posted.is_some_and(|posted| posted.pastes.len() > 1)
    }

    /// Why a reply does not answer this round, if it does not.
    fn mismatch(
        &self,
        reply: &Reply,
        identity: &str,
        candidate: &Candidate,
    ) -> Result<Option<String>> {
        let session = self.session;
        // The courier of an API knows which round was answered, even if the model repeats itself.
        let asked = (session.session_id.clone(), session.sequence_number);
        let anyway = candidate.name.starts_with(ANYWAY)
            || mailbox::answered_by_api(&candidate.name).as_ref() == Some(&asked);
        if let Some(end) = &reply.end
            && end.session != session.session_id
        {
            return Ok(Some(format!(
                "it answers session {}, this is session {}",
                end.session, session.session_id
            )));
        }
        if session.replies.iter().any(|known| known == identity) && !anyway {
            return Ok(Some("this very reply was processed in an earlier round; save the chat's answer to the latest message, or use it once more with `agent paste --anyway`".to_owned()));
        }
        let unknown = (self.agent.mailbox).claimed_since(&asked.0, asked.1)?;
        if !anyway
            && unknown
                .iter()
                .any(|(_, file)| self.has_identity(file, identity))
        {
            return Ok(Some("this very reply was taken in a round of which nothing tells any more, and may have been carried out; save the chat's answer to the latest message, or use it once more with `agent paste --anyway`".to_owned()));
        }
        let Some(end) = &reply.end else {
            return Ok(None);
        };
        // A number of a round that there was not yet was only counted wrong, unless there was one of
        // which nothing tells any more.
        let is_ahead = end.sequence > session.sequence_number;
        let is_lost = is_ahead && unknown.iter().any(|(round, _)| *round == end.sequence);
        let is_in_time = end.sequence >= session.sequence_number && !is_lost;
        if is_in_time || anyway || continues(session, reply) {
            return Ok(None);
        }
        self.ask_about_number(end.sequence, candidate)
    }

    /// Returns true if the file has the reply with this identity.
    fn has_identity(&self, file: &Path, wanted: &str) -> bool {
        let Ok(Reading::Text(bytes)) = mailbox::read_reply(file) else {
            return false;
        };
        let (text, _) = read_reply_in(&self.agent.workspace, &file_name(file), &bytes);
        identity(&text) == wanted
    }

    fn ask_about_number(&self, says: u32, candidate: &Candidate) -> Result<Option<String>> {
        let is = self.session.sequence_number;
        let agent = self.agent;
        if !self.has_another_reply(candidate) {
            let question = Question::about_other_round(says, is, &candidate.name);
            let asker = agent.asker(&self.session.session_id);
            let verdict = asker.pose(question, &agent.interrupt)?;
            if verdict == Some(approve::Verdict::Yes) {
                return Ok(None);
            }
        }
        Ok(Some(format!(
            "it answers round {says}, this is round {is}; `agent paste --anyway` with that file uses it all the same"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_nobody_wrote_are_no_reply() {
        let is_junk = |bytes: &[u8]| {
            let (text, reply) = reply::read(bytes);
            is_junk(&text, &reply)
        };
        assert!(is_junk(b"PK\x07\x00\x00\x00word/document.xml\x9c\xed"));
        assert!(is_junk(&[0xff, 0xfe - 1, 0x80, b'a', b'b']));
        assert!(!is_junk("Gr\u{fc}\u{df}e, alles gut.".as_bytes()));
        assert!(!is_junk(
            b"[CREATE_FILE path=\"a\"]\nGr\xfc\xdfe\n[/CREATE_FILE]\n"
        ));
        assert!(!is_junk(b"One stray \x07 in a sentence.\n"));
    }

    #[test]
    fn a_reply_of_an_api_without_its_mark_broke_off() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let cut = |name: &str, text: &str| {
            let (_, reply) = read_reply_in(&workspace, name, text.as_bytes());
            reply.cut
        };
        let half = "Sure.\n\n[DONE]\nfinished half of the";
        let whole = "[DONE]\nall\n[/DONE]\n[END ab12cd34#1]\n";
        for name in [
            "api-ab12cd34_seq0001-5f3a.txt",
            "ab12cd34_seq0001_api-ab12cd34_seq0001-5f3a.txt",
        ] {
            assert_eq!(cut(name, half), Some(TruncatedReply::in_text(4)), "{name}");
            assert_eq!(cut(name, whole), None, "{name}");
        }
        for name in ["reply.txt", "ab12cd34_seq0001_reply.txt"] {
            assert_eq!(cut(name, half), None, "{name}");
        }
    }

    #[test]
    fn the_same_text_has_the_same_identity_however_it_was_saved() {
        assert_eq!(identity("a\r\nb\r\n"), identity("a\nb"));
        assert_ne!(identity("a b"), identity("ab"));
    }
}
