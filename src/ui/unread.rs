//! A terminal that is not read while a loop waits: one that can do nothing, or whose output goes
//! elsewhere.
//!
//! Text that is typed or pasted there stays in its queue, and the shell would run it line by line
//! once we are gone. So it is thrown away before each question and at the end.

use std::io::{self, IsTerminal};

use crate::platform::{discard_typed_input, has_foreground};

/// The time in which nobody reads the terminal; when it is dropped, what was typed is thrown away.
#[derive(Debug)]
pub struct Unread(());

impl Unread {
    /// Begins; nothing if there is no terminal to type on, or if it is another's turn.
    pub(super) fn begin() -> Option<Self> {
        let is_ours = io::stdin().is_terminal() && has_foreground();
        is_ours.then_some(Self(()))
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        discard_typed_input();
    }
}
