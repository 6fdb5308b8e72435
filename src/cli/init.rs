//! `agent init`: work on an existing project in place.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::services::init;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent init
  agent init ~/my-project
  agent init --chat claude         with a setting for this project";

/// Work on an existing project in place: create `.agent/` in it, and touch nothing else
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Init {
    /// The project
    #[arg(value_name = "DIR", default_value = ".")]
    project: PathBuf,
}

impl Init {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let project = init::init(&common.caller(ui)?, &self.project)?;
        ui.say(&format!(
            "`{}` is ready. `agent new \"<task>\"` anywhere in this project works on it in place{}.",
            project.base.display(),
            if project.is_in_repository {
                "; git ignores the folder"
            } else {
                ""
            }
        ));
        if let Some(root) = project.larger_repository {
            let root = root.display();
            ui.say(&format!(
                "The model sees only this folder of the repository `{root}`. For all of it: agent init '{root}'"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
