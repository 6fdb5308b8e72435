//! What a round changed, whoever changed it.

use super::{Caller, find, open};
use crate::agent::undo::tidied;
use crate::approve::Person;
use crate::checkpoint::{CheckpointStore, DiffLimits, DiffStat};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::{Checkpoint, Store};

/// A round that changed files.
#[derive(Debug)]
pub struct ChangedRound {
    /// The session.
    pub session: SessionId,
    /// The round.
    pub round: u32,
    /// True if it was undone since.
    pub is_undone: bool,
    checkpoint: Checkpoint,
    objects: CheckpointStore,
}

/// Finds a round; the latest one that changed files and is not undone if none is named.
pub fn changed_round(
    caller: &Caller,
    id: Option<&str>,
    round: Option<u32>,
) -> Result<ChangedRound> {
    let find = |store: &Store, person: &dyn Person| find::find_any(store, person, id);
    let opened = open::session(caller, find)?;
    let (agent, session) = (opened.agent, opened.session.session_id);
    let history = agent.store.history(&session)?;
    let found = match round {
        Some(round) => history.round(round),
        None => history.undoable(0).first().copied(),
    };
    let checkpoint = found.ok_or_else(|| {
        let is_uncovered = |round: u32| history.uncovered(0).contains(&round);
        Error::mendable(match round {
            Some(round) if is_uncovered(round) => {
                format!("no checkpoint of round {round} of session {session} could be taken")
            }
            Some(round) => format!("round {round} of session {session} changed no files"),
            None => format!("no round of session {session} changed files, or all are undone"),
        })
        .hint("`--round N` names a round; `agent list` shows the sessions that there are")
    })?;
    Ok(ChangedRound {
        round: checkpoint.round,
        is_undone: history.is_undone(checkpoint.round),
        objects: CheckpointStore::open(&agent.store.objects())?,
        session,
        checkpoint,
    })
}

impl ChangedRound {
    /// Each changed file with how many lines changed.
    pub fn files(&mut self) -> Result<Vec<DiffStat>> {
        let Checkpoint { before, after, .. } = &self.checkpoint;
        let stat = self.objects.stat(before, after, &DiffLimits::default());
        stat.map_err(tidied)
    }

    /// The changes as a unified diff.
    pub fn text(&mut self) -> Result<String> {
        let Checkpoint { before, after, .. } = &self.checkpoint;
        let diff = self.objects.diff(before, after, &DiffLimits::default());
        diff.map_err(tidied)
    }
}
