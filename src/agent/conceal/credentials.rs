//! What the files of the workspace that are there to keep secrets have in them is known before
//! anything is told: a line of theirs that a command prints does not say where it comes from.
//!
//! Nothing of it is kept on the disk, and no placeholder is given away, before it stands in a message.
//! How many files are read, and how much of them, is bounded; one that is unchanged is read once.

use std::collections::BTreeMap;

use super::text_of;
use crate::protocol::RelPath;
use crate::protocol::generated::is_generated;
use crate::secrets::{Scanner, Source, Vault};
use crate::workspace::Workspace;
use crate::workspace::walk::Found;

/// How many files are read.
const MAX_FILES: usize = 200;
/// How many bytes a file may have.
const MAX_FILE: u64 = 256 * 1024;
/// How many bytes all of them may have.
const MAX_ALL: u64 = 2 * 1024 * 1024;

/// What the files teach that are there to keep secrets.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    /// What they have in them.
    vault: Vault,
    /// The size and the time of each when it was read.
    read: BTreeMap<RelPath, (u64, i64)>,
}

impl Credentials {
    /// Reads those of these files that are new or have changed, the first ones first.
    pub(super) fn learn(&mut self, workspace: &Workspace, scanner: &Scanner, files: &[Found]) {
        let mut left = MAX_ALL;
        let own = files.iter().filter(|file| !is_generated(&file.path));
        for file in own.take(MAX_FILES) {
            let state = (file.size, file.modified);
            if file.size > MAX_FILE || file.size > left {
                continue;
            }
            left -= file.size;
            if self.read.get(&file.path) != Some(&state) {
                let text = text_of(workspace, &file.path, MAX_FILE);
                self.learn_file(scanner, &file.path, text.as_deref());
                self.read.insert(file.path.clone(), state);
            }
        }
    }

    /// Learns what the text of a file has in it; one that cannot be read teaches nothing.
    pub(super) fn learn_file(&mut self, scanner: &Scanner, path: &RelPath, text: Option<&str>) {
        if let Some(text) = text {
            let source = Source::File(path.as_str());
            self.vault.learn(scanner, text, source);
        }
    }

    /// What they have in them.
    pub(super) fn vault(&self) -> &Vault {
        &self.vault
    }
}

/// The secrets of all files of a workspace that are there to keep them; none if it cannot be read.
pub fn credentials(workspace: &Workspace, scanner: &Scanner) -> Vault {
    let mut credentials = Credentials::default();
    if let Ok(walked) = workspace.walk(None) {
        credentials.learn(workspace, scanner, &walked.credentials);
    }
    credentials.vault
}
