//! File changes that are prepared but not made yet, as the journal records them.
//!
//! The new contents are already next to the files under temporary names. So after a crash at any
//! point it can be decided for each change whether it was made, and it can be made later without
//! computing it again. Making the changes is left to `execute`.

use serde::{Deserialize, Serialize};

use super::{RelPath, StepResult};

/// The changes of consecutive file steps, prepared together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StagedBatch {
    /// The results of the steps, once the changes are made.
    pub steps: Vec<StagedStep>,
    /// The state of the files after the batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<StagedFile>,
}

/// The result of a step, once its changes are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedStep {
    /// The result that is reported.
    pub result: StepResult,
    /// The changes, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<StagedChange>,
}

/// One change of one file. Contents are given as hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum StagedChange {
    /// Creates a file or replaces its content.
    Write {
        /// The file.
        path: RelPath,
        /// The temporary file with the new content.
        staged: RelPath,
        /// The hash before; `None` if the file does not exist.
        before: Option<String>,
        /// The hash afterwards.
        after: String,
    },
    /// Deletes the file.
    Remove {
        /// The file.
        path: RelPath,
        /// The hash before.
        before: String,
    },
    /// Renames the file to a name that does not exist.
    Rename {
        /// The old name.
        from: RelPath,
        /// The new name.
        to: RelPath,
        /// The hash of the content.
        content: String,
    },
}

/// The state of a file after a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedFile {
    /// The file.
    pub path: RelPath,
    /// The hash of the content; `None` if the file is gone.
    pub hash: Option<String>,
    /// True if the model knows this content.
    pub is_seen: bool,
    /// The positions of the lines that the model may name, if any can be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<StagedLines>,
}

/// The positions of the lines of a file while a reply changes it. Lines are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedLines {
    /// The number of lines when the reply began or last wrote the whole file.
    pub of: usize,
    /// The replaced ranges of those lines, in order: start, end, and the number of lines now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<(usize, usize, usize)>,
    /// The ranges of the current lines that the model knows, as start and end; `None` is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<(usize, usize)>>,
    /// True if the model was never shown the file, so that its line numbers are trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_on_trust: bool,
}

impl StagedChange {
    /// The files that it changes, each with its hash before and after.
    pub fn effects(&self) -> Vec<(&RelPath, Option<&str>, Option<&str>)> {
        match self {
            Self::Write {
                path,
                before,
                after,
                ..
            } => vec![(path, before.as_deref(), Some(after))],
            Self::Remove { path, before } => vec![(path, Some(before), None)],
            Self::Rename { from, to, content } => {
                vec![(from, Some(content), None), (to, None, Some(content))]
            }
        }
    }
}
