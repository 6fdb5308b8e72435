//! Systems other than Linux have no sandbox yet, and say so.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::{Backend, Confinement, Property, Strength};
use crate::platform::{ChildExit, ChildTree};

const REASON: &str = "there is no sandbox for this system yet";

/// A confined command, which does not exist here.
#[derive(Debug)]
pub enum UnsupportedLaunch {}

impl UnsupportedLaunch {
    /// Fails: a command that should be confined does not run without a sandbox.
    pub fn prepare(
        _confinement: &Confinement,
        _directory: &Path,
        _program: &[OsString],
        _environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(Command, Stdio, Self), String> {
        Err(REASON.to_owned())
    }

    /// There is no supervisor.
    pub fn send_plan(&mut self, _child: &mut ChildTree) {
        match *self {}
    }

    /// There is no supervisor to report anything.
    pub fn reported_exit(&mut self, _child: &mut ChildTree) -> Option<ChildExit> {
        match *self {}
    }

    /// There is no command to stop.
    pub fn stop(&self) {
        match *self {}
    }

    /// There is no supervisor to disable a file.
    pub fn set_aside(&self) -> Vec<PathBuf> {
        match *self {}
    }

    /// There is no supervisor to lose.
    pub fn is_lost(&mut self) -> bool {
        match *self {}
    }

    /// There is no command to refuse.
    pub fn refusal(&mut self) -> Option<String> {
        match *self {}
    }
}

/// Refuses to run a command.
pub fn child_main(_arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}

/// Reports that there is no sandbox.
pub fn probe(_launcher: &Path, _workspace: &Path, _wanted: Option<Backend>) -> Strength {
    Strength {
        backend: None,
        properties: Vec::new(),
        reasons: vec![REASON.to_owned()],
    }
}

/// Reports that there is no sandbox.
pub fn try_out(
    _backend: Backend,
    _launcher: &Path,
    _workspace: &Path,
) -> Result<Vec<Property>, String> {
    Err(REASON.to_owned())
}

/// Removes nothing: no command created anything.
pub fn sweep(_confinement: &Confinement) {}

/// An ID that changes with every boot, if the system provides one.
pub fn boot_id() -> Option<String> {
    None
}
