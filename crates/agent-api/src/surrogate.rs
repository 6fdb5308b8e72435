//! Characters that a server cut in half.
//!
//! JSON writes an emoji as two escapes, a high and a low surrogate: `\ud83d\ude00`. A server that
//! streams token by token may put them into two events, and neither is JSON that Rust reads. Here the
//! high half waits for the low one. A half that stays alone becomes U+FFFD.

use std::borrow::Cow;
use std::mem;

const ESCAPE: usize = r"\ud83d".len();
const REPLACEMENT: &str = r"\ufffd";

/// Joins halves of characters in the JSON texts of one stream.
#[derive(Debug, Default)]
pub(crate) struct SurrogateJoiner {
    /// The escape of a high surrogate at the end of a string, which was left out there.
    high: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

impl SurrogateJoiner {
    /// The JSON text with all halves joined or replaced.
    pub(crate) fn join<'j>(&mut self, json: &'j str) -> Cow<'j, str> {
        if !json.contains(r"\ud") && !json.contains(r"\uD") {
            return Cow::Borrowed(json);
        }
        let mut joined = String::with_capacity(json.len());
        let mut at = 0;
        while let Some(found) = json[at..].find('\\') {
            let escape = at + found;
            joined.push_str(&json[at..escape]);
            at = escape + self.push_escape(&json[escape..], &mut joined);
        }
        joined.push_str(&json[at..]);
        Cow::Owned(joined)
    }

    /// Writes the escape that a text begins with; returns how much of the text that was.
    fn push_escape(&mut self, text: &str, joined: &mut String) -> usize {
        let Some(half) = half_at(text) else {
            // Two bytes, so that the second backslash of `\\` begins nothing.
            let length = text.ceil_char_boundary(2.min(text.len()));
            joined.push_str(&text[..length]);
            return length;
        };
        let (escape, rest) = text.split_at(ESCAPE);
        match half {
            Half::High if half_at(rest) == Some(Half::Low) => {
                joined.push_str(&text[..2 * ESCAPE]);
                return 2 * ESCAPE;
            }
            Half::High if rest.starts_with('"') => escape.clone_into(&mut self.high),
            Half::Low if joined.ends_with('"') && !self.high.is_empty() => {
                joined.push_str(&mem::take(&mut self.high));
                joined.push_str(escape);
            }
            Half::High | Half::Low => joined.push_str(REPLACEMENT),
        }
        ESCAPE
    }
}

/// The half of a character whose escape a text begins with.
fn half_at(text: &str) -> Option<Half> {
    let digits = text.strip_prefix(r"\u")?.get(..4)?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The strings of these texts, joined as those of one stream.
    #[track_caller]
    fn case(texts: &[&str], expected: &str) {
        let mut joiner = SurrogateJoiner::default();
        let strings = texts.iter().map(|text| {
            let json = format!("\"{text}\"");
            serde_json::from_str::<String>(&joiner.join(&json)).unwrap()
        });
        assert_eq!(strings.collect::<String>(), expected);
    }

    #[test]
    fn halves_of_a_character_are_joined_over_two_texts() {
        case(&[r"bad \ud83d", r"\ude00 end"], "bad 😀 end");
        case(&[r"\uD83D\uDE00 \ud83d", "", r"\uDE00"], "😀 😀");
    }

    #[test]
    fn a_half_that_stays_alone_is_replaced() {
        case(&[r"a \ud83d b \ude00 c"], "a \u{fffd} b \u{fffd} c");
        case(&[r"\ude00", r"\ud83d\ud83d\ude00"], "\u{fffd}\u{fffd}😀");
    }

    #[test]
    fn other_escapes_stay_as_they_are() {
        case(
            &[r"\\ud83d \u00e4\n\u4e2d\\", r"\ud7ff"],
            "\\ud83d ä\n中\\\u{d7ff}",
        );
        let mut joiner = SurrogateJoiner::default();
        for broken in [r#""\ud83"#, r#""\ud8"#, "\"\\ud \\", r#""\udä""#] {
            joiner.join(broken);
        }
    }
}
