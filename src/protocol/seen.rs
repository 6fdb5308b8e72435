//! What the model knows of files: what it asks to read, and which version it saw.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RelPath;

/// A request for the contents of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadRequest {
    /// The file.
    pub path: RelPath,
    /// The first line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    /// The last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// Whether each line is shown with its number.
    #[serde(default)]
    pub numbered: bool,
}

/// The version of each file that the model last saw, as the identity of its content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seen(BTreeMap<RelPath, String>);

impl Seen {
    /// The hash of what the model last saw of the file.
    pub fn get(&self, path: &RelPath) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The model was shown the file, or wrote it, with this content.
    pub fn note(&mut self, path: &RelPath, hash: impl Into<String>) {
        self.0.insert(path.clone(), hash.into());
    }

    /// The file is gone.
    pub fn forget(&mut self, path: &RelPath) {
        self.0.remove(path);
    }

    /// What is known of one file is known of another.
    pub fn copy(&mut self, from: &RelPath, to: &RelPath) {
        match self.0.get(from).cloned() {
            Some(hash) => self.0.insert(to.clone(), hash),
            None => self.0.remove(to),
        };
    }
}
