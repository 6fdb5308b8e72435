//! The offer to run a command again with the network.
//!
//! A command that seems to have missed the network is run again only at the person's word, and
//! whoever reads its result learns that it ran twice. The journal knows at every moment what was
//! done: the first result before the person is asked, the second start before it happens.

use super::live_output::announce;
use super::permit::Consent;
use super::{Conversation, Permit};
use crate::approve::{self, Input, Pending, Person, Question, Verdict};
use crate::error::Result;
use crate::execute::Execution;
use crate::interrupt::Interrupt;
use crate::policy::{Grant, Network};
use crate::protocol::{Command, Outcome, QuestionKind, Step, StepResult};
use crate::session::{Record, Recovered};

/// What the person says to the offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    /// This command is run again with the network.
    Once,
    /// So it is, and those that follow in this session have it too.
    ForTheSession,
    /// The result stays as it is.
    No,
}

impl Permit {
    /// Whether a command that seems to have missed the network is offered again.
    pub(super) fn offers_network(&self, person: &dyn Person, input: Input) -> bool {
        match self.network {
            Network::Off => person.is_interactive(),
            Network::Ask => input == Input::Wait,
            Network::On => false,
        }
    }
}

/// Puts the offer to the person.
pub(super) fn offer(
    person: &dyn Person,
    interrupt: &Interrupt,
    pending: &Pending,
    question: &Question,
) -> Result<Offered> {
    pending.put(question)?;
    let verdicts = approve::decide(person, interrupt, pending, std::slice::from_ref(question))?;
    let verdict = verdicts.and_then(|verdicts| verdicts.into_iter().next());
    Ok(match verdict {
        Some(Verdict::Yes | Verdict::AllOfThisRound) => Offered::Once,
        Some(Verdict::Always) => Offered::ForTheSession,
        Some(Verdict::Stop) => {
            interrupt.raise();
            Offered::No
        }
        Some(Verdict::No { .. } | Verdict::Skip | Verdict::Edit { .. } | Verdict::Say { .. })
        | None => Offered::No,
    })
}

/// The outcome of a second run, which says that there was a first.
pub(super) fn ran_twice(mut outcome: Outcome) -> Outcome {
    outcome.message = format!(
        "{}; it was run twice: first without the network, where it failed, then with it, as the user allowed",
        outcome.message
    );
    outcome
}

/// The script of a step that runs one.
pub(super) fn script(step: &Step) -> Option<&str> {
    match &step.command {
        Command::RunCommand { script, .. } => Some(script),
        _ => None,
    }
}

impl Conversation<'_> {
    /// What the person granted for the whole session.
    pub(super) fn granted(&self) -> Option<Grant> {
        self.session.network_granted.then_some(Grant::Network)
    }

    /// Runs a command again with the network, if it missed it and the person says so.
    ///
    /// The result of the first run must be in the journal.
    pub(super) fn offer_network(
        &mut self,
        step: &Step,
        consent: &Consent,
        execution: &mut Execution<'_>,
    ) -> Result<Option<Outcome>> {
        let agent = self.agent;
        let permit = &agent.manner.permit;
        let missed = execution.take_missed_network();
        if !missed || !permit.offers_network(&*agent.person, consent.input()) {
            return Ok(None);
        }
        let revised = consent.revised(step);
        let Some(script) = script(&revised) else {
            return Ok(None);
        };
        let round = self.session.sequence_number;
        let question = Question::about_network(step.number, round, script);
        if !self.is_given(&question)? {
            return Ok(None);
        }
        self.begin_again(step.number)?;
        announce(&*agent.person, &revised);
        let grants = consent.needed(step).into_iter().chain([Grant::Network]);
        execution.confine(permit.confinement(grants));
        let outcome = consent.carry_out(step, |step| execution.step(step));
        execution.take_missed_network();
        Ok(Some(ran_twice(outcome)))
    }

    /// Comes back to an offer that nobody had answered, or acted on, when the program was stopped.
    pub(super) fn settle_offer(
        &mut self,
        steps: &[Step],
        recovered: &Recovered,
        results: &mut [StepResult],
        input: Input,
    ) -> Result<()> {
        let agent = self.agent;
        let permit = &agent.manner.permit;
        let round = self.session.sequence_number;
        let open = self.pending().all().into_iter().find(|question| {
            let is_finished = |result: &StepResult| result.number == question.number;
            let starts = recovered.started.iter();
            let starts = starts.filter(|number| **number == question.number);
            question.kind == QuestionKind::Network
                && question.round == round
                // Begun twice, it was run again already.
                && starts.count() == 1
                && recovered.finished.iter().any(is_finished)
        });
        let Some(question) = open.filter(|_| permit.offers_network(&*agent.person, input)) else {
            return Ok(());
        };
        let at = steps.iter().position(|step| step.number == question.number);
        let Some((at, Command::RunCommand { timeout, .. })) = at.map(|at| (at, &steps[at].command))
        else {
            return Ok(());
        };
        if !self.is_given(&question)? {
            return Ok(());
        }
        // The script that ran, which the person may have changed, is the one that they were shown.
        let step = Step {
            command: Command::RunCommand {
                script: question.shown.clone(),
                timeout: *timeout,
            },
            ..steps[at].clone()
        };
        self.begin_again(step.number)?;
        announce(&*agent.person, &step);
        let needs = permit.policy.rule_on(&step.command).needs;
        let mut seen = std::mem::take(&mut self.session.seen);
        let mut on_output = |_: &str| {};
        let began = std::time::Instant::now();
        let mut execution = Execution::begin(&agent.workspace, &agent.limits, &mut seen, &[])
            .watched_by(agent.interrupt.flag(), &mut on_output)
            .keeping(agent.manner.permit.kept_inventory.clone());
        execution.confine(permit.confinement(needs.into_iter().chain([Grant::Network])));
        let outcome = ran_twice(execution.step(&step));
        execution.finish();
        self.session.seen = seen;
        results[at] = StepResult::new(&steps[at], outcome, began.elapsed());
        self.finished(&results[at])
    }

    /// Asks the person, and remembers what they gave for the whole session.
    fn is_given(&mut self, question: &Question) -> Result<bool> {
        let agent = self.agent;
        let offered = offer(&*agent.person, &agent.interrupt, &self.pending(), question)?;
        self.session.network_granted |= offered == Offered::ForTheSession;
        Ok(offered != Offered::No)
    }

    fn begin_again(&mut self, number: u32) -> Result<()> {
        let record = Record::Started {
            sequence: self.session.sequence_number,
            steps: vec![number],
            batch: None,
        };
        self.has_unsynced_files = true;
        self.record(&[record])
    }
}
