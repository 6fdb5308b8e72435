//! Which program a word of a script starts, as far as the machine tells.
//!
//! A name in a rule means the program that the name leads to outside of everything that commands
//! may write: a `git` in the workspace is not `git`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::targets::KnownDirectories;

/// A program that was found on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// The absolute path under which it was found.
    pub path: PathBuf,
    /// The same with all links followed.
    pub real: PathBuf,
}

/// Finds programs as the shell of a command would: a name in its `PATH`, a path as it is.
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

/// What tells whether two words name the same program.
pub(super) struct Programs<'a> {
    pub lookup: &'a ProgramLookup,
    pub places: &'a KnownDirectories,
    /// Whether the script changed its directory before.
    pub has_moved: bool,
}

impl Programs<'_> {
    /// Whether a rule's word and a script's word start the same program.
    pub(super) fn are_the_same(&self, rule: &str, word: &str) -> bool {
        if is_relative(rule) || is_relative(word) {
            return rule == word && !self.has_moved;
        }
        if rule == word && is_builtin(word) {
            return true;
        }
        // Looking up is left to words that could be the same.
        if rule.rsplit('/').next() != word.rsplit('/').next() {
            return false;
        }
        let (Some(meant), Some(started)) = ((self.lookup.0)(rule), (self.lookup.0)(word)) else {
            return false;
        };
        meant.path == started.path
            && self.is_trusted(&started.path)
            && self.is_trusted(&started.real)
    }

    fn is_trusted(&self, path: &Path) -> bool {
        path.has_root() && !self.places.is_writable(path)
    }
}

/// A path within the workspace, as in `./check.sh`.
fn is_relative(word: &str) -> bool {
    word.contains('/') && !word.starts_with('/')
}

/// Words that the shell does itself, whatever is in `PATH`.
fn is_builtin(word: &str) -> bool {
    matches!(
        word,
        "cd" | "echo"
            | "pwd"
            | "true"
            | "false"
            | "test"
            | "printf"
            | "type"
            | "wait"
            | "exit"
            | ":"
    )
}
