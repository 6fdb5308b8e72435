//! The prompt line at the foot of the terminal, while a loop runs.
//!
//! There is one terminal, so there is one prompt in the process, and one thread that reads keys as
//! long as it is open. Whoever asks the person something is answered by the next line that is
//! entered; everything else goes to the [`Listener`]. The terminal is given back whenever another
//! program needs it ([`lend_terminal`]), when the person interrupts, and at the end; while the
//! process is in the background it is not touched.

mod desk;
mod keys;
mod line;
mod past;
mod turn;
mod view;

use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event;

use self::desk::{Act, Desk};
use self::keys::{Key, Screen};
pub use self::past::MAX_HISTORY;
use self::turn::Mode;
pub use self::turn::lend_terminal;
use super::ask::PromptQuestion;
use super::live::{self, Colour};
use super::{Answer, escape_text};
use crate::interrupt::Interrupt;
use crate::platform::was_continued;

/// How often the thread that reads looks whether it shall stop.
const TICK: Duration = Duration::from_millis(100);
/// How soon after Enter more must come for the line to be one of many that were pasted.
///
/// Nobody types that fast, and a terminal that cannot mark a paste sends it faster.
const BURST: Duration = Duration::from_millis(40);
/// The most characters of a paste that the terminal does not mark.
const MAX_BURST: usize = 16 * 1024 * 1024;

/// What the person entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A command with its slash, or a note; a note may have several lines.
    Line(String),
    /// A reply of the chat that was pasted.
    Reply(String),
    /// What was typed and not entered when the person left.
    Unsent(String),
}

/// What a text is that was pasted.
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

/// Who gets what is entered at the prompt. Called by the thread that reads keys, so whatever takes
/// longer than a look at a small file is left to another thread.
pub trait Listener: Debug + Send + Sync {
    /// What a text is that was pasted.
    fn weigh(&self, text: &str) -> Pasted;
    /// Whether a line is a command, so that it is no answer to a question.
    fn is_command(&self, line: &str) -> bool;
    /// The lines that may come of this beginning of one.
    fn complete(&self, before: &str) -> Vec<String>;
    /// Something was entered.
    fn entered(&self, entry: Entry);
    /// A question waits, and the person may be looking elsewhere.
    fn asked(&self);
}

#[derive(Debug)]
struct Open {
    desk: Desk,
    listener: Arc<dyn Listener>,
    interrupt: Interrupt,
    colour: Colour,
    mode: Mode,
    /// Whether the thread that reads stays away from the terminal.
    is_parked: bool,
}

static PROMPT: Mutex<Option<Open>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

fn prompt() -> MutexGuard<'static, Option<Open>> {
    PROMPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open prompt; it closes when this is dropped.
#[derive(Debug)]
pub struct Prompt(());

impl Prompt {
    /// Opens it; nothing if there is one already, or if the terminal cannot do what it takes.
    pub(super) fn open(
        history: Vec<String>,
        listener: Arc<dyn Listener>,
        interrupt: &Interrupt,
        colour: Colour,
    ) -> Option<Self> {
        let mut prompt = prompt();
        if prompt.is_some() || !live::has_terminal() {
            return None;
        }
        // From now on it is noticed.
        was_continued();
        let mode = Mode::of_now();
        if mode == Mode::Closed {
            return None;
        }
        *prompt = Some(Open {
            desk: Desk::new(history),
            listener,
            interrupt: interrupt.clone(),
            colour,
            mode,
            is_parked: false,
        });
        show(prompt.as_ref());
        drop(prompt);
        interrupt.on_raise(close);
        thread::spawn(read_keys);
        Some(Self(()))
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        close();
        // Else it would take keys that are meant for whoever reads next. A terminal that went away
        // may keep it for ever, so it is not waited for long.
        wait_until(TICK * 3, |open| open.is_parked);
        if let Some(mut open) = prompt().take() {
            open.desk.dismiss();
        }
    }
}

/// Whether a prompt is open, so that nobody else may read the terminal.
pub(crate) fn is_open() -> bool {
    prompt()
        .as_ref()
        .is_some_and(|open| open.mode != Mode::Closed)
}

/// Lets the next line be the answer to a question; tells whether there is a prompt for it.
pub(super) fn ask(question: PromptQuestion) -> bool {
    let mut prompt = prompt();
    let Some(open) = prompt.as_mut().filter(|open| open.mode != Mode::Closed) else {
        return false;
    };
    let may_be_away = open.desk.ask(question);
    let listener = Arc::clone(&open.listener);
    show(prompt.as_ref());
    drop(prompt);
    if may_be_away {
        listener.asked();
    }
    true
}

/// Forgets a question.
pub(super) fn withdraw(number: u64) {
    let mut prompt = prompt();
    if let Some(open) = prompt.as_mut() {
        open.desk.withdraw(number);
        show(prompt.as_ref());
    }
}

fn close() {
    let mut prompt = prompt();
    if let Some(open) = prompt.as_mut() {
        let before = std::mem::replace(&mut open.mode, Mode::Closed);
        CHANGED.notify_all();
        if before == Mode::Reading {
            live::set_prompt(None, open.colour);
            turn::give_back();
        }
    }
}

fn wait_until(longest: Duration, is_so: impl Fn(&Open) -> bool) {
    let until = Instant::now() + longest;
    let mut prompt = prompt();
    while prompt.as_ref().is_some_and(|open| !is_so(open)) {
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return;
        }
        let waited = CHANGED.wait_timeout(prompt, rest);
        prompt = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn show(open: Option<&Open>) {
    if let Some(open) = open.filter(|open| open.mode == Mode::Reading) {
        live::set_prompt(Some(open.desk.rows(live::size().0)), open.colour);
    }
}

/// The thread that reads, until the prompt is closed.
fn read_keys() {
    while may_read() {
        let read = match event::poll(TICK) {
            Ok(true) => event::read().map(keys::read),
            Ok(false) => Ok(None),
            Err(trouble) => Err(trouble),
        };
        match read {
            Ok(Some(key)) => take_in(key),
            Ok(None) => {}
            // The terminal is gone. The loop goes on: a reply may still come as a file.
            Err(_) => close(),
        }
    }
}

/// Waits while another has the terminal; nothing is read any more once the prompt is closed.
fn may_read() -> bool {
    let mut prompt = prompt();
    loop {
        let Some(open) = prompt.as_mut() else {
            return false;
        };
        let is_new = open.follow_shell();
        let mode = open.mode;
        let is_parked = mode != Mode::Reading;
        if open.is_parked != is_parked {
            open.is_parked = is_parked;
            CHANGED.notify_all();
        }
        if is_new {
            show(prompt.as_ref());
        }
        prompt = match mode {
            Mode::Reading => return true,
            Mode::Closed => return false,
            Mode::Lent => CHANGED.wait(prompt).unwrap_or_else(PoisonError::into_inner),
            // Nobody tells when the shell gives it back.
            Mode::Away => {
                let waited = CHANGED.wait_timeout(prompt, TICK);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
}

fn take_in(key: Key) {
    let key = if key == Key::Enter && event::poll(BURST).unwrap_or(false) {
        burst()
    } else {
        Some(key)
    };
    let mut prompt = prompt();
    let (Some(key), Some(open)) = (key, prompt.as_mut()) else {
        return;
    };
    let listener = Arc::clone(&open.listener);
    let act = open.desk.press(key, &*listener);
    let unsent = open.desk.unsent();
    let interrupt = open.interrupt.clone();
    show(prompt.as_ref());
    drop(prompt);
    match act {
        Act::Nothing => {}
        Act::Say(text) => say(&text),
        Act::Entered { echo, entry, why } => {
            echo_line(&echo);
            if let Some(why) = why {
                say(&why);
            }
            listener.entered(entry);
        }
        Act::Answered {
            echo,
            to,
            text,
            again,
        } => {
            echo_line(&echo);
            if let Some(question) = again {
                say(&question);
            }
            let _ = to.send(Answer::Text(text));
        }
        Act::Interrupt => {
            if !unsent.trim().is_empty() {
                listener.entered(Entry::Unsent(unsent));
            }
            interrupt.raise();
        }
        Act::Suspend => turn::suspend(),
        Act::Redraw(screen) => redraw(screen),
    }
}

/// Gathers lines that come faster than anybody types: a paste that the terminal does not mark.
fn burst() -> Option<Key> {
    let mut text = prompt().as_mut()?.desk.begin_burst();
    while text.len() < MAX_BURST && event::poll(BURST).unwrap_or(false) {
        match event::read().ok().and_then(keys::read) {
            Some(Key::Character(character)) => text.push(character),
            Some(Key::Enter) => text.push('\n'),
            Some(Key::Complete) => text.push('\t'),
            Some(Key::Paste(more)) => text.push_str(&more),
            Some(Key::Interrupt) => return Some(Key::Interrupt),
            _ => {}
        }
    }
    Some(Key::Burst(text))
}

/// Leaves what was entered on the screen.
fn echo_line(text: &str) {
    say(&format!("> {text}"));
}

fn say(text: &str) {
    live::above(|| {
        let _ = writeln!(io::stderr(), "{}", escape_text(text));
    });
}

fn redraw(screen: Screen) {
    let rows = prompt().as_ref().map(|open| open.desk.rows(live::size().0));
    match screen {
        Screen::Keep => live::redraw(rows),
        Screen::Clear => live::clear(rows),
    }
}
