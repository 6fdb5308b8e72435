//! Undoes and redoes rounds: planned first, so that it can be shown and asked about.

use std::path::PathBuf;

use super::{Caller, diff, find, open};
pub use crate::agent::undo::{
    Reversal, Wish, ensure_restored, files, is_directory, named, obstacle,
};
use crate::agent::{Agent, ShownPaths};
use crate::approve::{Person as _, Question, Verdict};
use crate::checkpoint::CheckpointStore;
pub use crate::checkpoint::{Conflict, Force, Restored};
use crate::error::{Error, ExitKind, Result};
use crate::mailbox::has_calls;
use crate::protocol::SessionId;

/// Rounds that would be undone or redone, with the session that they are of.
#[derive(Debug)]
pub struct PlannedReversal {
    agent: Agent,
    /// The session.
    pub session: SessionId,
    /// The rounds and the files.
    pub reversal: Reversal,
}

/// Tells what a wish would change in a session; changes nothing.
pub fn plan(caller: &Caller, id: Option<&str>, wish: Wish) -> Result<PlannedReversal> {
    let (opened, session) = open::session(caller, find::find_any, id)?;
    PlannedReversal::new(opened.agent, session.session_id, wish)
}

impl PlannedReversal {
    /// Returns true if the model worked by calls last: then it hears of it with its next call.
    pub fn is_heard_by_call(&self) -> bool {
        let past = self.agent.store.past(&self.session);
        let last = past
            .ok()
            .and_then(|past| past.rounds.into_iter().next_back());
        last.and_then(|last| last.file)
            .is_some_and(|file| has_calls(&file))
    }

    pub(super) fn new(agent: Agent, session: SessionId, wish: Wish) -> Result<Self> {
        let reversal = match wish {
            Wish::UndoLatest => latest_that_matters(&agent, &session)?,
            _ => agent.plan(&session, wish)?,
        };
        Ok(Self {
            agent,
            session,
            reversal,
        })
    }

    /// Returns true if nothing of it can be done.
    pub fn is_vain(&self, force: Force) -> bool {
        let plan = &self.reversal.plan;
        force == Force::Skip && plan.steps.is_empty() && !plan.conflicts.is_empty()
    }

    /// Asks the person about what they were shown; nothing if nobody can be asked.
    pub fn is_agreed(&self, shown: &str) -> Result<Option<bool>> {
        if !self.agent.person.is_interactive() {
            return Ok(None);
        }
        self.agent.record_events_of(&self.session);
        let question = Question::about_undo(&named(&self.reversal.rounds), shown);
        let asker = self.agent.asker(&self.session);
        match asker.pose(question, &self.agent.interrupt)? {
            Some(verdict) => Ok(Some(verdict == Verdict::Yes)),
            None => Err(Error::new(ExitKind::Interrupted, "interrupted")),
        }
    }

    /// Carries it out, unless it would be something else by now.
    pub fn carry_out(&self, force: Force) -> Result<Restored> {
        self.agent.carry_out(&self.session, &self.reversal, force)
    }

    /// Where is kept what it removed and what has no other copy.
    pub fn removed(&self) -> PathBuf {
        self.agent.removed(&self.session, &self.reversal)
    }

    /// Returns true if the session has ended, so that no message tells the model.
    pub fn has_ended(&self) -> bool {
        (self.agent.store.load(&self.session)).is_ok_and(|session| session.is_complete)
    }

    /// Tells which of the files are shown as changes.
    pub fn shown_paths(&self) -> Option<ShownPaths> {
        ShownPaths::of(&self.agent.workspace)
    }

    pub(super) fn into_agent(self) -> Agent {
        self.agent
    }
}

/// Plans the undo of the latest round, and goes back past rounds that changed only build output and
/// past rounds without differences: who wants the latest round undone means the latest one that did
/// something.
fn latest_that_matters(agent: &Agent, session: &SessionId) -> Result<Reversal> {
    let history = agent.store.history(session)?;
    let mut objects = CheckpointStore::open(&agent.store.objects())?;
    let latest = history.undoable(0).first().map(|round| round.round);
    let seen = diff::latest_seen(agent, &history, &mut objects);
    let seen = seen.map(|round| round.round);
    let wish = match seen {
        Some(seen) if Some(seen) != latest => Wish::UndoTo(seen - 1),
        _ => Wish::UndoLatest,
    };
    let mut reversal = agent.plan(session, wish)?;
    let earlier = history.undoable(0).into_iter().map(|round| round.round);
    let mut earlier = earlier.filter(|round| Some(*round) < seen);
    while reversal.plan.is_empty() {
        let Some(round) = earlier.next() else {
            return Err(Error::mendable(
                "there is no round to undo: only build output and files that git ignores changed",
            )
            .hint("these stay; delete them yourself"));
        };
        reversal = agent.plan(session, Wish::UndoTo(round - 1))?;
    }
    Ok(reversal)
}
