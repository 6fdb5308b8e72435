//! The line that tells, while a command runs or a model answers, for how long and what came last.
//!
//! It stands at the foot of the terminal and goes with what it tells of; without a terminal there
//! is none. What is quick never shows it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anstyle::Style;

use super::live::{self, Colour, LiveRow};
use super::palette::{CYAN, DIM};
use super::step::elapsed;
use super::terminal::Terminal;
use super::{escape_line, shortened};

/// How long a command runs before it is worth a line, and how often that is drawn.
const TICK: Duration = Duration::from_secs(1);
/// How much of an unfinished line is kept, in bytes.
const MAX_LINE: usize = 2_000;
/// The columns for what runs; the rest is for what it prints.
const NAME: usize = 40;

/// A command that runs; its line goes when this is dropped.
#[derive(Debug)]
pub(super) struct Activity {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<ActivityState>,
    over: Condvar,
}

#[derive(Debug)]
struct ActivityState {
    phase: ActivityPhase,
    name: String,
    began: Instant,
    printed: LastLine,
    is_over: bool,
}

/// The current activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActivityPhase {
    /// A command runs.
    Running,
    /// A model was asked and is silent.
    Asking,
    /// A model thinks.
    Thinking,
    /// A model writes its reply.
    Answering,
    /// The next try waits until then.
    Retrying(Instant),
}

/// The last line that has something in it.
#[derive(Debug, Default)]
struct LastLine {
    whole: String,
    begun: String,
}

impl LastLine {
    fn push(&mut self, text: &str) {
        for piece in text.split_inclusive(['\n', '\r']) {
            let room = MAX_LINE.saturating_sub(self.begun.len());
            self.begun
                .push_str(&piece[..piece.floor_char_boundary(room)]);
            if piece.ends_with(['\n', '\r']) {
                let line = std::mem::take(&mut self.begun);
                if !line.trim().is_empty() {
                    line.trim().clone_into(&mut self.whole);
                }
            }
        }
    }

    fn text(&self) -> &str {
        let begun = self.begun.trim();
        if begun.is_empty() { &self.whole } else { begun }
    }
}

impl ActivityState {
    fn enter(&mut self, phase: ActivityPhase, text: &str) {
        if self.phase != phase {
            // The wait for a further try is no part of the answer.
            if let ActivityPhase::Retrying(until) = self.phase {
                self.began = until.min(Instant::now());
            }
            self.phase = phase;
            self.printed = LastLine::default();
        }
        self.printed.push(text);
    }

    fn row(&self, columns: usize) -> LiveRow {
        let seconds = self.began.elapsed().as_secs();
        let head = match self.phase {
            ActivityPhase::Running => format!("  running {}: ", elapsed(seconds)),
            ActivityPhase::Asking => format!("  waiting {}: ", elapsed(seconds)),
            ActivityPhase::Thinking => format!("  thinking {}: ", elapsed(seconds)),
            ActivityPhase::Answering => format!("  answering {}: ", elapsed(seconds)),
            ActivityPhase::Retrying(until) => {
                let now = Instant::now();
                let left = until.saturating_duration_since(now);
                // Within the second of a tick it may still be about to begin.
                match now.saturating_duration_since(until).as_secs() {
                    0 => format!("  next try in {}: ", elapsed(left.as_secs() + 1)),
                    seconds => format!("  waiting {}: ", elapsed(seconds)),
                }
            }
        };
        let name = shortened(&escape_line(&self.name), NAME);
        let used = head.len() + name.chars().count() + 3;
        let room = columns.saturating_sub(used + 1);
        let printed = shortened(&escape_line(&self.printed.text().replace('\t', " ")), room);
        let printed = if printed.is_empty() {
            String::new()
        } else {
            format!(" | {printed}")
        };
        LiveRow(vec![(CYAN, head), (Style::new(), name), (DIM, printed)])
    }
}

impl Activity {
    /// Begins to tell of something.
    pub(super) fn begin(
        terminal: Arc<Terminal>,
        phase: ActivityPhase,
        name: &str,
        colour: Colour,
    ) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new(ActivityState {
                phase,
                name: name.to_owned(),
                began: Instant::now(),
                printed: LastLine::default(),
                is_over: false,
            }),
            over: Condvar::new(),
        });
        let ticking = Arc::clone(&shared);
        let thread = thread::spawn(move || ticking.tick(&terminal, colour));
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Tells what the command printed.
    pub(super) fn printed(&self, text: &str) {
        self.shared.state().printed.push(text);
    }

    /// Tells what is done now, and what came of it.
    pub(super) fn enter(&self, phase: ActivityPhase, text: &str) {
        self.shared.state().enter(phase, text);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, terminal: &Terminal, colour: Colour) {
        let mut state = self.state();
        let mut next = Instant::now() + TICK;
        while !state.is_over {
            let rest = next.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                (terminal.rows).set_progress(Some(state.row(live::size().0)), colour);
                next = Instant::now() + TICK;
                continue;
            }
            let waited = self.over.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (terminal.rows).set_progress(None, colour);
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.over.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_something_in_it_is_told() {
        let mut last = LastLine::default();
        for text in ["one\ntw", "o\n\n", "  10 %\r  2"] {
            last.push(text);
        }
        assert_eq!(last.text(), "2");
        last.push("0 %\r");
        assert_eq!(last.text(), "20 %");
        last.push(&"é".repeat(MAX_LINE));
        assert!(last.text().len() <= MAX_LINE);
    }

    #[test]
    fn the_time_of_an_answer_begins_after_the_wait_for_its_try() {
        let second = Duration::from_secs(1);
        let now = Instant::now();
        let mut state = ActivityState {
            phase: ActivityPhase::Asking,
            name: "custom one".to_owned(),
            began: now.checked_sub(20 * second).unwrap(),
            printed: LastLine::default(),
            is_over: false,
        };
        let head = |state: &ActivityState| state.row(80).0[0].1.clone();
        state.enter(ActivityPhase::Retrying(now + 30 * second), "");
        assert_eq!(head(&state), "  next try in 30 s: ");
        // The try is under way.
        state.enter(
            ActivityPhase::Retrying(now.checked_sub(3 * second).unwrap()),
            "",
        );
        assert_eq!(head(&state), "  waiting 3 s: ");
        state.enter(ActivityPhase::Answering, "Hello");
        assert_eq!(head(&state), "  answering 3 s: ");
    }

    #[test]
    fn the_row_fits_and_steers_nothing() {
        let mut state = ActivityState {
            phase: ActivityPhase::Running,
            name: "cargo test --workspace --all-features --no-fail-fast".to_owned(),
            began: Instant::now(),
            printed: LastLine::default(),
            is_over: false,
        };
        state
            .printed
            .push(&format!("\u{1b}[2J{}\n", "x".repeat(200)));
        let row = state.row(80);
        assert!(row.columns() < 80, "{row:?}");
        assert!(row.0.iter().all(|(_, text)| !text.contains('\u{1b}')));
        assert!(state.row(10).columns() > 0);
    }
}
