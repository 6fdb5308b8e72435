//! `agent doctor`: whether everything works here.
//!
//! Each line is fine, or says what to do about it: a `Finding` cannot be made without a remedy
//! unless all is well. Nothing is changed and nothing is left behind.

mod machine;
mod place;

use std::process::ExitCode;

use super::{Common, build_info};
use crate::error::Kind;
use crate::platform::programs;
use crate::services::open;
use crate::session::now;
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent doctor
  agent doctor --json

The exit code is 1 if a line says `problem`: something that you need does not work.";

/// Check what works here: sandbox, shell, git, watching, clipboard, disk, settings
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Ok,
    Warning,
    Problem,
}

/// One line of the report.
#[derive(Debug, serde::Serialize)]
struct Finding {
    health: Health,
    what: String,
    /// What to do about it; empty if all is well.
    remedy: String,
}

impl Finding {
    fn ok(what: impl Into<String>) -> Self {
        Self {
            health: Health::Ok,
            what: what.into(),
            remedy: String::new(),
        }
    }

    /// Something works less well than it could.
    fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            health: Health::Warning,
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// Something does not work.
    fn problem(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            health: Health::Problem,
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

pub(super) fn run(common: &Common, ui: &Ui) -> ExitCode {
    let mut findings = vec![Finding::ok(this_program())];
    let settings = open::settings(&common.caller(ui), open::FirstRun::Look);
    if settings.is_err()
        && let Ok(here) = std::env::current_dir()
    {
        // Nobody knows where commands work: it may be here.
        programs::distrust(&here);
    }
    findings.extend(place::findings(settings.as_ref()));
    findings.extend(machine::findings(
        &machine::WantedSandbox::by(settings.ok()),
        ui,
    ));
    for finding in &findings {
        if common.json {
            ui.data(finding);
        } else {
            ui.line(&line(finding));
        }
    }
    if findings.iter().any(|one| one.health == Health::Problem) {
        Kind::Mendable.exit_code().into()
    } else {
        ExitCode::SUCCESS
    }
}

/// Which build this is, how old, and how it was installed.
fn this_program() -> String {
    let mut parts = vec![format!("agent {}", build_info::version())];
    parts.extend(build_info::age(now()));
    if let Ok(program) = std::env::current_exe() {
        let home = std::env::home_dir();
        parts.push(build_info::origin(&program, home.as_deref()).to_owned());
    }
    parts.join(", ")
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
