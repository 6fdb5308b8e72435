//! Makes text that others wrote harmless for a terminal.
//!
//! Escape sequences could clear the screen, write the clipboard or forge our own lines; a carriage
//! return overwrites what stands there; bidirectional and zero-width characters make a command
//! look like another. All of these become visible.

use std::fmt::Write as _;

use crate::unseen::is_unseen;

/// Escapes a text of several lines; line breaks and tabs stay.
pub fn escape_text(text: &str) -> String {
    escape(&text.replace("\r\n", "\n"), |character| {
        matches!(character, '\n' | '\t')
    })
}

/// Escapes a text that must stay on one line.
pub fn escape_line(text: &str) -> String {
    escape(text, |_| false)
}

fn escape(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if stays(character) || !is_dangerous(character) {
            escaped.push(character);
        } else {
            match character {
                '\n' => escaped.push_str("\\n"),
                '\r' => escaped.push_str("\\r"),
                '\t' => escaped.push_str("\\t"),
                other => {
                    let _ = write!(escaped, "\\u{{{:x}}}", u32::from(other));
                }
            }
        }
    }
    escaped
}

fn is_dangerous(character: char) -> bool {
    character.is_control() || is_unseen(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(
            escape_text("\x1b[2Jhi\x07\u{9b}"),
            "\\u{1b}[2Jhi\\u{7}\\u{9b}"
        );
    }

    #[test]
    fn carriage_returns_forge_no_line() {
        assert_eq!(escape_text("bad\rgood"), "bad\\rgood");
        assert_eq!(escape_text("a\r\nb"), "a\nb");
    }

    #[test]
    fn directions_and_invisible_characters_become_visible() {
        assert_eq!(
            escape_line("a\u{202e}b\u{200b}c\u{feff}"),
            "a\\u{202e}b\\u{200b}c\\u{feff}"
        );
        for hidden in [
            '\u{34f}',
            '\u{2800}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{ffa0}',
            '\u{e0100}',
        ] {
            assert!(escape_line(&format!("a{hidden}b")).is_ascii(), "{hidden:?}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        assert_eq!(escape_text("grüß\t👋\n日本"), "grüß\t👋\n日本");
        assert_eq!(escape_line("one\ntwo"), "one\\ntwo");
    }
}
