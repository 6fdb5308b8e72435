//! The last steps of a process before it becomes the command.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Resource, Rlimit};

use super::filter::{self, Isolation};
use super::launch::STARTED;
use super::{Confinement, Plan, ResourceLimits};
use crate::platform::linux::{self, identity};

/// Tells `agent` why the command did not start.
pub(super) fn tell(mut agent: &UnixStream, reason: &str) {
    // If `agent` is gone nobody is left to be told.
    let _ = agent.write_all(reason.as_bytes());
}

/// Gives up every capability and the system calls that a command must not make, in namespaces.
pub(super) fn give_up_power() -> Result<(), String> {
    identity::drop_capabilities()
        .map_err(|error| format!("could not drop capabilities: {error}"))?;
    match filter::filter(Isolation::Namespaces) {
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
    agent: &UnixStream,
) -> String {
    match prepare(plan, words) {
        Ok(mut command) => {
            say_that_it_starts(agent);
            let error = command.envs(environment.iter().copied()).exec();
            not_started(words, &error)
        }
        Err(reason) => reason,
    }
}

/// Starts the command as a child, within limits that hold for this process from now on too.
pub(super) fn start_command(
    plan: &Plan,
    words: &[OsString],
    agent: &UnixStream,
) -> Result<Child, String> {
    // Starting a child this way copies no memory.
    let child = prepare(plan, words)?
        .spawn()
        .map_err(|error| not_started(words, &error))?;
    say_that_it_starts(agent);
    Ok(child)
}

fn prepare(plan: &Plan, words: &[OsString]) -> Result<Command, String> {
    let (program, arguments) = words.split_first().ok_or("no program was named")?;
    let directory = &plan.directory;
    std::env::set_current_dir(directory)
        .map_err(|error| format!("could not enter `{}` inside: {error}", directory.display()))?;
    leave_author(&plan.confinement);
    set_limits(&plan.confinement.limits)
        .map_err(|error| format!("could not set the limits: {error}"))?;
    linux::heed_termination();
    #[expect(
        clippy::disallowed_methods,
        reason = "inside of the sandbox: whatever it finds there is confined"
    )]
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}

fn say_that_it_starts(mut agent: &UnixStream) {
    let _ = agent.write_all(&[STARTED]);
}

fn not_started(words: &[OsString], error: &io::Error) -> String {
    let program = words.first().map_or(Path::new(""), Path::new);
    format!("could not start `{}`: {error}", program.display())
}

/// Tells git who commits. The home is scratch: what stands there is gone with the command.
fn leave_author(confinement: &Confinement) {
    let path = confinement.home.join(".gitconfig");
    if let Some(author) = &confinement.author
        && !confinement.home.starts_with(&confinement.workspace)
        && let Ok(mut file) = File::create_new(path)
    {
        let _ = file.write_all(author.to_configuration().as_bytes());
    }
}

fn set_limits(limits: &ResourceLimits) -> io::Result<()> {
    let wanted = [
        (Resource::Nproc, limits.processes),
        (Resource::Data, limits.memory),
        (Resource::Fsize, limits.file_size),
        (Resource::Nofile, limits.open_files),
        (Resource::Cpu, limits.cpu_seconds),
        // With 0, a program of the system that takes care of crashes would be started all the
        // same, outside and with what the crashed process held. 1 is what the kernel has to stop
        // that, and too little for a file.
        (Resource::Core, Some(1)),
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
