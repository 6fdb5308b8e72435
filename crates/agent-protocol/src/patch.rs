//! A patch as data, independent of the dialect it was written in.
//!
//! Parsing is left to `agent-reply`, applying to `agent-edit`.

use serde::{Deserialize, Serialize};

use super::RelPath;

/// The change of one file in a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are what a patch format names")]
pub enum FileChange {
    /// Creates a file.
    Add {
        path: RelPath,
        content: String,
        /// The permission bits that git names, such as `0o100755`; only the executable bit counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
        /// True if an existing file may be overwritten: `*** Add File` may, a diff may not.
        #[serde(default)]
        overwrite: bool,
    },
    /// Deletes a file; the hunks, if any, say what it must contain.
    Delete {
        path: RelPath,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hunks: Vec<Hunk>,
    },
    /// Changes a file, moves it, changes its mode, or any combination.
    Update {
        path: RelPath,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        move_to: Option<RelPath>,
        /// True if the file at `path` stays (git's `copy from`).
        #[serde(default)]
        copy: bool,
        /// True if a file at `move_to` may be overwritten: `*** Move to` may, a diff may not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        overwrite: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
        hunks: Vec<Hunk>,
    },
}

impl FileChange {
    /// The path before the patch.
    pub fn path(&self) -> &RelPath {
        match self {
            Self::Add { path, .. } | Self::Delete { path, .. } | Self::Update { path, .. } => path,
        }
    }

    /// The paths it names: before and after.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        let target = match self {
            Self::Update { move_to, .. } => move_to.as_ref(),
            Self::Add { .. } | Self::Delete { .. } => None,
        };
        std::iter::once(self.path()).chain(target)
    }
}

/// One contiguous change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hunk {
    /// The line, from 1, where the old text should begin; `None` if the header has no numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_start: Option<u32>,
    /// The number of old lines in the header, if the hunk itself shows none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unquoted: u32,
    /// Lines somewhere above the hunk, in order: the text after `@@` in `*** Begin Patch`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<String>,
    /// The lines, without their markers and line endings.
    pub lines: Vec<HunkLine>,
    /// The old text is the end of the file (`*** End of File`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_end: bool,
    /// `\ No newline at end of file` stands under the last old line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old_without_newline: bool,
    /// `\ No newline at end of file` stands under the last new line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_without_newline: bool,
}

impl Hunk {
    /// Stores the number of old lines in the header, once all lines are there.
    pub fn note_old_count(&mut self, count: u32) {
        let shows_none = self.lines.iter().all(|line| line.before().is_none());
        self.unquoted = if shows_none { count } else { 0 };
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HunkLine {
    /// In the old file and in the new one.
    Keep(String),
    /// Only in the old file.
    Remove(String),
    /// Only in the new file.
    Add(String),
}

impl HunkLine {
    /// The text of the line in the old file, if it is there.
    pub fn before(&self) -> Option<&str> {
        match self {
            Self::Keep(line) | Self::Remove(line) => Some(line),
            Self::Add(_) => None,
        }
    }

    /// The text of the line in the new file, if it is there.
    pub fn after(&self) -> Option<&str> {
        match self {
            Self::Keep(line) | Self::Add(line) => Some(line),
            Self::Remove(_) => None,
        }
    }
}
