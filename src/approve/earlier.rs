//! The changes that a reply makes before one of its commands runs.
//!
//! All questions of a reply are put before its first step is carried out. `./check.sh` is then not
//! yet the script that will run if a step before it writes that file: the question says so, and an
//! answer counts only for the same command after the same changes.

use std::fmt::Write as _;

use crate::protocol::Step;

/// How the sentence about them begins.
pub(super) const CHANGES_BEFORE: &str = "before it runs, this reply changes";

/// How many files are named.
const MAX_NAMED: usize = 5;

/// The file steps of a reply so far.
#[derive(Debug, Default)]
pub struct EarlierChanges {
    hasher: blake3::Hasher,
    /// The first files that they change, each once.
    named: Vec<String>,
    /// How many more files they change, perhaps counted more than once.
    more: usize,
}

impl EarlierChanges {
    /// Takes a step in that comes before the command.
    pub fn note(&mut self, step: &Step) {
        if !step.command.changes_files() {
            return;
        }
        let json = serde_json::to_vec(&step.command).unwrap_or_default();
        self.hasher.update(&(json.len() as u64).to_le_bytes());
        self.hasher.update(&json);
        for path in step.command.changed_paths() {
            let path = path.to_string();
            if self.named.contains(&path) {
                continue;
            }
            if self.named.len() < MAX_NAMED {
                self.named.push(path);
            } else {
                self.more += 1;
            }
        }
    }

    /// Tells these changes from others; empty if there are none.
    pub(super) fn digest(&self) -> String {
        if self.named.is_empty() {
            return String::new();
        }
        self.hasher.finalize().to_hex()[..32].to_owned()
    }

    /// The changes in words, if there are any.
    pub(super) fn words(&self) -> Option<String> {
        let (first, rest) = self.named.split_first()?;
        let mut words = format!("{CHANGES_BEFORE} `{first}`");
        for path in rest {
            let _ = write!(words, ", `{path}`");
        }
        if self.more > 0 {
            words.push_str(" and others");
        }
        Some(words)
    }
}
