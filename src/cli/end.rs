//! `agent end`: the person ends a session.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::services::run;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent end
  agent end ab12";

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
        let (id, is_new) = run::end(&common.acting_caller(ui)?, self.id.as_deref())?;
        if !is_new {
            ui.say(&format!("Session {id} has ended already."));
            return Ok(ExitCode::SUCCESS);
        }
        ui.say(&format!(
            "Session {id} has ended. The files stay as they are."
        ));
        Ok(ExitCode::SUCCESS)
    }
}
