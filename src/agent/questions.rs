//! Questions of the model to the person, answered before the next outbox goes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use super::{Conversation, Patience};
use crate::approve::{Answer, Answers, Inquiry, Person as _};
use crate::error::Result;
use crate::mailbox::Doorbell;
use crate::protocol::Event;
use crate::session::{Note, Notes, Source};

/// Whether every question has its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// All that can be had.
    Yes,
    /// The person stopped it.
    Interrupted,
}

impl Conversation<'_> {
    /// Gets the answers: from whoever is asked here, or from `agent say`.
    pub(super) fn answer_questions(&mut self, patience: Patience) -> Result<Answered> {
        while let Some(question) = self.session.open_question() {
            let question = question.question.clone();
            self.agent.tell(Event::Question { question });
            if patience == Patience::OneReply && !self.agent.person.is_interactive() {
                return Ok(Answered::Yes);
            }
            let answer = match self.first_answer()? {
                Answer::Text(text) => text,
                Answer::Interrupted => return Ok(Answered::Interrupted),
                Answer::Nobody => continue,
            };
            self.answer(answer)?;
        }
        Ok(Answered::Yes)
    }

    /// Answers what is open with what the person said already, and asks nobody.
    pub(super) fn answer_by_notes(&mut self) -> Result<()> {
        let notes = self.agent.store.notes(&self.session.session_id);
        while !self.is_under_way
            && self.session.open_question().is_some()
            && let Some(note) = notes.all().into_iter().find(is_said)
        {
            self.answer(note.text)?;
        }
        Ok(())
    }

    fn answer(&mut self, answer: String) -> Result<()> {
        let notes = self.agent.store.notes(&self.session.session_id);
        let note = notes.all().into_iter().find(|note| note.text == answer);
        if let Some(question) = self.session.open_question() {
            question.answer = Some(answer);
        }
        let _alone = self.alone()?;
        // One that was written without the answer does not tell it.
        self.withdraw()?;
        self.save()?;
        if let Some(note) = note {
            notes.remove(&note);
        }
        Ok(())
    }

    /// Waits for a typed line or a note, whichever comes first.
    fn first_answer(&self) -> Result<Answer> {
        let Conversation { agent, session, .. } = self;
        let answers = Answers::until(&agent.interrupt);
        let notes = agent.store.notes(&session.session_id);
        let bell = Doorbell::on(notes.directory()?);
        let waker = bell.waker();
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, sender) = (Arc::clone(&is_over), answers.sender());
        let watcher = thread::spawn(move || watch_notes(&notes, &bell, &over, &sender));
        agent.person.inquire(&Inquiry::ModelQuestion, &answers);
        let answer = match answers.first() {
            // The input has ended: a note can still come.
            Answer::Nobody => answers.first(),
            answer => answer,
        };
        is_over.store(true, Ordering::SeqCst);
        waker.wake();
        let _ = watcher.join();
        Ok(answer)
    }
}

/// Hands over the first note that somebody leaves.
fn watch_notes(notes: &Notes, bell: &Doorbell, is_over: &AtomicBool, sender: &Sender<Answer>) {
    while !is_over.load(Ordering::SeqCst) {
        if let Some(note) = notes.all().into_iter().find(is_said) {
            let _ = sender.send(Answer::Text(note.text));
            return;
        }
        bell.wait();
    }
}

/// Whether the person said it.
fn is_said(note: &Note) -> bool {
    note.source == Source::Person
}
