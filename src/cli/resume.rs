//! `agent resume`: goes on with a session.

use std::process::ExitCode;

use clap::Args;

use super::{Common, exit_code, log, open};
use crate::error::{Error, Result};
use crate::session::{LoopLock, Session, Store};
use crate::ui::{Event, Ui};

/// Go on with the latest unfinished session, or with this one
#[derive(Debug, Args)]
pub(super) struct Resume {
    /// The session: 8 hex digits, or the first few of them
    #[arg(value_name = "ID")]
    id: Option<String>,
}

impl Resume {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let agent = open::agent(common, ui, open::FirstRun::Refuse)?;
        let lock = LoopLock::take(agent.store.directory())?;
        let mut session = find(&agent.store, &agent.ui, self.id.as_deref())?;
        if session.is_complete {
            return Err(
                Error::mendable(format!("session {} has ended", session.session_id))
                    .hint("`agent new \"<task>\"` begins another one"),
            );
        }
        if session.is_at_limit() {
            session.round_limit = session.sequence_number - 1 + agent.manner.max_rounds;
            agent.store.save(&session)?;
        }
        lock.works_on(agent.store.directory(), Some(&session.session_id))?;
        log::start(&agent, &session);
        agent.ui.tell(&Event::Session {
            id: session.session_id.as_str(),
            task: &session.task,
            base: &agent.base,
            workspace: agent.workspace.path(),
            resumed: true,
        });
        agent.run(session).map(exit_code)
    }
}

/// The session that was named; else the one that a loop works on, or the latest unfinished one.
pub(super) fn find(store: &Store, ui: &Ui, id: Option<&str>) -> Result<Session> {
    let running = LoopLock::holder(store.directory()).and_then(|holder| holder.session);
    let id = match (id, running) {
        (Some(text), _) => store.named(text)?,
        (None, Some(id)) => id,
        (None, None) => return store.latest_unfinished(),
    };
    let (session, word) = store.load_or_rebuild(&id)?;
    if let Some(word) = word {
        ui.say(&word);
    }
    Ok(session)
}

/// The session that was named, the one that a loop works on, or the latest one, ended or not.
pub(super) fn find_any(store: &Store, ui: &Ui, id: Option<&str>) -> Result<Session> {
    let holder = LoopLock::holder(store.directory());
    if id.is_some() || holder.is_some_and(|holder| holder.session.is_some()) {
        find(store, ui, id)
    } else {
        store.latest()
    }
}
