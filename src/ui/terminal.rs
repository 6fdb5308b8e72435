//! The terminal of the process, as a value that its voices share: the rows at its foot, the prompt,
//! and who reads what is typed.

use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex};

use super::ask::LineReader;
use super::live::LiveRows;
use super::prompt::OpenPrompt;

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
}
