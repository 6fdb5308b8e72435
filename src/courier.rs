//! Couriers: what carries a message from `outbox/` to the person, and a reply into `inbox/`.
//!
//! They run beside the loop and know only the mailbox: a courier reads `outbox/` and writes a file
//! into `inbox/` like anybody else, so whatever becomes of it, nothing of a session is lost. It
//! never says that something is on the clipboard unless it has read it back from there, and it
//! takes from the clipboard only a text with the end mark of the round that is waiting.

pub mod api;
mod beside;
mod brought_text;
mod clipboard;
pub mod holder;
mod message;
mod notice;
mod observe;
mod osc52;
mod program;
mod surroundings;

use std::fmt;
use std::path::PathBuf;

pub use self::beside::Couriers;
pub use self::brought_text::{BroughtText, weigh, weigh_without_round};
pub use self::clipboard::{Clipboard, ClipboardFailure, ClipboardRoute, Sent};
pub use self::message::Message;
pub use self::surroundings::Surroundings;
use crate::settings::{ClipboardUse, NotifyBy};

/// The terminal of a front end, to which couriers send sequences that show nothing.
pub trait TerminalLine: fmt::Debug + Send + Sync {
    /// Returns true if there is a terminal.
    fn has_terminal(&self) -> bool;

    /// Sends a sequence; returns false if there is no terminal.
    fn send_to_terminal(&self, sequence: &str) -> bool;
}

/// The line of a front end that has no terminal.
#[derive(Debug, Clone, Copy)]
pub struct NoTerminal;

impl TerminalLine for NoTerminal {
    fn has_terminal(&self) -> bool {
        false
    }

    fn send_to_terminal(&self, _: &str) -> bool {
        false
    }
}

/// Tells the person that something waits for them, as they want to be told; the text is ours.
pub fn notify(notify: NotifyBy, text: &str, terminal: &dyn TerminalLine) {
    if notify != NotifyBy::Off {
        notice::give(notify, text, &Surroundings::of_this_process(), terminal);
    }
}

/// The person's choices for the couriers.
#[derive(Debug, Clone)]
pub struct Wishes {
    /// The use of the clipboard.
    pub clipboard: ClipboardUse,
    /// How they are told that it is their turn.
    pub notify: NotifyBy,
    /// How a reply on the clipboard is handled.
    pub found: ClipboardReplyUse,
    /// Where is kept whether they let us look at the clipboard; nowhere if they have no home.
    pub memory: Option<PathBuf>,
}

impl Wishes {
    /// True if there is nothing to do for a courier.
    pub fn are_none(&self) -> bool {
        self.clipboard == ClipboardUse::Off && self.notify == NotifyBy::Off
    }

    /// The person's answer to whether we may look at the clipboard, if they were asked.
    fn remembered(&self) -> Option<bool> {
        let said = std::fs::read_to_string(self.memory.as_deref()?).ok()?;
        Some(said.trim() == "yes")
    }

    /// True if they do not let us look at the clipboard.
    pub fn is_clipboard_declined(&self) -> bool {
        self.remembered() == Some(false)
    }
}

/// How a reply on the clipboard is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClipboardReplyUse {
    /// It is used, with a word about it.
    Used,
    /// The person is asked first.
    Asked,
}
