//! Children on Windows: one pipe that a thread reads, and `taskkill` for the process tree.
//!
//! A process that left the tree can hold the pipe open; then the reading thread stays blocked until
//! the program ends.

use std::io::{self, PipeReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use wait_timeout::ChildExt;

use super::{ChildEvent, ChildExit, ChildSession};

/// Polling interval for the end of the child.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes per read, and the number of chunks that may wait in the channel.
const CHUNK: usize = 16 * 1024;
const WAITING: usize = 8;

/// A child and everything that it starts.
#[derive(Debug)]
pub struct WindowsChildTree {
    child: Child,
    exit: Option<ChildExit>,
    output: Receiver<Vec<u8>>,
    /// Received output that did not fit into the caller's buffer.
    rest: Vec<u8>,
    is_closed: bool,
}

impl WindowsChildTree {
    /// Starts a command with stdout and stderr in one pipe.
    pub fn start(mut command: Command, input: Stdio, _session: ChildSession) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        command
            .stdin(input)
            .stdout(writer.try_clone()?)
            .stderr(writer);
        let child = command.spawn()?;
        drop(command);
        let (sender, output) = sync_channel(WAITING);
        std::thread::spawn(move || forward(reader, &sender));
        Ok(Self {
            child,
            exit: None,
            output,
            rest: Vec::new(),
            is_closed: false,
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

    /// Kills the process tree: Windows has no request to end that every console program would
    /// receive.
    pub fn terminate(&self) {
        self.kill();
    }

    /// Kills the process tree.
    pub fn kill(&self) {
        if self.exit.is_some() {
            return;
        }
        let root = std::env::var_os("SystemRoot").unwrap_or_else(|| r"C:\Windows".into());
        let program = PathBuf::from(root).join(r"System32\taskkill.exe");
        let _ = agent_files::platform::programs::exactly(&program)
            .args(["/T", "/F", "/PID", &self.child.id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
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

impl Drop for WindowsChildTree {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.kill();
        }
    }
}

fn forward(mut reader: PipeReader, sender: &SyncSender<Vec<u8>>) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(length @ 1..) = reader.read(&mut buffer) {
        if sender.send(buffer[..length].to_vec()).is_err() {
            return;
        }
    }
}

/// The program that runs scripts, with the arguments that precede the script.
pub fn shell() -> (PathBuf, &'static [&'static str]) {
    let root = std::env::var_os("SystemRoot").unwrap_or_else(|| r"C:\Windows".into());
    let program = PathBuf::from(root).join(r"System32\WindowsPowerShell\v1.0\powershell.exe");
    (program, &["-NoProfile", "-NonInteractive", "-Command"])
}
