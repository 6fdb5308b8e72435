//! `agent say`: a word from the person to the model.

use std::process::ExitCode;

use clap::Args;

use super::{Common, open, resume};
use crate::approve::{Pending, Verdict};
use crate::error::{Error, Result};
use crate::protocol::{Event, QuestionKind};
use crate::session::Source;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent say \"use spaces\"
  agent say leave the tests of the parser as they are
  agent say --session ab12 \"not in the tests\"";

/// Answer the model's question, or add a note to the next message
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Say {
    /// What to tell the model; the words are joined
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// The session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl Say {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        tell_in(common, ui, self.session.as_deref(), &self.text.join(" "))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Leaves a note for the model of the latest session, and says what becomes of it.
pub(super) fn tell(common: &Common, ui: Ui, text: &str) -> Result<()> {
    tell_in(common, ui, None, text)
}

fn tell_in(common: &Common, ui: Ui, session: Option<&str>, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::usage("there is nothing to say").hint("agent say \"use spaces\""));
    }
    let agent = open::files(common, ui)?;
    let mut session = resume::find(&agent.store, &agent.ui, session)?;
    let text = text.trim().to_owned();
    let pending = Pending::of(&agent.store.folder(&session.session_id));
    let asked = pending.all().into_iter();
    let mut asked = asked.filter(|question| question.kind == QuestionKind::Model);
    let question = asked.next();
    let mut late = "";
    if let Some(question) = &question {
        let verdict = Verdict::Say { text: text.clone() };
        let is_first = pending.decide(question, &verdict)?;
        // Answered and taken back in between, it is not read any more.
        if is_first && pending.all().contains(question) {
            agent.ui.say(&format!("Answers: {}", question.shown.trim()));
            return Ok(());
        }
        late = "The question was answered already, so this is a note. ";
    }
    let notes = agent.store.notes(&session.session_id);
    notes.add(Source::Person, &text)?;
    (agent.store.events(&session.session_id)).append(Event::Note { text });
    let what = match session.open_question().filter(|_| question.is_none()) {
        Some(question) => format!(
            "Noted. The model gets it with the next message. It asked: {}",
            question.question.trim()
        ),
        None => format!("{late}Noted. The model gets it with the next message."),
    };
    agent.ui.say(&what);
    Ok(())
}
