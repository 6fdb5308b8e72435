//! A session with all that it needs: the settings of now, what the session keeps, and an `Agent` for
//! both.

use std::path::PathBuf;

use super::super::{Common, carry, choices, resume};
use super::{FirstRun, assemble, settings_with, trust, warning};
use crate::agent::Agent;
use crate::courier::Wishes;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::session::{Choices, Session, Store};
use crate::settings::Paths;
use crate::ui::Ui;

/// A session with everything that it needs.
pub(in super::super) struct Opened {
    pub(in super::super) agent: Agent,
    pub(in super::super) session: Session,
    /// What the person wants of the couriers.
    pub(in super::super) wishes: Wishes,
    /// The flags that say again what the session was given earlier and what does not hold now.
    pub(in super::super) not_kept: Vec<String>,
}

/// Opens everything that a new session needs, with what the person wants of the couriers.
pub(in super::super) fn agent_and_wishes(common: &Common, ui: Ui) -> Result<(Agent, Wishes)> {
    let nobody = |_: &Store, _: &Ui| Ok(None);
    let parts = parts(common, ui, FirstRun::Decide, nobody)?;
    Ok((parts.agent, parts.wishes))
}

/// Opens the session that is found, with what it keeps: its workspace, and what was chosen for it.
pub(in super::super) fn session(
    common: &Common,
    ui: Ui,
    find: impl FnOnce(&Store, &Ui) -> Result<Session>,
) -> Result<Opened> {
    let find = |store: &Store, ui: &Ui| find(store, ui).map(Some);
    let parts = parts(common, ui, FirstRun::Refuse, find)?;
    let session = parts.session;
    Ok(Opened {
        agent: parts.agent,
        session: session.expect("what was found is handed back"),
        wishes: parts.wishes,
        not_kept: parts.not_kept,
    })
}

/// Opens what the latest unfinished session needs, or what the settings say where there is none.
pub(in super::super) fn agent(common: &Common, ui: Ui) -> Result<Agent> {
    let find = |store: &Store, ui: &Ui| Ok(resume::find(store, ui, None).ok());
    parts(common, ui, FirstRun::Refuse, find).map(|parts| parts.agent)
}

/// What is opened for a session, or for none.
struct Parts {
    agent: Agent,
    session: Option<Session>,
    wishes: Wishes,
    not_kept: Vec<String>,
}

fn parts(
    common: &Common,
    ui: Ui,
    first_run: FirstRun,
    find: impl FnOnce(&Store, &Ui) -> Result<Option<Session>>,
) -> Result<Parts> {
    let interrupt = Interrupt::from_signals()?;
    let (base, loaded) = settings_with(common, &ui, first_run, &interrupt)?;
    for notice in &loaded.notices {
        ui.say(notice);
    }
    let store = Store::open(loaded.paths.sessions.clone())?;
    let session = find(&store, &ui)?;
    let (choices, loaded) = match &session {
        Some(session) => {
            let recalled = choices::recall(common, &ui, (&base, &loaded), session)?;
            (recalled.choices, recalled.loaded)
        }
        None => (
            choices::chosen(&common.settings, &Choices::default()),
            loaded,
        ),
    };
    if let Some(warning) = warning(&loaded.paths.workspace) {
        ui.say(&warning);
    }
    if first_run == FirstRun::Refuse {
        is_in_place(&loaded.paths)?;
    }
    let trust = trust();
    let mut agent = assemble(base.directory, &loaded, &trust, ui, interrupt)?;
    let sessions = agent.store.directory();
    choices::remember_check(&trust, sessions, &choices);
    choices::remember_workspace(&trust, &agent.base, sessions, agent.workspace.path());
    agent.manner.choices = choices;
    if let Some(session) = &session {
        agent.hold_to_repository(session);
    }
    Ok(Parts {
        agent,
        session,
        wishes: carry::wishes(&loaded.settings),
        not_kept: loaded.not_kept,
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
