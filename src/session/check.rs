//! How the person's check stands, as the next message tells it.

use serde::{Deserialize, Serialize};

use crate::protocol::{Outcome, Status};

/// The result of the last check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The command.
    pub command: String,
    /// When it ran.
    pub when: CheckedWhen,
    /// How it ended, and what it printed.
    pub outcome: Outcome,
}

/// When a check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckedWhen {
    /// Before the first message.
    AtStart,
    /// After the steps of the last reply.
    AfterRound,
    /// After the person took rounds back, or put them again.
    AfterReversal,
    /// In an earlier round; nothing has changed since, and it was told then.
    Before,
    /// In an earlier round, and told then; files have changed since, or may have.
    Outdated,
    /// It has not: the person set it while the session was under way.
    NotYet,
}

impl CheckedWhen {
    /// True if an earlier message reported it.
    pub fn is_told(self) -> bool {
        matches!(self, Self::Before | Self::Outdated)
    }
}

impl CheckReport {
    /// The state of a check that has not run yet.
    pub fn not_yet(command: String) -> Self {
        let word = "it has not run yet; it runs after the next reply that changes something or says [DONE]";
        Self {
            command,
            when: CheckedWhen::NotYet,
            outcome: Outcome::skipped(word),
        }
    }

    /// True if it ran and did not pass.
    pub fn failed(&self) -> bool {
        self.outcome.status == Status::Failed
    }

    /// True if it could not even begin: the shell found no program, or the program no tool. That is
    /// nothing the model can mend.
    pub fn cannot_run(&self) -> bool {
        const NOT_EXECUTABLE: i32 = 126;
        const NOT_FOUND: i32 = 127;
        let outcome = &self.outcome;
        let lacks_tool = |line: &str| {
            let is_python = line.contains("python") && line.contains(": No module named ");
            is_python || line.starts_with("error: no such command: `")
        };
        let mut lines = outcome.detail.text.lines();
        self.failed()
            && (matches!(outcome.exit_code, Some(NOT_EXECUTABLE | NOT_FOUND))
                || (lines.next().is_some_and(lacks_tool) && lines.count() < 5))
    }

    /// Replaces the outcome of a check that cannot run by a short note for the model: it is the
    /// person's business.
    pub fn set_aside(&mut self) {
        let code = self.outcome.exit_code;
        let word = match code {
            Some(code) => format!("it cannot run here (exit code {code})"),
            None => "it cannot run here".to_owned(),
        };
        let word = format!("{word}; the user was told, and it is not part of your task");
        self.outcome = Outcome::skipped(word).with_exit_code(code);
    }

    /// True if it passed.
    pub fn passed(&self) -> bool {
        self.outcome.status == Status::Ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_without_its_tool_is_told_from_one_that_fails() {
        let case = |code: i32, output: &str, expected: bool| {
            let outcome = Outcome::failed("x").with_exit_code(Some(code));
            let report = CheckReport {
                command: "x".to_owned(),
                when: CheckedWhen::AtStart,
                outcome: outcome.with_detail(output),
            };
            assert_eq!(report.cannot_run(), expected, "{output}");
        };
        case(127, "bash: line 1: cmake: command not found\n", true);
        case(126, "", true);
        case(1, "/usr/bin/python3: No module named pytest\n", true);
        case(101, "error: no such command: `nextest`\n", true);
        case(1, "2 failed\n", false);
        case(
            1,
            "E   ModuleNotFoundError: No module named 'bowling'\n",
            false,
        );
    }
}
