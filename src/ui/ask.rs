//! Asking the person for one line.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::prompt;
use crate::interrupt::Interrupt;

/// Which lines are an answer to a question; at the prompt every other one is a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Takes {
    /// Any.
    #[default]
    AnyLine,
    /// `y`, `n`, or nothing, which is a no.
    YesOrNo,
    /// Only Enter, which says that the person is ready.
    Enter,
}

impl Takes {
    pub(super) fn takes(self, line: &str) -> bool {
        let answer = Answer::Text(line.to_owned());
        let is_empty = line.trim().is_empty();
        match self {
            Self::AnyLine => true,
            Self::YesOrNo => is_empty || answer.is_yes() || answer.is_no(),
            Self::Enter => is_empty || answer.is_yes(),
        }
    }
}

/// A question as it is put at the prompt.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) takes: Takes,
    pub(super) sender: Sender<Answer>,
}

/// What came back from a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What the person typed, or said elsewhere.
    Text(String),
    /// There is no terminal, or its input has ended.
    Nobody,
    /// Ctrl-C.
    Interrupted,
}

impl Answer {
    /// Whether it is a yes, in whatever letter case.
    pub fn is_yes(&self) -> bool {
        self.is_one_of(["y", "yes"])
    }

    /// Whether it is a no in so many words, in whatever letter case.
    pub fn is_no(&self) -> bool {
        self.is_one_of(["n", "no"])
    }

    fn is_one_of(&self, words: [&str; 2]) -> bool {
        matches!(self, Self::Text(text) if words.iter().any(|word| text.trim().eq_ignore_ascii_case(word)))
    }
}

/// Where the answer to one question comes in; the first one counts.
#[derive(Debug)]
pub struct Answers {
    number: u64,
    takes: Takes,
    sender: Sender<Answer>,
    receiver: Receiver<Answer>,
}

impl Answers {
    /// A place that Ctrl-C answers too.
    pub fn until(interrupt: &Interrupt) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (sender, receiver) = mpsc::channel();
        let interrupted = sender.clone();
        interrupt.on_raise(move || {
            let _ = interrupted.send(Answer::Interrupted);
        });
        if interrupt.is_raised() {
            let _ = sender.send(Answer::Interrupted);
        }
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            takes: Takes::default(),
            sender,
            receiver,
        }
    }

    /// The same, where only some lines are an answer.
    #[must_use]
    pub fn taking(mut self, takes: Takes) -> Self {
        self.takes = takes;
        self
    }

    /// A way in.
    pub fn sender(&self) -> Sender<Answer> {
        self.sender.clone()
    }

    /// Waits for the first answer.
    pub fn first(&self) -> Answer {
        self.receiver.recv().unwrap_or(Answer::Nobody)
    }

    /// Lets a line that is entered at the prompt be an answer; tells whether there is one.
    pub(super) fn at_prompt(&self, question: &str) -> bool {
        prompt::ask(Question {
            number: self.number,
            text: question.to_owned(),
            takes: self.takes,
            sender: self.sender(),
        })
    }

    /// Lets a typed line be an answer.
    ///
    /// A thread reads, because a read of standard input cannot be called off. Should the answer
    /// come another way, the thread stays behind and serves the next question.
    pub(super) fn read_line(&self) {
        let mut reader = reader();
        reader.recipient = Some(self.sender());
        if reader.is_reading {
            // What was begun under the question before is no answer to this one.
            crate::platform::discard_typed_input();
            return;
        }
        reader.is_reading = true;
        thread::spawn(|| {
            let mut line = String::new();
            let answer = match io::stdin().read_line(&mut line) {
                Ok(0) | Err(_) => Answer::Nobody,
                Ok(_) => Answer::Text(line.trim_end_matches(['\n', '\r']).to_owned()),
            };
            let mut reader = self::reader();
            reader.is_reading = false;
            if let Some(recipient) = reader.recipient.take() {
                let _ = recipient.send(answer);
            }
        });
    }
}

/// Nobody waits for the answer any more.
impl Drop for Answers {
    fn drop(&mut self) {
        prompt::withdraw(self.number);
    }
}

/// The one thread that reads standard input where there is no prompt, and who gets the line.
#[derive(Debug)]
struct Reader {
    is_reading: bool,
    recipient: Option<Sender<Answer>>,
}

static READER: Mutex<Reader> = Mutex::new(Reader {
    is_reading: false,
    recipient: None,
});

fn reader() -> MutexGuard<'static, Reader> {
    READER.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, is_yes_or_no: bool, is_enter: bool) {
        assert!(Takes::AnyLine.takes(line));
        assert_eq!(Takes::YesOrNo.takes(line), is_yes_or_no, "{line}");
        assert_eq!(Takes::Enter.takes(line), is_enter, "{line}");
    }

    #[test]
    fn a_question_knows_its_answers() {
        case("", true, true);
        case(" Yes ", true, true);
        case("n", true, false);
        case("no, use tabs", false, false);
        case("use tabs", false, false);
    }
}
