//! Systems other than Linux: there is no sandbox yet, and that is said.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use super::{Backend, Confinement, Property, Strength};

const REASON: &str = "there is no sandbox for this system yet";

/// A confined command; here there is never one.
#[derive(Debug)]
pub enum Launch {}

impl Launch {
    /// Refuses: a command that should be confined is not run without.
    pub fn prepare(
        _confinement: &Confinement,
        _directory: &Path,
        _program: &[OsString],
    ) -> Result<(Command, Stdio, Self), String> {
        Err(REASON.to_owned())
    }

    /// There is nobody to tell.
    pub fn send_plan(&mut self) {
        match *self {}
    }

    /// There is nothing to stop.
    pub fn stop(&self) {
        match *self {}
    }

    /// There is nothing to refuse.
    pub fn refusal(&mut self) -> Option<String> {
        match *self {}
    }
}

/// Refuses to run a command.
pub fn child_main(_arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}

/// Says that there is no sandbox.
pub fn probe(_launcher: &Path, _workspace: &Path, _wanted: Option<Backend>) -> Strength {
    Strength {
        backend: None,
        properties: Vec::new(),
        reasons: vec![REASON.to_owned()],
    }
}

/// Says that there is no sandbox.
pub fn try_out(
    _backend: Backend,
    _launcher: &Path,
    _workspace: &Path,
) -> Result<Vec<Property>, String> {
    Err(REASON.to_owned())
}

/// Removes nothing: no command made anything.
pub fn sweep(_confinement: &Confinement) {}

/// What changes when the machine is started again, if the system tells.
pub fn boot_id() -> Option<String> {
    None
}
