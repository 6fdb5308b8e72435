//! A base directory with all that a session in it needs: the settings of now, what the session keeps,
//! and an `Agent` for both.

use std::path::PathBuf;

use super::super::find::{self, FindSession};
use super::super::{Caller, choices, known};
use super::{FirstRun, assemble, settings, warn_of_extent, wishes};
use crate::agent::Agent;
use crate::courier::Wishes;
use crate::error::{Error, Result};
use crate::known_keys::KnownKeys;
use crate::protocol::SetupNews;
use crate::session::{Choices, LoopLock, Session, Store};
use crate::settings::{Paths, Settings};

/// Everything that a session needs.
#[derive(Debug)]
pub struct OpenedBase {
    /// The engine.
    pub(in super::super) agent: Agent,
    /// The person's wishes for the couriers.
    pub wishes: Wishes,
    /// The settings in force.
    pub(in super::super) settings: Settings,
    /// The flags that say again what the session was given earlier and what does not hold now,
    /// because it permits more.
    pub not_kept: Vec<String>,
    /// The flags that say what the settings permit by now and the session did not begin with.
    pub held_back: Vec<String>,
}

/// Opens everything for a new session; the person decides where to work if that is not known.
pub fn new_session(caller: &Caller) -> Result<OpenedBase> {
    Ok(opened(caller, FirstRun::Decide, |_| Ok(None))?.0)
}

/// Opens the session that is meant, with what it keeps: its workspace, and what was chosen for it.
pub fn session(
    caller: &Caller,
    find: FindSession,
    id: Option<&str>,
) -> Result<(OpenedBase, Session)> {
    found(caller, |store| find(store, &*caller.person, id))
}

/// Opens the session that is meant, after the lock is taken with which only this process carries on
/// sessions of the base directory.
pub(in super::super) fn held_session(
    caller: &Caller,
    find: FindSession,
    id: Option<&str>,
) -> Result<(OpenedBase, Session, LoopLock)> {
    let mut lock = None;
    let (opened, mut session) = found(caller, |store| {
        lock = Some(LoopLock::take(store.directory())?);
        find(store, &*caller.person, id)
    })?;
    let agent = &opened.agent;
    let (known, id) = (&agent.manner.authorizer.known_sessions, &session.session_id);
    if known::take_over(known, &agent.base, &agent.store, id)? {
        caller.tell(SetupNews::SessionTakenOver { id: id.clone() });
        session.commits_rounds = false;
    }
    let lock = lock.expect("a session is found after the lock is taken");
    Ok((opened, session, lock))
}

/// Opens what the latest unfinished session needs, or what the settings say where there is none.
pub fn agent(caller: &Caller) -> Result<(Agent, Option<Session>)> {
    let find = |store: &Store| Ok(find::find(store, &*caller.person, None).ok());
    let (base, session) = opened(caller, FirstRun::Refuse, find)?;
    Ok((base.agent, session))
}

fn found(
    caller: &Caller,
    find: impl FnOnce(&Store) -> Result<Session>,
) -> Result<(OpenedBase, Session)> {
    let (base, session) = opened(caller, FirstRun::Refuse, |store| find(store).map(Some))?;
    Ok((base, session.expect("what was found is handed back")))
}

fn opened(
    caller: &Caller,
    first_run: FirstRun,
    find: impl FnOnce(&Store) -> Result<Option<Session>>,
) -> Result<(OpenedBase, Option<Session>)> {
    let (base, loaded) = settings(caller, first_run)?;
    for notice in &loaded.notices {
        caller.tell(notice.clone());
    }
    let store = Store::open(loaded.paths.sessions.clone())?;
    let session = find(&store)?;
    let keys = match &session {
        Some(session) => KnownKeys::of_session(&store.folder(&session.session_id)),
        None => KnownKeys::of_this_process(),
    };
    choices::ensure_given_keyless(&caller.flags, &keys)?;
    let (choices, loaded) = match &session {
        Some(session) => {
            let recalled = choices::recall(caller, (&base, &loaded), session)?;
            (recalled.choices, recalled.loaded)
        }
        None => (choices::chosen(&caller.flags, &Choices::default()), loaded),
    };
    choices::ensure_api_named(&caller.flags, &loaded.settings)?;
    warn_of_extent(caller, &loaded.paths.workspace);
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
    choices::remember_runner(trust, sessions, &choices);
    choices::remember_api(trust, sessions, &choices);
    choices::remember_workspace(trust, &agent.base, sessions, agent.workspace.path());
    agent.manner.choices = choices;
    if let Some(session) = &session {
        agent.hold_to_repository(session);
    }
    let opened = OpenedBase {
        agent,
        wishes: wishes(&loaded.settings, &caller.trust),
        settings: loaded.settings,
        not_kept: loaded.not_kept,
        held_back: loaded.held_back,
    };
    Ok((opened, session))
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
    .hint("put it back, or name its new location with `--workspace DIR`; an empty directory of that name works too"))
}
