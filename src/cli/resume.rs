//! `agent resume`: goes on with a session.

use std::process::ExitCode;

use clap::Args;

use super::{Common, exit_code, log, open};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
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
        let _lock = LoopLock::take(agent.store.directory())?;
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

/// The session that was named, by its id or the beginning of it, or the latest unfinished one.
pub(super) fn find(store: &Store, ui: &Ui, id: Option<&str>) -> Result<Session> {
    let Some(id) = id else {
        return store.latest_unfinished();
    };
    if let Ok(id) = SessionId::parse(id) {
        return store
            .load(&id)
            .or_else(|trouble| rebuild(store, ui, &id, trouble));
    }
    let start = id.trim().to_ascii_lowercase();
    let (sessions, _) = store.all()?;
    let mut fitting = sessions
        .into_iter()
        .filter(|session| !start.is_empty() && session.session_id.as_str().starts_with(&start));
    match (fitting.next(), fitting.next()) {
        (Some(session), None) => Ok(session),
        (None, _) => Err(Error::mendable(format!("there is no session `{id}`"))
            .hint("`agent list` shows the sessions that there are")),
        (Some(_), Some(_)) => Err(
            Error::mendable(format!("several sessions begin with `{id}`"))
                .hint("give more digits; `agent list` shows them"),
        ),
    }
}

/// Takes a session from its journal where its file is of no use, and says so.
fn rebuild(store: &Store, ui: &Ui, id: &SessionId, trouble: Error) -> Result<Session> {
    match store.rebuild(id)? {
        Some(session) => {
            ui.error(&trouble);
            ui.say(&format!("Session {id} was rebuilt from the journal."));
            Ok(session)
        }
        None => Err(trouble),
    }
}
