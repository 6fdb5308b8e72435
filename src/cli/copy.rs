//! `agent copy`: the message of the round, on the clipboard or printed.

use std::process::ExitCode;

use clap::Args;

use super::{Common, carry, open, resume};
use crate::agent::message_of;
use crate::courier::{Clipboard, Message, Surroundings};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::ui::{Answer, Takes, Ui};

const EXAMPLES: &str = "\
Examples:
  agent copy
  agent copy --part 2
  agent copy > message.txt

Where there is no way to a clipboard, and where standard output is not a terminal, the message is \
printed.";

/// Put the current message on the clipboard, or print it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Copy {
    /// The session: its id, the first few digits of it, or `latest`
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only this part of a message that goes in several
    #[arg(long, value_name = "N")]
    part: Option<usize>,
    /// The whole message as one, also if it goes in parts or as a file beside a short one
    #[arg(long, conflicts_with = "part")]
    full: bool,
}

impl Copy {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let agent = open::files(common, ui)?;
        let session = resume::find_any(&agent.store, &agent.ui, self.id.as_deref())?;
        let id = &session.session_id;
        let message = Message::latest(&agent.mailbox, id).ok_or_else(|| {
            Error::mendable(format!("there is no message of session {id} yet"))
                .hint(format!("`agent resume {id}` writes it"))
        })?;
        let texts = self.texts(&message)?;
        if common.json || agent.ui.columns().is_none() {
            for (_, text) in &texts {
                agent.ui.text(text);
            }
        } else {
            hand_over(&message, &texts, &agent.ui);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What is wanted, each with its number.
    fn texts(&self, message: &Message) -> Result<Vec<(usize, String)>> {
        if self.full {
            return Ok(vec![(1, message_of(&message.posted))]);
        }
        let wanted = match self.part {
            Some(number) => number..=number,
            None => 1..=message.parts(),
        };
        wanted
            .map(|number| Ok((number, message.paste(number)?)))
            .collect()
    }
}

/// Puts one after the other on the clipboard, each when the person is ready for it.
fn hand_over(message: &Message, texts: &[(usize, String)], ui: &Ui) {
    let mut clipboard = Clipboard::of(Surroundings::of_this_process());
    for (index, (number, text)) in texts.iter().enumerate() {
        if index > 0 {
            let question = format!(
                "Paste it and send it, then press Enter for {}.",
                message.name(*number)
            );
            let answer = ui.ask(&question, Takes::Enter, &Interrupt::default());
            if !matches!(answer, Answer::Text(_)) {
                return;
            }
        }
        if !carry::put(&mut clipboard, message, *number, text, ui) {
            ui.text(text);
        }
    }
    if let Some(file) = &message.posted.attachment {
        ui.say(&format!("Drag `{}` in beside it.", file.display()));
    }
}
