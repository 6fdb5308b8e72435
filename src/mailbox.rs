//! The mailbox: prompts leave through `outbox/`, replies come in through `inbox/`.
//!
//! A prompt is there as a whole or not at all. A reply is handed out when it is whole, and moved
//! out of the inbox before anything of it is executed. What a reply says, and whether it answers
//! this round, is not decided here.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs::own_directory;
use crate::protocol::SessionId;

mod calls;
mod claim;
mod entry;
mod inbox;
mod letters;
mod name;
mod outbox;
mod read;
mod settle;
mod sighting;

pub use calls::{CallSafety, CallsFile, first_call, has_calls, read_calls};
pub use inbox::Inbox;
pub use name::shortened;
pub use outbox::Posted;
pub use read::{MAX_REPLY, Reading, read_reply};
pub use sighting::FindEndMark;

use settle::Stat;

/// The two directories through which a person carries messages.
#[derive(Debug, Clone)]
pub struct Mailbox {
    outbox: PathBuf,
    inbox: PathBuf,
}

impl Mailbox {
    /// Makes the directories that are not there yet.
    pub fn open(outbox: PathBuf, inbox: PathBuf) -> Result<Self> {
        let mailbox = Self { outbox, inbox };
        for directory in [&mailbox.outbox, &mailbox.inbox] {
            own_directory(directory)?;
        }
        own_directory(&mailbox.processed())?;
        own_directory(&mailbox.rejected())?;
        Ok(mailbox)
    }

    /// Where replies are put.
    pub fn inbox(&self) -> &Path {
        &self.inbox
    }

    /// Where prompts are found.
    pub fn outbox(&self) -> &Path {
        &self.outbox
    }

    /// Where replies are kept that were used.
    pub fn processed(&self) -> PathBuf {
        self.inbox.join("processed")
    }

    /// Returns true if the reply of an API to this round lies in the inbox.
    pub fn has_api_reply(&self, id: &SessionId, sequence: u32) -> bool {
        let entries = fs::read_dir(&self.inbox).into_iter().flatten().flatten();
        let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.any(|name| answered_by_api(&name) == Some((id.clone(), sequence)))
    }

    /// Where replies are kept that were not used, each with a file that says why.
    pub fn rejected(&self) -> PathBuf {
        self.inbox.join("rejected")
    }
}

/// A whole reply that has not been claimed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where it lies.
    pub path: PathBuf,
    /// Its file name, for people.
    pub name: String,
    /// The state in which it was whole.
    stat: Stat,
}

impl Candidate {
    /// A file that is known to be a whole reply.
    pub fn at(path: PathBuf) -> Result<Self> {
        let metadata = fs::metadata(&path).map_err(|cause| Error::file("read", &path, cause))?;
        let name = path.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            stat: Stat::of(&metadata),
            path,
        })
    }
}

/// The result of waiting for a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A whole reply.
    Reply(Candidate),
    /// Something that the person should know.
    Notice(Notice),
    /// Another thread ended the wait.
    Woken,
}

/// News about the mailbox in words for the person, each told once.
///
/// Names of files in it are not escaped: the code that prints it does that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The problem.
    pub message: String,
    /// The remedy.
    pub hint: String,
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.message, self.hint)
    }
}

/// The name of a reply that an API gave to a round: `api-ab12cd34_seq0001-5f3a.txt`.
pub fn api_reply_name(id: &SessionId, sequence: u32, unique: &str) -> String {
    format!("{API}{}-{unique}.txt", round_prefix(id, sequence))
}

/// The session and the round that a reply from an API answers, by its name.
pub fn answered_by_api(name: &str) -> Option<(SessionId, u32)> {
    let (id, rest) = name.strip_prefix(API)?.split_once("_seq")?;
    let (sequence, _) = rest.split_once('-')?;
    Some((SessionId::parse(id).ok()?, sequence.parse().ok()?))
}

/// Returns true if an API gave the reply of this name, in the inbox or after it was claimed.
pub fn is_by_api(name: &str) -> bool {
    let claimed = name
        .split_once('_')
        .and_then(|(_, rest)| rest.split_once('_'));
    answered_by_api(name).is_some()
        || claimed.is_some_and(|(_, name)| answered_by_api(name).is_some())
}

const API: &str = "api-";

/// `ab12cd34_seq0001`: how the names of a round's files begin.
fn round_prefix(id: &SessionId, sequence: u32) -> String {
    format!("{id}_seq{sequence:04}")
}

#[cfg(test)]
mod tests;
