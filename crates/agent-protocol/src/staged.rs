//! File changes that are prepared and not yet made, as the journal knows them.
//!
//! The new contents lie beside the files already, under temporary names. So whatever is killed when,
//! each change can be told to be made or not, and be made later without working it out again.

use serde::{Deserialize, Serialize};

use super::{RelPath, StepResult};

/// The changes of consecutive file steps, prepared together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Batch {
    /// What each step will have done.
    pub steps: Vec<StagedStep>,
    /// What is known of the files then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<StagedFile>,
}

/// What a step will have done, once its changes are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedStep {
    /// What is told of it then.
    pub result: StepResult,
    /// Its changes, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<StagedChange>,
}

/// One change of one file. Contents are named by their hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum StagedChange {
    /// The file gets a new content, or comes to be.
    Write {
        /// The file.
        path: RelPath,
        /// Where its new content lies until then.
        staged: RelPath,
        /// What it contains before; nothing if there is no such file.
        before: Option<String>,
        /// What it contains then.
        after: String,
    },
    /// The file goes.
    Remove {
        /// The file.
        path: RelPath,
        /// What it contains before.
        before: String,
    },
    /// The file gets another name, which nothing has.
    Rename {
        /// Its name before.
        from: RelPath,
        /// Its name then.
        to: RelPath,
        /// What it contains.
        content: String,
    },
}

/// What is known of a file once a batch is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedFile {
    /// The file.
    pub path: RelPath,
    /// What it contains; nothing if it is gone.
    pub hash: Option<String>,
    /// Whether the model knows that content.
    pub is_seen: bool,
    /// Where the lines are that the model may name, if any can be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<StagedLines>,
}

/// Where the lines of a file are, in the middle of a reply that changes it. Lines are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedLines {
    /// How many there were when the reply began, or wrote the file anew.
    pub of: usize,
    /// The lines of then that are replaced, in their order: from, to, and how many stand there now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<(usize, usize, usize)>,
    /// The lines of now that the model knows, each from and to; all of them if there is no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<(usize, usize)>>,
    /// Whether the model was never shown the file, so that its numbers are taken on trust.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_on_trust: bool,
}

impl StagedChange {
    /// The files that it changes, with what each contains before and after.
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
