//! `agent say`: a word from the person to the model.

use std::process::ExitCode;

use clap::Args;

use super::{Common, open, resume};
use crate::error::{Error, Result};
use crate::protocol::Event;
use crate::session::{LoopLock, Source};
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
    let notes = agent.store.notes(&session.session_id);
    notes.add(Source::Person, text.trim())?;
    let text = text.trim().to_owned();
    (agent.store.events(&session.session_id)).append(Event::Note { text });
    let is_running = LoopLock::is_at_work_on(agent.store.directory(), &session.session_id);
    let what = match session.open_question() {
        Some(question) if is_running => format!("Answers: {}", question.question.trim()),
        Some(question) => format!(
            "Noted. The model gets it with the next message. It asked: {}",
            question.question.trim()
        ),
        None => "Noted. The model gets it with the next message.".to_owned(),
    };
    agent.ui.say(&what);
    Ok(())
}
