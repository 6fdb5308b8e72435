//! Unified diffs, as `diff -u`, git and models write them.
//!
//! ```text
//! diff   = (junk* file)+
//! file   = ["Index: " name] ["diff " words] extended* ["--- " name] ["+++ " name] hunk*
//! hunk   = "@@" ["-" start ["," count] " +" start ["," count] " @@"] [words]
//!          (" " line | "-" line | "+" line | "\" words | empty)+
//! ```
//!
//! Inside a fence or the body of a command the `@@` line of a file's only hunk may be missing.
//! Counts say where a hunk ends if they fit the marks of the lines; where they disagree the marks
//! decide. So a deleted line `-- x`, which reads `--- x`, is told from a header. An empty line is a
//! context line whose space was lost. Lines between the files belong to the diff inside a fence;
//! outside only what mail and version control write there does.
//!
//! One thing that is wrong makes the whole diff a problem: it is applied whole or not at all. Which
//! of two names is meant is decided without looking at the workspace; see `name`.

mod build;
mod header;
pub(super) mod hunk;
mod name;
mod reader;

use agent_protocol::{Command, FileChange, RelPath};

use super::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use super::code_fence::{self, Enclosure};
use super::{file_name, script, workspace_root};
use crate::trim::is_blank;
use reader::{DiffReader, DiffSurroundings};

/// The diff that begins on the line `at`.
pub(super) fn find(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    if !reader::begins(lines, at) {
        return None;
    }
    let enclosure = code_fence::open_after(&lines[..at]);
    // The line above may be the fence itself, with a command as its info.
    let inside = enclosure.map_or(0, |enclosure| enclosure.line + 1);
    let start = start_of(lines, at).max(inside);
    let frame = enclosure.filter(|enclosure| is_of_diff(enclosure, lines, start));
    let surroundings = match frame {
        Some(_) => DiffSurroundings::Own,
        None => DiffSurroundings::Mixed,
    };
    let name = named_above(lines, frame.map_or(start, |frame| frame.line));
    let fence = enclosure.map(|enclosure| enclosure.fence);
    let mut reader = DiffReader::new(lines, at, fence, surroundings);
    let files = reader.read();
    let block = code_fence::widen(lines, start..reader.at, enclosure);
    let at_end = code_fence::skip_blank(lines, block.end) == lines.len();
    let unfinished = enclosure.is_some() || !reader.is_complete;
    let path = name.and_then(|name| RelPath::parse(&workspace_root::relative(name)).ok());
    Some(BlockCandidate {
        certainty: BlockCertainty::open_if(at_end && block.end == reader.at && unfinished),
        span: block,
        items: vec![CandidateItem::of(
            "APPLY_PATCH",
            build::changes(files, path.as_ref()).map(|changes| Command::ApplyPatch { changes }),
        )],
    })
}

/// Returns true if a diff begins on this line.
pub(super) fn begins(lines: &[&str], at: usize) -> bool {
    reader::begins(lines, at)
}

/// Returns true if the last hunk of a diff has the lines that its header counts, and nothing
/// follows it.
pub(super) fn ends_as_counted(lines: &[&str]) -> bool {
    let last = lines.iter().rposition(|line| line.starts_with("@@"));
    last.is_some_and(|at| hunk::is_as_counted(&lines[at..]))
}

/// The changes of a diff in the body of a command; `path` is the file of a diff without a header.
pub(super) fn parse_body(
    body: &str,
    path: Option<&RelPath>,
) -> Result<Vec<FileChange>, BlockTrouble> {
    let lines: Vec<&str> = body.lines().collect();
    let Some(start) = (0..lines.len()).find(|at| reader::begins_body(&lines, *at)) else {
        return Err(not_a_diff(&lines));
    };
    let fence = code_fence::open_after(&lines[..start]).map(|enclosure| enclosure.fence);
    let files = DiffReader::new(&lines, start, fence, DiffSurroundings::Own).read();
    build::changes(files, path)
}

/// Returns true if a code block is there for the diff and not around the whole reply.
fn is_of_diff(enclosure: &Enclosure<'_>, lines: &[&str], start: usize) -> bool {
    let language = enclosure
        .fence
        .info
        .split_whitespace()
        .next()
        .unwrap_or_default();
    matches!(language, "diff" | "patch")
        || lines[enclosure.line + 1..start]
            .iter()
            .all(|line| is_blank(line))
}

/// A line such as `diff -u a b` or `git apply <<'EOF'` directly above belongs to the diff.
fn start_of(lines: &[&str], at: usize) -> usize {
    match at.checked_sub(1).map(|above| lines[above]) {
        Some(line) if line.starts_with("diff ") || script::feeds_patch(line) => at - 1,
        _ => at,
    }
}

/// The file that the line above a diff names, for one that begins with a hunk.
fn named_above<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    let info = lines
        .get(at)
        .and_then(|line| code_fence::Fence::read(line))
        .and_then(|fence| file_name::in_info(fence.info));
    let above = lines[..at]
        .iter()
        .rev()
        .take(2)
        .find(|line| !is_blank(line));
    info.or_else(|| {
        above.and_then(|line| file_name::alone(line).or_else(|| file_name::in_sentence(line)))
    })
}

fn not_a_diff(lines: &[&str]) -> BlockTrouble {
    let is_normal = lines
        .iter()
        .any(|line| line.starts_with("< ") || line.starts_with("> "));
    let message = if is_normal {
        "the patch is a diff without context (`<` and `>` lines), which cannot be placed safely"
    } else {
        "the patch is neither a unified diff nor a `*** Begin Patch` envelope"
    };
    BlockTrouble::new(message, unified_hint())
}

fn unified_hint() -> String {
    "send a unified diff (`--- a/path`, `+++ b/path`, `@@ -1,3 +1,4 @@`) or a `*** Begin Patch` envelope".to_owned()
}

#[cfg(test)]
mod tests;
