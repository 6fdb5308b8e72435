//! What a chat page did to the whole content of a file, seen by the file that it replaces.
//!
//! A page that renders text makes quotes curly, writes `<` as `&lt;`, turns tabs into spaces, takes
//! indentation and blank lines or doubles them. Where lines of the old file come back once that is
//! undone, the old file proves it, and it is undone throughout. Where the new content only looks so,
//! the model is told.

use std::collections::HashSet;

/// Content as it should be written, and what is to be told about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RestoredContent {
    pub(super) content: String,
    /// What was undone or is suspicious, as the end of a sentence about the file.
    pub(super) remarks: Vec<&'static str>,
}

/// A kind of damage: how it is undone, and what is said of it.
struct Kind {
    is_seen: fn(&str, &str) -> bool,
    undo: fn(&str, &str) -> Option<String>,
    undone: &'static str,
    doubtful: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        is_seen: |old, new| has_curly(new) && !has_curly(old),
        undo: |_, new| Some(straight(new)),
        undone: "curly quotes were made straight, as in the old file",
        doubtful: "it has curly quotes, which the old file did not have",
    },
    Kind {
        is_seen: |old, new| has_entities(new) && !has_entities(old),
        undo: |_, new| Some(without_entities(new)),
        undone: "`&lt;` and its like were read as the characters of the old file",
        doubtful: "it has HTML entities such as `&lt;`, which the old file did not have",
    },
    Kind {
        is_seen: |old, new| is_tabbed(old) && !new.contains('\t') && has_deep_spaces(new),
        undo: with_tabs,
        undone: "spaces were turned back into the tabs of the old file",
        doubtful: "it is indented with spaces, the old file with tabs",
    },
    Kind {
        is_seen: |old, new| is_doubled(new) && !is_doubled(old),
        undo: |_, new| Some(without_every_second(new)),
        undone: "a blank line below every line was taken out",
        doubtful: "it has a blank line below every line",
    },
];

/// Undoes what the old text proves to be damage.
pub(super) fn restored(old: &str, new: &str) -> RestoredContent {
    let mut content = new.to_owned();
    let mut remarks = Vec::new();
    let known: HashSet<&str> = old.lines().filter(|line| !line.trim().is_empty()).collect();
    let back = |text: &str| text.lines().filter(|line| known.contains(line)).count();
    for kind in KINDS {
        if !(kind.is_seen)(old, &content) {
            continue;
        }
        let undone = (kind.undo)(old, &content);
        match undone {
            Some(undone) if back(&undone) > back(&content) => {
                content = undone;
                remarks.push(kind.undone);
            }
            // As many lines are known as before: nothing was lost but blank lines.
            Some(undone)
                if is_doubled(&content) && back(&undone) == back(&content) && back(&undone) > 1 =>
            {
                content = undone;
                remarks.push(kind.undone);
            }
            _ => remarks.push(kind.doubtful),
        }
    }
    RestoredContent { content, remarks }
}

/// Whether the new text has the lines of the old one without their indentation.
pub(super) fn has_lost_indentation(old: &str, new: &str) -> bool {
    const FEW: usize = 3;
    let is_indented = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
    if new.lines().any(|line| is_indented(&line)) {
        return false;
    }
    let flat: HashSet<&str> = new.lines().collect();
    let lost = old.lines().filter(is_indented);
    lost.filter(|line| flat.contains(line.trim())).count() >= FEW
}

fn has_curly(text: &str) -> bool {
    text.contains(['\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}'])
}

fn straight(text: &str) -> String {
    text.replace(['\u{2018}', '\u{2019}'], "'")
        .replace(['\u{201c}', '\u{201d}'], "\"")
}

const ENTITIES: [(&str, &str); 4] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&amp;", "&"),
];

fn has_entities(text: &str) -> bool {
    ENTITIES.iter().any(|(entity, _)| text.contains(entity))
}

fn without_entities(text: &str) -> String {
    let plain = |text: String, (entity, plain): &(&str, &str)| text.replace(entity, plain);
    ENTITIES.iter().fold(text.to_owned(), plain)
}

/// Whether lines are indented with tabs, and none with spaces.
fn is_tabbed(text: &str) -> bool {
    let tabs = text.lines().filter(|line| line.starts_with('\t')).count();
    let spaces = text.lines().filter(|line| line.starts_with("  ")).count();
    tabs > 1 && spaces == 0
}

fn has_deep_spaces(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("  "))
}

/// The text with tabs in place of the spaces that begin its lines, as wide as the old file shows.
fn with_tabs(old: &str, new: &str) -> Option<String> {
    let known: HashSet<&str> = old.lines().collect();
    [4, 2, 8, 3].into_iter().find_map(|width| {
        let mut text = String::with_capacity(new.len());
        for line in new.split_inclusive('\n') {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            text.push_str(&"\t".repeat(spaces / width));
            text.push_str(&" ".repeat(spaces % width));
            text.push_str(&line[spaces..]);
        }
        let is_proof = |line: &str| line.starts_with('\t') && known.contains(line);
        text.lines().any(is_proof).then_some(text)
    })
}

/// Whether every second line is blank and no other.
fn is_doubled(text: &str) -> bool {
    const FEW: usize = 5;
    let mut lines = text.lines().enumerate();
    let is_blank = |line: &str| line.trim().is_empty();
    text.lines().count() > FEW && lines.all(|(at, line)| is_blank(line) == (at % 2 == 1))
}

fn without_every_second(text: &str) -> String {
    let kept = text.lines().step_by(2);
    kept.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(old: &str, new: &str, content: &str, remarks: usize) {
        let got = restored(old, new);
        assert_eq!(got.content, content, "{new}");
        assert_eq!(got.remarks.len(), remarks, "{got:?}");
    }

    #[test]
    fn what_the_old_file_proves_is_undone() {
        case(
            "say(\"a\")\nx = 1\n",
            "say(\u{201c}a\u{201d})\nx = 2\n",
            "say(\"a\")\nx = 2\n",
            1,
        );
        case("if a < b:\n", "if a &lt; b:\nx\n", "if a < b:\nx\n", 1);
        case(
            "f() {\n\ta\n\tb\n}\n",
            "f() {\n    a\n    c\n}\n",
            "f() {\n\ta\n\tc\n}\n",
            1,
        );
        case("a\nb\nc\nd\n", "a\n\nb\n\nc\n\nD\n", "a\nb\nc\nD\n", 1);
    }

    #[test]
    fn what_it_does_not_prove_is_told_or_left() {
        let new = "print(\u{201c}new\u{201d})\n";
        case("x = 1\n", new, new, 1);
        case("say(\u{201c}a\u{201d})\n", new, new, 0);
        let html = "<p>a &lt; b</p>\n";
        case("<p>&amp;</p>\n", html, html, 0);
        case("a\nb\n", "a\nc\n", "a\nc\n", 0);
    }

    #[test]
    fn a_file_without_its_indentation_is_seen() {
        let old = "def f():\n    a = 1\n    b = 2\n    return a\n";
        assert!(has_lost_indentation(
            old,
            "def f():\na = 1\nb = 2\nreturn a\n"
        ));
        assert!(!has_lost_indentation(old, "def f():\n    return 1\n"));
        assert!(!has_lost_indentation(old, "x = 1\n"));
    }
}
