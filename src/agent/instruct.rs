//! What the person wants beyond the task, said when they go on with a session.

use super::{Agent, Conversation, Ending, Patience};
use crate::error::Result;
use crate::session::{Record, Session, Sync};

impl Agent {
    /// Takes a further instruction, and opens a session again that has ended.
    ///
    /// A round that a killed process left unfinished is finished first; nothing is instructed if
    /// the person stops that. The message of the current round, if it is written already, will be
    /// written anew, so that it tells the instruction.
    pub fn instruct(&self, session: Session, text: String) -> Result<Option<Session>> {
        let mut conversation = Conversation::open(self, session, Patience::Session)?;
        if conversation.is_under_way || self.interrupt.is_raised() {
            conversation.stopped(Ending::Interrupted);
            return Ok(None);
        }
        conversation.instruct(text)?;
        Ok(Some(conversation.session))
    }
}

impl Conversation<'_> {
    fn instruct(&mut self, text: String) -> Result<()> {
        let _alone = self.alone()?;
        let sequence = self.session.sequence_number;
        // The message goes first: one that is missing is written, one that is there is not.
        self.withdraw()?;
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
        self.save()
    }
}
