//! The directories that a change made for its files, to be removed if it comes to nothing.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use super::Workspace;
use agent_protocol::RelPath;

/// Directories that were made; several threads may tell.
#[derive(Debug, Default)]
pub struct MadeDirectories(Mutex<Vec<RelPath>>);

impl MadeDirectories {
    pub(super) fn note(&self, path: &str) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The beginning of a path is one itself.
        paths.extend(RelPath::parse(path));
    }
}

impl Workspace {
    /// Removes the directories that are empty; what somebody put into one keeps it.
    pub fn remove_made(&self, made: MadeDirectories) {
        let mut paths = made.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        paths.sort_by_cached_key(|path| Reverse(path.components().count()));
        for path in paths {
            if let Ok(directory) = self.parent(&path) {
                let _ = directory.remove_dir(path.file_name());
            }
        }
    }
}
