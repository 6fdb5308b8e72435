//! Further instructions that the person gives when they resume a session.

use super::added::{self, AddedContext};
use super::{Agent, Engine, Patience};
use crate::error::Result;
use crate::session::{CheckedWhen, Record, Session, Source, Sync};

impl Agent {
    /// Takes a further instruction, and opens a session again that has ended.
    ///
    /// A round that a killed process left unfinished is finished first; nothing is instructed if
    /// the person stops that. The message of the current round, if it is written already, will be
    /// written anew, so that it tells the instruction.
    pub fn instruct(
        &self,
        session: Session,
        text: String,
        added: &AddedContext,
    ) -> Result<Option<Session>> {
        let mut engine = Engine::open(self, session, Patience::Session)?;
        if engine.is_under_way || self.interrupt.is_raised() {
            return Ok(None);
        }
        engine.instruct(text, added)?;
        Ok(Some(engine.session))
    }
}

impl Engine<'_> {
    /// The message that tells it is the first one after whatever was noted meanwhile, so it tells
    /// that too; and where rounds were undone, nobody knows how the check stands before it ran.
    fn instruct(&mut self, text: String, added: &AddedContext) -> Result<()> {
        let _alone = self.alone()?;
        let sequence = self.session.sequence_number;
        let notes = self.agent.store.notes(&self.session.session_id);
        let said = notes.all();
        if said.iter().any(|note| note.source == Source::Undo) {
            self.checks().run(CheckedWhen::AfterReversal)?;
            self.baseline.learn_reversal(&self.session);
        }
        // The message goes first: one that is missing is written, one that is there is not.
        self.publisher().withdraw()?;
        let mut records = Vec::new();
        if self.session.is_complete {
            records.push(Record::Reopened { sequence });
        }
        records.push(Record::Instructed {
            sequence,
            text: text.clone(),
        });
        self.journal.append(&records, Sync::Later)?;
        self.session.instruct(text);
        added::take_notes(&mut self.session, &said);
        added.put_into(&mut self.session);
        self.save()?;
        for note in &said {
            notes.remove(note);
        }
        Ok(())
    }
}
