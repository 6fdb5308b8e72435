//! The person, as the engine knows them: they hear events, and can be asked.
//!
//! The engine does not care who stands behind it (a terminal, a page, nobody). A front end that
//! cannot ask leaves the questions as files, which anybody else can answer.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use super::{Pending, Question};
use crate::interrupt::Interrupt;
use crate::protocol::{Envelope, EventSink, QuestionKind, is_no, is_yes};

/// Says if the person can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Input {
    /// Questions that only the person can decide wait for them, here or in another terminal.
    #[default]
    Wait,
    /// Nobody is asked: what would be asked is refused (`--no-input`).
    Refuse,
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

    /// Puts a question that is not kept and waits for the answer; nobody answers where nobody can be
    /// asked here.
    fn ask(&self, question: &Question, interrupt: &Interrupt) -> Answer;

    /// Lets the person decide about questions, where they can be asked here, until the returned
    /// value is dropped. Their decisions become files like those of anybody else.
    fn attend(
        &self,
        pending: &Pending,
        questions: &[Question],
        interrupt: &Interrupt,
    ) -> Option<Attending>;
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

/// The result of asking a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The words that the person typed, or said elsewhere.
    Text(String),
    /// There is no terminal, or its input has ended.
    Nobody,
    /// The question was perhaps answered elsewhere.
    Elsewhere,
    /// Ctrl-C.
    Interrupted,
}

impl Answer {
    /// Returns true for a yes, in whatever letter case.
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Text(text) if is_yes(text))
    }

    /// Returns true for a no in so many words, in whatever letter case.
    pub fn is_no(&self) -> bool {
        matches!(self, Self::Text(text) if is_no(text))
    }
}

/// A callback for when nobody waits for an answer any more.
struct Withdrawal(Box<dyn Fn(u64) + Send + Sync>);

impl fmt::Debug for Withdrawal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Withdrawal").finish_non_exhaustive()
    }
}

/// Where the answer to one question comes in; the first one counts.
#[derive(Debug)]
pub struct Answers {
    number: u64,
    kind: QuestionKind,
    sender: Sender<Answer>,
    receiver: Receiver<Answer>,
    withdraw: OnceLock<Withdrawal>,
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
            kind: QuestionKind::default(),
            sender,
            receiver,
            withdraw: OnceLock::new(),
        }
    }

    /// Takes what answers this kind of question.
    #[must_use]
    pub fn about(mut self, kind: QuestionKind) -> Self {
        self.kind = kind;
        self
    }

    /// The kind of the question.
    pub fn kind(&self) -> QuestionKind {
        self.kind
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
    pub fn on_withdraw(&self, withdraw: impl Fn(u64) + Send + Sync + 'static) {
        let _ = self.withdraw.set(Withdrawal(Box::new(withdraw)));
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        if let Some(Withdrawal(withdraw)) = self.withdraw.get() {
            withdraw(self.number);
        }
    }
}
