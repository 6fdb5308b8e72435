//! The messages of a session and the replies that were used.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Mailbox, Reading, read_reply, round_prefix};
use crate::error::{Error, Result};
use crate::protocol::SessionId;

impl Mailbox {
    /// The messages of a session and the replies to them that were used, each sorted by name.
    ///
    /// Nothing else in these directories is ours to touch: a name counts only if it begins as we
    /// name the files of a round.
    pub fn letters_of(&self, id: &SessionId) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        let replies = of_session(&self.processed(), id, |_| true)?;
        Ok((self.messages_of(id)?, replies))
    }

    /// The messages of a session, sorted by name; `inbox/` may be gone.
    pub fn messages_of(&self, id: &SessionId) -> Result<Vec<PathBuf>> {
        of_session(self.outbox(), id, |_| true)
    }

    /// The message of a round as it lies in `outbox/`: its first file, and the text of all parts.
    pub fn message(&self, id: &SessionId, sequence: u32) -> Option<(String, String)> {
        let whole = self.outbox_path(id, sequence);
        let paths = if whole.exists() {
            vec![whole]
        } else {
            let mut messages = self.messages_of(id).ok()?;
            messages.retain(|path| belongs(path, &round_prefix(id, sequence)));
            messages
        };
        let name = file_name(paths.first()?);
        let texts = paths.iter().filter_map(|path| fs::read(path).ok());
        let text: Vec<u8> = texts.flatten().collect();
        Some((name, String::from_utf8_lossy(&text).into_owned()))
    }

    /// A reply that was used: its name, and its bytes.
    pub fn processed_reply(&self, name: &str) -> Option<(String, Vec<u8>)> {
        let path = self.processed().join(name);
        match read_reply(&path) {
            Ok(Reading::Text(bytes)) => Some((file_name(&path), bytes)),
            _ => None,
        }
    }

    /// Moves the replies that were claimed for later rounds to the rejected ones, so that no later round
    /// takes them for its own; returns their new names.
    pub fn reject_later(&self, id: &SessionId, sequence: u32) -> Result<Vec<String>> {
        let is_later = |rest: &str| round_of(rest).is_some_and(|round| round > sequence);
        let later = of_session(&self.processed(), id, is_later)?;
        let mut names = Vec::new();
        for reply in later {
            let rejected = crate::fs::move_aside(&reply, &self.rejected(), &file_name(&reply))?;
            names.push(file_name(&rejected));
        }
        Ok(names)
    }

    /// The replies that were claimed for this round or later ones, also those that are among the
    /// rejected ones since, with their rounds: they may have been carried out, though the session
    /// does not know them.
    pub fn claimed_since(&self, id: &SessionId, sequence: u32) -> Result<Vec<(u32, PathBuf)>> {
        let of_rounds = |directory: &Path, from: u32| -> Result<Vec<(u32, PathBuf)>> {
            // The person may have removed it.
            if !directory.is_dir() {
                return Ok(Vec::new());
            }
            let is_claimed = |rest: &str| round_of(rest).is_some_and(|round| round >= from);
            let start = start_of_names(id);
            let replies = of_session(directory, id, is_claimed)?.into_iter();
            Ok(replies
                .filter_map(|path| Some((round_of(file_name(&path).strip_prefix(&start)?)?, path)))
                .collect())
        };
        let mut replies = of_rounds(&self.processed(), sequence)?;
        // Nothing but `reject_later` names a file there after its round. All count: when the session
        // is past a round again, it still does not know the reply.
        replies.extend(of_rounds(&self.rejected(), 0)?);
        Ok(replies)
    }

    /// Removes the message of a round, all parts of it, and tells how many there were.
    pub fn withdraw(&self, id: &SessionId, sequence: u32) -> Result<usize> {
        let mut messages = self.messages_of(id)?;
        messages.retain(|path| belongs(path, &round_prefix(id, sequence)));
        for message in &messages {
            crate::fs::remove(message)?;
        }
        Ok(messages.len())
    }
}

/// How the names of all files of a session begin; the number of a round follows.
fn start_of_names(id: &SessionId) -> String {
    format!("{id}_seq")
}

/// The round that a reply is named after, by what follows the start of its name.
fn round_of(rest: &str) -> Option<u32> {
    rest.split_once('_')?.0.parse().ok()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// True if a file belongs to the round with this prefix: `ab12cd34_seq0001.txt` is not of round 10.
fn belongs(path: &Path, prefix: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix(prefix)
        .is_some_and(|rest| rest.starts_with(['.', '_']))
}

/// The files of a session in a directory whose name goes on as wanted, sorted by name. A long session has
/// thousands, of which a round wants few.
fn of_session(
    directory: &Path,
    id: &SessionId,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).map_err(|cause| Error::file("read", directory, cause))?;
    let start = start_of_names(id);
    let is_ours = |name: &OsString| {
        let name = name.to_string_lossy();
        name.strip_prefix(&start).is_some_and(|rest| {
            rest.starts_with(|first: char| first.is_ascii_digit()) && is_wanted(rest)
        })
    };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut names: Vec<OsString> = names.filter(is_ours).collect();
    names.sort_unstable();
    Ok(names.iter().map(|name| directory.join(name)).collect())
}
