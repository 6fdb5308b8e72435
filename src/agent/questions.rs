//! Questions of the model to the person, answered before the next outbox goes out.

use super::{Conversation, Patience};
use crate::error::Result;
use crate::mailbox::Doorbell;
use crate::ui::{Answer, Event};

/// Whether every question has its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// All that can be had.
    Yes,
    /// The person stopped it.
    Interrupted,
}

impl Conversation<'_> {
    /// Gets the answers: on the terminal, or from `agent say` where there is none.
    pub(super) fn answer_questions(&mut self, patience: Patience) -> Result<Answered> {
        while let Some(question) = self.session.open_question() {
            let question = question.question.clone();
            let how = "answer with `agent say \"...\"` in this directory";
            let ui = &self.agent.ui;
            ui.tell(&Event::Question {
                question: &question,
                how: if ui.is_interactive() { "" } else { how },
            });
            let answer = match ui.ask("Your answer:", &self.agent.interrupt) {
                Answer::Text(text) => text,
                Answer::Interrupted => return Ok(Answered::Interrupted),
                Answer::Nobody if patience == Patience::OneReply => return Ok(Answered::Yes),
                Answer::Nobody => match self.wait_for_note()? {
                    Some(text) => text,
                    None => return Ok(Answered::Interrupted),
                },
            };
            if let Some(question) = self.session.open_question() {
                question.answer = Some(answer);
            }
            self.save()?;
        }
        Ok(Answered::Yes)
    }

    /// Waits until somebody leaves a note; nothing comes if the person stops it.
    fn wait_for_note(&self) -> Result<Option<String>> {
        let notes = self.agent.store.notes(&self.session.session_id);
        let bell = Doorbell::on(notes.directory()?);
        let waker = bell.waker();
        self.agent.interrupt.on_raise(move || waker.wake());
        while !self.agent.interrupt.is_raised() {
            if let Some(note) = notes.all().into_iter().next() {
                notes.remove(&note);
                return Ok(Some(note.text));
            }
            bell.wait();
        }
        Ok(None)
    }
}
