//! Diffs and SEARCH/REPLACE blocks that stand beside an answer in tags.
//!
//! A model explains its change with a diff, shows the one that made the mistake, or one that it
//! decided against. If its answer is a code block with tags and the end mark, as the instructions ask
//! for, what stands above that is not part of it.

use std::ops::Range;

use agent_protocol::{Command, Edit, FileChange, HunkLine};

use crate::code_fence::{self, Fence};
use crate::trim::is_blank;
use crate::{WorkspaceFileReader, diff, file_name, search_replace};

/// The first line of the code block that the end mark on the line `end` stands in; `blocks` are the
/// lines of commands.
pub(super) fn answer_start(lines: &[&str], blocks: &[Range<usize>], end: usize) -> Option<usize> {
    let below = code_fence::skip_blank(lines, end + 1);
    let close = lines.get(below).and_then(|line| Fence::read(line))?;
    let mut is_taken = vec![false; end];
    for block in blocks {
        let last = block.end.min(end);
        is_taken[block.start.min(last)..last].fill(true);
    }
    let mut above = (0..end).rev().filter(|line| !is_taken[*line]);
    let opened = above.find_map(|line| Some((line, Fence::read(lines[line])?)));
    opened
        .filter(|(_, fence)| close.closes(fence))
        .map(|it| it.0)
}

/// Returns true if the block on these lines is a diff or a SEARCH/REPLACE block.
pub(super) fn is_edit(lines: &[&str], span: &Range<usize>) -> bool {
    first_line(lines, span).is_some()
}

/// The first line of a diff or of a SEARCH/REPLACE block, below its fence and the name of its file.
fn first_line(lines: &[&str], span: &Range<usize>) -> Option<usize> {
    let begins = |line: &usize| search_replace::is_head(lines[*line]) || diff::begins(lines, *line);
    let is_label = |line: &usize| {
        is_blank(lines[*line])
            || Fence::read(lines[*line]).is_some()
            || file_name::word(lines[*line]).is_some()
    };
    let mut inside = span.clone();
    inside
        .find(|line| begins(line) || !is_label(line))
        .filter(begins)
}

/// Returns true if a file has all that an edit would put there.
pub(super) fn is_applied(command: &Command, file: WorkspaceFileReader<'_>) -> bool {
    let has = |text: Option<String>, mut parts: Vec<(String, String)>| {
        let is_there = |text: &str, (old, new): (String, String)| {
            text.contains(&new) && (new.contains(&old) || !text.contains(&old))
        };
        !parts.is_empty() && text.is_some_and(|text| parts.drain(..).all(|it| is_there(&text, it)))
    };
    match command {
        Command::EditFile {
            path,
            edit: Edit::Replace { edits },
        } => {
            let parts = edits
                .iter()
                .map(|it| (it.search.clone(), it.replace.clone()));
            has(file(path), parts.collect())
        }
        Command::ApplyPatch { changes } => changes.iter().all(|change| match change {
            FileChange::Update { path, hunks, .. } => {
                let side = |side: fn(&HunkLine) -> Option<&str>, lines: &[HunkLine]| {
                    lines
                        .iter()
                        .filter_map(side)
                        .map(|line| format!("{line}\n"))
                        .collect()
                };
                let parts = hunks.iter().map(|hunk| {
                    (
                        side(HunkLine::before, &hunk.lines),
                        side(HunkLine::after, &hunk.lines),
                    )
                });
                has(file(path), parts.collect())
            }
            _ => false,
        }),
        _ => false,
    }
}
