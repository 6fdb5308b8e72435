//! Characters that arrive in another writing: backslash escapes of Markdown, entities of HTML.
//!
//! Files contain both on purpose, so a text is believed to have been escaped only if tags or
//! markers of ours arrived that way and nothing in it stayed unescaped.

use memchr::memmem;

use super::{RepairedLines, RepairedText, copied, repaired};
use crate::code_fence::Fence;
use crate::line::{begins_with, has_word};
use crate::trim::{each_line, trim, trim_end, trim_start};

/// Decodes a text in which every `<`, `&` and quote arrived as an entity.
pub(super) fn repair_entities(text: &str) -> RepairedText {
    let bytes = text.as_bytes();
    let at = memchr::memchr(b'&', bytes)?;
    let shown = ["=&quot;", "=&#34;", "=&#39;", "&lt;&lt;&lt;&lt;&lt;"]
        .iter()
        .any(|mark| memmem::find(bytes, mark.as_bytes()).is_some());
    let escaped = |at: usize| entity(&text[at..]).is_some();
    if !shown
        || memchr::memchr(b'<', bytes).is_some()
        || !memchr::memchr_iter(b'&', bytes).all(escaped)
        || !text.split('\n').any(is_escaped_structure)
    {
        return None;
    }
    let count = memchr::memchr_iter(b'&', &bytes[at..]).count();
    let plain = without_entities(text);
    repaired(plain, copied::ENTITIES, count, RepairedLines::Everything)
}

fn is_escaped_structure(line: &str) -> bool {
    line.contains('&') && super::is_structural(without_entities(line).trim())
}

/// Removes the backslashes of a text whose markers arrived with them.
///
/// The tags of commands are looked at where they stand, with their bodies.
pub(super) fn repair_backslashes(text: &str) -> RepairedText {
    memchr::memchr(b'\\', text.as_bytes())?;
    let mut shown = false;
    for line in each_line(text) {
        let start = trim_start(line);
        let plain = start.starts_with("<<<<<")
            || start.starts_with("*** Begin")
            || start.starts_with("+++ ")
            || (start.starts_with('[') && super::is_structural(trim_end(start)))
            || is_element(start)
            || Fence::read(start).is_some();
        if plain {
            return None;
        }
        shown |= start.starts_with('\\') && is_marker(&without_backslashes(start));
    }
    if !shown {
        return None;
    }
    let plain = without_backslashes(text)
        .split('\n')
        .map(|line| divider(line).unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n");
    let pairs = text.split('\n').zip(plain.split('\n')).enumerate();
    let changed = pairs.filter(|(_, (before, after))| before != after);
    let changed = RepairedLines::Lines(changed.map(|(line, _)| line).collect());
    let count = text.len() - plain.len();
    repaired(plain, copied::BACKSLASHES, count, changed)
}

/// Removes the backslash before the tags of a text in which every tag arrived as `\[NAME ...]`.
///
/// Some pages escape only the first bracket. A file about this protocol can have such lines too: so
/// one tag without a backslash shows that none was put there on the way.
pub(super) fn repair_half_escaped_tags(text: &str) -> RepairedText {
    memmem::find(text.as_bytes(), b"\\[")?;
    let mut plain = String::with_capacity(text.len());
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        let tag = trim(line);
        if tag.starts_with('[') && super::is_structural(tag) {
            return None;
        }
        let tag = tag.strip_prefix('\\').unwrap_or_default();
        let is_half = tag.starts_with('[') && tag.ends_with(']') && !tag.ends_with("\\]");
        if is_half && super::is_structural(tag) {
            count += 1;
            plain.push_str(&line.replacen('\\', "", 1));
        } else {
            plain.push_str(line);
        }
    }
    let changed = RepairedLines::Nothing;
    repaired(plain, copied::BACKSLASHES, count, changed)
}

/// The divider of a SEARCH/REPLACE block that arrived as `\=======`.
fn divider(line: &str) -> Option<&str> {
    let marks = trim_end(line).strip_prefix('\\')?;
    (marks.len() >= 3 && marks.bytes().all(|byte| byte == b'=')).then_some(marks)
}

/// Returns true for the beginning of an element with which other tools call: a page that escapes
/// anything escapes that.
fn is_element(line: &str) -> bool {
    const NAMES: &str = "apply_diff content execute_command function_calls invoke parameter path \
        replace_in_file tool_call write_to_file";
    let name = line
        .strip_prefix('<')
        .and_then(|rest| rest.split(['>', ' ']).next());
    name.is_some_and(|name| has_word(NAMES, name))
}

fn is_marker(line: &str) -> bool {
    begins_with(line, "<<<<<|*** Begin|+++ |```")
}

/// Returns true if a text between tags that were escaped was escaped like them.
///
/// It was not if it still has a bare character that would have got a backslash, as the contents
/// of a code block have.
pub(crate) fn is_escaped(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr(b'\\', bytes).is_some()
        && memchr::memchr3_iter(b'_', b'[', b'*', bytes).all(|at| at > 0 && bytes[at - 1] == b'\\')
}

/// The characters before which chat pages put a backslash.
///
/// Not `.`, `(` and their like: a regular expression escapes those, a page hardly ever.
const MARKDOWN: &[u8] = br"`*_[]#+-<>~|";

/// The text without backslashes before Markdown characters.
///
/// Doubled backslashes become single ones only if no backslash stands before anything else: then they
/// were escaped with the rest of the text.
pub(crate) fn without_backslashes(text: &str) -> String {
    let doubled = has_doubled_backslashes(text);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match after.as_bytes().first() {
            Some(byte) if MARKDOWN.contains(byte) || (doubled && *byte == b'\\') => {
                plain.push(char::from(*byte));
                rest = &after[1..];
            }
            _ => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn has_doubled_backslashes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &bytes[at..]) {
        match bytes.get(at + next + 1) {
            Some(byte) if MARKDOWN.contains(byte) || *byte == b'\\' => at += next + 2,
            _ => return false,
        }
    }
    true
}

/// The entities that a page makes of characters when it escapes text.
const ENTITIES: [(&str, char); 17] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&amp;", '&'),
    ("&quot;", '"'),
    ("&apos;", '\''),
    ("&nbsp;", ' '),
    ("&#34;", '"'),
    ("&#39;", '\''),
    ("&#039;", '\''),
    ("&#x27;", '\''),
    ("&#60;", '<'),
    ("&#62;", '>'),
    ("&#38;", '&'),
    ("&#91;", '['),
    ("&#93;", ']'),
    ("&lbrack;", '['),
    ("&rbrack;", ']'),
];

/// The entity that a text begins with: the character and its length.
pub(super) fn entity(text: &str) -> Option<(char, usize)> {
    ENTITIES
        .iter()
        .find(|(name, _)| text.starts_with(name))
        .map(|(name, character)| (*character, name.len()))
}

/// The text with the characters in place of their entities, once: `&amp;lt;` becomes `&lt;`.
pub(crate) fn without_entities(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let (character, length) = entity(rest).unwrap_or(('&', 1));
        plain.push(character);
        rest = &rest[length..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_backslashes_from_markdown_characters_only() {
        assert_eq!(without_backslashes(r"a\_b \[x\] \n \\"), r"a_b [x] \n \\");
        assert_eq!(without_backslashes(r"a\_b \\n"), r"a_b \n");
        assert_eq!(without_backslashes(r"\.\(\_"), r"\.\(_");
        assert_eq!(without_backslashes("\\"), "\\");
        assert_eq!(without_backslashes("\\\u{e9}"), "\\\u{e9}");
    }

    #[test]
    fn a_text_is_unescaped_only_where_its_marks_were_escaped() {
        let plain = |text: &str| repair_entities(text).map(|(text, _)| text);
        assert_eq!(
            plain("a.rs\n&lt;&lt;&lt;&lt;&lt;&lt;&lt; SEARCH\na &amp;&amp; b").as_deref(),
            Some("a.rs\n<<<<<<< SEARCH\na && b")
        );
        assert_eq!(
            plain("[CREATE_FILE path=&quot;a&quot;]\n&amp;lt;").as_deref(),
            Some("[CREATE_FILE path=\"a\"]\n&lt;")
        );
        for text in [
            "[CREATE_FILE path=\"a.html\"]\n&lt;p class=&quot;x&quot;&gt;",
            "[CREATE_FILE path=&quot;a.html&quot;]\n<p>&lt;",
            "[CREATE_FILE path=&quot;a.html&quot;]\na & b",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }

    #[test]
    fn markers_with_backslashes_show_that_the_text_was_escaped() {
        let plain = |text: &str| repair_backslashes(text).map(|(text, _)| text);
        assert_eq!(
            plain("\\<\\<\\<\\<\\<\\<\\< SEARCH\na\\_b").as_deref(),
            Some("<<<<<<< SEARCH\na_b")
        );
        for text in [
            "<<<<<<< SEARCH\n\\<<<<<<< SEARCH\n",
            "a\\_b",
            "[CREATE_FILE path=a]\n\\*\n[/CREATE_FILE]",
            "[CREATE_FILE path=\"a.ts\"]\nx = `\n\\`\\`\\`sh\n`\n[/CREATE_FILE]",
            "<write_to_file>\n<path>a.ts</path>\n<content>\n\\`\\`\\`sh\n</content>\n</write_to_file>",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
        assert!(is_escaped(r"a\_b\_c"));
        assert!(!is_escaped(r"a\_b_c"));
        assert!(!is_escaped("abc"));
    }

    #[test]
    fn decodes_entities_once() {
        assert_eq!(without_entities("&lt;a&gt; &amp;lt; &x &"), "<a> &lt; &x &");
    }
}
