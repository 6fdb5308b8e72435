//! `agent check`: the person's check, run now.

use std::process::ExitCode;

use clap::Args;

use super::{Common, open};
use crate::error::{Error, Kind, Result};
use crate::protocol::{Capped, Event, Status};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent check
  agent check --check \"make test\"";

/// Run the check command now; in the sandbox, and report the result
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {}

impl Check {
    pub(super) fn run(common: &Common, ui: &Ui) -> Result<ExitCode> {
        let agent = open::agent(common, ui.clone())?;
        let (Some(check), Some(outcome)) = (&agent.manner.check, agent.check([], &mut |_| {}))
        else {
            return Err(Error::mendable("no check command is set").hint(
                "`--check \"make test\"` names one, or `CheckCommand` in `appsettings.json`",
            ));
        };
        let mut told = outcome.clone();
        if !common.json {
            ui.text(&outcome.detail.text);
            // It is there in full already.
            told.detail = Capped::default();
        }
        ui.tell(&Event::Check {
            command: check.command.clone(),
            outcome: told,
        });
        Ok(match outcome.status {
            Status::Ok => ExitCode::SUCCESS,
            _ => Kind::NotApplied.exit_code().into(),
        })
    }
}
