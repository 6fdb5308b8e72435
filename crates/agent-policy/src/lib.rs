#![doc = include_str!("../README.md")]
//!
//! # How it is made
//!
//! What a step may do: allow, ask or deny; the strictest rule wins.
//!
//! Pure: a `Policy` is a value, and the only thing that it asks of the machine is where a program
//! lies, through a function that is handed in. All rules, built in or written by people, stand in
//! one table that prints in words; every ruling names the row that decided it.
//!
//! What a script does is judged twice. `shell` understands it completely or not at all, and only
//! then an allow rule may match. `words` guesses what it starts, for the rules that ask or refuse.
//! Neither is a boundary: files are confined by `workspace`, commands by the sandbox.

mod asked;
mod dangers;
mod git;
mod judge;
mod options;
mod programs;
mod propose;
mod protected;
mod rules;
mod sed;
mod shell;
mod standing;
mod strict;
mod table;
mod targets;
#[cfg(test)]
mod tests;
mod words;

use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use agent_protocol::{Command, RelPath};
pub use programs::{FoundProgram, ProgramLookup};
pub use propose::propose;
pub use rules::{Rule, RuleProblem};
pub use shell::{MAX_BYTES, Opacity, Script, read as read_script};
pub use targets::KnownDirectories;
pub use words::Dialect;

/// What becomes of a step; the strictest is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It is carried out.
    Allow,
    /// The person decides.
    Ask,
    /// It is refused.
    Deny,
}

impl Decision {
    /// The word for it in a table: `allowed`, `asked`, `refused`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Ask => "asked",
            Self::Deny => "refused",
        }
    }
}

/// A decision with the rule that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// What becomes of the step.
    pub decision: Decision,
    /// The rule in words, as `agent policy` prints it.
    pub rule: String,
    /// Why, for the person and the model.
    pub why: String,
    /// The command or the path that the rule is about; empty where it is about the whole step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What the person grants with a yes, if the step needs it to work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Grant>,
}

/// When the person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// What the rules allow is carried out.
    #[default]
    Auto,
    /// File changes at once; commands are asked about.
    Edits,
    /// Whatever changes something is asked about.
    Ask,
    /// Only what reads is carried out.
    Plan,
}

/// How much is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    /// Obvious destruction.
    #[default]
    Normal,
    /// Also every forced removal, fetching, reading the environment, user administration.
    Strict,
}

/// What only the person can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    /// Writing to `.git`, its hooks and configuration excepted.
    GitWrite,
    /// The network.
    Network,
}

/// Whether commands have the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// They have none. On a terminal, a command that seems to have missed it is offered again.
    #[default]
    Off,
    /// They have none at first; a command that seems to have missed it waits for the person.
    Ask,
    /// They have it.
    On,
}

/// How commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandConfinement {
    /// They run in a sandbox.
    Sandboxed,
    /// They run in a sandbox that cannot keep them from the records of `agent` in the workspace,
    /// where approvals lie: each command is asked about, whatever is allowed.
    RecordsExposed,
    /// This machine has no sandbox: each command is asked about, whatever is allowed.
    Missing,
    /// The person switched the sandbox off: commands are asked about unless they are allowed.
    SwitchedOff,
    /// This machine has no sandbox and the settings require one: no command runs.
    Required,
}

/// A word that is none of those that may be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not one of {allowed}")]
pub struct UnknownWord {
    written: String,
    allowed: &'static str,
}

/// Reads an enum from the words that stand for it in settings and flags.
macro_rules! from_words {
    ($type:ty, $allowed:literal, { $($word:literal => $value:expr),+ }) => {
        impl FromStr for $type {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                match text.to_ascii_lowercase().as_str() {
                    $($word => Ok($value),)+
                    _ => Err(UnknownWord { written: text.to_owned(), allowed: $allowed }),
                }
            }
        }
    };
}

from_words!(Approval, "`auto`, `edits`, `ask`, `plan`", {
    "auto" => Self::Auto, "edits" => Self::Edits, "ask" => Self::Ask, "plan" => Self::Plan
});
from_words!(Strictness, "`normal`, `strict`", {
    "normal" => Self::Normal, "strict" => Self::Strict
});
from_words!(Network, "`off`, `ask`, `on`", {
    "off" => Self::Off, "ask" => Self::Ask, "on" => Self::On
});
from_words!(Grant, "`git-write`, `network`", {
    "git-write" => Self::GitWrite, "network" => Self::Network
});

/// The rules that the person wrote.
#[derive(Debug, Clone, Default)]
pub struct PersonRules {
    /// Not asked about, as far as nothing stricter matches.
    pub allow: Vec<Rule>,
    /// Answered with "always". Without a sandbox these hold only for programs that run nothing of
    /// the project's own: the model writes what `make` runs.
    pub always: Vec<Rule>,
    /// Always asked about.
    pub ask: Vec<Rule>,
    /// Refused.
    pub deny: Vec<Rule>,
}

impl PersonRules {
    fn has_allowed(&self) -> bool {
        !self.allow.is_empty() || !self.always.is_empty()
    }
}

/// The rules that came with the project: it can make things stricter only.
#[derive(Debug, Clone, Default)]
pub struct ProjectRules {
    /// Always asked about.
    pub ask: Vec<Rule>,
    /// Refused.
    pub deny: Vec<Rule>,
}

/// All that decides about steps.
#[derive(Debug, Clone)]
pub struct Policy {
    /// When the person is asked.
    pub approval: Approval,
    /// How much is refused.
    pub strictness: Strictness,
    /// How commands are confined.
    pub confinement: CommandConfinement,
    /// What the person has granted.
    pub grants: Vec<Grant>,
    /// What the person wrote.
    pub person: PersonRules,
    /// What the project wrote.
    pub project: ProjectRules,
    /// Paths in the workspace that belong to `agent` itself, besides `.agent`.
    pub own_paths: Vec<RelPath>,
    /// Paths in the workspace that git runs or obeys because the person's configuration names them,
    /// such as the directory of `core.hooksPath`.
    pub obeyed_by_git: Vec<RelPath>,
    /// The directories that matter.
    pub places: KnownDirectories,
    /// Where programs lie.
    pub lookup: ProgramLookup,
    /// Which shell runs scripts.
    pub dialect: Dialect,
}

const PERSON: &str = "your rule";
const PROJECT: &str = "the project's rule";

/// One row of the table of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleRow {
    /// What becomes of what the rule is about.
    pub decision: Decision,
    /// What the rule is about, in words.
    pub rule: String,
    /// Why.
    pub why: String,
}

impl Policy {
    /// The default rules for a workspace: `auto`, normal, with no sandbox and no grants.
    pub fn new(workspace: &Path, home: Option<&Path>) -> Self {
        Self {
            approval: Approval::default(),
            strictness: Strictness::default(),
            confinement: CommandConfinement::Missing,
            grants: Vec::new(),
            person: PersonRules::default(),
            project: ProjectRules::default(),
            own_paths: Vec::new(),
            obeyed_by_git: Vec::new(),
            places: KnownDirectories::new(workspace, home),
            lookup: ProgramLookup::nothing(),
            dialect: if cfg!(windows) {
                Dialect::PowerShell
            } else {
                Dialect::Posix
            },
        }
    }

    /// Decides about a step.
    pub fn rule_on(&self, command: &Command) -> Ruling {
        let mut rulings = match command {
            Command::RunCommand { script, .. } => self.judge_script(script),
            other => self.judge_file_step(other),
        };
        // A yes must grant all that the step needs, whichever question comes first.
        let needs = rulings.iter().find_map(|ruling| ruling.needs);
        let mut ruling = rulings.swap_remove(0);
        ruling.needs = needs;
        ruling
    }

    /// Tells which rules match a script, the strictest first: the first one decides.
    pub fn explain(&self, script: &str) -> Vec<Ruling> {
        self.judge_script(script)
    }

    /// Every rule in force, in words: what is refused, what is asked, what is allowed.
    pub fn table(&self) -> Vec<RuleRow> {
        let mut rows: Vec<RuleRow> = self
            .rows_in_force()
            .map(|row| RuleRow::new(row.decision, row.rule, row.why))
            .collect();
        let standing = standing::on_commands(self.approval, self.confinement);
        let on_files = [
            standing::on_changes(self.approval),
            standing::ON_READING,
            standing::OWN_PATHS,
            standing::OBEYED_BY_GIT,
        ];
        let is_sandboxed = matches!(
            self.confinement,
            CommandConfinement::Sandboxed | CommandConfinement::RecordsExposed
        );
        let network = is_sandboxed.then(|| standing::on_network(&self.grants));
        for row in standing.iter().chain(&on_files).chain(&network) {
            let row = RuleRow::new(row.decision, row.rule, row.why);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        for (rules, decision, source) in self.written() {
            rows.extend(rules.iter().map(|rule| {
                RuleRow::new(
                    decision,
                    &rules::in_words(rule, source),
                    standing::why_written(decision),
                )
            }));
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.decision));
        rows
    }

    /// The rules that people wrote, with what they decide and whose they are.
    fn written(&self) -> [(&[Rule], Decision, &'static str); 6] {
        [
            (&self.person.deny, Decision::Deny, PERSON),
            (&self.project.deny, Decision::Deny, PROJECT),
            (&self.person.ask, Decision::Ask, PERSON),
            (&self.project.ask, Decision::Ask, PROJECT),
            (&self.person.allow, Decision::Allow, PERSON),
            (&self.person.always, Decision::Allow, PERSON),
        ]
    }

    /// Proposes the rules that would let a script run without a question from now on.
    ///
    /// Empty where no rule can: the script is opaque, refused, or asked about by a rule that does
    /// not yield.
    pub fn propose(&self, script: &str) -> Vec<Rule> {
        let Script::Plain(commands) = read_script(script) else {
            return Vec::new();
        };
        let like: Option<Vec<Rule>> = self.missing_rules(&commands, propose::beginning);
        let exactly: Option<Vec<Rule>> = self.missing_rules(&commands, propose::exactly);
        // What may not be allowed with its like may not be allowed with other endings either.
        let Some(like) = like else {
            return Vec::new();
        };
        [Some(like), exactly]
            .into_iter()
            .flatten()
            .find(|rules| self.would_allow(script, rules))
            .unwrap_or_default()
    }

    fn missing_rules(
        &self,
        commands: &[Vec<String>],
        rule_for: impl Fn(&[String]) -> Option<Rule>,
    ) -> Option<Vec<Rule>> {
        let mut missing = Vec::new();
        for command in commands
            .iter()
            .filter(|command| !propose::is_neutral(command))
        {
            let rule = rule_for(command)?;
            let PersonRules { allow, always, .. } = &self.person;
            if ![allow, always, &missing]
                .iter()
                .any(|rules| rules.contains(&rule))
            {
                missing.push(rule);
            }
        }
        Some(missing)
    }

    fn would_allow(&self, script: &str, rules: &[Rule]) -> bool {
        let mut policy = self.clone();
        policy.person.always.extend_from_slice(rules);
        policy.judge_script(script)[0].decision == Decision::Allow
    }
}

impl RuleRow {
    fn new(decision: Decision, rule: &str, why: &str) -> Self {
        Self {
            decision,
            rule: rule.to_owned(),
            why: why.to_owned(),
        }
    }
}
