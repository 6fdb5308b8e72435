//! Puts a reply into the inbox, and reads one from a file.

use std::path::{Path, PathBuf};

use super::{Caller, open};
use crate::agent::ANYWAY;
pub use crate::courier::{BroughtText, weigh};
use crate::courier::{Message, weigh_without_round};
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
pub use crate::mailbox::MAX_REPLY;
use crate::mailbox::{self, Mailbox, Reading};
use crate::protocol::SessionId;
use crate::session::{LoopLock, Store};

/// The file of a session with a pasted text that nobody has decided about.
const UNDECIDED: &str = "pasted.json";

/// Says if the round that a reply names must be the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundNumber {
    /// A reply that names an earlier round is asked about.
    MustMatch,
    /// It is used all the same.
    Anyway,
}

/// Takes the replies of a session that is carried on.
#[derive(Debug, Clone)]
pub struct ReplyDesk {
    mailbox: Mailbox,
    store: Store,
    session: SessionId,
}

impl ReplyDesk {
    pub(super) fn new(mailbox: &Mailbox, store: &Store, session: &SessionId) -> Self {
        Self {
            mailbox: mailbox.clone(),
            store: store.clone(),
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

    /// Keeps a pasted text that the person has not decided about, whatever ends the process;
    /// `None` once they have.
    pub fn keep_undecided(&self, text: Option<&str>) -> Result<()> {
        if let Some(text) = text {
            return self.store.put_aside(&self.session, UNDECIDED, &text);
        }
        self.store.drop_aside(&self.session, UNDECIDED);
        Ok(())
    }

    /// The text that was kept.
    pub fn undecided(&self) -> Option<String> {
        self.store.aside(&self.session, UNDECIDED)
    }

    /// Puts a reply into the inbox.
    pub fn put(&self, text: &str) -> Result<PathBuf> {
        put(&self.mailbox, text.as_bytes(), RoundNumber::MustMatch)
    }
}

/// Refuses a reply that no session waits for; returns true if a loop does.
pub fn ensure_awaited(caller: &Caller) -> Result<bool> {
    let files = open::files(caller)?;
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
    Ok(is_awaited)
}

/// Puts a reply that is not empty into the inbox of the base directory; also returns true if a loop
/// waits there.
pub fn deliver(caller: &Caller, bytes: &[u8], number: RoundNumber) -> Result<(PathBuf, bool)> {
    let files = open::files(caller)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::mendable("the reply is empty")
            .hint("copy the chat's reply with its copy button, and try again"));
    }
    let is_awaited = ensure_awaited(caller)?;
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
