//! The person's check, run now.

use super::{Caller, open};
use crate::error::{Error, Result};
use crate::protocol::Outcome;

/// The result of running the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRun {
    /// The command.
    pub command: String,
    /// Its result.
    pub outcome: Outcome,
}

/// Runs the check of the latest unfinished session, or that of the settings where there is none.
pub fn run(caller: &Caller) -> Result<CheckRun> {
    let agent = open::agent(caller)?;
    let outcome = agent.check([], &mut |_| {});
    match (&agent.manner.check, outcome) {
        (Some(check), Some(outcome)) => Ok(CheckRun {
            command: check.command.clone(),
            outcome,
        }),
        _ => Err(Error::mendable("no check command is set")
            .hint("`--check \"make test\"` names one, or `CheckCommand` in `appsettings.json`")),
    }
}
