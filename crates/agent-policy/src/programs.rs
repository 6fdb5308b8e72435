//! Finds the program that a word of a script starts, and other things on the machine.
//!
//! A name in a rule means the program that the name leads to outside of everything that commands
//! may write: a `git` in the workspace is not `git`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_protocol::RelPath;

use super::Policy;
use super::names::is_a;

/// A program that was found on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// The absolute path where it was found.
    pub path: PathBuf,
    /// The path with all links resolved.
    pub real: PathBuf,
}

/// Finds something on the machine, with a function that the caller provides.
pub struct MachineLookup<Q: ?Sized, A>(Arc<dyn Fn(&Q) -> A + Send + Sync>);

/// Finds programs as the shell of a command would: a name in `PATH`, a path as it is.
pub type ProgramLookup = MachineLookup<str, Option<FoundProgram>>;

/// Finds the records and settings of other base directories at or above a path.
pub type RecordsLookup = MachineLookup<RelPath, Vec<RelPath>>;

impl<Q: ?Sized, A> MachineLookup<Q, A> {
    /// Finds it with this function.
    pub fn new(find: impl Fn(&Q) -> A + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    pub(super) fn find(&self, question: &Q) -> A {
        (self.0)(question)
    }
}

impl<Q: ?Sized, A> Clone for MachineLookup<Q, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<Q: ?Sized, A> fmt::Debug for MachineLookup<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MachineLookup")
    }
}

impl Policy {
    /// Returns true if a word of a rule and a word of a script start the same program; `has_moved`
    /// is true if the script changed its directory before.
    pub(super) fn are_the_same(&self, rule: &str, word: &str, has_moved: bool) -> bool {
        if is_relative(rule) || is_relative(word) {
            return rule == word && !has_moved;
        }
        if rule == word && is_a("builtins", word) {
            return true;
        }
        // Only words that could be the same are looked up.
        if rule.rsplit('/').next() != word.rsplit('/').next() {
            return false;
        }
        let (Some(meant), Some(started)) = (self.lookup.find(rule), self.lookup.find(word)) else {
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
