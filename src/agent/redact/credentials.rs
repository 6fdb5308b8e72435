//! Secrets in the workspace's credential files, learned before any message is made: when a command
//! prints a line of such a file, the output does not say where the line comes from.
//!
//! They are not written to disk and get no placeholder until they occur in a message. The number of
//! files, their size and the number of secrets per file are limited. An unchanged file is read only
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::text_of;
use crate::compose::example_instructions;
use crate::protocol::generated::is_generated;
use crate::protocol::{Listed, RelPath, by_directory};
use crate::secrets::{MAX_KNOWN, Plain, Scanner, TextSource, Vault};
use crate::workspace::Workspace;

/// How many files are read.
const MAX_FILES: usize = 200;
/// How many bytes a file may have.
pub(super) const MAX_FILE: u64 = 256 * 1024;
/// How many bytes all of them may have.
const MAX_ALL: u64 = 2 * 1024 * 1024;
/// How many secrets all of them teach; there is room for what is learned later.
const MAX_SECRETS: usize = MAX_KNOWN / 2;

/// Secrets that were learned from the workspace's files.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    vault: Vault,
    /// The size and the time of each when it was read.
    read: BTreeMap<RelPath, (u64, i64)>,
}

impl Credentials {
    /// Reads those of these files that are new or have changed, the first ones first.
    ///
    /// Each may teach the same number of secrets, so that none keeps another from being known.
    pub(super) fn learn(&mut self, workspace: &Workspace, scanner: &Scanner, files: &[Listed]) {
        let mut left = MAX_ALL;
        let own = files.iter().filter(|file| !is_generated(&file.path));
        let own: Vec<&Listed> = own.take(MAX_FILES).collect();
        let share = MAX_SECRETS / own.len().max(1);
        for file in own {
            let state = (file.size, file.modified);
            if file.size > MAX_FILE || file.size > left {
                continue;
            }
            left -= file.size;
            if self.read.get(&file.path) != Some(&state) {
                if let Some(text) = text_of(workspace, &file.path, MAX_FILE) {
                    self.learn_text(scanner, &file.path, &text, share);
                }
                self.read.insert(file.path.clone(), state);
            }
        }
    }

    /// Learns what these files have in them; one that cannot be read or is too long teaches nothing.
    pub(super) fn learn_paths(
        &mut self,
        workspace: &Workspace,
        scanner: &Scanner,
        paths: &BTreeSet<RelPath>,
        max_bytes: u64,
    ) {
        for path in paths {
            if let Some(text) = text_of(workspace, path, max_bytes) {
                self.learn_text(scanner, path, &text, MAX_SECRETS);
            }
        }
    }

    /// Learns so many secrets at most of the text of a file.
    fn learn_text(&mut self, scanner: &Scanner, path: &RelPath, text: &str, most: usize) {
        let source = TextSource::File(path.as_str());
        self.vault.learn(scanner, text, source, most);
    }

    /// Lets these names and words stand, whatever the files have in them.
    pub(super) fn spare(&mut self, plain: Plain) {
        self.vault.spare(plain);
    }

    /// Returns the secrets that were learned.
    pub(super) fn vault(&self) -> &Vault {
        &self.vault
    }
}

/// The names of files, and the words of our own instructions.
pub(in crate::agent) fn names(files: &Arc<Vec<Listed>>) -> Plain {
    let files = Arc::clone(files);
    Plain::new(move || {
        let mut text = example_instructions();
        for (directory, files) in by_directory(&files) {
            text.push('\n');
            text.push_str(directory);
            text.push('/');
            if is_generated(&files[0].path) {
                continue;
            }
            for file in files {
                text.push_str(file.path.file_name());
                text.push('\n');
            }
        }
        text
    })
}

/// The secrets of all files of a workspace that are there to keep them; none if it cannot be read.
pub fn credentials(workspace: &Workspace, scanner: &Scanner) -> Vault {
    let mut credentials = Credentials::default();
    if let Ok(walked) = workspace.walk(None) {
        credentials.learn(workspace, scanner, &walked.credentials);
        credentials.spare(names(&walked.files));
    }
    credentials.vault
}
