//! Records directories created for a change, so that they can be removed if it fails.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use super::Workspace;
use agent_protocol::RelPath;

/// Directories that were created, recorded from several threads.
#[derive(Debug, Default)]
pub struct MadeDirectories(Mutex<Vec<RelPath>>);

impl MadeDirectories {
    pub(super) fn note(&self, path: &str) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A prefix of a valid path is valid.
        paths.extend(RelPath::parse(path));
    }
}

impl Workspace {
    /// Removes these directories if they are empty.
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
