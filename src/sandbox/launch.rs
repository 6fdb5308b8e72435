//! The side of `agent`: starts the supervisor of a confined command and hears from it.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use super::reserve::{Hold, Reserved};
use super::{Confinement, Plan, SUBCOMMAND};

/// What is said right before the command takes over; anything else said is why it did not.
pub(super) const STARTED: u8 = 6;

/// A confined command, from before its start until after its end.
#[derive(Debug)]
pub(crate) struct Launch {
    plan: Vec<u8>,
    supervisor: UnixStream,
    reserved: Reserved,
    hold: Hold,
}

impl Launch {
    /// What starts the command and its input; the rest is told by [`Launch::send_plan`].
    pub(crate) fn prepare(
        confinement: &Confinement,
        directory: &Path,
        program: &[OsString],
    ) -> Result<(Command, Stdio, Self), String> {
        let (supervisor, input) = UnixStream::pair().map_err(|error| error.to_string())?;
        let mut confinement = confinement.clone();
        if !confinement.is_searched {
            confinement.search();
        }
        let (reserved, hold) = Reserved::make(&confinement);
        let mut launch = Self {
            plan: Vec::new(),
            supervisor,
            reserved: reserved.clone(),
            hold,
        };
        let mut command = Command::new(&confinement.launcher);
        command.arg(SUBCOMMAND).args(program);
        let plan = Plan {
            confinement,
            directory: directory.to_owned(),
            reserved,
        };
        launch.plan = serde_json::to_vec(&plan)
            .map_err(|error| format!("could not plan the sandbox: {error}"))?;
        Ok((command, OwnedFd::from(input).into(), launch))
    }

    /// Tells the supervisor what to do, once it runs.
    pub(crate) fn send_plan(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.plan.len()).map_err(io::Error::other)?;
        self.supervisor.write_all(&length.to_le_bytes())?;
        self.supervisor.write_all(&self.plan)
    }

    /// Has the supervisor end the command and all that it started.
    pub(crate) fn stop(&self) {
        let _ = self.supervisor.shutdown(std::net::Shutdown::Write);
    }

    /// After the end: why the command did not start, if it did not.
    pub(crate) fn refusal(&mut self) -> Option<String> {
        const MAX_BYTES: u64 = 64 * 1024;
        let mut reason = Vec::new();
        // Whoever could still hold the other end is not waited for.
        self.supervisor.set_nonblocking(true).ok()?;
        let _ = (&self.supervisor).take(MAX_BYTES).read_to_end(&mut reason);
        if reason.is_empty() {
            return Some("the sandbox ended before the command began".to_owned());
        }
        reason.retain(|byte| *byte != STARTED);
        (!reason.is_empty()).then(|| String::from_utf8_lossy(&reason).into_owned())
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        self.reserved.remove(&self.hold);
    }
}
