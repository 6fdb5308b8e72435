//! `agent end`: the person ends a session.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::{ExitKind, Result};
use crate::services::run;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent end
  agent end ab12

The exit code is 1 if results of its commands have not come back from a runner.";

/// End a session yourself; the files stay as they are
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct End {
    /// The session; by default the latest unfinished one, or else the latest with results that have not
    /// come back from a runner
    #[arg(value_name = "ID")]
    id: Option<String>,
}

impl End {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let ended = run::end(&common.acting_caller(ui)?, self.id.as_deref())?;
        let id = &ended.id;
        ui.say(&if ended.was_open {
            format!("Session {id} has ended. The files stay as they are.")
        } else {
            format!("Session {id} has ended already.")
        });
        Ok(if ended.awaits_results {
            ExitKind::Mendable.exit_code().into()
        } else {
            ExitCode::SUCCESS
        })
    }
}
