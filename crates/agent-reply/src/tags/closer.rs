//! Closing tags as models misspell them.
//!
//! ```text
//! closer := "[END_" NAME "]" | "[" NAME "_END]" | "[/" NAME with other dividers "]"
//!         | "[\" NAME "]" | "</" NAME ">" | the end of the body "[/" NAME "]"
//! ```
//!
//! This file reads one line. Whether such a line may end a body is decided where all tags are
//! known.

use super::Name;
use crate::trim::trim;

/// A closing tag that is not written as the protocol says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closer {
    pub(crate) line: usize,
    /// How many bytes of its line belong to the body.
    pub(crate) keeps: usize,
}

/// Reads a line as a closing tag of this name in another spelling.
pub(super) fn read(line: usize, text: &str, name: Name) -> Option<Closer> {
    let keeps = if is_misspelled(text, name) {
        0
    } else {
        end_of_body(text, name)?
    };
    Some(Closer { line, keeps })
}

fn is_misspelled(line: &str, name: Name) -> bool {
    let text = trim(line).trim_matches(['*', '`']);
    let name = name.as_str();
    if let Some(inner) = between(text, '<', '>') {
        return inner.strip_prefix('/') == Some(name);
    }
    let Some(inner) = between(text, '[', ']') else {
        return false;
    };
    if let Some(closing) = inner.strip_prefix(['/', '\\']) {
        return is_same(closing, name);
    }
    let upper = inner.to_ascii_uppercase();
    let ended = upper
        .strip_prefix("END")
        .and_then(|rest| rest.strip_prefix(is_divider))
        .or_else(|| upper.strip_suffix("END")?.strip_suffix(is_divider));
    ended.is_some_and(|ended| is_same(ended, name))
}

/// Where the body ends on a line that ends with the closing tag and names the command only once.
fn end_of_body(line: &str, name: Name) -> Option<usize> {
    let name = name.as_str();
    let rest = line.trim_end().strip_suffix(']')?.strip_suffix(name)?;
    let body = rest.strip_suffix("[/")?;
    let is_named = memchr::memmem::find(body.as_bytes(), name.as_bytes()).is_some();
    (!body.trim().is_empty() && !is_named).then_some(body.len())
}

fn between(text: &str, before: char, after: char) -> Option<&str> {
    /// Longer than any closing tag, so that a long line costs nothing.
    const MAX_BYTES: usize = 40;
    let inner = text.strip_prefix(before)?.strip_suffix(after)?;
    (inner.len() <= MAX_BYTES).then(|| inner.trim())
}

/// Returns true if a name is this one, dividers and letter case aside.
fn is_same(text: &str, name: &str) -> bool {
    text.len() == name.len()
        && text
            .bytes()
            .zip(name.bytes())
            .all(|(one, other)| match other {
                b'_' => is_divider(char::from(one)),
                other => one.eq_ignore_ascii_case(&other),
            })
}

fn is_divider(c: char) -> bool {
    matches!(c, '_' | '-' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, keeps: Option<usize>) {
        let found = read(0, text, Name::CreateFile).map(|closer| closer.keeps);
        assert_eq!(found, keeps, "{text}");
    }

    #[test]
    fn reads_what_models_write_instead() {
        for text in [
            "[END_CREATE_FILE]",
            "[end create file]",
            "</CREATE_FILE>",
            "[CREATE_FILE_END]",
            "[/create file]",
            "[/Create-File]",
            "[\\CREATE_FILE]",
            "**[END_CREATE_FILE]**",
        ] {
            case(text, Some(0));
        }
        case("}[/CREATE_FILE]", Some(1));
        case("\u{e4} [/CREATE_FILE]  ", Some(3));
    }

    #[test]
    fn leaves_everything_else_alone() {
        for text in [
            "",
            "</create_file>",
            "</EDIT_FILE>",
            "[CREATE_FILE]",
            "[END]",
            "[/CREATE]",
            "Close it with `[/CREATE_FILE]`",
            "[CREATE_FILE path=a] needs [/CREATE_FILE]",
            "CREATE_FILE",
        ] {
            case(text, None);
        }
    }
}
