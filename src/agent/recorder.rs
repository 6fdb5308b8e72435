//! Keeps what happens with the session, and passes it on to the person.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::approve::{Answer, Attending, Input, Pending, Person, Question};
use crate::interrupt::Interrupt;
use crate::known_keys::KnownKeys;
use crate::protocol::{Event, EventSink, SessionId};
use crate::session::{EventLog, Store};

/// The engine's only voice: every event gets its number, is appended to the event file of the
/// session, and then reaches the front end.
#[derive(Debug)]
pub struct Recorder {
    person: Arc<dyn Person>,
    log: Mutex<Option<EventLog>>,
    /// The folder of the session whose events are kept.
    folder: Mutex<Option<PathBuf>>,
}

impl Recorder {
    /// One that passes events on to this person; they are kept once there is a session.
    pub fn new(person: Arc<dyn Person>) -> Self {
        Self {
            person,
            log: Mutex::default(),
            folder: Mutex::default(),
        }
    }

    /// The keys of APIs that no event may have in it: those that this process knows by now, and those
    /// that carried the session.
    pub(super) fn keys(&self) -> KnownKeys {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        match folder.as_ref() {
            Some(folder) => KnownKeys::of_session(folder),
            None => KnownKeys::of_this_process(),
        }
    }

    /// The event without keys: a command may have printed a file that has one.
    fn without_keys(&self, event: Event) -> Event {
        let keys = self.keys();
        if keys.is_empty() {
            return event;
        }
        match serde_json::to_string(&event) {
            Ok(json) if keys.is_in(&json) => {
                serde_json::from_str(&keys.scrub(&json)).unwrap_or(Event::Unknown)
            }
            _ => event,
        }
    }

    /// Keeps events with this session from now on.
    pub(super) fn record(&self, store: &Store, id: &SessionId) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.as_ref().is_none_or(|log| log.session() != id) {
            *log = Some(store.events(id));
            *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(store.folder(id));
        }
    }
}

impl EventSink for Recorder {
    fn emit(&self, event: Event) {
        let event = self.without_keys(event);
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

    fn ask(&self, question: &Question, interrupt: &Interrupt) -> Answer {
        self.person.ask(question, interrupt)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Envelope;
    use crate::session::EventReader;

    /// A front end without a terminal, which collects what it is told.
    #[derive(Debug, Default, Clone)]
    struct CollectingPerson {
        envelopes: Arc<Mutex<Vec<Envelope>>>,
        others: Arc<Mutex<Vec<Event>>>,
    }

    impl EventSink for CollectingPerson {
        fn emit(&self, event: Event) {
            self.others.lock().unwrap().push(event);
        }
    }

    impl Person for CollectingPerson {
        fn input(&self) -> Input {
            Input::Refuse
        }

        fn is_interactive(&self) -> bool {
            false
        }

        fn hear(&self, envelope: &Envelope) {
            self.envelopes.lock().unwrap().push(envelope.clone());
        }

        fn ask(&self, _: &Question, _: &Interrupt) -> Answer {
            Answer::Nobody
        }

        fn attend(&self, _: &Pending, _: &[Question], _: &Interrupt) -> Option<Attending> {
            None
        }
    }

    #[test]
    fn events_are_kept_with_their_session_and_heard_in_the_same_order() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        let person = CollectingPerson::default();
        let recorder = Recorder::new(Arc::new(person.clone()));
        recorder.emit(Event::PlanMode);
        assert_eq!(*person.others.lock().unwrap(), [Event::PlanMode]);
        let (one, other) = ("ab12cd34", "ef56ab78");
        let (one, other) = (
            SessionId::parse(one).unwrap(),
            SessionId::parse(other).unwrap(),
        );
        recorder.record(&store, &one);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|_| recorder.emit(Event::NoCommands)));
            }
        });
        recorder.record(&store, &other);
        recorder.emit(Event::NoCommands);
        let heard = person.envelopes.lock().unwrap().clone();
        let numbers: Vec<u64> = heard.iter().map(|envelope| envelope.seq).collect();
        let expected: Vec<u64> = (1..=40).chain([1]).collect();
        assert_eq!(numbers, expected);
        let kept = |id| EventReader::starting_at(&store.folder(id), 1).read();
        assert_eq!([kept(&one), kept(&other)].concat(), heard);
    }
}
