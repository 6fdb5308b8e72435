//! SEARCH/REPLACE blocks, as aider, Cline and Roo taught them to models.
//!
//! ```text
//! block   = head [":start_line:" number] [":end_line:" number] ["-------"]
//!           line* divider line* tail
//! head    = 3..40 "<" or "-", "SEARCH" or "ORIGINAL", [">"] [path]
//! divider = 3..9 "=", or as many as the head has
//! tail    = 3..40 ">" or "+", "REPLACE" or "UPDATED", [">"]
//! ```
//!
//! The file is named by the head, by a line above it (a fence may stand between), by the fence
//! line, or else it is the one of the block before. A line of the contents that would be a marker
//! is written with a backslash before it. Where it is not certain which line is the divider, the
//! block is a problem: nothing here guesses.

mod block;
mod markers;

use agent_protocol::{Command, Edit, RelPath, Replacement};

use super::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use super::code_fence::{self, Fence};
use super::tags::copy_button;
use super::{file_name, workspace_root};
use crate::trim::{is_blank, trim, trim_start};
use block::{EditBlock, EditBlockEnd};

/// How many lines above a block are looked at for the name of its file.
const LINES_ABOVE: usize = 6;

/// The block whose head is the line `at`; `inherited` is the file of the block before.
pub(super) fn find(
    lines: &[&str],
    at: usize,
    inherited: Option<&RelPath>,
) -> Option<BlockCandidate> {
    let head = markers::head(lines[at])?;
    let above = look_above(lines, at);
    let block = EditBlock::read(lines, at, &head);
    let end = match block.ending {
        EditBlockEnd::Tail => block.end,
        EditBlockEnd::NextHead => above_next(lines, at, block.end),
        EditBlockEnd::EndOfText => above
            .fence
            .and_then(|fence| first(lines, at + 1, |line| fence.is_closed_by(line)))
            .or_else(|| first(lines, at + 1, code_fence::is_tag))
            .unwrap_or(block.end),
    };
    let open = block.ending == EditBlockEnd::EndOfText && end == lines.len();
    let name = head.name.or(above.name);
    let item = match (block.replacement, name, inherited) {
        (Err(trouble), ..) => problem(trouble),
        (Ok(replacement), Some(name), _)
            if replacement.search.is_empty() && !file_name::is_unmistakable(name) =>
        {
            problem(no_certain_name(name))
        }
        (Ok(replacement), Some(name), _) => edit_of(name, replacement),
        (Ok(replacement), None, Some(path)) => edit(path.clone(), replacement),
        (Ok(_), None, None) => problem(no_file_name()),
    };
    let end = match lines.get(end) {
        Some(line) if closes(above.fence, line) => end + 1,
        _ => end,
    };
    Some(BlockCandidate {
        span: above.start..end,
        items: vec![item],
        certainty: BlockCertainty::open_if(open),
    })
}

/// Returns true if the line opens a block.
pub(super) fn is_head(line: &str) -> bool {
    markers::head(line).is_some()
}

/// Returns true if the line begins a conflict as git writes it, which is no block.
pub(super) fn is_conflict(line: &str) -> bool {
    markers::is_conflict_marker(line) && line.starts_with('<') && !is_head(line)
}

/// Returns true if the line ends a block.
pub(super) fn is_tail(line: &str) -> bool {
    markers::is_tail(line)
}

/// The blocks in the body of a command that names the file itself; `None` without any.
pub(super) fn parse_body(body: &str) -> Option<Result<Vec<Replacement>, BlockTrouble>> {
    let lines: Vec<&str> = body.lines().collect();
    let mut replacements = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(head) = markers::head(lines[at]) else {
            at += 1;
            continue;
        };
        let block = EditBlock::read(&lines, at, &head);
        match block.replacement {
            Ok(replacement) => replacements.push(replacement),
            Err(trouble) => return Some(Err(trouble)),
        }
        at = block.end;
    }
    (!replacements.is_empty()).then_some(Ok(replacements))
}

/// Lines above the head of a block.
#[derive(Default)]
struct Above<'a> {
    name: Option<&'a str>,
    fence: Option<Fence<'a>>,
    /// The first line that belongs to the block.
    start: usize,
}

fn look_above<'a>(lines: &[&'a str], at: usize) -> Above<'a> {
    let mut above = Above {
        start: at,
        ..Above::default()
    };
    let (mut first, mut has_button) = (at, false);
    for index in (at.saturating_sub(LINES_ABOVE)..at).rev() {
        let line = lines[index];
        if is_blank(line) {
            continue;
        }
        let is_button = copy_button::is_button(trim(line));
        if index + 1 == first && (is_button || (has_button && copy_button::is_language(trim(line))))
        {
            (first, has_button) = (index, true);
            above.start = index;
            continue;
        }
        if let Some(fence) = Fence::read(line) {
            if index + 1 == first {
                above.fence = Some(fence);
                above.start = index;
            }
            above.name = file_name::in_info(fence.info);
        } else if !is_source_tag(line) {
            above.name = named_by(line, above.start == index + 1);
            if above.name.is_some() {
                above.start = index;
                above.fence = above.fence.or_else(|| fence_above(lines, index));
                if above.fence.is_some() && above.start == index {
                    above.start = start_with_fence(lines, index);
                }
            }
            break;
        }
        if above.name.is_some() {
            break;
        }
    }
    above
}

/// A name on the line directly above, but for a fence, needs no slash and no extension.
fn named_by(line: &str, directly: bool) -> Option<&str> {
    let alone = file_name::alone(line).or_else(|| file_name::in_sentence(line));
    alone.or_else(|| {
        file_name::word(line)
            .filter(|_| directly)
            .filter(|word| !copy_button::is_language(word))
    })
}

/// The fence over a name that stands inside the code block.
fn fence_above<'a>(lines: &[&'a str], name: usize) -> Option<Fence<'a>> {
    Fence::read(lines.get(name.checked_sub(1)?)?).filter(|fence| !fence.info.is_empty())
}

fn start_with_fence(lines: &[&str], name: usize) -> usize {
    if fence_above(lines, name).is_some() {
        name - 1
    } else {
        name
    }
}

/// Other fences that aider asks for: `<source>`, `<code>`, `<pre>`.
fn is_source_tag(line: &str) -> bool {
    let text = trim(line);
    ["<source", "<code", "<pre", "</source", "</code", "</pre"]
        .iter()
        .any(|tag| text.starts_with(tag))
}

/// Where an unfinished block ends: before what names the file of the next one.
fn above_next(lines: &[&str], at: usize, next: usize) -> usize {
    let start = at + 1 + look_above(&lines[at + 1..], next - at - 1).start;
    start.min(next)
}

fn first(lines: &[&str], from: usize, is_end: impl Fn(&str) -> bool) -> Option<usize> {
    let found = lines.iter().skip(from).position(|line| is_end(line))?;
    Some(from + found)
}

fn closes(fence: Option<Fence<'_>>, line: &str) -> bool {
    match fence {
        Some(fence) => fence.is_closed_by(line),
        None => code_fence::is_bare(line) || trim_start(line).starts_with("</source>"),
    }
}

fn edit_of(name: &str, replacement: Replacement) -> CandidateItem {
    match RelPath::parse(&workspace_root::relative(name)) {
        Ok(path) => edit(path, replacement),
        Err(refused) => problem(BlockTrouble::new(
            format!("the SEARCH/REPLACE block cannot be used: {refused}"),
            "name the file relative to the workspace, on the line above the block",
        )),
    }
}

fn edit(path: RelPath, replacement: Replacement) -> CandidateItem {
    CandidateItem::Command(Command::EditFile {
        path,
        edit: Edit::Replace {
            edits: vec![replacement],
        },
    })
}

fn problem(trouble: BlockTrouble) -> CandidateItem {
    CandidateItem::Problem(trouble.of("EDIT_FILE"))
}

fn no_file_name() -> BlockTrouble {
    BlockTrouble::new(
        "the SEARCH/REPLACE block does not say which file it changes",
        "write the path of the file alone on the line above the block",
    )
}

fn no_certain_name(name: &str) -> BlockTrouble {
    BlockTrouble::new(
        format!("an empty SEARCH makes a new file, and `{name}` above it may be only a word"),
        format!("send it as `[CREATE_FILE path=\"...\"]`, with `{name}` if that is the file"),
    )
}

#[cfg(test)]
mod tests;
