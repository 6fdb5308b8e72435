//! Puts a reply into the inbox.

use std::path::PathBuf;

use crate::agent::ANYWAY;
use crate::error::Result;
use crate::fs::{Durability, write_atomic};
use crate::mailbox::Mailbox;

/// Says if the round that a reply names must be the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundNumber {
    /// A reply that names an earlier round is asked about.
    MustMatch,
    /// It is used all the same.
    Anyway,
}

/// Writes a reply into the inbox under a name of its own; the loop takes it from there.
pub fn put(mailbox: &Mailbox, bytes: &[u8], number: RoundNumber) -> Result<PathBuf> {
    let start = match number {
        RoundNumber::Anyway => ANYWAY,
        RoundNumber::MustMatch => "reply-",
    };
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let path = mailbox.inbox().join(format!("{start}{}.txt", &unique[..8]));
    write_atomic(&path, bytes, Durability::Durable)?;
    Ok(path)
}
