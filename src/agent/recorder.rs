//! Keeps what happens with the session, and passes it on to the person.

use std::sync::{Mutex, PoisonError};

use crate::approve::{Answers, Attending, Input, Inquiry, Pending, Person, Question};
use crate::interrupt::Interrupt;
use crate::protocol::{Event, EventSink, SessionId};
use crate::session::{EventLog, Store};

/// The engine's only voice: every event gets its number, is appended to the event file of the
/// session, and then reaches the front end.
#[derive(Debug)]
pub struct Recorder {
    person: Box<dyn Person>,
    log: Mutex<Option<EventLog>>,
}

impl Recorder {
    /// One that passes events on to this person; they are kept once there is a session.
    pub fn new(person: impl Person + 'static) -> Self {
        Self {
            person: Box::new(person),
            log: Mutex::default(),
        }
    }

    /// Keeps events with this session from now on.
    pub(super) fn record(&self, store: &Store, id: &SessionId) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.as_ref().is_none_or(|log| log.session() != id) {
            *log = Some(store.events(id));
        }
    }
}

impl EventSink for Recorder {
    fn emit(&self, event: Event) {
        // Held until it is told, so that everybody hears events in the order of their numbers.
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        match log.as_mut() {
            Some(log) => self.person.hear(&log.append(event)),
            None => self.person.emit(event),
        }
    }
}

impl Person for Recorder {
    fn input(&self) -> Input {
        self.person.input()
    }

    fn is_interactive(&self) -> bool {
        self.person.is_interactive()
    }

    fn inquire(&self, inquiry: &Inquiry, answers: &Answers) {
        self.person.inquire(inquiry, answers);
    }

    fn attend(
        &self,
        pending: &Pending,
        questions: &[Question],
        interrupt: &Interrupt,
    ) -> Option<Attending> {
        self.person.attend(pending, questions, interrupt)
    }
}
