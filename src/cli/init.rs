//! `agent init`: work on an existing project in place.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::open;
use crate::error::Result;
use crate::settings;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent init
  agent init ~/my-project";

/// Work on an existing project in place: make `.agent/` in it, and touch nothing else
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Init {
    /// The project
    #[arg(value_name = "DIR", default_value = ".")]
    project: PathBuf,
}

impl Init {
    pub(super) fn run(self, ui: &Ui) -> Result<ExitCode> {
        if let Some(warning) = open::warning(&self.project) {
            ui.say(&warning);
        }
        let base = settings::init(&self.project, &open::trust())?;
        ui.say(&format!(
            "`{}` is ready. `agent new \"<task>\"` anywhere in this project works on it in place; git ignores the folder.",
            base.directory.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}
