//! The changes of a round, whoever made them.

use std::path::{Path, PathBuf};

use super::{Caller, find, open};
use crate::agent::Agent;
use crate::agent::undo::tidied;
pub use crate::checkpoint::{ChangeKind, DiffStat};
use crate::checkpoint::{CheckpointStore, DiffLimits};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::protocol::generated::GeneratedDirectories;
use crate::session::Checkpoint;

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
    agent: Agent,
}

/// Finds a round; the latest one that changed files and is not undone if none is named.
pub fn changed_round(
    caller: &Caller,
    id: Option<&str>,
    round: Option<u32>,
) -> Result<ChangedRound> {
    let (opened, session) = open::session(caller, find::find_any, id)?;
    let (agent, session) = (opened.agent, session.session_id);
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
        .hint("`--round N` names a round; `agent list` shows the sessions")
    })?;
    Ok(ChangedRound {
        round: checkpoint.round,
        is_undone: history.is_undone(checkpoint.round),
        objects: CheckpointStore::open(&agent.store.objects())?,
        session,
        checkpoint,
        agent,
    })
}

/// All that the rounds of a session changed and nobody undid, as one change; its round is 0. Changes by
/// others in between are in it.
pub fn changed_session(caller: &Caller, id: &str) -> Result<ChangedRound> {
    let (opened, session) = open::session(caller, find::find_any, Some(id))?;
    let (agent, session) = (opened.agent, session.session_id);
    let history = agent.store.history(&session)?;
    // The latest stands first.
    let rounds = history.undoable(0);
    let (Some(latest), Some(first)) = (rounds.first(), rounds.last()) else {
        return Err(Error::mendable(format!(
            "no round of session {session} changed files, or all are undone"
        )));
    };
    Ok(ChangedRound {
        round: 0,
        is_undone: false,
        checkpoint: Checkpoint {
            round: 0,
            before: first.before,
            ..*latest
        },
        objects: CheckpointStore::open(&agent.store.objects())?,
        session,
        agent,
    })
}

impl ChangedRound {
    /// Each changed file with how many lines changed.
    pub fn files(&mut self) -> Result<Vec<DiffStat>> {
        let Checkpoint { before, after, .. } = &self.checkpoint;
        let stat = self.objects.stat(before, after, &DiffLimits::default());
        stat.map_err(tidied)
    }

    /// The changed paths.
    pub fn paths(&mut self) -> Result<Vec<PathBuf>> {
        let Checkpoint { before, after, .. } = &self.checkpoint;
        let changes = self.objects.changes(before, after).map_err(tidied)?;
        Ok(changes.into_iter().map(|change| change.path).collect())
    }

    /// The changes as a unified diff, without the paths that are left out.
    pub fn text_without(&mut self, is_left_out: impl Fn(&Path) -> bool) -> Result<String> {
        let Checkpoint { before, after, .. } = &self.checkpoint;
        let limits = DiffLimits::default();
        let diff = (self.objects).diff_without(before, after, &limits, is_left_out);
        diff.map_err(tidied)
    }

    /// The directories of build output in the workspace.
    pub fn generated(&self) -> Option<GeneratedDirectories> {
        self.agent.generated_directories()
    }
}
