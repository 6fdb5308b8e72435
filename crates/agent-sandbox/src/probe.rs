//! Tests what the sandbox of this machine enforces.
//!
//! Versions and settings promise what a kernel then refuses, so each property is tested: in a small
//! home with a secret in it, a script attempts what it must not be able to do. What succeeded is
//! reported in plain words. The test runs on the file system of the workspace, because not every
//! file system can map root's files to an unprivileged user. It takes a few hundredths of a second,
//! and the result is valid until the next boot ([`boot_id`]).

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Backend, CommandUser, Confinement, Launch, Property, PropertyName, Strength};
use crate::platform::{ChildEvent, ChildSession, ChildTree};

const FILES: (PropertyName, &str) = (
    PropertyName::Files,
    "echo x >> ../../outside || chmod 711 ../../outside || chmod 666 /dev/full",
);

const USER: (PropertyName, &str) = (
    PropertyName::User,
    "while read -r inside outside count; do [ \"$outside\" = 0 ] && exit 0; done < /proc/self/uid_map; exit 1",
);

/// Each property: its name, and the script that must fail inside.
const TRIALS: [(PropertyName, &str); 11] = [
    (PropertyName::Home, "cat ~/secret"),
    FILES,
    (PropertyName::Repository, "touch .git/x"),
    (
        PropertyName::Network,
        "bash -c ': <> /dev/tcp/127.0.0.1/PORT'",
    ),
    (PropertyName::Processes, "test -e /proc/AGENT/status"),
    (PropertyName::Signals, "kill -0 AGENT"),
    (
        PropertyName::Privileges,
        "! grep -Eq 'NoNewPrivs:.1' /proc/self/status || grep -Eq 'CapEff:.*[1-9a-f]' /proc/self/status",
    ),
    (
        PropertyName::Calls,
        "! grep -Eq 'Seccomp:.2' /proc/self/status",
    ),
    (
        PropertyName::Kernel,
        "exec 3>> /proc/sys/kernel/core_pattern",
    ),
    USER,
    (
        PropertyName::Limits,
        "i=0; while [ $i -lt 40 ]; do sleep 9 & i=$((i+1)); done",
    ),
];

/// Only for root: other users cannot read such files anyway.
const SYSTEM: (PropertyName, &str) = (
    PropertyName::System,
    "find /etc -xdev -type f -user 0 ! -perm -004 2>/dev/null | while read -r file; do head -c 1 \"$file\"; done | grep -q .",
);

/// Time limit of a test, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Finds the strongest sandbox that works here, or tests the wanted one. `launcher` is a program
/// that understands [`SUBCOMMAND`](super::SUBCOMMAND).
pub fn probe(launcher: &Path, workspace: &Path, wanted: Option<Backend>) -> Strength {
    let mut reasons = Vec::new();
    let backends = Backend::ALL.into_iter();
    for backend in backends.filter(|backend| wanted.is_none_or(|wanted| wanted == *backend)) {
        match try_out(backend, launcher, workspace) {
            Ok(properties) => {
                return Strength {
                    backend: Some(backend),
                    properties,
                    reasons,
                };
            }
            Err(reason) => reasons.push(format!("{}: {reason}", backend.name())),
        }
    }
    Strength {
        backend: None,
        properties: Vec::new(),
        reasons,
    }
}

/// Tests one backend. Returns the reason if it does not work at all.
pub fn try_out(
    backend: Backend,
    launcher: &Path,
    workspace: &Path,
) -> Result<Vec<Property>, String> {
    let place = ProbeHome::near(workspace)
        .map_err(|error| format!("could not prepare the test: {error}"))?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    let port = listener
        .local_addr()
        .map_err(|error| error.to_string())?
        .port();
    let mut confinement = Confinement::of_workspace(place.workspace());
    confinement.backend = backend;
    launcher.clone_into(&mut confinement.launcher);
    confinement.home = place.home();
    confinement.limits.processes = Some(32);
    let properties = try_with(&confinement, &place, port)?;
    let runs_as_root = !properties
        .iter()
        .any(|property| property.name == PropertyName::User && property.holds);
    if !runs_as_root {
        return Ok(properties);
    }
    // The measures for root are part of the test.
    confinement.user = CommandUser::Root;
    try_with(&confinement, &place, port)
}

fn try_with(
    confinement: &Confinement,
    place: &ProbeHome,
    port: u16,
) -> Result<Vec<Property>, String> {
    let is_root = rustix::process::geteuid().is_root();
    let trials: Vec<_> = (TRIALS.into_iter())
        .chain(is_root.then_some(SYSTEM))
        .collect();
    let tried = run(confinement, &script(&trials, port))?;
    let mut answers = tried.output.lines();
    let mut properties: Vec<Property> = trials
        .iter()
        .map(|(name, _)| Property {
            name: *name,
            holds: answers.next() == Some("held"),
        })
        .collect();
    if properties.iter().all(|property| !property.holds) {
        return Err(format!("nothing held: {}", tried.output.trim()));
    }
    for property in &mut properties {
        match property.name {
            // Inside, the file may be another one of the same name: only the file outside counts.
            PropertyName::Files => property.holds = place.is_unchanged(),
            // A user namespace nested in the person's own looks like root's from inside.
            PropertyName::User if !is_root => property.holds = true,
            _ => {}
        }
    }
    properties.push(Property {
        name: PropertyName::Survival,
        holds: tried.nobody_is_left,
    });
    Ok(properties)
}

/// Prints `held` or `failed` for each test, and leaves a process behind.
fn script(trials: &[(PropertyName, &str)], port: u16) -> String {
    let agent = std::process::id().to_string();
    let mut script = String::from("(setsid sleep 60 &)\n");
    for (_, attack) in trials {
        let attack = attack
            .replace("PORT", &port.to_string())
            .replace("AGENT", &agent);
        script.push_str("if (");
        script.push_str(&attack);
        script.push_str(") >/dev/null 2>&1; then echo failed; else echo held; fi\n");
    }
    script
}

/// The mount ID of a path, if the kernel provides it, and the device.
fn file_system(path: &Path) -> Option<(u64, u32, u32)> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    Some((found.stx_mnt_id, found.stx_dev_major, found.stx_dev_minor))
}

/// A home with a secret and a workspace, and a file beside it.
struct ProbeHome(tempfile::TempDir);

impl ProbeHome {
    /// Creates one on the file system of the workspace: in the usual place, beside it or in it.
    fn near(workspace: &Path) -> io::Result<Self> {
        let usual = std::env::temp_dir();
        let beside = workspace.parent().unwrap_or(workspace);
        let wanted = file_system(workspace);
        let mut places = [usual.as_path(), beside, workspace]
            .into_iter()
            .filter(|place| wanted.is_none() || file_system(place) == wanted);
        let mut make = tempfile::Builder::new();
        make.prefix(".agent-test-")
            .permissions(fs::Permissions::from_mode(0o700));
        let directory = places
            .find_map(|place| make.tempdir_in(place).ok())
            .ok_or(io::ErrorKind::PermissionDenied)?;
        Self::filled(directory)
    }

    fn filled(directory: tempfile::TempDir) -> io::Result<Self> {
        let place = Self(directory);
        fs::create_dir_all(place.workspace().join(".git"))?;
        File::create(place.home().join("secret"))?.write_all(b"x")?;
        File::create(place.outside())?;
        Ok(place)
    }

    fn outside(&self) -> PathBuf {
        self.0.path().join("outside")
    }

    fn is_unchanged(&self) -> bool {
        let is_as_made =
            |found: fs::Metadata| found.len() == 0 && found.permissions().mode() & 0o777 != 0o711;
        fs::metadata(self.outside()).is_ok_and(is_as_made)
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn workspace(&self) -> PathBuf {
        self.home().join("work")
    }
}

struct Tried {
    output: String,
    nobody_is_left: bool,
}

fn run(confinement: &Confinement, script: &str) -> Result<Tried, String> {
    let words = ["/bin/sh", "-c", script].map(Into::into);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = confinement.environment().into_iter();
    let environment = own
        .chain([("PATH", path)])
        .map(|(name, value)| (name.into(), value));
    let (command, input, mut launch) =
        Launch::prepare(confinement, &confinement.workspace, &words, environment)?;
    let mut tree = ChildTree::start(command, input, ChildSession::MadeByChild)
        .map_err(|error| error.to_string())?;
    launch.send_plan(&mut tree);
    let mut output = Vec::new();
    let mut buffer = vec![0; 4096];
    let deadline = Instant::now() + PATIENCE;
    let mut has_ended = false;
    while !has_ended && Instant::now() < deadline {
        match tree.next(&mut buffer, Duration::from_millis(100)) {
            Ok(ChildEvent::Output(length)) => output.extend_from_slice(&buffer[..length]),
            Ok(ChildEvent::Ended) => has_ended = true,
            Ok(ChildEvent::Closed | ChildEvent::Quiet) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    // The output ends when every process is gone; a survivor would hold it open.
    let nobody_is_left = has_ended && drain(&mut tree, &mut output, &mut buffer);
    tree.kill();
    match launch.refusal() {
        Some(reason) => Err(reason),
        None => Ok(Tried {
            output: String::from_utf8_lossy(&output).into_owned(),
            nobody_is_left,
        }),
    }
}

fn drain(tree: &mut ChildTree, output: &mut Vec<u8>, buffer: &mut [u8]) -> bool {
    let deadline = Instant::now() + Duration::from_secs(2);
    while Instant::now() < deadline {
        match tree.drain(buffer, Duration::from_millis(100)) {
            Ok(ChildEvent::Output(length)) => output.extend_from_slice(&buffer[..length]),
            Ok(ChildEvent::Closed) => return true,
            Ok(ChildEvent::Quiet | ChildEvent::Ended) => {}
            Err(_) => return false,
        }
    }
    false
}

/// An ID that changes with every boot.
pub fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}
