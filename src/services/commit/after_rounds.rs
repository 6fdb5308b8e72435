//! Commits after each round that passes the check (`agent new --commit`): never with hooks. A session
//! keeps that, so that `agent resume` and `agent step` commit too.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::git::GitRepository;
use super::{CommitHooks, MadeCommit, OwnChanges, plan};
use crate::approve::{Answer, Attending, Input, Pending, Person, Question};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::protocol::{Envelope, Event, EventSink, SessionId, Status};
use crate::services::settings;
use crate::services::{Caller, open};

/// Refuses commits after rounds where there is no check, or a base directory whose workspace is in no
/// repository.
pub fn ensure_possible(caller: &Caller) -> Result<()> {
    let (_, loaded) = settings::settings(caller)?;
    if loaded.settings.check_command.is_empty() {
        return Err(
            Error::usage("`--commit` commits what passes your check, and there is none")
                .hint("agent new --check \"cargo test\" --commit \"fix the parser\""),
        );
    }
    // A folder that is not made yet will be in the repository around it.
    let mut places = loaded.paths.workspace.ancestors();
    let place = places.find(|place| place.is_dir());
    GitRepository::around(place.unwrap_or(&loaded.paths.workspace)).map(|_| ())
}

/// Switches the commits of a session on.
#[derive(Debug, Clone, Default)]
pub(in crate::services) struct RoundCommits(Arc<OnceLock<SessionId>>);

impl RoundCommits {
    /// Makes a call by a person whose repository gets a commit after each round that passes the
    /// check, once that is switched on.
    pub(in crate::services) fn follow(&self, caller: &Caller) -> Caller {
        let person = Arc::new(CommittingPerson {
            inner: caller.person.clone(),
            caller: caller.clone(),
            session: self.clone(),
            has_passed: AtomicBool::new(false),
        });
        Caller {
            person,
            ..caller.clone()
        }
    }

    /// Commits what rounds of this session change, from now on.
    pub(in crate::services) fn switch_on(&self, session: &SessionId) {
        let _ = self.0.set(session.clone());
    }
}

/// A person who hears what happens, and has a commit made when a round is over that passed the check.
struct CommittingPerson {
    inner: Arc<dyn Person>,
    caller: Caller,
    session: RoundCommits,
    has_passed: AtomicBool,
}

impl CommittingPerson {
    /// Commits between two rounds: the message of the next one is written, or the session has ended.
    fn follow(&self, event: &Event) {
        match event {
            Event::Check { outcome, .. } => {
                let has_passed = outcome.status == Status::Ok;
                self.has_passed.store(has_passed, Ordering::SeqCst);
            }
            Event::Outbox { .. } | Event::Done { .. }
                if self.has_passed.swap(false, Ordering::SeqCst) =>
            {
                let Some(session) = self.session.0.get() else {
                    return;
                };
                let told = match self.commit(session) {
                    Ok(Some(made)) => Event::Committed {
                        commit: made.id,
                        subject: made.subject,
                    },
                    Ok(None) => return,
                    Err(error) => Event::NotCommitted {
                        cause: error.to_string(),
                    },
                };
                self.tell(session, told);
            }
            _ => {}
        }
    }

    /// Tells an event with its number, and keeps it with the others of the session.
    fn tell(&self, session: &SessionId, event: Event) {
        match open::files(&self.caller) {
            Ok(files) => self.inner.hear(&files.store.events(session).append(event)),
            Err(_) => self.inner.emit(event),
        }
    }

    fn commit(&self, session: &SessionId) -> Result<Option<MadeCommit>> {
        let planned = plan(&self.caller, Some(session.as_str()), OwnChanges::LeftOut)?;
        if planned.files.is_empty() {
            return Ok(None);
        }
        (planned.carry_out(&planned.message, CommitHooks::Off)).map(Some)
    }
}

impl EventSink for CommittingPerson {
    fn emit(&self, event: Event) {
        self.inner.emit(event.clone());
        self.follow(&event);
    }
}

impl Person for CommittingPerson {
    fn input(&self) -> Input {
        self.inner.input()
    }

    fn is_interactive(&self) -> bool {
        self.inner.is_interactive()
    }

    fn hear(&self, envelope: &Envelope) {
        self.inner.hear(envelope);
        self.follow(&envelope.event);
    }

    fn ask(&self, question: &Question, interrupt: &Interrupt) -> Answer {
        self.inner.ask(question, interrupt)
    }

    fn attend(
        &self,
        pending: &Pending,
        questions: &[Question],
        interrupt: &Interrupt,
    ) -> Option<Attending> {
        self.inner.attend(pending, questions, interrupt)
    }
}

impl fmt::Debug for CommittingPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommittingPerson").finish_non_exhaustive()
    }
}
