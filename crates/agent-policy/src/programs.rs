//! Finds the program that a word of a script starts.
//!
//! A name in a rule means the program that the name leads to outside of everything that commands
//! may write: a `git` in the workspace is not `git`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Policy;

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

/// Compares the programs that words name.
pub(super) struct Programs<'a> {
    pub policy: &'a Policy,
    /// True if the script changed its directory before.
    pub has_moved: bool,
}

impl Programs<'_> {
    /// Returns true if a word of a rule and a word of a script start the same program.
    pub(super) fn are_the_same(&self, rule: &str, word: &str) -> bool {
        if is_relative(rule) || is_relative(word) {
            return rule == word && !self.has_moved;
        }
        if rule == word && is_builtin(word) {
            return true;
        }
        // Only words that could be the same are looked up.
        if rule.rsplit('/').next() != word.rsplit('/').next() {
            return false;
        }
        let (Some(meant), Some(started)) =
            ((self.policy.lookup.0)(rule), (self.policy.lookup.0)(word))
        else {
            return false;
        };
        meant.path == started.path
            && self.is_trusted(&started.path)
            && self.is_trusted(&started.real)
    }

    fn is_trusted(&self, path: &Path) -> bool {
        path.has_root() && !self.policy.places.is_writable(path)
    }
}

/// A path within the workspace, as in `./check.sh`.
fn is_relative(word: &str) -> bool {
    word.contains('/') && !word.starts_with('/')
}

/// Shell builtins, which do not depend on `PATH`.
fn is_builtin(word: &str) -> bool {
    let builtins = "cd echo pwd true false test printf type wait exit :";
    builtins.split(' ').any(|builtin| builtin == word)
}
