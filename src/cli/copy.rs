//! `agent copy`: the message of the round, on the clipboard or printed.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::courier::{Clipboard, Message, Surroundings};
use crate::error::Result;
use crate::services::copy::{self, Copying, NextPart, WaitingMessage, WhichPart};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent copy
  agent copy --part 2
  agent copy > message.txt

Prints the message if there is no clipboard, or if standard output is not a terminal.";

/// Copy the current message to the clipboard, or print it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Copy {
    /// The session: its ID, the first few digits of it, or `latest`
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only this part of a message in several parts
    #[arg(long, value_name = "N")]
    part: Option<usize>,
    /// The whole message as one text, even if it is sent in parts or as a file
    #[arg(long, conflicts_with = "part")]
    full: bool,
}

impl Copy {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let waiting = copy::waiting(&common.caller(ui)?, self.id.as_deref())?;
        let texts = waiting.texts(match self.part {
            _ if self.full => WhichPart::Whole,
            Some(number) => WhichPart::One(number),
            None => WhichPart::All,
        })?;
        if common.json || ui.columns().is_none() {
            for (_, text) in &texts {
                ui.text(text);
            }
        } else {
            hand_over(&waiting, &texts, ui, &common.copying);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Puts one after the other on the clipboard, each when the person is ready for it.
fn hand_over(waiting: &WaitingMessage, texts: &[(usize, String)], ui: &Ui, copying: &Copying) {
    let message = &waiting.message;
    let mut clipboard = Clipboard::of(Surroundings::of_this_process());
    for (index, (number, text)) in texts.iter().enumerate() {
        if index > 0 {
            match waiting.wait_for(*number, copying) {
                NextPart::Ready => {}
                NextPart::CalledOff => {
                    return ui.say(&format!(
                        "{} is not copied: `agent copy --part {number}` copies it.",
                        message.name(*number)
                    ));
                }
                NextPart::Outdated => {
                    return ui.say(
                        "There is another message by now: the parts of the one before are not copied any more.",
                    );
                }
                NextPart::Nobody => return,
            }
        }
        if !put(&mut clipboard, message, *number, text, ui) {
            ui.text(text);
        }
    }
    tell_attachment(message, ui);
}

fn tell_attachment(message: &Message, ui: &Ui) {
    if let Some(file) = &message.posted.attachment {
        ui.say(&format!("Drag `{}` in beside it.", file.display()));
    }
}

/// Puts a text on the clipboard and says what became of it.
pub(super) fn put(
    clipboard: &mut Clipboard,
    message: &Message,
    number: usize,
    text: &str,
    ui: &Ui,
) -> bool {
    let name = message.name(number);
    match clipboard.put(text, ui) {
        Ok(sent) => {
            ui.say(&format!("{name}: {sent}."));
            true
        }
        Err(failure) => {
            ui.say(&format!("{name} is not on the clipboard: {failure}."));
            false
        }
    }
}
