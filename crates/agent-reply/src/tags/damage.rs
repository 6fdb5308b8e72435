//! Damage that a page did to a body and nobody can undo, seen from the body itself.
//!
//! A page that renders text takes the indentation of lines and makes quotes curly. A program that
//! cannot run without its indentation is not written. Quotes are written as they came, and the model
//! is told. Only what no sound file has counts.

use super::body::FileContent;
use crate::candidate::BlockTrouble;
use crate::file_name;
use crate::script::has_only_curly_quotes;
use crate::search_replace;
use crate::trim::is_blank;

/// Refuses Python that lost its indentation.
pub(super) fn refuse_lost_indentation(name: &str, text: &str) -> Result<(), BlockTrouble> {
    if is_python(name) && has_lost_indentation(text) {
        return Err(BlockTrouble::new(
            "its lines lost their indentation on a page, so it was not written",
            "Send it again inside of a code block, which pages leave as it is.",
        ));
    }
    Ok(())
}

/// The damage, in words that follow the name of a command.
pub(super) fn seen(name: &str, text: &str, has_curly_tag: bool) -> Option<&'static str> {
    let is_code = FileContent::of(name) == FileContent::Code;
    (has_curly_tag && is_code && has_only_curly_quotes(text))
        .then_some("its quotes became curly on a page, and it was written so")
}

fn is_python(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "py" | "pyi")
}

/// Returns true if no line is indented, although one begins a block and others follow it.
fn has_lost_indentation(text: &str) -> bool {
    let mut begins_block = false;
    let mut is_found = false;
    let mut is_in_string = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with(char::is_whitespace) {
            return false;
        }
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        let was_in_string = is_in_string;
        is_in_string ^= quotes % 2 == 1;
        if was_in_string || line.starts_with('#') {
            continue;
        }
        is_found |= begins_block;
        begins_block = quotes == 0 && is_head(line);
    }
    is_found
}

/// Returns true if a line must be followed by one that is indented.
fn is_head(line: &str) -> bool {
    const WORDS: [&str; 13] = [
        "def", "class", "if", "elif", "else", "for", "while", "with", "try", "except", "finally",
        "async", "match",
    ];
    let word = line.split(|c: char| !c.is_ascii_alphanumeric()).next();
    line.trim_end().ends_with(':') && word.is_some_and(|word| WORDS.contains(&word))
}

/// Refuses changes of a file in the place of its content: a diff or SEARCH/REPLACE blocks of it, or
/// `+` before every line.
///
/// A file of words may have any of this, but not a diff of itself.
pub(super) fn refuse_changes(name: &str, text: &str) -> Result<(), BlockTrouble> {
    let mut lines = text.lines().filter(|line| !is_blank(line));
    let (first, last) = (lines.clone().next(), lines.clone().next_back());
    let names_it = |line: &str| {
        let path = line[4..].split('\t').next().unwrap_or_default();
        path.trim().rsplit('/').next() == Some(name)
    };
    let is_patch = matches!(file_name::extension(name), Some("diff" | "patch"));
    let mut head = lines.clone();
    let is_diff = !is_patch
        && head.next().is_some_and(|line| line.starts_with("--- "))
        && head
            .next()
            .is_some_and(|line| line.starts_with("+++ ") && names_it(line))
        && head.next().is_some_and(|line| line.starts_with("@@"));
    let is_strict = is_strict(name);
    let is_edit = first.is_some_and(search_replace::is_head)
        && last.is_some_and(|line| line.starts_with(">>>>>>>"));
    let is_added = lines.clone().count() > 2 && lines.all(|line| line.starts_with('+'));
    let what = match () {
        () if is_diff => "a diff of it",
        () if is_strict && is_edit => "SEARCH/REPLACE blocks",
        () if is_strict && is_added => "lines of a diff, with `+` before each",
        () => return Ok(()),
    };
    Err(BlockTrouble::new(
        format!("the body is {what} and not the content of the file, so nothing was written"),
        "Send the change as `[EDIT_FILE ...]` or `[APPLY_PATCH]`, or the whole file without marks.",
    ))
}

/// Refuses lines of a diff, with `-` and `+`, in the place of those of a range.
pub(super) fn refuse_marked_lines(name: &str, text: &str) -> Result<(), BlockTrouble> {
    let has = |mark: char| text.lines().any(|line| line.starts_with(mark));
    let is_marked = |line: &str| line.starts_with([' ', '-', '+']) || is_blank(line);
    if !is_strict(name) || !has('-') || !has('+') || !text.lines().all(is_marked) {
        return Ok(());
    }
    Err(BlockTrouble::new(
        "the body is lines of a diff and not those of the file, so nothing was changed",
        "Send the new lines without `-` and `+`, or the diff as `[APPLY_PATCH]`.",
    ))
}

/// Returns true if no line of a file begins with the marks of a change.
fn is_strict(name: &str) -> bool {
    FileContent::of(name) == FileContent::Code || FileContent::is_settings(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_was_rendered_is_seen() {
        for (name, text) in [
            ("a.py", "def f():\nif x:\nprint(1)\n"),
            ("a.py", "import os\n\nclass A:\n# nothing\npass\n"),
        ] {
            assert!(refuse_lost_indentation(name, text).is_err(), "{text}");
        }
        assert!(seen("a.js", "say(\u{201c}hi\u{201d})\n", true).is_some());
        assert!(seen("a.js", "say(\u{2018}hi\u{2019})\n", true).is_some());
    }

    #[test]
    fn a_sound_body_is_left_alone() {
        for (name, text) in [
            ("a.py", "def f():\n    pass\n"),
            ("a.py", "def f(): return 1\nx = 2\n"),
            ("a.py", "def f():\n"),
            ("a.py", "\"\"\"\nfor example:\nrun it\n\"\"\"\nx = 1\n"),
            ("a.py", "x = {\n'if': 1,\n}\n"),
            ("a.md", "if x:\nprint(1)\n"),
            ("a.py", "\"\"\"It says:\"\"\"\nx = 1\n"),
            ("a.html", "<p class=\"a\">\u{201c}hi\u{201d}</p>\n"),
            ("a.md", "\u{201c}hi\u{201d}\n"),
            ("a.js", "x = 1\n"),
        ] {
            assert!(refuse_lost_indentation(name, text).is_ok(), "{text}");
            assert_eq!(seen(name, text, true), None, "{text}");
        }
        assert_eq!(seen("a.js", "say(\u{201c}hi\u{201d})\n", false), None);
    }
}
