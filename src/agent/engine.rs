//! The engine: takes replies, has their steps carried out, and publishes the next message.
//!
//! Its state is the session and the journal. What has state of its own is a collaborator in a room of
//! its own: [`Baseline`], [`Redactor`], `Authorizer`, `StepRunner`, [`Publisher`], [`CheckRunner`].

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread;

use super::accept::{InboxVerdict, Judged, ReplyJudge};
use super::authorize::{Asking, StepPlan};
use super::baseline::Baseline;
use super::check::{CheckRunner, Checked};
use super::kept_listing::{KeptListing, ListingRecord};
use super::planning::{PlanMode, approval};
use super::publish::{DraftMessage, Published, Publisher};
use super::questions::{Answered, OpenQuestions};
use super::recover::LeftRound;
use super::redact::Redactor;
use super::round::{
    RoundConclusion, RoundLog, RoundProgress, is_proposal, known_results, settle_done,
    staging_mark, unseen_changes,
};
use super::round_journal::RoundJournal;
use super::steps::{Begun, StepRunner};
use super::tidy::Housekeeper;
use super::{Agent, Ending, added, file_name, text_of};
use crate::approve::{Input, Pending, Person as _, QuestionOrigin};
use crate::checkpoint::{Before, Reach};
use crate::compose::Listing;
use crate::error::{Error, Result};
use crate::execute::Hide;
use crate::mailbox::{Arrival, Candidate, Inbox};
use crate::protocol::{Event, Step, StepResult};
use crate::reply::Reply;
use crate::session::{
    CheckProgress, CheckedWhen, Journal, Planning, Record, Recovered, RoundLock, Session, now,
};

/// How long a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Until the session ends.
    Session,
    /// For one reply; nobody is waited for.
    OneReply,
}

/// A session at work: its state and its journal.
#[derive(Debug)]
pub(super) struct Engine<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: Session,
    pub(super) journal: RoundJournal<'a>,
    pub(super) published: Published,
    pub(super) baseline: Baseline<'a>,
    pub(super) housekeeper: Housekeeper<'a>,
    pub(super) progress: RoundProgress,
    pub(super) redactor: Redactor<'a>,
    /// The files in the inbox that another session will take, and that were told.
    pub(super) left_alone: BTreeSet<String>,
    /// True while a round has begun and is not concluded. Nothing is saved meanwhile, because the
    /// journal would then forget what was done.
    pub(super) is_under_way: bool,
    /// The steps that a killed process left unfinished, as they were found.
    pub(super) interrupted: Vec<StepResult>,
    /// The last call of a round that a killed process left: its answer may not have arrived.
    pub(super) last_call: Option<StepResult>,
}

/// A reply that was taken out of the inbox, to be executed once.
#[derive(Debug)]
pub(super) struct Taken {
    /// The file's name as the person saved it.
    pub(super) name: String,
    pub(super) reply: Reply,
    pub(super) identity: String,
    pub(super) file: PathBuf,
    pub(super) arrival: ReplyArrival,
}

/// How the steps of a reply arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyArrival {
    /// All at once: what fails concerns what comes after it.
    Whole,
    /// One by one, each answered before the next came.
    Calls,
}

impl<'a> Engine<'a> {
    pub(super) fn new(agent: &'a Agent, session: Session, journal: Journal) -> Self {
        agent.record_events_of(&session.session_id);
        let journal = RoundJournal::new(journal, &agent.workspace, agent.store.directory());
        let (id, unsynced) = (&session.session_id, journal.unsynced.clone());
        Self {
            agent,
            baseline: Baseline::new(agent, id, unsynced),
            housekeeper: Housekeeper::new(agent),
            redactor: Redactor::of(agent, id),
            session,
            journal,
            published: Published::default(),
            progress: RoundProgress::default(),
            left_alone: BTreeSet::new(),
            is_under_way: false,
            interrupted: Vec::new(),
            last_call: None,
        }
    }

    /// Publishes the outbox of this round, or says how the session stands if there is none to come.
    pub(super) fn settle(&mut self, patience: Patience) -> Result<Option<Ending>> {
        if self.is_under_way {
            return Ok(Some(Ending::Interrupted));
        }
        if self.session.is_complete {
            return Ok(Some(Ending::Done));
        }
        if self.questions().answer(patience)? == Answered::Interrupted
            || self.plan_mode().decide(patience)? == Answered::Interrupted
        {
            return Ok(Some(Ending::Interrupted));
        }
        if !self.check_at_start()? {
            return Ok(Some(Ending::Interrupted));
        }
        self.publish(patience)?;
        if self.session.is_at_limit() {
            return Ok(Some(self.at_limit()));
        }
        if self.agent.interrupt.is_raised() {
            return Ok(Some(Ending::Interrupted));
        }
        Ok(None)
    }

    /// Waits for a reply to this round; nothing comes if the person stops it.
    pub(super) fn wait(&mut self, inbox: &mut Inbox) -> Result<Option<Taken>> {
        let mark = self.session.end_mark();
        while !self.agent.interrupt.is_raised() {
            match inbox.next(&mark) {
                Arrival::Reply(candidate) => {
                    if let Some(taken) = self.take(&candidate)? {
                        return Ok(Some(taken));
                    }
                }
                Arrival::Notice(notice) => self.agent.tell_notice(notice),
                Arrival::Woken => {}
            }
        }
        Ok(None)
    }

    /// Takes a reply out of the inbox if it is one for this round; says why if it is not.
    pub(super) fn take(&mut self, candidate: &Candidate) -> Result<Option<Taken>> {
        let mailbox = &self.agent.mailbox;
        let judge = ReplyJudge {
            agent: self.agent,
            session: &self.session,
        };
        let verdict = judge.judge(candidate).unwrap_or_else(|trouble| {
            // One file that cannot be read is no reason to stop; it is told once a round.
            self.agent.tell(Event::from(&trouble));
            InboxVerdict::Gone
        });
        match verdict {
            InboxVerdict::Take(Judged { reply, identity }) => {
                let session = &self.session;
                let claimed =
                    mailbox.claim(candidate, &session.session_id, session.sequence_number)?;
                Ok(claimed.map(|file| Taken {
                    name: candidate.name.clone(),
                    reply,
                    identity,
                    file,
                    arrival: ReplyArrival::Whole,
                }))
            }
            InboxVerdict::Reject(why) => {
                if let Some(moved_to) = mailbox.reject(candidate, &why)? {
                    self.agent.tell(Event::Rejected {
                        name: candidate.name.clone(),
                        why,
                        moved_to: text_of(&moved_to),
                    });
                }
                Ok(None)
            }
            InboxVerdict::Leave(other) => {
                if self.left_alone.insert(candidate.name.clone()) {
                    self.agent.tell_left(&candidate.name, &other);
                }
                Ok(None)
            }
            InboxVerdict::Gone => Ok(None),
        }
    }

    /// Executes a reply and moves the session on by one round.
    ///
    /// If the person interrupts while they are asked, the reply stays claimed and nothing is done:
    /// the next run comes back to it. While they are asked they can take earlier rounds back.
    pub(super) fn step(&mut self, taken: Taken, patience: Patience) -> Result<()> {
        self.tell_reply(&taken);
        self.agent.workspace.ensure_in_place()?;
        let Some(plan) = self.plan(&taken.reply.steps, 0, (patience, taken.arrival))? else {
            return Ok(());
        };
        let _alone = self.alone()?;
        let before = self.baseline.before(&self.session, &taken.reply.steps);
        self.begin_round(&taken, before);
        let mut results = self.execute(&taken, &plan, Begun::default())?;
        let not_begun = CheckProgress::NotBegun;
        let steps = &taken.reply.steps;
        let plan = (before, self.input(patience), &not_begun);
        let checked = self.checks().after_round(plan, steps, &results)?;
        self.checkpoint_after(before, &taken.reply.steps, &mut results)?;
        self.conclude(taken, results, checked)
    }

    /// Writes the outbox of this round if it is not there yet, and says so.
    pub(super) fn publish(&mut self, patience: Patience) -> Result<()> {
        if self.publisher().is_posted(patience) {
            return Ok(());
        }
        let (listing, shown_before) = self.publisher().listings();
        let (store, id) = (&self.agent.store, self.session.session_id.clone());
        let round = (&id, self.session.sequence_number);
        let before = shown_before.as_ref();
        let (record, message) = thread::scope(|scope| {
            // Of a large workspace it is long. It is kept before the outbox is: one that is composed
            // again must begin where this one does.
            let keeping = scope.spawn(|| ListingRecord::keep(store, round, &listing, before));
            let message = self.message(&listing, before.map(|before| &*before.listing));
            let kept = (keeping.join()).unwrap_or_else(|panic| resume_unwind(panic));
            kept.and_then(|record| Ok((record, message?)))
        })?;
        self.publisher().post(message, patience)?;
        let listed = KeptListing { listing, record };
        self.publisher().note_listed(listed, before);
        Ok(())
    }

    /// Makes the message of this round; what it shows is known to be seen before it is written.
    pub(super) fn message(
        &mut self,
        listing: &Listing,
        before: Option<&Listing>,
    ) -> Result<DraftMessage> {
        (self.baseline).notice_changes(&self.session, listing, before);
        let is_outdated = self.checks().outdate(listing, before);
        let message = self.publisher().message(listing, before)?;
        if self.session.seen != message.seen || is_outdated {
            let _alone = self.alone()?;
            self.session.seen.clone_from(&message.seen);
            self.save()?;
        }
        Ok(message)
    }

    /// Makes messages.
    pub(super) fn publisher(&mut self) -> Publisher<'_, 'a> {
        Publisher {
            agent: self.agent,
            session: &mut self.session,
            baseline: &mut self.baseline,
            redactor: &mut self.redactor,
            published: &mut self.published,
        }
    }

    /// Runs the person's check.
    pub(super) fn checks(&mut self) -> CheckRunner<'_, 'a> {
        CheckRunner {
            agent: self.agent,
            session: &mut self.session,
            journal: &mut self.journal,
            baseline: &mut self.baseline,
        }
    }

    /// Moves the session on at the end of a round.
    pub(super) fn conclusion(&mut self) -> RoundConclusion<'_, 'a> {
        RoundConclusion {
            agent: self.agent,
            session: &mut self.session,
        }
    }

    /// Writes down what steps do.
    pub(super) fn log(&mut self) -> RoundLog<'_, 'a> {
        RoundLog {
            agent: self.agent,
            session: &mut self.session,
            journal: &mut self.journal,
            baseline: &mut self.baseline,
            redactor: &mut self.redactor,
            progress: &mut self.progress,
        }
    }

    /// Asks the person about plans.
    pub(super) fn plan_mode(&mut self) -> PlanMode<'_, 'a> {
        PlanMode { engine: self }
    }

    /// Asks the person what the model wants to know.
    pub(super) fn questions(&mut self) -> OpenQuestions<'_, 'a> {
        OpenQuestions { engine: self }
    }

    /// Settles what a killed process left.
    pub(super) fn left<'e>(&'e mut self, recovered: &'e Recovered) -> LeftRound<'e, 'a> {
        LeftRound {
            engine: self,
            recovered,
        }
    }

    /// Runs the check before the first message, so that everyone knows what failed before; false if
    /// the person does not begin without it.
    pub(super) fn check_at_start(&mut self) -> Result<bool> {
        let session = &self.session;
        if session.sequence_number > 1 || session.check.is_some() {
            return Ok(true);
        }
        let _alone = self.alone()?;
        if self.agent.manner.check.is_some() {
            self.publisher().keep_listing_before_check()?;
        }
        if self.checks().run(CheckedWhen::AtStart)? {
            if self.checks().begins_without()? {
                self.save()?;
            } else {
                // It runs again when the session is resumed, perhaps as another one.
                self.session.check = None;
                self.agent.interrupt.raise();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the checkpoint after the steps of a round, and before it what has not come back. The last
    /// result tells the model what did not go the usual way.
    pub(super) fn checkpoint_after(
        &mut self,
        before: Option<Before>,
        steps: &[Step],
        results: &mut [StepResult],
    ) -> Result<()> {
        let notice = self.fetch_results(before);
        if let Some((text, last)) = notice.zip(results.last_mut()) {
            let remark = format!("results of an earlier command came back: {text}");
            last.outcome.remarks.push(remark);
        }
        let (session, journal) = (&mut self.session, &mut self.journal);
        (self.baseline).after(session, journal, before, steps, results)
    }

    /// Takes what earlier commands changed elsewhere and has not come back, if the checkpoints of this
    /// round cover everything: only then can an undo revert it.
    pub(super) fn fetch_results(&mut self, before: Option<Before>) -> Option<String> {
        let agent = self.agent;
        let runner = &agent.manner.authorizer.runner;
        let is_covered = before.is_some_and(|before| before.reach == Reach::Whole);
        if !is_covered || agent.interrupt.is_raised() || !runner.awaits_results() {
            return None;
        }
        let fetched = agent.disarming(|| runner.fetch_results(agent.interrupt.flag()));
        // Those that came before the connection was lost count too.
        self.baseline.expect_results();
        self.journal.unsynced.note();
        // The command has told that they have not come back.
        let text = fetched.ok().flatten()?;
        agent.tell(Event::Notice { text: text.clone() });
        Some(text)
    }

    /// Takes what commands changed elsewhere and has not come back, in a round of its own.
    pub(super) fn fetch_last_results(&mut self) -> Result<()> {
        let runner = &self.agent.manner.authorizer.runner;
        if !runner.awaits_results() {
            return Ok(());
        }
        let sequence = self.session.sequence_number;
        let Some(before) = self.baseline.before(&self.session, &[]) else {
            return Ok(());
        };
        self.journal
            .record(&[Record::Before { sequence, before }])?;
        self.checkpoint_after(Some(before), &[], &mut [])?;
        let changed = self.baseline.take_changed();
        if !changed.is_empty() {
            let session = &mut self.session;
            session.sequence_number += 1;
            // The results of the round before are remembered already.
            let results = std::mem::take(&mut session.last_results);
            session.remember_round(changed);
            session.last_results = results;
        }
        Ok(())
    }

    /// Waits until nobody takes a round back, and learns what was undone meanwhile.
    pub(super) fn alone(&mut self) -> Result<RoundLock> {
        let lock = RoundLock::wait(self.agent.store.directory())?;
        for record in self.journal.news()? {
            match record {
                Record::Undone { rounds, .. } => self.undone(&rounds),
                Record::Redone { rounds, .. } => {
                    self.baseline.note_reversal();
                    self.session.history.mark(&rounds, false);
                }
                // The chat that goes on has seen another message.
                Record::HandedOver { .. } => {
                    self.published.forget_listing();
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
        if !rounds.is_empty() {
            self.baseline.note_reversal();
        }
        if let Some(cut) = &mut self.session.last_cut
            && rounds.contains(&cut.sequence)
        {
            cut.done.clear();
        }
    }

    /// Takes the first checkpoint, while the person is busy with the message.
    ///
    /// Alone, so that a round that another process takes back right now is not told as the person's
    /// own change.
    pub(super) fn prepare_undo(&mut self) -> Result<()> {
        if !self.baseline.is_prepared() {
            let _alone = self.alone()?;
            self.baseline.prepare(&self.session);
        }
        Ok(())
    }

    /// Removes what nobody needs any more of journal and checkpoints.
    pub(super) fn tidy(&mut self) {
        if !self.is_under_way && self.journal.is_long() {
            let compacted = self.alone().and_then(|_alone| self.journal.compact());
            self.housekeeper.tell_compacted(compacted);
        }
        let Some(due) = self.housekeeper.due() else {
            return;
        };
        let tidied = if due.is_due {
            self.alone().and_then(|_alone| {
                let (housekeeper, baseline) = (&mut self.housekeeper, &mut self.baseline);
                housekeeper.tidy(baseline, &self.session)
            })
        } else {
            Ok(())
        };
        self.housekeeper.conclude(due, tidied);
    }

    /// Has the journal told of the round, together with its first step.
    pub(super) fn begin_round(&mut self, taken: &Taken, before: Option<Before>) {
        let sequence = self.session.sequence_number;
        self.progress.unwritten.push(Record::Claimed {
            sequence,
            file: file_name(&taken.file),
            identity: taken.identity.clone(),
        });
        let before = before.map(|before| Record::Before { sequence, before });
        self.progress.unwritten.extend(before);
        self.is_under_way = true;
    }

    pub(super) fn tell_reply(&self, taken: &Taken) {
        let (agent, reply) = (self.agent, &taken.reply);
        agent.tell(Event::Reply {
            name: taken.name.clone(),
            file: text_of(&taken.file),
            sequence: self.session.sequence_number,
            commands: reply.steps.len(),
        });
        for repair in reply.repairs.iter().cloned() {
            agent.tell(Event::Repaired { repair });
        }
        if !reply.prose.trim().is_empty() {
            let text = reply.prose.clone();
            agent.tell(Event::Prose { text });
        }
        for issue in reply.issues.iter().cloned() {
            agent.tell(Event::Issue { issue });
        }
        if let Some(cut) = &reply.cut {
            agent.tell(Event::Cut {
                line: cut.line,
                what: cut.what.clone(),
            });
        }
    }

    pub(super) fn at_limit(&self) -> Ending {
        self.agent.tell(Event::RoundLimit {
            id: self.session.session_id.clone(),
            rounds: self.session.sequence_number - 1,
        });
        Ending::RoundLimit
    }

    /// Plans the steps of a reply, of which the first `done` are over; `None` if the person
    /// interrupts while they are asked.
    ///
    /// Before anything of the round is in the journal: a killed loop comes back to the questions.
    pub(super) fn plan(
        &self,
        reply: &[Step],
        done: usize,
        (patience, arrival): (Patience, ReplyArrival),
    ) -> Result<Option<StepPlan>> {
        let agent = self.agent;
        let asking = Asking {
            workspace: &agent.workspace,
            limits: &agent.limits,
            seen: &self.session.seen,
            person: &*agent.person,
            interrupt: &agent.interrupt,
            base: &agent.base,
            approval: approval(agent, &self.session),
            pending: &self.pending(),
            input: self.input(patience),
            round: self.session.sequence_number,
            reveal: &|step| self.redactor.reveal(step),
            origin: match arrival {
                ReplyArrival::Whole => QuestionOrigin::Reply,
                ReplyArrival::Calls => QuestionOrigin::Call,
            },
            on_failure: agent.manner.on_failure,
            unseen: &|| unseen_changes(agent, &self.session),
        };
        agent.manner.authorizer.plan(&asking, reply, done)
    }

    /// Carries out the steps of a plan.
    pub(super) fn execute(
        &mut self,
        taken: &Taken,
        plan: &StepPlan,
        mut begun: Begun,
    ) -> Result<Vec<StepResult>> {
        begun.known = known_results(&self.session, &taken.reply);
        let mut seen = std::mem::take(&mut self.session.seen);
        let hide = self.redactor.hider();
        let runner = self.runner(hide.as_deref());
        let mut log = self.log();
        let results = runner.run(plan, &taken.reply, begun, &mut seen, &mut log)?;
        log.write_rest()?;
        self.session.seen = seen;
        Ok(results)
    }

    pub(super) fn runner<'h>(&self, hide: Option<&'h Hide<'h>>) -> StepRunner<'h>
    where
        'a: 'h,
    {
        let agent = self.agent;
        StepRunner {
            workspace: &agent.workspace,
            limits: &agent.limits,
            authorizer: &agent.manner.authorizer,
            person: &*agent.person,
            interrupt: &agent.interrupt,
            on_failure: agent.manner.on_failure,
            hide,
            keys: self.redactor.keys().clone(),
            mark: staging_mark(&self.session),
            kept_inventory: agent.manner.authorizer.kept_inventory.clone(),
            snapshot_follows: true,
            copy: None,
        }
    }

    /// Refuses questions in a run for one reply if nobody is there to answer; otherwise the person's
    /// own choice applies.
    pub(super) fn input(&self, patience: Patience) -> Input {
        let person = &self.agent.person;
        if patience == Patience::Session || person.is_interactive() {
            person.input()
        } else {
            Input::Refuse
        }
    }

    pub(super) fn pending(&self) -> Pending {
        self.agent.pending(&self.session.session_id)
    }

    /// Moves the session on by one round, saves it, and says so if it has ended.
    pub(super) fn conclude(
        &mut self,
        taken: Taken,
        mut results: Vec<StepResult>,
        checked: Checked,
    ) -> Result<()> {
        let arrival = taken.arrival;
        let changed = self.baseline.take_changed();
        self.agent.store.recall_reversal(&mut self.session);
        let proposes = taken
            .reply
            .steps
            .iter()
            .any(|step| is_proposal(&self.session, step));
        let done = settle_done(&taken, &mut results, proposes);
        let done = self.checks().done_by_check(done, &mut results);
        self.conclusion().say_unfinished(&taken.reply, &results);
        let in_chat = self.conclusion().tokens_of_round(&taken.file);
        self.session.chat_tokens = self.session.chat_tokens.saturating_add(in_chat);
        let progress = std::mem::take(&mut self.progress);
        let circles = (self.conclusion()).circles(progress, &results, &taken.reply.issues);
        let replaces_question = self.conclusion().move_on(taken, results, proposes);
        self.session.remember_round(changed);
        self.conclusion().end_if_done(done, checked);
        if replaces_question {
            self.questions().keep_answer()?;
        }
        let notes = self.agent.store.notes(&self.session.session_id);
        let said = notes.all();
        self.session.notes.clear();
        added::take_notes(&mut self.session, &said);
        self.publisher().read_for_next();
        self.is_under_way = false;
        self.save()?;
        if arrival == ReplyArrival::Whole || self.session.planning != Planning::Proposed {
            self.pending().clear(&*self.agent.person);
        }
        if arrival == ReplyArrival::Whole || self.session.is_complete {
            // The client that made these calls does not go on.
            self.pending().clear_calls()?;
        }
        for note in &said {
            notes.remove(note);
        }
        self.conclusion().say_circles(&circles);
        if self.session.is_complete {
            self.conclusion().say_done(&said);
        }
        Ok(())
    }

    /// Puts the session on the disk: the journal first, which can rebuild the file.
    pub(super) fn save(&mut self) -> Result<()> {
        if self.is_under_way {
            let id = &self.session.session_id;
            return Err(
                Error::mendable(format!("a round of session {id} is not finished yet"))
                    .hint(format!("`agent resume {id}` finishes it first")),
            );
        }
        self.session.updated_at = now();
        let record = Record::Round {
            session: Box::new(self.session.clone()),
            marked: false,
        };
        self.journal.record(&[record])?;
        self.agent.store.save(&self.session)
    }
}
