//! Carries out the steps of a plan, group by group.
//!
//! Consecutive file steps are one group: they are prepared, then written into the journal together
//! with the hashes of every file before and after, then made; where they write very much, they are
//! several groups. A command is a group of its own. The journal says on the disk what is about to be
//! done before it is done. Steps that only look at files see them as the whole group leaves them.
//!
//! There is one runner for the loop, `agent step`, a round that a killed process left (a session's
//! journal), `agent apply` (none) and its dry run (file steps on a copy, commands not at all).

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::authorize::{Authorizer, PlannedStep, StepPlan, not_approved};
use super::live_output::LiveOutput;
use super::network;
use crate::approve::{Pending, Person, PersonDecision};
use crate::error::Result;
use crate::execute::{Execution, Hide, Limits};
use crate::interrupt::Interrupt;
use crate::known_keys::KnownKeys;
use crate::policy::Grant;
use crate::protocol::{
    Command, CommandKind, OnFailure, Outcome, PersonAct, SeenFiles, StagedBatch, StagedChange,
    StagedFile, StagedStep, Status, Step, StepResult,
};
use crate::reply::{Issue, Reply};
use crate::session::Printed;
use crate::workspace::Workspace;

/// Where the steps of a reply are written down and told while they are carried out.
pub(super) trait StepJournal {
    /// Writes down that these steps are about to be carried out, and the changes of files that were
    /// prepared for them.
    fn started(&mut self, steps: &[u32], prepared: Option<StagedBatch>) -> Result<()>;

    /// Writes down and tells the results of steps.
    fn finished(&mut self, results: &[StepResult]) -> Result<()>;

    /// Notes which prepared changes were made; those of the steps at the places `failed` were not,
    /// or not all.
    fn changed(&mut self, staged: &[StagedStep], failed: &[usize]);

    /// Tells that a step is about to be carried out.
    fn announce(&mut self, step: &Step);

    /// The step with secrets in place of placeholders, or why it is refused.
    fn reveal<'s>(&self, step: &'s Step) -> Result<Cow<'s, Step>, Outcome>;

    /// Prepares for a command that is about to run; returns where its output is kept.
    fn attend(&mut self, step: &Step) -> Option<Printed>;

    /// Where questions lie while they are answered.
    fn questions(&mut self) -> Result<Pending>;

    /// The grant that holds for all commands from now on.
    fn granted(&self) -> Option<Grant>;

    /// Gives the network to all commands from now on.
    fn grant_network(&mut self);
}

/// The part of a round that is done already.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// The results of the first steps.
    pub(super) results: Vec<StepResult>,
    /// The state of the files that they changed.
    pub(super) files: Vec<StagedFile>,
    /// The results of the first steps when this reply came before, cut off.
    pub(super) known: Vec<StepResult>,
}

/// Carries out plans.
pub(super) struct StepRunner<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) limits: &'a Limits,
    pub(super) authorizer: &'a Authorizer,
    pub(super) person: &'a dyn Person,
    pub(super) interrupt: &'a Interrupt,
    pub(super) on_failure: OnFailure,
    /// Finds what a search must not show in part.
    pub(super) hide: Option<&'a Hide<'a>>,
    /// Stay out of everything that is recorded.
    pub(super) keys: KnownKeys,
    /// Marks the temporary files of new contents: when the same steps are carried out again after a kill,
    /// those that are left are replaced.
    pub(super) mark: String,
    /// The file that lists the repositories a running command found.
    pub(super) kept_inventory: Option<PathBuf>,
    /// True if a snapshot of everything follows the last command of the plan.
    pub(super) snapshot_follows: bool,
    /// In a dry run, the copy on which file steps are tried; commands are not run then.
    pub(super) copy: Option<&'a Workspace>,
}

/// A command that runs.
struct RunningCommand {
    live: LiveOutput,
    printed: Option<Printed>,
}

/// A round under way.
struct Progress<'r, 'e> {
    runner: &'r StepRunner<'r>,
    plan: &'r StepPlan,
    issues: &'r [Issue],
    journal: &'r mut dyn StepJournal,
    execution: Execution<'e>,
    /// Changes files in their place, in a dry run.
    copy: Option<Execution<'e>>,
    running: &'r RefCell<Option<RunningCommand>>,
    known: Vec<StepResult>,
    results: Vec<StepResult>,
}

/// Returns true for a step that is a group of its own, because it runs a program of unknown effect.
pub(super) fn runs(step: &Step) -> bool {
    matches!(step.command, Command::RunCommand { .. })
}

/// Returns true for a step that looks at files as they are, so that those prepared before it have to
/// be made.
fn looks(command: &Command) -> bool {
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

impl StepRunner<'_> {
    /// Carries out the steps of a plan, in their order; returns the results of all steps of the
    /// reply.
    pub(super) fn run(
        &self,
        plan: &StepPlan,
        reply: &Reply,
        begun: Begun,
        seen: &mut SeenFiles,
        journal: &mut dyn StepJournal,
    ) -> Result<Vec<StepResult>> {
        let running = RefCell::new(None);
        let mut on_output = |text: &str| self.printed(&running, text);
        let mut execution = self
            .execution(seen, &reply.steps)
            .watched_by(self.interrupt.flag(), &mut on_output);
        execution.take_over(&begun.files);
        let mut seen_in_copy = SeenFiles::default();
        let copy = self
            .copy
            .map(|copy| Execution::begin(copy, self.limits, &mut seen_in_copy, &reply.steps));
        let mut progress = Progress {
            runner: self,
            plan,
            issues: &reply.issues,
            journal,
            execution,
            copy,
            running: &running,
            known: begun.known,
            results: begun.results,
        };
        let is_last = |step: &PlannedStep| {
            let mut commands = plan.steps.iter().rev().filter(|one| runs(&one.step));
            commands.next().is_some_and(|last| std::ptr::eq(last, step))
        };
        for group in (plan.steps).chunk_by(|one, next| !runs(&one.step) && !runs(&next.step)) {
            match group {
                [command] if runs(&command.step) => {
                    let follows = self.snapshot_follows && is_last(command);
                    progress.execution.expect_snapshot(follows);
                    progress.run_command(command)?;
                }
                _ => {
                    let mut left = group;
                    while !left.is_empty() {
                        let done = progress.change_files(left)?;
                        left = &left[done..];
                    }
                }
            }
        }
        progress.execution.finish();
        Ok(progress.results)
    }

    /// Runs a command again that missed the network, in a process that did not run it first.
    pub(super) fn run_again(
        &self,
        step: &Step,
        needs: Option<Grant>,
        seen: &mut SeenFiles,
        journal: &mut dyn StepJournal,
    ) -> Result<Outcome> {
        let running = RefCell::new(Some(RunningCommand::new(step, None)));
        let mut on_output = |text: &str| self.printed(&running, text);
        let mut execution = self
            .execution(seen, &[])
            .watched_by(self.interrupt.flag(), &mut on_output);
        let outcome = self.with_network(step, needs, &mut execution, journal)?;
        execution.finish();
        Ok(outcome)
    }

    fn execution<'e>(&'e self, seen: &'e mut SeenFiles, steps: &[Step]) -> Execution<'e> {
        let mut execution = Execution::begin(self.workspace, self.limits, seen, steps)
            .keeping(self.kept_inventory.clone())
            .hiding(self.hide)
            .withholding(&self.keys);
        execution.mark(&self.mark);
        execution
    }

    fn printed(&self, running: &RefCell<Option<RunningCommand>>, text: &str) {
        let mut running = running.borrow_mut();
        let Some(command) = running.as_mut() else {
            return;
        };
        if let Some(event) = command.live.printed(text) {
            self.person.emit(event);
        }
        if let Some(printed) = &mut command.printed {
            printed.push(text);
        }
    }

    /// Runs a command a second time, with the network; the outcome says that there was a first.
    fn with_network(
        &self,
        step: &Step,
        needs: Option<Grant>,
        execution: &mut Execution<'_>,
        journal: &mut dyn StepJournal,
    ) -> Result<Outcome> {
        journal.started(&[step.number], None)?;
        journal.announce(step);
        let grants = needs.into_iter().chain([Grant::Network]);
        execution.run_at(self.authorizer.place(grants));
        let outcome = execution.step(step);
        execution.take_missed_network();
        Ok(network::ran_twice(outcome))
    }
}

impl RunningCommand {
    fn new(step: &Step, printed: Option<Printed>) -> Self {
        Self {
            live: LiveOutput::of_step(step.number),
            printed,
        }
    }
}

impl<'e> Progress<'_, 'e> {
    fn run_command(&mut self, planned: &PlannedStep) -> Result<()> {
        let began = Instant::now();
        let known = self.known.get(self.results.len());
        let allowed = match known {
            Some(known) => Err(known.outcome.clone()),
            None => self.allowed(planned),
        };
        let step = match allowed {
            Err(outcome) => return self.finish_step(planned, outcome, began),
            Ok(_) if self.copy.is_some() => {
                return self.finish_step(planned, Outcome::ok("would be run"), began);
            }
            Ok(step) => planned.revised(&step).into_owned(),
        };
        self.journal.started(&[step.number], None)?;
        self.journal.announce(&planned.step);
        let grants = planned.grant.into_iter().chain(self.journal.granted());
        let place = self.runner.authorizer.place(grants);
        self.execution.run_at(place);
        let printed = self.journal.attend(&planned.step);
        self.running
            .replace(Some(RunningCommand::new(&step, printed)));
        let outcome = planned.decision.told(self.execution.step(&step));
        self.tell_rest(&step);
        self.finish_step(planned, outcome, began)?;
        if let Some(outcome) = self.offer_network(planned, &step)? {
            self.results.pop();
            self.finish_step(planned, outcome, began)?;
        }
        if let Some(printed) = self.running.take().and_then(|running| running.printed) {
            printed.finish();
        }
        Ok(())
    }

    /// Tells the end of a command's output; its file stays until the result is in the journal.
    fn tell_rest(&self, step: &Step) {
        let mut running = self.running.borrow_mut();
        let live = running
            .as_mut()
            .map(|command| std::mem::replace(&mut command.live, LiveOutput::of_step(step.number)));
        if let Some(event) = live.and_then(LiveOutput::finish) {
            self.runner.person.emit(event);
        }
    }

    fn finish_step(
        &mut self,
        planned: &PlannedStep,
        outcome: Outcome,
        began: Instant,
    ) -> Result<()> {
        let result = StepResult::new(&planned.step, outcome, began.elapsed());
        self.finish_steps(vec![result])
    }

    fn finish_steps(&mut self, results: Vec<StepResult>) -> Result<()> {
        self.journal.finished(&results)?;
        self.results.extend(results);
        Ok(())
    }

    /// Runs a command again with the network, if it missed it and the person says so.
    ///
    /// The result of the first run must be in the journal.
    fn offer_network(&mut self, planned: &PlannedStep, step: &Step) -> Result<Option<Outcome>> {
        let missed = self.execution.take_missed_network();
        let (runner, plan) = (self.runner, self.plan);
        if !missed || !runner.offers_network(plan.input) {
            return Ok(None);
        }
        let Some(question) = network::question(step, plan.round) else {
            return Ok(None);
        };
        if !runner.is_network_given(&question, self.journal)? {
            return Ok(None);
        }
        let execution = &mut self.execution;
        let outcome = runner.with_network(step, planned.grant, execution, self.journal)?;
        self.tell_rest(step);
        Ok(Some(planned.decision.told(outcome)))
    }

    /// Carries out steps as one group: all of them, or as many as there is room for what they write.
    /// Returns how many.
    fn change_files(&mut self, steps: &[PlannedStep]) -> Result<usize> {
        let mut staged = Vec::with_capacity(steps.len());
        let mut count = 0;
        for (place, planned) in (self.results.len()..).zip(steps) {
            if count > 0 && self.changing().is_full() {
                break;
            }
            count += 1;
            if let Some(known) = self.known.get(place) {
                let outcome = known.outcome.clone();
                staged.push(StagedStep {
                    result: StepResult::new(&planned.step, outcome, Duration::ZERO),
                    changes: Vec::new(),
                });
            } else if !looks(&planned.step.command) {
                staged.push(self.stage(planned));
            }
        }
        self.changing().remark_on_syntax(&mut staged);
        let group = &steps[..count];
        let numbers: Vec<u32> = group.iter().map(|planned| planned.step.number).collect();
        let prepared = self.batch(&staged);
        self.journal.started(&numbers, prepared)?;
        let mut failed = Vec::new();
        for (place, outcome) in self.changing().carry_out(&staged) {
            staged[place].result.outcome = outcome;
            failed.push(place);
        }
        self.journal.changed(&staged, &failed);
        let mut staged = staged.into_iter().map(|step| step.result).peekable();
        let mut results = Vec::with_capacity(group.len());
        for planned in group {
            let prepared = staged.next_if(|result| result.number == planned.step.number);
            results.push(prepared.unwrap_or_else(|| self.look(planned)));
        }
        self.finish_steps(results)?;
        Ok(count)
    }

    /// The execution that changes files.
    fn changing(&mut self) -> &mut Execution<'e> {
        self.copy.as_mut().unwrap_or(&mut self.execution)
    }

    /// Prepares a step.
    fn stage(&mut self, planned: &PlannedStep) -> StagedStep {
        let began = Instant::now();
        let mut changes = Vec::new();
        let outcome = match self.allowed(planned) {
            Err(outcome) => outcome,
            Ok(step) => {
                let step = step.into_owned();
                self.announce(&step);
                let (outcome, prepared) = self.changing().stage(&step);
                changes = prepared;
                planned.decision.told(outcome)
            }
        };
        StagedStep {
            result: StepResult::new(&planned.step, outcome, began.elapsed()),
            changes,
        }
    }

    /// Makes the journal's record of the steps, if they change files.
    fn batch(&mut self, staged: &[StagedStep]) -> Option<StagedBatch> {
        let changes: Vec<&StagedChange> = staged.iter().flat_map(|step| &step.changes).collect();
        if changes.is_empty() {
            return None;
        }
        Some(StagedBatch {
            steps: staged.to_vec(),
            files: self.changing().files_of(&changes),
        })
    }

    fn look(&mut self, planned: &PlannedStep) -> StepResult {
        let began = Instant::now();
        let outcome = match self.allowed(planned) {
            Err(outcome) => outcome,
            Ok(step) => {
                let step = step.into_owned();
                self.announce(&step);
                let place = self.runner.authorizer.place(planned.grant);
                self.execution.run_at(place);
                planned.decision.told(self.execution.step(&step))
            }
        };
        StepResult::new(&planned.step, outcome, began.elapsed())
    }

    fn announce(&mut self, step: &Step) {
        if self.copy.is_none() && !self.plan.was_told(step) {
            self.journal.announce(step);
        }
    }

    /// The step as it is carried out, or why it is not.
    fn allowed<'s>(&self, planned: &'s PlannedStep) -> Result<Cow<'s, Step>, Outcome> {
        let StepRunner {
            interrupt,
            on_failure,
            ..
        } = self.runner;
        if interrupt.is_raised() {
            return Err(Outcome::by_person(interrupt.act()));
        }
        // Before anything else: what the person declined is not to be sent again.
        match &planned.decision {
            PersonDecision::NotAsked | PersonDecision::Approved { .. } => {}
            PersonDecision::Declined(outcome) if outcome.by_person == Some(PersonAct::Skipped) => {
                // Nobody was asked about a command that could not run any more.
                let skipped = skipped_after(&planned.step, &self.results, self.issues, *on_failure);
                return Err(skipped.unwrap_or_else(|| outcome.clone()));
            }
            PersonDecision::Declined(outcome) => return Err(outcome.clone()),
            PersonDecision::Stopped => {
                interrupt.stop();
                return Err(Outcome::by_person(PersonAct::Stopped));
            }
        }
        let step = &planned.step;
        if let Some(skipped) = skipped_after(step, &self.results, self.issues, *on_failure) {
            return Err(skipped);
        }
        if runs(step) && !self.results.is_empty() && !self.plan.still_allows(planned) {
            return Err(not_approved(
                "an earlier step of this reply changed which program it starts",
            ));
        }
        self.journal.reveal(step)
    }
}

/// The outcome of a command that is not run after what happened before it in the same reply.
fn skipped_after(
    step: &Step,
    results: &[StepResult],
    issues: &[Issue],
    on_failure: OnFailure,
) -> Option<Outcome> {
    if !runs(step) || on_failure == OnFailure::Continue {
        return None;
    }
    let failed = results
        .iter()
        .find(|result| result.outcome.status != Status::Ok && changes_files(&result.command))
        .map(|result| result.number);
    let malformed = issues
        .iter()
        .filter(|issue| issue.command.as_deref().is_some_and(changes_files))
        .filter_map(|issue| issue.number)
        .find(|number| *number < step.number);
    let number = failed.into_iter().chain(malformed).min()?;
    let outcome = (results.iter())
        .find(|result| result.number == number)
        .map(|result| &result.outcome);
    // A choice of the person is nothing to correct, and neither is one of the rules.
    let decided = match outcome {
        Some(outcome) if outcome.by_person == Some(PersonAct::Declined) => Some("declined"),
        Some(outcome) if outcome.status == Status::Refused => Some("refused"),
        Some(outcome) if outcome.by_person == Some(PersonAct::Skipped) => Some("skipped"),
        _ => None,
    };
    if let Some(decided) = decided {
        return Some(Outcome::skipped(format!(
            "the change in step {number} was {decided}, and this command came after it"
        )));
    }
    Some(
        Outcome::skipped(format!("the change in step {number} failed"))
            .with_hint("correct it and send this command again"),
    )
}

fn changes_files(command: &str) -> bool {
    let kind: Option<CommandKind> = command.parse().ok();
    kind.is_some_and(CommandKind::changes_files)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::agent::apply::Rehearsal;
    use crate::agent::authorize::tests::{authorizer, numbered, plan_steps, run};
    use crate::approve::Input;
    use crate::approve::tests::Absent;
    use crate::policy::{Approval, CommandConfinement, FoundProgram, Policy, ProgramLookup, Rule};
    use crate::protocol::{Event, RelPath};

    /// Collects what it is told, and looks at a file whenever steps begin.
    #[derive(Debug)]
    struct MemoryJournal<'a> {
        watched: &'a Path,
        /// The steps that began, how many changes were prepared for them, and if the watched file
        /// was there by then.
        started: Vec<(Vec<u32>, usize, bool)>,
        finished: Vec<u32>,
        announced: Vec<u32>,
        failed: usize,
    }

    impl StepJournal for MemoryJournal<'_> {
        fn started(&mut self, steps: &[u32], prepared: Option<StagedBatch>) -> Result<()> {
            let changes = prepared.iter().flat_map(|batch| &batch.steps);
            let changes = changes.map(|step| step.changes.len()).sum();
            let is_there = self.watched.exists();
            self.started.push((steps.to_vec(), changes, is_there));
            Ok(())
        }

        fn finished(&mut self, results: &[StepResult]) -> Result<()> {
            self.finished
                .extend(results.iter().map(|result| result.number));
            Ok(())
        }

        fn changed(&mut self, _: &[StagedStep], failed: &[usize]) {
            self.failed += failed.len();
        }

        fn announce(&mut self, step: &Step) {
            self.announced.push(step.number);
        }

        fn reveal<'s>(&self, step: &'s Step) -> Result<Cow<'s, Step>, Outcome> {
            Ok(Cow::Borrowed(step))
        }

        fn attend(&mut self, _: &Step) -> Option<Printed> {
            None
        }

        fn questions(&mut self) -> Result<Pending> {
            Ok(Pending::of(Path::new("")))
        }

        fn granted(&self) -> Option<Grant> {
            None
        }

        fn grant_network(&mut self) {}
    }

    /// A workspace in which everything is allowed, and somebody who only listens.
    struct Bench {
        directory: tempfile::TempDir,
        workspace: Workspace,
        limits: Limits,
        authorizer: Authorizer,
        person: Absent,
        interrupt: Interrupt,
    }

    impl Bench {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let mut policy = Policy::new(directory.path(), None);
            policy.approval = Approval::Auto;
            policy.confinement = CommandConfinement::Sandboxed;
            Self {
                workspace: Workspace::open(directory.path()).unwrap(),
                limits: Limits::default(),
                authorizer: authorizer(policy),
                person: Absent::with(Input::Wait),
                interrupt: Interrupt::default(),
                directory,
            }
        }

        /// Carries out the steps; `decide` changes what was decided about them.
        fn run(
            &self,
            steps: &[Step],
            begun: Begun,
            copy: Option<&Workspace>,
            decide: impl FnOnce(&mut StepPlan),
            journal: &mut MemoryJournal<'_>,
        ) -> Vec<StepResult> {
            let mut plan = plan_steps(self.directory.path(), &self.authorizer, steps);
            decide(&mut plan);
            let runner = StepRunner {
                workspace: &self.workspace,
                limits: &self.limits,
                authorizer: &self.authorizer,
                person: &self.person,
                interrupt: &self.interrupt,
                on_failure: OnFailure::SkipCommands,
                hide: None,
                keys: KnownKeys::default(),
                mark: "mark".to_owned(),
                kept_inventory: None,
                snapshot_follows: false,
                copy,
            };
            let reply = Reply {
                steps: steps.to_vec(),
                ..Reply::default()
            };
            let mut seen = SeenFiles::default();
            runner
                .run(&plan, &reply, begun, &mut seen, journal)
                .unwrap()
        }

        fn text(&self, name: &str) -> Option<String> {
            std::fs::read_to_string(self.directory.path().join(name)).ok()
        }
    }

    fn watching(watched: &Path) -> MemoryJournal<'_> {
        MemoryJournal {
            watched,
            started: Vec::new(),
            finished: Vec::new(),
            announced: Vec::new(),
            failed: 0,
        }
    }

    fn path(name: &str) -> RelPath {
        RelPath::parse(name).unwrap()
    }

    fn create(name: &str, content: &str) -> Command {
        Command::create_file(path(name), content.to_owned())
    }

    fn statuses(results: &[StepResult]) -> Vec<Status> {
        results.iter().map(|result| result.outcome.status).collect()
    }

    #[test]
    fn the_journal_knows_a_group_before_any_of_it_is_made() {
        let bench = Bench::new();
        let watched = bench.directory.path().join("b.txt");
        let mut journal = watching(&watched);
        let list = Command::ListFiles {
            path: None,
            glob: None,
        };
        let steps = numbered(vec![
            create("a.txt", "a\n"),
            list,
            create("b.txt", "b\n"),
            run("cat a.txt b.txt"),
            create("c.txt", "c\n"),
        ]);
        let results = bench.run(&steps, Begun::default(), None, |_| {}, &mut journal);
        assert_eq!(statuses(&results), [Status::Ok; 5], "{results:?}");
        // The whole group is prepared and nothing of it is there; the command is alone.
        let expected = [
            (vec![1, 2, 3], 2, false),
            (vec![4], 0, true),
            (vec![5], 1, true),
        ];
        assert_eq!(journal.started, expected);
        assert_eq!(journal.finished, [1, 2, 3, 4, 5]);
        // What only looks sees the files as the whole group leaves them.
        let listed = &results[1].outcome.detail.text;
        assert!(listed.contains("b.txt"), "{listed}");
        assert_eq!(results[3].outcome.detail.text.trim(), "a\nb");
        let events = bench.person.heard.lock().unwrap();
        let printed = (events.iter()).any(|event| matches!(event, Event::Output { .. }));
        assert!(printed, "{events:?}");
    }

    #[test]
    fn what_was_declined_is_not_carried_out_and_a_stop_ends_the_rest() {
        let bench = Bench::new();
        let watched = bench.directory.path().join("b.txt");
        let mut journal = watching(&watched);
        let steps = numbered(vec![
            create("a.txt", "a\n"),
            create("b.txt", "b\n"),
            run("touch ran"),
            create("d.txt", "d\n"),
        ]);
        let decide = |plan: &mut StepPlan| {
            plan.steps[1].decision = PersonDecision::Declined(Outcome::refused("no"));
            plan.steps[2].decision = PersonDecision::Stopped;
            plan.steps[3].decision = PersonDecision::Stopped;
        };
        let results = bench.run(&steps, Begun::default(), None, decide, &mut journal);
        let skipped = Status::Skipped;
        assert_eq!(
            statuses(&results),
            [Status::Ok, Status::Refused, skipped, skipped]
        );
        assert!(bench.interrupt.is_raised());
        assert_eq!(journal.announced, [1]);
        assert!(bench.text("a.txt").is_some() && bench.text("b.txt").is_none());
        assert!(bench.text("ran").is_none() && bench.text("d.txt").is_none());
    }

    #[test]
    fn a_command_is_skipped_after_a_failed_change() {
        let bench = Bench::new();
        let watched = bench.directory.path().join("b.txt");
        let mut journal = watching(&watched);
        let delete = Command::DeleteFile {
            path: path("missing.txt"),
        };
        let steps = numbered(vec![delete, run("touch ran")]);
        let results = bench.run(&steps, Begun::default(), None, |_| {}, &mut journal);
        assert_eq!(statuses(&results), [Status::Failed, Status::Skipped]);
        assert!(results[1].outcome.message.contains("step 1 failed"));
        assert!(bench.text("ran").is_none());
        // It was not begun either.
        assert_eq!(journal.started.len(), 1);
    }

    #[test]
    fn a_rule_does_not_allow_a_program_that_an_earlier_step_put_in_its_place() {
        let mut bench = Bench::new();
        let planted = bench.directory.path().join("bin/tool");
        let policy = &mut bench.authorizer.policy;
        policy.approval = Approval::Edits;
        policy.person.allow = vec![Rule::parse("tool").unwrap()];
        policy.lookup = ProgramLookup::new(move |word| {
            let path = if planted.exists() {
                planted.clone()
            } else {
                Path::new("/usr/bin").join(word)
            };
            let real = path.clone();
            Some(FoundProgram { path, real })
        });
        let watched = bench.directory.path().join("b.txt");
        let mut journal = watching(&watched);
        let steps = numbered(vec![create("bin/tool", "evil\n"), run("tool")]);
        let is_allowed = |plan: &mut StepPlan| {
            assert_eq!(plan.steps[1].decision, PersonDecision::NotAsked);
        };
        let results = bench.run(&steps, Begun::default(), None, is_allowed, &mut journal);
        assert_eq!(statuses(&results), [Status::Ok, Status::Refused]);
        let why = &results[1].outcome.message;
        assert!(why.contains("changed which program it starts"), "{why}");
        assert_eq!(journal.started.len(), 1, "it was not begun");
    }

    #[test]
    fn what_is_done_or_known_is_not_carried_out_again() {
        let bench = Bench::new();
        let watched = bench.directory.path().join("b.txt");
        let mut journal = watching(&watched);
        let steps = numbered(vec![
            create("a.txt", "a\n"),
            create("b.txt", "b\n"),
            create("c.txt", "c\n"),
        ]);
        let known = |step: &Step| StepResult::new(step, Outcome::ok("before"), Duration::ZERO);
        let begun = Begun {
            known: vec![known(&steps[0]), known(&steps[1])],
            ..Begun::default()
        };
        let results = bench.run(&steps, begun, None, |_| {}, &mut journal);
        assert_eq!(results[1].outcome.message, "before");
        assert!(bench.text("a.txt").is_none() && bench.text("b.txt").is_none());
        assert_eq!(bench.text("c.txt").as_deref(), Some("c\n"));
    }

    #[test]
    fn a_dry_run_changes_only_the_copy_and_runs_nothing() {
        let bench = Bench::new();
        let watched = bench.directory.path().join("b.txt");
        let mut journal = watching(&watched);
        let steps = numbered(vec![create("a.txt", "a\n"), run("touch ran")]);
        let rehearsal = Rehearsal::prepare(&bench.workspace, &steps, 1_000).unwrap();
        let copy = Some(&rehearsal.workspace);
        let results = bench.run(&steps, Begun::default(), copy, |_| {}, &mut journal);
        assert_eq!(statuses(&results), [Status::Ok; 2]);
        assert_eq!(results[1].outcome.message, "would be run");
        assert_eq!(rehearsal.text(&path("a.txt")).as_deref(), Some("a\n"));
        assert!(bench.text("a.txt").is_none() && bench.text("ran").is_none());
        assert!(journal.announced.is_empty());
    }
}
