//! `agent copy`: the message of the round, on the clipboard or printed.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::Common;
use crate::agent::message_of;
use crate::approve::{Asker, Pending, Question, Verdict};
use crate::courier::{Clipboard, Message, Surroundings};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::mailbox::Mailbox;
use crate::watch::Doorbell;
use crate::services::{find, open};
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
        let agent = open::files(&common.caller(ui)?)?;
        let session = find::find_any(&agent.store, ui, self.id.as_deref())?;
        let id = &session.session_id;
        let message = Message::latest(&agent.mailbox, id).ok_or_else(|| {
            Error::mendable(format!("there is no message of session {id} yet"))
                .hint(format!("`agent resume {id}` writes it"))
        })?;
        let texts = self.texts(&message)?;
        if common.json || ui.columns().is_none() {
            for (_, text) in &texts {
                ui.text(text);
            }
        } else {
            let asker = Asker {
                person: Arc::new(ui.clone()),
                pending: Pending::of(&agent.store.folder(id)),
            };
            hand_over(
                &agent.mailbox,
                &message,
                &texts,
                ui,
                (&asker, &common.copying),
            );
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
fn hand_over(
    mailbox: &Mailbox,
    message: &Message,
    texts: &[(usize, String)],
    ui: &Ui,
    (asker, copying): (&Asker, &Copying),
) {
    let mut clipboard = Clipboard::of(Surroundings::of_this_process());
    for (index, (number, text)) in texts.iter().enumerate() {
        if index > 0 {
            match wait_for_enter(mailbox, message, &message.name(*number), asker, copying) {
                Ready::Yes => {}
                Ready::CalledOff => {
                    return ui.say(&format!(
                        "{} is not copied: `agent copy --part {number}` copies it.",
                        message.name(*number)
                    ));
                }
                Ready::Outdated => {
                    return ui.say(
                        "There is another message by now: the parts of the one before are not copied any more.",
                    );
                }
                Ready::Nobody => return,
            }
        }
        if !put(&mut clipboard, message, *number, text, ui) {
            ui.text(text);
        }
    }
    tell_attachment(message, ui);
}

/// What came of waiting for the person to be ready for the next part.
enum Ready {
    Yes,
    /// They want something else.
    CalledOff,
    /// Another message took the place of this one.
    Outdated,
    Nobody,
}

/// The question for the next part that waits, if there is one.
#[derive(Debug, Clone, Default)]
pub(super) struct Copying(Arc<Mutex<Option<Interrupt>>>);

impl Copying {
    fn waiting(&self) -> MutexGuard<'_, Option<Interrupt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the wait for the next part, if there is one: the person wants something else.
    pub(super) fn call_off(&self) {
        let waiting = self.waiting().take();
        if let Some(waiting) = waiting {
            waiting.raise();
        }
    }
}

/// Waits until the person is ready for a part, wants something else, or has another message.
fn wait_for_enter(
    mailbox: &Mailbox,
    message: &Message,
    name: &str,
    asker: &Asker,
    copying: &Copying,
) -> Ready {
    const NEXT_LOOK: Duration = Duration::from_millis(500);
    let question = Question::about_next_part(message.mark.sequence, name);
    let over = Interrupt::default();
    *copying.waiting() = Some(over.clone());
    let (is_answered, is_outdated) = (AtomicBool::new(false), AtomicBool::new(false));
    let bell = Doorbell::on(mailbox.outbox());
    let waker = bell.waker();
    let answer = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_answered.load(Ordering::SeqCst) {
                bell.wait_for(NEXT_LOOK);
                let latest = Message::latest(mailbox, &message.mark.session);
                if latest.is_some_and(|latest| latest != *message) {
                    is_outdated.store(true, Ordering::SeqCst);
                    return over.raise();
                }
            }
        });
        let answer = asker.pose(question, &over);
        is_answered.store(true, Ordering::SeqCst);
        waker.wake();
        answer
    });
    copying.waiting().take();
    match answer {
        Ok(Some(Verdict::Yes | Verdict::Always)) => Ready::Yes,
        Ok(None) if is_outdated.into_inner() => Ready::Outdated,
        Ok(Some(Verdict::No { .. }) | None) => Ready::CalledOff,
        Ok(Some(_)) | Err(_) => Ready::Nobody,
    }
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
