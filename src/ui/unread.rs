//! A terminal that is not read while a loop waits: one that can do nothing, or whose output goes
//! elsewhere.
//!
//! Text that is typed or pasted there stays in its queue, and the shell would run it line by line
//! once we are gone. So it is thrown away before each question and at the end.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::terminal::Terminal;
use crate::platform::{discard_typed_input, has_foreground};

/// The time in which nobody reads the terminal; when it is dropped, what was typed is thrown away.
#[derive(Debug)]
pub struct Unread(Arc<Terminal>);

impl Unread {
    /// Begins; nothing if there is no terminal to type on, or if it is another's turn.
    pub(super) fn begin(terminal: &Arc<Terminal>) -> Option<Self> {
        let is_ours = io::stdin().is_terminal() && has_foreground();
        is_ours.then(|| {
            terminal.is_unread.store(true, Ordering::SeqCst);
            Self(Arc::clone(terminal))
        })
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.0.is_unread.store(false, Ordering::SeqCst);
        discard_typed_input();
    }
}

/// Throws away what was typed before anybody asked: it is no answer.
pub(super) fn discard(terminal: &Terminal) {
    if terminal.is_unread.load(Ordering::SeqCst) {
        discard_typed_input();
    }
}
