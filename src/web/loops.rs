//! The loop that the page runs: at most one, on a thread of its own.
//!
//! It is the same loop as in a terminal, with a person who is not asked here: questions lie there as
//! files, and the page answers them like anybody else. The lock of the base directory decides who
//! carries a session on, so a loop in a terminal is never disturbed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use super::desk::{PageDesk, PagePerson};
use super::node::PageNode;
use super::view;
use crate::error::{Error, ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::protocol::{Event, SessionId};
use crate::services::run::HeldSession;
use crate::services::{Caller, GivenFlags};

/// The loop of this process, and how the last one of each session failed.
#[derive(Debug, Default)]
pub(super) struct PageLoop {
    running: Mutex<Option<RunningLoop>>,
    troubles: Mutex<HashMap<SessionId, PageNode>>,
}

#[derive(Debug)]
struct RunningLoop {
    session: SessionId,
    interrupt: Interrupt,
    thread: JoinHandle<()>,
}

/// A loop that has begun.
#[derive(Debug)]
pub(super) struct StartedLoop {
    /// The session that it carries on.
    pub(super) session: SessionId,
    /// Messages for the person about how it began.
    pub(super) words: Vec<String>,
}

impl PageLoop {
    /// Opens a session on a thread of its own and carries it on there; returns when it is open.
    pub(super) fn start<F>(
        &self,
        desk: &Arc<PageDesk>,
        flags: GivenFlags,
        open: F,
    ) -> Result<StartedLoop>
    where
        F: FnOnce(&Caller) -> Result<Option<HeldSession>> + Send + 'static,
    {
        let mut running = lock(&self.running);
        if let Some(ended) = running.take_if(|running| running.thread.is_finished()) {
            let _ = ended.thread.join();
        }
        if let Some(running) = &*running {
            return Err(Error::mendable(format!(
                "session {} is running here already",
                running.session
            ))
            .hint("stop it first: one session at a time is carried on in a base directory"));
        }
        let interrupt = Interrupt::default();
        let person = Arc::new(PagePerson::default());
        let caller = Caller {
            flags,
            interrupt: interrupt.clone(),
            ..desk.calling(person.clone())
        };
        let (sender, opened) = mpsc::channel();
        let desk = desk.clone();
        let thread = std::thread::Builder::new().name("loop".to_owned());
        let thread = thread.spawn(move || {
            let held = match open(&caller) {
                Ok(Some(held)) => held,
                Ok(None) => {
                    let stopped =
                        Error::new(ExitKind::Interrupted, "it was stopped before it began");
                    let _ = sender.send(Err(stopped));
                    return;
                }
                Err(error) => {
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            let id = held.id().clone();
            lock(&desk.loops.troubles).remove(&id);
            let mut words = person.words();
            words.extend(words_of(&held));
            let _ = sender.send(Ok(StartedLoop {
                session: id.clone(),
                words,
            }));
            person.stay_with_session();
            if let Err(error) = held.run() {
                lock(&desk.loops.troubles).insert(id, told(&error));
            }
        });
        let thread =
            thread.map_err(|cause| Error::mendable("could not start the loop").because(cause))?;
        let opened = opened.recv().unwrap_or_else(|_| {
            Err(Error::new(
                ExitKind::Defect,
                "this is a defect of `agent`; nothing of the session is lost",
            ))
        });
        let started: StartedLoop = opened?;
        *running = Some(RunningLoop {
            session: started.session.clone(),
            interrupt,
            thread,
        });
        Ok(started)
    }

    /// Stops the loop on this session; returns false if none runs here.
    pub(super) fn stop(&self, session: &SessionId) -> bool {
        let running = lock(&self.running);
        let running = running.as_ref();
        let running = running.filter(|one| one.session == *session && !one.thread.is_finished());
        if let Some(running) = running {
            running.interrupt.raise();
        }
        running.is_some()
    }

    /// Stops whatever runs, and waits until it is written down.
    pub(super) fn end(&self) {
        let running = lock(&self.running).take();
        if let Some(running) = running {
            running.interrupt.raise();
            let _ = running.thread.join();
        }
    }

    /// How the last loop on a session failed, if it did.
    pub(super) fn trouble(&self, session: &SessionId) -> Option<PageNode> {
        lock(&self.troubles).get(session).cloned()
    }
}

/// Messages about flags that are not in force because they permit more, and about files that only
/// the person can give to the chat.
fn words_of(held: &HeldSession) -> Vec<String> {
    let mut words = Vec::new();
    if !held.opened.not_kept.is_empty() {
        words.push(format!(
            "Given earlier and not in force now, because it permits more: {}. Say it again in a terminal if you want it.",
            held.opened.not_kept.join(" ")
        ));
    }
    if !held.opened.held_back.is_empty() {
        words.push(format!(
            "The settings permit more than this session began with, which stays as it was. To use it, resume in a terminal with {}.",
            held.opened.held_back.join(" ")
        ));
    }
    if !held.to_attach.is_empty() {
        let files: Vec<String> = held.to_attach.iter().map(ToString::to_string).collect();
        words.push(format!(
            "Attach to your chat yourself: {}",
            files.join(", ")
        ));
    }
    words
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn told(error: &Error) -> PageNode {
    match Event::from(error) {
        Event::Trouble {
            message,
            causes,
            hints,
        } => view::trouble(&message, &causes, &hints),
        _ => PageNode::Text(error.to_string()),
    }
}
