//! Going on where a killed process stopped.
//!
//! No step is executed twice. What the journal knows to be finished is kept. File steps that were
//! under way are settled by the hashes of their files, and brought to their end. A command that was
//! under way is told to the model as interrupted, with what it had printed; what was to come after
//! it is told as skipped, because nobody knows what it would build on. Otherwise the steps that were
//! never begun are executed now, and so is a reply that was claimed and not begun.
//!
//! A step that the journal does not mention was never begun, provided that the journal is whole.
//! Where records are missing (a torn end, a journal that was lost, cut or put back), all that is not
//! mentioned is told as interrupted, and nothing of that reply is executed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::accept::read_reply_in;
use super::check::Checked;
use super::engine::{Engine, Patience, ReplyArrival, Taken};
use super::environment::environment;
use super::round::{finished_records, staging_mark};
use super::steps::Begun;
use super::{Agent, file_name, identity};
use crate::approve::Person;
use crate::error::{Error, Result};
use crate::execute::{self, Execution};
use crate::fs::{Durability, free_name, own_directory, write_atomic};
use crate::mailbox::{first_call, has_calls, read_calls, shortened};
use crate::protocol::{
    Bounded, Command, DisarmedFile, Event, Outcome, PersonAct, Recovery, RelPath, SeenFiles,
    StagedFile, StagedStep, Step, StepResult,
};
use crate::reply::{Issue, Reply};
use crate::repositories::{self, DisarmReport, KeptInventory};
use crate::session::{
    CheckProgress, CheckReport, CheckedWhen, ClaimedReply, MissingRecords, Printed, Record,
    Recovered, RoundLock, Session, Sync,
};

/// Takes out of force what a command made git run, if `agent` was killed before it could do so
/// itself: in whichever session that was.
///
/// `kept` is where the repositories before the command are written down.
pub fn disarm_left(kept: Option<&Path>, sessions: &Path, person: &dyn Person) {
    let Some(kept) = kept.filter(|kept| kept.exists()) else {
        return;
    };
    // While somebody carries out a reply it is theirs.
    let Ok(_alone) = RoundLock::take(sessions) else {
        return;
    };
    if let Some(report) = KeptInventory::disarm(kept) {
        person.emit(Event::Recovery(disarmed(&report)));
    }
}

/// Tells the person what was disabled, and what could not be looked through.
pub(super) fn disarmed(report: &DisarmReport) -> Recovery {
    const MOST: usize = 20;
    let name = |path: &Path| path.to_string_lossy().into_owned();
    let names =
        |paths: &[PathBuf]| Bounded::new(MOST, paths.iter().map(|path| name(path.as_path())));
    let disabled = report.disarmed.iter().map(|one| DisarmedFile {
        path: name(&one.path),
        settings: Bounded::new(MOST, one.settings.iter().cloned()),
        failure: one.failure.clone(),
    });
    Recovery::Disarmed {
        disabled: Bounded::new(MOST, disabled),
        suffix: repositories::DISABLED.to_owned(),
        opened: names(&report.opened),
        closed: names(&report.closed),
        is_cut: report.is_cut,
        is_unknown: report.is_unknown,
        in_cache: report.in_cache,
    }
}

/// The longest part of a name that is kept, in bytes: a number before and after it must fit.
const MAX_KEPT_NAME: usize = 200;

/// Opens a session for work and finishes what was left unfinished.
pub(super) fn open(agent: &Agent, session: Session, patience: Patience) -> Result<Engine<'_>> {
    let (mut engine, recovered) = restore(agent, session)?;
    let check = agent.manner.check.as_ref().map(|check| &check.command);
    let known = engine.session.check.as_ref();
    let is_same_check = known.map(|report| &report.command) == check;
    // While a round is under way nothing is saved: the journal would forget that it is.
    if agent.take_choices(&mut engine.session) && recovered.claimed.is_none() {
        let _alone = engine.alone()?;
        if !is_same_check {
            // The waiting message tells of another check, or of none.
            engine.publisher().withdraw()?;
        }
        engine.save()?;
    }
    engine.left(&recovered).finish(patience)?;
    Ok(engine)
}

/// Opens a session as it was last saved, and tells what was under way.
pub(super) fn restore(agent: &Agent, session: Session) -> Result<(Engine<'_>, Recovered)> {
    let _alone = RoundLock::wait(agent.store.directory())?;
    let (journal, mut recovered) = agent.store.journal(&session.session_id)?;
    agent.record_events_of(&session.session_id);
    agent.tell_missing(&session, &recovered);
    let given = session;
    let is_known = |recorded: &Session| recorded.sequence_number >= given.sequence_number;
    let is_behind = !recovered.session.as_ref().is_some_and(is_known);
    if let Some(recorded) = &mut recovered.session {
        // The journal does not list the files that an undo after the end left changed.
        agent.store.recall_reversal(recorded);
    }
    let session = match recovered.session.take() {
        Some(recorded) if is_behind || is_other_than(&recorded, &given) => {
            if is_behind {
                given.clone()
            } else {
                agent.tell(Event::Recovery(Recovery::SessionReplaced));
                agent.store.save(&recorded)?;
                recorded
            }
        }
        Some(recorded) => recorded,
        None => given.clone(),
    };
    if is_behind {
        // It tells of an earlier round, or of none.
        recovered = Recovered {
            missing: Some(MissingRecords::ActedOn),
            written_at: recovered.written_at,
            ..Recovered::default()
        };
    }
    if recovered.missing.is_some() {
        agent.reject_later_replies(&session)?;
    }
    let notes = agent.store.notes(&session.session_id);
    notes.remove_told(&told(&session), session.updated_at);
    let mut engine = Engine::new(agent, session, journal);
    if engine.session.network_granted {
        // The records may have come with a project.
        let known = &agent.manner.authorizer.known_sessions;
        engine.session.network_granted = known.has_network(&agent.base, &given.session_id)?;
    }
    engine.undone(&recovered.undone);
    (engine.session.history).mark(&recovered.redone, false);
    let sandbox = agent.manner.authorizer.sandbox_name();
    let is_other =
        engine.session.sandbox != sandbox || engine.session.round_limit != given.round_limit;
    engine.session.round_limit = given.round_limit;
    engine.session.sandbox = sandbox;
    let unmentioned = unmentioned_claim(&engine, &recovered)?;
    let is_between = recovered.claimed.is_none() && unmentioned.is_none();
    let is_other = engine.plan_mode().begin() || is_other;
    let when = if engine.session.sequence_number > 1 {
        CheckedWhen::AfterReversal
    } else {
        CheckedWhen::AtStart
    };
    let is_other = (is_between && engine.checks().take_over(&recovered.check, when)) || is_other;
    if let Some(claimed) = unmentioned {
        record_claim(&mut engine, &claimed, &recovered, is_behind)?;
        recovered.claimed = Some(claimed);
    } else if is_behind || (is_other && is_between) {
        // While a round is under way nothing is saved: the journal would forget that it is.
        engine.save()?;
    }
    engine.is_under_way = recovered.claimed.is_some();
    if let Some(claimed) = &recovered.claimed
        && let Some(taken) = same_reply(agent, claimed)?
    {
        let sequence = engine.session.sequence_number;
        let (baseline, journal) = (&mut engine.baseline, &mut engine.journal);
        baseline.set_apart(&mut recovered, sequence, &taken.reply.steps, journal)?;
    }
    Ok((engine, recovered))
}

/// The reply of this round that was claimed, if the journal has lost records that may have told
/// of it: it may have been carried out.
fn unmentioned_claim(engine: &Engine<'_>, recovered: &Recovered) -> Result<Option<ClaimedReply>> {
    if recovered.claimed.is_some() || recovered.missing.is_none() {
        return Ok(None);
    }
    let (id, sequence) = (&engine.session.session_id, engine.session.sequence_number);
    let Some(file) = engine.agent.mailbox.claimed(id, sequence) else {
        return Ok(None);
    };
    let taken = reread(engine.agent, file)?;
    Ok(Some(ClaimedReply {
        file: file_name(&taken.file),
        identity: taken.identity,
    }))
}

/// Writes down that a reply is under way of which the journal had lost the records; with the
/// session before it where the journal does not have that either.
///
/// In one write: a kill must not leave a journal that looks whole and does not know the reply.
fn record_claim(
    engine: &mut Engine<'_>,
    claimed: &ClaimedReply,
    recovered: &Recovered,
    is_behind: bool,
) -> Result<()> {
    let mut records = Vec::new();
    if is_behind {
        let session = Box::new(engine.session.clone());
        records.push(Record::Round {
            session,
            marked: false,
        });
    }
    let missing = recovered.missing.unwrap_or(MissingRecords::ActedOn);
    records.push(Record::Truncated { missing });
    records.push(Record::Claimed {
        sequence: engine.session.sequence_number,
        file: claimed.file.clone(),
        identity: claimed.identity.clone(),
    });
    engine.journal.append(&records, Sync::Now)
}

impl Agent {
    /// Takes over what the person chose by flag and where the session works, and forgets how another
    /// check stood; tells whether that is new.
    pub fn take_choices(&self, session: &mut Session) -> bool {
        let manner = &self.manner;
        let mut is_new = session.choices != manner.choices;
        session.choices.clone_from(&manner.choices);
        let workspace = self.workspace_from_base();
        is_new |= session.workspace != workspace;
        if session.workspace != workspace {
            session.outside_repository = None;
        }
        session.workspace = workspace;
        if session.outside_repository.is_none() {
            session.outside_repository = self.repository_from_workspace();
            is_new |= session.outside_repository.is_some();
        }
        let command = manner.check.as_ref().map(|check| &check.command);
        let known = session.check.as_ref().map(|report| &report.command);
        if command != known {
            // In the first round it runs before the message is written.
            let is_begun = session.sequence_number > 1;
            session.check = (command.cloned().filter(|_| is_begun)).map(CheckReport::not_yet);
            is_new = true;
        }
        if session.environment.is_empty() && session.sequence_number == 1 {
            session.environment = environment(&self.manner.authorizer, self.workspace.path());
            is_new = true;
        }
        is_new
    }
}

/// A round that a killed process left unfinished, or none.
#[derive(Debug)]
pub(super) struct LeftRound<'e, 'a> {
    pub(super) engine: &'e mut Engine<'a>,
    /// Its records in the journal.
    pub(super) recovered: &'e Recovered,
}

impl LeftRound<'_, '_> {
    /// Finishes the round: what was begun is settled, what was not is carried out.
    fn finish(&mut self, patience: Patience) -> Result<()> {
        let recovered = self.recovered;
        let (id, sequence) = (
            &self.engine.session.session_id,
            self.engine.session.sequence_number,
        );
        let Some(claimed) = &recovered.claimed else {
            let Some(file) = self.engine.agent.mailbox.claimed(id, sequence) else {
                return Ok(());
            };
            if has_calls(&file_name(&file)) {
                // A call that was not begun: nobody waits for it, and the client makes it again.
                return crate::fs::remove(&file);
            }
            self.engine
                .agent
                .tell(Event::Recovery(Recovery::ReplyTaken));
            let taken = reread(self.engine.agent, file)?;
            self.remove_staged(&taken.reply.steps);
            return self.engine.step(taken, patience);
        };
        self.engine
            .agent
            .tell(Event::Recovery(Recovery::ReplyUnderWay));
        let Some(mut taken) = same_reply(self.engine.agent, claimed)? else {
            let _alone = self.engine.alone()?;
            return self.conclude_without_reply(claimed);
        };
        taken.leave_out_unbegun(recovered);
        let steps = &taken.reply.steps;
        let begun = {
            let _alone = self.engine.alone()?;
            let mut begun = self.settle_steps(steps)?;
            self.settle_offer(steps, &mut begun.results, patience)?;
            begun
        };
        let Some(plan) = self
            .engine
            .plan(steps, begun.results.len(), (patience, taken.arrival))?
        else {
            return Ok(());
        };
        let _alone = self.engine.alone()?;
        let mut results = self.engine.execute(&taken, &plan, begun)?;
        if taken.arrival == ReplyArrival::Calls {
            self.engine.last_call = results.last().cloned();
        }
        // The round ends now, so that it can be undone like any other.
        let progress = self.check_progress();
        let plan = (recovered.before, self.engine.input(patience), &progress);
        let checked = self.engine.checks().after_round(plan, steps, &results)?;
        self.engine
            .checkpoint_after(recovered.before, steps, &mut results)?;
        self.engine.conclude(taken, results, checked)
    }

    /// How far the check came; one that may have run counts as begun.
    fn check_progress(&self) -> CheckProgress {
        let recovered = self.recovered;
        match (&recovered.check, &self.engine.agent.manner.check) {
            (CheckProgress::NotBegun, Some(check)) if recovered.missing.is_some() => {
                CheckProgress::Begun(check.command.clone())
            }
            (known, _) => known.clone(),
        }
    }

    /// Concludes a round that was under way, without beginning anything more of it.
    pub(super) fn break_off(&mut self) -> Result<()> {
        let recovered = self.recovered;
        let Some(claimed) = &recovered.claimed else {
            return Ok(());
        };
        let Some(mut taken) = same_reply(self.engine.agent, claimed)? else {
            return self.conclude_without_reply(claimed);
        };
        taken.leave_out_unbegun(recovered);
        let steps = &taken.reply.steps;
        let mut results = self.settle_steps(steps)?.results;
        for step in &steps[results.len()..] {
            let outcome = Outcome::by_person(PersonAct::EndedSession);
            results.push(StepResult::new(step, outcome, Duration::ZERO));
        }
        self.engine
            .checkpoint_after(recovered.before, steps, &mut results)?;
        self.engine.conclude(taken, results, Checked::GoesOn)
    }

    /// Concludes a round whose reply is gone: what the journal knows is told, and what it does not.
    fn conclude_without_reply(&mut self, claimed: &ClaimedReply) -> Result<()> {
        let recovered = self.recovered;
        let ClaimedReply { file, identity } = claimed;
        let file_gone = Recovery::ReplyGone { file: file.clone() };
        self.engine.agent.tell(Event::Recovery(file_gone));
        let (mut results, _) = self.settle_files();
        let settled: Vec<u32> = results.iter().map(|result| result.number).collect();
        let finished = recovered.finished.iter();
        results.extend(
            finished
                .filter(|one| !settled.contains(&one.number))
                .cloned(),
        );
        results.sort_by_key(|result| result.number);
        let is_known = |number: &u32| results.iter().any(|result| result.number == *number);
        let unknown: Vec<String> = recovered
            .started
            .iter()
            .filter(|number| !is_known(number))
            .map(u32::to_string)
            .collect();
        let rest = if recovered.missing.is_some() {
            "what is not below may or may not have happened"
        } else {
            "what is not below was not done"
        };
        let mut message = format!(
            "your last reply was lost while it was being carried out; what is known of it is below, and {rest}"
        );
        if !unknown.is_empty() && recovered.missing.is_none() {
            message.push_str(
                ", but for these commands, which were under way and may or may not have happened: ",
            );
            message.push_str(&unknown.join(", "));
        }
        let issue = Issue {
            line: 1,
            number: None,
            command: None,
            message,
            hint: "look at the files before you send the rest again".to_owned(),
        };
        let taken = Taken {
            name: file.clone(),
            reply: Reply {
                issues: vec![issue],
                ..Reply::default()
            },
            identity: identity.clone(),
            file: self.engine.agent.mailbox.processed().join(file),
            arrival: ReplyArrival::Whole,
        };
        self.engine.conclude(taken, results, Checked::GoesOn)
    }

    /// Collects the results of the steps of a stopped round: those that were begun, or all of them if
    /// one was interrupted or the journal has lost records.
    ///
    /// Steps that neither change files nor run programs are carried out now: repeating them does no
    /// harm.
    fn settle_steps(&mut self, steps: &[Step]) -> Result<Begun> {
        let recovered = self.recovered;
        let (agent, sequence) = (self.engine.agent, self.engine.session.sequence_number);
        let folder = agent.store.folder(&self.engine.session.session_id);
        let (settled, files) = self.settle_files();
        self.remove_staged(steps);
        let known = recovered.finished.iter().chain(&settled);
        let known: BTreeMap<u32, &StepResult> = known.map(|known| (known.number, known)).collect();
        let is_finished = |number: u32| (recovered.finished.iter()).any(|one| one.number == number);
        let mut seen = SeenFiles::default();
        let (hider, keys) = (
            self.engine.redactor.hider(),
            self.engine.redactor.keys().clone(),
        );
        let mut execution = Execution::begin(&agent.workspace, &agent.limits, &mut seen, steps)
            .hiding(hider.as_deref())
            .withholding(&keys);
        let (mut results, mut is_stopped) = (Vec::new(), false);
        // Where records are missing, every step that is not mentioned may have happened.
        let is_unknown = recovered.missing.is_some();
        for step in steps {
            let is_begun = recovered.started.contains(&step.number);
            let result = if let Some(known) = known.get(&step.number) {
                (*known).clone()
            } else if is_harmless(&step.command) && (is_begun || is_stopped || is_unknown) {
                StepResult::new(step, execution.step(step), Duration::ZERO)
            } else if is_begun {
                is_stopped = true;
                let result = interrupted(step, Printed::left(&folder, sequence, step.number));
                self.engine.interrupted.push(result.clone());
                result
            } else if is_unknown {
                is_stopped = true;
                self.engine.interrupted.push(unknown(step));
                unknown(step)
            } else if is_stopped {
                let outcome = Outcome::skipped("`agent` was stopped before this")
                    .with_hint("send it again if it is still wanted");
                StepResult::new(step, outcome, Duration::ZERO)
            } else {
                break;
            };
            results.push(result);
        }
        let new = results.iter().filter(|result| !is_finished(result.number));
        let new: Vec<StepResult> = new.cloned().collect();
        let records = finished_records(sequence, &new);
        self.engine.journal.append(&records, Sync::Later)?;
        for result in &new {
            Printed::forget(&folder, sequence, result.number);
        }
        Ok(Begun {
            results,
            files,
            known: Vec::new(),
        })
    }

    /// Removes what a killed process prepared for steps that it never began. Of a step that it began
    /// the temporary name can hold the old content, which the journal tells apart; if records that
    /// were acted on are missing, nobody can.
    fn remove_staged(&self, steps: &[Step]) {
        let recovered = self.recovered;
        if recovered.missing == Some(MissingRecords::ActedOn) {
            return;
        }
        let is_recorded = |step: &&Step| {
            let batches = recovered.batches.iter().flat_map(|batch| &batch.steps);
            batches
                .map(|recorded| &recorded.result)
                .any(|result| result.number == step.number)
        };
        let unrecorded = || steps.iter().filter(|step| !is_recorded(step));
        let mark = staging_mark(&self.engine.session);
        let marks: Vec<String> = unrecorded()
            .map(|step| format!("{mark}-{}-", step.number))
            .collect();
        let paths: Vec<&RelPath> = unrecorded()
            .flat_map(|step| step.command.changed_paths())
            .collect();
        let is_left_over = |mark: &str| marks.iter().any(|prefix| mark.starts_with(prefix));
        (self.engine.agent.workspace).remove_left_overs(&paths, is_left_over);
    }

    /// Brings the file steps to their end that were under way, and tells what is known of the files
    /// of all steps.
    fn settle_files(&mut self) -> (Vec<StepResult>, Vec<StagedFile>) {
        let recovered = self.recovered;
        let is_finished = |step: &StagedStep| {
            let number = step.result.number;
            (recovered.finished.iter()).any(|finished| finished.number == number)
        };
        let (mut results, mut files) = (Vec::new(), Vec::new());
        for batch in &recovered.batches {
            if batch.steps.iter().all(is_finished) {
                files.extend(batch.files.iter().cloned());
                self.engine
                    .progress
                    .note_written(&with_results(&batch.steps, &recovered.finished));
                continue;
            }
            self.engine.journal.unsynced.note();
            let settled =
                execute::settle(&self.engine.agent.workspace, batch, &mut |path, content| {
                    self.keep(path, content).map_err(|error| {
                        let problem = error.to_string();
                        self.engine
                            .agent
                            .tell(Event::Recovery(Recovery::FileChanged {
                                path: path.as_str().to_owned(),
                                kept: None,
                                problem: Some(problem.clone()),
                            }));
                        problem
                    })
                });
            self.engine
                .progress
                .note_written(&with_results(&batch.steps, &settled.results));
            results.extend(settled.results);
            files.extend(settled.files);
        }
        (results, files)
    }

    /// Keeps what was meant for a file that somebody else changed, and tells where.
    fn keep(&self, path: &RelPath, content: &[u8]) -> Result<String> {
        let folder = self
            .engine
            .agent
            .store
            .folder(&self.engine.session.session_id);
        let kept = folder.join("kept");
        own_directory(&kept)?;
        let sequence = self.engine.session.sequence_number;
        let name = shortened(path.file_name(), MAX_KEPT_NAME);
        let place = free_name(&kept, &format!("{sequence:04}-{name}"));
        write_atomic(&place, content, Durability::Durable)?;
        let shown = place
            .strip_prefix(&self.engine.agent.base)
            .unwrap_or(&place);
        let shown = shown.display().to_string();
        self.engine
            .agent
            .tell(Event::Recovery(Recovery::FileChanged {
                path: path.as_str().to_owned(),
                kept: Some(shown.clone()),
                problem: None,
            }));
        Ok(shown)
    }

    /// Comes back to an offer of the network that was open when the program was stopped.
    fn settle_offer(
        &mut self,
        steps: &[Step],
        results: &mut [StepResult],
        patience: Patience,
    ) -> Result<()> {
        let engine = &mut *self.engine;
        let mut seen = std::mem::take(&mut engine.session.seen);
        // The command has run once.
        engine.journal.unsynced.note();
        let when = (engine.session.sequence_number, engine.input(patience));
        let runner = engine.runner(None);
        let settled =
            runner.settle_offer(steps, self.recovered, when, &mut seen, &mut engine.log())?;
        engine.session.seen = seen;
        if let Some((at, result)) = settled {
            results[at] = result;
        }
        Ok(())
    }
}

impl Agent {
    /// Takes replies out of the way that were claimed for rounds of which all records are lost.
    fn reject_later_replies(&self, session: &Session) -> Result<()> {
        let (id, sequence) = (&session.session_id, session.sequence_number);
        let files = self.mailbox.reject_later(id, sequence)?;
        if !files.is_empty() {
            let files = Bounded::new(files.len(), files);
            self.tell(Event::Recovery(Recovery::LaterReplies { files }));
        }
        Ok(())
    }

    /// Tells what the journal of a session has lost.
    fn tell_missing(&self, session: &Session, recovered: &Recovered) {
        let torn = recovered.torn_bytes;
        let tell = |news| self.tell(Event::Recovery(news));
        if torn > 0 {
            tell(Recovery::JournalTorn { bytes: torn });
        }
        match &recovered.session {
            None if session.sequence_number > 1 => tell(Recovery::JournalMissing),
            Some(recorded) if recorded.sequence_number < session.sequence_number => {
                tell(Recovery::JournalBehind);
            }
            _ if recovered.lost_bytes > torn => tell(Recovery::JournalShort {
                bytes: recovered.lost_bytes,
            }),
            _ => {}
        }
    }
}

/// Returns true if the session file differs from the session in the journal.
///
/// A session file of a later round means that the journal has lost some; that case is handled
/// elsewhere. The round limit is ignored: the person may change it.
fn is_other_than(recorded: &Session, given: &Session) -> bool {
    let mut recorded = recorded.clone();
    recorded.round_limit = given.round_limit;
    recorded != *given
}

/// Lists the texts of the notes that are already part of the session; a killed process may have
/// left their files behind.
fn told(session: &Session) -> Vec<String> {
    let answers = session
        .questions
        .iter()
        .filter_map(|asked| asked.answer.as_ref());
    session.notes.iter().chain(answers).cloned().collect()
}

/// The steps with what became of them, as far as that is known.
fn with_results(steps: &[StagedStep], results: &[StepResult]) -> Vec<StagedStep> {
    let find = |number: u32| results.iter().find(|result| result.number == number);
    let known = steps.iter().filter_map(|step| {
        let result = find(step.result.number)?.clone();
        let changes = step.changes.clone();
        Some(StagedStep { result, changes })
    });
    known.collect()
}

/// The advice for a step that may have happened.
const LOOK: &str = "look before you repeat it";

/// Returns the result for a step that was under way when the program was stopped.
fn interrupted(step: &Step, printed: Option<String>) -> StepResult {
    let printed = printed.filter(|printed| !printed.is_empty());
    let hint = match printed {
        Some(_) => format!("{LOOK}; what it had printed is below"),
        None => LOOK.to_owned(),
    };
    let message = "interrupted: `agent` was stopped while this was under way, so it may or may not have happened";
    let outcome =
        (Outcome::failed(message).with_hint(hint)).with_detail(printed.unwrap_or_default());
    StepResult::new(step, outcome, Duration::ZERO)
}

/// Returns the result for a step that the journal does not mention though it may have happened.
fn unknown(step: &Step) -> StepResult {
    let message = "interrupted: `agent` was stopped and its journal is incomplete, so this may or may not have happened";
    let outcome = Outcome::failed(message).with_hint(LOOK);
    StepResult::new(step, outcome, Duration::ZERO)
}

/// Returns true if a step can be repeated without harm.
fn is_harmless(command: &Command) -> bool {
    !command.changes_files() && !matches!(command, Command::RunCommand { .. })
}

/// The reply that was being carried out, if it still is what it was.
fn same_reply(agent: &Agent, claimed: &ClaimedReply) -> Result<Option<Taken>> {
    let file = agent.mailbox.processed().join(&claimed.file);
    if !file.exists() {
        return Ok(None);
    }
    let taken = reread(agent, file)?;
    Ok(Some(taken).filter(|taken| taken.identity == claimed.identity))
}

fn reread(agent: &Agent, file: PathBuf) -> Result<Taken> {
    let bytes = fs::read(&file).map_err(|cause| Error::file("read", &file, cause))?;
    let name = file_name(&file);
    if has_calls(&name) {
        let steps = read_calls(&bytes);
        return Ok(Taken {
            name,
            reply: Reply {
                steps,
                ..Reply::default()
            },
            // It grew after the journal named it.
            identity: identity(first_call(&String::from_utf8_lossy(&bytes))),
            file,
            arrival: ReplyArrival::Calls,
        });
    }
    let (text, reply) = read_reply_in(&agent.workspace, &name, &bytes);
    Ok(Taken {
        name,
        reply,
        identity: identity(&text),
        file,
        arrival: ReplyArrival::Whole,
    })
}

impl Taken {
    /// Forgets calls that were written down and not begun: the client makes them again. Steps of a
    /// reply that came as a whole are carried out instead, and so is told everything that a journal
    /// with gaps does not mention.
    fn leave_out_unbegun(&mut self, recovered: &Recovered) {
        if self.arrival == ReplyArrival::Calls && recovered.missing.is_none() {
            let finished = recovered.finished.iter().map(|result| result.number);
            let begun = recovered.started.iter().copied().chain(finished).max();
            let begun = begun.unwrap_or_default();
            self.reply.steps.retain(|step| step.number <= begun);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ModelQuestion;
    use crate::session::tests::session;

    #[test]
    fn an_answer_that_the_session_has_was_told() {
        let mut session = session("ab12cd34");
        let asked = |answer: Option<&str>| ModelQuestion {
            question: "tabs?".to_owned(),
            answer: answer.map(str::to_owned),
        };
        session.notes = vec!["a note".to_owned()];
        session.questions = vec![asked(Some("tabs")), asked(None)];
        assert_eq!(told(&session), ["a note", "tabs"]);
    }

    #[test]
    fn the_journal_is_right_whatever_the_clock_says() {
        let recorded = session("ab12cd34");
        let mut given = recorded.clone();
        given.round_limit += 5;
        assert!(!is_other_than(&recorded, &given));
        given.updated_at += Duration::from_mins(1);
        assert!(is_other_than(&recorded, &given));
    }
}
