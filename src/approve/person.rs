//! The person, as the engine knows them: they hear events, and can be asked.
//!
//! What stands behind it (a terminal, a page, nobody) is no business of the engine. Whoever cannot
//! ask leaves the questions as files, which anybody else can answer.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use super::{Pending, Question};
use crate::interrupt::Interrupt;
use crate::protocol::{Envelope, EventSink};

/// Says if the person can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Input {
    /// What only the person can decide waits for them, here or in another terminal.
    #[default]
    Wait,
    /// Nobody is asked: what would be asked is refused (`--no-input`).
    Refuse,
}

/// A question that is put and answered on the spot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inquiry {
    /// The model's question, which was told as an event.
    ModelQuestion,
    /// A reply in the inbox names an earlier round: should it be used all the same?
    EarlierRound {
        /// The file in the inbox.
        name: String,
        /// The round that it names.
        says: u32,
        /// The round that is waited for.
        is: u32,
    },
    /// The person's check cannot run: should the work begin all the same?
    CheckCannotRun {
        /// The check.
        command: String,
        /// How it ended.
        how: String,
    },
}

impl Inquiry {
    /// The lines that answer it.
    pub fn takes(&self) -> Takes {
        match self {
            Self::ModelQuestion => Takes::AnyLine,
            Self::EarlierRound { .. } | Self::CheckCannotRun { .. } => Takes::YesOrNo,
        }
    }
}

/// The person at the other end.
pub trait Person: EventSink {
    /// Says if the person can be waited for.
    fn input(&self) -> Input;

    /// Returns true if somebody can be asked here and now.
    fn is_interactive(&self) -> bool;

    /// Tells an event that has its number already.
    fn hear(&self, envelope: &Envelope) {
        self.emit(envelope.event.clone());
    }

    /// Lets the person answer, where they can be asked here, and does not wait for it.
    fn inquire(&self, inquiry: &Inquiry, answers: &Answers);

    /// Lets the person decide about questions, where they can be asked here, until the returned
    /// value is dropped. Their decisions become files like those of anybody else.
    fn attend(
        &self,
        pending: &Pending,
        questions: &[Question],
        interrupt: &Interrupt,
    ) -> Option<Attending>;

    /// Asks on the spot and waits for the answer; nobody answers where nobody can be asked.
    fn ask(&self, inquiry: &Inquiry, interrupt: &Interrupt) -> Answer {
        if !self.is_interactive() {
            return Answer::Nobody;
        }
        let answers = Answers::until(interrupt).taking(inquiry.takes());
        self.inquire(inquiry, &answers);
        answers.first()
    }
}

/// A person who is being asked; the questions are taken back when this is dropped.
pub struct Attending(Option<Box<dyn FnOnce() + Send>>);

impl Attending {
    /// Calls `end` when the questions are taken back.
    pub fn until(end: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

impl fmt::Debug for Attending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attending").finish_non_exhaustive()
    }
}

/// The lines that are an answer to a question; at the prompt every other one is a note.
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
    /// Returns true if this line is an answer.
    pub fn takes(self, line: &str) -> bool {
        let answer = Answer::Text(line.to_owned());
        let is_empty = line.trim().is_empty();
        match self {
            Self::AnyLine => true,
            Self::YesOrNo => is_empty || answer.is_yes() || answer.is_no(),
            Self::Enter => is_empty || answer.is_yes(),
        }
    }
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
    /// Returns true for a yes, in whatever letter case.
    pub fn is_yes(&self) -> bool {
        self.is_one_of(["y", "yes"])
    }

    /// Returns true for a no in so many words, in whatever letter case.
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
    withdraw: OnceLock<fn(u64)>,
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
            withdraw: OnceLock::new(),
        }
    }

    /// Takes only some lines for an answer.
    #[must_use]
    pub fn taking(mut self, takes: Takes) -> Self {
        self.takes = takes;
        self
    }

    /// The lines that are an answer.
    pub fn takes(&self) -> Takes {
        self.takes
    }

    /// Tells this question from others of the process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// A way in.
    pub fn sender(&self) -> Sender<Answer> {
        self.sender.clone()
    }

    /// Waits for the first answer.
    pub fn first(&self) -> Answer {
        self.receiver.recv().unwrap_or(Answer::Nobody)
    }

    /// Calls `withdraw` with the number of the question when nobody waits for the answer any more.
    pub fn on_withdraw(&self, withdraw: fn(u64)) {
        let _ = self.withdraw.set(withdraw);
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        if let Some(withdraw) = self.withdraw.get() {
            withdraw(self.number);
        }
    }
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
