//! `agent say`: a word from the person to the model.

use std::process::ExitCode;

use clap::Args;

use super::{Common, open, resume};
use crate::error::{Error, Result};
use crate::session::{LoopLock, Source};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent say \"use spaces\"
  agent say leave the tests of the parser as they are";

/// Answer the model's question, or add a note to the next message
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Say {
    /// What to tell the model; the words are joined
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
}

impl Say {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        tell(common, ui, &self.text.join(" "))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Leaves a note for the model, and says what becomes of it.
pub(super) fn tell(common: &Common, ui: Ui, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::usage("there is nothing to say").hint("agent say \"use spaces\""));
    }
    let agent = open::files(common, ui)?;
    let mut session = resume::find(&agent.store, &agent.ui, None)?;
    let notes = agent.store.notes(&session.session_id);
    notes.add(Source::Person, text.trim())?;
    let is_running = LoopLock::holder(agent.store.directory()).is_some();
    let what = match session.open_question() {
        Some(question) if is_running => format!("Answers: {}", question.question.trim()),
        Some(question) => format!(
            "The next message will tell it to the model, which asked: {}",
            question.question.trim()
        ),
        None => "The next message will tell it to the model.".to_owned(),
    };
    agent.ui.say(&what);
    Ok(())
}
