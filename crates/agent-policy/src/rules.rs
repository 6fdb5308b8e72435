//! Rules that people write: the beginning of a command, or, after `=`, a whole command.
//!
//! An allow rule matches only plain commands whose program is the one that its name leads to, not
//! one that a command could have put there. Ask and deny rules match more loosely, since matching
//! too much does no harm there. For the answer "always" rules are proposed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::command::{
    Invocation, commands_within, is_a, is_in, name_of, runs_code, without_wrappers,
};
use super::options;
use super::shell::{self, KEYWORDS, Opacity};
use super::targets::is_relative;
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
enum RuleExtent {
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
        let mut arguments = invocation.arguments.iter();
        words.iter().all(|expected| {
            // The word after an option may be its value.
            let mut may_be_value = false;
            let next = arguments.find(|argument| {
                let is_option = argument.starts_with('-');
                let is_skipped = std::mem::replace(&mut may_be_value, is_option) || is_option;
                *argument == expected || !is_skipped
            });
            next == Some(expected)
        })
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

/// The maximum length of a proposed rule, in bytes; nobody would check a longer one.
const MAX_PROPOSAL: usize = 200;

impl Policy {
    /// Proposes rules that let a script run without a question from now on.
    ///
    /// Empty if no rule can: the script is opaque, refused, or asked about by a rule that no allow
    /// rule overrides.
    pub fn propose(&self, script: &str) -> Vec<Rule> {
        self.proposal(script).unwrap_or_default()
    }

    fn proposal(&self, script: &str) -> Option<Vec<Rule>> {
        let commands = shell::read(script).ok()?;
        // If similar commands must not be allowed, this exact one must not be allowed either.
        let like = self.missing_rules(&commands, beginning)?;
        let exactly = self.missing_rules(&commands, |command| rule(command, RuleExtent::Whole));
        let mut proposals = std::iter::once(like).chain(exactly);
        proposals.find(|rules| {
            let mut policy = self.clone();
            policy.person.always.extend_from_slice(rules);
            policy.explain(script)[0].decision == Decision::Allow
        })
    }

    fn missing_rules(
        &self,
        commands: &[Vec<String>],
        rule_for: impl Fn(&[String]) -> Option<Rule>,
    ) -> Option<Vec<Rule>> {
        let mut missing = Vec::new();
        for command in commands.iter().filter(|command| !is_neutral(command)) {
            let rule = rule_for(command)?;
            let known = [&self.person.allow, &self.person.always, &missing];
            if !known.iter().any(|rules| rules.contains(&rule)) {
                missing.push(rule);
            }
        }
        Some(missing)
    }
}

/// The rule for one plain command and similar ones, or for that command alone if similar ones could
/// do anything. `None` if the rule would allow arbitrary code.
fn beginning(command: &[String]) -> Option<Rule> {
    let is_never = |inner: &[String]| is_a("never-proposed", name_of(inner));
    if commands_within(command).any(is_never) {
        return None;
    }
    let inner = without_wrappers(command);
    let arguments = inner.get(1..)?;
    let name = name_of(inner);
    let is_open = arguments.is_empty() || arguments.iter().any(|word| runs_its_argument(word));
    if is_in("env command builtin", name) || runs_code(name) && is_open {
        return None;
    }
    match words_of_its_like(inner) {
        Some(taken) => {
            let named = command.len() - inner.len() + 1 + taken;
            rule(&command[..named], RuleExtent::Beginning)
        }
        None => rule(command, RuleExtent::Whole),
    }
}

/// The number of arguments that determine what a command does, so that any others may follow;
/// `None` if all of them are needed.
fn words_of_its_like(command: &[String]) -> Option<usize> {
    let word = |at: usize| command.get(at).map_or("", String::as_str);
    let (name, first, second) = (name_of(command), word(1), word(2));
    let takes = |is_so: bool, count: usize| is_so.then_some(count);
    match name {
        _ if is_a("interpreters", name) && first == "-m" => takes(is_a("checkers", second), 2),
        _ if runs_code(name) => takes(!first.starts_with('-') && first.contains(['.', '/']), 1),
        "npm" | "pnpm" | "yarn" | "bun" if first == "run" => takes(!second.is_empty(), 2),
        "git" => takes(is_a("git-looks git-work", first), 1),
        _ if is_a("builders", name) => takes(!first.is_empty() && !first.starts_with('-'), 1),
        // A program of the workspace does what the workspace says, whatever follows.
        _ if is_relative(word(0)) => Some(0),
        _ => takes(is_a("looks checkers", name), 0),
    }
}

fn runs_its_argument(word: &str) -> bool {
    is_in("--eval --print eval /c /k -", word)
        || word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'e', 'p', 'r'])
}

/// Returns true if a plain command runs no code of the workspace, as `make`, `npm test`, `cargo
/// test` and `python check.py` do. Unknown programs may run some.
pub(super) fn runs_nothing_of_the_project(command: &[String]) -> bool {
    let inner = without_wrappers(command);
    let (name, first) = (name_of(inner), inner.get(1).map_or("", String::as_str));
    let named = command.len() - inner.len() + 1;
    // Other wrappers set variables, change the directory or look for programs in the project.
    let is_plain = |words: &[String]| {
        words.len() == inner.len() || is_in("timeout nice ionice nohup", name_of(words))
    };
    let is_known = match name {
        "git" => is_a("git-looks", first),
        _ => is_a("looks self-contained", name),
    };
    is_known
        && commands_within(command).all(is_plain)
        && !is_relative(&inner[0])
        && !options::does_something_else(command, named)
}

fn rule(words: &[String], extent: RuleExtent) -> Option<Rule> {
    let rule = Rule {
        words: words.to_vec(),
        extent,
    };
    (!words.is_empty() && rule.text().len() <= MAX_PROPOSAL).then_some(rule)
}

/// Returns true if a plain command changes nothing, whatever else is in the script.
pub(super) fn is_neutral(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return true;
    };
    match program.as_str() {
        "echo" | "pwd" | "true" | ":" => true,
        "cd" => matches!(arguments, [directory]
            if !directory.starts_with(['-', '/']) && !directory.split('/').any(|part| part == "..")),
        _ => false,
    }
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
                let words = words.clone();
                let rule = Rule { words, extent };
                let text = rule.text();
                assert_eq!(Rule::parse(&text), Ok(rule), "{text}");
            }
        }
    }

    #[track_caller]
    fn proposal(script: &str, expected: Option<&str>) {
        let Ok(commands) = shell::read(script) else {
            return assert_eq!(expected, None, "{script}");
        };
        let commands = commands.iter().filter(|command| !is_neutral(command));
        let mut rules: Vec<Option<Rule>> = commands.map(|command| beginning(command)).collect();
        rules.dedup();
        let rule = rules.pop().flatten().filter(|_| rules.is_empty());
        assert_eq!(
            rule.map(|rule| rule.text()).as_deref(),
            expected,
            "{script}"
        );
    }

    #[test]
    fn proposes_what_like_commands_begin_with() {
        proposal("cargo test --all -- --nocapture", Some("cargo test"));
        proposal("cd sub && cargo test", Some("cargo test"));
        proposal("cargo test -p a && cargo test -p b", Some("cargo test"));
        proposal("npm run lint -- --fix", Some("npm run lint"));
        proposal("npm test", Some("npm test"));
        proposal("pytest -q", Some("pytest"));
        proposal("python -m pytest -q", Some("python -m pytest"));
        proposal(
            "python3 tools/check.py --all",
            Some("python3 tools/check.py"),
        );
        proposal("./check.sh fast", Some("./check.sh"));
        proposal("timeout 60 cargo test -q", Some("timeout 60 cargo test"));
        proposal("make test", Some("make test"));
        proposal("git status --short", Some("git status"));
        proposal("npx jest -t x", Some("npx jest"));
        proposal("uv run pytest -q", Some("uv run pytest"));
        proposal("ls", Some("ls"));
    }

    #[test]
    fn proposes_only_the_command_itself_where_its_like_could_do_anything() {
        for script in [
            "make -j4",
            "find . -name '*.rs'",
            "rg foo",
            "awk '{print $1}' x",
            "sed -n 1,5p x",
            "tar tf x.tar",
            "git config user.name",
            "git submodule status",
            "docker run x",
            "pip install x",
            "python -W ignore x.py",
            "python -m timeit x",
            "deno run x.ts",
            "strange thing",
            "uv run strange",
        ] {
            proposal(script, Some(&format!("= {script}")));
        }
    }

    #[test]
    fn proposes_nothing_that_allows_arbitrary_code() {
        for script in [
            "bash -c 'ls'",
            "sh -ec ls",
            "python -c 'print(1)'",
            "node -e 1",
            "perl -pe s/a/b/",
            "eval ls",
            "sudo ls",
            "rm -rf build",
            "xargs rm",
            "python",
            "bash",
            "env",
            "export A",
            "cargo test > log",
            "cargo build && cargo test",
            "echo hi",
            "",
        ] {
            proposal(script, None);
        }
    }
}
