//! Carries out the steps of a reply, group by group.
//!
//! Consecutive file steps are one group: they are prepared, then written into the journal together
//! with the hashes of every file before and after, then made; where they write very much, they are
//! several groups. A command is a group of its own. The journal says on the disk what is about to be
//! done before it is done. What only looks at files sees them as the whole group leaves them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::time::Instant;

use super::differences::Differences;
use super::live_output::{LiveOutput, announce};
use super::permit::{Consent, Permission};
use super::round::{reason_to_skip, runs};
use super::{Conversation, Taken, Written};
use crate::error::{Error, Result};
use crate::execute::Execution;
use crate::policy::Grant;
use crate::protocol::{
    Command, Event, Outcome, StagedBatch, StagedChange, StagedFile, StagedStep, Status, Step,
    StepResult,
};
use crate::session::{Printed, Record, Sync};

/// What is done of a round already.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// What the journal is told before the next step.
    pub(super) records: Vec<Record>,
    /// What became of the first steps.
    pub(super) results: Vec<StepResult>,
    /// What is known of the files that they changed.
    pub(super) files: Vec<StagedFile>,
}

/// A round under way.
struct Progress<'r> {
    taken: &'r Taken,
    consent: &'r Consent,
    /// What became of the first steps when this reply came before.
    known: Vec<StepResult>,
    /// What the journal is told before the next step.
    records: Vec<Record>,
    results: Vec<StepResult>,
    /// Keeps what the command that runs prints.
    printed: &'r RefCell<Option<Printed>>,
    /// Tells what it prints.
    live: &'r RefCell<Option<LiveOutput>>,
    /// What the steps that are about to be told change, by their numbers.
    differences: Differences,
}

/// Whether a step looks at files as they are, so that those prepared before it have to be made.
pub(super) fn looks(command: &Command) -> bool {
    matches!(
        command,
        Command::ReadFile { .. }
            | Command::ListFiles { .. }
            | Command::SearchText { .. }
            | Command::Outline { .. }
            | Command::GitStatus { .. }
            | Command::GitDiff { .. }
    )
}

impl Conversation<'_> {
    /// Executes the steps of a reply that are not done yet, in their order.
    pub(super) fn execute(
        &mut self,
        taken: &Taken,
        consent: &Consent,
        begun: Begun,
    ) -> Result<Vec<StepResult>> {
        let agent = self.agent;
        let steps = &taken.reply.steps;
        let printed = RefCell::new(None::<Printed>);
        let live = RefCell::new(None::<LiveOutput>);
        let mut on_output = |text: &str| {
            let due = live
                .borrow_mut()
                .as_mut()
                .and_then(|live| live.printed(text));
            if let Some(event) = due {
                agent.tell(event);
            }
            if let Some(printed) = printed.borrow_mut().as_mut() {
                printed.push(text);
            }
        };
        let mut seen = std::mem::take(&mut self.session.seen);
        let hider = self.concealed.hider(agent.manner.secrets.as_ref());
        let mut execution = Execution::begin(&agent.workspace, &agent.limits, &mut seen, steps)
            .watched_by(agent.interrupt.flag(), &mut on_output)
            .keeping(agent.manner.permit.kept_inventory.clone())
            .hiding(hider.as_deref());
        execution.mark(&self.staging_mark());
        execution.take_over(&begun.files);
        let left = &steps[begun.results.len()..];
        let mut progress = Progress {
            taken,
            consent,
            known: self.known_results(&taken.reply),
            records: begun.records,
            results: begun.results,
            printed: &printed,
            live: &live,
            differences: Differences::new(),
        };
        for group in left.chunk_by(|one, next| !runs(one) && !runs(next)) {
            match group {
                [command] if runs(command) => {
                    self.run_command(&mut progress, command, &mut execution)?;
                }
                _ => {
                    let mut left = group;
                    while !left.is_empty() {
                        let done = self.change_files(&mut progress, left, &mut execution)?;
                        left = &left[done..];
                    }
                }
            }
        }
        if !progress.records.is_empty() {
            self.record(&progress.records)?;
        }
        execution.finish();
        self.session.seen = seen;
        Ok(progress.results)
    }

    /// What the temporary names of this round's new contents have in them.
    pub(super) fn staging_mark(&self) -> String {
        let (id, sequence) = (&self.session.session_id, self.session.sequence_number);
        format!("{id}-{sequence:04}")
    }

    fn run_command(
        &mut self,
        progress: &mut Progress<'_>,
        step: &Step,
        execution: &mut Execution<'_>,
    ) -> Result<()> {
        let sequence = self.session.sequence_number;
        let began = Instant::now();
        let known = progress.known.get(progress.results.len());
        let allowed = match known {
            Some(known) => Err(known.outcome.clone()),
            None => self.allowed(progress, step),
        };
        let outcome = match allowed {
            Err(outcome) => outcome,
            Ok((step, grant)) => {
                progress.records.push(Record::Started {
                    sequence,
                    steps: vec![step.number],
                    batch: None,
                });
                self.record(&std::mem::take(&mut progress.records))?;
                announce(&*self.agent.person, &step);
                let grants = grant.into_iter().chain(self.granted());
                execution.confine(self.agent.manner.permit.confinement(grants));
                let folder = self.agent.store.folder(&self.session.session_id);
                let max_bytes = self.agent.limits.max_output;
                let printed = Printed::begin(&folder, sequence, step.number, max_bytes);
                progress.printed.replace(Some(printed));
                self.has_unsynced_files = true;
                if let Command::RunCommand { script, .. } = &step.command {
                    self.agent.learn_named(&mut self.concealed, script);
                }
                progress
                    .live
                    .replace(Some(LiveOutput::of_step(step.number)));
                let outcome = progress
                    .consent
                    .carry_out(&step, |step| execution.step(step));
                if let Some(event) = progress.live.take().and_then(LiveOutput::finish) {
                    self.agent.tell(event);
                }
                outcome
            }
        };
        let result = StepResult::new(step, outcome, began.elapsed());
        self.finish_steps(progress, vec![result])?;
        if let Some(outcome) = self.offer_network(step, progress.consent, execution)? {
            progress.results.pop();
            let result = StepResult::new(step, outcome, began.elapsed());
            self.finish_steps(progress, vec![result])?;
        }
        if let Some(printed) = progress.printed.take() {
            printed.finish();
        }
        Ok(())
    }

    /// Carries out steps as one group: all of them, or as many as there is room for what they write.
    /// Tells how many.
    fn change_files(
        &mut self,
        progress: &mut Progress<'_>,
        steps: &[Step],
        execution: &mut Execution<'_>,
    ) -> Result<usize> {
        let mut staged = Vec::with_capacity(steps.len());
        let mut count = 0;
        for (place, step) in (progress.results.len()..).zip(steps) {
            if count > 0 && execution.is_full() {
                break;
            }
            count += 1;
            if let Some(known) = progress.known.get(place) {
                staged.push(StagedStep {
                    result: StepResult::new(step, known.outcome.clone(), std::time::Duration::ZERO),
                    changes: Vec::new(),
                });
            } else if !looks(&step.command) {
                staged.push(self.stage(progress, step, execution));
            }
        }
        let group = &steps[..count];
        progress.records.push(Record::Started {
            sequence: self.session.sequence_number,
            steps: group.iter().map(|step| step.number).collect(),
            batch: self.batch(&staged, execution),
        });
        self.record(&std::mem::take(&mut progress.records))?;
        progress.differences = self.differences(&staged);
        for (place, outcome) in execution.carry_out(&staged) {
            let result = &mut staged[place].result;
            // What was shown to come did not.
            progress.differences.remove(&result.number);
            result.outcome = outcome;
            self.note_others(&staged[place]);
        }
        self.note_written(&staged);
        self.has_unsynced_files |= staged.iter().any(|step| !step.changes.is_empty());
        let mut staged = staged.into_iter().map(|step| step.result).peekable();
        let mut results = Vec::with_capacity(group.len());
        for step in group {
            let prepared = staged.next_if(|result| result.number == step.number);
            results.push(prepared.unwrap_or_else(|| self.look(progress, step, execution)));
        }
        self.finish_steps(progress, results)?;
        Ok(count)
    }

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

    /// Prepares a step.
    fn stage(
        &self,
        progress: &Progress<'_>,
        step: &Step,
        execution: &mut Execution<'_>,
    ) -> StagedStep {
        let began = Instant::now();
        let mut changes = Vec::new();
        let outcome = match self.allowed(progress, step) {
            Err(outcome) => outcome,
            Ok((step, _)) => {
                if !self.is_proposal(&step) {
                    announce(&*self.agent.person, &step);
                }
                progress.consent.carry_out(&step, |step| {
                    let (outcome, prepared) = execution.stage(step);
                    changes = prepared;
                    outcome
                })
            }
        };
        StagedStep {
            result: StepResult::new(step, outcome, began.elapsed()),
            changes,
        }
    }

    /// What the journal has to know of the steps, if they change files.
    fn batch(&mut self, staged: &[StagedStep], execution: &Execution<'_>) -> Option<StagedBatch> {
        let changes: Vec<&StagedChange> = staged.iter().flat_map(|step| &step.changes).collect();
        if changes.is_empty() {
            return None;
        }
        self.has_unsynced_files = true;
        Some(StagedBatch {
            steps: staged.to_vec(),
            files: execution.files_of(&changes),
        })
    }

    fn look(
        &self,
        progress: &Progress<'_>,
        step: &Step,
        execution: &mut Execution<'_>,
    ) -> StepResult {
        let began = Instant::now();
        let outcome = match self.allowed(progress, step) {
            Err(outcome) => outcome,
            Ok((step, grant)) => {
                announce(&*self.agent.person, &step);
                execution.confine(self.agent.manner.permit.confinement(grant));
                (progress.consent).carry_out(&step, |step| execution.step(step))
            }
        };
        StepResult::new(step, outcome, began.elapsed())
    }

    /// The step as it is carried out, with what was granted for it; or why it is not.
    fn allowed<'s>(
        &self,
        progress: &Progress<'_>,
        step: &'s Step,
    ) -> std::result::Result<(Cow<'s, Step>, Option<Grant>), Outcome> {
        let agent = self.agent;
        if agent.interrupt.is_raised() {
            return Err(Outcome::skipped("the user interrupted"));
        }
        // Before anything else: what the person declined is not to be sent again.
        let grant = match progress.consent.on(step, &agent.interrupt) {
            Permission::Refused(outcome) => return Err(outcome),
            Permission::Granted(grant) => grant,
        };
        let issues = &progress.taken.reply.issues;
        let skipped = reason_to_skip(step, &progress.results, issues, agent.manner.on_failure);
        match skipped {
            Some(reason) => Err(Outcome::skipped(reason)),
            None => Ok((self.revealed(step)?, grant)),
        }
    }

    /// Writes down what became of steps, and tells it.
    fn finish_steps(
        &mut self,
        progress: &mut Progress<'_>,
        results: Vec<StepResult>,
    ) -> Result<()> {
        let mut records = std::mem::take(&mut progress.records);
        records.extend(self.finished_records(&results));
        self.journal.append(&records, Sync::Later)?;
        let mut differences = std::mem::take(&mut progress.differences);
        // Whether `[DONE]` counts is decided when all is over, and told then.
        for result in results.iter().filter(|result| result.command != "DONE") {
            self.agent.tell(Event::Step {
                result: result.clone(),
                differences: differences.remove(&result.number).unwrap_or_default(),
            });
        }
        progress.results.extend(results);
        Ok(())
    }

    /// Writes down and tells what became of a step.
    pub(super) fn finished(&mut self, result: &StepResult) -> Result<()> {
        let records = self.finished_records(std::slice::from_ref(result));
        self.journal.append(&records, Sync::Later)?;
        self.agent.tell(Event::Step {
            result: result.clone(),
            differences: Vec::new(),
        });
        Ok(())
    }

    /// What the journal is told of steps that are done.
    pub(super) fn finished_records(&self, results: &[StepResult]) -> Vec<Record> {
        let sequence = self.session.sequence_number;
        let finished = |result: &StepResult| Record::Finished {
            sequence,
            result: result.clone(),
        };
        results.iter().map(finished).collect()
    }

    /// Appends to the journal, and makes that last together with what was written to files before.
    ///
    /// One sync does both where files and journal lie on the same file system.
    pub(super) fn record(&mut self, records: &[Record]) -> Result<()> {
        if !self.has_unsynced_files {
            return self.journal.append(records, Sync::Now);
        }
        self.journal.append(records, Sync::Later)?;
        let workspace = &self.agent.workspace;
        workspace
            .sync()
            .map_err(|cause| Error::file("sync", workspace.path(), cause))?;
        if self.syncs_together {
            self.journal.note_synced();
        } else {
            self.journal.sync()?;
        }
        self.has_unsynced_files = false;
        Ok(())
    }
}
