//! The path of a code block: above it, in its fence line, or in a comment on its first line.

use super::super::code_fence::Fence;
use super::super::file_name;
use crate::line::has_word;
use crate::trim::{is_blank, trim};

/// A name and the line on which it stands.
pub(crate) struct NamedBlock<'a> {
    pub(crate) text: &'a str,
    pub(super) line: usize,
    /// True if it stands in a comment inside of the block.
    pub(super) is_inside: bool,
}

/// The file that the code block at the line `at` shows; lines before `after` belong to others.
pub(crate) fn named<'a>(
    lines: &[&'a str],
    at: usize,
    after: usize,
    fence: &Fence<'a>,
) -> Option<NamedBlock<'a>> {
    let language = fence.info.split([' ', ':', '{']).next().unwrap_or_default();
    if let Some(text) = file_name::in_info(fence.info) {
        return is_taken(language, text).then_some(NamedBlock {
            text,
            line: at,
            is_inside: false,
        });
    }
    let above = (after..at)
        .rev()
        .take(2)
        .find(|line| !is_blank(lines[*line]))
        .filter(|line| !ends_sentence(lines[after..*line].last()))
        .and_then(|line| Some((line, named_above(lines[line], line + 1 == at)?)));
    let inside = || Some((at, labelled(lines.get(at + 1)?)?));
    let is_inside = above.is_none();
    let (line, text) = above.or_else(inside)?;
    let is_example = lines[after..line]
        .iter()
        .rev()
        .take(2)
        .find(|line| !is_blank(line))
        .is_some_and(|line| leads_to_example(line));
    (is_taken(language, text) && !is_example).then_some(NamedBlock {
        text,
        line,
        is_inside,
    })
}

/// Returns true if a name below this line is the end of a sentence that began there.
fn ends_sentence(above: Option<&&str>) -> bool {
    above.is_some_and(|line| {
        let text = trim(line);
        let last = text.chars().next_back();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, ',' | '`' | '\'');
        let has_words = text.split(' ').nth(3).is_some();
        has_words && last.is_some_and(is_word) && !text.starts_with(['#', '-', '*', '|'])
    })
}

/// Returns true if a line leads to an example, which is no file: `For example:`.
fn leads_to_example(line: &str) -> bool {
    const WORDS: [&str; 6] = [
        "example",
        "e.g.",
        "for instance",
        "such as",
        "something like",
        "format like",
    ];
    let text = trim(line).to_lowercase();
    text.ends_with(':') && WORDS.iter().any(|word| text.contains(word))
}

/// The file that the line above a fence names.
fn named_above(line: &str, is_next: bool) -> Option<&str> {
    file_name::alone(line)
        .filter(|name| file_name::names_file(name))
        .or_else(|| bare_word(line).filter(|_| is_next))
        .or_else(|| announced(line))
}

/// The file of a comment that does nothing but say so: `// filepath: src/a.ts`.
pub(super) fn labelled(line: &str) -> Option<&str> {
    const COMMENTS: [&str; 6] = ["//", "#", "--", ";", "/*", "<!--"];
    const LABELS: [&str; 4] = ["filepath:", "file:", "path:", "filename:"];
    let text = trim(line);
    let comment = COMMENTS
        .iter()
        .find_map(|mark| text.strip_prefix(mark))?
        .trim_start();
    let is_label = |label: &&str| {
        comment
            .get(..label.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(label))
    };
    LABELS
        .iter()
        .any(is_label)
        .then(|| file_name::alone(text))?
}

/// The file of a comment that is nothing but its path: `# src/app.py`.
pub(super) fn path_in_comment(line: &str) -> Option<&str> {
    const COMMENTS: [&str; 6] = ["//", "#", "--", ";", "/*", "<!--"];
    let text = trim(line);
    let is_comment = COMMENTS.iter().any(|mark| text.starts_with(mark)) && !text.starts_with("#!");
    let name = is_comment.then(|| file_name::alone(text))??;
    (name.contains('/') && file_name::extension(name).is_some()).then_some(name)
}

/// Returns true if a comment says that lines were left out: `// ...existing code...`.
pub(super) fn is_shortened(lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        let text = trim(line);
        let words = text.trim_start_matches(['/', '#', '-', ';', '*', '<', '!', '{', ' ']);
        words.len() < text.len() && (words.starts_with("...") || words.starts_with('\u{2026}'))
    })
}

/// A file without an extension: one plain word directly above the fence, which is no label.
fn bare_word(line: &str) -> Option<&str> {
    const LABELS: [&str; 16] = [
        "after", "before", "bash", "code", "console", "copy", "diff", "edit", "example", "input",
        "note", "output", "result", "shell", "text", "usage",
    ];
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let letters = line.bytes().filter(u8::is_ascii_lowercase).count();
    // `2` counts something, and `v2` is a version.
    let is_word = letters > 1 && line.bytes().all(is_name);
    let is_label = LABELS.iter().any(|label| line.starts_with(label));
    (is_word
        && !is_label
        && line
            .bytes()
            .any(|byte| byte.is_ascii_digit() || b"_-".contains(&byte)))
    .then_some(line)
}

/// The file of a sentence that says that the whole of it follows.
fn announced(line: &str) -> Option<&str> {
    const BEFORE: &str = "\
        a an and code complete content contents corrected entire file final fixed for full here \
        here's is modified new now of our revised rewritten the then this updated version whole \
        your";
    const PARTIAL: &str = "\
        change changes excerpt lines output part run section snippet usage use";
    let text = trim(line);
    let name = file_name::in_sentence(text).filter(|_| text.ends_with(':'))?;
    let (before, after) = text.split_once(name)?;
    // "No problem! Here is ...": only the last sentence announces it.
    let before = ["! ", ". ", "? "]
        .iter()
        .fold(before, |rest, end| rest.rsplit(end).next().unwrap_or(rest));
    let words = |text: &str| -> Vec<String> {
        text.split(|character: char| {
            !(character.is_alphanumeric() || matches!(character, '\'' | '’'))
        })
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('’', "'"))
        .collect()
    };
    let before = words(before);
    let announces = before.iter().any(|word| word.starts_with("here"))
        && before.iter().all(|word| has_word(BEFORE, word));
    let is_part = words(after).iter().any(|word| has_word(PARTIAL, word));
    (announces && !is_part).then_some(name)
}

/// Returns true if a block of this language can be that file.
pub(super) fn is_taken(language: &str, name: &str) -> bool {
    const SHELLS: &str = "\
        bash bat cmd console fish powershell ps1 sh shell shellsession terminal zsh";
    const SCRIPTS: [&str; 7] = ["bash", "bat", "cmd", "fish", "ps1", "sh", "zsh"];
    let language = language.to_ascii_lowercase();
    if language == "diff" || language == "patch" {
        return matches!(file_name::extension(name), Some("diff" | "patch"));
    }
    !has_word(SHELLS, &language)
        || file_name::extension(name).is_some_and(|extension| SCRIPTS.contains(&extension))
}
