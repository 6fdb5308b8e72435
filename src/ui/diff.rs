//! Differences between two versions of a text, in colour.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use super::{escape_line, escape_text};

const HEADER: Style = Style::new().bold();
const PLACE: Style = AnsiColor::Cyan.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// How many equal lines are shown around a change.
const CONTEXT: usize = 3;

/// A unified diff; a version that is missing is `/dev/null`.
pub(super) fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let path = escape_line(path);
    let old = if before.is_some() {
        format!("a/{path}")
    } else {
        "/dev/null".to_owned()
    };
    let new = if after.is_some() {
        format!("b/{path}")
    } else {
        "/dev/null".to_owned()
    };
    let mut text = format!("{HEADER}--- {old}{HEADER:#}\n{HEADER}+++ {new}{HEADER:#}\n");
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let _ = writeln!(text, "{PLACE}{}{PLACE:#}", hunk.header());
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ('-', REMOVED),
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Equal => (' ', Style::new()),
            };
            let line = change.value().trim_end_matches(['\n', '\r']);
            let _ = writeln!(text, "{style}{sign}{}{style:#}", escape_text(line));
            if change.missing_newline() {
                text.push_str("\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// A unified diff that is a text already, in the colours of the other one and escaped.
pub(super) fn colored(diff: &str) -> String {
    let mut text = String::with_capacity(diff.len());
    for line in diff.split_terminator('\n') {
        let style = match line.as_bytes() {
            [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => HEADER,
            [b'@', b'@', ..] => PLACE,
            [b'-', ..] => REMOVED,
            [b'+', ..] => ADDED,
            _ => Style::new(),
        };
        let line = escape_text(line.trim_end_matches('\r'));
        let _ = writeln!(text, "{style}{line}{style:#}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(path: &str, before: Option<&str>, after: Option<&str>) -> String {
        anstream::adapter::strip_str(&unified(path, before, after)).to_string()
    }

    #[test]
    fn a_diff_in_colour_says_the_same() {
        let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n";
        let shown = colored(patch);
        assert!(shown.contains(&format!("{ADDED}+y{ADDED:#}")), "{shown}");
        assert_eq!(anstream::adapter::strip_str(&shown).to_string(), patch);
        assert!(!colored("+\u{1b}[2J").contains("\u{1b}[2J"));
    }

    #[test]
    fn shows_what_changed_as_a_unified_diff() {
        assert_eq!(
            plain("a.txt", Some("one\ntwo\n"), Some("one\n2\n")),
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        );
        assert_eq!(
            plain("a.txt", None, Some("new")),
            "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
        );
    }
}
