//! Finds out what works here: the machine, the settings, the folders.
//!
//! Each finding is fine, or says what to do about it: one cannot be made without a remedy unless all
//! is well. [`examine`] changes nothing and leaves nothing behind.

pub mod build_info;
mod machine;
mod place;
mod runner;

use super::{Caller, api, open};
use crate::courier::TerminalLine;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::platform::programs;
use crate::session::now;
use crate::settings::Settings;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It works.
    Ok,
    /// It works less well than it could.
    Warning,
    /// It does not work.
    Problem,
}

/// One line of the report.
#[derive(Debug, serde::Serialize)]
pub struct Finding {
    /// The verdict.
    pub health: Health,
    /// The finding, in words.
    pub what: String,
    /// The remedy; empty if all is well.
    pub remedy: String,
}

impl Finding {
    fn ok(what: impl Into<String>) -> Self {
        Self {
            health: Health::Ok,
            what: what.into(),
            remedy: String::new(),
        }
    }

    fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            health: Health::Warning,
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    fn problem(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            health: Health::Problem,
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

/// Looks at everything; sequences for the clipboard would go to this terminal.
pub fn examine(caller: &Caller, terminal: &dyn TerminalLine) -> Vec<Finding> {
    let mut findings = vec![Finding::ok(this_program())];
    let settings = open::settings(caller, open::FirstRun::Look);
    if settings.is_err() {
        // Nobody knows where commands work: it may be here.
        programs::distrust(&caller.here);
    }
    findings.extend(place::findings(settings.as_ref(), &caller.trust));
    if let Ok((_, loaded)) = &settings {
        findings.extend(api_findings(&loaded.settings, &caller.interrupt));
    }
    if let Ok(settings) = &settings {
        findings.extend(runner::findings(settings, &caller.trust));
    }
    let wanted = machine::WantedSandbox::by(settings.ok());
    findings.extend(machine::findings(&wanted, terminal));
    findings
}

/// Removes what runners left behind, and tells what that was.
pub fn clean(caller: &Caller) -> Result<Vec<Finding>> {
    let settings = open::settings(caller, open::FirstRun::Look)?;
    runner::clean(&settings, &caller.trust, caller.interrupt.flag())
}

/// Tries the API that the settings name, if they name one.
fn api_findings(settings: &Settings, interrupt: &Interrupt) -> Vec<Finding> {
    let choice = match api::chosen(settings, interrupt) {
        Ok(Some(choice)) => choice,
        Ok(None) => return Vec::new(),
        Err(error) => {
            let hints = error.hints().join("; ");
            return vec![Finding::problem(error.to_string(), hints)];
        }
    };
    let findings = api::test(&choice, interrupt).into_iter().map(|found| {
        let what = format!("API: {}", found.what);
        if found.works {
            Finding::ok(what)
        } else {
            Finding::problem(what, found.remedy)
        }
    });
    findings.collect()
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
