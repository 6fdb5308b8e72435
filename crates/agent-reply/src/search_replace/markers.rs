//! The three marker lines of a SEARCH/REPLACE block.

use std::ops::RangeInclusive;

use super::file_name;
use crate::trim::trim;

/// How many characters a marker has.
const LENGTH: RangeInclusive<usize> = 3..=40;

/// How many characters a divider has that is not as long as its head: longer ones underline headings.
const SHORT: RangeInclusive<usize> = 3..=9;

/// The first line of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head<'a> {
    /// How many characters its marker has: its divider should have as many.
    pub(super) length: usize,
    /// The file, where it stands behind the word.
    pub(super) name: Option<&'a str>,
}

/// Reads `<<<<<<< SEARCH` and its like.
pub(super) fn head(line: &str) -> Option<Head<'_>> {
    let (length, rest) = marker(line, b"<-", &["SEARCH", "ORIGINAL"])?;
    let rest = rest.strip_prefix('>').unwrap_or(rest).trim();
    let name = match rest {
        "" => None,
        name => Some(file_name::alone(name)?),
    };
    Some(Head { length, name })
}

/// Returns true if the line is `>>>>>>> REPLACE` or its like.
pub(super) fn is_tail(line: &str) -> bool {
    marker(line, b">+", &["REPLACE", "UPDATED"])
        .is_some_and(|(_, rest)| matches!(rest.trim(), "" | ">"))
}

/// The length of a line of nothing but `=`, in a block with a head of this length.
pub(super) fn divider(line: &str, head: usize) -> Option<usize> {
    let text = trim(line);
    let is_meant = SHORT.contains(&text.len()) || (text.len() == head && text.len() > 2);
    (is_meant && text.bytes().all(|byte| byte == b'=')).then_some(text.len())
}

/// Returns true if the line is the rule under Roo's `:start_line:`.
pub(super) fn is_rule(line: &str) -> bool {
    let text = trim(line);
    SHORT.contains(&text.len()) && text.bytes().all(|byte| byte == b'-')
}

/// A line of the contents, without the backslash that keeps it from being a marker.
pub(super) fn unescape(line: &str) -> &str {
    let Some(rest) = line.strip_prefix('\\') else {
        return line;
    };
    let is_marker = head(rest).is_some()
        || is_tail(rest)
        || divider(rest, 0).is_some()
        || is_rule(rest)
        || is_conflict_marker(rest)
        || rest.starts_with(":start_line:")
        || rest.starts_with(":end_line:");
    if is_marker { rest } else { line }
}

/// Returns true if the line begins or ends a conflict as git writes it: models are taught to escape
/// them.
pub(super) fn is_conflict_marker(line: &str) -> bool {
    ["<<<<<<<", ">>>>>>>"].iter().any(|mark| {
        line.strip_prefix(mark)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

/// A run of one of these characters, white space, one of these words; gives the run's length and
/// what follows.
fn marker<'a>(line: &'a str, characters: &[u8], words: &[&str]) -> Option<(usize, &'a str)> {
    let text = trim(line);
    let first = text.bytes().next()?;
    if !characters.contains(&first) {
        return None;
    }
    let length = text.bytes().take_while(|byte| *byte == first).count();
    if !LENGTH.contains(&length) {
        return None;
    }
    let after = text[length..].trim_start();
    words.iter().find_map(|word| {
        let start = after.get(..word.len())?;
        let rest = &after[word.len()..];
        let ends = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        (start.eq_ignore_ascii_case(word) && ends).then_some((length, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_markers_that_are_seen() {
        for line in [
            "<<<<<<< SEARCH",
            "<<<<<<< SEARCH>",
            "<<< SEARCH",
            "<<<<<<<<< SEARCH ",
            "<<<<<<<SEARCH",
            "------- SEARCH",
            "<<<<<<< ORIGINAL",
            "  <<<<<<< SEARCH",
        ] {
            assert!(head(line).is_some(), "{line}");
        }
        assert_eq!(head("<<<<<<< SEARCH a/b.py").unwrap().name, Some("a/b.py"));
        for line in [
            "<< SEARCH",
            "<<<<<<< HEAD",
            "<<<<<<< SEARCHING",
            "<<<<<<< SEARCH for this",
            "\\<<<<<<< SEARCH",
            "",
        ] {
            assert!(head(line).is_none(), "{line}");
        }
        for line in [
            ">>>>>>> REPLACE",
            "+++++++ REPLACE",
            ">>>>>>> UPDATED",
            ">>> REPLACE>",
        ] {
            assert!(is_tail(line), "{line}");
        }
        assert_eq!(divider("======= ", 7), Some(7));
        assert_eq!(divider("==========", 7), None);
        assert_eq!(divider("==========", 10), Some(10));
    }

    #[test]
    fn only_a_marker_loses_its_backslash() {
        assert_eq!(unescape("\\======="), "=======");
        assert_eq!(unescape("\\<<<<<<< SEARCH"), "<<<<<<< SEARCH");
        assert_eq!(unescape("\\:start_line:1"), ":start_line:1");
        assert_eq!(unescape("\\section"), "\\section");
        assert_eq!(unescape("\\--"), "\\--");
        assert_eq!(unescape("\\>>>>>>> theirs"), ">>>>>>> theirs");
        for line in [
            "\\--- not a rule",
            "\\+++ text",
            "\\=== text",
            "\\<<<a",
            "\\<<<<<<<<<<",
            "\\>>> print()",
        ] {
            assert_eq!(unescape(line), line);
        }
    }
}
