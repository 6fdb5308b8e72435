//! Line ends of other systems.
//!
//! A carriage return goes where it is certainly a part of the line end: before every line feed of
//! the text, or in place of all of them. So do the line separators of Unicode, which some editors put
//! in place of all line ends. A text with both kinds of line ends keeps them, because there they may be
//! what a file is meant to contain.

use memchr::{memchr, memchr_iter, memmem};

use super::{RepairedLines, RepairedText, repaired};

pub(super) fn repair(text: &str) -> RepairedText {
    const SEPARATORS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    let bytes = text.as_bytes();
    let has_returns = memchr(b'\r', bytes).is_some();
    if !has_returns && (memchr(b'\n', bytes).is_some() || !text.contains(SEPARATORS)) {
        return None;
    }
    let feeds = memchr_iter(b'\n', bytes).count();
    let (plain, what) = if !has_returns {
        (
            text.replace(SEPARATORS, "\n"),
            "turned line separators into line ends",
        )
    } else if feeds == 0 {
        (
            text.replace('\r', "\n"),
            "turned carriage returns into line ends",
        )
    } else if memmem::find_iter(bytes, b"\r\n").count() == feeds {
        (without_returns(text), "turned CRLF line ends into LF")
    } else {
        return None;
    };
    let count = memchr_iter(b'\n', plain.as_bytes()).count();
    repaired(plain, what, count, RepairedLines::Nothing)
}

fn without_returns(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        plain.push_str(line.trim_end_matches(['\r', '\n']));
        if line.ends_with('\n') {
            plain.push('\n');
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: Option<&str>) {
        let repaired = repair(text).map(|(repaired, _)| repaired);
        assert_eq!(repaired.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn every_line_end_or_none() {
        case("a\r\nb\r\n", Some("a\nb\n"));
        case("a\r\r\nb\r\r\nc", Some("a\nb\nc"));
        case("a\rb\r", Some("a\nb\n"));
        case("a\nb\r\n", None);
        case("a\nb", None);
        case("a\u{2028}b\u{2029}c\u{85}", Some("a\nb\nc\n"));
        case("a\u{2028}b\n", None);
        case("a\r\nb\rc\r\n", Some("a\nb\rc\n"));
    }
}
