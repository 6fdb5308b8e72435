//! The changes of a round, or of several rounds as one, from the snapshots before and after its steps.

use std::path::{Path, PathBuf};

use super::{Caller, find, open};
use crate::agent::Agent;
pub use crate::agent::ShownPaths;
use crate::agent::undo::tidied;
pub use crate::checkpoint::{ChangeKind, DiffStat};
use crate::checkpoint::{CheckpointStore, DiffLimits, Snapshot, SnapshotChange};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::{Checkpoint, History, Session, Summary};

/// Changes of files: of one round, or of several as one.
#[derive(Debug)]
pub struct ChangedRound {
    /// The session.
    pub session: SessionId,
    /// The round; 0 for several.
    pub round: u32,
    /// The first of the rounds, and the last.
    pub rounds: (u32, u32),
    /// True if it was undone since.
    pub is_undone: bool,
    /// The workspace before and after each of the rounds, the earliest first.
    snapshots: Vec<(Snapshot, Snapshot)>,
    objects: CheckpointStore,
    agent: Agent,
}

/// The rounds whose changes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichRounds {
    /// The whole session if it has ended, else the latest round that changed files; one of calls also
    /// while it is under way.
    Fitting,
    /// This one.
    Round(u32),
    /// All after this one, as far as nobody undid them; 0 means all.
    After(u32),
}

/// Finds the changes that are meant.
pub fn changes(caller: &Caller, id: Option<&str>, which: WhichRounds) -> Result<ChangedRound> {
    let (opened, session) = open::session(caller, find::find_any, id)?;
    let agent = opened.agent;
    match which {
        WhichRounds::Fitting if session.is_complete => after(agent, session.session_id, 0),
        WhichRounds::Fitting => one(agent, &session, None),
        WhichRounds::Round(round) => one(agent, &session, Some(round)),
        WhichRounds::After(round) => after(agent, session.session_id, round),
    }
}

/// Finds a round; the latest one that changed files and is not undone if none is named.
pub fn changed_round(
    caller: &Caller,
    id: Option<&str>,
    round: Option<u32>,
) -> Result<ChangedRound> {
    let (opened, session) = open::session(caller, find::find_any, id)?;
    one(opened.agent, &session, round)
}

/// All that the rounds of a session changed and nobody undid, as one change; its round is 0. Files that
/// only the person changed in between are not in it.
pub fn changed_session(caller: &Caller, id: &str) -> Result<ChangedRound> {
    changes(caller, Some(id), WhichRounds::After(0))
}

fn one(agent: Agent, of: &Session, round: Option<u32>) -> Result<ChangedRound> {
    let session = of.session_id.clone();
    let history = agent.store.history(&session)?;
    let mut objects = CheckpointStore::open(&agent.store.objects())?;
    let open = || agent.changes_under_way(&session);
    let found = match round {
        Some(round) => (history.round(round)).or_else(|| open().filter(|open| open.round == round)),
        None => open().or_else(|| latest_seen(&agent, &history, &mut objects)),
    };
    let checkpoint = found.ok_or_else(|| {
        let is_uncovered = |round: u32| history.uncovered(0).contains(&round);
        Error::mendable(match round {
            Some(round) if is_uncovered(round) => {
                format!("no checkpoint of round {round} of session {session} could be taken")
            }
            Some(round) if round == 0 || round > of.sequence_number => {
                let rounds = match Summary::of(of).rounds() {
                    0 => "none has ended".to_owned(),
                    1 => "the only one is 1".to_owned(),
                    last => format!("they are 1 to {last}"),
                };
                format!("session {session} has no round {round}: {rounds}")
            }
            Some(round) => format!("round {round} of session {session} changed no files"),
            None => format!("no round of session {session} changed files, or all are undone"),
        })
        .hint("`--round N` names a round; `agent list` shows the sessions")
    })?;
    let round = checkpoint.round;
    Ok(ChangedRound {
        round,
        rounds: (round, round),
        is_undone: history.is_undone(round),
        objects,
        session,
        snapshots: vec![(checkpoint.before, checkpoint.after)],
        agent,
    })
}

fn after(agent: Agent, session: SessionId, round: u32) -> Result<ChangedRound> {
    let history = agent.store.history(&session)?;
    // The latest stands first.
    let rounds = history.undoable(round);
    let (Some(latest), Some(first)) = (rounds.first(), rounds.last()) else {
        let after = match round {
            0 => String::new(),
            round => format!(" after round {round}"),
        };
        return Err(Error::mendable(format!(
            "no round of session {session}{after} changed files, or all are undone"
        )));
    };
    Ok(ChangedRound {
        round: 0,
        rounds: (first.round, latest.round),
        is_undone: false,
        snapshots: history.snapshots(round),
        objects: CheckpointStore::open(&agent.store.objects())?,
        session,
        agent,
    })
}

/// The latest round that changed more than build output and ignored files; where there is none, the
/// latest of all.
pub(super) fn latest_seen(
    agent: &Agent,
    history: &History,
    objects: &mut CheckpointStore,
) -> Option<Checkpoint> {
    let rounds = history.undoable(0);
    let shown = ShownPaths::of(&agent.workspace);
    let is_shown = |path: &Path| shown.as_ref().is_none_or(|shown| shown.has(path));
    for round in &rounds {
        let changes = objects.changes(&round.before, &round.after);
        // One whose checkpoints were tidied away is for the caller to tell.
        let is_seen = changes.map_or(true, |changes| {
            let mut changes = changes.into_iter();
            changes.any(|change| change.seen(is_shown).is_some())
        });
        if is_seen {
            return Some(*round);
        }
    }
    rounds.first().copied()
}

impl ChangedRound {
    fn changes(&mut self) -> Result<Vec<SnapshotChange>> {
        let changes = self.objects.net_changes(&self.snapshots);
        changes.map_err(tidied)
    }

    /// Each changed file with how many lines changed.
    pub fn files(&mut self) -> Result<Vec<DiffStat>> {
        self.files_without(|_| false)
    }

    /// These files without the paths that are left out.
    pub fn files_without(&mut self, is_left_out: impl Fn(&Path) -> bool) -> Result<Vec<DiffStat>> {
        let changes = self.changes_without(is_left_out)?;
        let stat = self.objects.stat_of(changes, &DiffLimits::default());
        stat.map_err(tidied)
    }

    /// The changed paths; the old ones of renames too.
    pub fn paths(&mut self) -> Result<Vec<PathBuf>> {
        let paths = self.changes()?.into_iter().flat_map(|change| {
            let from = match change.kind {
                ChangeKind::Renamed { from } => Some(from),
                _ => None,
            };
            from.into_iter().chain([change.path])
        });
        Ok(paths.collect())
    }

    fn changes_without(
        &mut self,
        is_left_out: impl Fn(&Path) -> bool,
    ) -> Result<Vec<SnapshotChange>> {
        let changes = self.changes()?.into_iter();
        let seen = changes.filter_map(|change| change.seen(|path| !is_left_out(path)));
        Ok(seen.collect())
    }

    /// Returns true if the rounds made or removed ignored files that the changes do not have.
    pub fn has_ignored_changes(&mut self) -> Result<bool> {
        for (before, after) in &self.snapshots {
            if (self.objects.has_ignored_changes(before, after)).map_err(tidied)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The paths that the rounds left in place and that are gone now, because somebody else or a later
    /// round removed them.
    pub fn gone(&mut self) -> Result<Vec<PathBuf>> {
        let root = self.agent.workspace.path().to_owned();
        let is_gone = |change: &SnapshotChange| {
            let is_left = change.kind != ChangeKind::Deleted;
            is_left && root.join(&change.path).symlink_metadata().is_err()
        };
        let changes = self.changes()?.into_iter().filter(is_gone);
        Ok(changes.map(|change| change.path).collect())
    }

    /// The changes as a unified diff, without the paths that are left out.
    pub fn text_without(&mut self, is_left_out: impl Fn(&Path) -> bool) -> Result<String> {
        let changes = self.changes_without(is_left_out)?;
        let diff = self.objects.diff_of(&changes, &DiffLimits::default());
        diff.map_err(tidied)
    }

    /// Tells which of the files are shown as changes.
    pub fn shown_paths(&self) -> Option<ShownPaths> {
        ShownPaths::of(&self.agent.workspace)
    }
}
