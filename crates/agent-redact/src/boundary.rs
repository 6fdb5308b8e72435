//! Word boundaries.
//!
//! A letter before a word makes it the end of a longer word, unless that letter belongs to an
//! escape (as source code and JSON write line breaks and quotes) or to a terminal colour.

/// Returns true if a letter or digit of the same word precedes this position.
pub(super) fn is_within_word(bytes: &[u8], start: usize) -> bool {
    let before = &bytes[..start.min(bytes.len())];
    before.last().is_some_and(u8::is_ascii_alphanumeric)
        && !ends_with_escape(before)
        && !ends_with_colour(before)
}

/// `\n` and similar, `\x22`, `\u0022`, `%22`, `\042`.
fn ends_with_escape(before: &[u8]) -> bool {
    let ends = |mark: &[u8], digits: usize, is_digit: fn(&u8) -> bool| {
        before
            .len()
            .checked_sub(digits)
            .is_some_and(|at| before[..at].ends_with(mark) && before[at..].iter().all(is_digit))
    };
    ends(b"\\", 1, |byte| b"nrtbfvae0".contains(byte))
        || ends(b"%", 2, u8::is_ascii_hexdigit)
        || ends(b"\\x", 2, u8::is_ascii_hexdigit)
        || ends(b"\\u", 4, u8::is_ascii_hexdigit)
        || ends(b"\\", 3, |byte| (b'0'..=b'7').contains(byte))
}

/// A terminal colour code before a word: `[31m` after an escape character in any notation.
fn ends_with_colour(before: &[u8]) -> bool {
    const LONGEST: usize = 20;
    let Some((b'm', rest)) = before.split_last() else {
        return false;
    };
    let numbers = rest.iter().rev().take(LONGEST);
    let length = numbers
        .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
        .count();
    rest[..rest.len() - length].ends_with(b"[")
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
