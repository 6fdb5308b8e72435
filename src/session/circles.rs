//! What a session remembers to see that it goes in circles.
//!
//! Two signs: the same step fails in the same way for the third time, and a file is back at a state
//! that it had before the last, again. Both are news for the model and for the person; nobody is
//! stopped. What is remembered is bounded.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::protocol::{RelPath, Status, StepResult};

/// How many failures are remembered.
const FAILURES: usize = 40;
/// How often a step fails in the same way before it is a circle.
const TIMES: usize = 3;
/// How many states of a file are remembered.
const STATES: usize = 4;
/// Of how many files.
const FILES: usize = 100;
/// How much of a failure's text tells it from others, in characters.
const TELLING: usize = 2_000;

/// The traces of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Circles {
    /// Identities of failures, oldest first.
    failures: VecDeque<String>,
    /// Identities of contents, oldest first, by file.
    states: BTreeMap<RelPath, VecDeque<String>>,
}

impl Circles {
    /// Remembers the results of a round; tells, in words for the model, which of them are circles.
    pub fn remember_failures(&mut self, results: &[StepResult]) -> Vec<String> {
        let mut circles = Vec::new();
        let mut told = Vec::new();
        for result in results
            .iter()
            .filter(|result| result.outcome.status == Status::Failed)
        {
            let identity = identity(result);
            if self.failures.len() == FAILURES {
                self.failures.pop_front();
            }
            self.failures.push_back(identity.clone());
            let times = self
                .failures
                .iter()
                .filter(|known| **known == identity)
                .count();
            if times >= TIMES && !told.contains(&identity) {
                circles.push(format!(
                    "step {} ({} `{}`) has failed {times} times in the same way. Do not send it again: read the file or the whole output first, try another way, or ask the user with ASK_USER",
                    result.number, result.command, result.subject
                ));
                told.push(identity);
            }
        }
        circles
    }

    /// Remembers that a file has this content now; says, in words for the model, if that undoes what
    /// undid it before.
    pub fn remember_state(
        &mut self,
        path: &RelPath,
        before: Option<&str>,
        now: &str,
    ) -> Option<String> {
        if !self.states.contains_key(path) && self.states.len() >= FILES {
            self.states.pop_first();
        }
        let states = self.states.entry(path.clone()).or_default();
        if let Some(before) = before
            && states.back().is_none_or(|last| last != before)
        {
            states.push_back(before.to_owned());
        }
        if states.back().is_none_or(|last| last != now) {
            states.push_back(now.to_owned());
        }
        while states.len() > STATES {
            states.pop_front();
        }
        let goes_round = states.len() == STATES && states[0] == states[2] && states[1] == states[3];
        goes_round.then(|| {
            format!(
                "`{path}` goes back and forth between two versions: your edits undo each other. Read it, decide which one is right, or ask the user with ASK_USER"
            )
        })
    }
}

/// The same for failures that differ only in numbers and white space, such as times and addresses.
fn identity(result: &StepResult) -> String {
    let outcome = &result.outcome;
    let mut hasher = blake3::Hasher::new();
    for text in [
        &result.command,
        &result.subject,
        &outcome.message,
        &outcome.detail.text,
    ] {
        let start: String = text.chars().take(TELLING).collect();
        for word in start.split_whitespace() {
            let letters: String = word.chars().filter(|c| c.is_alphabetic()).collect();
            // What is left of a duration.
            if !matches!(letters.as_str(), "" | "s" | "ms") {
                hasher.update(letters.as_bytes());
                hasher.update(b" ");
            }
        }
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Outcome;

    fn failed(subject: &str, message: &str) -> StepResult {
        StepResult {
            number: 1,
            command: "RUN_COMMAND".to_owned(),
            subject: subject.to_owned(),
            millis: 5,
            outcome: Outcome::failed(message),
        }
    }

    #[test]
    fn the_third_failure_of_the_same_kind_is_a_circle_whatever_its_numbers() {
        let mut circles = Circles::default();
        assert!(
            circles
                .remember_failures(&[failed("make", "exit code 2 in 1.2 s")])
                .is_empty()
        );
        assert!(
            circles
                .remember_failures(&[failed("make", "exit code 2 in 13 s")])
                .is_empty()
        );
        assert!(
            circles
                .remember_failures(&[failed("make", "killed")])
                .is_empty()
        );
        let told = circles.remember_failures(&[failed("make", "exit code 2 in 40 ms")]);
        assert!(
            told[0].contains("failed 3 times in the same way"),
            "{told:?}"
        );
    }

    #[test]
    fn edits_that_undo_each_other_are_a_circle() {
        let (mut circles, path) = (Circles::default(), RelPath::parse("a.rs").unwrap());
        assert_eq!(circles.remember_state(&path, Some("A"), "B"), None);
        assert_eq!(circles.remember_state(&path, Some("B"), "A"), None);
        let told = circles.remember_state(&path, Some("A"), "B").unwrap();
        assert!(told.contains("undo each other"), "{told}");
        assert_eq!(circles.remember_state(&path, Some("B"), "C"), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut circles = Circles::default();
        for number in 0..1000 {
            circles.remember_failures(&[failed("make", &"x".repeat(number))]);
            let path = RelPath::parse(&format!("f{number}")).unwrap();
            circles.remember_state(&path, None, "A");
        }
        assert!(circles.failures.len() <= FAILURES && circles.states.len() <= FILES);
    }
}
