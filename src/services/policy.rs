//! The rules in force, what they say about a command, and those that the person gave with "always".

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::Caller;
use super::guard::Testing;
use super::open::{self, BoundedWorkspace};
use crate::error::{Error, Result};
use crate::policy::{CommandConfinement, Policy, Rule};
pub use crate::policy::{Decision, Ruling};

/// The rules of a base directory.
#[derive(Debug)]
pub struct RulesInForce {
    /// The built-in rules and those of the settings.
    pub table: Vec<Ruling>,
    /// The rules that were given with "always"; their numbers begin with 1.
    pub always: Vec<Rule>,
    /// Where these are kept.
    pub always_file: Option<PathBuf>,
    /// True if commands run in a sandbox; without one, "always" does not cover programs that run the
    /// project's own code.
    pub is_sandboxed: bool,
}

/// A rule that was given with "always".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichRule {
    /// Every one.
    All,
    /// The one with this number.
    Number(usize),
}

impl FromStr for WhichRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(number)) => Ok(Self::Number(number)),
            _ => Err("give the number of a rule, or `all`".to_owned()),
        }
    }
}

fn opened(caller: &Caller) -> Result<(BoundedWorkspace, Vec<Rule>)> {
    let place = open::place(caller, Testing::Unremembered)?;
    let always = place.authorizer.kept_rules.load(&place.base)?;
    Ok((place, always))
}

/// All rules.
pub fn rules(caller: &Caller) -> Result<RulesInForce> {
    let (place, always) = opened(caller)?;
    let policy = &place.authorizer.policy;
    Ok(RulesInForce {
        table: policy.table(),
        always,
        always_file: place.authorizer.kept_rules.file(),
        is_sandboxed: policy.confinement == CommandConfinement::Sandboxed,
    })
}

/// The built-in rules as they are with a sandbox and the default settings.
pub fn built_in() -> Vec<Ruling> {
    let mut policy = Policy::new(Path::new("workspace"), None);
    policy.confinement = CommandConfinement::Sandboxed;
    policy.table()
}

/// Every rule that says something about a command.
pub fn explain(caller: &Caller, script: &str) -> Result<Vec<Ruling>> {
    let (place, always) = opened(caller)?;
    let mut policy = place.authorizer.policy;
    policy.person.always.extend(always);
    Ok(policy.explain(script))
}

/// The rulings that decide: the strictest rule wins, so one that allows counts only if all do.
pub fn decisive(rulings: Vec<Ruling>) -> Vec<Ruling> {
    let is_allowed = |ruling: &Ruling| ruling.decision == Decision::Allow;
    if rulings.iter().all(is_allowed) {
        return rulings;
    }
    let decides = |ruling: &Ruling| !is_allowed(ruling);
    rulings.into_iter().filter(decides).collect()
}

/// Takes back rules that were given with "always"; returns those that were there.
pub fn forget(caller: &Caller, which: &[WhichRule]) -> Result<Vec<Rule>> {
    let (place, always) = opened(caller)?;
    let mut chosen = Vec::new();
    for which in which {
        match which {
            WhichRule::All => chosen.extend(always.clone()),
            WhichRule::Number(number) => {
                let rule = number.checked_sub(1).and_then(|at| always.get(at));
                chosen.push(rule.cloned().ok_or_else(|| {
                    Error::mendable(format!("there is no rule {number}"))
                        .hint("`agent policy` shows those that you gave with \"always\"")
                })?);
            }
        }
    }
    let mut forgotten = Vec::new();
    for rule in chosen {
        if place.authorizer.kept_rules.remove(&place.base, &rule)? {
            forgotten.push(rule);
        }
    }
    Ok(forgotten)
}
