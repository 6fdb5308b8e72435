//! Names that are those of files only because the workspace has them: `CHANGES`, `fzf.1`.
//!
//! Over a code block, `parse_args` may be a function and `Usage` a heading. If a file is called so, it
//! is meant. They are looked up before a reply is read, and kept for the thread, as the root is.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use agent_protocol::RelPath;

use crate::code_fence::Fence;
use crate::trim::{filled_above, lead, trim};
use crate::{
    WorkspaceFileReader, file_label, file_name, search_replace, whole_file, workspace_root,
};

/// The most names that are looked up.
const MAX_NAMES: usize = 50;

thread_local! {
    static NAMES: RefCell<HashSet<String>> = RefCell::default();
    /// Of the files that comments at the top of code blocks name, the first line and how many there are.
    static FIRST_LINES: RefCell<HashMap<String, (String, usize)>> = RefCell::default();
}

/// The names are known until this is dropped.
pub(super) struct ExistingNames;

impl Drop for ExistingNames {
    fn drop(&mut self) {
        NAMES.take();
        FIRST_LINES.take();
    }
}

/// Looks up the names over the code blocks of a reply.
pub(super) fn look_up(file: WorkspaceFileReader<'_>, lines: &[&str]) -> ExistingNames {
    let existing = |name: &str| {
        let path = RelPath::parse(&workspace_root::relative(name)).ok()?;
        file(&path)?;
        Some([name.to_owned(), path.to_string()])
    };
    let first_line = |name: &str| {
        let path = RelPath::parse(&workspace_root::relative(name)).ok()?;
        let text = file(&path)?;
        let first = text.lines().next().unwrap_or_default();
        let count = text.lines().count();
        Some((name.to_owned(), (trim(first).to_owned(), count)))
    };
    // Most lines begin with none of the marks of fences, SEARCH blocks and headings.
    let is_mark = |byte: u8| b"`~<-#*".contains(&byte);
    let may_begin = |at: &usize| lead(lines[*at]).is_some_and(is_mark);
    let marked: Vec<usize> = (0..lines.len()).filter(may_begin).collect();
    let in_comments = names_in_comments(lines, &marked).take(MAX_NAMES);
    let in_comments: HashSet<&str> = in_comments.collect();
    FIRST_LINES.set(in_comments.into_iter().filter_map(first_line).collect());
    let names: HashSet<&str> = doubtful_names(lines, &marked).take(MAX_NAMES).collect();
    NAMES.set(names.into_iter().filter_map(existing).flatten().collect());
    ExistingNames
}

/// Returns true if a text, or the path that it means, is one of the names that the workspace has.
pub(super) fn is_known(text: &str) -> bool {
    NAMES.with_borrow(|names| names.contains(text))
}

/// Returns true if the workspace has the file that a comment at the top of a code block names, and the
/// block has not much fewer lines: an excerpt begins with such a comment, too.
pub(super) fn may_be_whole(name: &str, lines: usize) -> bool {
    FIRST_LINES.with_borrow(|files| {
        files
            .get(name)
            .is_some_and(|(_, count)| lines * 2 >= *count)
    })
}

/// Returns true if such a file begins with this line, so that the comment is part of it.
pub(super) fn begins_with(name: &str, line: &str) -> bool {
    FIRST_LINES.with_borrow(|files| {
        files
            .get(name)
            .is_some_and(|(first, _)| first == trim(line))
    })
}

/// Returns true if a line over a code block names a file only because the workspace has it.
pub(super) fn is_over(line: &str) -> bool {
    names_in(line).any(is_known)
}

/// The names over code blocks and SEARCH blocks, in their fence lines and in headings that may be others
/// than those of files. `marked` are the lines on which any of these may begin.
fn doubtful_names<'a>(lines: &[&'a str], marked: &[usize]) -> impl Iterator<Item = &'a str> {
    let begins = |line: &str| Fence::read(line).is_some() || search_replace::is_head(line);
    let blocks = marked.iter().filter(move |at| begins(lines[**at]));
    let above = blocks.filter_map(|at| filled_above(lines, *at));
    let marked = marked.iter().map(|at| lines[*at]);
    let headings = marked.clone().filter(|line| file_label::is_heading(line));
    let fences = marked.filter_map(Fence::read);
    let in_fences = fences.flat_map(|fence| fence.info.split_whitespace());
    let is_doubtful = |word: &&str| word.contains('.') && !file_name::is_file(word);
    (above.chain(headings).flat_map(names_in)).chain(in_fences.filter(is_doubtful))
}

/// The files that comments on the first lines of code blocks name.
fn names_in_comments<'a>(lines: &[&'a str], marked: &[usize]) -> impl Iterator<Item = &'a str> {
    let fences = marked
        .iter()
        .filter(|at| Fence::read(lines[**at]).is_some());
    let first = fences.filter_map(|at| lines.get(at + 1));
    first.filter_map(|line| whole_file::named_at_top(&[line]))
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
