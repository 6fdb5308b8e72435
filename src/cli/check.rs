//! `agent check`: the person's check, run now.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::{ExitKind, Result};
use crate::protocol::{Capped, Status};
use crate::services::check;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent check
  agent check --check \"make test\"";

/// Run the check command now, in the sandbox, and report the result
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {}

impl Check {
    pub(super) fn run(common: &Common, ui: &Ui) -> Result<ExitCode> {
        let mut run = check::run(&common.acting_caller(ui)?)?;
        if !common.json {
            ui.text(&run.outcome.detail.text);
            // It is there in full already.
            run.outcome.detail = Capped::default();
        }
        ui.tell(&run.event());
        Ok(match run.outcome.status {
            Status::Ok => ExitCode::SUCCESS,
            _ => ExitKind::NotApplied.exit_code().into(),
        })
    }
}
