//! The terminal of the process, as a value that its voices share: the rows at its foot, the prompt,
//! and who reads what is typed.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Condvar, Mutex, OnceLock};

use super::ask::LineReader;
use super::live::LiveRows;
use super::prompt::OpenPrompt;
use crate::interrupt::Interrupt;

/// A terminal, and what goes on at it.
#[derive(Debug, Default)]
pub struct Terminal {
    /// The rows at its foot.
    pub(super) rows: LiveRows,
    /// The prompt, while there is one.
    pub(super) prompt: Mutex<Option<OpenPrompt>>,
    /// Tells that the prompt has changed.
    pub(super) changed: Condvar,
    /// Reads a line where there is no prompt.
    pub(super) reader: Mutex<LineReader>,
    /// True while nobody reads what is typed.
    pub(super) is_unread: AtomicBool,
    /// The round whose reply was told last; 0 if there is no session.
    pub(super) round: AtomicU32,
    /// The last round that the session may have; 0 if that is not known.
    pub(super) last_round: AtomicU32,
    /// True if a reply is taken from the clipboard.
    pub(super) takes_clipboard: AtomicBool,
    /// True once the person was told how a reply is copied best.
    pub(super) has_tip: AtomicBool,
    /// Why standard output takes nothing more; a reader that went away is no failure.
    pub(super) output_failure: OnceLock<io::Error>,
    /// Raised if events for a script cannot be written.
    pub(super) interrupt: OnceLock<Interrupt>,
}

impl Terminal {
    /// Lets work come to an end if its events for a script cannot be written.
    pub fn stop_unwritten(&self, interrupt: &Interrupt) {
        let _ = self.interrupt.set(interrupt.clone());
    }
}
