//! Gives a person at a terminal time to read.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::{Ui, live};
use crate::interrupt::Interrupt;
use crate::platform::is_hung_up;

/// The wait checks this often if it should end.
const TICK: Duration = Duration::from_millis(100);

impl Ui {
    /// Returns true if somebody sits at a terminal and can go on with a key.
    pub fn can_pause(&self) -> bool {
        self.is_interactive() && live::has_terminal() && std::io::stdout().is_terminal()
    }

    /// Waits so long, or until a key is pressed; not at all where there is no terminal.
    pub fn pause(&self, longest: Duration, interrupt: &Interrupt) {
        if !self.can_pause() {
            return;
        }
        // Others print meanwhile, and none of their lines may begin where the one above ends.
        let mut is_raw = false;
        self.terminal.rows.beside(|| {
            is_raw = enable_raw_mode().is_ok();
            crate::platform::keep_line_breaks();
        });
        if !is_raw {
            return;
        }
        let until = Instant::now() + longest;
        while Instant::now() < until && !interrupt.is_raised() {
            // The end of a terminal that is gone can be read again and again.
            let Ok(has_event) = event::poll(TICK) else {
                break;
            };
            if !has_event && is_hung_up() {
                break;
            }
            if has_event && let Ok(Event::Key(key)) = event::read() {
                if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
                    interrupt.press();
                }
                break;
            }
        }
        let _ = disable_raw_mode();
    }
}
