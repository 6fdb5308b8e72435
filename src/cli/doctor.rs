//! `agent doctor`: whether everything works here.

use std::process::{Command, ExitCode, Stdio};

use super::{Common, open};
use crate::courier::{Clipboard, Surroundings};
use crate::error::Kind;
use crate::mailbox::Doorbell;
use crate::sandbox;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent doctor
  agent doctor --json";

/// Check what works here: sandbox, shell, git, watching, clipboard, base directory
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
    /// What to do about it.
    remedy: String,
}

impl Finding {
    fn new(health: Health, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            health,
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

pub(super) fn run(common: &Common, ui: &Ui) -> ExitCode {
    let mut findings = vec![Finding::new(
        Health::Ok,
        format!(
            "agent {} on {} {}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
        "",
    )];
    findings.push(base(common, ui));
    findings.extend(confinement());
    findings.push(program("bash", "commands run with `sh` instead"));
    findings.push(program(
        "git",
        "GIT_STATUS and GIT_DIFF do not work without it",
    ));
    findings.push(watching());
    findings.extend(watch_limits());
    findings.push(clipboard(ui));
    let is_broken = findings
        .iter()
        .any(|finding| finding.health == Health::Problem);
    for finding in &findings {
        if common.json {
            ui.data(finding);
        } else {
            let word = match finding.health {
                Health::Ok => "ok",
                Health::Warning => "warning",
                Health::Problem => "problem",
            };
            let remedy = if finding.remedy.is_empty() {
                String::new()
            } else {
                format!("; {}", finding.remedy)
            };
            ui.line(&format!("{word:8} {}{remedy}", finding.what));
        }
    }
    if is_broken {
        Kind::Mendable.exit_code().into()
    } else {
        ExitCode::SUCCESS
    }
}

fn base(common: &Common, ui: &Ui) -> Finding {
    match open::settings(common, ui, open::FirstRun::Look) {
        Ok((base, _)) if base.settings_file.is_none() => Finding::new(
            Health::Ok,
            format!("`{}` is not used by `agent` yet", base.directory.display()),
            "`agent new \"<task>\"` or `agent init` begins",
        ),
        Ok((base, _)) => Finding::new(
            Health::Ok,
            format!("base directory `{}`", base.directory.display()),
            "",
        ),
        Err(error) => Finding::new(Health::Problem, error.to_string(), error.hints().join("; ")),
    }
}

/// The live test of the sandbox, made anew.
fn confinement() -> Vec<Finding> {
    let strength = sandbox::probe(std::path::Path::new("/proc/self/exe"));
    let Some(backend) = strength.backend else {
        let mut findings = vec![Finding::new(
            Health::Warning,
            "this machine has no sandbox, so every command needs your yes",
            "on Linux, allow user namespaces or install bubblewrap",
        )];
        findings.extend(
            strength
                .reasons
                .iter()
                .map(|reason| Finding::new(Health::Warning, reason, "")),
        );
        return findings;
    };
    let mut findings = vec![Finding::new(
        Health::Ok,
        format!("commands run in a sandbox: {}", backend.name()),
        "",
    )];
    findings.extend(strength.properties.iter().map(|property| {
        let health = if property.holds {
            Health::Ok
        } else {
            Health::Warning
        };
        Finding::new(health, format!("  {}", property.words), "")
    }));
    findings
}

fn program(name: &str, without: &str) -> Finding {
    let found = Command::new(name)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match found {
        Ok(status) if status.success() => {
            Finding::new(Health::Ok, format!("`{name}` is there"), "")
        }
        _ => Finding::new(Health::Warning, format!("`{name}` is not there"), without),
    }
}

/// Whether the system tells of new files at once.
fn watching() -> Finding {
    let tried = tempfile::tempdir().map(|directory| Doorbell::rings(directory.path()));
    match tried {
        Ok(true) => Finding::new(Health::Ok, "new replies are noticed at once", ""),
        _ => Finding::new(
            Health::Warning,
            "new replies are noticed once a second",
            "raise the limits of inotify: `sysctl fs.inotify`",
        ),
    }
}

/// How many directories this person may watch at once, all programs together.
fn watch_limits() -> Option<Finding> {
    /// Each running loop takes a few, and editors take thousands.
    const FEW_WATCHES: u64 = 8_192;
    const FEW_INSTANCES: u64 = 64;
    let limit = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let watches = limit("max_user_watches")?;
    let instances = limit("max_user_instances")?;
    let what = format!("limits of inotify: {watches} watches, {instances} watchers");
    Some(if watches < FEW_WATCHES || instances < FEW_INSTANCES {
        Finding::new(
            Health::Warning,
            what,
            "if watching fails: `sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512`",
        )
    } else {
        Finding::new(Health::Ok, what, "")
    })
}

/// The ways to the clipboard, in the order in which they are tried.
fn clipboard(ui: &Ui) -> Finding {
    let ways = Clipboard::of(Surroundings::of_this_process()).ways_out(ui);
    if ways.is_empty() {
        return Finding::new(
            Health::Warning,
            "there is no way to a clipboard here",
            "install `wl-clipboard`, `xclip` or `xsel`, or use a terminal that knows OSC 52; files work without",
        );
    }
    let names: Vec<String> = ways.iter().map(ToString::to_string).collect();
    Finding::new(
        Health::Ok,
        format!("ways to the clipboard, in order: {}", names.join(", ")),
        "",
    )
}
