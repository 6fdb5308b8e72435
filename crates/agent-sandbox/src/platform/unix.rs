//! Children on Unix: a session of their own, one pipe, `poll`, and signals to the group.
//!
//! A child is reaped only after its group was killed: until then its process ID cannot be reused,
//! so no signal hits a stranger.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
#[cfg(target_os = "linux")]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent_protocol::ShellLanguage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(target_os = "linux")]
use rustix::process::WaitOptions;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use wait_timeout::ChildExt;

use super::{ChildEvent, ChildExit, ChildRestrictions, ChildSession};
use crate::{CommandShell, Strength};

/// Polling interval for the end of the child, on kernels without a descriptor for it.
const LOOK: Duration = Duration::from_millis(20);

/// The other side has closed the socket for writing.
#[cfg(target_os = "linux")]
const HUNG_UP: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const HUNG_UP: PollFlags = PollFlags::HUP;

/// The events that are ready without waiting.
#[derive(Debug, Default)]
struct PollResult {
    ended: bool,
    readable: bool,
}

/// A child in a session of its own, and everything that it starts and that stays in its process
/// group.
#[derive(Debug)]
pub struct UnixChildTree {
    child: Child,
    /// `None` once all writers have closed the pipe.
    output: Option<PipeReader>,
    /// Becomes readable when the child ends.
    ended: Option<OwnedFd>,
    /// Hung up by a child that has finished its work, before it ends.
    finished: Option<OwnedFd>,
    /// [`UnixChildTree::reap_ended`] reaps the child.
    is_left: bool,
}

/// Children that were killed and are not reaped yet: the kernel needs a while to end a process, and
/// nobody has to wait for that.
#[cfg(target_os = "linux")]
static LEFT: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

#[cfg(target_os = "linux")]
fn left() -> MutexGuard<'static, Vec<Pid>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UnixChildTree {
    /// Starts a command without a terminal, with stdout and stderr in one pipe.
    pub fn start(mut command: Command, input: Stdio, session: ChildSession) -> io::Result<Self> {
        let (output, writer) = io::pipe()?;
        command
            .stdin(input)
            .stdout(writer.try_clone()?)
            .stderr(writer);
        if session == ChildSession::MadeBefore {
            in_a_session_of_its_own(&mut command);
        }
        let child = command.spawn()?;
        // The command holds the write end; while it is open, the output would never end.
        drop(command);
        let ended = descriptor_of(&child);
        Ok(Self {
            child,
            output: Some(output),
            ended,
            finished: None,
            is_left: false,
        })
    }

    /// Treats the child as ended once its side of this socket is closed.
    #[cfg(target_os = "linux")]
    pub fn ends_with(&mut self, finished: OwnedFd) {
        self.finished = Some(finished);
    }

    /// Reaps those children of [`UnixChildTree::reap_later`] that have ended.
    #[cfg(target_os = "linux")]
    pub fn reap_ended() {
        let wait = |child: &Pid| rustix::process::waitpid(Some(*child), WaitOptions::NOHANG);
        left().retain(|child| matches!(wait(child), Ok(None)));
    }

    /// Lets the child end by itself. Call it after [`UnixChildTree::kill`].
    #[cfg(target_os = "linux")]
    pub fn reap_later(&mut self) {
        Self::reap_ended();
        left().push(Pid::from_child(&self.child));
        self.is_left = true;
    }

    /// Waits for output, for the end of the output or for the end of the child.
    ///
    /// The end of the child takes precedence, so that a surviving process that writes endlessly
    /// cannot hide it. Read the remaining output with [`UnixChildTree::drain`].
    pub fn next(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<ChildEvent> {
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let slice = if self.ended.is_some() {
                left
            } else {
                left.min(LOOK)
            };
            let PollResult { ended, readable } = self.poll(slice)?;
            if ended || (self.ended.is_none() && self.has_ended()) {
                return Ok(ChildEvent::Ended);
            }
            if readable {
                return self.read(buffer);
            }
            if left <= slice {
                return Ok(ChildEvent::Quiet);
            }
        }
    }

    /// Waits for output only.
    pub fn drain(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<ChildEvent> {
        let Some(output) = &self.output else {
            return Ok(ChildEvent::Closed);
        };
        let mut ready = [PollFd::new(output, PollFlags::IN)];
        match poll(&mut ready, Some(&timespec(wait))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(ChildEvent::Quiet),
            Ok(_) => self.read(buffer),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Starts a command; restrictions are left to the sandbox.
    pub fn start_restricted(
        command: Command,
        input: Stdio,
        session: ChildSession,
        _restrictions: &ChildRestrictions,
    ) -> io::Result<Self> {
        Self::start(command, input, session)
    }

    /// Asks the process group to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills the process group.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Waits up to this long for the exit status. Call it after [`UnixChildTree::kill`].
    pub fn reap(&mut self, wait: Duration) -> io::Result<Option<ChildExit>> {
        Ok(self.child.wait_timeout(wait)?.map(exit_of))
    }

    fn signal(&self, signal: Signal) {
        let child = Pid::from_child(&self.child);
        if kill_process_group(child, signal).is_err() {
            // The group is empty, or the child has not created it yet.
            let _ = kill_process(child, signal);
        }
    }

    fn poll(&self, wait: Duration) -> io::Result<PollResult> {
        let watched = [
            (self.ended.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (self.finished.as_ref().map(AsFd::as_fd), HUNG_UP),
            (self.output.as_ref().map(AsFd::as_fd), PollFlags::IN),
        ];
        let mut asked: Vec<PollFd<'_>> = watched
            .iter()
            .filter_map(|(descriptor, event)| {
                Some(PollFd::from_borrowed_fd((*descriptor)?, *event))
            })
            .collect();
        match poll(&mut asked, Some(&timespec(wait))) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(PollResult::default()),
            Err(errno) => return Err(errno.into()),
        }
        let mut answers = asked.iter().map(PollFd::revents);
        let [ended, finished, output] = watched.map(|(descriptor, _)| {
            descriptor
                .and_then(|_| answers.next())
                .unwrap_or(PollFlags::empty())
        });
        Ok(PollResult {
            ended: !(ended | finished).is_empty(),
            readable: !output.is_empty(),
        })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<ChildEvent> {
        let Some(output) = &mut self.output else {
            return Ok(ChildEvent::Closed);
        };
        match output.read(buffer) {
            Ok(0) => {
                self.output = None;
                Ok(ChildEvent::Closed)
            }
            Ok(length) => Ok(ChildEvent::Output(length)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(ChildEvent::Quiet),
            Err(error) => Err(error),
        }
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(Pid::from_child(&self.child)), options) {
            Ok(status) => status.is_some(),
            // The child no longer exists.
            Err(errno) => errno != rustix::io::Errno::INTR,
        }
    }
}

impl Drop for UnixChildTree {
    fn drop(&mut self) {
        // After a panic or an early error, nothing is left running or unreaped.
        if !self.is_left
            && let Ok(None) = self.child.try_wait()
        {
            self.kill();
            let _ = self.child.wait_timeout(Duration::from_secs(1));
        }
    }
}

#[cfg(target_os = "linux")]
fn descriptor_of(child: &Child) -> Option<OwnedFd> {
    rustix::process::pidfd_open(Pid::from_child(child), rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn descriptor_of(_child: &Child) -> Option<OwnedFd> {
    None
}

#[expect(unsafe_code, reason = "the standard library has no safe `setsid` yet")]
fn in_a_session_of_its_own(command: &mut Command) {
    // A session, not only a group: without a controlling terminal no program can prompt for a
    // password or write to the person's screen through `/dev/tty`.
    // SAFETY: between fork and exec only `setsid` is called, which is async-signal-safe and touches
    // no memory of the parent.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec {
        tv_sec: i64::from(i32::MAX),
        tv_nsec: 0,
    })
}

fn exit_of(status: ExitStatus) -> ChildExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => ChildExit::Code(code),
        (None, Some(signal)) => ChildExit::Signal(signal),
        (None, None) => ChildExit::Code(-1),
    }
}

/// Text in another encoding than UTF-8; consoles have none here.
pub fn console_text(_bytes: &[u8]) -> Option<String> {
    None
}

/// The properties of commands that have no sandbox: none.
pub fn held_without_sandbox(_shell: &CommandShell, _workspace: &Path) -> Strength {
    held_by_job()
}

/// There are no job objects here, so they hold nothing.
pub fn held_by_job() -> Strength {
    Strength {
        backend: None,
        properties: Vec::new(),
        reasons: Vec::new(),
    }
}

/// Where shells are, the preferred one first.
///
/// Fixed paths come first, so that a `bash` in the workspace is not found through `PATH`.
pub fn shells() -> Vec<CommandShell> {
    const BASH: [&str; 5] = [
        "/bin/bash",
        "/usr/bin/bash",
        "/usr/local/bin/bash",
        "/opt/homebrew/bin/bash",
        "/run/current-system/sw/bin/bash",
    ];
    let bash = BASH.map(|program| CommandShell::new(ShellLanguage::Bash, program));
    let sh = CommandShell::new(ShellLanguage::Sh, "/bin/sh");
    bash.into_iter().chain([sh]).collect()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_has_no_session_yet_is_killed_too() {
        let mut command = agent_files::platform::programs::command("sleep").unwrap();
        command.arg("60");
        let mut tree =
            UnixChildTree::start(command, Stdio::null(), ChildSession::MadeByChild).unwrap();
        tree.kill();
        let exit = tree.reap(Duration::from_secs(10)).unwrap();
        assert_eq!(exit, Some(ChildExit::Signal(9)));
    }
}
