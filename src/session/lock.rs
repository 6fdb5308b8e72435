//! One running loop for each base directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};

/// The lock of a running loop, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct LoopLock {
    _file: File,
}

impl LoopLock {
    /// Takes the lock, or says which process holds it.
    ///
    /// The process id stands in a file of its own: on Windows a locked file cannot be read.
    pub fn take(directory: &Path) -> Result<Self> {
        let path = directory.join("loop.lock");
        let owner = directory.join("loop.pid");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|cause| Error::file("open", &path, cause))?;
        match file.try_lock() {
            Ok(()) => {
                let id = std::process::id().to_string();
                write_atomic(&owner, id.as_bytes(), Durability::Atomic)?;
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&owner).unwrap_or_else(|_| "unknown".to_owned());
                Err(Error::mendable(format!(
                    "another `agent` works on this base directory: process {}",
                    holder.trim()
                ))
                .hint("go on there, or end it with Ctrl-C first; `agent status` shows where it stands")
                .hint("`--base DIR` uses another base directory"))
            }
            Err(TryLockError::Error(cause)) => Err(Error::file("lock", &path, cause)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let first = LoopLock::take(directory.path()).unwrap();
        let error = LoopLock::take(directory.path()).unwrap_err();
        assert!(
            error.to_string().ends_with(&std::process::id().to_string()),
            "{error}"
        );
        drop(first);
        LoopLock::take(directory.path()).unwrap();
    }
}
