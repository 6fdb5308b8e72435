//! Another machine, reached by the person's own `ssh` with their configuration.
//!
//! One connection serves all commands. Its client is the keeper: it holds a shell there that reads
//! from us, so the connection ends when we do.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{Lifeline, quoted};
use super::exchange::RemoteConnection;
use super::owner;
use crate::platform::{ChildEvent, ChildTree, programs};

/// The keeper says this when the connection stands.
const READY: &str = "agent-ready";

/// The name of a directory for a socket begins with this.
const DIRECTORY: &str = "agent-ssh-";

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

/// How long its end may take.
const LEAVE: Duration = Duration::from_secs(3);

/// The pause between two checks for an interrupt.
const TICK: Duration = Duration::from_millis(50);

/// A machine that `ssh` knows.
#[derive(Debug)]
pub struct SshConnection {
    host: String,
    shared: Mutex<Option<SharedConnection>>,
}

/// The connection that all commands share.
#[derive(Debug)]
struct SharedConnection {
    /// Dropped first: the shell there ends, and the client with it.
    lifeline: Option<Lifeline>,
    client: ChildTree,
    directory: tempfile::TempDir,
    /// How long its end may take: nothing before it stands.
    patience: Duration,
}

impl SshConnection {
    /// A connection to this machine; nothing is started yet.
    pub fn new(host: String) -> Self {
        Self {
            host,
            shared: Mutex::default(),
        }
    }

    fn ssh(socket: &std::path::Path) -> Result<Command, String> {
        let mut ssh = programs::command("ssh")
            .map_err(|_| "`ssh` is not installed; install it, or choose another `Runner`")?;
        ssh.arg("-S").arg(socket);
        // Nobody can be asked for a password here.
        ssh.args([
            "-T",
            "-x",
            "-a",
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=15",
        ]);
        ssh.args([
            "-o",
            "ServerAliveInterval=10",
            "-o",
            "ServerAliveCountMax=3",
        ]);
        ssh.args(["-o", "ClearAllForwardings=yes", "-o", "LogLevel=ERROR"]);
        Ok(ssh)
    }

    fn shared(&self) -> MutexGuard<'_, Option<SharedConnection>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, cancelled: &AtomicBool) -> Result<SharedConnection, String> {
        remove_stale_directories();
        let name = format!("{DIRECTORY}{}-", owner::own_process());
        let directory = crate::fs::temporary_directory(&name).map_err(|e| e.to_string())?;
        let mut client = Self::ssh(&directory.path().join("s"))?;
        client.args(["-M", "-o", "ControlPersist=no", "--", &self.host, "sh"]);
        let script = format!("{{ echo {READY}; cat >/dev/null; exit; }}\n");
        let (client, lifeline) = Lifeline::start(client, script)?;
        let mut shared = SharedConnection {
            lifeline: Some(lifeline),
            client,
            directory,
            patience: Duration::ZERO,
        };
        let words = shared.first_words(cancelled)?;
        if words.lines().any(|line| line.trim() == READY) {
            shared.patience = LEAVE;
            Ok(shared)
        } else {
            Err(self.explain(&words))
        }
    }
}

/// Removes the directories of sockets whose `agent` was killed.
fn remove_stale_directories() {
    let entries = std::fs::read_dir(std::env::temp_dir());
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(DIRECTORY));
        if owner.is_some_and(owner::is_gone) {
            // Another user's stays.
            let _ = crate::fs::remove(&entry.path());
        }
    }
}

impl RemoteConnection for SshConnection {
    fn client(&self, script: Option<&str>, cancelled: &AtomicBool) -> Result<Command, String> {
        let mut shared = self.shared();
        if shared.as_mut().is_none_or(SharedConnection::has_ended) {
            *shared = None;
            *shared = Some(self.connect(cancelled)?);
        }
        let Some(shared) = &*shared else {
            return Err("there is no connection".to_owned());
        };
        let mut ssh = Self::ssh(&shared.directory.path().join("s"))?;
        // If the shared connection is lost, this must fail and not make one of its own.
        ssh.args(["-o", "ControlMaster=no", "-o", "ProxyCommand=false"]);
        ssh.args(["--", &self.host]);
        ssh.arg(match script {
            None => "sh".to_owned(),
            Some(script) => format!("sh -c {}", quoted(script)),
        });
        Ok(ssh)
    }

    fn give_up(&self) {
        if let Some(shared) = &mut *self.shared() {
            shared.patience = Duration::ZERO;
        }
    }

    fn explain(&self, words: &str) -> String {
        let host = &self.host;
        let lower = words.to_lowercase();
        let has = |part: &str| lower.contains(part);
        let advice = if has("permission denied") {
            format!("`ssh {host}` cannot log in without a question: set up a key or an ssh agent")
        } else if has("host key verification failed") {
            format!("the key of `{host}` is not known: run `ssh {host}` once and accept it")
        } else if has("could not resolve") {
            format!("there is no machine `{host}`")
        } else if has("control socket") || has("mux_client") {
            format!("the connection to `{host}` was lost")
        } else if has("connection refused") || has("timed out") || has("no route") {
            format!("`{host}` does not answer")
        } else if has("no space left") {
            format!("the disk of `{host}` is full")
        } else if has(": not found") || has(": command not found") {
            format!("`{host}` lacks a program that the exchange of files needs")
        } else if has("broken pipe") || has("closed") {
            format!("the connection to `{host}` was lost")
        } else {
            format!("`ssh {host}` failed")
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        match words.join(" ") {
            words if words.is_empty() => advice,
            words => format!("{advice} ({words})"),
        }
    }
}

impl SharedConnection {
    /// The words of the client until it is ready or ends.
    fn first_words(&mut self, cancelled: &AtomicBool) -> Result<String, String> {
        let deadline = Instant::now() + CONNECT;
        let (mut printed, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.client.next(&mut buffer, left.min(TICK)) {
                Ok(ChildEvent::Output(length)) => printed.extend_from_slice(&buffer[..length]),
                Ok(ChildEvent::Ended) | Err(_) => {
                    let wait = Duration::from_millis(100);
                    while let Ok(ChildEvent::Output(length)) = self.client.drain(&mut buffer, wait)
                    {
                        printed.extend_from_slice(&buffer[..length]);
                    }
                    return Ok(String::from_utf8_lossy(&printed).into_owned());
                }
                Ok(_) if cancelled.load(Ordering::Relaxed) => {
                    return Err("you interrupted it".to_owned());
                }
                Ok(_) if left.is_zero() => return Err("the connection timed out".to_owned()),
                Ok(_) => {}
            }
            let words = String::from_utf8_lossy(&printed);
            if words.contains(READY) {
                return Ok(words.into_owned());
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        // What it said last comes before its end.
        (0..16).any(|_| {
            let event = self.client.next(&mut [0; 4096], Duration::ZERO);
            matches!(event, Ok(ChildEvent::Ended) | Err(_))
        })
    }
}

impl Drop for SharedConnection {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let deadline = Instant::now() + self.patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.client.next(&mut [0; 256], left) {
                Ok(ChildEvent::Ended) | Err(_) => return,
                Ok(_) if left.is_zero() => return,
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_by_its_cause() {
        let connection = SshConnection::new("box".to_owned());
        for (words, advice) in [
            (
                "ssh: connect to host box port 22: Connection refused",
                "`box` does not answer",
            ),
            (
                "Control socket connect(/tmp/s): Connection refused\nkex_exchange_identification: closed",
                "the connection to `box` was lost",
            ),
            ("sha256sum: not found", "`box` lacks a program"),
            ("Permission denied (publickey).", "`ssh box` cannot log in"),
            ("", "`ssh box` failed"),
        ] {
            let told = connection.explain(words);
            assert!(told.starts_with(advice), "{told}");
        }
    }
}
