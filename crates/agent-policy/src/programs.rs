//! Finds the program that a word of a script starts.
//!
//! A name in a rule means the program that the name leads to outside of everything that commands
//! may write: a `git` in the workspace is not `git`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Policy;
use super::names::{BUILTINS, is_in};

/// A program that was found on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// The absolute path where it was found.
    pub path: PathBuf,
    /// The path with all links resolved.
    pub real: PathBuf,
}

/// Finds programs as the shell of a command would: a name in `PATH`, a path as it is.
#[derive(Clone)]
pub struct ProgramLookup(Arc<Find>);

type Find = dyn Fn(&str) -> Option<FoundProgram> + Send + Sync;

impl ProgramLookup {
    /// Finds programs with this function.
    pub fn new(find: impl Fn(&str) -> Option<FoundProgram> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Finds nothing, so that no allow rule for a program matches.
    pub fn nothing() -> Self {
        Self::new(|_| None)
    }
}

impl fmt::Debug for ProgramLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

impl Policy {
    /// Returns true if a word of a rule and a word of a script start the same program; `has_moved`
    /// is true if the script changed its directory before.
    pub(super) fn are_the_same(&self, rule: &str, word: &str, has_moved: bool) -> bool {
        if is_relative(rule) || is_relative(word) {
            return rule == word && !has_moved;
        }
        if rule == word && is_in(BUILTINS, word) {
            return true;
        }
        // Only words that could be the same are looked up.
        if rule.rsplit('/').next() != word.rsplit('/').next() {
            return false;
        }
        let (Some(meant), Some(started)) = ((self.lookup.0)(rule), (self.lookup.0)(word)) else {
            return false;
        };
        let is_trusted = |path: &Path| path.has_root() && !self.places.is_writable(path);
        meant.path == started.path && is_trusted(&started.path) && is_trusted(&started.real)
    }
}

/// Returns true for a path within the workspace, as in `./check.sh`.
pub(super) fn is_relative(word: &str) -> bool {
    word.contains('/') && !word.starts_with('/')
}
