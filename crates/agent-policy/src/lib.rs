#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! Pure: a `Policy` is a value. All it asks of the machine is where a program is and where links
//! lead, through functions that the caller provides. All rules, built in or written by people, are rows
//! of one table that can be printed, and every ruling names the row that decided.
//!
//! A script is examined twice. `shell` understands it completely or not at all, and allow rules
//! match only scripts that it understands. `grammar` and `reading` list the programs that a script
//! starts, for the rules that ask or refuse. What they know about programs is in `programs.txt`, which
//! `command` reads. Neither is a security boundary: files are confined by the workspace, commands by the
//! sandbox.

mod checks;
mod command;
mod grammar;
mod judge;
mod options;
mod protected;
mod reading;
mod rules;
mod shell;
mod table;
mod targets;
#[cfg(test)]
mod tests;
mod windows;

use std::path::Path;

use serde::{Deserialize, Serialize};

use agent_protocol::{Command, RelPath, words};
pub use reading::Dialect;
pub use rules::{Rule, RuleProblem};
pub use shell::{MAX_BYTES, Opacity, read as read_script};
use table::BuiltIn;
pub use targets::{FoundProgram, KnownDirectories, MachineLookup, ProgramLookup, RecordsLookup};

/// The decision about a step; the strictest is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The step is executed.
    Allow,
    /// The person decides.
    Ask,
    /// The step is refused.
    Deny,
}

impl Decision {
    /// The word in tables: `allowed`, `asked`, `refused`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Ask => "asked",
            Self::Deny => "refused",
        }
    }
}

/// A decision with the rule that made it; also a row of the table of rules, which is about nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// The decision.
    pub decision: Decision,
    /// The rule as `agent policy` prints it.
    pub rule: String,
    /// The reason, for the person and the model.
    pub why: String,
    /// Advice for the model: what it can do instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// The command or path that the rule is about; empty if it is about the whole step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The grant that the step needs, which the person gives with a yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Grant>,
    /// The grant under which this rule is not in force.
    #[serde(default, rename = "liftedBy", skip_serializing_if = "Option::is_none")]
    pub lifted_by: Option<Grant>,
}

impl Ruling {
    /// The ruling of a rule, about nothing yet.
    fn new(decision: Decision, rule: &str, why: &str) -> Self {
        Self {
            decision,
            rule: rule.to_owned(),
            why: why.to_owned(),
            hint: String::new(),
            about: String::new(),
            needs: None,
            lifted_by: None,
        }
    }

    /// The reason and the grant that would lift the rule, in words.
    pub fn reason(&self) -> String {
        let Self { why, .. } = self;
        match self.lifted_by.map(Grant::word) {
            Some(grant) => format!("{why}; the person can allow it with `--grant {grant}`"),
            None => why.clone(),
        }
    }
}

words! {
    /// When the person is asked; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum Approval {
        /// Only steps that read are executed.
        Plan = "plan",
        /// Every change is asked about.
        Ask = "ask",
        /// File changes are executed; commands are asked about.
        Edits = "edits",
        /// Steps that the rules allow are executed.
        #[default]
        Auto = "auto",
    }

    /// How much is refused; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum Strictness {
        /// Also every forced removal, downloads, reading the environment and user administration.
        Strict = "strict",
        /// Obvious destruction.
        #[default]
        Normal = "normal",
    }

    /// A permission that only the person can give.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Grant {
        /// Writing to `.git`, except for its hooks and configuration.
        GitWrite = "git-write",
        /// The network.
        Network = "network",
    }

    /// Access of commands to the network; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum Network {
        /// No network. On a terminal, a command that seems to have needed it is offered again.
        #[default]
        Off = "off",
        /// No network at first; a command that seems to have needed it waits for the person.
        Ask = "ask",
        /// Network access.
        On = "on",
    }
}

/// How commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandConfinement {
    /// They run in a sandbox.
    Sandboxed,
    /// They run in a sandbox that cannot hide the records of `agent` in the workspace, which
    /// include approvals. Each command is asked about, whatever is allowed.
    RecordsExposed,
    /// This machine has no sandbox. Each command is asked about, whatever is allowed.
    Missing,
    /// The person switched the sandbox off. Commands are asked about unless they are allowed.
    SwitchedOff,
    /// This machine has no sandbox and the settings require one. No command runs.
    Required,
}

/// The rules that the person wrote.
#[derive(Debug, Clone, Default)]
pub struct PersonRules {
    /// Allowed without a question, unless something stricter matches.
    pub allow: Vec<Rule>,
    /// Allowed by the answer "always". Without a sandbox these rules hold only for programs that
    /// run no code of the project, because the model writes what `make` runs.
    pub always: Vec<Rule>,
    /// Always asked about.
    pub ask: Vec<Rule>,
    /// Refused.
    pub deny: Vec<Rule>,
}

/// The rules of the project, which can only make the policy stricter.
#[derive(Debug, Clone, Default)]
pub struct ProjectRules {
    /// Always asked about.
    pub ask: Vec<Rule>,
    /// Refused.
    pub deny: Vec<Rule>,
}

/// Everything that decides about steps.
#[derive(Debug, Clone)]
pub struct Policy {
    /// When the person is asked.
    pub approval: Approval,
    /// How much is refused.
    pub strictness: Strictness,
    /// How commands are confined.
    pub confinement: CommandConfinement,
    /// The runner that commands are sent to, in the words of the settings; none on this machine.
    pub runs_by: Option<String>,
    /// The grants that the person gave.
    pub grants: Vec<Grant>,
    /// The rules of the person.
    pub person: PersonRules,
    /// The rules of the project.
    pub project: ProjectRules,
    /// Paths in the workspace that belong to `agent` itself, besides `.agent`.
    pub own_paths: Vec<RelPath>,
    /// Finds what belongs to `agent` in the workspace because another base directory is there.
    pub records: RecordsLookup,
    /// Paths in the workspace that git runs or obeys because the person's configuration names them,
    /// such as the directory of `core.hooksPath`.
    pub obeyed_by_git: Vec<RelPath>,
    /// Paths in the workspace that dotfiles in the person's home directory are links to.
    pub linked_from_home: Vec<RelPath>,
    /// The directories that the rules mention.
    pub places: KnownDirectories,
    /// Finds programs on the machine.
    pub lookup: ProgramLookup,
    /// The shell that runs scripts.
    pub dialect: Dialect,
}

const PERSON: &str = "your rule";
const PROJECT: &str = "the project's rule";

impl Policy {
    /// The default rules for a workspace: `auto`, normal, with no sandbox and no grants. No program is
    /// found, so that no allow rule for one matches, and no records.
    pub fn new(workspace: &Path, home: Option<&Path>) -> Self {
        Self {
            approval: Approval::default(),
            strictness: Strictness::default(),
            confinement: CommandConfinement::Missing,
            runs_by: None,
            grants: Vec::new(),
            person: PersonRules::default(),
            project: ProjectRules::default(),
            own_paths: Vec::new(),
            records: RecordsLookup::new(|_| Vec::new()),
            obeyed_by_git: Vec::new(),
            linked_from_home: Vec::new(),
            places: KnownDirectories::new(workspace, home),
            lookup: ProgramLookup::new(|_| None),
            dialect: if cfg!(windows) {
                Dialect::PowerShell
            } else {
                Dialect::Posix
            },
        }
    }

    /// Returns true if a path belongs to `agent`, in this base directory or in another one.
    fn is_of_a_base(&self, path: &RelPath) -> bool {
        protected::is_in_any(path, &self.own_paths)
            || protected::is_in_any(path, &self.records.find(path))
    }

    /// Decides about a step.
    pub fn rule_on(&self, command: &Command) -> Ruling {
        let mut rulings = match command {
            Command::RunCommand { script, .. } => self.explain(script),
            other => self.judge_file_step(other),
        };
        // A yes must grant everything that the step needs, whichever question comes first.
        let needs = rulings.iter().find_map(|ruling| ruling.needs);
        let mut ruling = rulings.swap_remove(0);
        ruling.needs = needs;
        ruling
    }

    /// Every rule in force: refused, asked, allowed.
    pub fn table(&self) -> Vec<Ruling> {
        let mut rows: Vec<Ruling> = self.rows_in_force().map(BuiltIn::row).collect();
        for (rules, decision, source) in self.written() {
            rows.extend(rules.iter().map(|rule| rule.row(decision, source)));
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.decision));
        rows
    }

    /// Returns true if commands run in a sandbox.
    fn has_sandbox(&self) -> bool {
        use CommandConfinement::{RecordsExposed, Sandboxed};
        matches!(self.confinement, Sandboxed | RecordsExposed)
    }

    /// The rules that people wrote, with their decisions and owners.
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
}
