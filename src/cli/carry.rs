//! What carries messages beside a loop: the couriers that the settings ask for.

use super::{Common, console, copy};
use crate::agent::{Agent, Ending};
use crate::courier::{Clipboard, Couriers, Message, Surroundings, Use, Wishes};
use crate::error::Result;
use crate::session::Session;

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

/// Wishes with the messages on the clipboard whatever the settings say (`--copy`).
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
        copy::put(&mut clipboard, &message, 1, &message.paste(1)?, &voice);
    }
    Ok(ending)
}
