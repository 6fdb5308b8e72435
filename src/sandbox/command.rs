//! The last steps of a process before it becomes the command.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit};

use super::filter::{self, Sockets};
use super::launch::STARTED;
use super::{Plan, ResourceLimits};
use crate::platform::linux::{self, identity};

/// Tells `agent` why the command did not start.
pub(super) fn tell(mut agent: &UnixStream, reason: &str) {
    // If `agent` is gone nobody is left to be told.
    let _ = agent.write_all(reason.as_bytes());
}

/// Gives up every capability and the system calls that a command must not make.
pub(super) fn give_up_power(sockets: Sockets) -> Result<(), String> {
    identity::drop_capabilities()
        .map_err(|error| format!("could not drop capabilities: {error}"))?;
    match filter::filter(sockets) {
        Some(filter) => filter
            .install()
            .map_err(|error| format!("could not filter system calls: {error}")),
        None => Ok(()),
    }
}

/// Becomes the command, within the limits; gives the reason if it cannot.
pub(super) fn become_command(
    plan: &Plan,
    words: &[OsString],
    environment: &[(&str, &Path)],
    mut agent: &UnixStream,
) -> String {
    let Some((program, arguments)) = words.split_first() else {
        return "no program was named".to_owned();
    };
    let directory = &plan.directory;
    if let Err(error) = std::env::set_current_dir(directory) {
        return format!("could not enter `{}` inside: {error}", directory.display());
    }
    if let Err(error) = set_limits(&plan.confinement.limits) {
        return format!("could not set the limits: {error}");
    }
    linux::heed_termination();
    let _ = agent.write_all(&[STARTED]);
    let error = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .exec();
    format!(
        "could not start `{}`: {error}",
        Path::new(program).display()
    )
}

fn set_limits(limits: &ResourceLimits) -> io::Result<()> {
    let wanted = [
        (Resource::Nproc, limits.processes),
        (Resource::Data, limits.memory),
        (Resource::Fsize, limits.file_size),
        (Resource::Nofile, limits.open_files),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Core, Some(0)),
    ];
    for (resource, limit) in wanted {
        let Some(limit) = limit else { continue };
        // A stricter one that the person lives under stays.
        let limit = rustix::process::getrlimit(resource)
            .maximum
            .map_or(limit, |maximum| maximum.min(limit));
        let both = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        rustix::process::setrlimit(resource, both)?;
    }
    Ok(())
}
