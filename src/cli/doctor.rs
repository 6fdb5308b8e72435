//! `agent doctor`: whether everything works here.

use std::process::ExitCode;

use super::common::Common;
use crate::error::{ExitKind, Result};
use crate::services::doctor::{self, Finding, Health};
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent doctor
  agent doctor --json
  agent doctor --runner docker:rust:1.95   test a runner with commands inside it
  agent doctor --clean                     remove what runners left behind

The exit code is 1 if a line says `problem`: something that you need does not work.";

/// Check what works here: sandbox, shell, git, watching, clipboard, disk, settings
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {
    /// Remove containers whose `agent` is gone, and what it left on the other side of `--runner`; check
    /// nothing
    #[arg(long)]
    clean: bool,
}

pub(super) fn run(doctor: &Doctor, common: &Common, ui: &Ui) -> Result<ExitCode> {
    let caller = common.caller(ui)?;
    let findings = if doctor.clean {
        doctor::clean(&caller)?
    } else {
        doctor::examine(&caller, ui)
    };
    for finding in &findings {
        if common.json {
            ui.data(finding);
        } else {
            ui.line(&line(finding));
        }
    }
    let has_problem = findings.iter().any(|one| one.health == Health::Problem);
    Ok(if has_problem {
        ExitKind::Mendable.exit_code().into()
    } else {
        ExitCode::SUCCESS
    })
}

fn line(finding: &Finding) -> String {
    let word = match finding.health {
        Health::Ok => "ok",
        Health::Warning => "warning",
        Health::Problem => "problem",
    };
    let what = escape_line(&finding.what);
    match finding.remedy.as_str() {
        "" => format!("{word:8} {what}"),
        remedy => format!("{word:8} {what}\n         -> {}", escape_line(remedy)),
    }
}
