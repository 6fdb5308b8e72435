//! Findings about the machine: the sandbox, programs, watching, the clipboard.

use std::path::{Path, PathBuf};

use super::Finding;
use crate::courier::{Clipboard, Surroundings, TerminalLine};
use crate::platform::{self, programs};
use crate::protocol::ShellLanguage;
use crate::sandbox::{self, Backend, CommandShell, PropertyName, SandboxMode, Strength};
use crate::settings::{Base, Loaded, ShellChoice};
use crate::watch::Doorbell;

/// The sandbox that the settings ask for.
pub(super) struct WantedSandbox {
    sandbox: SandboxMode,
    backend: Option<Backend>,
    shell: ShellChoice,
    workspace: PathBuf,
}

impl WantedSandbox {
    /// Takes the wishes from the settings, or the defaults if they could not be read.
    pub(super) fn by(settings: Option<(Base, Loaded)>) -> Self {
        let Some((base, loaded)) = settings else {
            return Self {
                sandbox: SandboxMode::Auto,
                backend: None,
                shell: ShellChoice::Auto,
                workspace: std::env::temp_dir(),
            };
        };
        let workspace = loaded.paths.workspace;
        Self {
            sandbox: loaded.settings.sandbox,
            backend: loaded.settings.sandbox_backend.only(),
            shell: loaded.settings.shell,
            // One that is made later is going to lie there.
            workspace: if workspace.is_dir() {
                workspace
            } else {
                base.directory
            },
        }
    }
}

/// Everything about the machine.
pub(super) fn findings(wanted: &WantedSandbox, terminal: &dyn TerminalLine) -> Vec<Finding> {
    // Tried anew, not remembered: that is what this verb is for.
    let launcher = Path::new("/proc/self/exe");
    let strength = sandbox::probe(launcher, &wanted.workspace, wanted.backend);
    let mut findings = confinement(wanted, &strength);
    if strength.backend.is_none() {
        findings.extend(without_sandbox(wanted));
    }
    findings.push(shell(wanted.shell));
    findings.push(program(
        "git",
        "install it; GIT_STATUS and GIT_DIFF do not work without it",
    ));
    findings.push(watching());
    findings.extend(watch_limits());
    findings.push(clipboard(terminal));
    findings
}

fn confinement(wanted: &WantedSandbox, strength: &Strength) -> Vec<Finding> {
    let (missing, remedy) = match wanted.backend {
        None => (
            "this machine has none".to_owned(),
            match std::env::consts::OS {
                "linux" => "allow user namespaces or install bubblewrap",
                "windows" => "use `agent` in WSL2, where it has a sandbox",
                _ => "use a container: docs/runners.md",
            },
        ),
        Some(backend) => (
            format!("`{}` does not work here", backend.name()),
            "set `SandboxBackend` to `auto`",
        ),
    };
    let reasons = || {
        let told = (strength.reasons.iter()).map(|reason| format!("; {reason}"));
        told.collect::<String>()
    };
    let Some(backend) = strength.backend else {
        return vec![if wanted.sandbox == SandboxMode::Required {
            Finding::problem(
                format!(
                    "a sandbox is required and {missing}, so no command runs{}",
                    reasons()
                ),
                format!("{remedy}, or set `Sandbox` to `auto`"),
            )
        } else {
            Finding::warning(
                format!(
                    "there is no sandbox ({missing}), so every command needs your yes{}",
                    reasons()
                ),
                remedy,
            )
        }];
    };
    if wanted.sandbox == SandboxMode::Off {
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
        let what = format!("  {}", property.name.sentence(property.holds));
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

/// Findings about the properties of commands that have no sandbox.
fn without_sandbox(wanted: &WantedSandbox) -> Vec<Finding> {
    let Some(shell) = CommandShell::find(wanted.shell.only()) else {
        return Vec::new();
    };
    let warning = |text: &str| {
        Finding::warning(
            format!("  {text}"),
            "use `agent` in WSL2, where it has a sandbox",
        )
    };
    let mut held = vec![platform::held_by_job()];
    // With the sandbox switched off, commands run with all rights of the person.
    if wanted.sandbox != SandboxMode::Off {
        held.insert(0, platform::held_without_sandbox(&shell, &wanted.workspace));
    }
    let properties = held.iter().flat_map(|held| &held.properties);
    let told = properties.map(|property| {
        if !property.holds {
            return warning(property.name.sentence(false));
        }
        Finding::ok(match property.name {
            PropertyName::Limits => {
                "  the processes of a command and their memory are limited".to_owned()
            }
            name => format!("  {}", name.sentence(true)),
        })
    });
    let reasons = held.iter().flat_map(|held| &held.reasons);
    let reasons = reasons.map(|reason| warning(reason));
    told.chain(reasons).collect()
}

/// The shell that runs commands.
fn shell(wanted: ShellChoice) -> Finding {
    let word = wanted.word();
    let Some(shell) = CommandShell::find(wanted.only()) else {
        return Finding::problem(
            format!("`Shell` is `{word}`, and there is no `{word}` here"),
            "install it, or set `Shell` to `auto`",
        );
    };
    match shell.language {
        // The `bash` in the `PATH` of Windows starts WSL; the one of Git is used here.
        ShellLanguage::Bash if cfg!(not(windows)) => {
            program("bash", "install it; commands run with `sh` until then")
        }
        ShellLanguage::Sh if wanted == ShellChoice::Auto => Finding::warning(
            "`bash` is not there",
            "install it; commands run with `sh` until then",
        ),
        _ => Finding::ok(format!("commands run with `{}`", shell.program.display())),
    }
}

fn program(name: &str, remedy: &str) -> Finding {
    let told = programs::command(name).and_then(|mut command| command.arg("--version").output());
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

/// Checks that the system reports new files at once.
fn watching() -> Finding {
    let tried = crate::fs::temporary_directory("agent-watch-")
        .map(|directory| Doorbell::rings(directory.path()));
    match tried {
        Ok(true) => Finding::ok("new replies are noticed at once"),
        _ => Finding::warning(
            "new replies are noticed once a second",
            if cfg!(target_os = "linux") {
                "raise the limits of inotify: `sysctl fs.inotify`"
            } else {
                "put the base directory on a local disk; until then nothing is lost"
            },
        ),
    }
}

/// How many directories this person may watch at once, all programs together.
fn watch_limits() -> Option<Finding> {
    /// Each running loop takes a few, and editors take thousands.
    const FEW_WATCHES: u64 = 8_192;
    const FEW_INSTANCES: u64 = 64;
    if cfg!(not(target_os = "linux")) {
        return None;
    }
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
fn clipboard(terminal: &dyn TerminalLine) -> Finding {
    let ways = Clipboard::of(Surroundings::of_this_process()).ways_out(terminal);
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
                name: PropertyName::Network,
                holds,
            }],
            reasons: vec!["no user namespaces".to_owned()],
        }
    }

    fn wanted(sandbox: SandboxMode) -> WantedSandbox {
        WantedSandbox {
            sandbox,
            backend: None,
            shell: ShellChoice::Auto,
            workspace: PathBuf::new(),
        }
    }

    #[test]
    fn a_backend_that_is_wanted_and_missing_is_named() {
        let mut wanted = wanted(SandboxMode::Required);
        wanted.backend = Some(Backend::Bubblewrap);
        let findings = confinement(&wanted, &strength(None, true));
        assert!(
            findings[0].what.contains("`bubblewrap`"),
            "{:?}",
            findings[0]
        );
        assert!(findings[0].remedy.contains("`SandboxBackend`"));
    }

    #[test]
    fn a_sandbox_that_is_required_and_missing_is_a_problem() {
        let case = |setting: SandboxMode, expected: Health| {
            let findings = confinement(&wanted(setting), &strength(None, true));
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].health, expected);
            assert!(findings[0].what.contains("no user namespaces"));
            assert!(!findings[0].remedy.is_empty());
        };
        case(SandboxMode::Required, Health::Problem);
        case(SandboxMode::Auto, Health::Warning);
        case(SandboxMode::Off, Health::Warning);
    }

    #[test]
    fn what_a_sandbox_does_not_hold_is_a_warning_with_a_remedy() {
        let backend = Some(sandbox::Backend::Landlock);
        let findings = confinement(&wanted(SandboxMode::Auto), &strength(backend, false));
        assert_eq!(findings[1].health, Health::Warning);
        assert!(!findings[1].remedy.is_empty());
        assert_eq!(
            confinement(&wanted(SandboxMode::Auto), &strength(backend, true))[1].health,
            Health::Ok
        );
        assert_eq!(
            confinement(&wanted(SandboxMode::Off), &strength(backend, true))[0].health,
            Health::Warning
        );
    }
}
