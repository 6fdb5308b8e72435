//! Damage that a page did to a body and nobody can undo, seen from the body itself.
//!
//! A page that renders text takes the indentation of lines and makes quotes curly; a model may put words
//! and code fences of its own, or the marks of a diff, into a body. A program that cannot be right with
//! that is not written. Quotes are written as they came, and the model is told. Only what no sound file
//! has counts.

use super::body::FileContent;
use crate::candidate::BlockTrouble;
use crate::code_fence::Fence;
use crate::file_name;
use crate::line::has_word;
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

/// Returns true if no line is indented by more than one blank, although one begins a block and the
/// next is no deeper.
fn has_lost_indentation(text: &str) -> bool {
    let mut head: Option<usize> = None;
    let mut is_found = false;
    let mut is_in_string = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let code = line.trim_start();
        let depth = line.len() - code.len();
        if depth > 1 || line.starts_with('\t') {
            return false;
        }
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        let was_in_string = is_in_string;
        is_in_string ^= quotes % 2 == 1;
        if was_in_string || code.starts_with('#') {
            continue;
        }
        is_found |= head.is_some_and(|head| depth <= head);
        head = (quotes == 0 && is_head(code)).then_some(depth);
    }
    is_found
}

/// Returns true if a line must be followed by one that is indented.
fn is_head(line: &str) -> bool {
    const WORDS: &str = "def class if elif else for while with try except finally async match";
    let word = line.split(|c: char| !c.is_ascii_alphanumeric()).next();
    line.trim_end().ends_with(':') && word.is_some_and(|word| has_word(WORDS, word))
}

/// Refuses changes of a file in the place of its content: a diff or SEARCH/REPLACE blocks of it, or
/// `+` before every line.
///
/// A file of words may have any of this, but not a diff of itself.
pub(super) fn refuse_changes(name: &str, text: &str) -> Result<(), BlockTrouble> {
    let lines = text.lines().filter(|line| !is_blank(line));
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
    let is_added = lines.clone().all(|line| line.starts_with('+')) && lines.count() > 2;
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

fn has_fence_marks(text: &str) -> bool {
    ["```", "~~~"]
        .iter()
        .any(|mark| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some())
}

/// Refuses code fences among the lines of a program: they belong to the reply, as the words beside
/// them do.
pub(super) fn refuse_fences(name: &str, text: &str) -> Result<(), BlockTrouble> {
    if !is_strict(name) || !has_fence_marks(text) {
        return Ok(());
    }
    let lines: Vec<&str> = text.lines().filter(|line| !is_blank(line)).collect();
    let has_fence = |line: &&str, is_meant: fn(&Fence<'_>) -> bool| {
        Fence::read(line).is_some_and(|fence| fence.indent == 0 && is_meant(&fence))
    };
    let is_outer = |line: Option<&&str>| line.is_some_and(|line| has_fence(line, |_| true));
    // One code block ends, and the next begins.
    let divides = |pair: &[&str]| {
        has_fence(&pair[0], |fence| fence.info.is_empty())
            && has_fence(&pair[1], |fence| !fence.info.is_empty())
    };
    let has_fences =
        is_outer(lines.first()) || is_outer(lines.last()) || lines.windows(2).any(divides);
    if !has_fences {
        return Ok(());
    }
    Err(BlockTrouble::new(
        "the body has code fences among its lines, so nothing was written",
        "Send only the content of the file between the tags, without words and fences.",
    ))
}

/// Refuses lines of a diff, with `-` and `+` or all with `+`, in the place of those of a file.
pub(super) fn refuse_marked_lines(name: &str, text: &str) -> Result<(), BlockTrouble> {
    if !is_strict(name) || !(text.starts_with('+') || text.contains("\n+")) {
        return Ok(());
    }
    let lines = || text.lines().filter(|line| !is_blank(line));
    let is_diff = || {
        (text.starts_with('-') || text.contains("\n-"))
            && lines().all(|line| line.starts_with([' ', '-', '+']))
    };
    // `+ "b"` goes on with an expression.
    let is_added = || {
        lines().all(|line| line.starts_with('+'))
            && (lines().count() > 1 || !text.starts_with("+ "))
    };
    if !is_diff() && !is_added() {
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
            ("a.py", "def f():\n if x:\n print(1)\n"),
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
            ("a.py", "def f():\n x = 1\n return x\n"),
            ("a.py", "def f():\n if x:\n  print(1)\n"),
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

    #[test]
    fn fences_and_marks_are_no_lines_of_a_program() {
        for text in [
            "Here is the file:\n```python\nx = 1\n```\n",
            "```python\nx = 1\n```\nThis creates x.\n",
            "x = 1\n```\n\n```python\ny = 1\n",
        ] {
            assert!(refuse_fences("a.py", text).is_err(), "{text}");
            assert!(refuse_fences("a.md", text).is_ok(), "{text}");
        }
        let text = "\"\"\"\n```\nx\n```\n\"\"\"\nx = 1\n";
        assert!(refuse_fences("a.py", text).is_ok());
        for text in ["+import os\n+import re\n", "+x = 1\n", "-x = 1\n+x = 2\n"] {
            assert!(refuse_marked_lines("a.py", text).is_err(), "{text}");
            assert!(refuse_marked_lines("a.md", text).is_ok(), "{text}");
        }
        for text in ["+ b\n", "- x\n- y\n", "x = 1\n+ 2\n"] {
            assert!(refuse_marked_lines("a.py", text).is_ok(), "{text}");
        }
    }
}
