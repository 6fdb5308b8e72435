//! The file that the summary of a batch goes to. It is tested before anything begins, so that a batch
//! of hours does not end without its summary.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs::{
    Durability, behind_links, ensure_temporary_file, ensure_writable_device, real_path,
    write_atomic, write_through,
};

/// Links to what the process has open already. A file behind one must not be replaced.
const DESCRIPTORS: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];

/// A place for the summary that has been tested.
#[derive(Debug)]
pub(super) enum SummaryFile {
    /// A regular file, or none yet, without links in front of it.
    Replaced(PathBuf),
    /// A device, a pipe or a file that is open already.
    Through(PathBuf),
}

impl SummaryFile {
    /// Tests the file that the person names, as seen from `here`. It must not be the file of tasks or in
    /// the folder of records; both are without links.
    pub(super) fn tested(named: &Path, here: &Path, tasks: &Path, state: &Path) -> Result<Self> {
        let file = here.join(named);
        let directory = named.parent().filter(|above| !above.as_os_str().is_empty());
        if let Some(directory) = directory
            && !here.join(directory).is_dir()
        {
            return Err(refused(&format!(
                "there is no directory `{}`",
                directory.display()
            )));
        }
        if named.file_name().is_none() || file.is_dir() {
            return Err(refused(&format!("`{}` is a directory", named.display())));
        }
        let found = file.metadata();
        let is_open = DESCRIPTORS.iter().any(|open| file.starts_with(open));
        if is_open || found.is_ok_and(|found| !found.is_file()) {
            ensure_writable_device(&file).map_err(|error| untested(&error))?;
            return Ok(Self::Through(file));
        }
        let file = behind_links(&file).map_err(|error| untested(&error))?;
        let real = real_path(&file).unwrap_or_else(|| file.clone());
        if real == tasks {
            return Err(refused(&format!(
                "`{}` is the file of tasks",
                named.display()
            )));
        }
        if real.starts_with(state) {
            return Err(refused(&format!(
                "`{}` is in the folder of records",
                named.display()
            )));
        }
        ensure_temporary_file(&file).map_err(|error| untested(&error))?;
        Ok(Self::Replaced(file))
    }

    /// Writes the summary. A reader sees the old file or the whole new one.
    pub(super) fn write(&self, content: &[u8]) -> Result<()> {
        match self {
            Self::Replaced(file) => write_atomic(file, content, Durability::Durable),
            Self::Through(file) => write_through(file, content),
        }
    }
}

fn refused(reason: &str) -> Error {
    Error::usage(format!("the summary cannot be written: {reason}"))
        .hint("name another file with `--output`, or print it with `--output -`")
}

fn untested(error: &Error) -> Error {
    refused(&super::described(error))
}
