//! Reading an answer from standard input, where there is no prompt.
//!
//! A paste is no answer to a question that keys answer: of its lines one may happen to be a `y`, and
//! the rest would go to the next question, or to the shell. So the terminal marks pastes meanwhile;
//! where it cannot, lines that come faster than anybody types are one.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::mpsc::Sender;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
#[cfg(not(unix))]
use std::time::Duration;
use std::time::Instant;

#[cfg(not(unix))]
use crossterm::event;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};

use super::prompt::{BURST, MAX_BURST, NEXT_PIECE, PASTE_ENTER};
use super::terminal::Terminal;
use super::{Ui, count, live, plain};
use crate::approve::{Answer, Answers};
#[cfg(unix)]
use crate::platform::read_rest;
use crate::platform::{self, ControlEcho};
use crate::protocol::QuestionKind;

/// A question as it is put at the prompt.
#[derive(Debug)]
pub(super) struct PromptQuestion {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) kind: QuestionKind,
    pub(super) sender: Sender<Answer>,
}

/// A question that the next line answers.
#[derive(Debug)]
struct LineQuestion {
    number: u64,
    text: String,
    takes_paste: bool,
    sender: Sender<Answer>,
}

/// Lets a typed line be an answer.
///
/// A thread reads, because a read of standard input cannot be called off. Should the answer come
/// another way, the thread stays behind and serves the next question.
pub(super) fn read_line(ui: &Ui, question: &str, answers: &Answers) {
    let terminal = &ui.terminal;
    let withdrawn = Arc::clone(terminal);
    answers.on_withdraw(move |number| withdrawn.reader().withdraw(number));
    let mut reader = terminal.reader();
    reader.asked = Some(LineQuestion {
        number: answers.number(),
        text: question.to_owned(),
        takes_paste: answers.kind().takes_paste(),
        sender: answers.sender(),
    });
    if reader.marks.is_none() {
        reader.marks = PasteMarks::begin();
    }
    if std::mem::replace(&mut reader.is_reading, true) {
        // What was begun under the question before is no answer to this one.
        discard();
        return;
    }
    let ui = ui.clone();
    thread::spawn(move || while ui.takes_next_line() {});
}

impl Ui {
    /// Waits for a line and hands it over; tells whether the question still waits.
    fn takes_next_line(&self) -> bool {
        let mut line = Vec::new();
        let read = io::stdin().lock().read_until(b'\n', &mut line);
        // Whoever takes the question back waits until the terminal is as it was.
        let mut reader = self.terminal.reader();
        let answer = if matches!(read, Ok(0) | Err(_)) {
            // Ctrl-D leaves the cursor behind the question.
            let _ = writeln!(io::stderr());
            Answer::Nobody
        } else {
            let typed = TypedLines::with_rest(line);
            let ends_paste = reader
                .last_paste
                .is_some_and(|at| at.elapsed() < PASTE_ENTER);
            if typed.text.is_empty() && ends_paste {
                return true;
            }
            if typed.is_paste {
                reader.last_paste = Some(Instant::now());
            }
            if let Some(asked) = &reader.asked
                && typed.is_paste
                && (!asked.takes_paste || typed.text.trim().is_empty())
            {
                let lines = count(typed.text.lines().count().max(1), "line");
                let question = plain::question(&asked.text);
                drop(reader);
                self.say(&format!(
                    "\n{lines} pasted: that is no answer, and nothing of it was used."
                ));
                self.talk_folded(&question);
                return true;
            }
            Answer::Text(typed.text)
        };
        reader.is_reading = false;
        reader.marks = None;
        if let Some(asked) = reader.asked.take() {
            let _ = asked.sender.send(answer);
        }
        false
    }
}

/// Throws away what was typed before anybody asked: it is no answer.
pub(super) fn discard() {
    platform::discard_typed_input();
    #[cfg(not(unix))]
    while event::poll(Duration::ZERO).unwrap_or(false) && event::read().is_ok() {}
}

/// Reads what comes on the console behind a line that was read: key by key, each as long after the last
/// one as `pause` says of the text so far.
#[cfg(not(unix))]
fn read_rest(text: &mut Vec<u8>, most: usize, pause: impl Fn(&[u8]) -> Duration) {
    use crossterm::event::{Event, KeyCode, KeyEventKind};
    while text.len() < most && event::poll(pause(text)).unwrap_or(false) {
        let Ok(read) = event::read() else {
            return;
        };
        match read {
            Event::Key(key) if key.kind != KeyEventKind::Release => match key.code {
                KeyCode::Char(letter) => {
                    text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                KeyCode::Enter => text.push(b'\n'),
                KeyCode::Tab => text.push(b'\t'),
                _ => {}
            },
            _ => {}
        }
    }
}

/// A line, with whatever came together with it.
#[derive(Debug, PartialEq, Eq)]
struct TypedLines {
    text: String,
    /// True if it has several lines, so that nobody typed it.
    is_paste: bool,
}

impl TypedLines {
    const BEGIN: &str = "\u{1b}[200~";
    const END: &str = "\u{1b}[201~";

    /// Takes in what comes at once behind this line, or belongs to the same paste.
    fn with_rest(mut line: Vec<u8>) -> Self {
        if io::stdin().is_terminal() {
            read_rest(&mut line, MAX_BURST, |text| {
                let text = String::from_utf8_lossy(text);
                if text.rfind(Self::BEGIN) > text.rfind(Self::END) {
                    NEXT_PIECE
                } else {
                    BURST
                }
            });
        }
        Self::of(&String::from_utf8_lossy(&line))
    }

    fn of(typed: &str) -> Self {
        let is_marked = typed.contains(Self::BEGIN) || typed.contains(Self::END);
        let text = typed.replace(Self::BEGIN, "").replace(Self::END, "");
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
        // A blank line that was pasted says no more than the others.
        let is_paste = text.contains('\n') || (is_marked && text.trim().is_empty());
        Self { text, is_paste }
    }
}

/// The time in which the terminal marks what is pasted; it stops when this is dropped.
#[derive(Debug)]
struct PasteMarks {
    /// Else the marks would show as `^[[200~`.
    _echo: Option<ControlEcho>,
}

impl PasteMarks {
    fn begin() -> Option<Self> {
        let can_mark = live::has_terminal() && io::stdin().is_terminal();
        if !can_mark || !platform::has_foreground() {
            return None;
        }
        let _ = crossterm::execute!(io::stderr(), EnableBracketedPaste);
        Some(Self {
            _echo: ControlEcho::off(),
        })
    }
}

impl Drop for PasteMarks {
    fn drop(&mut self) {
        if platform::has_foreground() {
            let _ = crossterm::execute!(io::stderr(), DisableBracketedPaste);
        }
    }
}

/// The one thread that reads standard input where there is no prompt, and who gets the line.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    is_reading: bool,
    asked: Option<LineQuestion>,
    marks: Option<PasteMarks>,
    last_paste: Option<Instant>,
}

impl LineReader {
    /// Forgets a question.
    fn withdraw(&mut self, number: u64) {
        if self
            .asked
            .as_ref()
            .is_some_and(|asked| asked.number == number)
        {
            self.asked = None;
            self.marks = None;
        }
    }
}

impl Terminal {
    fn reader(&self) -> MutexGuard<'_, LineReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::TypedLines;

    #[test]
    fn lines_that_come_together_are_a_paste() {
        let of = |typed| {
            let typed = TypedLines::of(typed);
            (typed.text, typed.is_paste)
        };
        let is = |text: &str, is_paste| (text.to_owned(), is_paste);
        assert_eq!(of("y\n"), is("y", false));
        assert_eq!(of("\n"), is("", false));
        assert_eq!(of("y\r\n"), is("y", false));
        assert_eq!(of("\u{1b}[200~y\u{1b}[201~\n"), is("y", false));
        assert_eq!(of("\u{1b}[200~y\n\u{1b}[201~"), is("y", false));
        assert_eq!(of("\u{1b}[200~\n\u{1b}[201~"), is("", true));
        assert_eq!(of("y\nls"), is("y\nls", true));
        assert_eq!(of("y\n\n"), is("y\n", true));
        assert_eq!(of("\u{1b}[200~a\ny\n\u{1b}[201~"), is("a\ny", true));
    }
}
