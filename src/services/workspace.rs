//! Where `agent new` works, if `--workspace` says it.
//!
//! A directory that was named and is not there is a slip more often than a wish, so nothing is made
//! in silence.

use std::path::{Path, PathBuf};

use super::{Caller, open};
use crate::approve::Question;
use crate::error::{Error, Result};
use crate::protocol::is_yes;
use crate::settings::{self, Base, Trust};

/// The directory that `--workspace` names, if it does.
pub(super) fn named(caller: &Caller) -> Option<PathBuf> {
    let value = caller.flags.value("--workspace")?;
    Some(caller.here.join(value))
}

/// Makes the named directory if it is not there and the person wants that.
pub(super) fn ensure_there(directory: &Path, caller: &Caller) -> Result<()> {
    if directory.exists() {
        return Ok(());
    }
    let shown = directory.display();
    let missing = || {
        Error::usage(format!("the workspace `{shown}` does not exist"))
            .hint(format!(
                "if you meant it, create it first: `mkdir -p {shown}`"
            ))
            .hint("without `--workspace` the model works in the folder of the settings")
    };
    if !directory.parent().is_some_and(Path::is_dir) {
        return Err(missing());
    }
    let question = Question::about_new_workspace(directory);
    match caller.ask(&question)? {
        Some(answer) if is_yes(&answer) => crate::fs::create_directory(directory),
        _ => Err(missing()),
    }
}

/// The base directory for a workspace that was named: nobody has to be asked where to work.
pub(super) fn base(directory: &Path, workspace: &Path, trust: &Trust) -> Result<Base> {
    let real = |path: &Path| crate::fs::canonical(path).ok();
    if real(directory) == real(workspace) {
        settings::init(directory, trust)
    } else {
        open::create_base(directory)
    }
}
