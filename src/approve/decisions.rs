//! The person's decisions about the steps of a round, and their meaning for each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Verdict;
use crate::policy::Rule;
use crate::protocol::{Outcome, PersonAct};

/// The decisions about the steps of one round that were asked about.
#[derive(Debug, Default)]
pub struct Decisions {
    decided: BTreeMap<u32, Decided>,
    /// The step before which the person stopped.
    stop: Option<u32>,
    rules: Vec<Rule>,
}

/// The person's decision about one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonDecision {
    /// They were not asked.
    NotAsked,
    /// They approved it, with this script in place of the model's if they changed it.
    Approved {
        /// The person's script.
        script: Option<String>,
    },
    /// It is not carried out, and this is what the model is told.
    Declined(Outcome),
    /// They stopped at this step or at one before it. What they approved ahead of it is still
    /// carried out.
    Stopped,
}

#[derive(Debug)]
enum Decided {
    Person(Verdict),
    /// Nobody could be asked, so it is refused.
    Nobody(Outcome),
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

    /// Adds steps that nobody could be asked about, with their refusals.
    pub(super) fn and_by_nobody(
        mut self,
        undecided: impl IntoIterator<Item = (u32, Outcome)>,
    ) -> Self {
        let undecided = undecided.into_iter();
        (self.decided)
            .extend(undecided.map(|(number, refused)| (number, Decided::Nobody(refused))));
        self
    }

    /// The decision about a step.
    pub fn on(&self, number: u32) -> PersonDecision {
        if self.stop.is_some_and(|stop| number >= stop) {
            return PersonDecision::Stopped;
        }
        match self.decided.get(&number) {
            None => PersonDecision::NotAsked,
            Some(Decided::Nobody(refused)) => PersonDecision::Declined(refused.clone()),
            Some(Decided::Person(verdict)) => match verdict {
                Verdict::Yes | Verdict::AllOfThisRound | Verdict::Always => {
                    PersonDecision::Approved { script: None }
                }
                Verdict::Edit { script } => PersonDecision::Approved {
                    script: Some(script.clone()),
                },
                Verdict::No { reason } => {
                    let mut declined = Outcome::by_person(PersonAct::Declined);
                    if let Some(reason) = reason {
                        let _ = write!(declined.message, ": {reason}");
                    }
                    PersonDecision::Declined(declined)
                }
                Verdict::Skip | Verdict::Stop | Verdict::Say { .. } => {
                    PersonDecision::Declined(Outcome::by_person(PersonAct::Skipped))
                }
            },
        }
    }

    /// The rules that the person gave with "always", which are kept already.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

impl PersonDecision {
    /// The outcome as the model is told it: it must know if another script was run than its own.
    pub fn told(&self, mut outcome: Outcome) -> Outcome {
        if let Self::Approved {
            script: Some(script),
        } = self
        {
            let changed = Outcome::by_person(PersonAct::ChangedScript);
            outcome.message = format!("{}; {}", changed.message, outcome.message);
            outcome.by_person = changed.by_person;
            outcome.detail.text = format!(
                "ran instead:\n{}\n{}",
                script.trim_end(),
                outcome.detail.text
            );
        }
        outcome
    }
}
