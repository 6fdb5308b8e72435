//! The person's check command: whether the work is good, by their own word.
//!
//! It runs once before the first message, and after each round that changed something; what it
//! changes belongs to that round. It is the person's command, so no rule asks about it, except after
//! a round without a sandbox: it runs what the model has written. `[DONE]` counts only when it passes. Like any command it is never run twice for the same round: one that
//! was interrupted is told as that, and runs again after the next reply that asks for it.

use std::borrow::Cow;
use std::time::Duration;

use super::Agent;
use super::authorize::Asking;
use super::baseline::Baseline;
use super::live_output::{LiveOutput, announce};
use super::round_journal::RoundJournal;
use crate::approve::{
    Input, Pending, Person as _, PersonDecision, Question, QuestionOrigin, Verdict,
};
use crate::checkpoint::{Before, Reach};
use crate::compose::Listing;
use crate::error::Result;
use crate::execute::{Execution, Limits};
use crate::policy::{CommandConfinement, Grant};
use crate::protocol::{
    Command, CommandKind, Event, OnFailure, Outcome, SeenFiles, Status, Step, StepResult,
};
use crate::session::{CheckProgress, CheckReport, CheckedWhen, Printed, Record, Session, Sync};

/// The number of the check among the steps of a round, which count from 1.
const NUMBER: u32 = 0;

/// The command that decides if the work is good.
#[derive(Debug, Clone)]
pub struct CheckCommand {
    /// The script.
    pub command: String,
    /// How long it may run.
    pub timeout: Duration,
    /// True if the session ends by itself when the check passes after a change.
    pub ends_session: bool,
}

impl CheckCommand {
    /// The check as a step of this number.
    fn step(&self, number: u32) -> Step {
        Step {
            number,
            line: 0,
            command: Command::RunCommand {
                script: self.command.clone(),
                timeout: None,
            },
        }
    }
}

/// The effect of a check on the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    /// It does.
    GoesOn,
    /// The check passes, and the person wants no more.
    Ends,
}

impl Agent {
    /// Runs the check now; nothing if none is set.
    ///
    /// `on_output` hears what it prints, and now and then nothing while it runs on.
    pub fn check(
        &self,
        grants: impl IntoIterator<Item = Grant>,
        on_output: &mut dyn FnMut(&str),
    ) -> Option<Outcome> {
        let check = self.manner.check.as_ref()?;
        let step = check.step(NUMBER);
        let ruling = self.manner.authorizer.policy.rule_on(&step.command);
        if ruling.decision == crate::policy::Decision::Deny {
            return Some(Outcome::refused(ruling.reason()).with_hint(ruling.hint));
        }
        announce(&*self.person, &step);
        let limits = Limits {
            command_timeout: check.timeout,
            max_command_timeout: check.timeout,
            ..self.limits.clone()
        };
        let mut live = LiveOutput::of_step(NUMBER);
        let mut on_output = |text: &str| {
            if let Some(event) = live.printed(text) {
                self.tell(event);
            }
            on_output(text);
        };
        let (mut seen, keys) = (SeenFiles::default(), self.person.keys());
        let mut execution = Execution::begin(&self.workspace, &limits, &mut seen, &[])
            .watched_by(self.interrupt.flag(), &mut on_output)
            .keeping(self.manner.authorizer.kept_inventory.clone())
            .withholding(&keys);
        execution.run_at(self.manner.authorizer.place(grants));
        execution.expect_snapshot(true);
        Some(execution.step(&step))
    }
}

/// Runs the check of a session, and knows how it stands.
#[derive(Debug)]
pub(super) struct CheckRunner<'e, 'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: &'e mut Session,
    pub(super) journal: &'e mut RoundJournal<'a>,
    pub(super) baseline: &'e mut Baseline<'a>,
}

impl CheckRunner<'_, '_> {
    /// Asks about a check that cannot run, before the model is told; nobody who cannot be asked
    /// holds the work up.
    pub(super) fn begins_without(&mut self) -> Result<bool> {
        let agent = self.agent;
        let round = self.session.sequence_number;
        let Some(report) = self.session.check.as_mut() else {
            return Ok(true);
        };
        if !report.cannot_run() {
            return Ok(true);
        }
        let command = report.command.clone();
        let question = Question::about_check(round, &command, &report.outcome.line("you"));
        report.set_aside();
        if !agent.person.is_interactive() {
            return Ok(true);
        }
        let asker = agent.asker(&self.session.session_id);
        let begins = asker.pose(question, &agent.interrupt)? == Some(Verdict::Yes);
        self.session.waived_check = begins.then_some(command);
        Ok(begins)
    }

    /// Runs the check after the steps of a round, if they changed something or say that it is done.
    ///
    /// One that was begun before a kill is not run again.
    pub(super) fn after_round(
        &mut self,
        (before, input, progress): (Option<Before>, Input, &CheckProgress),
        steps: &[Step],
        results: &[StepResult],
    ) -> Result<Checked> {
        let Some(check) = &self.agent.manner.check else {
            self.session.check = None;
            return Ok(Checked::GoesOn);
        };
        let ends_session = check.ends_session;
        let is_changed = self.has_changed(before, results);
        let says_done = steps
            .iter()
            .any(|step| matches!(step.command, Command::Done { .. }));
        if !is_changed && (!says_done || self.is_as_checked(before)) {
            if let Some(report) = &mut self.session.check
                && !matches!(report.when, CheckedWhen::NotYet | CheckedWhen::Outdated)
            {
                report.when = CheckedWhen::Before;
            }
            return Ok(Checked::GoesOn);
        }
        if !self.take_over(progress, CheckedWhen::AfterRound) {
            match self.refusal(steps, input)? {
                None => drop(self.run(CheckedWhen::AfterRound)?),
                Some(outcome) => self.conclude(CheckedWhen::AfterRound, outcome)?,
            }
        }
        if ends_session && is_changed && self.passes() {
            Ok(Checked::Ends)
        } else {
            Ok(Checked::GoesOn)
        }
    }

    /// Leaves the check to a later round: files may have changed since it ran.
    pub(super) fn postpone(&mut self) -> Checked {
        if let Some(report) = &mut self.session.check
            && report.when != CheckedWhen::NotYet
        {
            report.when = CheckedWhen::Outdated;
        }
        Checked::GoesOn
    }

    /// Asks about a check that runs without a sandbox what the model may have written, as about any
    /// other command; returns the outcome if the person does not allow it.
    fn refusal(&self, steps: &[Step], input: Input) -> Result<Option<Outcome>> {
        let agent = self.agent;
        let authorizer = &agent.manner.authorizer;
        let Some(check) = &agent.manner.check else {
            return Ok(None);
        };
        if authorizer.policy.confinement == CommandConfinement::Sandboxed {
            return Ok(None);
        }
        // It comes after the steps, so that the question names the files that they change.
        let number = steps.iter().map(|step| step.number).max().unwrap_or(0) + 1;
        let mut steps = steps.to_vec();
        steps.push(check.step(number));
        let asking = Asking {
            workspace: &agent.workspace,
            limits: &agent.limits,
            seen: &self.session.seen,
            person: &*agent.person,
            interrupt: &agent.interrupt,
            base: &agent.base,
            approval: authorizer.policy.approval,
            pending: &Pending::of(&agent.store.folder(&self.session.session_id)),
            input,
            round: self.session.sequence_number,
            reveal: &|step| Ok(Cow::Borrowed(step)),
            origin: QuestionOrigin::Reply,
            on_failure: OnFailure::Continue,
            unseen: &Vec::new,
        };
        let Some(plan) = authorizer.plan(&asking, &steps, steps.len() - 1)? else {
            return Ok(Some(Outcome::skipped("the user interrupted")));
        };
        let decision = plan
            .steps
            .into_iter()
            .next()
            .map(|planned| planned.decision);
        Ok(match decision {
            Some(PersonDecision::Declined(outcome)) => Some(outcome),
            Some(PersonDecision::Stopped) => Some(Outcome::skipped("the user stopped before this")),
            Some(PersonDecision::NotAsked | PersonDecision::Approved { .. }) | None => None,
        })
    }

    /// True if the check passed after the last round that changed files, and none has changed since.
    fn is_as_checked(&mut self, before: Option<Before>) -> bool {
        let is_told = |report: &CheckReport| {
            matches!(report.when, CheckedWhen::AfterRound | CheckedWhen::Before)
        };
        let last = self.session.checkpoints.back().map(|last| last.after);
        if last.is_none() || !self.passes() || !self.session.check.as_ref().is_some_and(is_told) {
            return false;
        }
        // A look at all files takes less time than most checks.
        let now = match before {
            Some(before) if before.reach == Reach::Whole => Some(before.snapshot),
            _ => self.baseline.checkpoint(),
        };
        now == last
    }

    /// Learns whether files differ from those that the message before listed, or nobody knows: a
    /// check that ran before it tells nothing of them then. Tells whether that is new.
    pub(super) fn outdate(&mut self, now: &Listing, before: Option<&Listing>) -> bool {
        let Some(report) = &mut self.session.check else {
            return false;
        };
        let is_same = |before: &Listing| now.different_from(before).next().is_none();
        if report.when != CheckedWhen::Before || before.is_some_and(is_same) {
            return false;
        }
        report.when = CheckedWhen::Outdated;
        true
    }

    /// Takes over what the journal knows of a check that was begun before a kill; tells whether there
    /// was one.
    pub(super) fn take_over(&mut self, progress: &CheckProgress, when: CheckedWhen) -> bool {
        let Some(check) = &self.agent.manner.check else {
            return false;
        };
        let report = match progress {
            CheckProgress::Ended(report) if report.command == check.command => report.clone(),
            CheckProgress::Begun(command) if *command == check.command => CheckReport {
                command: check.command.clone(),
                when,
                outcome: self.interrupted(),
            },
            _ => return false,
        };
        self.agent.tell(Event::Check {
            command: report.command.clone(),
            outcome: report.outcome.clone(),
        });
        self.session.check = Some(report);
        true
    }

    fn interrupted(&self) -> Outcome {
        let folder = self.agent.store.folder(&self.session.session_id);
        let printed = Printed::left(&folder, self.session.sequence_number, NUMBER);
        Outcome::failed("interrupted: `agent` was stopped while it ran, so nobody knows; it runs again after the next reply that changes something or says [DONE]")
            .with_detail(printed.unwrap_or_default())
    }

    /// Returns true if the last run of the check passed.
    fn passes(&self) -> bool {
        self.session.check.as_ref().is_some_and(CheckReport::passed)
    }

    /// The summary of a `[DONE]` if the check lets it count; else it is refused.
    pub(super) fn done_by_check(
        &self,
        summary: Option<String>,
        results: &mut [StepResult],
    ) -> Option<String> {
        let summary = summary?;
        let Some(check) = &self.agent.manner.check else {
            return Some(summary);
        };
        if self.passes() {
            return Some(summary);
        }
        if self.session.goes_without_check() {
            let command = &check.command;
            return Some(format!(
                "{summary} (not checked: `{command}` cannot run here)"
            ));
        }
        let how = self.session.check.as_ref().map_or_else(
            || "did not run to its end".to_owned(),
            |report| format!("does not pass ({})", report.outcome.line("the user")),
        );
        if let Some(done) = results
            .iter_mut()
            .find(|result| result.is(CommandKind::Done))
        {
            done.outcome = Outcome::refused(format!("the user's check `{}` {how}", check.command))
                .with_hint(
                    "make it pass, or ask the user: only they can end the session without it",
                );
        }
        None
    }

    fn has_changed(&mut self, before: Option<Before>, results: &[StepResult]) -> bool {
        let tried =
            |result: &&StepResult| matches!(result.outcome.status, Status::Ok | Status::Failed);
        let mut tried = results.iter().filter(tried);
        if tried
            .clone()
            .any(|result| !result.outcome.changed.is_empty())
        {
            return true;
        }
        let has_run = tried.any(StepResult::is_run);
        has_run
            && before
                .is_none_or(|before| self.baseline.checkpoint_listed() != Some(before.snapshot))
    }

    /// Runs the check, if one is set, and tells whether; the journal knows before and after.
    pub(super) fn run(&mut self, when: CheckedWhen) -> Result<bool> {
        let agent = self.agent;
        let Some(check) = &agent.manner.check else {
            return Ok(false);
        };
        let (command, sequence) = (check.command.clone(), self.session.sequence_number);
        self.journal.record(&[Record::Checking {
            sequence,
            command: command.clone(),
        }])?;
        self.baseline.end_glimpses(self.session);
        self.journal.unsynced.note();
        let folder = agent.store.folder(&self.session.session_id);
        let max_bytes = agent.limits.max_output;
        let mut printed = Printed::begin(&folder, sequence, NUMBER, max_bytes);
        let granted = self.session.network_granted.then_some(Grant::Network);
        let Some(outcome) = agent.check(granted, &mut |text| printed.push(text)) else {
            return Ok(false);
        };
        self.conclude(when, outcome)?;
        printed.finish();
        Ok(true)
    }

    /// Keeps and tells the outcome of the check.
    fn conclude(&mut self, when: CheckedWhen, outcome: Outcome) -> Result<()> {
        let agent = self.agent;
        let Some(check) = &agent.manner.check else {
            return Ok(());
        };
        let mut report = CheckReport {
            command: check.command.clone(),
            when,
            outcome,
        };
        let ended = Record::Checked {
            sequence: self.session.sequence_number,
            report: report.clone(),
        };
        self.journal.append(&[ended], Sync::Later)?;
        let before = self
            .session
            .check
            .as_ref()
            .map(|report| report.outcome.status);
        if report.cannot_run() {
            const WORD: &str =
                "install what it needs, or give another one: `agent resume --check \"...\"`";
            report.outcome.message = format!("{}; {WORD}", report.outcome.message);
        }
        agent.tell(Event::Check {
            command: report.command.clone(),
            outcome: report.outcome.clone(),
        });
        // Nothing has made it run since it was set aside.
        if report.cannot_run() && before == Some(Status::Skipped) {
            report.set_aside();
        }
        self.session.check = Some(report);
        Ok(())
    }
}
