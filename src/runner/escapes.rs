//! Removes terminal escape sequences from the output of a command, which comes in pieces.
//!
//! ```text
//! sequence = (ESC "[" | U+009B) parameters final           colours, cursor movement
//!          | ESC ("]" | "P" | "X" | "^" | "_") text end    titles, links, our own report
//!          | ESC intermediates final                       character sets
//! end      = BEL | ESC "\"
//! ```
//!
//! Tools may colour what they print, because tests of colours must pass here as they do for the
//! person. No output is lost: a sequence that is not completed, is too long or reaches beyond its
//! line gives its text back.

/// The maximum length of a sequence, in characters.
const MAX_SEQUENCE: usize = 2048;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// Where the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum EscapeState {
    /// In ordinary text.
    #[default]
    Text,
    /// Behind an `ESC`.
    Escape,
    /// In a control sequence, before its final character.
    Control,
    /// In a text that a terminal would not print.
    Hidden,
    /// Behind an `ESC` in such a text.
    HiddenEscape,
}

/// The reports in an output, by the shell or by the other side; the last of each counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reports {
    /// The exit codes of the last pipeline.
    pub(super) pipeline: Option<String>,
    /// The command on the other side was about to begin.
    pub(super) began: bool,
    /// The exit code of the command on the other side.
    pub(super) ended: Option<String>,
}

/// Removes escape sequences, and hands out the texts that begin with [`REPORT`](super::pipeline::REPORT).
#[derive(Debug, Default)]
pub(super) struct EscapeFilter {
    state: EscapeState,
    /// The sequence so far, without what introduced it.
    sequence: String,
    length: usize,
    reports: Reports,
}

impl EscapeFilter {
    /// The text without escape sequences; the beginning of one is kept for the next piece.
    pub(super) fn filter(&mut self, text: &str) -> String {
        // Searched as bytes, because nearly all output has neither.
        let has = |byte: u8| text.as_bytes().contains(&byte);
        if self.state == EscapeState::Text && !has(0x1b) && !has(0x9b) {
            return text.to_owned();
        }
        let mut kept = String::with_capacity(text.len());
        for character in text.chars() {
            self.push(character, &mut kept);
        }
        kept
    }

    /// The text of a sequence that was never completed, and what was reported.
    pub(super) fn finish(mut self) -> (String, Reports) {
        let mut kept = String::new();
        self.give_back(&mut kept);
        (kept, self.reports)
    }

    fn push(&mut self, character: char, kept: &mut String) {
        use EscapeState::{Control, Escape, Hidden, HiddenEscape, Text};
        let is_too_long = self.length >= MAX_SEQUENCE || character == '\n';
        match (self.state, character) {
            (Text, ESCAPE) => self.state = Escape,
            (Text, '\u{9b}') => self.state = Control,
            (Text, _) => kept.push(character),
            (_, _) if is_too_long => {
                self.give_back(kept);
                kept.push(character);
            }
            (Escape, '[') => self.state = Control,
            (Escape, ']' | 'P' | 'X' | '^' | '_') => self.state = Hidden,
            (Escape, ' '..='/') => self.length += 1,
            (Escape | Control, ESCAPE) => {
                self.reset();
                self.state = Escape;
            }
            (Escape, '0'..='~') | (Control, '@'..='~') => self.reset(),
            (Hidden, BELL) | (HiddenEscape, '\\') => self.complete(),
            (Hidden, ESCAPE) => self.state = HiddenEscape,
            (Control, ' '..='?') | (Hidden, _) => self.keep(character),
            (HiddenEscape, _) => {
                // Another sequence begins within the text.
                self.give_back(kept);
                self.state = Escape;
                self.push(character, kept);
            }
            (Escape | Control, _) => {
                self.give_back(kept);
                kept.push(character);
            }
        }
    }

    fn keep(&mut self, character: char) {
        self.sequence.push(character);
        self.length += 1;
    }

    fn complete(&mut self) {
        let text = self.sequence.as_str();
        if let Some(report) = text.strip_prefix(super::pipeline::REPORT) {
            self.reports.pipeline = Some(report.to_owned());
        } else if let Some(code) = text.strip_prefix(super::channel::ENDED) {
            self.reports.ended = Some(code.to_owned());
        } else if text == super::channel::BEGAN {
            self.reports.began = true;
        }
        self.reset();
    }

    fn give_back(&mut self, kept: &mut String) {
        kept.push_str(&self.sequence);
        self.reset();
    }

    fn reset(&mut self) {
        self.sequence.clear();
        self.length = 0;
        self.state = EscapeState::Text;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &str) {
        let mut filter = EscapeFilter::default();
        let kept = filter.filter(text);
        assert_eq!(kept + &filter.finish().0, expected, "{text:?}");
    }

    #[test]
    fn colours_titles_and_movements_go() {
        case("plain\ttext\r\n", "plain\ttext\r\n");
        case("\x1b[1;31merror\x1b[0m: x", "error: x");
        case("\x1b[38;2;1;2;3mx\x1b[K\x1b[2J\x1b[?25l", "x");
        case(
            "\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\",
            "xlink",
        );
        case("\x1b(Bx\x1b=\x1b7\x1bcy", "xy");
        case("\u{9b}31mx", "x");
        case("\x1b\x1b[31mx", "x");
    }

    #[test]
    fn no_text_is_lost_to_a_sequence_that_does_not_end() {
        case("\x1b]0;title", "0;title");
        case("\x1b_a\nb\n", "a\nb\n");
        case("\x1b[31", "31");
        case("\x1b[3ä", "3ä");
        case("\x1b]a\x1b[31mb", "ab");
        let long = "x".repeat(3 * MAX_SEQUENCE);
        case(&format!("\x1bP{long}"), &long);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[\x1b\x07\\[\\]_0-9;ma\\\\\n ]{0,60}", cut in 0usize..60) {
            let cut = cut.min(text.len());
            let (mut whole, mut parts) = (EscapeFilter::default(), EscapeFilter::default());
            let expected = whole.filter(&text) + &whole.finish().0;
            let first = parts.filter(&text[..cut]);
            let second = parts.filter(&text[cut..]);
            prop_assert_eq!(first + &second + &parts.finish().0, expected);
        }

        #[test]
        fn nothing_that_a_terminal_obeys_is_left(text in "\\PC{0,20}(\x1b\\PC{0,20}){0,4}") {
            let mut filter = EscapeFilter::default();
            let kept = filter.filter(&text) + &filter.finish().0;
            prop_assert!(!kept.contains('\x1b'));
        }
    }
}
