//! `agent init`: work on an existing project in place.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::error::Result;
use crate::services::open;
use crate::settings;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent init
  agent init ~/my-project";

/// Work on an existing project in place: create `.agent/` in it, and touch nothing else
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
            "`{}` is ready. `agent new \"<task>\"` anywhere in this project works on it in place{}.",
            base.directory.display(),
            if is_in_repository(&base.directory) {
                "; git ignores the folder"
            } else {
                ""
            }
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether git would look at a directory.
fn is_in_repository(directory: &Path) -> bool {
    let mut above = directory.ancestors();
    above.any(|directory| directory.join(".git").exists())
}
