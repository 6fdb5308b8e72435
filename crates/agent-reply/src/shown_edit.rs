//! Commands that stand beside an answer in tags.
//!
//! A model explains its change with a diff, shows the one that made the mistake, or one that it
//! decided against. If its answer is a code block with tags and the end mark, as the instructions ask
//! for, what stands above that is not part of it: neither the other dialects nor tags without a code
//! block around them.

use std::ops::Range;

use agent_protocol::{Command, Edit, FileChange, Hunk, HunkLine, RelPath};

use crate::code_fence::{self, Fence};
use crate::trim::is_blank;
use crate::{WorkspaceFileReader, diff, file_name, search_replace};

/// The code block that the end mark stands in.
pub(super) struct AnswerBlock {
    /// The line of its fence.
    pub(super) start: usize,
    /// True if it is a frame as the instructions ask for.
    is_frame: bool,
    /// The lines of the code blocks above it.
    above: Vec<Range<usize>>,
}

impl AnswerBlock {
    /// The code block around the line `end`; `blocks` are the lines of commands.
    pub(super) fn find(lines: &[&str], blocks: &[Range<usize>], end: usize) -> Option<Self> {
        let below = code_fence::skip_blank(lines, end + 1);
        let close = lines.get(below).and_then(|line| Fence::read(line))?;
        let is_taken = code_fence::in_blocks(end, blocks);
        let mut fences = (0..end)
            .filter(|line| !is_taken[*line])
            .filter_map(|line| Some((line, Fence::read(lines[line])?)));
        let (start, fence) = fences.clone().next_back()?;
        let mut above = Vec::new();
        while let Some((first, opened)) = fences.next() {
            let close = fences.find(|(_, fence)| fence.closes(&opened));
            above.extend(close.map(|(last, _)| first..last));
        }
        close.closes(&fence).then_some(Self {
            start,
            is_frame: fence.is_frame(),
            above,
        })
    }

    /// Returns true if a tag on a line above it stands in no code block, although the answer is a frame.
    pub(super) fn leaves_out(&self, line: usize) -> bool {
        let next = self.above.partition_point(|block| block.end <= line);
        let block = self.above.get(next);
        self.is_frame && block.is_none_or(|block| line < block.start)
    }
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

/// Returns true if files have all that an edit would put there, and nothing of what it would remove.
pub(super) fn is_applied(command: &Command, file: WorkspaceFileReader<'_>) -> bool {
    let has_new = |path: &RelPath, parts: &[(String, String)]| {
        let is_there = |text: &str, old: &str, new: &str| {
            text.contains(new) && (new.contains(old) || !text.contains(old))
        };
        let mut parts = parts.iter();
        parts.len() > 0
            && file(path).is_some_and(|text| parts.all(|(old, new)| is_there(&text, old, new)))
    };
    match command {
        Command::EditFile {
            path,
            edit: Edit::Replace { edits },
        } => {
            let edits = edits.iter();
            let parts = edits.map(|edit| (edit.search.clone(), edit.replace.clone()));
            has_new(path, &parts.collect::<Vec<_>>())
        }
        Command::ApplyPatch { changes } => changes.iter().all(|change| match change {
            FileChange::Update { path, hunks, .. } => {
                has_new(path, &hunks.iter().map(both_sides).collect::<Vec<_>>())
            }
            _ => false,
        }),
        _ => false,
    }
}

/// The lines of a hunk before and after the change.
fn both_sides(hunk: &Hunk) -> (String, String) {
    let join = |lines: Vec<&str>| lines.join("\n");
    let (old, new) = (
        hunk.lines.iter().filter_map(HunkLine::before).collect(),
        hunk.lines.iter().filter_map(HunkLine::after).collect(),
    );
    (join(old), join(new))
}
