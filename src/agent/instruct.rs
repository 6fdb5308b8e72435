//! Further instructions that the person gives when they resume a session.

use super::added::{self, AddedContext};
use super::engine::{Engine, Patience};
use super::{Agent, recover};
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
        let mut engine = recover::open(self, session, Patience::Session)?;
        if engine.is_under_way || self.interrupt.is_raised() {
            return Ok(None);
        }
        instruct(&mut engine, text, added)?;
        Ok(Some(engine.session))
    }
}

/// The message that tells it is the first one after whatever was noted meanwhile, so it tells
/// that too; and where rounds were undone, nobody knows how the check stands before it ran.
fn instruct(engine: &mut Engine<'_>, text: String, added: &AddedContext) -> Result<()> {
    let _alone = engine.alone()?;
    let sequence = engine.session.sequence_number;
    let notes = engine.agent.store.notes(&engine.session.session_id);
    let said = notes.all();
    if said.iter().any(|note| note.source == Source::Undo) {
        engine.checks().run(CheckedWhen::AfterReversal)?;
        engine.baseline.learn_reversal(&engine.session);
    }
    // The message goes first: one that is missing is written, one that is there is not.
    engine.publisher().withdraw()?;
    let mut records = Vec::new();
    if engine.session.is_complete {
        records.push(Record::Reopened { sequence });
    }
    records.push(Record::Instructed {
        sequence,
        text: text.clone(),
    });
    engine.journal.append(&records, Sync::Later)?;
    engine.session.instruct(text);
    added::take_notes(&mut engine.session, &said);
    added.put_into(&mut engine.session);
    engine.save()?;
    for note in &said {
        notes.remove(note);
    }
    Ok(())
}
