//! Applies one reply to a workspace, without a session.
//!
//! The middle of the loop alone: the steps of a reply are executed in their order, under the same
//! rules, and nothing is written but files of the workspace. A rehearsal executes the file steps on
//! a copy of what they touch and tells what would be different.

mod rehearsal;

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

pub use self::rehearsal::{Difference, Rehearsal};
use super::Permit;
use super::conceal::{self, refused_placeholder};
use super::live_output::LiveOutput;
use super::network::{self, Offered, ran_twice};
use super::permit::{Asking, Consent, Permission};
use super::round::{read_requests, reason_to_skip};
use crate::approve::{Input, Pending, Person, Question};
use crate::compose::{self, Content};
use crate::error::Result;
use crate::execute::{self, Execution, Limits};
use crate::interrupt::Interrupt;
use crate::policy::Grant;
use crate::protocol::{Command, OnFailure, Outcome, SeenFiles, Status, Step, StepResult};
use crate::reply::Reply;
use crate::workspace::Workspace;

/// How much is printed of the files that a reply asks to read, in characters.
const PRINTED: usize = 1_000_000;

/// Where and how a reply is applied.
#[derive(Debug)]
pub struct Applying<'a> {
    /// The base directory, for which the person's rules hold.
    pub base: &'a Path,
    /// The files.
    pub workspace: &'a Workspace,
    /// The bounds of what steps may do.
    pub limits: &'a Limits,
    /// What the person permits.
    pub permit: &'a Permit,
    /// Who asks the person.
    pub person: &'a dyn Person,
    /// What becomes of commands after a failed change.
    pub on_failure: OnFailure,
    /// Whether the person wants to stop.
    pub interrupt: &'a Interrupt,
    /// Marks temporary files: the same reply, applied again after a kill, replaces those that are
    /// left.
    pub mark: String,
}

impl Applying<'_> {
    /// Executes all steps; `tell` hears of each before and after it is executed.
    pub fn run(
        &self,
        reply: &Reply,
        tell: &mut dyn FnMut(&Step, Option<&StepResult>),
    ) -> Result<Vec<StepResult>> {
        let Some(consent) = self.consent(reply)? else {
            return Ok(Vec::new());
        };
        let mut seen = SeenFiles::default();
        let live = RefCell::new(None::<LiveOutput>);
        let mut on_output = |text: &str| {
            let due = live
                .borrow_mut()
                .as_mut()
                .and_then(|live| live.printed(text));
            if let Some(event) = due {
                self.person.emit(event);
            }
        };
        let mut execution = Execution::begin(self.workspace, self.limits, &mut seen, &reply.steps)
            .watched_by(self.interrupt.flag(), &mut on_output);
        execution.mark(&self.mark);
        let mut has_network = None;
        let mut results = Vec::with_capacity(reply.steps.len());
        for step in &reply.steps {
            let began = Instant::now();
            let outcome = match self.permission(step, &results, reply, &consent) {
                Permission::Refused(outcome) => outcome,
                Permission::Granted(grant) => {
                    tell(step, None);
                    let grants = grant.into_iter().chain(has_network);
                    execution.confine(self.permit.confinement(grants));
                    live.replace(Some(LiveOutput::of_step(step.number)));
                    let outcome = consent.carry_out(step, |step| execution.step(step));
                    live.take();
                    match self.offered(step, &consent, &mut execution)? {
                        Offered::No => outcome,
                        offered => {
                            has_network =
                                (offered == Offered::ForTheSession).then_some(Grant::Network);
                            tell(step, None);
                            let grants = grant.into_iter().chain([Grant::Network]);
                            execution.confine(self.permit.confinement(grants));
                            live.replace(Some(LiveOutput::of_step(step.number)));
                            let outcome = consent.carry_out(step, |step| execution.step(step));
                            live.take();
                            ran_twice(outcome)
                        }
                    }
                }
            };
            let result = StepResult::new(step, outcome, began.elapsed());
            tell(step, Some(&result));
            results.push(result);
        }
        execution.finish();
        Ok(results)
    }

    /// Executes the file steps on a copy and the reading ones on the files themselves; commands
    /// are not run.
    pub fn rehearse(
        &self,
        rehearsal: &Rehearsal,
        reply: &Reply,
        tell: &mut dyn FnMut(&Step, Option<&StepResult>),
    ) -> Result<Vec<StepResult>> {
        let Some(consent) = self.consent(reply)? else {
            return Ok(Vec::new());
        };
        let (mut seen, mut seen_in_copy) = (SeenFiles::default(), SeenFiles::default());
        let mut reading = Execution::begin(self.workspace, self.limits, &mut seen, &reply.steps);
        let mut changing = Execution::begin(
            &rehearsal.workspace,
            self.limits,
            &mut seen_in_copy,
            &reply.steps,
        );
        let mut results = Vec::with_capacity(reply.steps.len());
        for step in &reply.steps {
            let outcome = match self.permission(step, &results, reply, &consent) {
                Permission::Refused(outcome) => outcome,
                Permission::Granted(_) => match &step.command {
                    Command::RunCommand { .. } => Outcome::ok("would be run"),
                    command if command.changes_files() => changing.step(step),
                    _ => reading.step(step),
                },
            };
            let result = StepResult::new(step, outcome, Duration::ZERO);
            tell(step, Some(&result));
            results.push(result);
        }
        Ok(results)
    }

    /// Offers a command again that missed the network, where there is a terminal.
    fn offered(
        &self,
        step: &Step,
        consent: &Consent,
        execution: &mut Execution<'_>,
    ) -> Result<Offered> {
        let missed = execution.take_missed_network();
        let revised = consent.revised(step);
        match network::script(&revised) {
            Some(script) if missed && self.permit.offers_network(self.person, consent.input()) => {
                let directory = pending_directory()?;
                let question = Question::about_network(step.number, 1, script);
                let pending = Pending::of(directory.path());
                network::offer(self.person, self.interrupt, &pending, &question)
            }
            _ => Ok(Offered::No),
        }
    }

    /// Asks the person about the steps that need it, where there is a terminal.
    fn consent(&self, reply: &Reply) -> Result<Option<Consent>> {
        let input = if self.person.is_interactive() {
            self.person.input()
        } else {
            Input::Refuse
        };
        // Where nobody is asked, no question lies anywhere.
        let directory = match input {
            Input::Refuse => None,
            Input::Wait => Some(pending_directory()?),
        };
        let place = directory
            .as_ref()
            .map_or(Path::new(""), |place| place.path());
        let asking = Asking {
            workspace: self.workspace,
            limits: self.limits,
            seen: &SeenFiles::default(),
            person: self.person,
            interrupt: self.interrupt,
            base: self.base,
            approval: self.permit.policy.approval,
            pending: &Pending::of(place),
            input,
        };
        self.permit.consent(&asking, 1, &reply.steps, &reply.steps)
    }

    /// Whether a step is executed.
    fn permission(
        &self,
        step: &Step,
        results: &[StepResult],
        reply: &Reply,
        consent: &Consent,
    ) -> Permission {
        if self.interrupt.is_raised() {
            return Permission::Refused(Outcome::skipped("interrupted"));
        }
        match reason_to_skip(step, results, &reply.issues, self.on_failure) {
            Some(reason) => Permission::Refused(Outcome::skipped(reason)),
            None => match self.refused_placeholder(step) {
                Some(outcome) => Permission::Refused(outcome),
                None => consent.on(step, self.interrupt),
            },
        }
    }

    /// Why a step is refused that has a placeholder in it: there is no session that knows for what.
    fn refused_placeholder(&self, step: &Step) -> Option<Outcome> {
        refused_placeholder(self.workspace, self.limits.max_file_bytes, &step.command)
    }

    /// What the reply asked to read and may, as it is now.
    pub fn contents(&self, reply: &Reply, results: &[StepResult]) -> Vec<Content> {
        let requests = read_requests(self.workspace, &reply.steps, results);
        compose::gather(&requests, PRINTED, |request| {
            let (workspace, limits) = (self.workspace, self.limits);
            let shown = execute::read_file(workspace, request, limits, &mut execute::unveiled);
            conceal::content(shown)
        })
    }
}

/// Where questions lie while they are answered; it goes with the value.
fn pending_directory() -> Result<tempfile::TempDir> {
    crate::fs::temporary_directory("agent-questions-")
}

/// Whether all that a reply asked for was done.
pub fn is_complete(reply: &Reply, results: &[StepResult]) -> bool {
    let malformed = reply.issues.iter().any(|issue| issue.number.is_some());
    let failed = results
        .iter()
        .any(|result| result.outcome.status != Status::Ok);
    !reply.steps.is_empty() && !malformed && !failed && reply.cut.is_none()
}
