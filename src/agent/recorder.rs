//! Keeps what happens with the session, and passes it on to the person.

use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

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
        let Ok(mut json) = serde_json::to_value(&event) else {
            return event;
        };
        if scrub(&mut json, &keys) {
            serde_json::from_value(json).unwrap_or(Event::Unknown)
        } else {
            event
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

/// Takes the keys out of all strings, as they are before they are escaped. Returns true if there was one.
fn scrub(json: &mut Value, keys: &KnownKeys) -> bool {
    let mut is_found = false;
    match json {
        Value::String(text) => {
            let scrubbed = keys.scrub(text);
            is_found = scrubbed != *text;
            *text = scrubbed;
        }
        Value::Array(items) => {
            for item in items {
                is_found |= scrub(item, keys);
            }
        }
        Value::Object(fields) => {
            // Names of files are names of fields too.
            let scrubbed = mem::take(fields).into_iter().map(|(name, mut field)| {
                let scrubbed = keys.scrub(&name);
                is_found |= scrubbed != name;
                is_found |= scrub(&mut field, keys);
                (scrubbed, field)
            });
            *fields = scrubbed.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    is_found
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
    fn a_key_with_signs_that_json_escapes_is_in_no_event() {
        let key = r#"sk-"quoted\backslash-0123"#;
        crate::known_keys::learn(&crate::api::ApiKey::new(key).unwrap());
        let person = CollectingPerson::default();
        let text = |key: &str| format!("it is {key}.\n");
        Recorder::new(Arc::new(person.clone())).emit(Event::Notice { text: text(key) });
        let text = text("<API key>");
        assert_eq!(*person.others.lock().unwrap(), [Event::Notice { text }]);
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
