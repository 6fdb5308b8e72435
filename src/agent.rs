//! The loop: an outbox goes out, a reply comes in, its steps are executed, until the model is done.
//!
//! Everything that the person or the model is told is written to disk first, so the loop can be
//! killed at any moment and continue from there. It does not know how a message travels: it writes
//! `outbox/`, and any file that appears in `inbox/` is a reply.

mod accept;
pub mod added;
pub mod apply;
mod authorize;
mod baseline;
mod calls;
mod check;
mod context;
mod differences;
mod environment;
pub mod fork;
mod handover;
mod instruct;
mod live_output;
mod network;
mod planning;
mod project;
mod publish;
mod questions;
mod recorder;
mod recover;
mod redact;
mod report;
mod round;
mod round_journal;
mod shown_paths;
mod steps;
mod tidy;
pub mod undo;
mod whereabouts;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

pub use self::accept::{ANYWAY, identity};
use self::accept::{InboxVerdict, Judged, ReplyJudge};
pub use self::authorize::Authorizer;
use self::baseline::Baseline;
pub use self::calls::{AnswerRoom, CallAnswer, CallDesk};
pub use self::check::CheckCommand;
use self::check::CheckRunner;
use self::differences::Differences;
pub use self::live_output::announce;
pub use self::project::PROJECT_NAMES;
pub use self::publish::message_of;
use self::publish::{DraftMessage, Published, Publisher, keep_listing};
use self::questions::Answered;
pub use self::recorder::Recorder;
use self::redact::Redactor;
pub use self::redact::{TextCover, credentials, kept_secrets};
use self::round_journal::RoundJournal;
pub use self::shown_paths::ShownPaths;
use self::steps::Begun;
use self::tidy::Housekeeper;
use crate::approve::{Asker, Pending};
use crate::checkpoint::{Before, CheckpointLimits, Reach};
use crate::compose::{Carriage, Listing};
use crate::error::Result;
use crate::execute::Limits;
use crate::interrupt::Interrupt;
use crate::mailbox::{Arrival, Candidate, Inbox, Mailbox, Notice};
use crate::protocol::{
    Event, EventSink as _, OnFailure, Recovery, RelPath, SessionId, Step, StepResult,
};
use crate::reply::Reply;
use crate::secrets;
use crate::session::{
    CheckProgress, CheckedWhen, Choices, Journal, Record, RoundLock, Session, Store,
};
use crate::settings::Chat;
use crate::workspace::Workspace;

/// All that a session works with; it outlives the session.
#[derive(Debug)]
pub struct Agent {
    /// The directory of settings, mailbox and sessions.
    pub base: PathBuf,
    /// The files that the model works on.
    pub workspace: Workspace,
    /// Where messages go out and come in.
    pub mailbox: Mailbox,
    /// Where sessions are kept.
    pub store: Store,
    /// The bounds of what steps may do.
    pub limits: Limits,
    /// The limits of checkpoints, and so of undo.
    pub covered: CheckpointLimits,
    /// The bounds of what an outbox may hold, and how failures are taken.
    pub manner: Manner,
    /// Who hears what happens, and is asked.
    pub person: Arc<Recorder>,
    /// The person's wish to stop.
    pub interrupt: Interrupt,
}

/// How the loop goes about its work.
#[derive(Debug)]
pub struct Manner {
    /// Decides what may be executed.
    pub authorizer: Authorizer,
    /// Finds secrets in messages; `None` if messages are sent unredacted.
    pub secrets: Option<secrets::Scanner>,
    /// The command that decides if the work is good, if the person set one.
    pub check: Option<CheckCommand>,
    /// The settings that the person chose by flag for this session, now or in an earlier call.
    pub choices: Choices,
    /// The permissions in force, for a session that begins.
    pub permissions: Choices,
    /// The fate of the commands of a reply after one of its changes failed.
    pub on_failure: OnFailure,
    /// The chat that the person uses.
    pub chat: &'static Chat,
    /// True if the chat remembers earlier messages.
    pub keeps_context: bool,
    /// How messages are carried to it.
    pub carriage: Carriage,
    /// The API that carries messages in place of the person, in words.
    pub carried_by: Option<String>,
    /// How many rounds a session gets, and gets again when it is resumed at its limit.
    pub max_rounds: u32,
}

/// How a run of the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The model is done.
    Done,
    /// All rounds are used up.
    RoundLimit,
    /// The person stopped it. The caller says so once everything beside the loop has ended.
    Interrupted,
    /// One reply was processed, as asked, and the next outbox is out.
    Stepped,
    /// The reply that was given was not used.
    Rejected,
}

/// How long a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// Until the session ends.
    Session,
    /// For one reply; nobody is waited for.
    OneReply,
}

/// A session at work: its state and its journal.
#[derive(Debug)]
struct Engine<'a> {
    agent: &'a Agent,
    session: Session,
    journal: RoundJournal<'a>,
    published: Published,
    baseline: Baseline<'a>,
    housekeeper: Housekeeper<'a>,
    /// Records of the round that go into the journal with the next ones.
    unwritten: Vec<Record>,
    /// The differences that the steps under way make, for the events that tell of them.
    differences: Differences,
    /// The files that the steps of this round wrote.
    written: BTreeMap<RelPath, Written>,
    redactor: Redactor<'a>,
    /// The files in the inbox that another session will take, and that were told.
    left_alone: BTreeSet<String>,
    /// True while a round has begun and is not concluded. Nothing is saved meanwhile, because the
    /// journal would then forget what was done.
    is_under_way: bool,
    /// The steps that a killed process left unfinished, as they were found.
    interrupted: Vec<StepResult>,
    /// The last call of a round that a killed process left: its answer may not have arrived.
    last_call: Option<StepResult>,
}

/// The content of a file before and after the steps of a round, as hashes.
#[derive(Debug, Default)]
struct Written {
    before: Option<String>,
    after: Option<String>,
}

impl Agent {
    /// Tells what happened.
    pub fn tell(&self, event: Event) {
        self.person.emit(event);
    }

    /// Puts questions of a session that go with this process.
    pub fn asker(&self, id: &SessionId) -> Asker {
        Asker {
            person: self.person.clone(),
            pending: Pending::of(&self.store.folder(id)),
        }
    }

    /// Keeps the events from now on with this session.
    pub(crate) fn record_events_of(&self, id: &SessionId) {
        self.person.record(&self.store, id);
    }

    /// Tells that a session begins or goes on.
    pub fn tell_session(&self, session: &Session, resumed: bool) {
        // Beside a journal of a newer version nothing is written.
        if self.store.journal(&session.session_id).is_ok() {
            self.record_events_of(&session.session_id);
        }
        self.tell(Event::Session {
            id: session.session_id.clone(),
            task: session.task.clone(),
            base: text_of(&self.base),
            workspace: text_of(self.workspace.path()),
            resumed,
        });
    }

    /// Tells what is the matter with the inbox.
    pub fn tell_notice(&self, notice: Notice) {
        let Notice { message, hint } = notice;
        self.tell(Event::Inbox { message, hint });
    }

    /// Tells how commands are confined, and what was asked of their runner and does not count.
    pub(crate) fn tell_confinement(&self) {
        let authorizer = &self.manner.authorizer;
        self.tell(authorizer.described());
        if let Some(text) = authorizer
            .runner
            .notice()
            .filter(|_| authorizer.runs_commands())
        {
            self.tell(Event::Notice { text });
        }
        for runner in &authorizer.runners_with_results {
            let text = format!(
                "`{runner}` still has results of a command in this workspace: `agent resume --runner {runner}` takes them with its next round, and `agent doctor --clean --runner {runner}` removes them"
            );
            self.tell(Event::Notice { text });
        }
    }

    /// Carries a session on until it ends, its rounds are used up or the person stops it.
    pub fn run(&self, session: Session) -> Result<Ending> {
        self.tell_confinement();
        let mut engine = Engine::open(self, session, Patience::Session)?;
        engine.tell_planning();
        let inbox = Inbox::watch(&self.mailbox, crate::reply::end_mark);
        let mut inbox = inbox.telling(self.person.clone());
        let waker = inbox.waker();
        self.interrupt.on_raise(move || waker.wake());
        loop {
            if let Some(ending) = engine.settle(Patience::Session)? {
                return Ok(ending);
            }
            engine.prepare_undo()?;
            engine.tidy();
            match engine.wait(&mut inbox)? {
                Some(taken) => engine.step(taken, Patience::Session)?,
                None => return Ok(Ending::Interrupted),
            }
        }
    }

    /// Processes the one reply that `find` gives and writes the next outbox.
    ///
    /// A round that a killed process left unfinished is finished first; then that was the step.
    pub fn run_once(
        &self,
        session: Session,
        find: impl FnOnce(&Session) -> Result<Option<Candidate>>,
    ) -> Result<Ending> {
        let sequence = session.sequence_number;
        let engine = Engine::open(self, session, Patience::OneReply)?;
        Self::go_on_once(engine, sequence, find)
    }

    fn go_on_once(
        mut engine: Engine<'_>,
        sequence: u32,
        find: impl FnOnce(&Session) -> Result<Option<Candidate>>,
    ) -> Result<Ending> {
        let ending = engine.settle(Patience::OneReply)?;
        if let Some(ending) = ending {
            return Ok(ending);
        }
        if engine.session.sequence_number != sequence {
            engine.agent.tell(Event::Recovery(Recovery::RoundFinished));
            return Ok(Ending::Stepped);
        }
        let Some(candidate) = find(&engine.session)? else {
            return Ok(Ending::Stepped);
        };
        match engine.take(&candidate)? {
            Some(taken) => engine.step(taken, Patience::OneReply)?,
            None => return Ok(Ending::Rejected),
        }
        let ending = engine.settle(Patience::OneReply)?;
        engine.tidy();
        Ok(ending.unwrap_or(Ending::Stepped))
    }

    /// Writes the outbox of the session's round and does not wait for the reply.
    ///
    /// If the model asked a question, what the person has said since is the answer. That does not
    /// hold when a reply is taken: the reply answers a message without it, so it goes out with the
    /// next one.
    pub fn begin(&self, session: Session) -> Result<Ending> {
        let sequence = session.sequence_number;
        let mut engine = Engine::open(self, session, Patience::OneReply)?;
        engine.answer_by_what_was_said()?;
        Self::go_on_once(engine, sequence, |_| Ok(None))
    }

    /// Ends a session because the person says so; the files stay as they are.
    ///
    /// Of a round that a killed process left unfinished, what was under way is settled and the rest
    /// is not begun.
    pub fn end(&self, session: Session) -> Result<()> {
        let (mut engine, recovered) = Engine::restore(self, session)?;
        let _alone = engine.alone()?;
        engine.break_off(&recovered)?;
        engine.fetch_last_results()?;
        engine.session.is_complete = true;
        engine.save()?;
        let id = engine.session.session_id.clone();
        self.store.events(&id).append(Event::Ended { id });
        Ok(())
    }
}

/// A reply that was taken out of the inbox, to be executed once.
#[derive(Debug)]
struct Taken {
    /// The file's name as the person saved it.
    name: String,
    reply: Reply,
    identity: String,
    file: PathBuf,
    arrival: ReplyArrival,
}

/// How the steps of a reply arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyArrival {
    /// All at once: what fails concerns what comes after it.
    Whole,
    /// One by one, each answered before the next came.
    Calls,
}

impl<'a> Engine<'a> {
    fn new(agent: &'a Agent, session: Session, journal: Journal) -> Self {
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
            unwritten: Vec::new(),
            differences: BTreeMap::new(),
            written: BTreeMap::new(),
            left_alone: BTreeSet::new(),
            is_under_way: false,
            interrupted: Vec::new(),
            last_call: None,
        }
    }

    /// Publishes the outbox of this round, or says how the session stands if there is none to come.
    fn settle(&mut self, patience: Patience) -> Result<Option<Ending>> {
        if self.is_under_way {
            return Ok(Some(Ending::Interrupted));
        }
        if self.session.is_complete {
            return Ok(Some(Ending::Done));
        }
        if self.answer_questions(patience)? == Answered::Interrupted
            || self.decide_plan(patience)? == Answered::Interrupted
        {
            return Ok(Some(Ending::Interrupted));
        }
        self.check_at_start()?;
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
    fn wait(&mut self, inbox: &mut Inbox) -> Result<Option<Taken>> {
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
    fn take(&mut self, candidate: &Candidate) -> Result<Option<Taken>> {
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
    fn step(&mut self, taken: Taken, patience: Patience) -> Result<()> {
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
    fn publish(&mut self, patience: Patience) -> Result<()> {
        if self.publisher().is_posted(patience) {
            return Ok(());
        }
        let (listing, shown_before) = self.publisher().listings();
        let (store, id) = (&self.agent.store, self.session.session_id.clone());
        let round = (&id, self.session.sequence_number);
        let message = thread::scope(|scope| {
            // Of a large workspace it is long. It is kept before the outbox is: one that is composed
            // again must begin where this one does.
            let keeping = scope.spawn(|| keep_listing(store, round, &listing));
            let message = self.message(&listing, shown_before.as_ref());
            let kept = (keeping.join()).unwrap_or_else(|panic| resume_unwind(panic));
            kept.and(message)
        })?;
        self.publisher().post(message, patience)?;
        self.publisher().note_listed(listing);
        Ok(())
    }

    /// Makes the message of this round; what it shows is known to be seen before it is written.
    fn message(&mut self, listing: &Listing, before: Option<&Listing>) -> Result<DraftMessage> {
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
    fn publisher(&mut self) -> Publisher<'_, 'a> {
        Publisher {
            agent: self.agent,
            session: &mut self.session,
            baseline: &mut self.baseline,
            redactor: &mut self.redactor,
            published: &mut self.published,
        }
    }

    /// Runs the person's check.
    fn checks(&mut self) -> CheckRunner<'_, 'a> {
        CheckRunner {
            agent: self.agent,
            session: &mut self.session,
            journal: &mut self.journal,
            baseline: &mut self.baseline,
        }
    }

    /// Runs the check before the first message, so that everyone knows what failed before.
    fn check_at_start(&mut self) -> Result<()> {
        let session = &self.session;
        if session.sequence_number > 1 || session.check.is_some() {
            return Ok(());
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
            }
        }
        Ok(())
    }

    /// Takes the checkpoint after the steps of a round, and before it what has not come back. The last
    /// result tells the model what did not go the usual way.
    fn checkpoint_after(
        &mut self,
        before: Option<Before>,
        steps: &[Step],
        results: &mut [StepResult],
    ) -> Result<()> {
        let notice = self.fetch_results(before);
        if let Some((text, last)) = notice.zip(results.last_mut()) {
            let message = &mut last.outcome.message;
            *message = format!("{message}; results of an earlier command came back: {text}");
        }
        let (session, journal) = (&mut self.session, &mut self.journal);
        (self.baseline).after(session, journal, before, steps, results)
    }

    /// Takes what earlier commands changed elsewhere and has not come back, if the checkpoints of this
    /// round cover everything: only then can an undo revert it.
    fn fetch_results(&mut self, before: Option<Before>) -> Option<String> {
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
    fn fetch_last_results(&mut self) -> Result<()> {
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
    fn alone(&mut self) -> Result<RoundLock> {
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
    fn undone(&mut self, rounds: &[u32]) {
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
    fn prepare_undo(&mut self) -> Result<()> {
        if !self.baseline.is_prepared() {
            let _alone = self.alone()?;
            self.baseline.prepare(&self.session);
        }
        Ok(())
    }

    /// Removes what nobody needs any more of journal and checkpoints.
    fn tidy(&mut self) {
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
    fn begin_round(&mut self, taken: &Taken, before: Option<Before>) {
        let sequence = self.session.sequence_number;
        self.unwritten.push(Record::Claimed {
            sequence,
            file: file_name(&taken.file),
            identity: taken.identity.clone(),
        });
        let before = before.map(|before| Record::Before { sequence, before });
        self.unwritten.extend(before);
        self.is_under_way = true;
    }

    fn tell_reply(&self, taken: &Taken) {
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

    fn at_limit(&self) -> Ending {
        self.agent.tell(Event::RoundLimit {
            id: self.session.session_id.clone(),
            rounds: self.session.sequence_number - 1,
        });
        Ending::RoundLimit
    }
}

/// A path as an event has it.
fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
