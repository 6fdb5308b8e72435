//! Checkpoints around a round, so that it can be undone.
//!
//! A round whose steps only read costs none. One that only changes files which it names looks at
//! these alone, before and after; one that runs programs looks at everything, and at what the steps
//! name though it is ignored. A checkpoint that
//! cannot be taken is told to the person and never stops a round: it only means that this one cannot
//! be undone.

mod apart;
mod glimpses;
mod known;
mod named;
mod removed;
mod untold;

use std::collections::BTreeSet;
use std::error::Error as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};

use self::glimpses::Glimpses;
use self::known::kept_known;
use self::named::{CoveredBefore, named_by, written_by};
use super::report::{Hooks, hooks_of};
use super::steps::runs;
use super::{Conversation, text_of};
use crate::checkpoint::{
    Before, ChangeKind, CheckpointStore, PassedOver, Reach, Reason, Snapshot, TakenSnapshot,
    WantedSnapshots, is_ignore_file,
};
use crate::error::Result;
use crate::fs::{Durability, write_atomic};
use crate::protocol::generated::{is_generated, is_ignored_output};
use crate::protocol::{
    Bounded, Event, Housekeeping, RelPath, Status, Step, StepResult, UncoveredFile,
};
use crate::session::{Checkpoint, REMEMBERED_FILES, Record, RoundLock, Session, Sync, now};

/// How many files are named that checkpoints pass over.
const NAMED: usize = 50;
/// For how long the rounds of a session that has ended can still be undone.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How often what nobody needs any more is looked for.
const TIDY_EVERY: Duration = Duration::from_hours(24);

/// The checkpoints of a session at work.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    store: Option<CheckpointStore>,
    is_prepared: bool,
    /// The hooks of the repositories before the round that is under way.
    hooks: Option<Hooks>,
    /// Where repositories lie, as everything was last looked at.
    pub(super) repositories: Vec<PathBuf>,
    /// What was said to be passed over already.
    told: BTreeSet<PathBuf>,
    /// The files that the round under way changed, as far as they can be named.
    changed: Vec<RelPath>,
    /// What was covered when everything was last looked at.
    covered: Option<CoveredBefore>,
    /// What was covered before the round under way, if everything was looked at.
    covered_before: Option<CoveredBefore>,
    /// The files that a step of it was to change and did not, mostly because somebody else had.
    of_others: BTreeSet<PathBuf>,
    /// The files as they were last looked at; nothing before that was asked for.
    known: Option<Snapshot>,
    /// Whether everything was looked at just now.
    is_fresh: bool,
    /// Whether the person took rounds back, or put them again, since the last message.
    is_reversed: bool,
    /// What the person changed, and no message has told yet, as a diff; nothing before that was
    /// asked for.
    by_person: Option<String>,
    /// What messages showed of files, as long as nothing else is known of them; the same.
    glimpses: Option<Glimpses>,
    /// The size of the store after tidying that could not bring it below its limit.
    tidied_to: Option<u64>,
}

/// Whether a step can make the workspace another.
fn may_change(step: &Step) -> bool {
    step.command.changes_files() || runs(step)
}

impl Conversation<'_> {
    /// Waits until nobody takes a round back, and learns what was undone meanwhile.
    pub(super) fn alone(&mut self) -> Result<RoundLock> {
        let lock = RoundLock::wait(self.agent.store.directory())?;
        for record in self.journal.news()? {
            match record {
                Record::Undone { rounds, .. } => self.undone(&rounds),
                Record::Redone { rounds, .. } => {
                    self.checkpoints.is_reversed = true;
                    self.session.history.mark(&rounds, false);
                }
                // The chat that goes on has seen another message.
                Record::HandedOver { .. } => {
                    self.shown = None;
                    self.session.chat_tokens = 0;
                }
                _ => {}
            }
        }
        Ok(lock)
    }

    /// Learns that rounds were undone.
    ///
    /// If a reply that was cut off comes again as a whole, nothing of what was undone is done.
    pub(super) fn undone(&mut self, rounds: &[u32]) {
        self.session.history.mark(rounds, true);
        self.checkpoints.is_reversed |= !rounds.is_empty();
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
    ///
    /// Alone, so that a round that another process takes back right now is not told as the person's
    /// own change.
    pub(super) fn prepare_undo(&mut self) -> Result<()> {
        if !self.checkpoints.is_prepared {
            self.checkpoints.is_prepared = true;
            let _alone = self.alone()?;
            self.end_glimpses();
            if let Some(now) = self.checkpoint() {
                self.learn(now);
            }
        }
        Ok(())
    }

    /// The checkpoint before the steps of a reply, if they can change something.
    pub(super) fn checkpoint_before(&mut self, steps: &[Step]) -> Option<Before> {
        if !steps.iter().any(may_change) {
            return None;
        }
        self.end_glimpses();
        let before = self.look_before(steps)?;
        let covered = self.checkpoints.covered.take();
        self.checkpoints.covered_before = covered.filter(|_| before.reach == Reach::Whole);
        let workspace = self.agent.workspace.path();
        self.checkpoints.hooks = Some(hooks_of(workspace, &self.checkpoints.repositories));
        self.learn(before.snapshot);
        Some(before)
    }

    fn look_before(&mut self, steps: &[Step]) -> Option<Before> {
        if self.changes_only_what_it_names(steps)
            && let Some(known) = self.known()
            && let Some(snapshot) = self.checkpoint_part(known, &named_by(steps))
        {
            let reach = Reach::Named;
            return Some(Before {
                snapshot,
                reach,
                original: None,
            });
        }
        let snapshot = self.checkpoint_all(steps)?;
        let reach = Reach::Whole;
        Some(Before {
            snapshot,
            reach,
            original: None,
        })
    }

    fn look_after(
        &mut self,
        before: Before,
        steps: &[Step],
        results: &[StepResult],
    ) -> Option<Snapshot> {
        let is_named = before.reach == Reach::Named;
        if (is_named || self.changes_only_what_it_names(steps))
            && let Some(after) = self.checkpoint_part(before.snapshot, &written_by(steps, results))
        {
            return Some(after);
        }
        if is_named {
            // A whole one would take for the round's what others did.
            self.agent.tell(Event::NoCheckpoint { cause: None });
            return None;
        }
        let after = self.checkpoint_all(steps);
        self.checkpoints.is_fresh = after.is_some();
        after
    }

    /// A checkpoint of everything, and of what the steps name though it is ignored.
    fn checkpoint_all(&mut self, steps: &[Step]) -> Option<Snapshot> {
        let whole = self.checkpoint()?;
        let mut named = named_by(steps);
        // These were looked at, and decide nothing more.
        named.retain(|path| !is_ignore_file(path));
        if named.is_empty() {
            return Some(whole);
        }
        Some(self.checkpoint_part(whole, &named).unwrap_or(whole))
    }

    /// Whether nothing but the files that the steps name can change in a round.
    fn changes_only_what_it_names(&self, steps: &[Step]) -> bool {
        self.agent.manner.check.is_none() && !steps.iter().any(runs)
    }

    /// The checkpoint after them, if something was tried.
    ///
    /// A round that has none, before or after, is known to the journal: undo must not pass over it
    /// in silence.
    pub(super) fn checkpoint_after(
        &mut self,
        before: Option<Before>,
        steps: &[Step],
        results: &[StepResult],
    ) -> Result<()> {
        let was_tried = |(step, result): (&Step, &StepResult)| {
            may_change(step) && matches!(result.outcome.status, Status::Ok | Status::Failed)
        };
        if !steps.iter().zip(results).any(was_tried) {
            return Ok(());
        }
        let round = self.session.sequence_number;
        let covered = self.checkpoints.covered_before.take();
        let around = before.and_then(|before| {
            let after = self.look_after(before, steps, results)?;
            Some((self.leave_others(before, after, covered.as_ref()), after))
        });
        let Some((covering, after)) = around else {
            let record = Record::Uncovered { sequence: round };
            return self.journal.append(&[record], Sync::Later);
        };
        self.checkpoints.known = Some(after);
        let record = Record::After {
            sequence: round,
            snapshot: after,
        };
        self.journal.append(&[record], Sync::Later)?;
        let hooks = self.checkpoints.hooks.take();
        let before = covering.snapshot;
        self.report(before, after, hooks);
        if before != after {
            self.checkpoints.changed = self.changed_between(&before, &after);
            self.session.remember_checkpoint(Checkpoint {
                round,
                before,
                after,
                original: covering.original,
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
        let mut paths: Vec<RelPath> = (changes.iter())
            .filter(|change| change.kind != ChangeKind::NotCovered(Reason::Meanwhile))
            .filter_map(|change| RelPath::parse(change.path.to_str()?).ok())
            .filter(|path| !is_generated(path))
            .collect();
        let may_be_output = |path: &RelPath| path.components().any(is_ignored_output);
        if paths.iter().any(may_be_output)
            && let Some(generated) = self.agent.generated_directories()
        {
            paths.retain(|path| generated.containing_output(path.as_str()).is_none());
        }
        paths.truncate(REMEMBERED_FILES);
        paths
    }

    pub(super) fn checkpoint(&mut self) -> Option<Snapshot> {
        let at = now().as_nanosecond();
        match self.take_checkpoint() {
            Ok(taken) => {
                self.tell_passed_over(&taken.passed_over);
                self.checkpoints.covered = Some(CoveredBefore {
                    inodes: taken.inodes,
                    at: i64::try_from(at).unwrap_or_default(),
                });
                self.checkpoints.repositories = taken.repositories;
                Some(taken.snapshot)
            }
            Err(error) => {
                let cause = error.source().map(|cause| format!(": {cause}"));
                let cause = Some(format!("{error}{}", cause.unwrap_or_default()));
                self.agent.tell(Event::NoCheckpoint { cause });
                None
            }
        }
    }

    /// A checkpoint that looks only at these files; nothing if they are not enough.
    fn checkpoint_part(&mut self, earlier: Snapshot, paths: &[RelPath]) -> Option<Snapshot> {
        let agent = self.agent;
        self.has_unsynced_files = true;
        let store = self.store().ok()?;
        let taken = store.take_part(&agent.workspace, &agent.covered, earlier, paths);
        let taken = taken.ok().flatten()?;
        self.tell_passed_over(&taken.passed_over);
        Some(taken.snapshot)
    }

    fn take_checkpoint(&mut self) -> Result<TakenSnapshot> {
        let agent = self.agent;
        self.has_unsynced_files = true;
        self.store()?.take(&agent.workspace, &agent.covered)
    }

    pub(super) fn store(&mut self) -> Result<&mut CheckpointStore> {
        let store = if let Some(store) = self.checkpoints.store.take() {
            store
        } else {
            let mut store = CheckpointStore::open(&self.agent.store.objects())?;
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
        let files = new.iter().map(|one| UncoveredFile {
            path: text_of(&one.path),
            reason: one.reason.words().to_string(),
        });
        let files = Bounded::new(NAMED, files);
        self.agent.tell(Event::NotCovered { files });
    }

    /// Removes what nobody needs any more: of the journal when it has grown long, checkpoints once a
    /// day, and the oldest of them as soon as all together take more than they may.
    pub(super) fn tidy(&mut self) {
        self.tidy_journal();
        let objects = self.agent.store.objects();
        if !objects.is_dir() {
            // Nothing was changed yet.
            return;
        }
        let mark = objects.join("tidied");
        let last = std::fs::metadata(&mark).and_then(|metadata| metadata.modified());
        let is_due = last.as_ref().is_ok_and(|last| {
            let age = SystemTime::now().duration_since(*last);
            age.unwrap_or_default() > TIDY_EVERY
        });
        let tidied = if is_due || self.is_over_limit() {
            self.tidy_now()
        } else {
            Ok(())
        };
        let marked = if is_due || last.is_err() {
            tidied.and_then(|()| write_atomic(&mark, b"", Durability::Atomic))
        } else {
            tidied
        };
        if let Err(error) = marked {
            let cause = error.to_string();
            let news = Housekeeping::CheckpointsNotTidied { cause };
            self.agent.tell(Event::Housekeeping(news));
        }
    }

    fn tidy_journal(&mut self) {
        if self.is_under_way || !self.journal.is_long() {
            return;
        }
        let compacted = self.alone().and_then(|_alone| self.journal.compact());
        let news = match compacted {
            Ok(bytes) => Housekeeping::JournalCompacted { bytes },
            Err(error) => Housekeeping::JournalNotCompacted {
                cause: error.to_string(),
            },
        };
        self.agent.tell(Event::Housekeeping(news));
    }

    /// Whether the checkpoints take more than they may, and enough more than after the last try
    /// that another one may help.
    fn is_over_limit(&self) -> bool {
        let size = CheckpointStore::size(&self.agent.store.objects());
        let tried = self.checkpoints.tidied_to;
        let is_news = tried.is_none_or(|tried| size > tried.saturating_add(tried / 10));
        size > self.agent.covered.max_store_bytes && is_news
    }

    fn tidy_now(&mut self) -> Result<()> {
        let _alone = self.alone()?;
        let wanted = self.wanted()?;
        let limit = self.agent.covered.max_store_bytes;
        let tidied = self.store()?.tidy(&wanted, limit)?;
        let is_over = tidied.left > limit;
        let was_over = std::mem::replace(
            &mut self.checkpoints.tidied_to,
            is_over.then_some(tidied.left),
        );
        let limit_megabytes = limit >> 20;
        let tell = |news| self.agent.tell(Event::Housekeeping(news));
        if tidied.given_up > 0 {
            tell(Housekeeping::RoundsGivenUp {
                rounds: tidied.given_up,
                limit_megabytes,
            });
        }
        if is_over && was_over.is_none() {
            tell(Housekeeping::OverLimit {
                megabytes: tidied.left >> 20,
                limit_megabytes,
            });
        }
        self.agent.store.remove_drafts(SystemTime::now())?;
        let lost = removed::prune(&self.agent.store, limit, SystemTime::now())?;
        if lost > 0 {
            tell(Housekeeping::RemovedFilesGivenUp {
                undos: lost,
                limit_megabytes,
            });
        }
        Ok(())
    }

    /// The checkpoints that are still of use, of all sessions.
    ///
    /// A state file tells what the last round that ended left; what a kill interrupted stands only
    /// at the end of a journal.
    fn wanted(&mut self) -> Result<WantedSnapshots> {
        let (mut sessions, mut troubles) = self.agent.store.all()?;
        // A session that cannot be read may need all of them.
        if let Some(trouble) = troubles.pop() {
            return Err(trouble);
        }
        let mut wanted = WantedSnapshots::default();
        for id in self.agent.store.ids()? {
            let end = self.agent.store.journal_end(&id)?;
            wanted.needed.extend(end.under_way);
            sessions.extend(end.session);
        }
        wanted.needed.extend(self.known());
        if let Some(latest) = self.session.checkpoints.back() {
            wanted.needed.extend([latest.before, latest.after]);
            wanted.needed.extend(latest.original);
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(session.updated_at));
        let now = now();
        for session in sessions.iter().filter(|one| needs_checkpoints(one, now)) {
            wanted.handy.extend(kept_known(&self.agent.store, session));
            for round in session.checkpoints.iter().rev() {
                let befores = [Some(round.before), round.original];
                let befores = befores.into_iter().flatten();
                wanted
                    .rounds
                    .extend(befores.map(|before| [before, round.after]));
            }
        }
        Ok(wanted)
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
