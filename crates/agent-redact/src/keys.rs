//! Private keys in other dress than PEM: as base64 of it, as kubeconfigs and `base64` write them, and
//! as `PuTTY` keeps them.
//!
//! Lines may be indented, numbered or marked by a diff, as in `pem`. A line that has anything beside
//! its base64 ends a key, so between two marks each byte is looked at a few times at most, however
//! many marks there are.

use std::ops::Range;

use super::Finding;
use super::base64::decode;
use super::pem::{KIND, line_at, line_behind, run};

/// How the base64 of `-----BEGIN ` begins.
pub(super) const ENCODED: &str = "LS0tLS1CRUdJTi";
/// What stands before the secret half of keys in the form of `PuTTY`.
pub(super) const PUTTY: &str = "Private-Lines:";
/// The longest key in one line, as base64 of base64; the longest in use have half of it.
const LONGEST: usize = 20_000;
/// The most lines of a key.
const MAX_LINES: usize = 500;
/// Shorter lines are not broken off from a longer one.
const SHORTEST_LINE: usize = 40;

/// The key whose base64 begins here, if it is that of a private one, and up to where no other does.
pub(super) fn encoded_at(text: &str, start: usize) -> (Option<Finding>, usize) {
    let bytes = &text.as_bytes()[start..];
    if !begins_private_key(bytes) {
        return (None, start);
    }
    let run = bytes.iter().take(LONGEST);
    let length = run
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
        .count();
    let first = start..start + length;
    let rest = lines_behind(text, first.end, MAX_LINES);
    let rest = rest.take_while(|part| part.len() >= SHORTEST_LINE);
    let parts: Vec<Range<usize>> = std::iter::once(first).chain(rest).collect();
    let end = parts.last().map_or(start, |part| part.end);
    (Some(Finding::new(KIND, parts)), end)
}

/// Whether a text begins with the base64 of the first line of a private key.
fn begins_private_key(bytes: &[u8]) -> bool {
    /// Enough for `-----BEGIN ENCRYPTED PRIVATE KEY`, in whole groups of four.
    const HEADER: usize = 44;
    let Some(header) = bytes.get(..HEADER).and_then(decode) else {
        return false;
    };
    let label = b"PRIVATE KEY";
    header.starts_with(b"-----BEGIN ") && header.windows(label.len()).any(|window| window == label)
}

/// The key of `PuTTY` whose number of lines is told behind this place.
pub(super) fn putty_at(text: &str, mark_end: usize) -> Option<Finding> {
    const LONGEST_NUMBER: usize = 4;
    let line = line_at(text, mark_end);
    let number = text[line.clone()].trim();
    if number.len() > LONGEST_NUMBER {
        return None;
    }
    let count = number.parse::<usize>().ok()?.min(MAX_LINES);
    let parts: Vec<Range<usize>> = lines_behind(text, line.end, count).collect();
    let is_key = parts
        .first()
        .is_some_and(|part| part.len() >= SHORTEST_LINE);
    is_key.then(|| Finding::new(KIND, parts))
}

/// The base64 of so many lines behind the one that ends here, as long as they have nothing else.
fn lines_behind(text: &str, end: usize, count: usize) -> impl Iterator<Item = Range<usize>> {
    let end = end + usize::from(text.as_bytes().get(end) == Some(&b'\r'));
    let mut begin = line_behind(text, end);
    let lines = std::iter::from_fn(move || {
        let line = line_at(text, begin?);
        begin = line_behind(text, line.end);
        alone(text, line)
    });
    lines.take(count)
}

/// The base64 of a line, if there is nothing beside it but a number, a mark or a quote.
fn alone(text: &str, line: Range<usize>) -> Option<Range<usize>> {
    let part = run(text, line.clone(), true)?;
    let is_dress = |byte: u8| {
        byte.is_ascii_digit() || byte.is_ascii_whitespace() || b":+-|\"',\\>".contains(&byte)
    };
    let beside = text[line.start..part.start]
        .bytes()
        .chain(text[part.end..line.end].bytes());
    beside.into_iter().all(is_dress).then_some(part)
}
