//! Whose turn it is at the terminal, and the modes that the prompt needs, taken and given back.
//!
//! Another program may borrow it, and a shell may stop us, put us into the background and back. In
//! the background the terminal is not touched: the system stops a process that does.

use std::io;

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::{OpenPrompt, TICK};
use crate::platform::{has_foreground, stop_this_process, was_continued};
use crate::ui::live::{self, Colour, LiveRows};
use crate::ui::terminal::Terminal;

/// Whose turn it is at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The thread that reads keys has it.
    Reading,
    /// Another program has the terminal.
    Lent,
    /// A shell has it, and we are in the background.
    Away,
    /// Nobody reads any more.
    Closed,
}

impl Mode {
    /// Takes the terminal, unless it is not our turn; without one the prompt is closed.
    pub(super) fn of_now() -> Self {
        if !has_foreground() {
            Self::Away
        } else if take().is_ok() {
            Self::Reading
        } else {
            Self::Closed
        }
    }
}

impl OpenPrompt {
    /// Follows the shell, which may have stopped us, and may have the terminal now or give it back;
    /// tells whether all is to be drawn anew.
    pub(super) fn follow_shell(&mut self, rows: &LiveRows) -> bool {
        let is_ours = has_foreground();
        match self.mode {
            Mode::Reading if !is_ours => {
                self.mode = Mode::Away;
                rows.forget();
                false
            }
            // Whatever stopped us, the modes of the terminal are those of the shell.
            Mode::Reading if !was_continued() => false,
            Mode::Away if !is_ours => false,
            Mode::Reading | Mode::Away => {
                rows.forget();
                self.mode = Mode::of_now();
                true
            }
            Mode::Lent | Mode::Closed => false,
        }
    }
}

/// The terminal in the hands of another program; it comes back when this is dropped.
#[derive(Debug)]
pub struct LentTerminal<'a> {
    terminal: &'a Terminal,
    is_ours: bool,
}

impl Terminal {
    /// Gives the terminal away for a while, to an editor for instance.
    pub fn lend(&self) -> LentTerminal<'_> {
        let mut prompt = self.prompt();
        let is_ours = match prompt.as_mut() {
            Some(open) if open.mode == Mode::Reading => {
                open.mode = Mode::Lent;
                true
            }
            _ => false,
        };
        drop(prompt);
        if is_ours {
            self.wait_until(TICK * 10, |open| open.is_parked);
            self.rows.set_prompt(None, Colour::Off);
            give_back();
        }
        LentTerminal {
            terminal: self,
            is_ours,
        }
    }

    /// Stops the process as Ctrl-Z does elsewhere; it comes back with the prompt.
    pub(super) fn suspend(&self) {
        // The thread that reads is this one, so nobody has to be waited for.
        if let Some(open) = self.prompt().as_mut() {
            open.mode = Mode::Lent;
        }
        self.rows.set_prompt(None, Colour::Off);
        give_back();
        stop_this_process();
        was_continued();
        self.rows.forget();
        drop(LentTerminal {
            terminal: self,
            is_ours: true,
        });
    }
}

impl Drop for LentTerminal<'_> {
    fn drop(&mut self) {
        let mut prompt = self.terminal.prompt();
        if let (true, Some(open)) = (self.is_ours, prompt.as_mut())
            && open.mode == Mode::Lent
        {
            open.mode = Mode::of_now();
            self.terminal.changed.notify_all();
            self.terminal.show(prompt.as_ref());
        }
    }
}

/// Every key by itself, and pastes marked, if the terminal understands that. On failure the terminal is
/// as it was.
pub(super) fn take() -> io::Result<()> {
    // What was taken before may have been changed by a shell meanwhile; without this it would be
    // taken for done.
    disable_raw_mode()?;
    enable_raw_mode()?;
    crate::platform::keep_line_breaks();
    if !live::has_terminal() {
        return Ok(());
    }
    let marked = crossterm::execute!(io::stderr(), EnableBracketedPaste);
    if marked.is_err() {
        let _ = disable_raw_mode();
    }
    marked
}

pub(super) fn give_back() {
    if live::has_terminal() {
        let _ = crossterm::execute!(io::stderr(), DisableBracketedPaste);
    }
    let _ = disable_raw_mode();
}
