//! Where a code block that shows a file ends.
//!
//! Blocks inside of it that say their language are passed over. A fence that says nothing closes the
//! block, or it begins or ends one inside of it: what follows decides. In a text, such a fence below
//! leaves both open; in code it does not if it stands apart, as in a reply.

use super::super::code_fence::Fence;
use super::super::file_name;
use super::named::named;
use crate::trim::{is_blank, trim_end};
use crate::work;

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileBlockEnd {
    /// With the fence on this line.
    Closed(usize),
    /// Not before the end of the text.
    Missing,
    /// With one of several fences.
    Uncertain,
}

/// Where the block of this file ends whose fence is the line `at`.
pub(super) fn of(lines: &[&str], at: usize, fence: &Fence<'_>, name: &str) -> FileBlockEnd {
    let Some(close) = close_of(lines, at, fence) else {
        return FileBlockEnd::Missing;
    };
    let may_go_on = may_hold_fences(name, fence);
    let mut after = close + 1;
    while let Some((line, next)) = next_fence(lines, after, fence) {
        if named(lines, line, after, &next).is_some() {
            break;
        }
        let is_apart = !next.info.is_empty() || is_blank(lines[close + 1]) || is_led(lines, line);
        let its_close = (line + 1..lines.len()).find(|line| next.is_closed_by(lines[*line]));
        match its_close {
            Some(its_close) if is_apart && !(may_go_on && next.info.is_empty()) => {
                after = its_close + 1;
            }
            // A block of the reply that is cut.
            None if !may_go_on && !next.info.is_empty() => break,
            _ => return FileBlockEnd::Uncertain,
        }
    }
    FileBlockEnd::Closed(close)
}

/// The line that closes the block; those inside that say their language are passed over.
fn close_of(lines: &[&str], at: usize, fence: &Fence<'_>) -> Option<usize> {
    let mut inner = 0_usize;
    for (index, line) in lines.iter().enumerate().skip(at + 1) {
        work::count(1);
        let Some(other) = Fence::read(line) else {
            continue;
        };
        if other.closes(fence) {
            if inner == 0 {
                return Some(index);
            }
            inner -= 1;
        } else if fence.may_hold(&other) {
            inner += 1;
        }
    }
    None
}

/// The next fence that could be of the block.
fn next_fence<'a>(lines: &[&'a str], from: usize, fence: &Fence<'_>) -> Option<(usize, Fence<'a>)> {
    let lines_below = (from..lines.len()).inspect(|_| work::count(1));
    let fences = lines_below.filter_map(|line| Some((line, Fence::read(lines[line])?)));
    let mut own = fences.filter(|(_, other)| other.closes(fence) || fence.may_hold(other));
    own.next()
}

/// Returns true if the line above, blank ones aside, leads to what follows: `Run it:`.
fn is_led(lines: &[&str], at: usize) -> bool {
    let above = lines[..at]
        .iter()
        .rev()
        .take(2)
        .find(|line| !is_blank(line));
    above.is_some_and(|line| trim_end(line).ends_with(':'))
}

/// Returns true if the file is a text, which may show code itself.
pub(super) fn may_hold_fences(name: &str, fence: &Fence<'_>) -> bool {
    const TEXTS: [&str; 9] = [
        "adoc", "markdown", "md", "mdx", "org", "prompt", "rst", "text", "txt",
    ];
    const WITHOUT_EXTENSION: [&str; 4] = ["README", "CHANGELOG", "LICENSE", "CONTRIBUTING"];
    let is_text = match file_name::extension(name) {
        Some(extension) => TEXTS.contains(&extension.to_ascii_lowercase().as_str()),
        None => WITHOUT_EXTENSION.iter().any(|text| name.ends_with(text)),
    };
    is_text || fence.info.starts_with("md") || fence.info.starts_with("markdown")
}
