//! The files as they were: before and after each round, so that it can be undone, and as the model
//! last heard of them, so that it can be told what the person changed.
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
mod untold;

use std::collections::BTreeSet;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::glimpses::Glimpses;
pub(super) use self::known::kept_known;
use self::named::{CoveredBefore, named_by, written_by};
use super::report::{Hooks, hooks_of, report};
use super::round_journal::{RoundJournal, UnsyncedFiles};
use super::shown_paths::ShownPaths;
use super::steps::runs;
use super::{Agent, text_of};
use crate::checkpoint::{
    Before, ChangeKind, CheckpointStore, PassedOver, Reach, Reason, Snapshot, TakenSnapshot,
    is_ignore_file,
};
use crate::error::Result;
use crate::mailbox::{has_calls, read_calls};
use crate::protocol::{
    Bounded, Event, RelPath, SessionId, Status, Step, StepResult, UncoveredFile,
};
use crate::session::{Checkpoint, REMEMBERED_FILES, Record, Session, Sync, now};
use crate::workspace::walk::Walked;

/// For how long a message can list the files as the checkpoint after the round saw them.
const FRESH: Duration = Duration::from_secs(10);
/// How many files are named that checkpoints pass over.
const NAMED: usize = 50;
/// The state of the session's files between rounds.
#[derive(Debug)]
pub(super) struct Baseline<'a> {
    agent: &'a Agent,
    id: SessionId,
    store: Option<CheckpointStore>,
    unsynced: UnsyncedFiles,
    is_prepared: bool,
    /// The hooks of the repositories before the round that is under way.
    hooks: Option<Hooks>,
    /// Where repositories lie, as everything was last looked at.
    repositories: Vec<PathBuf>,
    /// The files that were said to be passed over.
    told: BTreeSet<PathBuf>,
    /// Who may change files in the round under way.
    origin: ChangeOrigin,
    /// The files that the round under way changed, as far as they can be named.
    changed: Vec<String>,
    /// The files that the last checkpoint of the whole workspace covered.
    covered: Option<CoveredBefore>,
    /// The files that the checkpoint before the round under way covered, if it was one of the whole
    /// workspace.
    covered_before: Option<CoveredBefore>,
    /// The files that a step of it was to change and did not, mostly because somebody else had.
    of_others: BTreeSet<PathBuf>,
    /// The files as they were last looked at; `None` before that was asked for.
    known: Option<Snapshot>,
    /// True if everything was looked at just now.
    is_fresh: bool,
    /// The files as the checkpoint after the round listed them, and when that was.
    walked: Option<(Instant, Arc<Walked>)>,
    /// True if the person took rounds back, or put them again, since the last message.
    is_reversed: bool,
    /// A diff of the person's changes that no message has reported yet; `None` until it is first
    /// needed.
    by_person: Option<String>,
    /// The texts that messages showed, kept until a checkpoint knows the files; `None` until they
    /// are first needed.
    glimpses: Option<Glimpses>,
}

/// Who may change files in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeOrigin {
    /// Its steps.
    Steps,
    /// Also an earlier command, whose changes come back from elsewhere.
    EarlierCommand,
}

/// The checkpoint before a round to which another call is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FurtherCall {
    /// This one covers the call too.
    Covered(Before),
    /// The call must begin another round.
    NewRound,
}

/// Returns true if a step can change the workspace.
pub(super) fn may_change(step: &Step) -> bool {
    step.command.changes_files() || runs(step)
}

impl Agent {
    /// The changes of the round of calls that is under way, as far as they are made; `None` if there is
    /// no such round, or it changed nothing.
    pub fn changes_under_way(&self, id: &SessionId) -> Option<Checkpoint> {
        let past = self.store.past(id).ok()?;
        let (round, before) = past.history.begun()?;
        let open = past.under_way.filter(|open| open.number == round)?;
        let (name, calls) = self.mailbox.processed_reply(open.file.as_deref()?)?;
        if !has_calls(&name) {
            return None;
        }
        let steps = read_calls(&calls);
        let mut store = CheckpointStore::open(&self.store.objects()).ok()?;
        let (earlier, paths) = match before.reach {
            Reach::Named => (before.snapshot, written_by(&steps, &open.results)),
            Reach::Whole => {
                let whole = store.take(&self.workspace, &self.covered).ok()?;
                (whole.snapshot, named_by(&steps))
            }
        };
        let taken = store.take_part(&self.workspace, &self.covered, earlier, &paths);
        let after = taken.ok()?.map_or(earlier, |taken| taken.snapshot);
        (after != before.snapshot).then_some(Checkpoint {
            round,
            before: before.snapshot,
            after,
            original: before.original,
        })
    }
}

impl<'a> Baseline<'a> {
    pub(super) fn new(agent: &'a Agent, id: &SessionId, unsynced: UnsyncedFiles) -> Self {
        Self {
            agent,
            id: id.clone(),
            store: None,
            unsynced,
            is_prepared: false,
            hooks: None,
            repositories: Vec::new(),
            told: BTreeSet::new(),
            origin: ChangeOrigin::Steps,
            changed: Vec::new(),
            covered: None,
            covered_before: None,
            of_others: BTreeSet::new(),
            known: None,
            is_fresh: false,
            walked: None,
            is_reversed: false,
            by_person: None,
            glimpses: None,
        }
    }

    /// Learns that the person took rounds back, or put them again: a note tells that to the model.
    pub(super) fn note_reversal(&mut self) {
        self.is_reversed = true;
    }

    /// Has the round cover everything: changes of an earlier command come with it.
    pub(super) fn expect_results(&mut self) {
        self.origin = ChangeOrigin::EarlierCommand;
    }

    /// The files that changed between the checkpoints of this round, for the session to remember.
    pub(super) fn take_changed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.changed)
    }

    /// Returns true if the first checkpoint was taken.
    pub(super) fn is_prepared(&self) -> bool {
        self.is_prepared
    }

    /// Takes the first checkpoint: it reads every file, and those of the rounds read only what
    /// changed.
    pub(super) fn prepare(&mut self, session: &Session) {
        self.is_prepared = true;
        self.end_glimpses(session);
        if let Some(now) = self.checkpoint() {
            self.learn(session, now);
        }
    }

    /// The checkpoint before the steps of a reply, if they can change something, or changes of an
    /// earlier command are still to come.
    pub(super) fn before(&mut self, session: &Session, steps: &[Step]) -> Option<Before> {
        self.origin = if self.agent.manner.authorizer.runner.awaits_results() {
            ChangeOrigin::EarlierCommand
        } else {
            ChangeOrigin::Steps
        };
        if self.origin == ChangeOrigin::Steps && !steps.iter().any(may_change) {
            return None;
        }
        self.end_glimpses(session);
        let before = self.look_before(session, steps)?;
        let covered = self.covered.take();
        self.covered_before = covered.filter(|_| before.reach == Reach::Whole);
        let workspace = self.agent.workspace.path();
        self.hooks = Some(hooks_of(workspace, &self.repositories));
        self.learn(session, before.snapshot);
        Some(before)
    }

    /// Looks after the checkpoint before a round to which another call is added; `named` are the files
    /// that its calls name already.
    ///
    /// A round of file steps covers each file from the first call that names it. One that runs programs
    /// covers everything from its beginning, but for files that are ignored: a call that names one
    /// begins a round of its own.
    pub(super) fn before_further(
        &mut self,
        before: Before,
        named: &BTreeSet<RelPath>,
        step: &Step,
    ) -> FurtherCall {
        if !may_change(step) {
            return FurtherCall::Covered(before);
        }
        if runs(step) {
            return match before.reach {
                Reach::Whole => FurtherCall::Covered(before),
                Reach::Named => FurtherCall::NewRound,
            };
        }
        let mut new = named_by(std::slice::from_ref(step));
        new.retain(|path| !named.contains(path));
        if new.is_empty() {
            return FurtherCall::Covered(before);
        }
        let part = self.checkpoint_part(before.snapshot, &new);
        match (before.reach, part) {
            (Reach::Named, Some(snapshot)) => FurtherCall::Covered(Before { snapshot, ..before }),
            (Reach::Whole, Some(part)) if self.covers(&before.snapshot, &part) => {
                FurtherCall::Covered(before)
            }
            _ => FurtherCall::NewRound,
        }
    }

    fn covers(&mut self, before: &Snapshot, part: &Snapshot) -> bool {
        let covered = self.store().and_then(|store| store.covers(before, part));
        covered.unwrap_or(false)
    }

    fn look_before(&mut self, session: &Session, steps: &[Step]) -> Option<Before> {
        if self.changes_only_what_it_names(steps)
            && let Some(known) = self.known(session)
            && let Some(snapshot) = self.checkpoint_part(known, &named_by(steps))
        {
            let reach = Reach::Named;
            return Some(Before {
                snapshot,
                reach,
                original: None,
            });
        }
        let whole = self.checkpoint()?;
        let snapshot = self.with_named(whole, steps);
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
        let whole = self.checkpoint_listed()?;
        self.is_fresh = true;
        Some(self.with_named(whole, steps))
    }

    /// Forgets how the files were listed: somebody is about to change them.
    pub(super) fn forget_walked(&mut self) {
        self.walked = None;
    }

    /// The files as the checkpoint after the round listed them, unless that was too long ago.
    pub(super) fn take_walked(&mut self) -> Option<Arc<Walked>> {
        let (at, walked) = self.walked.take()?;
        (at.elapsed() < FRESH).then_some(walked)
    }

    /// Adds what the steps name though it is ignored to a checkpoint of everything else.
    fn with_named(&mut self, whole: Snapshot, steps: &[Step]) -> Snapshot {
        let mut named = named_by(steps);
        // These were looked at, and decide nothing more.
        named.retain(|path| !is_ignore_file(path));
        if named.is_empty() {
            return whole;
        }
        self.checkpoint_part(whole, &named).unwrap_or(whole)
    }

    /// Returns true if a round can change only the files that its steps name.
    fn changes_only_what_it_names(&self, steps: &[Step]) -> bool {
        self.agent.manner.check.is_none()
            && self.origin == ChangeOrigin::Steps
            && !steps.iter().any(runs)
    }

    /// The checkpoint after them, if something was tried.
    ///
    /// A round that has none, before or after, is known to the journal: undo must not pass over it
    /// in silence.
    pub(super) fn after(
        &mut self,
        session: &mut Session,
        journal: &mut RoundJournal<'_>,
        before: Option<Before>,
        steps: &[Step],
        results: &[StepResult],
    ) -> Result<()> {
        let was_tried = |(step, result): (&Step, &StepResult)| {
            may_change(step) && matches!(result.outcome.status, Status::Ok | Status::Failed)
        };
        let is_expected = self.origin == ChangeOrigin::EarlierCommand && before.is_some();
        if !is_expected && !steps.iter().zip(results).any(was_tried) {
            return Ok(());
        }
        let round = session.sequence_number;
        let covered = self.covered_before.take();
        let around = before.and_then(|before| {
            let after = self.look_after(before, steps, results)?;
            let before = self.leave_others(before, after, covered.as_ref(), round, journal);
            Some((before, after))
        });
        let Some((covering, after)) = around else {
            let record = Record::Uncovered { sequence: round };
            return journal.append(&[record], Sync::Later);
        };
        self.known = Some(after);
        let record = Record::After {
            sequence: round,
            snapshot: after,
        };
        journal.append(&[record], Sync::Later)?;
        let hooks = self.hooks.take();
        let before = covering.snapshot;
        // What cannot be read here cannot be undone either, which says so when it matters.
        let (agent, repositories) = (self.agent, self.repositories.clone());
        if let Ok(store) = self.store()
            && let Ok(Some(event)) = report(agent, store, &repositories, [before, after], hooks)
        {
            agent.tell(event);
        }
        if before != after {
            self.changed = self.changed_between(&before, &after);
            session.remember_checkpoint(Checkpoint {
                round,
                before,
                after,
                original: covering.original,
            });
        }
        Ok(())
    }

    /// Lists the files that changed during a round, no matter who changed them: without generated
    /// ones, without those that an ignore file names, and no more than a session remembers.
    fn changed_between(&mut self, before: &Snapshot, after: &Snapshot) -> Vec<String> {
        let mut changes = self
            .store()
            .and_then(|store| store.changes(before, after))
            .unwrap_or_default();
        changes.retain(|change| change.kind != ChangeKind::NotCovered(Reason::Meanwhile));
        if !changes.is_empty() && self.walked.is_none() {
            let walked = self.agent.workspace.walk(None).ok();
            self.walked = walked.map(|walked| (Instant::now(), Arc::new(walked)));
        }
        let walked = self.walked.as_ref().filter(|_| !changes.is_empty());
        let shown =
            walked.map(|(_, walked)| ShownPaths::among(&self.agent.workspace, Arc::clone(walked)));
        let counts = |path: &Path| shown.as_ref().is_none_or(|shown| shown.counts(path));
        let changes = changes.into_iter();
        let seen = changes.filter_map(|change| change.seen(counts));
        let names = seen.map(|change| change.path.to_string_lossy().into_owned());
        names.take(REMEMBERED_FILES).collect()
    }

    /// A checkpoint of everything that is not ignored.
    pub(super) fn checkpoint(&mut self) -> Option<Snapshot> {
        let agent = self.agent;
        let take = |store: &mut CheckpointStore| store.take(&agent.workspace, &agent.covered);
        self.take_whole(|store| Ok((take(store)?, None)))
    }

    /// A checkpoint of everything that is not ignored, after the steps of a round. The same walk lists
    /// the files, for what the round changed and for its message; after a command, that is the walk in
    /// which the sandbox looked for repositories.
    pub(super) fn checkpoint_listed(&mut self) -> Option<Snapshot> {
        let agent = self.agent;
        self.take_whole(|store| {
            let (taken, walked) = store.take_listed(&agent.workspace, &agent.covered)?;
            Ok((taken, Some(walked)))
        })
    }

    fn take_whole(
        &mut self,
        take: impl FnOnce(&mut CheckpointStore) -> Result<(TakenSnapshot, Option<Arc<Walked>>)>,
    ) -> Option<Snapshot> {
        let at = now().as_nanosecond();
        self.unsynced.note();
        match self.store().and_then(take) {
            Ok((taken, walked)) => {
                self.tell_passed_over(&taken.passed_over);
                self.covered = Some(CoveredBefore {
                    inodes: taken.inodes,
                    at: i64::try_from(at).unwrap_or_default(),
                });
                self.repositories = taken.repositories;
                self.walked = walked.map(|walked| (Instant::now(), walked));
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
        self.unsynced.note();
        let store = self.store().ok()?;
        let taken = store.take_part(&agent.workspace, &agent.covered, earlier, paths);
        let taken = taken.ok().flatten()?;
        self.tell_passed_over(&taken.passed_over);
        Some(taken.snapshot)
    }

    pub(super) fn store(&mut self) -> Result<&mut CheckpointStore> {
        let store = if let Some(store) = self.store.take() {
            store
        } else {
            let mut store = CheckpointStore::open(&self.agent.store.objects())?;
            if self.unsynced.covers_sessions {
                store.sync_later();
            }
            store
        };
        Ok(self.store.insert(store))
    }

    /// Says once which files undo does not cover.
    fn tell_passed_over(&mut self, passed_over: &[PassedOver]) {
        let told = &mut self.told;
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
}
