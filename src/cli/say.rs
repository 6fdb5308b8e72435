//! `agent say`: a word from the person to the model.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::{Error, Result};
use crate::services::say::{self, SaidOutcome};
use crate::services::{find, open};
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
    /// The text for the model; the words are joined
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// The session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl Say {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        tell_in(common, ui, self.session.as_deref(), &self.text.join(" "))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Tells the model of the latest session something, and says what becomes of it.
pub(super) fn tell(common: &Common, ui: &Ui, text: &str) -> Result<()> {
    tell_in(common, ui, None, text)
}

fn tell_in(common: &Common, ui: &Ui, session: Option<&str>, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::usage("there is nothing to say").hint("agent say \"use spaces\""));
    }
    let files = open::files(&common.caller(ui)?)?;
    let mut session = find::find(&files.store, ui, session)?;
    let what = match say::say(&files, &mut session, text)? {
        SaidOutcome::Answer { question } => format!("Answers: {}", question.trim()),
        SaidOutcome::Note { is_late: true, .. } => {
            "Noted. The model gets it with the next message; its question was answered already."
                .to_owned()
        }
        SaidOutcome::Note {
            open: Some(question),
            ..
        } => format!(
            "Noted. The model gets it with the next message. It asked: {}",
            question.trim()
        ),
        SaidOutcome::Note { open: None, .. } => {
            "Noted. The model gets it with the next message.".to_owned()
        }
    };
    ui.say(&what);
    Ok(())
}
