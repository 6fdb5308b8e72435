//! The message of a session that waits to be pasted, part by part.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Caller, find, open};
use crate::agent::message_of;
use crate::approve::{Asker, Pending, Question, Verdict};
use crate::courier::Message;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::mailbox::Mailbox;
use crate::watch::Doorbell;

/// How often the outbox is looked at where nothing reports changes.
const NEXT_LOOK: Duration = Duration::from_millis(500);

/// A message, and who is asked when its next part may go.
#[derive(Debug)]
pub struct WaitingMessage {
    /// The message.
    pub message: Message,
    mailbox: Mailbox,
    asker: Asker,
}

/// Which text of a message is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichPart {
    /// Every part.
    All,
    /// The part with this number.
    One(usize),
    /// One text of all, even if it is sent in parts or as a file.
    Whole,
}

/// The outcome of waiting until the person is ready for the next part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPart {
    /// They are.
    Ready,
    /// They want something else.
    CalledOff,
    /// Another message took the place of this one.
    Outdated,
    /// Nobody can be asked.
    Nobody,
}

/// The question for the next part that waits, if there is one.
#[derive(Debug, Clone, Default)]
pub struct Copying(Arc<Mutex<Option<Interrupt>>>);

impl Copying {
    fn waiting(&self) -> MutexGuard<'_, Option<Interrupt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the wait for the next part, if there is one: the person wants something else.
    pub fn call_off(&self) {
        let waiting = self.waiting().take();
        if let Some(waiting) = waiting {
            waiting.raise();
        }
    }
}

/// Finds the latest message of a session.
pub fn waiting(caller: &Caller, id: Option<&str>) -> Result<WaitingMessage> {
    let files = open::files(caller)?;
    let session = find::find_any(&files.store, &*caller.person, id)?;
    let id = &session.session_id;
    let message = Message::latest(&files.mailbox, id).ok_or_else(|| {
        Error::mendable(format!("there is no message of session {id} yet"))
            .hint(format!("`agent resume {id}` writes it"))
    })?;
    Ok(WaitingMessage {
        message,
        mailbox: files.mailbox,
        asker: Asker {
            person: caller.person.clone(),
            pending: Pending::of(&files.store.folder(id)),
        },
    })
}

impl WaitingMessage {
    /// The texts that are wanted, each with its number.
    pub fn texts(&self, which: WhichPart) -> Result<Vec<(usize, String)>> {
        let wanted = match which {
            WhichPart::Whole => return Ok(vec![(1, message_of(&self.message.posted))]),
            WhichPart::One(number) => number..=number,
            WhichPart::All => 1..=self.message.parts(),
        };
        wanted
            .map(|number| Ok((number, self.message.paste(number)?)))
            .collect()
    }

    /// Waits until the person is ready for a part, wants something else, or has another message.
    pub fn wait_for(&self, number: usize, copying: &Copying) -> NextPart {
        let message = &self.message;
        let name = message.name(number);
        let question = Question::about_next_part(message.mark.sequence, &name);
        let over = Interrupt::default();
        *copying.waiting() = Some(over.clone());
        let (is_answered, is_outdated) = (AtomicBool::new(false), AtomicBool::new(false));
        let bell = Doorbell::on(self.mailbox.outbox());
        let waker = bell.waker();
        let answer = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_answered.load(Ordering::SeqCst) {
                    bell.wait_for(NEXT_LOOK);
                    let latest = Message::latest(&self.mailbox, &message.mark.session);
                    if latest.is_some_and(|latest| latest != *message) {
                        is_outdated.store(true, Ordering::SeqCst);
                        return over.raise();
                    }
                }
            });
            let answer = self.asker.pose(question, &over);
            is_answered.store(true, Ordering::SeqCst);
            waker.wake();
            answer
        });
        copying.waiting().take();
        match answer {
            Ok(Some(Verdict::Yes | Verdict::Always)) => NextPart::Ready,
            Ok(None) if is_outdated.into_inner() => NextPart::Outdated,
            Ok(Some(Verdict::No { .. }) | None) => NextPart::CalledOff,
            Ok(Some(_)) | Err(_) => NextPart::Nobody,
        }
    }
}
