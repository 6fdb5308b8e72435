//! One of the things that a patch does to files.

use std::sync::Arc;

use super::super::staging::{NewContent, Staging, Write};
use crate::protocol::RelPath;
use crate::workspace::{ExecutableBit, FileProblem};

/// Something to be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    Write {
        path: RelPath,
        content: Arc<Vec<u8>>,
        /// Of the content.
        hash: String,
        permission: ExecutableBit,
    },
    Remove(RelPath),
    Rename {
        from: RelPath,
        to: RelPath,
    },
}

/// Prepares operations; writes that follow each other are prepared together.
pub(super) fn stage_all(
    operations: &[Operation],
    staging: &mut Staging<'_>,
) -> Result<(), FileProblem> {
    let is_write = |operation: &Operation| matches!(operation, Operation::Write { .. });
    for run in operations.chunk_by(|one, next| is_write(one) && is_write(next)) {
        match run {
            [Operation::Remove(path)] => staging.remove(path)?,
            [Operation::Rename { from, to }] => staging.rename(from, to)?,
            writes => staging.write_all(writes.iter().filter_map(Operation::as_write).collect())?,
        }
    }
    Ok(())
}

impl Operation {
    fn as_write(&self) -> Option<Write<'_>> {
        let Self::Write {
            path,
            content,
            hash,
            permission,
        } = self
        else {
            return None;
        };
        Some(Write {
            path,
            content: NewContent {
                bytes: content,
                hash: hash.clone(),
            },
            permission: *permission,
        })
    }
}
