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
use crate::platform::{ChildExit, ChildTree};
use agent_files::platform::programs;

/// Sent right before the command takes over, and followed by its status when it has ended. Anything
/// else is the reason why it did not start.
pub(super) const STARTED: u8 = 6;

/// The variable that tells the loader where libraries are.
pub(super) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

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
    /// The directories of libraries that the person set for programs. The supervisor itself must not
    /// load any from there: an empty part of the list means its working directory.
    library_path: Option<PathBuf>,
    /// The reason why there is no plan.
    failure: Option<String>,
    /// The messages of the supervisor.
    report: Vec<u8>,
}

impl Launch {
    /// Prepares the supervisor's command and its input; [`Launch::send_plan`] sends the rest. The
    /// environment is the one of the confined command.
    pub fn prepare(
        confinement: &Confinement,
        directory: &Path,
        program: &[OsString],
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(Command, Stdio, Self), String> {
        if let Some(reason) = linked::refusal(confinement) {
            return Err(reason);
        }
        let (supervisor, input) = UnixStream::pair().map_err(|error| error.to_string())?;
        let mut environment: BTreeMap<OsString, OsString> = environment.into_iter().collect();
        let library_path = environment.remove(OsStr::new(LIBRARY_PATH));
        let mut command = programs::with_whole_environment(&confinement.launcher);
        command
            .arg(SUBCOMMAND)
            .arg(First::of(confinement).word())
            .args(program)
            .env_clear()
            .envs(environment)
            .current_dir("/");
        let launch = Self {
            confinement: confinement.clone(),
            directory: directory.to_owned(),
            supervisor,
            reserved: None,
            aside_before: BTreeMap::new(),
            library_path: library_path.map(PathBuf::from),
            failure: None,
            report: Vec::new(),
        };
        Ok((command, OwnedFd::from(input).into(), launch))
    }

    /// Plans the sandbox and sends the plan to the running supervisor.
    pub fn send_plan(&mut self, child: &mut ChildTree) {
        // Without a descriptor, the end of the supervisor is the end of the command.
        if let Ok(report) = self.supervisor.try_clone() {
            child.ends_with(report.into());
        }
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
            library_path: self.library_path.clone(),
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

    /// After the end: the exit status of the command, if the supervisor has reported it. The
    /// supervisor is reaped later.
    pub fn reported_exit(&mut self, child: &mut ChildTree) -> Option<ChildExit> {
        let exit = status_in(self.read_report())?;
        child.reap_later();
        Some(exit)
    }

    /// After the end: true if the supervisor ended without a report, as one does that somebody kills.
    pub fn is_lost(&mut self) -> bool {
        matches!(self.read_report(), [] | [STARTED])
    }

    /// After the end: the reason why the command did not start, if it did not.
    pub fn refusal(&mut self) -> Option<String> {
        if self.failure.is_some() {
            return self.failure.take();
        }
        match self.read_report() {
            [] => Some("the sandbox ended before the command began".to_owned()),
            [STARTED] => None,
            report if status_in(report).is_some() => None,
            [STARTED, reason @ ..] | reason => Some(String::from_utf8_lossy(reason).into_owned()),
        }
    }

    fn read_report(&mut self) -> &[u8] {
        const MAX_BYTES: u64 = 64 * 1024;
        // Another process may hold the other end open; do not wait for it.
        if self.supervisor.set_nonblocking(true).is_ok() {
            let mut rest = (&self.supervisor).take(MAX_BYTES);
            let _ = rest.read_to_end(&mut self.report);
        }
        &self.report
    }
}

/// The status in a report of a command that was started and has ended.
fn status_in(report: &[u8]) -> Option<ChildExit> {
    let [STARTED, status @ ..] = report else {
        return None;
    };
    let status = i32::from_le_bytes(status.try_into().ok()?);
    Some(if libc::WIFSIGNALED(status) {
        ChildExit::Signal(libc::WTERMSIG(status))
    } else {
        ChildExit::Code(libc::WEXITSTATUS(status))
    })
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
    fn only_a_whole_status_after_the_start_is_one() {
        let of = |status: i32| {
            let mut report = vec![STARTED];
            report.extend(status.to_le_bytes());
            report
        };
        assert_eq!(status_in(&of(7 << 8)), Some(ChildExit::Code(7)));
        assert_eq!(status_in(&of(9)), Some(ChildExit::Signal(9)));
        for report in [&[][..], &[STARTED], &of(0)[..4], &of(0)[1..], b"no bash"] {
            assert_eq!(status_in(report), None, "{report:?}");
        }
    }

    #[test]
    fn only_namespaces_of_our_own_are_entered_at_once() {
        let mut confinement = Confinement::of_workspace("/w");
        assert_eq!(First::of(&confinement), First::Part);
        confinement.backend = Backend::Landlock;
        assert_eq!(First::of(&confinement), First::Wait);
    }
}
