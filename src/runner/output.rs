//! Keeps the beginning and the end of a child's output, the failures between them, and counts the
//! rest.
//!
//! Memory depends on the cap, not on the output. Bytes that are no UTF-8 become `U+FFFD`; a
//! character that is split between two reads stays whole.

use std::fmt::Write;

use super::escapes::EscapeFilter;
pub(super) use super::escapes::Reports;
use super::pipeline;
use crate::api::KeyFilters;
use crate::excerpt::{self, Passages};
use crate::known_keys::KnownKeys;
use crate::protocol::Capped;

/// The beginning and the end of a text that comes in pieces.
#[derive(Debug)]
pub(super) struct Output {
    /// Bytes of a character whose rest has not come yet; at most three.
    pending: Vec<u8>,
    head: String,
    head_room: usize,
    tail: String,
    tail_chars: usize,
    tail_max: usize,
    /// True if the tail begins at the beginning of a line.
    tail_is_whole: bool,
    /// The passages between them.
    middle: Passages,
    max_chars: usize,
    total_chars: u64,
    /// Decodes what is no UTF-8.
    console_text: fn(&[u8]) -> Option<String>,
    /// True if lines end with CR and LF, of which only LF is kept.
    has_crlf: bool,
    /// Removes escape sequences, if they are to be removed.
    escapes: Option<EscapeFilter>,
    /// Removes a key, before anything is cut: half a key would not be found.
    keys: KeyFilters,
}

impl Output {
    /// How long the tail may grow at least before it is cut, so that cutting is rare.
    const SLACK: usize = 16 * 1024;

    /// Keeps at most so many characters.
    pub(super) fn keeping(max_chars: usize) -> Self {
        let tail_max = max_chars / 2;
        Self {
            pending: Vec::new(),
            head: String::new(),
            head_room: max_chars - tail_max,
            tail: String::new(),
            tail_chars: 0,
            tail_max,
            tail_is_whole: false,
            middle: Passages::keeping(max_chars / 2),
            max_chars,
            total_chars: 0,
            console_text: |_| None,
            has_crlf: false,
            escapes: None,
            keys: KeyFilters::default(),
        }
    }

    /// Keeps these keys out of the text.
    pub(super) fn withhold(&mut self, keys: Option<&KnownKeys>) {
        self.keys = keys.map(KnownKeys::filters).unwrap_or_default();
    }

    /// Keeps at most so many characters of what commands print, without escape sequences.
    pub(super) fn of_commands(max_chars: usize) -> Self {
        Self {
            console_text: crate::platform::console_text,
            has_crlf: cfg!(windows),
            escapes: Some(EscapeFilter::default()),
            ..Self::keeping(max_chars)
        }
    }

    /// Takes the next bytes and gives them as text.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let joined;
        let bytes = if self.pending.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.pending), bytes].concat();
            &joined
        };
        let (mut text, rest) = decoded(bytes, self.console_text);
        self.pending.extend_from_slice(rest);
        if self.has_crlf {
            text = text.replace("\r\n", "\n");
            // Its other half comes with the next bytes.
            if self.pending.is_empty() && text.ends_with('\r') {
                text.pop();
                self.pending.push(b'\r');
            }
        }
        if let Some(escapes) = &mut self.escapes {
            text = escapes.filter(&text);
            // Bash reads its first line before it runs anything, so this comes first.
            if self.total_chars < 1024 {
                text = pipeline::without_trap(text);
            }
        }
        text = self.keys.push(&text);
        self.keep(&text);
        text
    }

    /// The text so far, with a line that tells how much is missing, and what was reported in it.
    pub(super) fn finish(mut self) -> (Capped, Reports) {
        let mut reports = Reports::default();
        let mut rest = String::new();
        if let pending @ [_, ..] = &*std::mem::take(&mut self.pending) {
            let text = String::from_utf8(pending.to_vec()).ok();
            let text = text.or_else(|| (self.console_text)(pending));
            rest.push_str(text.as_deref().unwrap_or("\u{FFFD}"));
        }
        if let Some(mut escapes) = self.escapes.take() {
            rest = escapes.filter(&rest);
            let (unfinished, reported) = escapes.finish();
            rest.push_str(&unfinished);
            reports = reported;
        }
        let mut keys = std::mem::take(&mut self.keys);
        rest = keys.push(&rest) + &keys.finish();
        self.keep(&rest);
        (self.capped(), reports)
    }

    fn capped(mut self) -> Capped {
        let held = self.head.chars().count() + self.tail_chars;
        // A word about the cut would be longer than what it hides.
        let is_little_more = held <= self.max_chars.saturating_add(excerpt::MARK);
        if self.total_chars == held as u64 && is_little_more {
            return Capped {
                text: self.head + &self.tail,
                omitted: 0,
            };
        }
        self.cut_tail();
        let kept = self.head.chars().count() + self.tail_chars;
        if self.total_chars <= kept as u64 {
            return Capped {
                text: self.head + &self.tail,
                omitted: 0,
            };
        }
        match std::mem::take(&mut self.middle).finish() {
            Some((failures, partial)) => self.with_failures(&failures, &partial),
            None => self.both_ends(),
        }
    }

    /// The kept text, cut at lines.
    fn both_ends(self) -> Capped {
        let mut text = self.head;
        text.truncate(excerpt::whole_end(&text));
        let start = if self.tail_is_whole {
            0
        } else {
            excerpt::whole_start(&self.tail)
        };
        let tail = &self.tail[start..];
        let kept = text.chars().count() + tail.chars().count();
        let omitted = self.total_chars - u64::try_from(kept).unwrap_or(self.total_chars);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[TRUNCATED: {omitted} characters omitted]");
        text.push_str(tail);
        Capped { text, omitted }
    }

    /// The kept text and the failures, as much as may be shown.
    fn with_failures(self, failures: &str, partial: &str) -> Capped {
        let mut text = excerpt::joined(&self.head, failures);
        text.push_str(partial);
        text.push_str(&self.tail);
        let text = excerpt::excerpt(&text, self.max_chars);
        Capped {
            omitted: excerpt::omitted(&text),
            text,
        }
    }

    fn keep(&mut self, text: &str) {
        let chars = text.chars().count();
        self.total_chars += chars as u64;
        let cut = byte_of_char(text, self.head_room);
        let (first, rest) = text.split_at(cut);
        self.head.push_str(first);
        let taken = if rest.is_empty() {
            chars
        } else {
            self.head_room
        };
        self.head_room -= taken;
        self.tail.push_str(rest);
        self.tail_chars += chars - taken;
        // Cutting costs as much as what is kept: let at least as much come in between.
        if self.tail_chars > self.tail_max.saturating_mul(2).max(Self::SLACK) {
            self.cut_tail();
        }
    }

    fn cut_tail(&mut self) {
        if self.tail_chars <= self.tail_max {
            return;
        }
        let kept = self.tail.char_indices().rev().take(self.tail_max).last();
        let cut = kept.map_or(self.tail.len(), |(byte, _)| byte);
        self.middle.push(&self.tail[..cut]);
        self.tail_is_whole = self.tail[..cut].ends_with('\n');
        self.tail.drain(..cut);
        self.tail_chars = self.tail_max;
    }
}

/// Where the character with this number begins, or the end of the text.
fn byte_of_char(text: &str, number: usize) -> usize {
    text.char_indices()
        .nth(number)
        .map_or(text.len(), |(byte, _)| byte)
}

/// The text of these bytes, and the beginning of a character at their end.
///
/// A line that is no UTF-8 is taken for one in the encoding of the console from there on, if it has
/// one of its own: a byte of another character may look like a letter there.
fn decoded(bytes: &[u8], console_text: fn(&[u8]) -> Option<String>) -> (String, &[u8]) {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(valid) => {
                text.push_str(valid);
                return (text, &[]);
            }
            Err(error) => error,
        };
        let (valid, strange) = rest.split_at(error.valid_up_to());
        text.push_str(str::from_utf8(valid).unwrap_or_default());
        let Some(length) = error.error_len() else {
            return (text, strange);
        };
        let line = strange.iter().position(|byte| *byte == b'\n');
        let (line, after) = strange.split_at(line.unwrap_or(strange.len()));
        rest = if let Some(decoded) = console_text(line) {
            text.push_str(&decoded);
            after
        } else {
            text.push(char::REPLACEMENT_CHARACTER);
            &strange[length..]
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(max: usize, pieces: &[&[u8]], expected: &str, omitted: u64) {
        let mut output = Output::keeping(max);
        for piece in pieces {
            output.push(piece);
        }
        let (capped, _) = output.finish();
        assert_eq!((capped.text.as_str(), capped.omitted), (expected, omitted));
    }

    #[test]
    fn a_line_in_the_encoding_of_the_console_is_decoded_from_where_it_is_strange() {
        let mut output = Output::keeping(1000);
        output.console_text = |bytes| {
            let shown = |byte: &u8| match byte {
                0x82 => 'é',
                0xc3 => '├',
                other => char::from(*other),
            };
            Some(bytes.iter().map(shown).collect())
        };
        output.push(b"ok \xc3");
        output.push(b"\xa9\nlatt\x82 x\n\xc3\xa9\nend \xc3");
        let (capped, _) = output.finish();
        assert_eq!(capped.text, "ok é\nlatté x\né\nend ├");
    }

    #[test]
    fn line_ends_of_windows_become_those_of_the_message() {
        let mut output = Output::keeping(1000);
        output.has_crlf = true;
        for piece in ["one\r\ntwo\r", "\nthree\rfour", "\r"] {
            output.push(piece.as_bytes());
        }
        let (capped, _) = output.finish();
        assert_eq!(capped.text, "one\ntwo\nthree\rfour\r");
    }

    #[test]
    fn lines_stay_whole_beside_failures() {
        let quiet = |from: usize| -> String {
            (from..from + 500).fold(String::new(), |text, n| {
                text + &format!("test case number {n} of this run ... ok\n")
            })
        };
        let text = format!("{}error: it broke\n{}", quiet(0), quiet(500));
        for max in 700..760 {
            let mut output = Output::keeping(max);
            for piece in text.as_bytes().chunks(100) {
                output.push(piece);
            }
            let shown = output.finish().0.text;
            assert!(shown.contains("\nerror: it broke\n"), "{shown}");
            for line in shown.lines() {
                let is_whole = text.lines().any(|whole| whole == line);
                assert!(is_whole || line.starts_with("[TRUNCATED: "), "{max} {line}");
            }
        }
    }

    #[test]
    fn keeps_what_fits_as_it_is() {
        case(4, &[b"abcd"], "abcd", 0);
        case(4, &[b"ab", b"", b"cd"], "abcd", 0);
        case(4, &["äöüß".as_bytes()], "äöüß", 0);
        case(0, &[], "", 0);
    }

    #[test]
    fn says_on_a_line_of_its_own_how_much_is_missing() {
        let long = "x".repeat(100);
        let text = format!("ab{long}de");
        let expected = "ab\n[TRUNCATED: 100 characters omitted]\nde";
        case(4, &[text.as_bytes()], expected, 100);
        let lines = format!("a\n{long}c\n");
        let expected = "a\n[TRUNCATED: 102 characters omitted]\n";
        case(4, &[lines.as_bytes()], expected, 102);
        let expected = "[TRUNCATED: 100 characters omitted]\n";
        case(0, &[long.as_bytes()], expected, 100);
    }

    #[test]
    fn no_word_about_a_cut_is_longer_than_what_it_hides() {
        case(4, &[b"abcde"], "abcde", 0);
        let text = "x".repeat(4 + excerpt::MARK);
        case(4, &[text.as_bytes()], &text, 0);
    }

    #[test]
    fn a_failure_in_the_middle_is_kept() {
        let mut output = Output::keeping(2_000);
        for number in 0..100_000 {
            output.push(format!("test {number} ... ok\n").as_bytes());
            if number == 50_000 {
                output.push(b"thread 'main' panicked at src/lib.rs:7:9:\nleft: 1\n");
            }
        }
        let (Capped { text, omitted }, _) = output.finish();
        assert!(
            text.contains("ok\nthread 'main' panicked at src/lib.rs:7:9:\nleft: 1\n"),
            "{text}"
        );
        assert!(text.ends_with("test 99999 ... ok\n") && text.starts_with("test 0 ... ok\n"));
        assert!(
            text.chars().count() <= 2_000 && omitted > 1_000_000,
            "{text}"
        );
    }

    #[test]
    fn no_secret_is_cut_in_two() {
        let mut output = Output::keeping(100);
        for _ in 0..50 {
            output.push(b"TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789\n");
        }
        let text = output.finish().0.text;
        let is_whole = |line: &str| line.len() == 46 || line.starts_with("[TRUNCATED");
        assert!(text.lines().all(is_whole), "{text}");
    }

    #[test]
    fn a_character_split_between_two_reads_stays_whole() {
        case(9, &[b"\xF0\x9F", b"\x98", b"\x80!"], "😀!", 0);
        case(9, &[b"\xC3", b"\xA4"], "ä", 0);
    }

    #[test]
    fn replaces_what_is_no_text() {
        case(9, &[b"a\xFFb"], "a\u{FFFD}b", 0);
        case(9, &[b"a\xC3", b"b"], "a\u{FFFD}b", 0);
        case(9, &[b"a\xF0\x9F\x98"], "a\u{FFFD}", 0);
    }

    #[test]
    fn memory_stays_flat() {
        let mut output = Output::keeping(100);
        let piece = vec![b'x'; 64 * 1024];
        for _ in 0..1000 {
            output.push(&piece);
            assert!(output.tail.capacity() < 512 * 1024);
        }
        assert_eq!(output.finish().0.omitted, 64 * 1024 * 1000 - 100);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200, max in 0usize..50) {
            let cut = cut.min(bytes.len());
            let mut whole = Output::keeping(max);
            whole.push(&bytes);
            let mut parts = Output::keeping(max);
            parts.push(&bytes[..cut]);
            parts.push(&bytes[cut..]);
            prop_assert_eq!(whole.finish(), parts.finish());
        }

        #[test]
        fn what_fits_is_the_lossy_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut output = Output::keeping(1000);
            let mut shown = output.push(&bytes);
            let (capped, _) = output.finish();
            if shown.len() < capped.text.len() {
                shown.push('\u{FFFD}');
            }
            prop_assert_eq!(&capped.text, &String::from_utf8_lossy(&bytes));
            prop_assert_eq!(shown, capped.text);
        }
    }
}
