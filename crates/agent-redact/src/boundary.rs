//! Word boundaries.
//!
//! A letter before a word makes it the end of a longer word, unless that letter belongs to an
//! escape (as source code and JSON write line breaks and quotes) or to a terminal colour.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// `\n` and similar, `%22`, `\x22`, `\u0022`, `\042`; `[31m` behind an escape character in any
/// notation.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    let hex = "[0-9A-Fa-f]";
    let escapes = format!(r"\\[nrtbfvae0]|%{hex}{{2}}|\\x{hex}{{2}}|\\u{hex}{{4}}|\\[0-7]{{3}}");
    let pattern = format!(r"(?-u)(?:{escapes}|\[[0-9;]{{0,20}}m)\z");
    Regex::new(&pattern).expect("the pattern is sound; a test uses it")
});

/// Returns true if a letter or digit of the same word precedes this position.
pub(super) fn is_within_word(bytes: &[u8], start: usize) -> bool {
    const LONGEST: usize = 22;
    let before = &bytes[..start.min(bytes.len())];
    let escape = &before[before.len().saturating_sub(LONGEST)..];
    before.last().is_some_and(u8::is_ascii_alphanumeric) && !ESCAPE.is_match(escape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(before: &str, expected: bool) {
        let text = format!("{before}ghp_");
        assert_eq!(
            is_within_word(text.as_bytes(), before.len()),
            expected,
            "{before}"
        );
    }

    #[test]
    fn an_escape_or_a_colour_is_no_beginning_of_a_word() {
        for before in [
            "",
            "\"",
            "é",
            "a\\n",
            "\\t",
            "\\x00",
            "\\u0022",
            "%22",
            "%3D",
            "\\033",
            "[0m",
            "\u{1b}[1;31m",
            "_",
        ] {
            case(before, false);
        }
        for before in ["x", "n", "22", "u0022", "% 22", "am", "1m", "\\z", "\\nx"] {
            case(before, true);
        }
    }
}
