//! One of the things that a patch does to files.

use super::super::staging::Staging;
use crate::protocol::RelPath;
use crate::workspace::{FileProblem, Permission};

/// Something to be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    Write {
        path: RelPath,
        content: Vec<u8>,
        permission: Permission,
    },
    Remove(RelPath),
    Rename {
        from: RelPath,
        to: RelPath,
    },
}

impl Operation {
    /// Prepares it.
    pub(super) fn stage(&self, staging: &mut Staging<'_>) -> Result<(), FileProblem> {
        match self {
            Self::Write {
                path,
                content,
                permission,
            } => staging.write(path, content, *permission),
            Self::Remove(path) => staging.remove(path),
            Self::Rename { from, to } => staging.rename(from, to),
        }
    }
}
