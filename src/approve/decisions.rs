//! The person's decisions about the steps of a round, and their meaning for each.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Verdict;
use crate::interrupt::Interrupt;
use crate::policy::Rule;
use crate::protocol::{Command, Outcome, Step};

/// The decisions about the steps of one round that were asked about.
#[derive(Debug, Default)]
pub struct Decisions {
    decided: BTreeMap<u32, Decided>,
    /// The step before which the person stopped.
    stop: Option<u32>,
    rules: Vec<Rule>,
}

#[derive(Debug)]
enum Decided {
    Person(Verdict),
    /// Nobody could be asked; with why it would have been.
    Nobody(String),
}

impl Decisions {
    pub(super) fn by_person(
        verdicts: impl IntoIterator<Item = (u32, Verdict)>,
        rules: Vec<Rule>,
    ) -> Self {
        let decided: BTreeMap<u32, Decided> = verdicts
            .into_iter()
            .map(|(number, verdict)| (number, Decided::Person(verdict)))
            .collect();
        let mut stops = decided
            .iter()
            .filter(|(_, decided)| matches!(decided, Decided::Person(Verdict::Stop)));
        let stop = stops.next().map(|(number, _)| *number);
        Self {
            decided,
            stop,
            rules,
        }
    }

    /// Adds steps that nobody could be asked about, with the reasons for asking.
    pub(super) fn and_by_nobody<'a>(
        mut self,
        asked: impl IntoIterator<Item = (u32, &'a str)>,
    ) -> Self {
        let undecided = asked.into_iter();
        (self.decided)
            .extend(undecided.map(|(number, why)| (number, Decided::Nobody(why.to_owned()))));
        self
    }

    /// Why a step is not carried out, if the person said so.
    ///
    /// Where the person stopped, the interrupt is raised: not before, so that what they approved
    /// ahead of it is still carried out.
    pub fn hindrance(&self, step: &Step, interrupt: &Interrupt) -> Option<Outcome> {
        if self.stop.is_some_and(|stop| step.number >= stop) {
            interrupt.raise();
            return Some(Outcome::skipped("the user stopped here"));
        }
        match self.decided.get(&step.number)? {
            Decided::Nobody(why) => Some(Outcome::refused(format!(
                "this needs the user's approval, and nobody can be asked now: {why}"
            ))),
            Decided::Person(Verdict::No { reason: None }) => {
                Some(Outcome::refused("the user declined"))
            }
            Decided::Person(Verdict::No {
                reason: Some(reason),
            }) => Some(Outcome::refused(format!("the user declined: {reason}"))),
            Decided::Person(Verdict::Skip | Verdict::Stop | Verdict::Say { .. }) => {
                Some(Outcome::skipped("the user skipped this"))
            }
            Decided::Person(
                Verdict::Yes | Verdict::AllOfThisRound | Verdict::Always | Verdict::Edit { .. },
            ) => None,
        }
    }

    /// Whether the person said yes to a step, in whatever way.
    pub fn is_approved(&self, number: u32) -> bool {
        matches!(
            self.decided.get(&number),
            Some(Decided::Person(
                Verdict::Yes | Verdict::AllOfThisRound | Verdict::Always | Verdict::Edit { .. }
            ))
        )
    }

    /// The step as it is to be carried out: with the person's script, if they changed it.
    pub fn revised<'a>(&self, step: &'a Step) -> Cow<'a, Step> {
        match (&step.command, self.script(step.number)) {
            (Command::RunCommand { timeout, .. }, Some(script)) => Cow::Owned(Step {
                command: Command::RunCommand {
                    script: script.to_owned(),
                    timeout: *timeout,
                },
                ..step.clone()
            }),
            _ => Cow::Borrowed(step),
        }
    }

    /// The outcome as the model is told it: it must know if another script was run than its own.
    pub fn told(&self, number: u32, mut outcome: Outcome) -> Outcome {
        if let Some(script) = self.script(number) {
            outcome.message = format!("the user changed the script; {}", outcome.message);
            outcome.detail.text = format!(
                "ran instead:\n{}\n{}",
                script.trim_end(),
                outcome.detail.text
            );
        }
        outcome
    }

    /// The rules that the person gave with "always", which are kept already.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn script(&self, number: u32) -> Option<&str> {
        match self.decided.get(&number) {
            Some(Decided::Person(Verdict::Edit { script })) => Some(script),
            _ => None,
        }
    }
}
