//! Characters that arrive in another writing: backslash escapes of Markdown, entities of HTML.

/// The characters before which Markdown lets a backslash stand.
const MARKDOWN: &[u8] = br"\`*_{}[]()#+-.!<>~|";

/// The text without backslashes before Markdown characters.
pub(in crate::reply) fn without_backslashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match after.as_bytes().first() {
            Some(byte) if MARKDOWN.contains(byte) => {
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
pub(in crate::reply) fn without_entities(text: &str) -> String {
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
        assert_eq!(without_backslashes(r"a\_b \[x\] \n \\"), r"a_b [x] \n \");
        assert_eq!(without_backslashes("\\"), "\\");
        assert_eq!(without_backslashes("\\\u{e9}"), "\\\u{e9}");
    }

    #[test]
    fn decodes_entities_once() {
        assert_eq!(without_entities("&lt;a&gt; &amp;lt; &x &"), "<a> &lt; &x &");
    }
}
