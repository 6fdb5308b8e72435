//! `agent step`: one reply in, one outbox out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::common::{Common, exit_code, read_standard_input};
use super::resume;
use crate::error::Result;
use crate::services::{reply, run};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent step
  agent step --reply reply.md
  agent step --json --reply - < reply.md";

/// Process one reply, write the next message, and exit: for scripts and editors
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StepArgs {
    /// The session; by default the latest unfinished one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The reply, `-` for standard input; by default the oldest reply in the inbox
    #[arg(long, value_name = "FILE")]
    reply: Option<PathBuf>,
}

impl StepArgs {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let held = run::for_one_reply(&common.acting_caller(ui)?, self.id.as_deref())?;
        resume::tell_permissions(ui, &held);
        ui.warn_before_round(held.last_round());
        let ending = match &self.reply {
            Some(file) => held.step_with(|| read(file, ui)),
            None => held.step(),
        };
        ending.map(exit_code)
    }
}

/// Reads a reply from a file or from standard input.
pub(super) fn read(file: &Path, ui: &Ui) -> Result<Vec<u8>> {
    if file.as_os_str() == "-" {
        return read_standard_input("the reply", ui);
    }
    reply::read_file(file)
}
