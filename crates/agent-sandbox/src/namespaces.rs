//! The strongest backend: our own namespaces, without another program.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::child::{NOT_STARTED, SupervisorEvent, end_now, release_output, watch};
use super::command::{give_up_power, start_command, tell};
use super::launch::First;
use super::root::{self, BuiltRoot, Power};
use super::{CommandUser, SandboxPlan, landlock};
use crate::platform::linux::{self, ForkResult, identity, network};

/// The user ID of root's commands inside: `nobody` on every system.
const NOBODY: u32 = 65_534;

/// Tells process 1 that the reserved names exist.
const RESERVED: u8 = 1;

/// Runs the command and returns its status; `None` if it did not start or `agent` has ended.
pub(super) fn supervise(
    agent: &UnixStream,
    plan: &SandboxPlan,
    words: &[OsString],
    power: Power,
) -> Result<Option<i32>, String> {
    let (ended, status) = io::pipe().map_err(|error| error.to_string())?;
    let (outside, inside) = UnixStream::pair().map_err(|error| error.to_string())?;
    match linux::fork().map_err(|error| format!("could not fork: {error}"))? {
        ForkResult::Child => {
            drop((ended, outside));
            let task = NamespaceInit {
                plan,
                power,
                words,
                agent,
                supervisor: inside,
            };
            if let Err(reason) = task.run_as_process_1(status) {
                tell(agent, &reason);
            }
            linux::exit_at_once(i32::from(NOT_STARTED))
        }
        ForkResult::Parent(process_1) => {
            drop((status, inside));
            // This takes time, and process 1 needs it late.
            if let Err(reason) = supply(plan, &outside) {
                // It must not report that it waited in vain.
                end_now(process_1);
                return Err(reason);
            }
            attend(agent, process_1, ended, plan)
        }
    }
}

/// Enters new namespaces, if that comes first, and returns the privileges in them.
pub(super) fn enter(first: First) -> Result<Option<Power>, String> {
    if first == First::Wait {
        return Ok(None);
    }
    // The mount namespace is left to process 1: the supervisor must be able to clean up outside.
    // The network namespace comes later, while process 1 builds its root.
    let namespaces = UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    let cannot = |error: io::Error| format!("could not enter new namespaces: {error}");
    if rustix::process::geteuid().is_root() && linux::unshare(namespaces).is_ok() {
        return Ok(Some(Power::Root));
    }
    let user = identity::IdRange::own(rustix::process::geteuid().as_raw());
    let group = identity::IdRange::own(rustix::process::getegid().as_raw());
    linux::unshare(namespaces | UnshareFlags::NEWUSER).map_err(cannot)?;
    let proc = std::fs::File::open("/proc").map_err(cannot)?;
    identity::map_own_ids(proc.as_fd(), user, group).map_err(cannot)?;
    Ok(Some(Power::User))
}

/// Creates what process 1 waits for: the reserved names, and a network namespace unless the command
/// uses the person's.
fn supply(plan: &SandboxPlan, mut process_1: &UnixStream) -> Result<(), String> {
    plan.reserved.make()?;
    // If it has ended, it has reported why.
    let _ = process_1.write_all(&[RESERVED]);
    if plan.confinement.network {
        return Ok(());
    }
    network::part_for(process_1).map_err(|error| format!("could not make a network: {error}"))
}

/// Waits for the command, and ensures that it does not outlive `agent`.
fn attend(
    agent: &UnixStream,
    process_1: Pid,
    mut ended: PipeReader,
    plan: &SandboxPlan,
) -> Result<Option<i32>, String> {
    // Wait for its end, not only for its status: removing a directory that is still mounted
    // somewhere takes the kernel far longer.
    match watch(agent, process_1, &plan.confinement.limits)? {
        SupervisorEvent::Deserted => {
            end_now(process_1);
            return Ok(None);
        }
        SupervisorEvent::Exhausting => {
            end_now(process_1);
            return Ok(Some(libc::SIGKILL));
        }
        SupervisorEvent::Ended => {}
    }
    let mut status = [0; 4];
    // Without a status, process 1 has reported why, or was killed together with the command.
    let is_told = ended.read_exact(&mut status).is_ok();
    Ok(is_told.then(|| i32::from_le_bytes(status)))
}

/// The work of process 1.
struct NamespaceInit<'a> {
    plan: &'a SandboxPlan,
    power: Power,
    words: &'a [OsString],
    agent: &'a UnixStream,
    /// Reports that the names are reserved, and then passes the network namespace.
    supervisor: UnixStream,
}

impl NamespaceInit<'_> {
    fn run_as_process_1(&self, status: PipeWriter) -> Result<(), String> {
        let confinement = &self.plan.confinement;
        die_with_supervisor(status.as_fd())?;
        linux::end_first_where_memory_is_short();
        let built = root::build(&self.plan.layout, confinement, self.power, || {
            (&self.supervisor).read_exact(&mut [RESERVED])
        })?;
        // A host name that every machine can resolve without a network.
        let _ = rustix::system::sethostname(b"localhost");
        if confinement.network {
            landlock::part_sockets();
        } else {
            network::join(&self.supervisor)
                .map_err(|error| format!("could not enter a network of its own: {error}"))?;
        }
        if confinement.user == CommandUser::Root
            && let Some(limit) = confinement.limits.processes
            && identity::has_process_numbers_of_its_own()
        {
            identity::limit_process_numbers(built.proc.as_fd(), limit)
                .map_err(|error| format!("could not limit the processes: {error}"))?;
        }
        self.become_nobody(&built)?;
        drop(built);
        give_up_power()?;
        // Prevents access to process 1 through `/proc/1`.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| format!("could not hide process 1: {error}"))?;
        // The kernel clears this setting on a change of user.
        die_with_supervisor(status.as_fd())?;
        let command = start_command(self.plan, self.words, self.agent)?;
        release_output();
        reap_until(Pid::from_child(&command), self.agent, status);
        Ok(())
    }

    fn become_nobody(&self, built: &BuiltRoot) -> Result<(), String> {
        let context =
            |what: &'static str| move |error: io::Error| format!("could not {what}: {error}");
        if let Some(user) = built.user {
            identity::become_user(user).map_err(context("give up being root"))?;
        }
        if self.power == Power::Root {
            let outside = rustix::process::geteuid().as_raw();
            let range = identity::IdRange {
                inside: if outside == 0 { 0 } else { NOBODY },
                outside,
                count: 1,
            };
            identity::enter_user_namespace().map_err(context("enter a user namespace"))?;
            identity::map_own_ids(built.proc.as_fd(), range, range)
                .map_err(context("map the user"))?;
        }
        // If `/proc/sys` is not writable, the system call filter forbids them.
        let _ = identity::forbid_user_namespaces(built.proc.as_fd());
        Ok(())
    }
}

/// Makes the kernel kill this process when its parent ends.
fn die_with_supervisor(status: BorrowedFd<'_>) -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("could not tie the command to its supervisor: {error}"))?;
    // The parent may have ended just before.
    if linux::is_deserted(status) {
        return Err("the supervisor has ended".to_owned());
    }
    Ok(())
}

/// Reaps every child until the command ends, and passes on its status.
///
/// When `agent` ends, this process ends, and everything in its namespace with it. The supervisor does
/// that too, unless somebody has stopped it.
fn reap_until(command: Pid, agent: &UnixStream, mut status: PipeWriter) {
    // Without the signals, the supervisor is still there.
    let signals = linux::ChildSignals::new().ok();
    let options = match signals {
        Some(_) => WaitOptions::NOHANG,
        None => WaitOptions::empty(),
    };
    loop {
        match (rustix::process::wait(options), &signals) {
            (Ok(Some((process, ended))), _) if process == command => {
                let _ = status.write_all(&ended.as_raw().to_le_bytes());
                return;
            }
            (Ok(None), Some(signals)) => {
                let mut ready = [
                    PollFd::new(signals, PollFlags::IN),
                    PollFd::new(agent, PollFlags::IN),
                ];
                let polled = poll(&mut ready, None);
                // `agent` sends nothing after the plan, so this is its end.
                if polled.is_ok() && !ready[1].revents().is_empty() {
                    return;
                }
                signals.clear();
            }
            (Ok(_) | Err(rustix::io::Errno::INTR), _) => {}
            (Err(_), _) => return,
        }
    }
}
