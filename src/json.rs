//! JSON as we print and write it: nothing in it acts on a terminal or hides in an editor.
//!
//! `serde_json` escapes the controls below a space and leaves all else as it is: DEL, the C1
//! controls (one of which begins an escape sequence), and the characters that turn the direction of
//! text round or show nothing. Here they are `\uXXXX` always, wherever the JSON goes: a file is
//! printed later, and a reader of JSON gets the same text either way.

use std::fmt::Write as _;

use jsonc_parser::ParseOptions;
use serde::Serialize;

use crate::unseen::is_unseen;

/// JSON as people write it: settings of editors, compilers and chat clients have comments, and commas at
/// the end.
pub const WITH_COMMENTS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// An object on one line.
pub fn to_line(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escaped)
}

/// An object over several lines, for people.
pub fn to_lines(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(escaped)
}

/// JSON with escapes for what must not stand in it as it is.
///
/// Such characters stand only in strings, so no knowledge of the structure is needed.
pub fn escaped(json: String) -> String {
    let Some(first) = json.find(is_dangerous) else {
        return json;
    };
    let mut text = String::with_capacity(json.len() + 16);
    text.push_str(&json[..first]);
    for character in json[first..].chars() {
        if is_dangerous(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(character);
        }
    }
    text
}

fn is_dangerous(character: char) -> bool {
    // The line breaks of JSON over several lines are our own.
    character != '\n' && (character.is_control() || is_unseen(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[2J\u{7f}\u{9b}31m\u{85}\u{202e}b\u{2066}\u{200b}\u{feff}\u{e0041}\u{2028}\nß日👋\"\\";

    #[test]
    fn what_acts_on_a_terminal_or_hides_is_escaped_and_reads_back() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE] });
        for json in [to_line(&value).unwrap(), to_lines(&value).unwrap()] {
            let shown: String = json.chars().filter(|c| !" \n{}[]:,".contains(*c)).collect();
            assert!(!shown.contains(is_dangerous), "{json:?}");
            assert!(json.contains("\\u009b31m\\u0085\\u202eb\\u2066"), "{json}");
            assert!(json.contains("\\udb40\\udc41") && json.contains("ß日👋"));
            let read: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(read, value);
        }
        // Without the escapes they would be there as they are.
        assert!(
            serde_json::to_string(&value)
                .unwrap()
                .contains(is_dangerous)
        );
    }

    #[test]
    fn ordinary_json_stays() {
        let value = serde_json::json!({ "a": ["ß", "👋", "\n\t"] });
        assert_eq!(to_line(&value).unwrap(), value.to_string());
    }
}
