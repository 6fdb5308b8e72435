//! The offer to run a command again with the network.
//!
//! A command that seems to have missed the network is run again only at the person's word, and
//! its result says that it ran twice. The journal knows at every moment what was
//! done: the first result before the person is asked, the second start before it happens.

use std::time::Instant;

use super::steps::{StepJournal, StepRunner};
use crate::approve::{self, Input, Question, Verdict};
use crate::error::Result;
use crate::policy::Network;
use crate::protocol::{Command, Outcome, QuestionKind, SeenFiles, Step, StepResult};
use crate::session::Recovered;

/// The question about a step that runs a script.
pub(super) fn question(step: &Step, round: u32) -> Option<Question> {
    match &step.command {
        Command::RunCommand { script, .. } => {
            Some(Question::about_network(step.number, round, script))
        }
        _ => None,
    }
}

/// The outcome of a second run, which says that there was a first.
pub(super) fn ran_twice(mut outcome: Outcome) -> Outcome {
    outcome.message = format!(
        "{}; it was run twice: first without the network, where it failed, then with it, as the user allowed",
        outcome.message
    );
    outcome
}

impl StepRunner<'_> {
    /// Returns true if a command that seems to have missed the network is offered again.
    pub(super) fn offers_network(&self, input: Input) -> bool {
        match self.authorizer.network {
            Network::Off => self.person.is_interactive(),
            Network::Ask => input == Input::Wait,
            Network::On => false,
        }
    }

    /// Puts the offer to the person; what they give for all commands is remembered.
    pub(super) fn is_network_given(
        &self,
        question: &Question,
        journal: &mut dyn StepJournal,
    ) -> Result<bool> {
        let pending = journal.questions()?;
        pending.put(question)?;
        let questions = std::slice::from_ref(question);
        let verdicts = approve::decide(self.person, self.interrupt, &pending, questions)?;
        let verdict = verdicts.and_then(|verdicts| verdicts.into_iter().next());
        Ok(match verdict {
            Some(Verdict::Yes | Verdict::AllOfThisRound) => true,
            Some(Verdict::Always) => {
                journal.grant_network();
                true
            }
            Some(Verdict::Stop) => {
                self.interrupt.stop();
                false
            }
            Some(
                Verdict::No { .. } | Verdict::Skip | Verdict::Edit { .. } | Verdict::Say { .. },
            )
            | None => false,
        })
    }

    /// Comes back to an offer of this round that nobody had answered, or acted on, when the program
    /// was stopped; returns the place of the step and its new result.
    pub(super) fn settle_offer(
        &self,
        steps: &[Step],
        recovered: &Recovered,
        (round, input): (u32, Input),
        seen: &mut SeenFiles,
        journal: &mut dyn StepJournal,
    ) -> Result<Option<(usize, StepResult)>> {
        let open = journal.questions()?.all().into_iter().find(|question| {
            let is_finished = |result: &StepResult| result.number == question.number;
            let starts = recovered.started.iter();
            let starts = starts.filter(|number| **number == question.number);
            question.kind == QuestionKind::Network
                && question.round == round
                // Begun twice, it was run again already.
                && starts.count() == 1
                && recovered.finished.iter().any(is_finished)
        });
        let Some(put) = open.filter(|_| self.offers_network(input)) else {
            return Ok(None);
        };
        let question = Question::about_network(put.number, round, &put.shown);
        let at = steps.iter().position(|step| step.number == question.number);
        let Some((at, Command::RunCommand { timeout, .. })) = at.map(|at| (at, &steps[at].command))
        else {
            return Ok(None);
        };
        if !self.is_network_given(&question, journal)? {
            return Ok(None);
        }
        // The script that ran, which the person may have changed, is the one that they were shown.
        let step = Step {
            command: Command::RunCommand {
                script: question.shown.clone(),
                timeout: *timeout,
            },
            ..steps[at].clone()
        };
        let needs = self.authorizer.policy.rule_on(&step.command).needs;
        let began = Instant::now();
        let outcome = self.run_again(&step, needs, seen, journal)?;
        let result = StepResult::new(&steps[at], outcome, began.elapsed());
        journal.finished(std::slice::from_ref(&result))?;
        Ok(Some((at, result)))
    }
}
