//! Private keys between `-----BEGIN ... PRIVATE KEY-----` and `-----END`.
//!
//! The two lines stay, for they tell what it is; what stands between them is the secret, line by
//! line, so that the number of lines stays. Lines may be indented, numbered, quoted or marked by a
//! diff: of each only the run of base64 counts. A block whose begin or end was cut off is found too.

use std::ops::Range;

use super::Finding;

/// What the finding is called.
pub(super) const KIND: &str = "private-key";
/// The most lines of a block; the longest keys in use have about a hundred.
const MAX_LINES: usize = 500;
/// How far a line is looked for, in bytes: the longest keys fit into it as one line.
const MAX_LINE: usize = 20_000;
/// Shorter runs are words, unless they stand before the end line.
const SHORTEST_RUN: usize = 40;

/// The key whose first line begins at this place in the text.
pub(super) fn beginning_at(text: &str, start: usize) -> Option<Finding> {
    let label = label(&text[start..], "-----BEGIN ")?;
    let header = line_at(text, start);
    let body = start + "-----BEGIN ".len() + label.len() + "-----".len();
    if let Some(end) = text[body..header.end].find("-----END ") {
        return in_one_line(text, body..body + end);
    }
    let mut parts = Vec::new();
    let mut next = header.end + 1;
    for _ in 0..MAX_LINES {
        if !text.is_char_boundary(next) || next >= text.len() {
            break;
        }
        let line = line_at(text, next);
        let content = &text[line.clone()];
        if content.contains("-----END ") || content.contains("-----BEGIN ") {
            break;
        }
        let after = line.end + 1;
        let ends = after < text.len()
            && text.is_char_boundary(after)
            && text[line_at(text, after)].contains("-----END ");
        match run(text, line.clone(), ends) {
            Some(part) => parts.push(part),
            None if may_stand_between(content) => {}
            None => break,
        }
        next = after;
    }
    finding(parts)
}

/// The key that ends with the line at this place, if its beginning was cut off.
pub(super) fn ending_at(text: &str, start: usize) -> Option<Finding> {
    label(&text[start..], "-----END ")?;
    let mut parts = Vec::new();
    let mut end = line_before(text, start).start.checked_sub(1)?;
    for _ in 0..MAX_LINES {
        let begin = line_before(text, end).start;
        if text[begin..end].contains("-----BEGIN ") {
            // That one is found from its beginning.
            return None;
        }
        match run(text, begin..end, parts.is_empty()) {
            Some(part) => parts.push(part),
            None => break,
        }
        if begin == 0 {
            break;
        }
        end = begin - 1;
    }
    parts.reverse();
    finding(parts)
}

/// What kind of private key a line says it begins or ends.
fn label<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    const LONGEST: usize = 40;
    let rest = line.strip_prefix(mark)?;
    let rest = &rest[..rest.floor_char_boundary(LONGEST + "-----".len())];
    let (label, _) = rest.split_once("-----")?;
    let is_private = label.ends_with("PRIVATE KEY") || label == "PGP PRIVATE KEY BLOCK";
    (is_private && !label.contains('\n')).then_some(label)
}

fn finding(parts: Vec<Range<usize>>) -> Option<Finding> {
    let is_key = parts.iter().any(|part| part.len() >= SHORTEST_RUN);
    is_key.then_some(Finding { kind: KIND, parts })
}

/// A key within a string: its lines are joined by `\n` as written in source text.
fn in_one_line(text: &str, body: Range<usize>) -> Option<Finding> {
    let is_fine = |byte: u8| is_base64(byte) || matches!(byte, b'\\' | b'n' | b'r' | b' ');
    let content = &text[body.clone()];
    let fits = content.len() >= SHORTEST_RUN && content.bytes().all(is_fine);
    fits.then(|| Finding {
        kind: KIND,
        parts: vec![body],
    })
}

/// The line from this place to its end, without the line break.
fn line_at(text: &str, start: usize) -> Range<usize> {
    let reach = text.floor_char_boundary(start.saturating_add(MAX_LINE));
    let end = text[start..reach].find('\n').map_or(reach, |at| start + at);
    start..end
}

/// The line up to this place.
fn line_before(text: &str, end: usize) -> Range<usize> {
    let reach = text
        .ceil_char_boundary(end.saturating_sub(MAX_LINE))
        .min(end);
    let start = text[reach..end]
        .rfind('\n')
        .map_or(reach, |at| reach + at + 1);
    start..end
}

/// What may stand between the lines of a key: nothing, or a header such as `Proc-Type: 4`.
fn may_stand_between(line: &str) -> bool {
    let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '+' | '-' | '"'));
    let is_header = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:"];
    line.is_empty()
        || line
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == ':')
            .is_empty()
        || is_header.iter().any(|header| line.contains(header))
}

/// The longest run of base64 in a line, if it is long enough to be a line of a key.
fn run(text: &str, line: Range<usize>, is_last: bool) -> Option<Range<usize>> {
    let bytes = &text.as_bytes()[line.clone()];
    let mut best = 0..0;
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..]
            .iter()
            .take_while(|byte| is_base64(**byte))
            .count();
        // The mark of a diff is no part of the key, though it is a sign of base64.
        let mark = usize::from(at == 0 && length > 1 && bytes[0] == b'+');
        if length - mark > best.len() {
            best = at + mark..at + length;
        }
        at += length + 1;
    }
    let shortest = if is_last { 2 } else { SHORTEST_RUN };
    (best.len() >= shortest).then(|| line.start + best.start..line.start + best.end)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}
