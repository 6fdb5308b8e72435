//! What carries messages beside a loop: the couriers that the settings ask for.

use std::path::Path;

use super::open::trust;
use super::{Common, console};
use crate::agent::{Agent, Ending};
use crate::courier::{Clipboard, Couriers, Found, Message, Notify, Surroundings, Use, Wishes};
use crate::error::Result;
use crate::session::Session;
use crate::settings::Settings;
use crate::ui::Ui;

/// Whether the loop waits for replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stay {
    /// Until the session ends.
    Wait,
    /// The message is written, and that is all.
    Leave,
}

impl Stay {
    pub(super) fn of(no_wait: bool) -> Self {
        if no_wait { Self::Leave } else { Self::Wait }
    }
}

/// What the settings want of the couriers.
pub(super) fn wishes(settings: &Settings) -> Wishes {
    Wishes {
        clipboard: match settings.clipboard.as_str() {
            "auto" => Use::Both,
            "out" => Use::Out,
            _ => Use::Off,
        },
        notify: match settings.notify.as_str() {
            "bell" => Notify::Bell,
            "desktop" => Notify::Desktop,
            _ => Notify::Off,
        },
        found: if settings.approval == "ask" {
            Found::Asked
        } else {
            Found::Used
        },
        memory: memory(trust().directory()),
    }
}

/// The same, with the messages on the clipboard whatever the settings say (`--copy`).
pub(super) fn copying(wishes: Wishes, is_wanted: bool) -> Wishes {
    if is_wanted && wishes.clipboard == Use::Off {
        Wishes {
            clipboard: Use::Out,
            ..wishes
        }
    } else {
        wishes
    }
}

/// Where is kept whether we may look at the clipboard.
pub(super) fn memory(state: Option<&Path>) -> Option<std::path::PathBuf> {
    Some(state?.join("clipboard"))
}

/// Runs the loop with the prompt and the couriers beside it; they have voices of their own.
pub(super) fn run(
    agent: &Agent,
    session: Session,
    stay: Stay,
    wishes: Wishes,
    common: &Common,
) -> Result<Ending> {
    let id = session.session_id.clone();
    let voice = common.ui();
    if stay == Stay::Wait {
        let prompt = console::open(common, agent, &id, wishes.notify);
        let _unread = match &prompt {
            Some(_) => None,
            None => voice.leave_typing_unread(),
        };
        let (mailbox, interrupt) = (&agent.mailbox, &agent.interrupt);
        let _couriers = Couriers::start(wishes, mailbox, &id, voice, agent.asker(&id), interrupt);
        return agent.run(session);
    }
    let ending = agent.begin(session)?;
    if wishes.clipboard != Use::Off
        && let Some(message) = Message::latest(&agent.mailbox, &id)
    {
        let mut clipboard = Clipboard::of(Surroundings::of_this_process());
        put(&mut clipboard, &message, 1, &message.paste(1)?, &voice);
    }
    Ok(ending)
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
