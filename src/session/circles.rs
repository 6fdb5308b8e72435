//! Notices when a session goes in circles.
//!
//! The signs: the same step fails or is refused in the same way for the third time, the same mistake
//! in the form of a command comes for the third time, the check fails three times in a row with the
//! same output, and a file is written back to what it was before for the second time. All are news
//! for the model and for the person, in words of their own; nobody is stopped. What is remembered is
//! bounded.

mod alike;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use self::alike::{identity, identity_without_numbers};
use super::CheckReport;
use crate::protocol::{Circling, CommandKind, Issue, RelPath, Status, StepResult};

/// How many failures are remembered.
const FAILURES: usize = 40;
/// How often something fails in the same way before it is a circle.
const TIMES: usize = 3;
/// How many states of a file are remembered.
const STATES: usize = 12;
/// How often a file is written back before it is a circle.
const RETURNS: usize = 2;
/// Of how many files.
const FILES: usize = 100;

/// The traces of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Circles {
    /// Identities of failures, oldest first.
    failures: VecDeque<String>,
    /// How the check failed last, and how often in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Repeated>,
    /// Earlier contents of files, oldest first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<RelPath, VecDeque<EarlierContent>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Repeated {
    identity: String,
    times: usize,
}

/// An earlier content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EarlierContent {
    hash: String,
    /// True if the model wrote it although the file had it before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_return: bool,
}

/// A circle, as each of the two is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circle {
    /// The words for the model, with what to do instead; no full stop at the end.
    pub for_model: String,
    /// The notice for the person.
    pub for_person: Circling,
}

impl Circles {
    /// Remembers the results of a round; tells which of them are circles.
    ///
    /// Why a `[DONE]` is refused is told by what it stumbled over.
    pub fn remember_failures(&mut self, results: &[StepResult]) -> Vec<Circle> {
        let mut circles = Vec::new();
        let mut told = Vec::new();
        let counts = |result: &&StepResult| {
            let status = result.outcome.status;
            matches!(status, Status::Failed | Status::Refused) && !result.is(CommandKind::Done)
        };
        for result in results.iter().filter(counts) {
            let outcome = &result.outcome;
            let identity = identity([
                &result.command,
                &result.subject,
                &outcome.message,
                &outcome.detail.text,
            ]);
            let times = self.count(identity.clone());
            if times >= TIMES && !told.contains(&identity) {
                circles.push(of_step(result, times));
                told.push(identity);
            }
        }
        circles
    }

    /// Remembers what of a reply could not be understood; tells which of it are circles.
    pub fn remember_issues(&mut self, issues: &[Issue]) -> Vec<Circle> {
        let mut circles = Vec::new();
        let mut told = Vec::new();
        for issue in issues {
            let command = issue.command.as_deref().unwrap_or("a command");
            let identity =
                identity_without_numbers(["not understood", command, &issue.message, ""]);
            let times = self.count(identity.clone());
            if times >= TIMES && !told.contains(&identity) {
                let message = issue.message.trim_end_matches('.');
                circles.push(Circle {
                    for_model: format!(
                        "{command} was not understood {times} times for the same reason ({message}). Do not write it that way again: see the form in the protocol above, or use another command"
                    ),
                    for_person: Circling::Misspelt {
                        command: command.to_owned(),
                        message: message.to_owned(),
                        times,
                    },
                });
                told.push(identity);
            }
        }
        circles
    }

    /// Remembers how the check ended after a round; tells if that is a circle.
    pub fn remember_check(&mut self, report: &CheckReport) -> Option<Circle> {
        if !report.failed() {
            self.check = None;
            return None;
        }
        let CheckReport {
            command, outcome, ..
        } = report;
        let identity = identity([command, &outcome.message, &outcome.detail.text, ""]);
        let before = self.check.take().filter(|last| last.identity == identity);
        let times = before.map_or(0, |last| last.times).saturating_add(1);
        self.check = Some(Repeated { identity, times });
        (times >= TIMES).then(|| Circle {
            for_model: format!(
                "the check `{command}` has failed {times} times in a row with the same output, so your changes do not reach what fails. Read the places that it names and find the cause first, or ask the user with ASK_USER"
            ),
            for_person: Circling::CheckFails {
                command: command.clone(),
                times,
            },
        })
    }

    /// Remembers what a file contained before and contains now that the model wrote it; tells if
    /// that is a circle.
    pub fn remember_state(
        &mut self,
        path: &RelPath,
        before: Option<&str>,
        now: &str,
    ) -> Option<Circle> {
        if !self.files.contains_key(path) && self.files.len() >= FILES {
            self.files.pop_first();
        }
        let states = self.files.entry(path.clone()).or_default();
        let is_last = |states: &VecDeque<EarlierContent>, hash: &str| {
            states.back().is_some_and(|last| last.hash == hash)
        };
        if let Some(before) = before.filter(|before| !is_last(states, before)) {
            // Somebody else wrote it: a person, a command.
            states.push_back(EarlierContent {
                hash: before.to_owned(),
                is_return: false,
            });
        }
        if is_last(states, now) {
            return None;
        }
        let is_return = states.iter().any(|state| state.hash == now);
        states.push_back(EarlierContent {
            hash: now.to_owned(),
            is_return,
        });
        while states.len() > STATES {
            states.pop_front();
        }
        let returns = states.iter().filter(|state| state.is_return).count();
        (is_return && returns >= RETURNS).then(|| Circle {
            for_model: format!(
                "`{path}` goes back to versions that it had before: your edits undo each other. Read it, decide which one is right, or ask the user with ASK_USER"
            ),
            for_person: Circling::FileReturns {
                path: path.as_str().to_owned(),
            },
        })
    }

    /// Remembers a failure; tells how often it is known.
    fn count(&mut self, identity: String) -> usize {
        if self.failures.len() == FAILURES {
            self.failures.pop_front();
        }
        let times = self.failures.iter().filter(|known| **known == identity);
        let times = times.count() + 1;
        self.failures.push_back(identity);
        times
    }
}

fn of_step(result: &StepResult, times: usize) -> Circle {
    let StepResult {
        number,
        command,
        subject,
        outcome,
        ..
    } = result;
    if outcome.status == Status::Refused {
        return Circle {
            for_model: format!(
                "step {number} ({command} `{subject}`) has been refused {times} times for the same reason. Do not send it again: try another way, or ask the user with ASK_USER"
            ),
            for_person: Circling::StepRefused {
                command: command.clone(),
                subject: subject.clone(),
                times,
            },
        };
    }
    Circle {
        for_model: format!(
            "step {number} ({command} `{subject}`) has failed {times} times in the same way. Do not send it again: read the file or the whole output first, try another way, or ask the user with ASK_USER"
        ),
        for_person: Circling::StepFails {
            command: command.clone(),
            subject: subject.clone(),
            times,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Outcome;
    use crate::session::CheckedWhen;

    fn result(subject: &str, outcome: Outcome) -> StepResult {
        StepResult {
            number: 1,
            command: "RUN_COMMAND".to_owned(),
            subject: subject.to_owned(),
            millis: 5,
            outcome,
        }
    }

    fn failed(subject: &str, message: &str) -> StepResult {
        result(subject, Outcome::failed(message))
    }

    #[test]
    fn the_third_failure_of_the_same_kind_is_a_circle_however_long_it_took() {
        let mut circles = Circles::default();
        for message in ["exit code 2 in 1.2 s", "exit code 2 in 13 s", "killed"] {
            let told = circles.remember_failures(&[failed("make", message)]);
            assert!(told.is_empty(), "{told:?}");
        }
        let told = circles.remember_failures(&[failed("make", "exit code 2 in 40 ms")]);
        assert!(
            told[0].for_model.contains("failed 3 times in the same way"),
            "{told:?}"
        );
        let fails = matches!(told[0].for_person, Circling::StepFails { times: 3, .. });
        assert!(fails, "{told:?}");
    }

    #[test]
    fn what_is_refused_again_and_again_is_a_circle() {
        let mut circles = Circles::default();
        let refused = [result("rm -r /", Outcome::refused("not allowed"))];
        assert!(circles.remember_failures(&refused).is_empty());
        assert!(circles.remember_failures(&refused).is_empty());
        let told = circles.remember_failures(&refused);
        assert!(told[0].for_model.contains("refused 3 times"), "{told:?}");
    }

    #[test]
    fn the_same_mistake_in_the_form_is_a_circle_wherever_it_stands() {
        let mut circles = Circles::default();
        let issue = |line| Issue {
            line,
            number: Some(line),
            command: Some("EDIT_FILE".to_owned()),
            message: format!("the block of line {line} has no `=======`."),
            hint: String::new(),
        };
        assert!(circles.remember_issues(&[issue(3)]).is_empty());
        assert!(circles.remember_issues(&[issue(30)]).is_empty());
        let told = circles.remember_issues(&[issue(7)]);
        let start = "EDIT_FILE was not understood 3 times";
        assert!(told[0].for_model.starts_with(start), "{told:?}");
    }

    #[test]
    fn a_check_that_fails_alike_three_times_in_a_row_is_a_circle() {
        let mut circles = Circles::default();
        let mut check = |outcome: Outcome| {
            circles.remember_check(&CheckReport {
                command: "make test".to_owned(),
                when: CheckedWhen::AfterRound,
                outcome: outcome.with_detail("boom"),
            })
        };
        let fails = || Outcome::failed("exit code 2 in 1 s");
        assert_eq!((check(fails()), check(fails())), (None, None));
        assert_eq!(check(Outcome::ok("exit code 0")), None);
        assert_eq!((check(fails()), check(fails())), (None, None));
        assert!(check(fails()).is_some());
    }

    #[test]
    fn a_check_that_fails_less_each_time_is_no_circle() {
        let mut circles = Circles::default();
        for failing in [12, 7, 2, 1] {
            let detail = format!("{failing} of 20 tests failed");
            let told = circles.remember_check(&CheckReport {
                command: "make test".to_owned(),
                when: CheckedWhen::AfterRound,
                outcome: Outcome::failed("exit code 1 in 1 s").with_detail(detail),
            });
            assert_eq!(told, None);
        }
    }

    fn told(circles: &mut Circles, before: Option<&str>, now: &str) -> bool {
        let path = RelPath::parse("a.rs").unwrap();
        circles.remember_state(&path, before, now).is_some()
    }

    #[test]
    fn edits_that_undo_each_other_are_a_circle() {
        let circles = &mut Circles::default();
        assert!(!told(circles, Some("A"), "B"));
        assert!(!told(circles, Some("B"), "A"), "once is no circle");
        assert!(told(circles, Some("A"), "B"));
        assert!(!told(circles, Some("B"), "C"));
    }

    #[test]
    fn a_circle_over_three_versions_is_one_too() {
        let circles = &mut Circles::default();
        for (before, now) in [("A", "B"), ("B", "C"), ("C", "A")] {
            assert!(!told(circles, Some(before), now));
        }
        assert!(told(circles, Some("A"), "B"));
    }

    #[test]
    fn what_the_person_took_back_may_be_written_again() {
        let circles = &mut Circles::default();
        assert!(!told(circles, Some("A"), "B"));
        assert!(!told(circles, Some("A"), "B"));
    }

    #[test]
    fn what_an_older_version_remembered_is_read() {
        let json = r#"{"failures":["ab"],"states":{"a.rs":["A","B"]}}"#;
        let circles: Circles = serde_json::from_str(json).unwrap();
        assert_eq!(circles.failures, ["ab"]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut circles = Circles::default();
        for number in 0..1000 {
            circles.remember_failures(&[failed("make", &"x".repeat(number))]);
            let path = RelPath::parse(&format!("f{number}")).unwrap();
            circles.remember_state(&path, None, "A");
            circles.remember_state(&path.clone(), None, &number.to_string());
        }
        assert!(circles.failures.len() <= FAILURES && circles.files.len() <= FILES);
        let path = RelPath::parse("z").unwrap();
        for number in 0..1000 {
            circles.remember_state(&path, None, &number.to_string());
        }
        assert!(circles.files[&path].len() <= STATES);
    }
}
