//! What the machine can do: the sandbox, programs, watching, the clipboard.

use std::process::Command;

use super::Finding;
use crate::courier::{Clipboard, Surroundings};
use crate::mailbox::Doorbell;
use crate::sandbox::{self, Strength};
use crate::ui::Ui;

/// Everything about the machine; `sandbox` is the setting of that name.
pub(super) fn findings(sandbox: &str, ui: &Ui) -> Vec<Finding> {
    // Tried anew, not remembered: that is what this verb is for.
    let strength = sandbox::probe(std::path::Path::new("/proc/self/exe"));
    let mut findings = confinement(sandbox, &strength);
    findings.push(program(
        "bash",
        "install it; commands run with `sh` until then",
    ));
    findings.push(program(
        "git",
        "install it; GIT_STATUS and GIT_DIFF do not work without it",
    ));
    findings.push(watching());
    findings.extend(watch_limits());
    findings.push(clipboard(ui));
    findings
}

fn confinement(setting: &str, strength: &Strength) -> Vec<Finding> {
    const INSTALL: &str = "on Linux, allow user namespaces or install bubblewrap";
    let reasons = || {
        let told = (strength.reasons.iter()).map(|reason| format!("; {reason}"));
        told.collect::<String>()
    };
    let Some(backend) = strength.backend else {
        return vec![if setting == "required" {
            Finding::problem(
                format!(
                    "a sandbox is required and this machine has none, so no command runs{}",
                    reasons()
                ),
                format!("{INSTALL}, or set `Sandbox` to `auto`"),
            )
        } else {
            Finding::warning(
                format!(
                    "this machine has no sandbox, so every command needs your yes{}",
                    reasons()
                ),
                INSTALL,
            )
        }];
    };
    if setting == "off" {
        return vec![Finding::warning(
            format!(
                "the sandbox ({}) is switched off, so every command needs your yes",
                backend.name()
            ),
            "set `Sandbox` to `auto`",
        )];
    }
    let mut findings = vec![Finding::ok(format!(
        "commands run in a sandbox: {}{}",
        backend.name(),
        reasons()
    ))];
    findings.extend(strength.properties.iter().map(|property| {
        let what = format!("  {}", property.words);
        if property.holds {
            Finding::ok(what)
        } else {
            Finding::warning(
                what,
                "`--approval edits` asks you before every command; docs/security.md says what each sandbox holds",
            )
        }
    }));
    findings
}

fn program(name: &str, remedy: &str) -> Finding {
    let told = Command::new(name).arg("--version").output();
    match told {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            let version: String = text
                .lines()
                .next()
                .unwrap_or(name)
                .chars()
                .take(80)
                .collect();
            Finding::ok(version)
        }
        _ => Finding::warning(format!("`{name}` is not there"), remedy),
    }
}

/// Whether the system tells of new files at once.
fn watching() -> Finding {
    let tried = crate::fs::temporary_directory("agent-watch-")
        .map(|directory| Doorbell::rings(directory.path()));
    match tried {
        Ok(true) => Finding::ok("new replies are noticed at once"),
        _ => Finding::warning(
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
        Finding::warning(
            what,
            "if watching fails: `sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512`",
        )
    } else {
        Finding::ok(what)
    })
}

/// The ways to the clipboard, in the order in which they are tried.
fn clipboard(ui: &Ui) -> Finding {
    let ways = Clipboard::of(Surroundings::of_this_process()).ways_out(ui);
    if ways.is_empty() {
        return Finding::warning(
            "there is no way to a clipboard here",
            "install `wl-clipboard`, `xclip` or `xsel`, or use a terminal that knows OSC 52; files work without",
        );
    }
    let names: Vec<String> = ways.iter().map(ToString::to_string).collect();
    Finding::ok(format!(
        "ways to the clipboard, in order: {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;
    use crate::sandbox::Property;

    fn strength(backend: Option<sandbox::Backend>, holds: bool) -> Strength {
        Strength {
            backend,
            properties: vec![Property {
                name: "network".to_owned(),
                holds,
                words: "the network".to_owned(),
            }],
            reasons: vec!["no user namespaces".to_owned()],
        }
    }

    #[test]
    fn a_sandbox_that_is_required_and_missing_is_a_problem() {
        let case = |setting: &str, expected: Health| {
            let findings = confinement(setting, &strength(None, true));
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].health, expected);
            assert!(findings[0].what.contains("no user namespaces"));
            assert!(!findings[0].remedy.is_empty());
        };
        case("required", Health::Problem);
        case("auto", Health::Warning);
        case("off", Health::Warning);
    }

    #[test]
    fn what_a_sandbox_does_not_hold_is_a_warning_with_a_remedy() {
        let backend = Some(sandbox::Backend::Landlock);
        let findings = confinement("auto", &strength(backend, false));
        assert_eq!(findings[1].health, Health::Warning);
        assert!(!findings[1].remedy.is_empty());
        assert_eq!(
            confinement("auto", &strength(backend, true))[1].health,
            Health::Ok
        );
        assert_eq!(
            confinement("off", &strength(backend, true))[0].health,
            Health::Warning
        );
    }
}
