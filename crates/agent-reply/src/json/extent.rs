//! Where a JSON value in a reply ends.
//!
//! Goes by brackets and strings only, so that a value with faults is found too. The depth is
//! limited: a line of a million brackets is given up after a few of them, and so is each of a
//! million lines with one.

use super::super::code_fence;
use crate::trim::trim_start;

/// Deeper than any tool call; each bracket deeper than this would be looked at once more from
/// every line that begins with one.
pub(super) const MAX_DEPTH: usize = 32;

/// A place: line and byte in it.
pub(super) type JsonPlace = (usize, usize);

/// How a value ends.
pub(super) enum JsonExtent {
    /// After its last bracket.
    Closed(JsonPlace),
    /// At the fence around it or at a tag, brackets missing.
    Fenced(usize),
    /// At the end of the text.
    Open { lines: usize },
    /// Nothing that JSON could be.
    Invalid,
}

impl JsonExtent {
    /// The text of the value that begins at `start`.
    pub(super) fn text(&self, lines: &[&str], start: JsonPlace) -> Option<String> {
        let (end_line, end_column) = match self {
            Self::Closed(place) => *place,
            Self::Fenced(line) => (*line, 0),
            Self::Open { lines } => (*lines, 0),
            Self::Invalid => return None,
        };
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate().take(end_line + 1).skip(start.0) {
            let from = if index == start.0 { start.1 } else { 0 };
            let to = if index == end_line {
                end_column
            } else {
                line.len()
            };
            text.push_str(line.get(from..to)?);
            if index < end_line {
                text.push('\n');
            }
        }
        Some(text)
    }

    /// The place after the value; column 0 where it ends with a line.
    pub(super) fn end(&self, lines: &[&str]) -> JsonPlace {
        match self {
            Self::Closed(place) => *place,
            Self::Fenced(line) => (*line, 0),
            Self::Open { lines } => (*lines, 0),
            Self::Invalid => (lines.len(), 0),
        }
    }
}

/// Returns true if the line begins with what a plan or a call begins with: `{"`, `[{` or a bracket
/// alone over one of these.
pub(super) fn may_begin(lines: &[&str], at: usize) -> bool {
    if !trim_start(lines[at]).starts_with(['{', '[']) {
        return false;
    }
    let mut characters = lines[at..]
        .iter()
        .take(4)
        .flat_map(|line| line.bytes().chain(std::iter::once(b'\n')))
        .filter(|byte| !byte.is_ascii_whitespace());
    match characters.next() {
        Some(b'{') => matches!(characters.next(), Some(b'"' | b'/')),
        Some(b'[') => {
            characters.next() == Some(b'{') && matches!(characters.next(), Some(b'"' | b'/'))
        }
        _ => false,
    }
}

/// Finds the end of the value that begins at `start`.
pub(super) fn measure(lines: &[&str], start: JsonPlace) -> JsonExtent {
    let mut depth = 0_usize;
    let mut in_string = false;
    for (index, line) in lines.iter().enumerate().skip(start.0) {
        let from = if index == start.0 { start.1 } else { 0 };
        let is_outside = index > start.0 && !in_string;
        if is_outside && (code_fence::is_bare(line) || code_fence::is_tag(line)) {
            return JsonExtent::Fenced(index);
        }
        let bytes = line.as_bytes();
        let mut at = from;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' if in_string => at += 1,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'/' if bytes.get(at + 1) == Some(&b'/') => break,
                b'{' | b'[' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return JsonExtent::Invalid;
                    }
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return JsonExtent::Closed((index, at + 1));
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
    JsonExtent::Open { lines: lines.len() }
}
