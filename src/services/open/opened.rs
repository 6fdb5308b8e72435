//! A session with all that it needs: the settings of now, what the session keeps, and an `Agent` for
//! both.

use std::path::PathBuf;

use super::super::{Caller, choices, find};
use super::{FirstRun, assemble, settings, warning, wishes};
use crate::agent::Agent;
use crate::approve::Person;
use crate::courier::Wishes;
use crate::error::{Error, Result};
use crate::session::{Choices, Session, Store};
use crate::settings::Paths;

/// A session with everything that it needs.
#[derive(Debug)]
pub struct OpenedSession {
    /// What works on it.
    pub agent: Agent,
    /// The session as it was found.
    pub session: Session,
    /// What the person wants of the couriers.
    pub wishes: Wishes,
    /// The flags that say again what the session was given earlier and what does not hold now.
    pub not_kept: Vec<String>,
    /// The flags that say what the settings permit by now and the session did not begin with.
    pub held_back: Vec<String>,
}

/// Opens everything that a new session needs, with what the person wants of the couriers.
pub fn agent_and_wishes(caller: &Caller) -> Result<(Agent, Wishes)> {
    let nobody = |_: &Store, _: &dyn Person| Ok(None);
    let parts = parts(caller, FirstRun::Decide, nobody)?;
    Ok((parts.agent, parts.wishes))
}

/// Opens the session that is found, with what it keeps: its workspace, and what was chosen for it.
pub fn session(
    caller: &Caller,
    find: impl FnOnce(&Store, &dyn Person) -> Result<Session>,
) -> Result<OpenedSession> {
    let find = |store: &Store, person: &dyn Person| find(store, person).map(Some);
    let parts = parts(caller, FirstRun::Refuse, find)?;
    let session = parts.session;
    Ok(OpenedSession {
        agent: parts.agent,
        session: session.expect("what was found is handed back"),
        wishes: parts.wishes,
        not_kept: parts.not_kept,
        held_back: parts.held_back,
    })
}

/// Opens what the latest unfinished session needs, or what the settings say where there is none.
pub fn agent(caller: &Caller) -> Result<Agent> {
    let find = |store: &Store, person: &dyn Person| Ok(find::find(store, person, None).ok());
    parts(caller, FirstRun::Refuse, find).map(|parts| parts.agent)
}

/// What is opened for a session, or for none.
struct Parts {
    agent: Agent,
    session: Option<Session>,
    wishes: Wishes,
    not_kept: Vec<String>,
    held_back: Vec<String>,
}

fn parts(
    caller: &Caller,
    first_run: FirstRun,
    find: impl FnOnce(&Store, &dyn Person) -> Result<Option<Session>>,
) -> Result<Parts> {
    let (base, loaded) = settings(caller, first_run)?;
    for notice in &loaded.notices {
        caller.say(notice);
    }
    let store = Store::open(loaded.paths.sessions.clone())?;
    let session = find(&store, &*caller.person)?;
    let (choices, loaded) = match &session {
        Some(session) => {
            let recalled = choices::recall(caller, (&base, &loaded), session)?;
            (recalled.choices, recalled.loaded)
        }
        None => (choices::chosen(&caller.flags, &Choices::default()), loaded),
    };
    if let Some(warning) = warning(&loaded.paths.workspace) {
        caller.say(warning);
    }
    if first_run == FirstRun::Refuse {
        is_in_place(&loaded.paths)?;
    }
    let trust = &caller.trust;
    let mut agent = assemble(
        base.directory,
        &loaded,
        trust,
        caller.person.clone(),
        caller.interrupt.clone(),
    )?;
    let sessions = agent.store.directory();
    choices::remember_check(trust, sessions, &choices);
    choices::remember_workspace(trust, &agent.base, sessions, agent.workspace.path());
    agent.manner.choices = choices;
    if let Some(session) = &session {
        agent.hold_to_repository(session);
    }
    Ok(Parts {
        agent,
        session,
        wishes: wishes(&loaded.settings, &caller.trust),
        not_kept: loaded.not_kept,
        held_back: loaded.held_back,
    })
}

/// Refuses to go on with sessions in a new, empty workspace where theirs has gone.
fn is_in_place(paths: &Paths) -> Result<()> {
    let has_sessions = || {
        let entries = std::fs::read_dir(&paths.sessions).into_iter().flatten();
        let is_json = |path: PathBuf| path.extension().is_some_and(|ending| ending == "json");
        entries.flatten().any(|entry| is_json(entry.path()))
    };
    if paths.workspace.exists() || !has_sessions() {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "the workspace `{}` was moved or deleted",
        paths.workspace.display()
    ))
    .hint("put it back, or name its new place with `--workspace DIR`; an empty directory of that name will do as well"))
}
