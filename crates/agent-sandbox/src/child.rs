//! The supervisor of a confined command.
//!
//! ```text
//! agent                     waits, reads the output, keeps the time
//!  `- supervisor            `agent __sandbox`: watches `agent` and the command
//!      `- process 1         builds the root, gives up all power, reaps
//!          `- the command
//! ```
//!
//! When the command ends, process 1 ends, and the kernel kills everything left with it. When the
//! supervisor or `agent` dies, process 1 is killed with the same effect. The supervisor creates
//! what the command needs in the workspace, removes it in every case, and then reports the status
//! of the command. `agent` goes on with the report: the kernel needs a while to end a process.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::command::tell;
use super::launch::First;
use super::memory::{self, SharedMemory};
use super::{
    Backend, CommandUser, Confinement, ResourceLimits, SandboxPlan, bubblewrap, landlock,
    namespaces,
};
use crate::platform::linux::cgroups::ProcessGroup;
use crate::platform::linux::{self, identity};

/// Exit code of a supervisor that could not start its command.
pub(super) const NOT_STARTED: u8 = 125;

/// A plan is a list of paths; a longer one is invalid.
const MAX_PLAN_BYTES: u32 = 16 * 1024 * 1024;

/// Runs a confined command. `arguments` are the [`First`] action, the program and its arguments.
///
/// `main` must call it before anything else, while there is only one thread.
pub fn child_main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let inside = arguments
        .split_first()
        .filter(|(first, _)| *first == bubblewrap::INSIDE);
    let inside = inside.map(|(_, rest)| (bubblewrap::read_checklist(rest), rest));
    // Descriptors that the person's shell or desktop left open are not for commands.
    if linux::close_from(3).is_err() {
        return ExitCode::from(NOT_STARTED);
    }
    let Ok(agent) = io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(NOT_STARTED);
    };
    let agent = UnixStream::from(agent);
    let ended = match inside {
        Some((checklist, rest)) => {
            checklist.and_then(|checklist| bubblewrap::go_on(&agent, &checklist, rest))
        }
        None => supervise(&agent, &arguments),
    };
    if let Err(reason) = ended {
        tell(&agent, &reason);
    }
    ExitCode::from(NOT_STARTED)
}

fn supervise(agent: &UnixStream, arguments: &[OsString]) -> Result<(), String> {
    let (first, words) = arguments.split_first().ok_or("no program was named")?;
    let first = First::from_word(first).ok_or("this is for `agent` to call")?;
    // Without a controlling terminal no program can prompt for a password or write to the screen.
    rustix::process::setsid().map_err(|error| format!("could not leave the terminal: {error}"))?;
    linux::ignore_termination();
    let power = namespaces::enter(first)?;
    let plan = read_plan(agent)?;
    let hold = plan.reserved.hold();
    let group = group_for(&plan.confinement);
    let ended = match (plan.confinement.backend, power) {
        (Backend::Namespaces, Some(power)) => namespaces::supervise(agent, &plan, words, power),
        (Backend::Namespaces, None) => Err("the namespaces were not entered".to_owned()),
        (Backend::Bubblewrap, _) => {
            (plan.reserved.make()).and_then(|()| bubblewrap::supervise(agent, &plan, words))
        }
        // Reserves nothing.
        (Backend::Landlock, _) => landlock::supervise(agent, &plan, words),
    };
    plan.reserved.remove(&hold);
    // The next command may begin as soon as this one is reported.
    drop((hold, group));
    if let Some(status) = ended? {
        report(agent, status);
        linux::exit_at_once(0);
    }
    Ok(())
}

/// Reports the status of the command as the last thing that is sent.
fn report(mut agent: &UnixStream, status: i32) {
    // Without `agent`, nobody needs it.
    let _ = agent.write_all(&status.to_le_bytes());
    let _ = agent.shutdown(std::net::Shutdown::Write);
}

/// A control group that counts the processes of a command to which the per-user limit does not
/// apply. `None` where no group can be created; the self-test reports that.
fn group_for(confinement: &Confinement) -> Option<ProcessGroup> {
    /// This process, and those between it and the command.
    const OUR_OWN: u64 = 3;
    let limit = confinement.limits.processes?;
    let is_bound = match confinement.backend {
        Backend::Namespaces => identity::has_process_numbers_of_its_own(),
        Backend::Bubblewrap | Backend::Landlock => false,
    };
    if is_bound || confinement.user != CommandUser::Root {
        return None;
    }
    ProcessGroup::enter(limit.saturating_add(OUR_OWN)).ok()
}

fn read_plan(mut agent: &UnixStream) -> Result<SandboxPlan, String> {
    let mut length = [0; 4];
    let mut read = || -> io::Result<Vec<u8>> {
        agent.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length).min(MAX_PLAN_BYTES);
        let mut plan = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        agent.read_exact(&mut plan)?;
        Ok(plan)
    };
    let plan = read().map_err(|error| format!("could not read the plan: {error}"))?;
    serde_json::from_slice(&plan).map_err(|error| format!("could not read the plan: {error}"))
}

/// An event seen by a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SupervisorEvent {
    /// The process has ended and is not reaped yet.
    Ended,
    /// `agent` has ended, or wants the command to end.
    Deserted,
    /// The command was killed for exceeding the limit on shared memory.
    Exhausting,
}

/// Waits for the end of the process or of `agent`, and watches resources that the kernel does not
/// limit.
pub(super) fn watch(
    agent: &UnixStream,
    process: Pid,
    limits: &ResourceLimits,
) -> Result<SupervisorEvent, String> {
    release_output();
    let memory = SharedMemory::watch(process, limits.memory);
    let interval = memory.is_some().then(|| Timespec {
        tv_sec: 0,
        tv_nsec: memory::INTERVAL.subsec_nanos().into(),
    });
    let cannot = |error: rustix::io::Errno| format!("could not watch the command: {error}");
    let watched = rustix::process::pidfd_open(process, PidfdFlags::empty()).map_err(cannot)?;
    loop {
        let mut ready = [
            PollFd::new(&watched, PollFlags::IN),
            PollFd::new(agent, PollFlags::IN),
        ];
        match poll(&mut ready, interval.as_ref()) {
            Ok(0) => {
                if memory.as_ref().is_some_and(SharedMemory::is_exceeded) {
                    let _ = rustix::process::kill_process(process, Signal::KILL);
                    return Ok(SupervisorEvent::Exhausting);
                }
            }
            Ok(_) if !ready[0].revents().is_empty() => return Ok(SupervisorEvent::Ended),
            // `agent` sends nothing after the plan, so this is its end.
            Ok(_) => return Ok(SupervisorEvent::Deserted),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(cannot(errno)),
        }
    }
}

/// Ends the process, because nobody waits for it any more.
pub(super) fn end_now(process: Pid) {
    let _ = rustix::process::kill_process(process, Signal::KILL);
    let _ = rustix::process::waitpid(Some(process), WaitOptions::empty());
}

/// Kills the command and everything that it left, and returns the status of the command.
pub(super) fn end_all(own: Pid, command: Pid) -> Option<i32> {
    let mut status = None;
    loop {
        for child in children_of(own) {
            // The command itself may have ended, and must not appear to have been killed.
            if child != command {
                let _ = rustix::process::kill_process(child, Signal::KILL);
            }
        }
        if status.is_none() {
            let _ = rustix::process::kill_process(command, Signal::KILL);
        }
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((process, ended))) if process == command => status = Some(ended.as_raw()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return status,
        }
    }
}

fn children_of(process: Pid) -> Vec<Pid> {
    let number = process.as_raw_nonzero();
    let path = PathBuf::from(format!("/proc/{number}/task/{number}/children"));
    fs::read_to_string(path)
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|number| Pid::from_raw(number.parse().ok()?))
        .collect()
}

/// Closes the command's output, so that its end can be seen.
pub(super) fn release_output() {
    if let Ok(nowhere) = std::fs::File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&nowhere);
        let _ = rustix::stdio::dup2_stderr(&nowhere);
    }
}
