//! A word from the person to the model: the answer to its question, or a note.

use super::open::SessionFiles;
use crate::approve::{Pending, Verdict};
use crate::error::Result;
use crate::protocol::{Event, QuestionKind};
use crate::session::{Session, Source};

/// The use that was made of the person's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaidOutcome {
    /// They answer the model's question.
    Answer {
        /// The model's question.
        question: String,
    },
    /// They go to the model with the next message.
    Note {
        /// The question that is open, though nobody has put it yet.
        open: Option<String>,
        /// True if the question had its answer already.
        is_late: bool,
    },
}

/// Tells the model something.
pub fn say(files: &SessionFiles, session: &mut Session, text: &str) -> Result<SaidOutcome> {
    let text = text.trim();
    let pending = Pending::of(&files.store.folder(&session.session_id));
    let asked = pending.all().into_iter();
    let mut asked = asked.filter(|question| question.kind == QuestionKind::Model);
    let question = asked.next();
    if let Some(question) = &question {
        let verdict = Verdict::Say {
            text: text.to_owned(),
        };
        if pending.decide(question, &verdict)? {
            let question = question.shown.clone();
            return Ok(SaidOutcome::Answer { question });
        }
    }
    // Who was first may have been heard before we looked; the message tells their answer.
    let now = files.store.load(&session.session_id);
    let is_answered =
        now.is_ok_and(|mut now| !now.questions.is_empty() && now.open_question().is_none());
    let is_late = question.is_some() || is_answered;
    let notes = files.store.notes(&session.session_id);
    let text = notes.add(Source::Person, text)?;
    (files.store.events(&session.session_id)).append(Event::Note { text });
    let open = session.open_question().filter(|_| !is_late);
    let open = open.map(|question| question.question.clone());
    Ok(SaidOutcome::Note { open, is_late })
}
