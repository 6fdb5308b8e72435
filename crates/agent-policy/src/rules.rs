//! Rules that people write: the beginning of a command, or, after `=`, a whole command.
//!
//! An allow rule matches only plain commands whose program is the one that its name leads to, not
//! one that a command could have put there. Ask and deny rules match more loosely, since matching
//! too much does no harm there.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::command::{Invocation, name_of};
use super::names::is_in;
use super::options;
use super::shell::{self, KEYWORDS, Opacity};
use super::{Decision, Policy, Ruling};

/// Commands that begin with these words, or that are exactly these words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    /// At least one.
    pub(super) words: Vec<String>,
    extent: RuleExtent,
}

/// The part of a command that a rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleExtent {
    /// The beginning.
    Beginning,
    /// The whole command.
    Whole,
}

/// The mark before the words of a rule that names a whole command.
const WHOLE: char = '=';

/// The reason why a text is not a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleProblem {
    /// No words.
    #[error("the rule is empty")]
    Empty,
    /// More than one command.
    #[error("a rule is the beginning of one command, without `&&`, `||`, `;` or `|`")]
    Several,
    /// Something that only a shell could evaluate.
    #[error("a rule may only have plain words: {0}")]
    Opaque(Opacity),
}

impl Rule {
    /// Parses a rule: `cargo test`, or `= make all` for exactly this command.
    pub fn parse(text: &str) -> Result<Self, RuleProblem> {
        let text = text.trim_start();
        let (text, extent) = match text.strip_prefix(WHOLE) {
            Some(rest) => (rest, RuleExtent::Whole),
            None => (text, RuleExtent::Beginning),
        };
        let mut commands = shell::read(text).map_err(RuleProblem::Opaque)?;
        match (commands.pop(), commands.is_empty()) {
            (None, _) => Err(RuleProblem::Empty),
            (Some(words), true) => Ok(Self { words, extent }),
            (Some(_), false) => Err(RuleProblem::Several),
        }
    }

    /// The rule for these words.
    pub(super) fn of_words(words: &[String], extent: RuleExtent) -> Self {
        Self {
            words: words.to_vec(),
            extent,
        }
    }

    /// The rule as written in the settings; `parse` gives the same rule again.
    pub fn text(&self) -> String {
        match self.extent {
            RuleExtent::Beginning => self.command(),
            RuleExtent::Whole => format!("{WHOLE} {}", self.command()),
        }
    }

    /// The words as a script that could be run.
    fn command(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }

    /// The row of the table for this rule.
    pub(super) fn row(&self, decision: Decision, whose: &str) -> Ruling {
        let why = match decision {
            Decision::Allow => "it is allowed by a rule",
            Decision::Ask => "a rule says to ask",
            Decision::Deny => "a rule refuses it",
        };
        Ruling::new(decision, &format!("{self} ({whose})"), why)
    }

    /// Returns true if a plain command begins with the words and starts the same program.
    ///
    /// False if the words after them make the program run something else or name a path outside the
    /// workspace, if the command changes the shell for the rest of the script, if it takes
    /// arguments from other output, and for git in another directory, because the repository there
    /// decides what git runs.
    ///
    /// The command runs in one of the directories: the workspace, and those to which the script
    /// changed before.
    pub(super) fn allows(
        &self,
        command: &[String],
        policy: &Policy,
        directories: &[String],
    ) -> bool {
        let has_moved = directories.len() > 1;
        let is_named = match self.extent {
            RuleExtent::Whole => command[1..] == self.words[1..],
            RuleExtent::Beginning => {
                command[1..].starts_with(&self.words[1..])
                    && !options::goes_beyond(command, self.words.len(), policy, directories)
            }
        };
        is_named
            && !options::is_never_allowed(command)
            && policy.are_the_same(&self.words[0], &command[0], has_moved)
            && !(has_moved && options::obeys_its_directory(command))
    }

    /// Returns true if the rule means a program that a script seems to start; options may be in
    /// between.
    pub(super) fn matches(&self, invocation: &Invocation) -> bool {
        let words = &self.words[1..];
        let name = name_of(&self.words);
        if !name.eq_ignore_ascii_case(&invocation.name) {
            return false;
        }
        if self.extent == RuleExtent::Whole {
            return words == invocation.arguments;
        }
        let mut words = words.iter().peekable();
        let mut follows_option = false;
        for argument in &invocation.arguments {
            let Some(&expected) = words.peek() else { break };
            let is_option = argument.starts_with('-');
            if expected == argument {
                words.next();
            } else if !is_option && !follows_option {
                return false;
            }
            // The word after an option may be its value.
            follows_option = is_option && expected != argument;
        }
        words.peek().is_none()
    }

    /// Returns true if the words are among those of a command.
    pub(super) fn is_mentioned(&self, invocation: &Invocation) -> bool {
        !matches!(invocation.name.as_str(), "echo" | "printf")
            && invocation
                .arguments
                .windows(self.words.len())
                .any(|words| words == self.words)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.extent {
            RuleExtent::Beginning => "commands beginning with",
            RuleExtent::Whole => "exactly the command",
        };
        write!(f, "{words} `{}`", self.command())
    }
}

impl TryFrom<String> for Rule {
    type Error = RuleProblem;

    fn try_from(text: String) -> Result<Self, RuleProblem> {
        Self::parse(&text)
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.text()
    }
}

fn quoted(word: &str) -> String {
    // After another word a keyword is an ordinary word; at the start of a rule it must be quoted.
    let alone = Ok(vec![vec!["x".to_owned(), word.to_owned()]]);
    if !is_in(KEYWORDS, word) && shell::read(&format!("x {word}")) == alone {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_the_beginning_of_one_plain_command() {
        assert_eq!(
            Rule::parse("cargo test").unwrap().to_string(),
            "commands beginning with `cargo test`"
        );
        assert_eq!(
            Rule::parse("= cargo test").unwrap().to_string(),
            "exactly the command `cargo test`"
        );
        assert_eq!(Rule::parse(" "), Err(RuleProblem::Empty));
        assert_eq!(Rule::parse("="), Err(RuleProblem::Empty));
        assert_eq!(Rule::parse("a; b"), Err(RuleProblem::Several));
        assert_eq!(
            Rule::parse("rm *"),
            Err(RuleProblem::Opaque("it has a glob"))
        );
    }

    #[test]
    fn a_rule_reads_back_as_it_was_written() {
        for words in [
            &["a", "b c"][..],
            &["it's", ""],
            &["'", "\"", "x'y'"],
            &["$x", "~", "#"],
        ] {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            for extent in [RuleExtent::Beginning, RuleExtent::Whole] {
                let rule = Rule::of_words(&words, extent);
                let text = rule.text();
                assert_eq!(Rule::parse(&text), Ok(rule), "{text}");
            }
        }
    }
}
