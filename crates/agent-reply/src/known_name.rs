//! Names that are those of files only because the workspace has them: `CHANGES`, `fzf.1`.
//!
//! Over a code block, `parse_args` may be a function and `Usage` a heading. If a file is called so, it
//! is meant. They are looked up before a reply is read, and kept for the thread, as the root is.

use std::cell::RefCell;
use std::collections::HashSet;

use agent_protocol::RelPath;

use crate::code_fence::Fence;
use crate::trim::filled_above;
use crate::{WorkspaceFileReader, file_name, search_replace, workspace_root};

/// The most names that are looked up.
const MAX_NAMES: usize = 50;

thread_local! {
    static NAMES: RefCell<HashSet<String>> = RefCell::default();
}

/// The names are known until this is dropped.
pub(super) struct ExistingNames;

impl Drop for ExistingNames {
    fn drop(&mut self) {
        NAMES.take();
    }
}

/// Looks up the names over the code blocks of a reply.
pub(super) fn look_up(file: WorkspaceFileReader<'_>, lines: &[&str]) -> ExistingNames {
    let existing = |name: &str| {
        let path = RelPath::parse(&workspace_root::relative(name)).ok()?;
        file(&path)?;
        Some([name.to_owned(), path.to_string()])
    };
    let names: HashSet<&str> = doubtful_names(lines).take(MAX_NAMES).collect();
    NAMES.set(names.into_iter().filter_map(existing).flatten().collect());
    ExistingNames
}

/// Returns true if a text, or the path that it means, is one of the names that the workspace has.
pub(super) fn is_known(text: &str) -> bool {
    NAMES.with_borrow(|names| names.contains(text))
}

/// Returns true if a line over a code block names a file only because the workspace has it.
pub(super) fn is_over(line: &str) -> bool {
    names_in(line).any(is_known)
}

/// The names over code blocks and SEARCH blocks that may be others than those of files.
fn doubtful_names<'a>(lines: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let begins = |line: &str| Fence::read(line).is_some() || search_replace::is_head(line);
    let blocks = (0..lines.len()).filter(move |at| begins(lines[*at]));
    let above = blocks.filter_map(|at| filled_above(lines, at));
    above.flat_map(names_in)
}

/// Such names on one line. One that has neither a dot nor a slash stands alone, in backticks or behind a
/// label: a heading may say `**Usage**`.
fn names_in(line: &str) -> impl Iterator<Item = &str> {
    let is_said = |name: &&str| {
        let before = line.split(name).next().unwrap_or_default();
        name.contains(['.', '/']) || line == *name || before.contains(['`', ':', '\u{ff1a}'])
    };
    let word = file_name::word(line).filter(is_said);
    let code = line.split('`').skip(1).step_by(2);
    // A command with its arguments.
    let programs = code
        .clone()
        .filter_map(|code| Some(code.split_once(' ')?.0));
    let names = word.into_iter().chain(code).chain(programs);
    names.filter(|name| !file_name::is_file(name))
}
