//! The prompt line at the foot of the terminal, while a loop runs.
//!
//! A terminal has one prompt, and one thread reads keys as long as it is open. The next line that is
//! entered answers the open question; everything else goes to the [`Listener`]. The terminal is given
//! back whenever another program needs it ([`Terminal::lend`]), when the person interrupts, and at the
//! end; while the process is in the background it is not touched.

mod desk;
mod history;
mod keys;
mod line;
mod past;
mod turn;
mod typed;
mod view;

use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event;

use self::desk::{Act, PromptState};
pub(super) use self::desk::{NEXT_PIECE, PASTE_ENTER};
pub use self::history::HistoryFile;
use self::keys::{KeyPress, Screen};
pub use self::turn::LentTerminal;
use self::turn::Mode;
use super::ask::PromptQuestion;
use super::live::{self, Colour};
use super::terminal::Terminal;
use super::{Answer, escape_text, wrap};
use crate::interrupt::Interrupt;
use crate::known_keys::KnownKeys;
use crate::platform::{is_hung_up, was_continued};

/// The reading thread checks this often if it should stop.
const TICK: Duration = Duration::from_millis(100);
/// How soon after Enter more must come for the line to be one of many that were pasted.
///
/// Nobody types that fast, and a terminal that cannot mark a paste sends it faster.
pub(super) const BURST: Duration = Duration::from_millis(40);
/// The most characters of a paste that the terminal does not mark.
pub(super) const MAX_BURST: usize = 16 * 1024 * 1024;

/// Something that the person entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A command of ours, as it was typed.
    Command(String),
    /// A word for the model; it may have several lines.
    Note(String),
    /// A reply of the chat that was pasted.
    Reply(String),
    /// A line that was typed but not entered when the person left.
    Unsent(String),
    /// The text that was pasted and that the person has not decided about; `None` once they have.
    UndecidedPaste(Option<String>),
}

/// The kind of a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pasted {
    /// The reply that is waited for.
    Reply,
    /// It has commands, and no mark that says that it is whole.
    Commands,
    /// Anything else.
    Text,
    /// Nothing that could be used, and why.
    Refused(String),
}

/// The kind of a typed line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// A command of ours.
    Command,
    /// A plain word that is this command, unless a question waits that it may answer.
    PlainCommand(&'static str),
    /// A command for a shell, which there is none of here.
    Shell,
    /// Words.
    Words,
}

/// Who gets what is entered at the prompt. Called by the thread that reads keys, so whatever takes
/// longer than a look at a small file is left to another thread.
pub trait Listener: Debug + Send + Sync {
    /// Decides the kind of a pasted text.
    fn weigh(&self, text: &str) -> Pasted;
    /// Tells commands from words.
    fn kind_of_line(&self, line: &str) -> LineKind;
    /// The lines that may come of this beginning of one.
    fn complete(&self, before: &str) -> Vec<String>;
    /// Something was entered.
    fn entered(&self, entry: Entry);
    /// A question waits, and the person may be looking elsewhere.
    fn asked(&self);
}

/// Input that the last loop left: lines entered before, and a paste that waits for a decision.
#[derive(Debug, Default)]
pub struct KeptInput {
    /// The lines that the arrow keys bring back, the oldest first.
    pub history: Vec<String>,
    /// A pasted text about which nothing was decided.
    pub paste: Option<String>,
}

/// A prompt that is open, and whose turn it is.
#[derive(Debug)]
pub(super) struct OpenPrompt {
    desk: PromptState,
    listener: Arc<dyn Listener>,
    interrupt: Interrupt,
    colour: Colour,
    mode: Mode,
    /// True if the thread that reads stays away from the terminal.
    is_parked: bool,
    /// The undecided paste that the listener knows of.
    kept_paste: Option<String>,
}

impl OpenPrompt {
    /// The undecided paste, if it is another one than the listener knows of.
    fn changed_paste(&mut self) -> Option<Entry> {
        let paste = self.desk.undecided_paste();
        if paste == self.kept_paste.as_deref() {
            return None;
        }
        self.kept_paste = paste.map(str::to_owned);
        Some(Entry::UndecidedPaste(self.kept_paste.clone()))
    }

    fn rows(&self) -> live::Rows {
        self.desk.rows(live::size().0, &*self.listener)
    }
}

/// An open prompt; it closes when this is dropped.
#[derive(Debug)]
pub struct Prompt(Arc<Terminal>);

impl Prompt {
    /// Opens it; nothing if there is one already, or if the terminal cannot do what it takes.
    pub(super) fn open(
        terminal: &Arc<Terminal>,
        KeptInput { history, paste }: KeptInput,
        listener: Arc<dyn Listener>,
        interrupt: &Interrupt,
        colour: Colour,
    ) -> Option<Self> {
        let mut prompt = terminal.prompt();
        if prompt.is_some() || !live::has_terminal() {
            return None;
        }
        // From now on it is noticed.
        was_continued();
        let mode = Mode::of_now();
        if mode == Mode::Closed {
            return None;
        }
        let mut desk = PromptState::new(history);
        if let Some(paste) = &paste {
            desk.hold_again(paste.clone(), &*listener);
        }
        *prompt = Some(OpenPrompt {
            desk,
            listener,
            interrupt: interrupt.clone(),
            colour,
            mode,
            is_parked: false,
            kept_paste: paste,
        });
        terminal.show(prompt.as_ref());
        drop(prompt);
        let closed = Arc::clone(terminal);
        interrupt.on_raise(move || closed.leave());
        let read = Arc::clone(terminal);
        thread::spawn(move || read.read_keys());
        Some(Self(Arc::clone(terminal)))
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        self.0.close();
        // Else it would take keys that are meant for the next reader. A terminal that went away
        // may keep it for ever, so it is not waited for long.
        self.0.wait_until(TICK * 3, |open| open.is_parked);
        let open = self.0.prompt().take();
        if let Some(mut open) = open {
            open.desk.dismiss();
        }
    }
}

impl Terminal {
    fn prompt(&self) -> MutexGuard<'_, Option<OpenPrompt>> {
        self.prompt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a prompt is open, so that nobody else may read the terminal.
    pub(super) fn has_prompt(&self) -> bool {
        self.prompt()
            .as_ref()
            .is_some_and(|open| open.mode != Mode::Closed)
    }

    /// Lets the next line be the answer to a question; tells whether there is a prompt for it.
    pub(super) fn ask_at_prompt(&self, question: PromptQuestion) -> bool {
        let mut prompt = self.prompt();
        let Some(open) = prompt.as_mut().filter(|open| open.mode != Mode::Closed) else {
            return false;
        };
        let may_be_away = open.desk.ask(question);
        let listener = Arc::clone(&open.listener);
        self.show(prompt.as_ref());
        drop(prompt);
        if may_be_away {
            listener.asked();
        }
        true
    }

    /// Forgets a question.
    pub(super) fn withdraw(&self, number: u64) {
        let mut prompt = self.prompt();
        if let Some(open) = prompt.as_mut() {
            open.desk.withdraw(number);
            self.show(prompt.as_ref());
        }
    }

    /// Closes the prompt and keeps what was not sent: the person left, or the terminal is gone.
    fn leave(&self) {
        let prompt = self.prompt();
        let unsent = (prompt.as_ref())
            .filter(|open| open.mode != Mode::Closed)
            .map(|open| (Arc::clone(&open.listener), open.desk.unsent()));
        drop(prompt);
        self.close();
        let Some((listener, lines)) = unsent else {
            return;
        };
        if !lines.is_empty() {
            self.say("What you typed is kept: at the next prompt the up arrow brings it back.");
        }
        for line in lines {
            listener.entered(Entry::Unsent(line));
        }
    }

    fn close(&self) {
        let mut prompt = self.prompt();
        if let Some(open) = prompt.as_mut() {
            let before = std::mem::replace(&mut open.mode, Mode::Closed);
            self.changed.notify_all();
            if before == Mode::Reading {
                self.rows.set_prompt(None, open.colour);
                turn::give_back();
            }
        }
    }

    fn wait_until(&self, longest: Duration, is_so: impl Fn(&OpenPrompt) -> bool) {
        let until = Instant::now() + longest;
        let mut prompt = self.prompt();
        while prompt.as_ref().is_some_and(|open| !is_so(open)) {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(prompt, rest);
            prompt = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn show(&self, open: Option<&OpenPrompt>) {
        if let Some(open) = open.filter(|open| open.mode == Mode::Reading) {
            self.rows.set_prompt(Some(open.rows()), open.colour);
        }
    }

    /// The thread that reads, until the prompt is closed.
    fn read_keys(&self) {
        while self.may_read() {
            let read = match event::poll(TICK) {
                Ok(true) => event::read().map(keys::read),
                Ok(false) => Ok(None),
                Err(trouble) => Err(trouble),
            };
            match read {
                Ok(Some(key)) => self.take_in(key),
                Ok(None) if !is_hung_up() => {}
                // The terminal is gone. The loop goes on: a reply may still come as a file.
                Ok(None) | Err(_) => self.leave(),
            }
        }
    }

    /// Waits while another has the terminal; nothing is read any more once the prompt is closed.
    fn may_read(&self) -> bool {
        let mut prompt = self.prompt();
        loop {
            let Some(open) = prompt.as_mut() else {
                return false;
            };
            let is_new = open.follow_shell(&self.rows);
            let mode = open.mode;
            let is_parked = mode != Mode::Reading;
            if open.is_parked != is_parked {
                open.is_parked = is_parked;
                self.changed.notify_all();
            }
            if is_new {
                self.show(prompt.as_ref());
            }
            prompt = match mode {
                Mode::Reading => return true,
                Mode::Closed => return false,
                Mode::Lent => self
                    .changed
                    .wait(prompt)
                    .unwrap_or_else(PoisonError::into_inner),
                // Nobody tells when the shell gives it back.
                Mode::Away => {
                    let waited = self.changed.wait_timeout(prompt, TICK);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn take_in(&self, key: KeyPress) {
        let key = if key == KeyPress::Enter && event::poll(BURST).unwrap_or(false) {
            self.burst()
        } else {
            Some(key)
        };
        let mut prompt = self.prompt();
        let (Some(key), Some(open)) = (key, prompt.as_mut()) else {
            return;
        };
        let listener = Arc::clone(&open.listener);
        let act = open.desk.press(key, &*listener);
        let changed_paste = open.changed_paste();
        let interrupt = open.interrupt.clone();
        self.show(prompt.as_ref());
        drop(prompt);
        match act {
            Act::Nothing => {}
            Act::Say(text) => self.say(&text),
            Act::Entered {
                echo,
                note,
                entry,
                why,
            } => {
                self.echo_line(&echo);
                if let Some(why) = why {
                    self.say(&why);
                }
                if let Some(note) = note {
                    listener.entered(Entry::Note(note));
                }
                listener.entered(entry);
            }
            Act::Answered {
                echo,
                to,
                text,
                again,
            } => {
                self.echo_line(&echo);
                if let Some(question) = again {
                    self.say(&question);
                }
                let _ = to.send(Answer::Text(text));
            }
            Act::Interrupt => interrupt.press(),
            Act::Suspend => self.suspend(),
            Act::Redraw(screen) => self.redraw(screen),
        }
        // After what became of it, so that a kill in between loses nothing.
        if let Some(changed) = changed_paste {
            listener.entered(changed);
        }
    }

    /// Gathers lines that come faster than anybody types: a paste that the terminal does not mark.
    fn burst(&self) -> Option<KeyPress> {
        let mut text = self.prompt().as_mut()?.desk.begin_burst();
        while text.len() < MAX_BURST && event::poll(BURST).unwrap_or(false) {
            match event::read().ok().and_then(keys::read) {
                Some(KeyPress::Character(character)) => text.push(character),
                Some(KeyPress::Enter) => text.push('\n'),
                Some(KeyPress::Complete) => text.push('\t'),
                Some(KeyPress::Paste(more)) => text.push_str(&more),
                Some(KeyPress::Interrupt) => return Some(KeyPress::Interrupt),
                _ => {}
            }
        }
        Some(KeyPress::Burst(text))
    }

    /// Leaves what was entered on the screen.
    fn echo_line(&self, text: &str) {
        self.say(&format!("> {}", KnownKeys::of_this_process().scrub(text)));
    }

    fn say(&self, text: &str) {
        let text = wrap::folded(&escape_text(text), live::size().0);
        self.rows.above(|| {
            let _ = writeln!(io::stderr(), "{text}");
        });
    }

    fn redraw(&self, screen: Screen) {
        let rows = self.prompt().as_ref().map(OpenPrompt::rows);
        match screen {
            Screen::Keep => self.rows.redraw(rows),
            Screen::Clear => self.rows.clear(rows),
        }
    }
}
