//! Children on Windows: one pipe that a thread reads, a job object for all of the processes, and low
//! integrity for those that may change only some directories.

mod code_page;
mod integrity;
mod job;
mod live_test;

use std::io::{self, PipeReader, Read};
use std::os::windows::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wait_timeout::ChildExt;
use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_SUSPENDED};

use agent_files::platform::temporary_directory;
use agent_protocol::ShellLanguage;

use super::{ChildEvent, ChildExit, ChildRestrictions, ChildSession};
use crate::CommandShell;
pub use code_page::console_text;
use job::JobObject;
pub use live_test::{held_by_job, held_without_sandbox};

/// Polling interval for the end of the child.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes per read, and the number of chunks that may wait in the channel.
const CHUNK: usize = 16 * 1024;
const WAITING: usize = 8;

/// A child and everything that it starts.
#[derive(Debug)]
pub struct WindowsChildTree {
    child: Child,
    job: JobObject,
    exit: Option<ChildExit>,
    output: Receiver<Vec<u8>>,
    /// Received output that did not fit into the caller's buffer.
    rest: Vec<u8>,
    is_closed: bool,
    /// The directory for temporary files of a child that cannot write to the person's.
    _scratch: Option<TempDir>,
}

impl WindowsChildTree {
    /// Starts a command with stdout and stderr in one pipe.
    pub fn start(command: Command, input: Stdio, session: ChildSession) -> io::Result<Self> {
        Self::start_restricted(command, input, session, &ChildRestrictions::default())
    }

    /// Starts a command whose processes cannot do more than this.
    pub fn start_restricted(
        mut command: Command,
        input: Stdio,
        _session: ChildSession,
        restrictions: &ChildRestrictions,
    ) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        command
            .stdin(input)
            .stdout(writer.try_clone()?)
            .stderr(writer)
            // Suspended, so that it starts nothing before it is in the job. It has no window, and Ctrl-C
            // in ours does not reach it.
            .creation_flags(CREATE_NO_WINDOW | CREATE_SUSPENDED);
        let job = JobObject::new()?;
        let writable = restrictions.writable.as_deref();
        let scratch = writable.map(|writable| open_directories(writable, &mut command));
        let scratch = scratch.transpose()?;
        job::keep_standard_handles();
        let mut child = command.spawn()?;
        drop(command);
        let limits = restrictions.limits.as_ref();
        let limited = limits.map_or(Ok(()), |limits| job.limit(limits, &child));
        let lowered = limited.and_then(|()| writable.map_or(Ok(()), |_| integrity::lower(&child)));
        if let Err(error) = lowered.and_then(|()| job.start(&child)) {
            let _ = child.kill();
            return Err(error);
        }
        let (sender, output) = sync_channel(WAITING);
        std::thread::spawn(move || forward(reader, &sender));
        Ok(Self {
            child,
            job,
            exit: None,
            output,
            rest: Vec::new(),
            is_closed: false,
            _scratch: scratch,
        })
    }

    /// Waits for output, for the end of the output or for the end of the child.
    pub fn next(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<ChildEvent> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(exit) = self.reap(Duration::ZERO)? {
                self.exit = Some(exit);
                return Ok(ChildEvent::Ended);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let slice = left.min(LOOK);
            if self.is_closed {
                std::thread::sleep(slice);
            } else {
                let event = self.drain(buffer, slice)?;
                if event != ChildEvent::Quiet {
                    return Ok(event);
                }
            }
            if left <= slice {
                return Ok(ChildEvent::Quiet);
            }
        }
    }

    /// Waits for output only.
    pub fn drain(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<ChildEvent> {
        if self.rest.is_empty() {
            match self.output.recv_timeout(wait) {
                Ok(chunk) => self.rest = chunk,
                Err(RecvTimeoutError::Timeout) => return Ok(ChildEvent::Quiet),
                Err(RecvTimeoutError::Disconnected) => {
                    self.is_closed = true;
                    return Ok(ChildEvent::Closed);
                }
            }
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.rest.drain(..length);
        Ok(ChildEvent::Output(length))
    }

    /// How many of its processes run.
    fn processes(&self) -> io::Result<u32> {
        self.job.processes()
    }

    /// Ends all of its processes: Windows has no request to end that every console program would
    /// receive.
    pub fn terminate(&self) {
        self.kill();
    }

    /// Ends all of its processes, also those that outlived the child.
    pub fn kill(&self) {
        self.job.kill();
    }

    /// Waits up to this long for the exit status.
    pub fn reap(&mut self, wait: Duration) -> io::Result<Option<ChildExit>> {
        if self.exit.is_some() {
            return Ok(self.exit);
        }
        let status = self.child.wait_timeout(wait)?;
        Ok(status.map(|status| ChildExit::Code(status.code().unwrap_or(-1))))
    }
}

/// Opens directories to a command of low integrity, and gives it one for temporary files and caches,
/// where programs expect to be able to write.
fn open_directories(writable: &[PathBuf], command: &mut Command) -> io::Result<TempDir> {
    let scratch = temporary_directory("agent-command-")?;
    for directory in writable
        .iter()
        .map(PathBuf::as_path)
        .chain([scratch.path()])
    {
        integrity::label(directory).map_err(|error| {
            let directory = directory.display();
            io::Error::other(format!(
                "could not label `{directory}` for commands of low integrity: {error}; `--sandbox off` runs them at your level"
            ))
        })?;
    }
    for variable in ["TEMP", "TMP", "LOCALAPPDATA"] {
        command.env(variable, scratch.path());
    }
    Ok(scratch)
}

fn forward(mut reader: PipeReader, sender: &SyncSender<Vec<u8>>) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(length @ 1..) = reader.read(&mut buffer) {
        if sender.send(buffer[..length].to_vec()).is_err() {
            return;
        }
    }
}

/// Where shells are, the preferred one first. Only the last one is sure to be there.
pub fn shells() -> Vec<CommandShell> {
    let folder = |variable: &str, usual: &str| {
        PathBuf::from(std::env::var_os(variable).unwrap_or_else(|| usual.into()))
    };
    let programs = folder("ProgramFiles", r"C:\Program Files");
    let system = folder("SystemRoot", r"C:\Windows").join("System32");
    let windows_powershell = system.join(r"WindowsPowerShell\v1.0");
    let mut shells = vec![CommandShell::new(
        ShellLanguage::Pwsh,
        programs.join(r"PowerShell\7\pwsh.exe"),
    )];
    let found = agent_files::platform::programs::find("pwsh");
    shells.extend(found.map(|program| CommandShell::new(ShellLanguage::Pwsh, program)));
    // Wine has a program of this name that does nothing; the real one has its types beside it.
    if windows_powershell.join("types.ps1xml").is_file() {
        let program = windows_powershell.join("powershell.exe");
        shells.push(CommandShell::new(ShellLanguage::PowerShell, program));
    }
    shells.push(CommandShell::new(
        ShellLanguage::Cmd,
        system.join("cmd.exe"),
    ));
    // After `cmd`: only for those who choose it. The `bash.exe` of System32 starts WSL.
    let git = [programs, folder("LOCALAPPDATA", r"C:\").join("Programs")];
    shells.extend(
        git.map(|folder| CommandShell::new(ShellLanguage::Bash, folder.join(r"Git\bin\bash.exe"))),
    );
    shells
}
