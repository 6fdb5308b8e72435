//! The terminal of the process, as a value that its voices share: the rows at its foot, the prompt,
//! and who reads what is typed.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use super::ask::LineReader;
use super::live::LiveRows;
use super::prompt::OpenPrompt;
use crate::error::ExitKind;
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
    /// The round whose reply was told last; 0 if there is no session.
    pub(super) round: AtomicU32,
    /// The last round that the session may have; 0 if that is not known.
    pub(super) last_round: AtomicU32,
    /// True if a reply is taken from the clipboard.
    pub(super) takes_clipboard: AtomicBool,
    /// True if each message is put on the clipboard.
    pub(super) is_copied: AtomicBool,
    /// True if the folder of the session is gone when it ends.
    pub(super) is_demo: AtomicBool,
    /// True once the person was told how a reply is copied best.
    pub(super) has_tip: AtomicBool,
    /// Why standard output takes nothing more; a reader that went away is no failure.
    pub(super) output_failure: OnceLock<io::Error>,
    /// Raised if events for a script cannot be written. When anybody raises it, the process ends,
    /// also if nobody can be told of it.
    pub(super) interrupt: OnceLock<Interrupt>,
}

/// A stopped process waits this long for a terminal or pipe that takes no output, then ends silently.
const STUCK: Duration = Duration::from_secs(10);
/// The pause between two checks of such an output.
const NEXT_LOOK: Duration = Duration::from_secs(1);

impl Terminal {
    /// Lets work come to an end if its events for a script cannot be written, and has the process end if
    /// it was stopped and its words are taken by nobody.
    pub fn stop_unwritten(self: &Arc<Self>, interrupt: &Interrupt) {
        if self.interrupt.set(interrupt.clone()).is_err() {
            return;
        }
        let terminal = Arc::downgrade(self);
        let stopped = interrupt.clone();
        interrupt.on_raise(move || {
            let (terminal, stopped) = (terminal.clone(), stopped.clone());
            thread::spawn(move || {
                while let Some(terminal) = terminal.upgrade().filter(|_| stopped.is_raised()) {
                    terminal.end_if_stuck();
                }
            });
        });
    }

    /// Ends the process if it waits for a terminal that was stopped (Ctrl-S), or for a pipe that nobody
    /// reads: work that was under way is on the disk by then.
    fn end_if_stuck(self: Arc<Self>) {
        let (written, is_written) = mpsc::channel();
        thread::spawn(move || self.rows.beside(|| written.send(()).unwrap_or_default()));
        if is_written.recv_timeout(STUCK) == Err(RecvTimeoutError::Timeout) {
            let _ = crossterm::terminal::disable_raw_mode();
            std::process::exit(i32::from(ExitKind::Interrupted.exit_code()));
        }
        thread::sleep(NEXT_LOOK);
    }
}
