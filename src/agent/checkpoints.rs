//! Checkpoints around a round, so that it can be taken back.
//!
//! A round whose steps only read costs none. A checkpoint that cannot be taken is told to the person
//! and never stops a round: it only means that this one cannot be taken back.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};

use super::Conversation;
use super::publish::is_generated;
use super::report::{Hooks, hooks_in};
use crate::checkpoint::{PassedOver, Snapshot, Store, Taken};
use crate::error::Result;
use crate::fs::{Durability, write_atomic};
use crate::protocol::{Command, RelPath, Status, Step, StepResult};
use crate::session::{Checkpoint, REMEMBERED_FILES, Record, RoundLock, RoundRecap, Session, Sync};
use crate::ui::escape_line;

/// How many files are named that checkpoints pass over.
const NAMED: usize = 5;
/// For how long the rounds of a session that has ended can still be taken back.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How often what nobody needs any more is looked for.
const TIDY_EVERY: Duration = Duration::from_hours(24);

/// The checkpoints of a session at work.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    store: Option<Store>,
    is_prepared: bool,
    /// The hooks of the repository before the round that is under way.
    hooks: Option<Hooks>,
    /// What was said to be passed over already.
    told: BTreeSet<PathBuf>,
    /// The files that the round under way changed, as far as they can be named.
    changed: Vec<RelPath>,
    /// What the person changed since the round before it, as a diff.
    by_person: String,
}

/// Whether a step can make the workspace another.
fn may_change(step: &Step) -> bool {
    step.command.changes_files() || matches!(step.command, Command::RunCommand { .. })
}

impl Conversation<'_> {
    /// Waits until nobody takes a round back, and learns what was taken back meanwhile.
    pub(super) fn alone(&mut self) -> Result<RoundLock> {
        let lock = RoundLock::wait(self.agent.store.directory())?;
        for record in self.journal.news()? {
            match record {
                Record::Undone { rounds } => self.undone(&rounds),
                Record::Redone { rounds } => self.session.history.mark(&rounds, false),
                _ => {}
            }
        }
        Ok(lock)
    }

    /// Learns that rounds were taken back.
    ///
    /// If a reply that was cut off comes again as a whole, nothing of what was taken back is done.
    pub(super) fn undone(&mut self, rounds: &[u32]) {
        self.session.history.mark(rounds, true);
        if let Some(cut) = &mut self.session.last_cut
            && rounds.contains(&cut.sequence)
        {
            cut.done.clear();
        }
    }

    /// The files that changed between the checkpoints of this round, for the session to remember.
    pub(super) fn take_changed(&mut self) -> Vec<RelPath> {
        std::mem::take(&mut self.checkpoints.changed)
    }

    /// Takes the first checkpoint, while the person is busy with the message: it reads every file,
    /// and those of the rounds read only what changed.
    pub(super) fn prepare_undo(&mut self) {
        if !self.checkpoints.is_prepared {
            self.checkpoints.is_prepared = true;
            if self.checkpoint().is_some() {
                self.tidy();
            }
        }
    }

    /// The checkpoint before the steps of a reply, if they can change something.
    pub(super) fn checkpoint_before(&mut self, steps: &[Step]) -> Option<Snapshot> {
        let snapshot = steps.iter().any(may_change).then(|| self.checkpoint());
        let snapshot = snapshot.flatten();
        let workspace = self.agent.workspace.path();
        self.checkpoints.hooks = snapshot.map(|_| hooks_in(workspace));
        self.checkpoints.by_person = snapshot.map_or_else(String::new, |now| self.by_person(&now));
        snapshot
    }

    /// What was changed between rounds, by whom the model cannot know; a round that was taken back
    /// is told by itself.
    fn by_person(&mut self, now: &Snapshot) -> String {
        let session = &self.session;
        let Some(last) = session.checkpoints.back().copied() else {
            return String::new();
        };
        let was_undone = |round: &RoundRecap| round.round == last.round && round.is_undone;
        if last.after == *now || session.history.rounds.iter().any(was_undone) {
            return String::new();
        }
        let agent = self.agent;
        match self.store() {
            Ok(store) => agent.difference(store, &[last.after], now),
            Err(_) => String::new(),
        }
    }

    /// What the person changed before the last round, as a diff, once.
    pub(super) fn take_by_person(&mut self) -> String {
        std::mem::take(&mut self.checkpoints.by_person)
    }

    /// The checkpoint after them, if one was taken before and something was tried.
    pub(super) fn checkpoint_after(
        &mut self,
        before: Option<Snapshot>,
        steps: &[Step],
        results: &[StepResult],
    ) -> Result<()> {
        let was_tried = |(step, result): (&Step, &StepResult)| {
            may_change(step) && matches!(result.outcome.status, Status::Ok | Status::Failed)
        };
        let Some(before) = before.filter(|_| steps.iter().zip(results).any(was_tried)) else {
            return Ok(());
        };
        let Some(after) = self.checkpoint() else {
            return Ok(());
        };
        let round = self.session.sequence_number;
        let record = Record::After {
            sequence: round,
            snapshot: after,
        };
        self.journal.append(&[record], Sync::Later)?;
        let hooks = self.checkpoints.hooks.take();
        self.report(before, after, hooks);
        if before != after {
            self.checkpoints.changed = self.changed_between(&before, &after);
            self.session.remember_checkpoint(Checkpoint {
                round,
                before,
                after,
            });
        }
        Ok(())
    }

    /// What a round changed, whoever did; as many files as a session remembers.
    fn changed_between(&mut self, before: &Snapshot, after: &Snapshot) -> Vec<RelPath> {
        let changes = self
            .store()
            .and_then(|store| store.changes(before, after))
            .unwrap_or_default();
        changes
            .iter()
            .filter_map(|change| RelPath::parse(change.path.to_str()?).ok())
            .filter(|path| !is_generated(path))
            .take(REMEMBERED_FILES)
            .collect()
    }

    pub(super) fn checkpoint(&mut self) -> Option<Snapshot> {
        match self.take_checkpoint() {
            Ok(taken) => {
                self.tell_passed_over(&taken.passed_over);
                Some(taken.snapshot)
            }
            Err(error) => {
                let cause = error.source().map(|cause| format!(": {cause}"));
                self.agent.ui.say(&format!(
                    "No checkpoint could be taken, so that undo does not cover what happens now: {error}{}",
                    cause.unwrap_or_default()
                ));
                None
            }
        }
    }

    fn take_checkpoint(&mut self) -> Result<Taken> {
        let agent = self.agent;
        self.has_unsynced_files = true;
        self.store()?.take(&agent.workspace, &agent.covered)
    }

    pub(super) fn store(&mut self) -> Result<&mut Store> {
        let store = if let Some(store) = self.checkpoints.store.take() {
            store
        } else {
            let mut store = Store::open(&self.agent.store.objects())?;
            if self.syncs_together {
                store.sync_later();
            }
            store
        };
        Ok(self.checkpoints.store.insert(store))
    }

    /// Says once which files undo does not cover.
    fn tell_passed_over(&mut self, passed_over: &[PassedOver]) {
        let told = &mut self.checkpoints.told;
        let new: Vec<&PassedOver> = passed_over
            .iter()
            .filter(|one| told.insert(one.path.clone()))
            .collect();
        if new.is_empty() {
            return;
        }
        let mut text = "Undo does not cover these:".to_owned();
        for one in new.iter().take(NAMED) {
            let path = escape_line(&one.path.to_string_lossy());
            let _ = write!(text, "\n  `{path}` {}", one.reason.words());
        }
        if new.len() > NAMED {
            let _ = write!(text, "\n  and {} more", new.len() - NAMED);
        }
        self.agent.ui.say(&text);
    }

    /// Removes checkpoints that nobody needs any more, once a day.
    fn tidy(&mut self) {
        let mark = self.agent.store.objects().join("tidied");
        let last = std::fs::metadata(&mark).and_then(|metadata| metadata.modified());
        let is_due = last.as_ref().is_ok_and(|last| {
            let age = SystemTime::now().duration_since(*last);
            age.unwrap_or_default() > TIDY_EVERY
        });
        let tidied = if is_due { self.tidy_now() } else { Ok(()) };
        let marked = if is_due || last.is_err() {
            tidied.and_then(|()| write_atomic(&mark, b"", Durability::Atomic))
        } else {
            tidied
        };
        if let Err(error) = marked {
            let text = format!("Old checkpoints could not be tidied away: {error}");
            self.agent.ui.say(&text);
        }
    }

    fn tidy_now(&mut self) -> Result<()> {
        let (sessions, mut troubles) = self.agent.store.all()?;
        // A session that cannot be read may need all of them.
        if let Some(trouble) = troubles.pop() {
            return Err(trouble);
        }
        let keep: Vec<Snapshot> = sessions
            .iter()
            .filter(|session| needs_checkpoints(session, Timestamp::now()))
            .flat_map(|session| &session.checkpoints)
            .flat_map(|checkpoint| [checkpoint.before, checkpoint.after])
            .collect();
        self.store()?.tidy(&keep).map(|_| ())
    }
}

fn needs_checkpoints(session: &Session, now: Timestamp) -> bool {
    !session.is_complete || now.duration_since(session.updated_at) < KEPT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::SessionId;

    #[test]
    fn ended_sessions_keep_their_checkpoints_for_a_while_and_others_for_good() {
        let begun = Timestamp::UNIX_EPOCH;
        let id = SessionId::parse("ab12cd34").unwrap();
        let mut session = Session::new(id, "task".to_owned(), 20, begun);
        let later = begun + KEPT + SignedDuration::from_secs(1);
        assert!(needs_checkpoints(&session, later));
        session.is_complete = true;
        assert!(!needs_checkpoints(&session, later));
        assert!(needs_checkpoints(
            &session,
            begun + SignedDuration::from_hours(24)
        ));
    }
}
