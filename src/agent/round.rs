//! One round: the steps of a reply, executed once, and what the session knows afterwards.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;

use super::check::Checked;
use super::differences::{Differences, differences};
use super::engine::{ReplyArrival, Taken};
use super::live_output::announce;
use super::planning::approval;
use super::redact::Redactor;
use super::round_journal::RoundJournal;
use super::shown_paths::ShownPaths;
use super::steps::StepJournal;
use super::{Agent, Baseline};
use crate::approve::Pending;
use crate::checkpoint::{CheckpointStore, DiffLimits};
use crate::error::Result;
use crate::execute;
use crate::policy::{Approval, Grant};
use crate::protocol::{
    Circling, Command, CommandKind, Event, LineTotals, Outcome, ReadRequest, RelPath, StagedBatch,
    StagedChange, StagedStep, Status, Step, StepResult, UnfinishedRun,
};
use crate::reply::{Issue, Reply};
use crate::session::{
    CheckReport, CheckedWhen, Circle, CutReply, Instructions, ModelQuestion, Note, Planning,
    Printed, Record, Session, Source, Sync, now,
};
use crate::workspace::Workspace;

/// After how many rounds the full instructions come back, because a chat forgets.
const FULL_INSTRUCTIONS_EVERY: u32 = 10;

/// The identity of a step: what it does, wherever it stands.
fn step_identity(command: &Command) -> String {
    let json = serde_json::to_vec(command).expect("a command is plain data");
    blake3::hash(&json).to_hex()[..16].to_owned()
}

/// The effects of a round's steps up to now.
#[derive(Debug, Default)]
pub(super) struct RoundProgress {
    /// Records that go into the journal with the next ones.
    pub(super) unwritten: Vec<Record>,
    /// The differences that the steps under way make, for the events that tell of them.
    differences: Differences,
    /// The files that the steps wrote.
    written: BTreeMap<RelPath, Written>,
}

/// The content of a file before and after the steps of a round, as hashes.
#[derive(Debug, Default)]
struct Written {
    before: Option<String>,
    after: Option<String>,
}

impl RoundProgress {
    /// Remembers what became of files, to see whether that goes in circles.
    pub(super) fn note_written(&mut self, staged: &[StagedStep]) {
        let is_made = |step: &&StagedStep| step.result.outcome.status == Status::Ok;
        let changes = staged.iter().filter(is_made).flat_map(|step| &step.changes);
        for (path, before, after) in changes.flat_map(StagedChange::effects) {
            let written = self.written.entry(path.clone()).or_insert_with(|| Written {
                before: before.map(str::to_owned),
                after: None,
            });
            written.after = after.map(str::to_owned);
        }
    }
}

/// Writes down what the steps of a round do, and tells it.
#[derive(Debug)]
pub(super) struct RoundLog<'e, 'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: &'e mut Session,
    pub(super) journal: &'e mut RoundJournal<'a>,
    pub(super) baseline: &'e mut Baseline<'a>,
    pub(super) redactor: &'e mut Redactor<'a>,
    pub(super) progress: &'e mut RoundProgress,
}

impl RoundLog<'_, '_> {
    /// Writes down what waited for the next step, once there is none.
    pub(super) fn write_rest(&mut self) -> Result<()> {
        let records = std::mem::take(&mut self.progress.unwritten);
        if records.is_empty() {
            return Ok(());
        }
        self.journal.record(&records)
    }
}

impl StepJournal for RoundLog<'_, '_> {
    fn started(&mut self, steps: &[u32], prepared: Option<StagedBatch>) -> Result<()> {
        if prepared.is_some() {
            self.journal.unsynced.note();
        }
        let staged = prepared.as_ref().map(|batch| batch.steps.as_slice());
        self.progress.differences = differences(&self.agent.workspace, staged.unwrap_or_default());
        let mut records = std::mem::take(&mut self.progress.unwritten);
        records.push(Record::Started {
            sequence: self.session.sequence_number,
            steps: steps.to_vec(),
            batch: prepared,
        });
        self.journal.record(&records)
    }

    fn finished(&mut self, results: &[StepResult]) -> Result<()> {
        let mut records = std::mem::take(&mut self.progress.unwritten);
        records.extend(finished_records(self.session.sequence_number, results));
        self.journal.append(&records, Sync::Later)?;
        let mut differences = std::mem::take(&mut self.progress.differences);
        // Whether `[DONE]` counts is decided when all is over, and told then.
        for result in results
            .iter()
            .filter(|result| !result.is(CommandKind::Done))
        {
            // What was prepared and failed did not come.
            let own = differences.remove(&result.number);
            let own = own.filter(|_| result.outcome.status == Status::Ok);
            self.agent.tell(Event::Step {
                result: result.clone(),
                differences: own.unwrap_or_default(),
            });
        }
        Ok(())
    }

    fn changed(&mut self, staged: &[StagedStep], failed: &[usize]) {
        for place in failed {
            self.baseline.note_others(&staged[*place]);
        }
        self.progress.note_written(staged);
        if staged.iter().any(|step| !step.changes.is_empty()) {
            self.journal.unsynced.note();
        }
    }

    fn announce(&mut self, step: &Step) {
        if !is_proposal(self.session, step) {
            announce(&*self.agent.person, step);
        }
    }

    fn reveal<'s>(&self, step: &'s Step) -> Result<Cow<'s, Step>, Outcome> {
        self.redactor.reveal(step)
    }

    fn attend(&mut self, step: &Step) -> Option<Printed> {
        let folder = self.agent.store.folder(&self.session.session_id);
        let (sequence, max_bytes) = (self.session.sequence_number, self.agent.limits.max_output);
        let printed = Printed::begin(&folder, sequence, step.number, max_bytes);
        self.journal.unsynced.note();
        if let Command::RunCommand { script, .. } = &step.command {
            self.redactor.learn_named(script);
        }
        Some(printed)
    }

    fn questions(&mut self) -> Result<Pending> {
        Ok(self.agent.pending(&self.session.session_id))
    }

    fn granted(&self) -> Option<Grant> {
        self.session.network_granted.then_some(Grant::Network)
    }

    fn grant_network(&mut self) {
        let agent = self.agent;
        let known = &agent.manner.authorizer.known_sessions;
        // Where it cannot be kept, it is asked again after a stop.
        if let Err(error) = known.give_network(&agent.base, &self.session.session_id) {
            agent.tell(Event::from(&error));
        }
        self.session.network_granted = true;
    }
}

/// Moves a session on when the steps of a round are done, and tells the person.
#[derive(Debug)]
pub(super) struct RoundConclusion<'e, 'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: &'e mut Session,
}

impl RoundConclusion<'_, '_> {
    /// Moves the session to the next round and records what the next message says about the reply
    /// and its results. Returns true if nobody waits any more for the answer to an earlier question.
    pub(super) fn move_on(
        &mut self,
        taken: Taken,
        results: Vec<StepResult>,
        proposes: bool,
    ) -> bool {
        let (agent, session) = (self.agent, &mut *self.session);
        let reply = taken.reply;
        session.last_cut = reply.cut.clone().map(|cut| CutReply {
            sequence: session.sequence_number,
            cut,
            done: reply
                .steps
                .iter()
                .map(|step| step_identity(&step.command))
                .collect(),
        });
        let is_whole = taken.arrival == ReplyArrival::Whole;
        session.lacks_end =
            is_whole && reply.end.is_none() && reply.cut.is_none() && !reply.steps.is_empty();
        session.has_files_elsewhere |= agent.manner.authorizer.runner.keeps_files();
        let undecided = results.iter().filter(|result| result.outcome.needs_person);
        let undecided = u32::try_from(undecided.count()).unwrap_or(u32::MAX);
        session.undecided_steps = session.undecided_steps.saturating_add(undecided);
        for outcome in results.iter().map(|result| &result.outcome) {
            if outcome.unfinished == Some(UnfinishedRun::NotStarted) {
                session.unstarted_command = Some(outcome.message.clone());
            } else if outcome.exit_code.is_some() || outcome.unfinished.is_some() {
                session.unstarted_command = None;
            }
        }
        session.sequence_number += 1;
        session.remember_reply(taken.identity);
        session.read_file_requests = read_requests(&agent.workspace, &reply.steps, &results);
        let asked = questions(&reply.steps, &results);
        // A client may give up waiting and make other calls: its question stays until it asks again.
        let replaces_question = is_whole || !asked.is_empty();
        if replaces_question {
            session.questions = asked;
        } else {
            session.questions.retain(|one| one.answer.is_none());
        }
        if let Some(plan) = reply.steps.iter().rev().find_map(plan) {
            session.plan = Some(plan);
        }
        if proposes {
            session.planning = Planning::Proposed;
        }
        session.instructions = if agent.manner.keeps_context {
            instructions(session, &reply)
        } else {
            Instructions::Full
        };
        let repairs = reply.repairs.iter().filter(|repair| repair.in_body);
        session.last_repairs = repairs.map(|repair| repair.what.clone()).collect();
        session.last_issues = reply.issues;
        session.last_results = results;
        replaces_question
    }

    /// Ends the session if the model is done, or the person wants no more than the check.
    pub(super) fn end_if_done(&mut self, done: Option<String>, checked: Checked) {
        let session = &mut *self.session;
        let by_check = checked == Checked::Ends && session.questions.is_empty();
        let summary = done.or_else(|| by_check.then(|| "The check passes.".to_owned()));
        if summary.is_some() {
            session.is_complete = true;
            session.summary = summary;
            self.forget_reverted_files();
        }
    }

    /// Keeps which files the session changed on the whole. Where that cannot be found out, they stay.
    fn forget_reverted_files(&mut self) {
        let (agent, session) = (self.agent, &mut *self.session);
        // The journal has this round only when it is concluded.
        let round = session.sequence_number - 1;
        let latest = session.checkpoints.back();
        let latest = latest.filter(|latest| latest.round == round);
        let latest = latest.map(|latest| (latest.before, latest.after));
        let Ok(net) = agent.net_changes(&session.session_id, latest) else {
            return;
        };
        session.changed_files = agent.changed_on_the_whole(&session.changed_files, &net);
    }

    /// Finds signs that the model is going in circles; the next message mentions them too.
    pub(super) fn circles(
        &mut self,
        progress: RoundProgress,
        results: &[StepResult],
        issues: &[Issue],
    ) -> Vec<Circle> {
        let Session {
            circles,
            check,
            last_circles,
            ..
        } = &mut *self.session;
        let mut told = circles.remember_failures(results);
        told.extend(circles.remember_issues(issues));
        let has_run = |report: &&CheckReport| report.when == CheckedWhen::AfterRound;
        if let Some(report) = check.as_ref().filter(has_run) {
            told.extend(circles.remember_check(report));
        }
        for (path, written) in progress.written {
            if let Some(after) = &written.after {
                told.extend(circles.remember_state(&path, written.before.as_deref(), after));
            }
        }
        *last_circles = told.iter().map(|circle| circle.for_model.clone()).collect();
        told
    }

    /// Says what the steps themselves did not: that a `[DONE]` does not count after all, or that
    /// there was nothing to carry out.
    pub(super) fn say_unfinished(&self, reply: &Reply, results: &[StepResult]) {
        let does_not_count = |result: &&StepResult| {
            result.is(CommandKind::Done) && result.outcome.status != Status::Ok
        };
        for result in results.iter().filter(does_not_count) {
            self.agent.tell(Event::Step {
                result: result.clone(),
                differences: Vec::new(),
            });
        }
        if reply.steps.is_empty() && reply.issues.is_empty() && reply.cut.is_none() {
            self.agent.tell(Event::NoCommands);
        }
    }

    pub(super) fn say_circles(&self, circles: &[Circle]) {
        if circles.is_empty() {
            return;
        }
        let circles: Vec<Circling> = (circles.iter())
            .map(|circle| circle.for_person.clone())
            .collect();
        self.agent.tell(Event::Circles { circles });
    }

    /// About how many tokens the message of this round and its reply have, by their lengths.
    pub(super) fn tokens_of_round(&self, reply: &Path) -> usize {
        let session = &*self.session;
        let mailbox = &self.agent.mailbox;
        let posted = mailbox.posted(&session.session_id, session.sequence_number);
        let files = posted.into_iter().flat_map(|posted| {
            let attachment = posted.attachment.into_iter();
            posted.pastes.into_iter().chain(attachment)
        });
        let length = |file: &Path| std::fs::metadata(file).map_or(0, |file| file.len());
        let bytes: u64 = files.map(|file| length(&file)).sum::<u64>() + length(reply);
        usize::try_from(bytes / 7 * 2).unwrap_or(usize::MAX)
    }

    /// Counts the lines that the session changed in each file; a courtesy, on which nothing depends.
    fn changed_lines(&self) -> BTreeMap<String, LineTotals> {
        let agent = self.agent;
        let Ok(history) = agent.store.history(&self.session.session_id) else {
            return BTreeMap::new();
        };
        let rounds = history.snapshots(0);
        if rounds.is_empty() {
            return BTreeMap::new();
        }
        let stat = CheckpointStore::open(&agent.store.objects()).and_then(|mut objects| {
            let changes = objects.net_changes(&rounds)?;
            objects.stat_of(changes, &DiffLimits::default())
        });
        let counted = stat.into_iter().flatten().filter_map(|stat| {
            let path = stat.change.path.to_string_lossy().into_owned();
            let lines = stat.lines?;
            let (added, removed) = (lines.added, lines.removed);
            Some((path, LineTotals { added, removed }))
        });
        counted.collect()
    }

    pub(super) fn say_done(&self, notes: &[Note]) {
        let session = &*self.session;
        let files = session.changed_files.iter();
        self.agent.tell(Event::Done {
            id: session.session_id.clone(),
            summary: session.summary.clone().unwrap_or_default(),
            rounds: session.sequence_number - 1,
            changed: session.changed_files.len(),
            files: files.cloned().collect(),
            lines: self.changed_lines(),
            seconds: seconds_since(session.created_at),
            workspace: self.agent.workspace.path().display().to_string(),
        });
        for note in notes.iter().filter(|note| note.source == Source::Person) {
            let text = note.text.clone();
            self.agent.tell(Event::NoteUnsent { text });
        }
    }
}

/// The differences that earlier rounds made to files, in the mode in which files are changed without
/// a question; a courtesy, on which nothing depends.
pub(super) fn unseen_changes(agent: &Agent, session: &Session) -> Vec<(String, String)> {
    /// A session may change any number of files.
    const MOST: usize = 200;
    if approval(agent, session) != Approval::Edits {
        return Vec::new();
    }
    let shown = ShownPaths::of(&agent.workspace);
    let is_shown = |path: &Path| (shown.as_ref()).is_none_or(|shown| shown.has(path));
    let store = &agent.store;
    let found = || -> Result<Vec<(String, String)>> {
        let rounds = store.history(&session.session_id)?.snapshots(0);
        if rounds.is_empty() {
            return Ok(Vec::new());
        }
        let mut objects = CheckpointStore::open(&store.objects())?;
        let changes = objects.net_changes(&rounds)?.into_iter();
        let changes = changes.filter_map(|change| change.seen(is_shown));
        let mut found = Vec::new();
        for change in changes.take(MOST) {
            let path = change.path.display().to_string();
            let difference = objects.diff_of(&[change], &DiffLimits::default())?;
            found.push((path, difference));
        }
        Ok(found)
    };
    found().unwrap_or_default()
}

/// The mark in the temporary names of this round's new contents.
pub(super) fn staging_mark(session: &Session) -> String {
    let (id, sequence) = (&session.session_id, session.sequence_number);
    format!("{id}-{sequence:04}")
}

/// The records of steps that are done.
pub(super) fn finished_records(sequence: u32, results: &[StepResult]) -> Vec<Record> {
    let finished = |result: &StepResult| Record::Finished {
        sequence,
        result: result.clone(),
    };
    results.iter().map(finished).collect()
}

/// Returns true if the step is a plan that the person will be asked about; the question shows
/// it.
pub(super) fn is_proposal(session: &Session, step: &Step) -> bool {
    session.planning.is_open() && plan(step).is_some()
}

/// Returns the results of the first steps if this reply came before, cut off.
pub(super) fn known_results(session: &Session, reply: &Reply) -> Vec<StepResult> {
    match &session.last_cut {
        Some(cut) if continues(session, reply) => {
            let known = session.last_results.iter();
            known.take(cut.done.len()).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// How long ago that was; a clock that was set back makes it no time.
fn seconds_since(begin: Timestamp) -> u64 {
    let seconds = now().as_second() - begin.as_second();
    u64::try_from(seconds).unwrap_or(0)
}

/// Returns true if this is the complete version of a reply that was cut off in the round before.
pub(super) fn continues(session: &Session, reply: &Reply) -> bool {
    let Some(cut) = &session.last_cut else {
        return false;
    };
    let steps = reply.steps.iter().map(|step| step_identity(&step.command));
    let first: Vec<String> = steps.take(cut.done.len()).collect();
    // Models forget the mark; then the steps themselves tell.
    let is_same_round = reply
        .end
        .as_ref()
        .map_or(!first.is_empty(), |end| end.sequence == cut.sequence);
    is_same_round && first == cut.done
}

/// Decides about `[DONE]`: its summary if the session ends with this reply.
pub(super) fn settle_done(
    taken: &Taken,
    results: &mut [StepResult],
    proposes: bool,
) -> Option<String> {
    let reply = &taken.reply;
    let (at, summary) =
        reply
            .steps
            .iter()
            .enumerate()
            .find_map(|(at, step)| match &step.command {
                Command::Done { summary } => Some((at, bounded(summary))),
                _ => None,
            })?;
    // Of calls the model knew each result before it made the next one.
    let concerned = match taken.arrival {
        ReplyArrival::Whole => 0,
        ReplyArrival::Calls => at,
    };
    let failed = results[concerned..]
        .iter()
        .find(|result| result.outcome.status != Status::Ok);
    let malformed = reply.issues.iter().find_map(|issue| issue.number);
    let broken = broken_syntax(&results[concerned..]);
    let asks = reply.steps[concerned..]
        .iter()
        .any(|step| matches!(step.command, Command::AskUser { .. }));
    let trouble = if let Some(result) = failed {
        format!("step {} did not succeed", result.number)
    } else if let Some(number) = malformed {
        format!("step {number} was not understood")
    } else if let Some(path) = broken {
        format!(
            "{} has a syntax error that it did not have before",
            path.quoted()
        )
    } else if reply.cut.is_some() {
        "the reply was cut off".to_owned()
    } else if asks {
        "the same reply asks the user a question".to_owned()
    } else if proposes {
        "the user has to decide about the plan".to_owned()
    } else {
        return Some(summary);
    };
    results[at].outcome = Outcome::refused(trouble)
        .with_hint("fix it, or, if nothing needs fixing, send a reply with only [DONE]");
    None
}

/// A file that these steps leave with a syntax error which it did not have before.
fn broken_syntax(results: &[StepResult]) -> Option<&RelPath> {
    let outcomes = || results.iter().map(|result| &result.outcome);
    let is_left = |(at, path): &(usize, &RelPath)| {
        !outcomes()
            .skip(at + 1)
            .any(|later| later.changed.contains(path))
    };
    let broken = outcomes().enumerate();
    let mut broken =
        broken.flat_map(|(at, outcome)| outcome.broken_syntax.iter().map(move |path| (at, path)));
    broken.find(is_left).map(|(_, path)| path)
}

pub(super) fn read_requests(
    workspace: &Workspace,
    steps: &[Step],
    results: &[StepResult],
) -> Vec<ReadRequest> {
    let fine = steps
        .iter()
        .zip(results)
        .filter(|(_, result)| result.outcome.status == Status::Ok);
    execute::read_requests(workspace, fine.map(|(step, _)| step))
}

fn questions(steps: &[Step], results: &[StepResult]) -> Vec<ModelQuestion> {
    let put = steps
        .iter()
        .zip(results)
        .filter(|(_, result)| result.outcome.status == Status::Ok);
    let asked = put.filter_map(|(step, _)| match &step.command {
        Command::AskUser { question } => Some(bounded(question)),
        _ => None,
    });
    asked
        .map(|question| ModelQuestion {
            question,
            answer: None,
        })
        .collect()
}

/// Truncates what the model says to the person: it is stored, shown and sent again.
pub(super) fn bounded(text: &str) -> String {
    const MAX_CHARS: usize = 4_000;
    match text.char_indices().nth(MAX_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let omitted = text[end..].chars().count();
            format!(
                "{}\n[TRUNCATED: {omitted} characters omitted]",
                &text[..end]
            )
        }
    }
}

fn plan(step: &Step) -> Option<String> {
    match &step.command {
        Command::Plan { text } => Some(bounded(text)),
        _ => None,
    }
}

/// The full text comes back after a reply that broke the format, and now and then.
fn instructions(session: &Session, reply: &Reply) -> Instructions {
    let broke_format = reply.issues.iter().any(|issue| issue.number.is_some())
        || (reply.steps.is_empty() && reply.cut.is_none());
    let is_due = session
        .sequence_number
        .is_multiple_of(FULL_INSTRUCTIONS_EVERY);
    if broke_format || is_due || session.plan_word().is_some() {
        Instructions::Full
    } else {
        Instructions::Reminder
    }
}
