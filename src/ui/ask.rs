//! Asking the person for one line.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::prompt;
use crate::interrupt::Interrupt;

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
        matches!(self, Self::Text(text) if matches!(text.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }
}

/// Where the answer to one question comes in; the first one counts.
#[derive(Debug)]
pub struct Answers {
    number: u64,
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
            sender,
            receiver,
        }
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
        prompt::ask(self.number, question, self.sender())
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
