//! The files of the workspace for the steps of one reply that look at many of them.
//!
//! One walk answers all of them, until something is changed: what a reply costs must not be the
//! number of its steps times the number of files. A name that is not there gets a suggestion for the
//! same price; after a few of them nobody reads one more.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use super::nearest;
use super::skipped::NamedGenerated;
use super::write::failed;
use crate::protocol::{Outcome, RelPath};
use crate::workspace::walk::Walked;
use crate::workspace::{FileProblem, Workspace};

/// How many walks are kept; a large one takes many megabytes.
const MAX_KEPT: usize = 4;
/// How many wrong names of a reply get a suggestion.
const MAX_SUGGESTIONS: usize = 10;

/// A walk, and what it passed by.
pub(super) struct Walk {
    pub(super) walked: Walked,
    /// Directories that tools fill by themselves.
    pub(super) passed: BTreeSet<RelPath>,
}

/// Where a walk began, and into which generated directories it went.
type WalkKey = (Option<RelPath>, BTreeSet<String>);

/// The walks that were made and still hold.
pub(super) struct Walks<'a> {
    pub(super) workspace: &'a Workspace,
    kept: RefCell<Vec<(WalkKey, Rc<Walk>)>>,
    suggested: Cell<usize>,
}

impl<'a> Walks<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            kept: RefCell::new(Vec::new()),
            suggested: Cell::new(0),
        }
    }

    /// Every file beneath a directory, or of the whole workspace, but for what tools make and these
    /// words do not name.
    pub(super) fn beneath(
        &self,
        directory: Option<&RelPath>,
        generated: &NamedGenerated,
    ) -> Result<Rc<Walk>, FileProblem> {
        let way = (directory.cloned(), generated.directories().clone());
        let mut kept = self.kept.borrow_mut();
        if let Some((_, walk)) = kept.iter().find(|(known, _)| *known == way) {
            return Ok(Rc::clone(walk));
        }
        let passed = Mutex::new(BTreeSet::new());
        let passes_by = |path: &RelPath| {
            let is_passed_by = generated.pass_directory(path);
            if is_passed_by {
                let mut passed = passed.lock().unwrap_or_else(PoisonError::into_inner);
                passed.insert(path.clone());
            }
            is_passed_by
        };
        let walked = self.workspace.walk_past(directory, passes_by)?;
        let walk = Rc::new(Walk {
            walked,
            passed: passed.into_inner().unwrap_or_else(PoisonError::into_inner),
        });
        kept.push((way, Rc::clone(&walk)));
        if kept.len() > MAX_KEPT {
            // The smallest one is the soonest made again.
            kept.sort_by_key(|(_, walk)| std::cmp::Reverse(walk.walked.files.len()));
            kept.pop();
        }
        Ok(walk)
    }

    /// Something was changed: what was walked holds no longer.
    pub(super) fn forget(&self) {
        self.kept.borrow_mut().clear();
    }

    /// A problem with a file, as an outcome; if it does not exist, with names that may be meant.
    pub(super) fn explained(&self, problem: &FileProblem) -> Outcome {
        match problem {
            FileProblem::NotFound(path) => {
                Outcome::failed(format!("{problem}{}", self.suggestion(path)))
            }
            _ => failed(problem),
        }
    }

    /// ``; did you mean `src/main.rs`?``, or nothing.
    pub(super) fn suggestion(&self, path: &RelPath) -> String {
        if self.suggested.get() == MAX_SUGGESTIONS {
            return String::new();
        }
        self.suggested.set(self.suggested.get() + 1);
        nearest::suggestion(self, path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Execution;
    use super::super::read::read_requests;
    use super::super::stage::{delete, files, path, stage};
    use super::*;
    use crate::protocol::{Command, Step};

    fn step(command: Command) -> Step {
        Step {
            number: 1,
            line: 1,
            command,
        }
    }

    fn read(glob: &str) -> Command {
        Command::ReadFile {
            path: files(glob),
            start_line: None,
            end_line: None,
            numbered: false,
        }
    }

    #[test]
    fn many_globs_and_wrong_names_cost_one_walk() {
        let mut stage = stage(&[("a/b.rs", ""), ("c.rs", "")]);
        let mut execution = Execution::begin(&stage.workspace, &stage.limits, &mut stage.seen, &[]);
        for number in 0..50 {
            let outcome = execution.step(&step(read(&format!("*.rs{number}"))));
            assert!(
                outcome.message.starts_with("no file matches"),
                "{outcome:?}"
            );
            let list = Command::ListFiles {
                path: None,
                glob: Some(format!("*.r{number}")),
            };
            execution.step(&step(list));
        }
        let mut suggested = 0;
        for _ in 0..50 {
            let outcome = execution.step(&step(delete("b.rs")));
            suggested += usize::from(outcome.message.contains("did you mean `a/b.rs`"));
        }
        assert_eq!(
            (execution.walks.kept.borrow().len(), suggested),
            (1, MAX_SUGGESTIONS)
        );
    }

    #[test]
    fn what_was_changed_is_walked_again() {
        let mut stage = stage(&[("a.rs", ""), ("b.rs", "")]);
        let outcomes = stage.reply(vec![
            read("*.rs"),
            delete("a.rs"),
            read("*.rs"),
            Command::RunCommand {
                script: "touch c.rs d.rs".to_owned(),
                timeout: None,
            },
            read("*.rs"),
        ]);
        let messages: Vec<&str> = (outcomes.iter().step_by(2))
            .map(|outcome| outcome.message.as_str())
            .collect();
        assert_eq!(messages, ["read 2 files", "read b.rs", "read 3 files",]);
    }

    #[test]
    fn only_a_few_walks_are_kept() {
        let stage = stage(&[
            ("a/x", ""),
            ("b/x", ""),
            ("c/x", ""),
            ("d/x", ""),
            ("e/x", ""),
        ]);
        let walks = Walks::new(&stage.workspace);
        for name in ["a", "b", "c", "d", "e"] {
            let walk = walks
                .beneath(Some(&path(name)), &NamedGenerated::default())
                .unwrap();
            assert_eq!(walk.walked.files.len(), 1);
        }
        assert_eq!(walks.kept.borrow().len(), MAX_KEPT);
        let steps = [read("a/*"), read("b/*")].map(step);
        assert_eq!(read_requests(&stage.workspace, &steps).len(), 2);
    }
}
