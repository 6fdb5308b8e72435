//! OSC 52: the escape sequence with which a program hands a text to the terminal's clipboard.
//!
//! It goes wherever the terminal is, so it works over a network; no terminal says whether it took
//! it, and many take only so much. tmux and screen pass it on only in a wrapping of their own.

use super::surroundings::Multiplexer;

/// The most bytes of a text that every terminal takes that takes any: 100,000 of the sequence.
pub(super) const LONGEST: usize = 74_994;

/// How much screen takes in one of its wrappings.
const SCREEN_CHUNK: usize = 512;

/// The sequence that puts a text on the terminal's clipboard.
pub(super) fn copying(text: &str, multiplexer: Option<Multiplexer>) -> String {
    let sequence = format!("\x1b]52;c;{}\x07", base64(text.as_bytes()));
    match multiplexer {
        // tmux takes the plain one if `set-clipboard` is on, the wrapped one if it passes on.
        Some(Multiplexer::Tmux) => format!("{sequence}{}", passed_on(&sequence, multiplexer)),
        _ => passed_on(&sequence, multiplexer),
    }
}

/// A sequence as the terminal behind a multiplexer gets it.
pub(super) fn passed_on(sequence: &str, multiplexer: Option<Multiplexer>) -> String {
    match multiplexer {
        None => sequence.to_owned(),
        Some(Multiplexer::Tmux) => {
            format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
        }
        Some(Multiplexer::Screen) => sequence
            .as_bytes()
            .chunks(SCREEN_CHUNK)
            .flat_map(|chunk| [b"\x1bP", chunk, b"\x1b\\"])
            .map(String::from_utf8_lossy)
            .collect(),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = bits >> (18 - 6 * place) & 63;
            text.push(if place <= chunk.len() {
                char::from(DIGITS[digit as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_are_those_of_the_standard() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
            ("ü→", "w7zihpI="),
        ] {
            assert_eq!(base64(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_multiplexer_gets_its_wrapping() {
        assert_eq!(copying("f", None), "\x1b]52;c;Zg==\x07");
        assert_eq!(
            copying("f", Some(Multiplexer::Tmux)),
            "\x1b]52;c;Zg==\x07\x1bPtmux;\x1b\x1b]52;c;Zg==\x07\x1b\\"
        );
        let long = copying(&"x".repeat(900), Some(Multiplexer::Screen));
        assert_eq!(long.matches("\x1bP").count(), 3);
        let joined = long.replace("\x1bP", "").replace("\x1b\\", "");
        assert_eq!(joined, copying(&"x".repeat(900), None));
    }

    #[test]
    fn the_longest_text_makes_a_sequence_of_at_most_100_000_bytes() {
        assert!(copying(&"x".repeat(LONGEST), None).len() <= 100_000);
    }
}
