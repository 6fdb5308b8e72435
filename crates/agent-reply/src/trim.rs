//! Trimming and splitting of lines, quick where they are ASCII.
//!
//! The parser looks at each line of a reply a dozen times, mostly at its first character that is
//! not white space. These give what the methods of `str` give; only the way there is shorter.

/// The lines of a text, without an empty one behind the last line end.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut lines = split(text);
    lines.pop_if(|last| last.is_empty());
    lines
}

/// The parts of a text between its line ends, the first and the last one included.
pub(super) fn split(text: &str) -> Vec<&str> {
    // Counting costs little; growing, where most lines are blank, costs much.
    let count = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let mut lines = Vec::with_capacity(count + 1);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
        lines.push(&text[start..end]);
        start = end + 1;
    }
    lines.push(&text[start..]);
    lines
}

/// The parts of a text between its line ends, one after the other.
pub(super) fn each_line(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    let mut start = 0;
    ends.map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
}

/// The text of these lines, each with its line end.
pub(super) fn text_of(lines: &[&str]) -> String {
    let mut text = String::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The first byte of a line that is not white space.
#[inline]
pub(super) fn lead(line: &str) -> Option<u8> {
    trim_start(line).bytes().next()
}

/// A line without white space at its ends.
#[inline]
pub(super) fn trim(line: &str) -> &str {
    trim_end(trim_start(line))
}

/// A line without white space at its beginning.
#[inline]
pub(super) fn trim_start(line: &str) -> &str {
    let start = line.bytes().position(|byte| !is_white(byte));
    let rest = &line[start.unwrap_or(line.len())..];
    match rest.as_bytes().first() {
        Some(byte) if !byte.is_ascii() => rest.trim_start(),
        _ => rest,
    }
}

/// A line without white space at its end.
#[inline]
pub(super) fn trim_end(line: &str) -> &str {
    let last = line.bytes().rposition(|byte| !is_white(byte));
    let rest = &line[..last.map_or(0, |last| last + 1)];
    match rest.as_bytes().last() {
        Some(byte) if !byte.is_ascii() => rest.trim_end(),
        _ => rest,
    }
}

/// Returns true if a line is only white space.
#[inline]
pub(super) fn is_blank(line: &str) -> bool {
    trim_start(line).is_empty()
}

/// The line above this one, or the one above that if it is blank.
pub(super) fn filled_above<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    let mut above = lines[..at].iter().rev().take(2);
    above.find(|line| !is_blank(line)).copied()
}

/// The white space of ASCII, as `char::is_whitespace` knows it.
#[inline]
fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn give_what_the_standard_library_gives(
            text in "[ \\t\\x0b\\x0c\\r\u{a0}\u{85}\u{200b}\u{2003}\u{3000}a\u{e9}\n]{0,12}",
        ) {
            prop_assert_eq!(trim(&text), text.trim());
            prop_assert_eq!(trim_start(&text), text.trim_start());
            prop_assert_eq!(trim_end(&text), text.trim_end());
            prop_assert_eq!(is_blank(&text), text.trim().is_empty());
            prop_assert_eq!(split(&text), text.split('\n').collect::<Vec<_>>());
            prop_assert_eq!(split(&text), each_line(&text).collect::<Vec<_>>());
            prop_assert_eq!(lead(&text), text.trim_start().bytes().next());
            prop_assert_eq!(lines(&text), text.split_terminator('\n').collect::<Vec<_>>());
        }
    }
}
