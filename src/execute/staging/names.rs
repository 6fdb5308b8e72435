//! The temporary names of new contents.
//!
//! A step that is prepared again gives the same names, so that what a killed process left behind is
//! replaced. No name is given twice in a step: what lies under one that was just given is never a
//! leftover.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::protocol::RelPath;
use crate::workspace::FileProblem;

/// How many hexadecimal digits of the hash of a path are in a name: 128 bits.
const DIGITS: usize = 32;

/// Gives the temporary names of the step under way.
pub(super) struct Names {
    /// A mark that tells our names from those of others.
    mark: String,
    step: u32,
    /// How often the step has written to a file.
    written: BTreeMap<RelPath, u32>,
    given: BTreeSet<String>,
}

impl Names {
    /// Names that nobody else gives.
    pub(super) fn new() -> Self {
        Self {
            mark: uuid::Uuid::new_v4().simple().to_string(),
            step: 0,
            written: BTreeMap::new(),
            given: BTreeSet::new(),
        }
    }

    /// From now on names have this in them.
    pub(super) fn set_mark(&mut self, mark: &str) {
        mark.clone_into(&mut self.mark);
    }

    /// Names of another step begin: they have its number in them.
    pub(super) fn begin(&mut self, step: u32) {
        self.step = step;
        self.written.clear();
        self.given.clear();
    }

    /// Makes a unique mark for the temporary name of a new content of this file.
    pub(super) fn give(&mut self, path: &RelPath) -> Result<String, FileProblem> {
        let times = self.written.entry(path.clone()).or_default();
        *times += 1;
        let file = blake3::hash(path.as_str().as_bytes()).to_hex();
        let name = format!("{}-{}-{}-{times}", self.mark, self.step, &file[..DIGITS]);
        if self.given.insert(name.clone()) {
            Ok(name)
        } else {
            Err(FileProblem::Io {
                action: "write",
                path: path.clone(),
                cause: io::Error::other("another file of this step has its temporary name"),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stage::path;
    use super::*;

    #[test]
    fn the_same_step_gives_the_same_names_again_and_none_twice() {
        let mut names = Names::new();
        names.set_mark("round");
        let mut give = || {
            names.begin(3);
            // The first eight digits of their hashes are the same.
            ["f158494.txt", "f216861.txt", "f216861.txt"]
                .map(|name| names.give(&path(name)).unwrap())
        };
        let first = give();
        assert_eq!(first, give());
        let different: BTreeSet<&String> = first.iter().collect();
        assert_eq!(different.len(), first.len(), "{first:?}");
    }

    #[test]
    fn a_name_that_was_given_in_this_step_is_never_given_again() {
        let mut names = Names::new();
        names.begin(1);
        names.give(&path("a")).unwrap();
        names.written.clear();
        let problem = names.give(&path("a")).unwrap_err();
        assert!(problem.to_string().contains("temporary name"), "{problem}");
    }
}
