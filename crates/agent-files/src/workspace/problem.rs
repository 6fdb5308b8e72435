//! Why a file of the workspace could not be used, in words for the model.

use std::io;

use agent_protocol::RelPath;

/// What stands in the way of a file operation.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// There is no such file.
    #[error("`{0}` does not exist")]
    NotFound(RelPath),
    /// It is a directory, where a file is needed.
    #[error("`{0}` is a directory, not a file")]
    IsDirectory(RelPath),
    /// It is a pipe, a socket or a device.
    #[error("`{0}` is not a regular file")]
    NotRegular(RelPath),
    /// Its path goes through something that is not a directory.
    #[error("`{path}` cannot be made: `{parent}` is not a directory")]
    NotInDirectory {
        /// What was asked for.
        path: RelPath,
        /// What is in its way.
        parent: RelPath,
    },
    /// It has more bytes than are read.
    #[error("`{path}` is too large: {size} bytes, the limit is {limit}")]
    TooLarge {
        /// What was asked for.
        path: RelPath,
        /// Its size in bytes.
        size: u64,
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// A link on its path leads out of the workspace.
    #[error("`{0}` leads out of the workspace")]
    LeavesWorkspace(RelPath),
    /// A link on its path leads to the records of `agent` itself.
    #[error("`{0}` leads to what belongs to `agent` itself and is hidden")]
    Hidden(RelPath),
    /// It is a symbolic link or lies behind one, and links are not written through.
    #[error("`{link}` is a symbolic link: files are not changed through links")]
    Link {
        /// The link: the path itself or one of its parents.
        link: RelPath,
    },
    /// There is something of that name, and it is not replaced.
    #[error("`{0}` exists already")]
    Exists(RelPath),
    /// It is not what it was a moment ago.
    #[error("`{0}` was changed by somebody else meanwhile; it stays as it is")]
    Changed(RelPath),
    /// The operating system said no.
    #[error("could not {action} `{path}`: {cause}")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// What was asked for.
        path: RelPath,
        /// What the operating system said.
        cause: io::Error,
    },
}

impl FileProblem {
    /// Puts an error of the operating system into words.
    pub(super) fn from_io(action: &'static str, path: &RelPath, cause: io::Error) -> Self {
        let path = path.clone();
        match cause.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NotFound(path),
            io::ErrorKind::IsADirectory => Self::IsDirectory(path),
            io::ErrorKind::AlreadyExists => Self::Exists(path),
            // A refusal by the operating system has a number; one by cap-std, which saw the path
            // leave the root, has none.
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

    /// Whether it says that there is no such file.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }
}
