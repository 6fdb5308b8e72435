//! The side of `agent`: starts the supervisor of a confined command and reads its reports.
//!
//! The plan is made while the supervisor starts and enters its namespaces, which takes as long. So
//! the command line tells the supervisor what to do before it has a plan. Nothing is changed for a
//! command before its supervisor knows about it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::reserve::Reserved;
use super::{Backend, Confinement, SUBCOMMAND, SandboxPlan, layout, linked};
use agent_files::platform::programs;

/// Sent right before the command takes over; anything else is the reason why it did not.
pub(super) const STARTED: u8 = 6;

/// The error if not even the top directory could be searched.
const TOO_LARGE: &str = "the workspace could not be looked through for links that lead out: too much lies in its top directory, or it cannot be read; move files into directories, or use a workspace further down";

/// The action of a supervisor before it has its plan: its first argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// Wait for the plan.
    Wait,
    /// Enter new namespaces.
    Part,
}

impl First {
    const ALL: [Self; 2] = [Self::Wait, Self::Part];

    fn of(confinement: &Confinement) -> Self {
        match confinement.backend {
            Backend::Namespaces => Self::Part,
            Backend::Bubblewrap | Backend::Landlock => Self::Wait,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Wait => "--wait",
            Self::Part => "--part",
        }
    }

    /// Parses the argument.
    pub(super) fn from_word(word: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|first| first.word() == word)
    }
}

/// A confined command, from before its start until after its end.
#[derive(Debug)]
pub struct Launch {
    confinement: Confinement,
    directory: PathBuf,
    supervisor: UnixStream,
    /// The directories that the supervisor creates and removes, once there is a plan.
    reserved: Option<Reserved>,
    /// Files that were disabled under names of this repository before.
    aside_before: BTreeMap<PathBuf, (u64, i64, i64)>,
    /// The reason why there is no plan.
    failure: Option<String>,
}

impl Launch {
    /// Prepares the supervisor's command and its input; [`Launch::send_plan`] sends the rest.
    pub fn prepare(
        confinement: &Confinement,
        directory: &Path,
        program: &[OsString],
    ) -> Result<(Command, Stdio, Self), String> {
        if let Some(reason) = linked::refusal(confinement) {
            return Err(reason);
        }
        let (supervisor, input) = UnixStream::pair().map_err(|error| error.to_string())?;
        let mut command = programs::exactly(&confinement.launcher);
        command
            .arg(SUBCOMMAND)
            .arg(First::of(confinement).word())
            .args(program);
        let launch = Self {
            confinement: confinement.clone(),
            directory: directory.to_owned(),
            supervisor,
            reserved: None,
            aside_before: BTreeMap::new(),
            failure: None,
        };
        Ok((command, OwnedFd::from(input).into(), launch))
    }

    /// Plans the sandbox and sends the plan to the running supervisor.
    pub fn send_plan(&mut self) {
        match self.plan() {
            // A supervisor that ended early has reported why.
            Ok(plan) => drop(self.send(&plan)),
            Err(reason) => {
                self.failure = Some(reason);
                self.stop();
            }
        }
    }

    fn plan(&mut self) -> Result<Vec<u8>, String> {
        if !self.confinement.is_searched {
            self.confinement.search();
        }
        if self
            .confinement
            .unseen
            .contains(&self.confinement.workspace)
        {
            return Err(TOO_LARGE.to_owned());
        }
        let reserved = Reserved::planned(&self.confinement);
        let plan = SandboxPlan {
            confinement: self.confinement.clone(),
            directory: self.directory.clone(),
            reserved: reserved.clone(),
            layout: layout::of(&self.confinement),
        };
        self.aside_before = reserved.found_aside();
        self.reserved = Some(reserved);
        serde_json::to_vec(&plan).map_err(|error| format!("could not plan the sandbox: {error}"))
    }

    fn send(&mut self, plan: &[u8]) -> io::Result<()> {
        let length = u32::try_from(plan.len()).map_err(io::Error::other)?;
        self.supervisor.write_all(&length.to_le_bytes())?;
        self.supervisor.write_all(plan)
    }

    /// Makes the supervisor end the command and everything that it started.
    pub fn stop(&self) {
        let _ = self.supervisor.shutdown(std::net::Shutdown::Write);
    }

    /// After the end: the files that the supervisor disabled because git would obey them and they
    /// did not exist before.
    pub fn set_aside(&self) -> Vec<PathBuf> {
        let now = self.reserved.iter().flat_map(Reserved::found_aside);
        let new = now.filter(|(path, found)| self.aside_before.get(path) != Some(found));
        new.map(|(path, _)| path).collect()
    }

    /// After the end: the reason why the command did not start, if it did not.
    pub fn refusal(&mut self) -> Option<String> {
        const MAX_BYTES: u64 = 64 * 1024;
        if self.failure.is_some() {
            return self.failure.take();
        }
        let mut reason = Vec::new();
        // Another process may hold the other end open; do not wait for it.
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
        // A supervisor that ended by itself has left nothing.
        if let Some(reserved) = &self.reserved {
            reserved.remove_leftovers();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_is_said_in_one_word() {
        for first in First::ALL {
            assert_eq!(First::from_word(first.word().as_ref()), Some(first));
        }
        assert_eq!(First::from_word("--inside".as_ref()), None);
    }

    #[test]
    fn only_namespaces_of_our_own_are_entered_at_once() {
        let mut confinement = Confinement::of_workspace("/w");
        assert_eq!(First::of(&confinement), First::Part);
        confinement.backend = Backend::Landlock;
        assert_eq!(First::of(&confinement), First::Wait);
    }
}
