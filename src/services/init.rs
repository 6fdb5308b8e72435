//! Sets a project up to be worked on in place.

use std::path::{Path, PathBuf};

use super::{Caller, open};
use crate::error::Result;
use crate::settings;

/// A project that `agent` works on in place from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitializedProject {
    /// Its base directory.
    pub base: PathBuf,
    /// True if the project is a git repository, which ignores the base directory.
    pub is_in_repository: bool,
}

/// Makes `.agent/` in a project and touches nothing else.
pub fn init(caller: &Caller, project: &Path) -> Result<InitializedProject> {
    let project: PathBuf = caller.here.join(project).components().collect();
    if let Some(warning) = open::warning(&project) {
        caller.say(warning);
    }
    let base = settings::init(&project, &caller.trust)?.directory;
    let is_in_repository = base.ancestors().any(|above| above.join(".git").exists());
    Ok(InitializedProject {
        base,
        is_in_repository,
    })
}
