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
use super::launch::{LIBRARY_PATH, STARTED};
use super::{Backend, Confinement, ResourceLimits, SandboxPlan, packages};
use crate::platform::linux::{self, identity};

/// Tells `agent` why the command did not start.
pub(super) fn tell(mut agent: &UnixStream, reason: &str) {
    // If `agent` is gone, there is nobody to tell.
    let _ = agent.write_all(reason.as_bytes());
}

/// Drops every capability and installs the system call filter, inside namespaces.
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

/// Becomes the command, within the limits. Returns the reason if it cannot.
pub(super) fn become_command(
    plan: &SandboxPlan,
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

/// Starts the command as a child, within limits that apply to this process too from now on.
pub(super) fn start_command(
    plan: &SandboxPlan,
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

fn prepare(plan: &SandboxPlan, words: &[OsString]) -> Result<Command, String> {
    let (program, arguments) = words.split_first().ok_or("no program was named")?;
    let directory = &plan.directory;
    std::env::set_current_dir(directory)
        .map_err(|error| format!("could not enter `{}` inside: {error}", directory.display()))?;
    leave_author(&plan.confinement);
    packages::seed(&plan.confinement);
    set_limits(&plan.confinement.limits)
        .map_err(|error| format!("could not set the limits: {error}"))?;
    linux::heed_termination();
    #[expect(
        clippy::disallowed_methods,
        reason = "inside of the sandbox: whatever it finds there is confined"
    )]
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    if let Some(path) = &plan.library_path {
        command.env(LIBRARY_PATH, path);
    }
    Ok(command)
}

fn say_that_it_starts(mut agent: &UnixStream) {
    let _ = agent.write_all(&[STARTED]);
}

fn not_started(words: &[OsString], error: &io::Error) -> String {
    let program = words.first().map_or(Path::new(""), Path::new);
    format!("could not start `{}`: {error}", program.display())
}

/// Tells git the author of commits. The home is scratch space and disappears with the command,
/// except with Landlock, which tells git in another way.
fn leave_author(confinement: &Confinement) {
    let path = confinement.home.join(".gitconfig");
    if let Some(author) = &confinement.author
        && confinement.backend != Backend::Landlock
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
        // With 0, a crash handler of the system would still be started, outside the sandbox and
        // with the memory of the crashed process. With 1 the kernel does not start it, and 1 is too
        // small for a core file.
        (Resource::Core, Some(1)),
    ];
    for (resource, limit) in wanted {
        let Some(limit) = limit else { continue };
        // A stricter limit of the person stays.
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
