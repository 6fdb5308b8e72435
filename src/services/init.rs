//! Sets a project up to be worked on in place.

use std::path::{Path, PathBuf};

use super::{Caller, open, repository};
use crate::error::{Error, Result};
use crate::settings::{self, Key};

/// A project that `agent` works on in place from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitializedProject {
    /// Its base directory.
    pub base: PathBuf,
    /// True if the project is a git repository, which ignores the base directory.
    pub is_in_repository: bool,
    /// The root of its repository, if the project is only a part of that.
    pub larger_repository: Option<PathBuf>,
}

/// Makes `.agent/` in a project and touches nothing else. In a part of a repository the person is asked
/// which of the two is the project, unless they named it.
pub fn init(caller: &Caller, project: &Path) -> Result<InitializedProject> {
    let mut project: PathBuf = caller.here.join(project).components().collect();
    let is_new = !project.join(settings::DIRECTORY_NAME).exists();
    if let Some(root) = repository::root_of(&project).filter(|root| *root != project)
        && project == caller.here
        && is_new
        && caller.person.is_interactive()
        && open::takes_whole(caller, &project, &root)?
    {
        project = root;
    }
    open::warn_of_extent(caller, &project);
    let mut given = Vec::new();
    for (flag, text) in &caller.flags.given {
        if let Some(key) = Key::with_flag(flag) {
            let value = key.shape.read_text(text).map_err(|problem| {
                Error::usage(format!("the value of `{flag}` {problem}")).hint(key.explained())
            })?;
            given.push((key, value));
        }
    }
    let made = settings::init(&project, &caller.trust)?;
    for (key, value) in given {
        settings::set_here(&made, key, Some(&value), &caller.trust)?;
    }
    let larger_repository = repository::root_of(&project).filter(|root| *root != project);
    let base = made.directory;
    let is_in_repository = base.ancestors().any(|above| above.join(".git").exists());
    Ok(InitializedProject {
        base,
        is_in_repository,
        larger_repository,
    })
}
