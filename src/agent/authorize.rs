//! Authorizes the steps of a reply, before the first of them is carried out.
//!
//! Each step is ruled on once. Where the policy leaves the decision to the person, all questions of
//! the reply are put at once; what a file step would change is tried on a copy, so that its question
//! can show the difference. Commands are not run for that: a difference that depends on one may turn
//! out otherwise. The result is a [`StepPlan`], which `steps` carries out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::apply::Rehearsal;
use super::live_output::announce;
use super::steps::runs;
use crate::approve::{
    self, Asked, ChangeAhead, Desk, EarlierChanges, Input, KeptAnswers, KeptRules, KnownSessions,
    Pending, Person, PersonDecision, QuestionOrigin, difference,
};
use crate::error::Result;
use crate::execute::{Execution, Limits};
use crate::interrupt::Interrupt;
use crate::policy::{Approval, Decision, Grant, Network, Policy, Ruling};
use crate::protocol::{
    Command, Event, OnFailure, Outcome, PersonAct, SandboxProperty, SeenFiles, Status, Step,
};
use crate::runner::{CommandPlace, Granted, Runner, RunnerChoice};
use crate::sandbox::{Confinement, Strength};
use crate::settings::Commands;
use crate::workspace::Workspace;

/// Decides what may be executed, and how commands are confined.
#[derive(Debug)]
pub struct Authorizer {
    /// Says if the model may run commands.
    pub commands: Commands,
    /// The rules.
    pub policy: Policy,
    /// When the person is asked once a plan is approved.
    pub work_approval: Approval,
    /// The rules that the person gave by answering "always".
    pub kept_rules: KeptRules,
    /// The person's answers about values that may not be secrets.
    pub kept_answers: KeptAnswers,
    /// The sessions that the person began or took over.
    pub known_sessions: KnownSessions,
    /// Runs the commands.
    pub runner: Arc<dyn Runner>,
    /// The words for it.
    pub runner_choice: RunnerChoice,
    /// Other runners, from which results have not come back.
    pub runners_with_results: Vec<String>,
    /// How commands are confined on this machine; `None` where they are not.
    pub confinement: Option<Confinement>,
    /// The file that lists the repositories a running command found. It is in the person's own state
    /// directory, because a project may bring a `sessions/` along.
    pub kept_inventory: Option<PathBuf>,
    /// Says if commands have the network, and how it is offered where they do not.
    pub network: Network,
    /// The result of the live test of this machine's sandbox.
    pub strength: Option<Strength>,
}

/// The step with secrets in place of placeholders, or why it is refused.
pub(super) type Reveal<'a> = dyn for<'s> Fn(&'s Step) -> Result<Cow<'s, Step>, Outcome> + 'a;

/// Who is asked about the steps of a reply, and what the questions are made from.
pub(super) struct Asking<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) limits: &'a Limits,
    pub(super) seen: &'a SeenFiles,
    pub(super) person: &'a dyn Person,
    pub(super) interrupt: &'a Interrupt,
    pub(super) base: &'a Path,
    pub(super) pending: &'a Pending,
    pub(super) input: Input,
    pub(super) approval: Approval,
    pub(super) round: u32,
    pub(super) reveal: &'a Reveal<'a>,
    pub(super) origin: QuestionOrigin,
    /// Says if commands run after a change that is not made.
    pub(super) on_failure: OnFailure,
    /// Finds what earlier rounds changed, if nobody was asked about that.
    pub(super) unseen: &'a UnseenChanges<'a>,
}

/// Finds changes of earlier rounds: the path of each file, and the difference.
pub(super) type UnseenChanges<'a> = dyn Fn() -> Vec<(String, String)> + 'a;

/// The steps of a reply that are not done yet, each with what was decided about it.
#[derive(Debug)]
pub(super) struct StepPlan {
    pub(super) steps: Vec<PlannedStep>,
    pub(super) round: u32,
    /// Says if the person is waited for while the steps are carried out.
    pub(super) input: Input,
    policy: Policy,
    /// True if what the model says was told before the questions.
    has_spoken: bool,
}

/// A step with the ruling on it and the person's decision.
#[derive(Debug)]
pub(super) struct PlannedStep {
    /// The step as the model wrote it.
    pub(super) step: Step,
    ruling: Ruling,
    /// If it is carried out, by the ruling and the person together.
    pub(super) decision: PersonDecision,
    /// The grant that comes with the person's yes.
    pub(super) grant: Option<Grant>,
}

impl Authorizer {
    /// Returns true if the model may run commands at all.
    pub(super) fn runs_commands(&self) -> bool {
        self.commands == Commands::Run
    }

    /// Plans the steps of a reply after the first `done`, which are over; `None` if the person
    /// interrupts while they are asked.
    ///
    /// To be called before anything of the round is in the journal: then a killed loop comes back to
    /// the questions, and finds what was decided.
    pub(super) fn plan(
        &self,
        asking: &Asking<'_>,
        reply: &[Step],
        done: usize,
    ) -> Result<Option<StepPlan>> {
        let policy = self.policy_now(asking.base, asking.approval)?;
        let steps = &reply[done..];
        let rulings: Vec<Ruling> = (steps.iter())
            .map(|step| policy.rule_on(&step.command))
            .collect();
        // A command that is switched off is not asked about, and changes nothing.
        let is_possible = |step: &Step| self.runs_commands() || !runs(step);
        let revealed: Vec<Result<Cow<'_, Step>, Outcome>> =
            (steps.iter()).map(|step| (asking.reveal)(step)).collect();
        // Nor is one that will be skipped, because the rules refuse a change before it.
        let denied = (steps.iter().zip(&rulings))
            .find(|(step, ruling)| {
                ruling.decision == Decision::Deny && step.command.changes_files()
            })
            .filter(|_| asking.on_failure == OnFailure::SkipCommands)
            .map(|(step, _)| step.number);
        let is_skipped =
            |step: &Step| runs(step) && denied.is_some_and(|denied| denied < step.number);
        let possible: Vec<(&Step, &Ruling)> = (revealed.iter().zip(&rulings))
            .filter_map(|(step, ruling)| Some((step.as_deref().ok()?, ruling)))
            .filter(|(step, _)| is_possible(step) && !is_skipped(step))
            .collect();
        let desk = Desk {
            person: asking.person,
            interrupt: asking.interrupt,
            pending: asking.pending,
            rules: (&self.kept_rules, asking.base),
            input: asking.input,
            origin: asking.origin,
        };
        let asked = asked(asking, &policy, reply, &possible)?;
        let has_spoken = asking.input == Input::Wait && !asked.is_empty();
        let Some(decisions) = approve::ask(&desk, asking.round, &asked)? else {
            return Ok(None);
        };
        let planned =
            (steps.iter().zip(rulings).zip(revealed)).map(|((step, ruling), revealed)| {
                let decision = match ruling.decision {
                    Decision::Ask if is_skipped(step) => {
                        PersonDecision::Declined(Outcome::by_person(PersonAct::Skipped))
                    }
                    _ => decisions.on(step.number),
                };
                let ruling = match revised(step, &decision) {
                    // The rules refuse a script that the person wrote too.
                    Cow::Owned(theirs) => Some(policy.rule_on(&theirs.command))
                        .filter(|theirs| theirs.decision == Decision::Deny)
                        .unwrap_or(ruling),
                    Cow::Borrowed(_) => ruling,
                };
                let refusal = if is_possible(step) {
                    // Where nobody is asked, an earlier step may still make it possible.
                    (revealed.err()).filter(|_| ruling.decision == Decision::Ask)
                } else {
                    Some(
                        Outcome::refused("the user has switched commands off")
                            .with_hint("work with files only, and say what to run in a MESSAGE"),
                    )
                };
                PlannedStep::new(step, ruling, decision, refusal)
            });
        Ok(Some(StepPlan {
            steps: planned.collect(),
            round: asking.round,
            input: asking.input,
            policy,
            has_spoken,
        }))
    }

    /// The rules as they are now, with those that the person gave by answering "always".
    fn policy_now(&self, base: &Path, approval: Approval) -> Result<Policy> {
        let mut policy = self.policy.clone();
        policy.approval = approval;
        policy.person.always = self.kept_rules.load(base)?;
        Ok(policy)
    }

    /// Returns true if only the person can decide about a command.
    pub(super) fn leaves_to_person(
        &self,
        base: &Path,
        approval: Approval,
        step: &Step,
    ) -> Result<bool> {
        let ruling = self.policy_now(base, approval)?.rule_on(&step.command);
        let is_possible = self.runs_commands() || !runs(step);
        Ok(is_possible && ruling.decision == Decision::Ask)
    }

    /// Where one command runs, with what was granted for it.
    pub(super) fn place(&self, grants: impl IntoIterator<Item = Grant>) -> CommandPlace {
        let mut granted = Granted::default();
        for grant in grants.into_iter().chain(self.policy.grants.iter().copied()) {
            match grant {
                Grant::GitWrite => granted.git_write = true,
                Grant::Network => granted.network = true,
            }
        }
        let mut confinement = self.confinement.clone();
        if let Some(confinement) = &mut confinement {
            confinement.git_write |= granted.git_write;
            confinement.network |= granted.network;
        }
        CommandPlace {
            granted,
            runner: Arc::clone(&self.runner),
            confinement,
        }
    }

    /// Tells how commands are confined.
    pub(super) fn described(&self) -> Event {
        let commands = self.runs_commands();
        if commands && self.runner_choice != RunnerChoice::Local {
            return self.described_runner();
        }
        let confinement = self.confinement.as_ref().filter(|_| commands);
        let properties = self.strength.iter().filter(|_| commands);
        let properties = properties.flat_map(|strength| &strength.properties);
        Event::Confinement {
            commands,
            runner: None,
            backend: confinement.map(|confinement| confinement.backend.name().to_owned()),
            network: confinement.is_some_and(|confinement| confinement.network),
            properties: properties
                .map(|property| SandboxProperty {
                    name: property.name.word().to_owned(),
                    holds: property.holds,
                })
                .collect(),
        }
    }
}

impl Authorizer {
    /// Tells where commands run, and what that place promises.
    fn described_runner(&self) -> Event {
        let promises = self.runner.promises();
        let name = self.runner_choice.to_string();
        let is_sandbox = !promises.is_empty();
        Event::Confinement {
            commands: true,
            backend: is_sandbox.then(|| name.clone()),
            network: self.place([]).granted.network,
            properties: (promises.iter())
                .map(|property| SandboxProperty {
                    name: property.word().to_owned(),
                    holds: true,
                })
                .collect(),
            runner: Some(name),
        }
    }

    /// The name of what confines commands, if anything does.
    pub(super) fn sandbox_name(&self) -> Option<String> {
        match self.runner_choice {
            RunnerChoice::Local => {
                let confinement = self.confinement.as_ref();
                confinement.map(|confinement| confinement.backend.name().to_owned())
            }
            _ => Some(self.runner_choice.to_string()),
        }
    }
}

impl StepPlan {
    /// Returns true if the rules allowed a step, so that the person has not seen it.
    pub(super) fn went_unasked(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|planned| matches!(planned.decision, PersonDecision::NotAsked))
    }

    /// Returns true if a step was told already, before the questions.
    pub(super) fn was_told(&self, step: &Step) -> bool {
        self.has_spoken && is_speech(&step.command, self.policy.approval)
    }

    /// Returns true if the rules that allowed a command still do.
    ///
    /// A name in a rule means a program outside of what commands may write. An earlier step may have
    /// put another one where the name leads.
    pub(super) fn still_allows(&self, planned: &PlannedStep) -> bool {
        planned.ruling.decision != Decision::Allow
            || self.policy.rule_on(&planned.step.command).decision == Decision::Allow
    }
}

impl PlannedStep {
    /// `refusal` says why the step cannot be carried out whatever the person says.
    fn new(
        step: &Step,
        ruling: Ruling,
        decision: PersonDecision,
        refusal: Option<Outcome>,
    ) -> Self {
        let (mut decision, mut grant) = (decision, None);
        match (&decision, ruling.decision, refusal) {
            (PersonDecision::Stopped, ..) | (PersonDecision::Declined(_), _, None) => {}
            (_, _, Some(refusal)) => decision = PersonDecision::Declined(refusal),
            (_, Decision::Deny, _) => {
                let about = if ruling.about.is_empty() {
                    String::new()
                } else {
                    format!("`{}`: ", ruling.about)
                };
                let refused = Outcome::refused(format!("{about}{}", ruling.reason()));
                decision = PersonDecision::Declined(refused.with_hint(&ruling.hint));
            }
            (PersonDecision::Approved { .. }, Decision::Ask, _) => grant = ruling.needs,
            (PersonDecision::NotAsked, Decision::Ask, _) => {
                let refused = not_approved(&ruling.reason()).with_hint(&ruling.hint);
                decision = PersonDecision::Declined(refused);
            }
            (_, Decision::Allow, _) => {}
        }
        Self {
            step: step.clone(),
            ruling,
            decision,
            grant,
        }
    }

    /// The step as it is carried out: with the person's script, if they changed it.
    pub(super) fn revised<'s>(&self, step: &'s Step) -> Cow<'s, Step> {
        revised(step, &self.decision)
    }
}

/// The step with the person's script, if this decision has one.
fn revised<'s>(step: &'s Step, decision: &PersonDecision) -> Cow<'s, Step> {
    match (&step.command, decision) {
        (
            Command::RunCommand { timeout, .. },
            PersonDecision::Approved {
                script: Some(script),
            },
        ) => Cow::Owned(Step {
            command: Command::RunCommand {
                script: script.clone(),
                timeout: *timeout,
            },
            ..step.clone()
        }),
        _ => Cow::Borrowed(step),
    }
}

/// The refusal of a step that was not asked about, however that came about.
pub(super) fn not_approved(why: &str) -> Outcome {
    let message = format!("this needs the user's approval, which was not given: {why}");
    Outcome {
        needs_person: true,
        ..Outcome::refused(message)
    }
}

/// The questions about the steps that were ruled `Ask`.
fn asked<'s>(
    asking: &Asking<'_>,
    policy: &Policy,
    reply: &[Step],
    steps: &[(&'s Step, &Ruling)],
) -> Result<Vec<Asked<'s>>> {
    let needs_yes = |(_, ruling): &(&Step, &Ruling)| ruling.decision == Decision::Ask;
    // A command may run what an earlier step of the reply writes: that is shown too.
    let changes_files =
        steps.iter().any(needs_yes) && steps.iter().any(|(step, _)| step.command.changes_files());
    // A decision that was made before is one about the very difference that was shown.
    let is_shown = asking.input == Input::Wait || !asking.pending.all().is_empty();
    let mut shown = if changes_files && is_shown {
        let steps: Vec<Step> = steps.iter().map(|(step, _)| (*step).clone()).collect();
        differences(asking, &steps)?
    } else {
        BTreeMap::new()
    };
    let mut earlier = EarlierChanges::default();
    let mut reply = reply.iter().peekable();
    let (mut ahead, mut asked) = (Vec::new(), Vec::new());
    for (step, ruling) in steps {
        let difference = shown.remove(&step.number);
        match ruling.decision {
            Decision::Ask => {
                while let Some(before) = reply.next_if(|before| before.number < step.number) {
                    earlier.note(before);
                }
                let one = Asked::new(policy, step, ruling, difference, &earlier);
                asked.push(one.after(std::mem::take(&mut ahead), asking.on_failure));
            }
            Decision::Allow => {
                ahead.extend(difference.map(|difference| ChangeAhead::new(step, difference)));
            }
            Decision::Deny => {}
        }
    }
    if asking.input == Input::Wait && !asked.is_empty() {
        tell_ahead(asking, policy, steps, &asked);
    }
    Ok(asked)
}

/// Tells what the person must know before they decide: what the model says, and what steps change that
/// need no decision and come before one that does.
fn tell_ahead(
    asking: &Asking<'_>,
    policy: &Policy,
    steps: &[(&Step, &Ruling)],
    asked: &[Asked<'_>],
) {
    for (step, _) in steps {
        if is_speech(&step.command, policy.approval) {
            announce(asking.person, step);
        }
    }
    tell_unseen(asking, policy, steps);
    for change in asked.iter().flat_map(Asked::changes_ahead) {
        asking.person.emit(change);
    }
}

/// Tells what earlier rounds changed and nobody was asked about, before a question about a command: files
/// that the command names with its step, and the others, which it may run all the same (`make`).
fn tell_unseen(asking: &Asking<'_>, policy: &Policy, steps: &[(&Step, &Ruling)]) {
    let asked = steps
        .iter()
        .filter(|(_, ruling)| ruling.decision == Decision::Ask);
    let scripts = asked.filter_map(|(step, _)| match &step.command {
        Command::RunCommand { script, .. } => Some((step.number, script)),
        _ => None,
    });
    let named: Vec<(u32, BTreeSet<String>)> = scripts
        .map(|(number, script)| (number, names_in(policy, script)))
        .collect();
    if named.is_empty() {
        return;
    }
    let changes = (asking.unseen)().into_iter().map(|(path, difference)| {
        let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let step = named.iter().find(|(_, names)| names.contains(&name));
        (step.map_or(0, |(number, _)| *number), path, difference)
    });
    let mut changes: Vec<(u32, String, String)> = changes.collect();
    changes.sort_by_key(|(step, ..)| *step);
    for (step, path, difference) in changes {
        (asking.person).emit(Asked::unseen(&path, difference, step));
    }
}

/// The last parts of all words of a script, in lower case; what the grammar cannot read is split at
/// whatever is in no plain name.
fn names_in(policy: &Policy, script: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || "._-/".contains(letter);
    let words = policy.words_of(script);
    let words = words.iter().map(String::as_str);
    let words = words.chain(script.split(|letter| !is_part(letter)));
    words
        .filter_map(|word| word.rsplit(['/', '=']).next())
        .map(str::to_lowercase)
        .collect()
}

/// Returns true for what the model says and what is told before questions; a plan that is itself asked
/// about is shown there.
fn is_speech(command: &Command, approval: Approval) -> bool {
    match command {
        Command::Message { .. } => true,
        Command::Plan { .. } => approval != Approval::Plan,
        _ => false,
    }
}

/// Computes the diff that each file step would make, provided that the steps before it are carried
/// out.
fn differences(asking: &Asking<'_>, steps: &[Step]) -> Result<BTreeMap<u32, String>> {
    let limits = asking.limits;
    let rehearsal = Rehearsal::prepare(asking.workspace, steps, limits.max_file_bytes)?;
    let mut seen = asking.seen.clone();
    let mut execution = Execution::begin(&rehearsal.workspace, limits, &mut seen, steps);
    let mut differences = BTreeMap::new();
    for step in steps.iter().filter(|step| step.command.changes_files()) {
        let paths = step.command.changed_paths();
        let texts =
            || -> Vec<Option<String>> { paths.iter().map(|path| rehearsal.text(path)).collect() };
        let before = texts();
        let outcome = execution.step(step);
        let mut shown = String::new();
        for ((path, before), after) in paths.iter().zip(before).zip(texts()) {
            if before != after {
                shown += &difference(path, before.as_deref(), after.as_deref());
            }
        }
        if outcome.status != Status::Ok {
            let message = &outcome.message;
            let _ = writeln!(shown, "(as things are, this would fail: {message})");
        } else if shown.is_empty() {
            let _ = writeln!(shown, "({})", outcome.message);
        }
        differences.insert(step.number, shown);
    }
    Ok(differences)
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::approve::tests::Absent;
    use crate::policy::{CommandConfinement, FoundProgram, ProgramLookup, Rule};
    use crate::protocol::RelPath;

    /// Plans the commands of a reply in an empty workspace, with nobody to ask.
    fn plan_in(directory: &Path, authorizer: &Authorizer, commands: Vec<Command>) -> StepPlan {
        plan_steps(directory, authorizer, &numbered(commands))
    }

    pub(in crate::agent) fn plan_steps(
        directory: &Path,
        authorizer: &Authorizer,
        steps: &[Step],
    ) -> StepPlan {
        let workspace = Workspace::open(directory).unwrap();
        let asking = Asking {
            workspace: &workspace,
            limits: &Limits::default(),
            seen: &SeenFiles::default(),
            person: &Absent::with(Input::Wait),
            interrupt: &Interrupt::default(),
            base: directory,
            pending: &Pending::of(directory),
            input: Input::Refuse,
            approval: authorizer.policy.approval,
            round: 1,
            reveal: &|step| Ok(Cow::Borrowed(step)),
            origin: QuestionOrigin::Reply,
            on_failure: OnFailure::SkipCommands,
            unseen: &Vec::new,
        };
        authorizer.plan(&asking, steps, 0).unwrap().unwrap()
    }

    pub(in crate::agent) fn numbered(commands: Vec<Command>) -> Vec<Step> {
        (1..)
            .zip(commands)
            .map(|(number, command)| Step {
                number,
                line: 1,
                command,
            })
            .collect()
    }

    pub(in crate::agent) fn authorizer(policy: Policy) -> Authorizer {
        Authorizer {
            commands: Commands::Run,
            policy,
            work_approval: Approval::default(),
            kept_rules: KeptRules::kept_in(None),
            kept_answers: KeptAnswers::kept_in(None),
            known_sessions: KnownSessions::kept_in(None),
            runner: Arc::new(crate::runner::LocalRunner::default()),
            runner_choice: RunnerChoice::Local,
            runners_with_results: Vec::new(),
            confinement: None,
            kept_inventory: None,
            network: Network::Off,
            strength: None,
        }
    }

    pub(in crate::agent) fn run(script: &str) -> Command {
        Command::RunCommand {
            script: script.to_owned(),
            timeout: None,
        }
    }

    #[test]
    fn what_needs_a_yes_and_was_not_given_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let authorizer = authorizer(Policy::new(Path::new("/work"), None));
        let plan = plan_in(directory.path(), &authorizer, vec![run("git push")]);
        let planned = &plan.steps[0];
        assert!(
            matches!(&planned.decision, PersonDecision::Declined(outcome)
                if outcome.message.contains("needs the user's approval")),
            "{planned:?}"
        );
        let outcome = not_approved("a reason");
        assert_eq!(outcome.status, Status::Refused);
    }

    #[test]
    fn a_command_after_a_change_that_the_rules_refuse_is_not_asked_about() {
        let directory = tempfile::tempdir().unwrap();
        let mut policy = Policy::new(directory.path(), None);
        policy.approval = Approval::Ask;
        let authorizer = authorizer(policy);
        let create =
            |path: &str| Command::create_file(RelPath::parse(path).unwrap(), "x\n".to_owned());
        let decision_after = |path: &str| {
            let commands = vec![create(path), run("ls")];
            let plan = plan_in(directory.path(), &authorizer, commands);
            plan.steps[1].decision.clone()
        };
        let skipped = PersonDecision::Declined(Outcome::by_person(PersonAct::Skipped));
        assert_eq!(decision_after(".git/config"), skipped);
        assert_ne!(decision_after("a.txt"), skipped);
    }

    #[test]
    fn commands_that_are_switched_off_are_refused_and_not_asked_about() {
        let directory = tempfile::tempdir().unwrap();
        let mut authorizer = authorizer(Policy::new(Path::new("/work"), None));
        authorizer.commands = Commands::Off;
        let plan = plan_in(directory.path(), &authorizer, vec![run("ls")]);
        let PersonDecision::Declined(outcome) = &plan.steps[0].decision else {
            panic!("{plan:?}");
        };
        assert!(outcome.message.contains("switched commands off"));
    }

    #[test]
    fn a_step_is_ruled_on_once_and_a_command_again_only_before_it_runs() {
        let directory = tempfile::tempdir().unwrap();
        let mut policy = Policy::new(directory.path(), None);
        policy.confinement = CommandConfinement::Sandboxed;
        policy.approval = Approval::Edits;
        policy.person.allow = vec![Rule::parse("tool").unwrap()];
        let lookups = Arc::new(AtomicU32::new(0));
        let is_planted = Arc::new(AtomicU32::new(0));
        let (counted, planted) = (Arc::clone(&lookups), Arc::clone(&is_planted));
        let within = directory.path().join("bin/tool");
        policy.lookup = ProgramLookup::new(move |word| {
            counted.fetch_add(1, Ordering::Relaxed);
            let path = match planted.load(Ordering::Relaxed) {
                0 => Path::new("/usr/bin").join(word),
                _ => within.clone(),
            };
            let real = path.clone();
            Some(FoundProgram { path, real })
        });
        let authorizer = authorizer(policy);
        let plan = plan_in(directory.path(), &authorizer, vec![run("tool")]);
        assert_eq!(plan.steps[0].decision, PersonDecision::NotAsked, "{plan:?}");
        // Once means both words of one comparison: the rule's and the script's.
        assert_eq!(lookups.load(Ordering::Relaxed), 2);
        assert!(plan.still_allows(&plan.steps[0]));
        // An earlier step put a program of that name where it comes first.
        is_planted.store(1, Ordering::Relaxed);
        assert!(!plan.still_allows(&plan.steps[0]));
    }

    #[test]
    fn each_difference_builds_on_those_before_it_and_touches_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let path = |name: &str| RelPath::parse(name).unwrap();
        workspace.write(&path("a.txt"), b"one\n").unwrap();
        let steps = numbered(vec![
            Command::create_file(path("a.txt"), "two\n".to_owned()),
            Command::InsertText {
                path: path("a.txt"),
                line: 1,
                text: "three\n".to_owned(),
            },
            Command::DeleteFile {
                path: path("b.txt"),
            },
        ]);
        let asking = Asking {
            workspace: &workspace,
            limits: &Limits::default(),
            seen: &SeenFiles::default(),
            person: &Absent::with(Input::Wait),
            interrupt: &Interrupt::default(),
            base: directory.path(),
            pending: &Pending::of(directory.path()),
            input: Input::Wait,
            approval: Approval::Ask,
            round: 1,
            reveal: &|step| Ok(Cow::Borrowed(step)),
            origin: QuestionOrigin::Reply,
            on_failure: OnFailure::SkipCommands,
            unseen: &Vec::new,
        };
        let shown = differences(&asking, &steps).unwrap();
        let header = "--- a/a.txt\n+++ b/a.txt\n";
        assert_eq!(shown[&1], format!("{header}@@ -1 +1 @@\n-one\n+two\n"));
        assert_eq!(shown[&2], format!("{header}@@ -1 +1,2 @@\n two\n+three\n"));
        assert!(shown[&3].contains("would fail"), "{}", shown[&3]);
        assert_eq!(workspace.read(&path("a.txt"), 100).unwrap(), b"one\n");
    }
}
