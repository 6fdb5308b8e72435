//! The person's check, run now.

use super::{Caller, open};
use crate::error::{Error, Result};
use crate::protocol::{Event, Outcome};

/// The result of running the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRun {
    /// The command.
    pub command: String,
    /// Its result.
    pub outcome: Outcome,
}

impl CheckRun {
    /// The event that tells of it.
    pub fn event(&self) -> Event {
        Event::Check {
            command: self.command.clone(),
            outcome: self.outcome.clone(),
        }
    }
}

/// Runs the check of the latest unfinished session, or that of the settings where there is none.
pub fn run(caller: &Caller) -> Result<CheckRun> {
    let (agent, session) = open::agent(caller)?;
    let outcome = agent.check([], &mut |_| {});
    match (&agent.manner.check, outcome) {
        (Some(check), Some(outcome)) => {
            let run = CheckRun {
                command: check.command.clone(),
                outcome,
            };
            // `agent show --follow` shows it too.
            if let Some(session) = session {
                agent.store.events(&session.session_id).append(run.event());
            }
            Ok(run)
        }
        _ => Err(Error::mendable(
            "no unfinished session here has a check, and no setting names one",
        )
        .hint("`--check \"make test\"` names one, or `CheckCommand` in `appsettings.json`")),
    }
}
