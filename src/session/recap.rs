//! The rounds in so few words that every message can include them.
//!
//! Bounded in rounds and in what is kept of each, so that saving a session costs the same in the
//! thousandth round as in the tenth. How much of it a message shows is decided by `compose`.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::protocol::{CommandKind, Issue, Status, StepResult, UnfinishedRun, quoted};

/// How many rounds are remembered.
const ROUNDS: usize = 40;
/// How many files, commands and failures of a round are named.
const NAMED: usize = 5;
/// How many characters of each are kept.
const MAX_CHARS: usize = 60;

/// The latest rounds in short, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recap {
    /// The rounds.
    pub rounds: VecDeque<RoundRecap>,
}

/// One round in short.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundRecap {
    /// Its number.
    pub round: u32,
    /// The files that changed during it.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub files: Named,
    /// The commands that it ran, each with how it ended.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub commands: Named,
    /// Other failures.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub failures: Named,
    /// Files and directories it looked at.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub looks: Named,
    /// True if the person undid it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_undone: bool,
}

/// The first few of many.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Named {
    /// The first few, each short.
    pub first: Vec<String>,
    /// How many there are.
    pub count: usize,
}

impl Named {
    fn of(items: impl IntoIterator<Item = String>) -> Self {
        let mut named = Self::default();
        for item in items {
            if named.count < NAMED {
                named.first.push(item);
            }
            named.count += 1;
        }
        named
    }

    /// True if there is nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Recap {
    /// Remembers one more round.
    pub fn remember(&mut self, round: RoundRecap) {
        if self.rounds.len() == ROUNDS {
            self.rounds.pop_front();
        }
        self.rounds.push_back(round);
    }

    /// These rounds were undone, or put again.
    pub fn mark(&mut self, rounds: &[u32], is_undone: bool) {
        for round in &mut self.rounds {
            if rounds.contains(&round.round) {
                round.is_undone = is_undone;
            }
        }
    }
}

impl RoundRecap {
    /// Sums a round up.
    pub fn of(
        round: u32,
        changed: impl IntoIterator<Item = String>,
        results: &[StepResult],
        issues: &[Issue],
    ) -> Self {
        let is_run = |result: &&StepResult| {
            let was_tried = matches!(result.outcome.status, Status::Ok | Status::Failed);
            result.is_run() && was_tried
        };
        let failed = |result: &&StepResult| result.outcome.status != Status::Ok && !is_run(result);
        let malformed = issues.iter().filter_map(|issue| {
            let command = issue.command.as_deref().unwrap_or("COMMAND");
            issue.number.map(|_| format!("{command} not understood"))
        });
        Self {
            round,
            files: Named::of(
                changed
                    .into_iter()
                    .map(|path| quoted(&ending(&path)).into_owned()),
            ),
            commands: Named::of(results.iter().filter(is_run).map(command)),
            failures: Named::of(results.iter().filter(failed).map(failure).chain(malformed)),
            looks: Named::of(results.iter().filter_map(look)),
            is_undone: false,
        }
    }
}

/// A command and how it ended: `` `make test` (exit code 2) ``.
fn command(result: &StepResult) -> String {
    let outcome = &result.outcome;
    let end = match (outcome.exit_code, outcome.unfinished) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(UnfinishedRun::Signalled(signal))) => format!("killed by signal {signal}"),
        (None, Some(UnfinishedRun::TimedOut)) => "timed out".to_owned(),
        (None, Some(UnfinishedRun::Interrupted)) => "interrupted by the user".to_owned(),
        (None, Some(UnfinishedRun::NotStarted)) => "could not be started".to_owned(),
        // A result of an earlier version, or of a command that a kill interrupted.
        (None, None) => beginning(&outcome.message),
    };
    format!("`{}` ({end})", beginning(&result.subject))
}

/// The target of a step that only looks.
fn look(result: &StepResult) -> Option<String> {
    if result.outcome.status != Status::Ok {
        return None;
    }
    let subject = quoted(&beginning(&result.subject)).into_owned();
    Some(match result.kind()? {
        CommandKind::ReadFile => subject,
        CommandKind::ListFiles if subject.is_empty() => "the list of files".to_owned(),
        CommandKind::ListFiles => format!("the files of {subject}"),
        CommandKind::SearchText => format!("where `{}` is", beginning(&result.subject)),
        CommandKind::Outline if subject.is_empty() => "the outline".to_owned(),
        CommandKind::Outline => format!("the outline of {subject}"),
        CommandKind::GitStatus => "git status".to_owned(),
        CommandKind::GitDiff => "git diff".to_owned(),
        _ => return None,
    })
}

fn failure(result: &StepResult) -> String {
    let word = result.outcome.status.label().to_lowercase();
    let subject = if result.subject.is_empty() {
        String::new()
    } else {
        format!(" `{}`", beginning(&result.subject))
    };
    format!("{}{subject} {word}", result.command)
}

/// The beginning of a text, on one line.
fn beginning(text: &str) -> String {
    let mut characters = text.chars().map(plain);
    let short: String = characters.by_ref().take(MAX_CHARS).collect();
    if characters.next().is_some() {
        format!("{short}...")
    } else {
        short
    }
}

/// The end of a path, which tells more than its beginning.
fn ending(path: &str) -> String {
    let length = path.chars().count();
    let end: String = path
        .chars()
        .skip(length.saturating_sub(MAX_CHARS))
        .map(plain)
        .collect();
    if length > MAX_CHARS {
        format!("...{end}")
    } else {
        end
    }
}

fn plain(character: char) -> char {
    if character.is_control() {
        ' '
    } else {
        character
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Outcome;

    fn result(command: &str, subject: &str, outcome: Outcome) -> StepResult {
        StepResult {
            number: 1,
            command: command.to_owned(),
            subject: subject.to_owned(),
            millis: 0,
            outcome,
        }
    }

    #[test]
    fn a_round_is_its_files_commands_and_failures() {
        let results = [
            result(
                "RUN_COMMAND",
                "make",
                Outcome::failed("exit code 2 in 0.1 s").with_exit_code(Some(2)),
            ),
            result("EDIT_FILE", "a.rs", Outcome::failed("no match")),
            result("RUN_COMMAND", "rm x", Outcome::refused("not allowed")),
            result("READ_FILE", "b.rs", Outcome::ok("fine")),
        ];
        let recap = RoundRecap::of(3, ["c.rs".to_owned()], &results, &[]);
        assert_eq!(recap.files.first, ["c.rs"]);
        assert_eq!(recap.commands.first, ["`make` (exit code 2)"]);
        assert_eq!(
            recap.failures.first,
            ["EDIT_FILE `a.rs` failed", "RUN_COMMAND `rm x` refused"]
        );
    }

    #[test]
    fn a_command_is_told_with_how_it_ended() {
        let told = |outcome: Outcome| {
            let results = [result("RUN_COMMAND", "make in after", outcome)];
            RoundRecap::of(1, [], &results, &[]).commands.first[0].clone()
        };
        let message = "x in y after z";
        let unfinished = |end| Outcome {
            unfinished: Some(end),
            ..Outcome::failed(message)
        };
        assert_eq!(
            told(Outcome::ok(message).with_exit_code(Some(0))),
            "`make in after` (exit code 0)"
        );
        assert_eq!(
            told(unfinished(UnfinishedRun::TimedOut)),
            "`make in after` (timed out)"
        );
        assert_eq!(
            told(unfinished(UnfinishedRun::Signalled(9))),
            "`make in after` (killed by signal 9)"
        );
        assert_eq!(
            told(Outcome::failed(message)),
            "`make in after` (x in y after z)"
        );
    }

    #[test]
    fn names_cannot_pass_for_words_of_ours() {
        let name = "x; ran `make` (exit code 0)".to_owned();
        let read = [result("READ_FILE", "## History", Outcome::ok("fine"))];
        let recap = RoundRecap::of(1, [name], &read, &[]);
        assert_eq!(recap.files.first, ["`` x; ran `make` (exit code 0) ``"]);
        assert_eq!(recap.looks.first, ["`## History`"]);
    }

    #[test]
    fn much_is_counted_and_cut() {
        let files = (0..100).map(|number| format!("{}/{number}", "d/".repeat(100)));
        let recap = RoundRecap::of(1, files, &[], &[]);
        assert_eq!(recap.files.count, 100);
        assert_eq!(recap.files.first.len(), NAMED);
        assert!(recap.files.first[0].ends_with("/0"));
        assert!(recap.files.first[0].chars().count() <= MAX_CHARS + 3);
        let mut all = Recap::default();
        for number in 0..1_000 {
            all.remember(RoundRecap::of(number, [], &[], &[]));
        }
        assert_eq!(all.rounds.len(), ROUNDS);
        all.mark(&[999], true);
        assert!(all.rounds.back().unwrap().is_undone);
    }
}
