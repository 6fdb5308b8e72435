//! Applies one reply to a workspace, without a session.
//!
//! The middle of the loop alone: the steps of a reply are executed in their order, under the same
//! rules, and nothing is written but files of the workspace. A rehearsal executes the file steps on
//! a copy of what they touch and tells what would be different.

mod rehearsal;

use std::borrow::Cow;
use std::path::Path;

pub use self::rehearsal::{Difference, Rehearsal};
use super::Authorizer;
use super::authorize::Asking;
use super::redact::{self, refused_placeholder};
use super::round::read_requests;
use super::steps::{Begun, StepJournal, StepRunner};
use crate::approve::{Input, Pending, Person, QuestionOrigin};
use crate::compose::{self, Content};
use crate::error::Result;
use crate::execute::{self, Limits};
use crate::interrupt::Interrupt;
use crate::known_keys::KnownKeys;
use crate::policy::Grant;
use crate::protocol::{
    OnFailure, Outcome, SeenFiles, StagedBatch, StagedStep, Status, Step, StepResult,
};
use crate::reply::Reply;
use crate::session::Printed;
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
    /// Decides what may be executed.
    pub authorizer: &'a Authorizer,
    /// Who asks the person.
    pub person: &'a dyn Person,
    /// The fate of the commands of a reply after one of its changes failed.
    pub on_failure: OnFailure,
    /// The person's wish to stop.
    pub interrupt: &'a Interrupt,
    /// Marks temporary files: the same reply, applied again after a kill, replaces those that are
    /// left.
    pub mark: String,
}

impl Applying<'_> {
    /// Carries out all steps; `tell` hears of each before and after it is carried out.
    ///
    /// With a rehearsal it is a dry run: the file steps are tried on the copy, the reading ones look
    /// at the files themselves, and commands are not run.
    pub fn run(
        &self,
        reply: &Reply,
        rehearsal: Option<&Rehearsal>,
        tell: &mut dyn FnMut(&Step, Option<&StepResult>),
    ) -> Result<Vec<StepResult>> {
        let mut journal = NoJournal {
            applying: self,
            steps: &reply.steps,
            tell,
            questions: None,
            has_network: false,
        };
        let input = if self.person.is_interactive() {
            self.person.input()
        } else {
            Input::Refuse
        };
        // Where nobody is asked, no question lies anywhere.
        let pending = match input {
            Input::Refuse => Pending::of(Path::new("")),
            Input::Wait => journal.questions()?,
        };
        let asking = Asking {
            workspace: self.workspace,
            limits: self.limits,
            seen: &SeenFiles::default(),
            person: self.person,
            interrupt: self.interrupt,
            base: self.base,
            approval: self.authorizer.policy.approval,
            pending: &pending,
            input,
            round: 1,
            reveal: &|step| self.reveal(step),
            origin: QuestionOrigin::Reply,
            on_failure: self.on_failure,
            unseen: &Vec::new,
        };
        let Some(plan) = self.authorizer.plan(&asking, &reply.steps, 0)? else {
            return Ok(Vec::new());
        };
        let runner = StepRunner {
            workspace: self.workspace,
            limits: self.limits,
            authorizer: self.authorizer,
            person: self.person,
            interrupt: self.interrupt,
            on_failure: self.on_failure,
            hide: None,
            keys: KnownKeys::of_this_process(),
            mark: self.mark.clone(),
            kept_inventory: None,
            snapshot_follows: false,
            copy: rehearsal.map(|rehearsal| &rehearsal.workspace),
        };
        let mut seen = SeenFiles::default();
        runner.run(&plan, reply, Begun::default(), &mut seen, &mut journal)
    }

    /// The step, or why it is refused: there is no session that knows what a placeholder stands for.
    fn reveal<'s>(&self, step: &'s Step) -> Result<Cow<'s, Step>, Outcome> {
        match refused_placeholder(self.workspace, self.limits.max_file_bytes, &step.command) {
            Some(refused) => Err(refused),
            None => Ok(Cow::Borrowed(step)),
        }
    }

    /// Reads the files that the reply asked for and may see, as they are now.
    pub fn contents(&self, reply: &Reply, results: &[StepResult]) -> Vec<Content> {
        let requests = read_requests(self.workspace, &reply.steps, results);
        compose::gather(&requests, PRINTED, |request| {
            let (workspace, limits) = (self.workspace, self.limits);
            let shown = execute::read_file(workspace, request, limits, &mut execute::unveiled);
            redact::content(shown)
        })
    }
}

/// Tells of the steps, and writes nothing down.
struct NoJournal<'a> {
    applying: &'a Applying<'a>,
    steps: &'a [Step],
    tell: &'a mut dyn FnMut(&Step, Option<&StepResult>),
    /// Where questions lie while they are answered.
    questions: Option<tempfile::TempDir>,
    has_network: bool,
}

impl StepJournal for NoJournal<'_> {
    fn started(&mut self, _: &[u32], _: Option<StagedBatch>) -> Result<()> {
        Ok(())
    }

    fn finished(&mut self, results: &[StepResult]) -> Result<()> {
        for result in results {
            let step = self.steps.iter().find(|step| step.number == result.number);
            if let Some(step) = step {
                (self.tell)(step, Some(result));
            }
        }
        Ok(())
    }

    fn changed(&mut self, _: &[StagedStep], _: &[usize]) {}

    fn announce(&mut self, step: &Step) {
        (self.tell)(step, None);
    }

    fn reveal<'s>(&self, step: &'s Step) -> Result<Cow<'s, Step>, Outcome> {
        self.applying.reveal(step)
    }

    fn attend(&mut self, _: &Step) -> Option<Printed> {
        None
    }

    fn questions(&mut self) -> Result<Pending> {
        let directory = match self.questions.take() {
            Some(directory) => directory,
            None => crate::fs::temporary_directory("agent-questions-")?,
        };
        Ok(Pending::of(self.questions.insert(directory).path()))
    }

    fn granted(&self) -> Option<Grant> {
        self.has_network.then_some(Grant::Network)
    }

    fn grant_network(&mut self) {
        self.has_network = true;
    }
}

/// Returns true if the reply was carried out in full: it has steps, all of them succeeded, and none
/// was malformed or cut off.
pub fn is_complete(reply: &Reply, results: &[StepResult]) -> bool {
    let malformed = reply.issues.iter().any(|issue| issue.number.is_some());
    let failed = results
        .iter()
        .any(|result| result.outcome.status != Status::Ok);
    !reply.steps.is_empty() && !malformed && !failed && reply.cut.is_none()
}
