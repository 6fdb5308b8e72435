//! A new session from a point of another one, in place or in a workspace of its own.
//!
//! The other session is not touched. The new one begins with a message that tells all that a new
//! chat must know, because two ways cannot be tried in one chat.

use super::Agent;
use super::engine::Engine;
use super::handover::{HandedOver, beginning, write_handover};
use super::redact::{Redactor, kept_secrets};
use super::undo::{obstacle, tidied};
use crate::checkpoint::{CheckpointStore, Conflict, ConflictReason, Restored, Snapshot};
use crate::error::{Error, Result};
use crate::escape::escape_line;
use crate::protocol::SessionId;
use crate::secrets::Vault;
use crate::session::{Past, Record, RoundLock, Session, Sync, now};

/// A point of a session from which another one can go on.
#[derive(Debug)]
pub struct ForkPoint {
    /// The session.
    pub session: SessionId,
    /// The last round that both have.
    pub round: u32,
    /// The files after that round; those of now after the latest one.
    pub files: Snapshot,
    state: Session,
    secrets: Vault,
    past: Past,
    /// The changes of the rounds up to that point.
    diff: String,
}

/// A session that was forked.
#[derive(Debug)]
pub struct Forked {
    /// Its name.
    pub id: SessionId,
    /// Its first message.
    pub message: HandedOver,
}

impl Agent {
    /// The point after a round; after the latest one if none is named.
    pub fn fork_point(&self, id: &SessionId, round: Option<u32>) -> Result<ForkPoint> {
        let _alone = RoundLock::take(self.store.directory())?;
        let (session, _) = self.at_rest(id)?;
        let mut past = self.store.past(id)?;
        let latest = session.sequence_number.saturating_sub(1);
        let round = round.unwrap_or(latest);
        if round > latest {
            return Err(
                Error::mendable(format!("session {id} has no round {round} that is over"))
                    .hint(format!("its latest is round {latest}; 0 is the beginning")),
            );
        }
        let mut store = CheckpointStore::open(&self.store.objects())?;
        let files = match past.history.after(round) {
            Some(files) => files,
            None => store.take(&self.workspace, &self.covered)?.snapshot,
        };
        let diff = self.difference(&mut store, &beginning(&past, &session), &files);
        let state = if round == latest {
            session
        } else {
            self.store.after_round(id, round)?.ok_or_else(|| {
                Error::mendable(format!(
                    "the journal of session {id} does not tell how it stood after round {round}"
                ))
                .hint(
                    "that is kept of the latest 50 rounds; leave `--round` out for the latest one",
                )
            })?
        };
        past.rounds.retain(|one| one.number <= round);
        Ok(ForkPoint {
            session: id.clone(),
            round,
            files,
            state,
            secrets: kept_secrets(&self.store, id),
            past,
            diff,
        })
    }

    /// Puts the files of a snapshot of this agent's into another workspace, which is empty.
    ///
    /// A file that cannot be written is an error: a session without it would begin with a loss.
    pub fn copy_files(&self, files: &Snapshot, target: &Self) -> Result<Restored> {
        let mut store = CheckpointStore::open(&self.store.objects())?;
        let laid_out = store.lay_out(&target.workspace, files).map_err(tidied)?;
        let is_failed = |conflict: &&Conflict| matches!(conflict.why, ConflictReason::Failed(_));
        if let Some(failed) = laid_out.skipped.iter().find(is_failed) {
            let path = escape_line(&failed.path.to_string_lossy());
            return Err(
                Error::mendable(format!("`{path}` {}", obstacle(failed))).hint(format!(
                    "no session was begun; remove `{}`, and try again",
                    target.base.display()
                )),
            );
        }
        Ok(laid_out)
    }

    /// Begins the new session here, with what the person wants of it.
    pub fn fork(&self, point: ForkPoint, id: SessionId, further: Option<String>) -> Result<Forked> {
        let now = now();
        let mut session = Session {
            session_id: id.clone(),
            created_at: now,
            updated_at: now,
            round_limit: point.round.saturating_add(self.manner.max_rounds),
            is_complete: false,
            summary: None,
            choices: self.manner.choices.clone(),
            permissions: self.manner.permissions.clone(),
            workspace: self.workspace_from_base(),
            outside_repository: None,
            // These were given to that session, not to this one.
            network_granted: false,
            commits_rounds: false,
            ..point.state
        };
        session.checkpoints.clear();
        if let Some(text) = further {
            session.instruct(text);
        }
        self.store.save(&session)?;
        let _alone = RoundLock::wait(self.store.directory())?;
        let (mut journal, _) = self.store.journal(&id)?;
        let forked = Record::Forked {
            from: point.session,
            round: point.round,
        };
        let begun = Record::Round {
            session: Box::new(session.clone()),
            marked: false,
        };
        journal.append(&[forked, begun], Sync::Now)?;
        let mut engine = Engine::new(self, session, journal);
        engine.redactor = Redactor::taken_over(self, &id, point.secrets);
        let message = write_handover(&mut engine, point.past, &point.diff)?;
        engine.save()?;
        Ok(Forked { id, message })
    }
}
