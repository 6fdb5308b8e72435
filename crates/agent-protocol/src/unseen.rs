//! Invisible characters, which make a text look like another one.
//!
//! One list for everything that must not be deceived by them: the terminal, the rules on commands,
//! the tag parser and file names. Control characters are not in the list; use `char::is_control`
//! for those.

/// Returns true if a character shows nothing, looks like a space but is none, or changes the
/// direction of text.
///
/// These are the default-ignorable code points of Unicode, the line and paragraph separators, the
/// interlinear annotations, and letters that are drawn empty.
pub fn is_unseen(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true if a character is invisible and never part of a word: a direction mark, a
/// zero-width space, a soft hyphen.
///
/// Other invisible characters join letters or select a glyph, as in Persian words, emoji and
/// ideographs. Removing those would change the word.
pub fn is_stray(character: char) -> bool {
    let is_of_a_word = matches!(character,
        '\u{34f}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180d}' | '\u{180f}'
        | '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0020}'..='\u{e007f}'
        | '\u{e0100}'..='\u{e01ef}');
    is_unseen(character) && !is_of_a_word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_words_are_made_of_is_not_stray() {
        for character in "\u{200b}\u{200e}\u{200f}\u{61c}\u{2068}\u{2069}\u{feff}\u{ad}".chars() {
            assert!(is_stray(character), "{character:?}");
        }
        for character in "a\u{200c}\u{200d}\u{fe0f}\u{e0067}\u{e0100}\u{180b}".chars() {
            assert!(!is_stray(character), "{character:?}");
        }
    }

    #[test]
    fn what_nobody_sees_is_known() {
        for code in [
            0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f, 0x200b,
            0x200f, 0x2028, 0x202e, 0x2060, 0x206f, 0x2800, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0,
            0xfff0, 0xfff8, 0xfffb, 0x1bca0, 0x1bca3, 0x1d173, 0x1d17a, 0xe0000, 0xe0001, 0xe0020,
            0xe01ef, 0xe0fff,
        ] {
            assert!(is_unseen(char::from_u32(code).unwrap()), "{code:x}");
        }
    }

    #[test]
    fn what_people_write_is_seen() {
        for character in "aZ0 \u{a0}ß日本👋❤ㄱ⠁ខ\u{301}\u{fffd}".chars() {
            assert!(!is_unseen(character), "{character:?}");
        }
    }
}
