//! Diffs and SEARCH/REPLACE blocks that stand beside an answer in tags.
//!
//! A model explains its change with a diff, shows the one that made the mistake, or one that it
//! decided against. What it does stands in its tags; a block in a code block of its own is not.

use std::ops::Range;

use agent_protocol::{Command, Edit, FileChange, HunkLine};

use crate::code_fence::{self, Fence};
use crate::trim::is_blank;
use crate::{WorkspaceFileReader, diff, file_name, search_replace};

/// How many lines above a block may stand between it and its fence.
const MOST_ABOVE: usize = 6;

/// How many lines below a block are searched for the end of its code block.
const MOST_BELOW: usize = 2_000;

/// Returns true if the block on these lines is a diff or a SEARCH/REPLACE block in a code block
/// without the end mark on the line `end` and without tags.
pub(super) fn is_apart(lines: &[&str], span: &Range<usize>, end: usize) -> bool {
    let Some(first) = first_line(lines, span) else {
        return false;
    };
    let is_label = |line: usize| is_blank(lines[line]) || file_name::word(lines[line]).is_some();
    let above = first.saturating_sub(MOST_ABOVE)..first;
    let opened = above.rev().find(|line| !is_label(*line));
    let Some((opened, fence)) = opened.and_then(|at| Some((at, Fence::read(lines[at])?))) else {
        return false;
    };
    let below = span.end.saturating_sub(1).max(first)..lines.len();
    let mut below = below.take(MOST_BELOW);
    let Some(close) = below.find(|line| fence.is_closed_by(lines[*line])) else {
        return false;
    };
    let mut others = (opened..close).filter(|line| !span.contains(line));
    !(opened..close).contains(&end) && !others.any(|line| code_fence::is_tag(lines[line]))
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
