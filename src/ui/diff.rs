//! Differences between two versions of a text, in colour.

use std::fmt::Write as _;
use std::time::Duration;

use agent_files::line_diff::{DiffNames, LineDiff};
use anstyle::Style;

use super::palette::{BOLD, CYAN, GREEN, RED};
use super::{escape_line, escape_text};

/// How many equal lines are shown around a change.
const CONTEXT: usize = 3;

/// After this time a difference is no longer made smaller.
const PATIENCE: Duration = Duration::from_secs(1);

/// A unified diff; a version that is missing is `/dev/null`.
pub(super) fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{}", escape_line(path)),
        None => "/dev/null".to_owned(),
    };
    let names = DiffNames {
        old: &name("a", before),
        new: &name("b", after),
    };
    let diff = LineDiff::new(
        before.unwrap_or_default(),
        after.unwrap_or_default(),
        PATIENCE,
    );
    colored(&diff.unified(CONTEXT, Some(names)))
}

/// The files of a unified diff, each from its names to the end of its last hunk: lines of git before the
/// names are left out, so that a change reads the same in every notation of a diff. A diff without names
/// is one piece.
pub(super) fn files(diff: &str) -> Vec<&str> {
    let mut begins = Vec::new();
    let (mut ends, mut at, mut before) = (Vec::new(), 0, "");
    for line in diff.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            ends.push(at);
        }
        if line.starts_with("+++ ") && before.starts_with("--- ") {
            begins.push(at - before.len());
        }
        (at, before) = (at + line.len(), line);
    }
    if begins.is_empty() {
        return vec![diff];
    }
    let end_of = |begin: usize| {
        let later = begins.iter().chain(&ends).filter(|at| **at > begin);
        later.min().copied().unwrap_or(diff.len())
    };
    (begins.iter())
        .map(|begin| &diff[*begin..end_of(*begin)])
        .collect()
}

/// Colours and escapes a unified diff.
pub(super) fn colored(diff: &str) -> String {
    let mut text = String::with_capacity(diff.len());
    let mut is_header = true;
    for line in diff.split_terminator('\n') {
        // A removed line can begin with `--` too.
        is_header = line.starts_with("diff ") || (is_header && !line.starts_with("@@"));
        let style = match line.as_bytes() {
            [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] if is_header => BOLD,
            [b'@', b'@', ..] => CYAN,
            [b'-', ..] => RED,
            [b'+', ..] => GREEN,
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

    #[test]
    fn a_change_reads_the_same_in_every_notation() {
        let (one, two) = (
            "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n",
            "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n",
        );
        let headed =
            format!("diff --git a/x b/x\nnew file mode 100644\n{one}diff --git a/y b/y\n{two}");
        assert_eq!(files(&headed), [one, two]);
        assert_eq!(files(&format!("{one}{two}")), [one, two]);
        assert_eq!(files("Binary files differ\n"), ["Binary files differ\n"]);
    }

    fn plain(path: &str, before: Option<&str>, after: Option<&str>) -> String {
        anstream::adapter::strip_str(&unified(path, before, after)).to_string()
    }

    #[test]
    fn a_diff_in_colour_says_the_same() {
        let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n";
        let shown = colored(patch);
        assert!(shown.contains(&format!("{GREEN}+y{GREEN:#}")), "{shown}");
        assert_eq!(anstream::adapter::strip_str(&shown).to_string(), patch);
        assert!(!colored("+\u{1b}[2J").contains("\u{1b}[2J"));
        let comment = colored("--- a/a\n+++ b/a\n@@ -1 +0,0 @@\n--- gone\n");
        assert!(comment.contains(&format!("{RED}--- gone")), "{comment}");
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
