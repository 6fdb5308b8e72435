//! Questions of the model to the person, answered before the next outbox goes out.
//!
//! The question lies in `pending/` like any other. A typed line, `agent say` and a decision file
//! answer it, and so does a note that somebody left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::engine::{Engine, Patience};
use crate::approve::{self, Input, Pending, Person as _, Question, Verdict};
use crate::error::Result;
use crate::protocol::QuestionKind;
use crate::session::{Note, Notes, Source};
use crate::watch::Doorbell;

/// The outcome of asking for answers to the model's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// All that can be had.
    Yes,
    /// The person stopped it.
    Interrupted,
}

/// The questions of the model that nobody has answered.
#[derive(Debug)]
pub(super) struct OpenQuestions<'e, 'a> {
    pub(super) engine: &'e mut Engine<'a>,
}

impl OpenQuestions<'_, '_> {
    /// Gets the answers: from the person who is asked here, or from elsewhere.
    ///
    /// Where nobody is to be asked, the model is told so, unless somebody has said something already.
    pub(super) fn answer(&mut self, patience: Patience) -> Result<Answered> {
        if self.engine.agent.person.input() == Input::Refuse && patience == Patience::Session {
            self.answer_by_what_was_said()?;
            while let Some(question) = self.question_of_model() {
                self.take(Verdict::Skip)?;
                self.engine.pending().take_back(&question)?;
            }
            return Ok(Answered::Yes);
        }
        while let Some(question) = self.question_of_model() {
            let pending = self.engine.pending();
            pending.put(&question)?;
            if patience == Patience::OneReply && !self.engine.agent.person.is_interactive() {
                self.engine.agent.tell(question.event());
                return Ok(Answered::Yes);
            }
            let Some(verdict) = self.first_answer(&pending, &question)? else {
                return Ok(Answered::Interrupted);
            };
            self.take(verdict)?;
            pending.take_back(&question)?;
        }
        Ok(Answered::Yes)
    }

    /// Answers what is open with what the person said already, and asks nobody.
    pub(super) fn answer_by_what_was_said(&mut self) -> Result<()> {
        let notes = self
            .engine
            .agent
            .store
            .notes(&self.engine.session.session_id);
        let pending = self.engine.pending();
        while !self.engine.is_under_way
            && let Some(question) = self.question_of_model()
        {
            let decided = pending.decision_on(&question);
            let said = || notes.all().into_iter().find(is_said);
            let said = || said().map(|note| Verdict::Say { text: note.text });
            let Some(verdict) = decided.or_else(said) else {
                return Ok(());
            };
            self.take(verdict)?;
            pending.take_back(&question)?;
        }
        Ok(())
    }

    /// The first of the model's questions that nobody has answered. One that was put in an earlier round
    /// keeps that round: it is the one that the person saw with the question.
    fn question_of_model(&mut self) -> Option<Question> {
        let round = self.engine.session.sequence_number;
        let open = self.engine.session.open_question()?;
        let asked = open.question.clone();
        let mut put = self.engine.pending().all().into_iter();
        let put = put.find(|put| put.kind == QuestionKind::Model && put.shown == asked);
        Some(Question::of_model(
            put.map_or(round, |put| put.round),
            &asked,
        ))
    }

    /// Returns true if an answer to the model's question waits to be told.
    pub(super) fn has_answer(&self) -> bool {
        let pending = self.engine.pending();
        let mut put = pending.all().into_iter();
        put.any(|question| {
            question.kind == QuestionKind::Model && pending.decision_on(&question).is_some()
        })
    }

    /// Takes back the model's question and makes a note of an answer that came too late for it: the
    /// reply to the message is there, or the client has asked another one.
    pub(super) fn keep_answer(&self) -> Result<()> {
        let pending = self.engine.pending();
        let mut asked = pending.all().into_iter();
        let Some(question) = asked.find(|question| question.kind == QuestionKind::Model) else {
            return Ok(());
        };
        if let Some(verdict) = pending.decision_on(&question) {
            let answer = verdict.in_words();
            let notes = self
                .engine
                .agent
                .store
                .notes(&self.engine.session.session_id);
            // A process that was killed here may have noted it.
            if !notes.all().iter().any(|note| note.text == answer) {
                notes.add(Source::Person, &answer)?;
            }
        }
        pending.take_back(&question)
    }

    /// Takes this as the answer to the first of them.
    pub(super) fn take(&mut self, verdict: Verdict) -> Result<()> {
        let answer = verdict.in_words();
        let notes = self
            .engine
            .agent
            .store
            .notes(&self.engine.session.session_id);
        let note = notes.all().into_iter().find(|note| note.text == answer);
        if let Some(question) = self.engine.session.open_question() {
            question.answer = Some(answer);
        }
        let _alone = self.engine.alone()?;
        // One that was written without the answer does not tell it.
        self.engine.publisher().withdraw()?;
        self.engine.save()?;
        if let Some(note) = note {
            notes.remove(&note);
        }
        Ok(())
    }

    /// Waits for an answer, wherever it comes from; nothing if the person interrupts.
    fn first_answer(&self, pending: &Pending, question: &Question) -> Result<Option<Verdict>> {
        let Engine { agent, session, .. } = &*self.engine;
        let notes = agent.store.notes(&session.session_id);
        let bell = Doorbell::on(notes.directory()?);
        let waker = bell.waker();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let (place, asked) = (pending.clone(), question.clone());
        let watcher = thread::spawn(move || watch_notes(&notes, &bell, &over, &place, &asked));
        let questions = std::slice::from_ref(question);
        let verdicts = approve::decide(&*agent.person, &agent.interrupt, pending, questions);
        is_over.store(true, Ordering::SeqCst);
        waker.wake();
        let _ = watcher.join();
        Ok(verdicts?.and_then(|verdicts| verdicts.into_iter().next()))
    }
}

/// Answers with the first note that somebody leaves.
fn watch_notes(
    notes: &Notes,
    bell: &Doorbell,
    is_over: &AtomicBool,
    pending: &Pending,
    question: &Question,
) {
    while !is_over.load(Ordering::SeqCst) {
        if let Some(note) = notes.all().into_iter().find(is_said) {
            // Should it not be the first answer, it stays a note.
            let _ = pending.decide(question, &Verdict::Say { text: note.text });
            return;
        }
        bell.wait();
    }
}

/// Returns true if the note is from the person.
fn is_said(note: &Note) -> bool {
    note.source == Source::Person
}
