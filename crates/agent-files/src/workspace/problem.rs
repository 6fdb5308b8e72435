//! Errors of file operations in the workspace, worded for the model.

use std::io;

use crate::platform::files;
use agent_protocol::RelPath;

/// The reason why a file operation failed.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// The file does not exist.
    #[error("`{0}` does not exist")]
    NotFound(RelPath),
    /// A directory, where a file is needed.
    #[error("`{0}` is a directory, not a file")]
    IsDirectory(RelPath),
    /// A pipe, a socket or a device.
    #[error("`{0}` is not a regular file")]
    NotRegular(RelPath),
    /// A parent of the path is not a directory.
    #[error("`{path}` cannot be created: `{parent}` is not a directory")]
    NotInDirectory {
        /// The requested path.
        path: RelPath,
        /// The parent that is not a directory.
        parent: RelPath,
    },
    /// The file exceeds the size limit for reading.
    #[error("`{path}` is too large: {size} bytes, the limit is {limit}")]
    TooLarge {
        /// The requested path.
        path: RelPath,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A link in the path leads out of the workspace.
    #[error("`{0}` leads out of the workspace")]
    LeavesWorkspace(RelPath),
    /// A link in the path leads to our own records.
    #[error("`{0}` leads to `agent`'s own files, which are hidden")]
    Hidden(RelPath),
    /// The path is or goes through a symbolic link, and links are not written through.
    #[error("`{link}` is a symbolic link: files are not changed through links")]
    Link {
        /// The link: the path itself or one of its parents.
        link: RelPath,
    },
    /// The name exists and is not replaced.
    #[error("`{0}` exists already")]
    Exists(RelPath),
    /// The file changed since it was last checked.
    #[error("`{0}` was changed by somebody else in the meantime and was left as it is")]
    Changed(RelPath),
    /// Another program has the file open, and lets nobody else have it.
    #[error("`{0}` is open in another program, which does not share it")]
    InUse(RelPath),
    /// The operating system reported an error.
    #[error("could not {action} `{path}`: {cause}")]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The requested path.
        path: RelPath,
        /// The error of the operating system.
        cause: io::Error,
    },
}

impl FileProblem {
    /// Classifies an error of the operating system.
    pub(super) fn from_io(action: &'static str, path: &RelPath, cause: io::Error) -> Self {
        let path = path.clone();
        if files::is_shared_by_nobody(&cause) {
            return Self::InUse(path);
        }
        match cause.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NotFound(path),
            io::ErrorKind::IsADirectory => Self::IsDirectory(path),
            io::ErrorKind::AlreadyExists => Self::Exists(path),
            // An error of the operating system has a code; cap-std reports a path that leaves the
            // root without one.
            io::ErrorKind::PermissionDenied if cause.raw_os_error().is_none() => {
                Self::LeavesWorkspace(path)
            }
            _ => Self::Io {
                action,
                path,
                cause,
            },
        }
    }

    /// True if the file does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }
}
