//! A new session from a point of another one.

use std::path::{Path, PathBuf};

use super::undo::PlannedReversal;
use super::{Caller, find, open};
use crate::agent::Agent;
use crate::agent::fork::ForkPoint;
use crate::agent::undo::{Wish, ensure_restored};
use crate::checkpoint::{Force, Restored};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::{Checkpoint, ReversalDirection};

/// A point from which a session is forked.
#[derive(Debug)]
pub struct PlannedFork {
    agent: Agent,
    from: SessionId,
    point: ForkPoint,
    id: SessionId,
}

/// The session that was made.
#[derive(Debug)]
pub struct ForkedSession {
    /// Its ID.
    pub id: SessionId,
    /// The session that it goes on from.
    pub from: SessionId,
    /// The round after which it does.
    pub round: u32,
    /// Its base directory.
    pub base: PathBuf,
    /// Where the model works.
    pub workspace: PathBuf,
    /// The first message.
    pub message: PathBuf,
    /// Files that could not be copied.
    pub not_copied: Vec<PathBuf>,
}

/// Finds the session and the point in it; the latest round if none is named.
pub fn plan(caller: &Caller, id: &str, round: Option<u32>) -> Result<PlannedFork> {
    let (opened, session) = open::session(caller, find::find, Some(id))?;
    let (agent, from) = (opened.agent, session.session_id);
    let point = agent.fork_point(&from, round)?;
    Ok(PlannedFork {
        agent,
        from,
        point,
        id: SessionId::from_random(uuid::Uuid::new_v4().as_fields().0),
    })
}

impl PlannedFork {
    /// Makes a session that works on the same files. What later rounds changed is taken back first,
    /// if the caller agrees; nothing is made if not.
    pub fn in_place(
        self,
        further: Option<String>,
        agree: impl FnOnce(&PlannedReversal) -> Result<bool>,
        tell: impl FnOnce(&PlannedReversal, &Restored),
    ) -> Result<Option<ForkedSession>> {
        let history = self.agent.store.history(&self.point.session)?;
        let is_later = |round: &Checkpoint| round.round > self.point.round;
        // What an earlier try could not restore is still to be undone.
        let is_open = (history.unfinished(ReversalDirection::Undo))
            .is_some_and(|(rounds, _)| rounds.iter().any(is_later));
        if !is_open && history.undoable(self.point.round).is_empty() {
            return self.made(further).map(Some);
        }
        let Self {
            agent,
            from,
            point,
            id,
        } = self;
        let wish = Wish::UndoTo(point.round);
        let planned = PlannedReversal::new(agent, point.session.clone(), wish)?;
        if !agree(&planned)? {
            return Ok(None);
        }
        let restored = planned.carry_out(Force::Skip)?;
        tell(&planned, &restored);
        ensure_restored(&restored)?;
        let agent = planned.into_agent();
        let fork = Self {
            agent,
            from,
            point,
            id,
        };
        fork.made(further).map(Some)
    }

    fn made(self, further: Option<String>) -> Result<ForkedSession> {
        let round = self.point.round;
        let forked = self.agent.fork(self.point, self.id, further)?;
        Ok(ForkedSession {
            id: forked.id,
            from: self.from,
            round,
            base: self.agent.base.clone(),
            workspace: self.agent.workspace.path().to_owned(),
            message: forked.message.posted.pastes[0].clone(),
            not_copied: Vec::new(),
        })
    }

    /// Makes a session with a directory of its own, and a copy of the files as they were.
    pub fn beside(
        self,
        caller: &Caller,
        directory: Option<&Path>,
        further: Option<String>,
    ) -> Result<ForkedSession> {
        let Self {
            agent,
            from,
            point,
            id,
        } = self;
        let directory = match directory {
            Some(directory) => directory.to_owned(),
            None => beside(&agent.base, &id)?,
        };
        let target = open::another(caller, &directory, &agent)?;
        let restored = agent.copy_files(&point.files, &target)?;
        let fork = Self {
            agent: target,
            from,
            point,
            id,
        };
        let mut forked = fork.made(further)?;
        let skipped = restored.skipped.into_iter();
        forked.not_copied = skipped.map(|conflict| conflict.path).collect();
        Ok(forked)
    }
}

/// `project-fork-ab12cd34`, beside the project.
fn beside(base: &Path, id: &SessionId) -> Result<PathBuf> {
    let root = match (base.file_name(), base.parent()) {
        (Some(name), Some(project)) if name == crate::settings::DIRECTORY_NAME => project,
        _ => base,
    };
    match (root.file_name(), root.parent()) {
        (Some(name), Some(parent)) => {
            Ok(parent.join(format!("{}-fork-{id}", name.to_string_lossy())))
        }
        _ => Err(Error::mendable("there is no place beside this directory")
            .hint("`--into DIR` names another one")),
    }
}
