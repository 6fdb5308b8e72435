//! The state that all requests share: the base directory that is served, its keys, its loop.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::guard::OwnAddress;
use super::keys::AccessKeys;
use super::loops::PageLoop;
use crate::approve::{Answer, Attending, Input, Pending, Person, Question};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::protocol::{Event, EventSink, SessionId};
use crate::services::{Caller, GivenFlags, open};
use crate::session::Session;
use crate::settings::{OwnSettings, Trust};
use crate::ui::sentence;

/// How many pages may follow a session at a time.
const MAX_STREAMS: usize = 24;
/// How many words of one call are kept for its answer.
const MAX_WORDS: usize = 20;

/// The server, as the handlers of requests know it.
#[derive(Debug)]
pub(super) struct PageDesk {
    base: Option<PathBuf>,
    pub(super) flags: GivenFlags,
    pub(super) trust: Trust,
    pub(super) own: OwnAddress,
    pub(super) keys: AccessKeys,
    pub(super) streams: Arc<Semaphore>,
    pub(super) loops: PageLoop,
    here: PathBuf,
    interrupt: Interrupt,
}

impl PageDesk {
    pub(super) fn new(caller: &Caller, port: u16) -> Result<Self> {
        Ok(Self {
            base: caller.base.clone(),
            flags: caller.flags.clone(),
            trust: caller.trust.clone(),
            own: OwnAddress::at(port),
            keys: AccessKeys::new()?,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            loops: PageLoop::default(),
            here: caller.here.clone(),
            interrupt: caller.interrupt.clone(),
        })
    }

    /// A call of a service, with the person who hears what it says.
    pub(super) fn caller(&self) -> (Caller, Arc<PagePerson>) {
        let person = Arc::new(PagePerson::default());
        (self.calling(person.clone()), person)
    }

    /// A call of a service by this person.
    pub(super) fn calling(&self, person: Arc<PagePerson>) -> Caller {
        Caller {
            here: self.here.clone(),
            base: self.base.clone(),
            flags: self.flags.clone(),
            own_settings: OwnSettings::of_this_process(),
            trust: self.trust.clone(),
            person,
            interrupt: self.interrupt.clone(),
        }
    }

    /// Sessions and messages, to look at.
    pub(super) fn files(&self) -> Result<open::SessionFiles> {
        open::files(&self.caller().0)
    }

    /// The address of the page with a code that opens it once.
    pub(super) fn link(&self) -> Result<String> {
        Ok(format!("{}/#{}", self.own.origin, self.keys.new_code()?))
    }
}

/// A session by its whole name; the first digits do not do, because they may mean another one
/// tomorrow.
pub(super) fn session_id(text: &str) -> Result<SessionId> {
    SessionId::parse(text).map_err(|_| Error::usage("there is no such session"))
}

/// The session of this name.
pub(super) fn load(files: &open::SessionFiles, id: &SessionId) -> Result<Session> {
    let (session, _) = files.store.load_or_rebuild(id)?;
    Ok(session)
}

/// The person at the page, for a service: they hear what it says, and are asked nothing, because what
/// is asked outside of a session belongs to the terminal. What a session asks lies there as a file,
/// which the page shows.
#[derive(Debug, Default)]
pub(super) struct PagePerson {
    words: Mutex<Vec<String>>,
    is_with_session: AtomicBool,
}

impl PagePerson {
    /// From now on a session is carried on, and waits for answers to its questions.
    pub(super) fn stay_with_session(&self) {
        self.is_with_session.store(true, Ordering::Relaxed);
    }

    /// Takes the messages collected so far, in order.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut words)
    }
}

impl EventSink for PagePerson {
    fn emit(&self, event: Event) {
        // What belongs to a session comes to the page from its event file.
        let text = match event {
            Event::Trouble { message, .. } => message,
            Event::Setup(_)
            | Event::Committed { .. }
            | Event::NotCommitted { .. }
            | Event::Notice { .. } => sentence(&event),
            _ => return,
        };
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.len() < MAX_WORDS {
            words.push(text);
        }
    }
}

impl Person for PagePerson {
    fn input(&self) -> Input {
        Input::Wait
    }

    fn is_interactive(&self) -> bool {
        self.is_with_session.load(Ordering::Relaxed)
    }

    fn ask(&self, _: &Question, _: &Interrupt) -> Answer {
        Answer::Nobody
    }

    fn attend(&self, _: &Pending, _: &[Question], _: &Interrupt) -> Option<Attending> {
        None
    }
}
