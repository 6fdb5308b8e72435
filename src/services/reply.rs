//! Puts a reply into the inbox, and reads one from a file.

use std::path::{Path, PathBuf};

use super::{Caller, open};
use crate::agent::ANYWAY;
use crate::courier::{self, Message, Sight};
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
pub use crate::mailbox::MAX_REPLY;
use crate::mailbox::{self, Mailbox, Reading};
use crate::protocol::{EndMark, SessionId};
use crate::reply;
use crate::session::LoopLock;

/// Says if the round that a reply names must be the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundNumber {
    /// A reply that names an earlier round is asked about.
    MustMatch,
    /// It is used all the same.
    Anyway,
}

/// A text that the person brings, as it looks to a session that waits for a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BroughtText {
    /// The reply to this round.
    Reply,
    /// A reply to another round or session, by this mark.
    OtherReply(EndMark),
    /// Commands without the mark that says that they are all.
    Unmarked,
    /// Our own message.
    OwnMessage,
    /// Anything else.
    Other,
}

/// Takes the replies of a session that is carried on.
#[derive(Debug, Clone)]
pub struct ReplyDesk {
    mailbox: Mailbox,
    session: SessionId,
}

impl ReplyDesk {
    pub(super) fn new(mailbox: &Mailbox, session: &SessionId) -> Self {
        Self {
            mailbox: mailbox.clone(),
            session: session.clone(),
        }
    }

    /// Tells what a text is.
    pub fn weigh(&self, text: &str) -> BroughtText {
        match Message::latest(&self.mailbox, &self.session) {
            Some(message) => weigh(text, &message.mark),
            None => weigh_without_round(text),
        }
    }

    /// Puts a reply into the inbox.
    pub fn put(&self, text: &str) -> Result<PathBuf> {
        put(&self.mailbox, text.as_bytes(), RoundNumber::MustMatch)
    }
}

/// Tells what a text is that a person brings while a round waits for its reply.
///
/// More is a reply than on a clipboard that is watched: whatever [`reply::parse`] takes for one, since
/// that is what happens to it next.
pub fn weigh(text: &str, expected: &EndMark) -> BroughtText {
    if courier::is_marked_before_prose(text, expected) {
        return BroughtText::Reply;
    }
    match courier::look(text, expected) {
        Sight::Reply => BroughtText::Reply,
        Sight::Unmarked => BroughtText::Unmarked,
        Sight::Nothing => match weigh_without_round(text) {
            BroughtText::OtherReply(mark) if mark == *expected => BroughtText::Reply,
            brought => brought,
        },
    }
}

fn weigh_without_round(text: &str) -> BroughtText {
    if reply::is_outbox(text) {
        return BroughtText::OwnMessage;
    }
    if let Some(mark) = reply::end_mark(text) {
        return BroughtText::OtherReply(mark);
    }
    // One word typed is weighed too, and has no room for a command.
    let parsed = if text.trim().contains(['\n', '[']) {
        reply::parse(text)
    } else {
        reply::Reply::default()
    };
    match parsed.end {
        Some(mark) => BroughtText::OtherReply(mark),
        None if parsed.steps.is_empty() => BroughtText::Other,
        None => BroughtText::Unmarked,
    }
}

/// Puts a reply that is not empty into the inbox of the base directory; also returns true if a loop
/// waits there.
pub fn deliver(caller: &Caller, bytes: &[u8], number: RoundNumber) -> Result<(PathBuf, bool)> {
    let files = open::files(caller)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::mendable("the reply is empty")
            .hint("copy the chat's reply with its copy button, and try again"));
    }
    let is_awaited = LoopLock::holder(files.store.directory()).is_some();
    let is_open = || {
        let (sessions, _) = files.store.summaries()?;
        Ok(sessions.iter().any(|session| !session.is_complete))
    };
    if !is_awaited && !is_open()? {
        return Err(
            Error::mendable("no session waits for a reply: all of them have ended")
                .hint("`agent resume \"<what to do next>\"` opens the latest one again"),
        );
    }
    let path = put(&files.mailbox, bytes, number)?;
    Ok((path, is_awaited))
}

/// Reads a reply from a file, if it can be one.
pub fn read_file(file: &Path) -> Result<Vec<u8>> {
    match mailbox::read_reply(file)? {
        Reading::Text(bytes) => Ok(bytes),
        Reading::TooLarge { size } => Err(Error::mendable(format!(
            "`{}` has {size} bytes; a chat reply is never that large",
            file.display()
        ))
        .hint("name the file that holds the reply, and nothing else")),
        Reading::NotText => Err(Error::mendable(format!("`{}` is not text", file.display()))
            .hint("save the reply as plain text or Markdown")),
        Reading::Gone => Err(
            Error::mendable(format!("there is no file `{}`", file.display()))
                .hint("name the file that holds the reply, or `-` for standard input"),
        ),
    }
}

/// Writes a reply into the inbox under a name of its own; the loop takes it from there.
pub(super) fn put(mailbox: &Mailbox, bytes: &[u8], number: RoundNumber) -> Result<PathBuf> {
    let start = match number {
        RoundNumber::Anyway => ANYWAY,
        RoundNumber::MustMatch => "reply-",
    };
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let path = mailbox.inbox().join(format!("{start}{}.txt", &unique[..8]));
    write_atomic(&path, bytes, Durability::Durable)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(session: &str, sequence: u32) -> EndMark {
        EndMark {
            session: SessionId::parse(session).unwrap(),
            sequence,
        }
    }

    #[test]
    fn a_text_is_told_by_its_end_mark_and_its_commands() {
        let now = mark("ab12cd34", 3);
        let case = |text: &str, expected: BroughtText| {
            assert_eq!(weigh(text, &now), expected, "{text}");
        };
        let commands = "[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n";
        case(&format!("{commands}{now}\n"), BroughtText::Reply);
        let chatty = format!("{commands}{now}\nTell me how it goes.\n");
        case(&chatty, BroughtText::Reply);
        for other in [mark("ab12cd34", 2), mark("00000000", 3)] {
            let text = format!("{commands}{other}\n");
            case(&text, BroughtText::OtherReply(other));
        }
        case(commands, BroughtText::Unmarked);
        case("a note", BroughtText::Other);
        // What the reading of a reply repairs or translates is a command here too.
        let half = "\\[READ_FILE path=\"a.sh\"]\n";
        case(half, BroughtText::Unmarked);
        case(&format!("{half}\\[END ab12cd34#3]\n"), BroughtText::Reply);
        let other = mark("ab12cd34", 2);
        let text = format!("{half}\\[END ab12cd34#2]\n");
        case(&text, BroughtText::OtherReply(other));
        let diff = "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n```\n";
        case(diff, BroughtText::Unmarked);
        case("I would start\nwith the tests.\n", BroughtText::Other);
        case("```python\nprint(1)\nprint(2)\n```\n", BroughtText::Other);
    }
}
