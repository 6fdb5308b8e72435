//! A message that is too long for one paste, in parts.
//!
//! Each part is within the limit. It begins with a line that says which part it is, and all but the
//! last ask for nothing but `OK 1/3`. Parts are cut before a section or a heading where that leaves
//! them full enough, else between lines; inside of a line only where the line alone is too long.
//! Put together again without the words around them, they are the message, to the letter.

use super::chars;
use super::meter::{Meter, Tokens};

/// How much a chat takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// In characters.
    pub characters: usize,
    /// In estimated tokens; the largest number if the chat does not count them.
    pub tokens: usize,
}

/// What the words around a part may take, with numbers of up to five digits.
const WORDS: Limit = Limit {
    characters: 420,
    tokens: 150,
};

/// A part is cut before a heading if it is at least so full, in percent.
const FULL_ENOUGH: usize = 60;

impl Limit {
    /// Whether a text is within it.
    pub fn holds(self, text: &str) -> bool {
        let mut tokens = Tokens::default();
        tokens.push(text);
        chars(text) <= self.characters && tokens.total() <= self.tokens
    }

    /// How much of it a message takes, in percent; above 100 it takes several pastes.
    pub fn percent(self, meter: &Meter) -> usize {
        let share = |amount: usize, limit: usize| amount.saturating_mul(100).div_ceil(limit.max(1));
        share(meter.characters, self.characters).max(share(meter.tokens, self.tokens))
    }

    /// What of it is left for the message itself where it goes in parts.
    fn of_part(self) -> Self {
        Self {
            characters: self.characters.saturating_sub(WORDS.characters).max(1),
            tokens: self.tokens.saturating_sub(WORDS.tokens).max(1),
        }
    }

    /// How many characters of message go into so many pastes.
    pub(super) fn room(self, pastes: usize) -> usize {
        match pastes {
            0 | 1 => self.characters,
            // What the cuts before headings may leave empty.
            more => self.of_part().characters.saturating_mul(more) / 100 * 90,
        }
    }
}

/// Splits a message; a single part if it is within the limit as it is.
pub fn split(text: &str, limit: Limit) -> Vec<String> {
    if limit.holds(text) {
        return vec![text.to_owned()];
    }
    let pieces = pieces(text, limit.of_part());
    let total = pieces.len();
    let numbered = (1..).zip(pieces);
    numbered
        .map(|(number, piece)| enclosed(piece, number, total))
        .collect()
}

/// Puts the message together again from all its parts, in their order.
///
/// Only the very words that were put around a part are taken away, and only where they were put: the
/// message itself may have the like of them. What has other words is left as it is.
pub fn join(parts: &[String]) -> String {
    let total = parts.len();
    let numbered = (1..).zip(parts);
    numbered
        .map(|(number, part)| inside(part, number, total))
        .collect()
}

fn enclosed(piece: &str, number: usize, total: usize) -> String {
    let head = head(number, total);
    if number == total {
        return format!("{head}{piece}");
    }
    let end = if piece.ends_with('\n') {
        Cut::BetweenLines
    } else {
        Cut::InALine
    };
    format!("{head}{piece}{}", foot(number, total, end))
}

/// Where a part ends.
#[derive(Debug, Clone, Copy)]
enum Cut {
    BetweenLines,
    InALine,
}

/// What stands before a part.
fn head(number: usize, total: usize) -> String {
    let words = if number < total {
        format!(
            "This message comes in {total} parts, because it is too long for one. Do nothing yet. Answer only `OK {number}/{total}` and wait for the next part."
        )
    } else {
        format!(
            "This is the last part. Read all {total} as one message, and do now what PROMPT at its end says."
        )
    };
    format!("=== PART {number} of {total} ===\n{words}\n\n")
}

/// What stands behind a part that is not the last one.
fn foot(number: usize, total: usize, cut: Cut) -> String {
    let (line_break, place) = match cut {
        Cut::BetweenLines => ("", ""),
        Cut::InALine => ("\n", " (in the middle of a line)"),
    };
    format!(
        "{line_break}=== END OF PART {number} of {total}{place} ===\nAnswer only: OK {number}/{total}\n"
    )
}

/// What stands between the words around a part.
fn inside(part: &str, number: usize, total: usize) -> &str {
    let Some(body) = part.strip_prefix(&head(number, total)) else {
        return part;
    };
    if number == total {
        return body;
    }
    let without = |cut| body.strip_suffix(&foot(number, total, cut));
    without(Cut::InALine)
        .or_else(|| without(Cut::BetweenLines))
        .unwrap_or(body)
}

/// Cuts a text into pieces that are each within the limit.
fn pieces(text: &str, limit: Limit) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(first_piece(rest, limit));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The length in bytes of what fits of a text, cut at the best place.
fn first_piece(text: &str, limit: Limit) -> usize {
    let (mut tokens, mut characters, mut end) = (Tokens::default(), 0, 0);
    // Where the last heading begins before which a cut leaves the piece full enough.
    let mut heading = None;
    for line in text.split_inclusive('\n') {
        let is_heading =
            line.starts_with("=== ") || line.starts_with("## ") || line.starts_with("### ");
        let used = tokens.total().saturating_mul(100) / limit.tokens;
        let is_full = (characters * 100 / limit.characters).max(used) >= FULL_ENOUGH;
        if is_heading && is_full {
            heading = Some(end);
        }
        // No more of a long line than it takes to see that it is too long.
        let most = limit.characters.saturating_sub(characters);
        let seen = line
            .char_indices()
            .nth(most + 1)
            .map_or(line, |(at, _)| &line[..at]);
        characters += chars(seen);
        tokens.push(seen);
        if characters > limit.characters || tokens.total() > limit.tokens {
            return match heading {
                Some(heading) => heading,
                None if end > 0 => end,
                None => within_line(line, limit),
            };
        }
        end += line.len();
    }
    end
}

/// What fits of a line that alone is too long; at least one character.
fn within_line(line: &str, limit: Limit) -> usize {
    let mut tokens = Tokens::default();
    for (count, (at, character)) in line.char_indices().enumerate() {
        tokens.push(character.encode_utf8(&mut [0; 4]));
        // One is left for the line break that the part adds.
        if count > 0 && (count + 1 >= limit.characters || tokens.total() >= limit.tokens) {
            return at;
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: Limit = Limit {
        characters: 2_000,
        tokens: 1_000,
    };

    #[test]
    fn what_fits_is_left_as_it_is() {
        assert_eq!(split("=== HEADER ===\n", LIMIT), ["=== HEADER ===\n"]);
    }

    #[test]
    fn parts_say_which_they_are_and_what_to_answer() {
        let text = "a line of text\n".repeat(200);
        let parts = split(&text, LIMIT);
        assert_eq!(parts.len(), 2, "{parts:?}");
        assert!(
            parts[0].starts_with("=== PART 1 of 2 ===\n"),
            "{}",
            parts[0]
        );
        assert!(parts[0].ends_with("=== END OF PART 1 of 2 ===\nAnswer only: OK 1/2\n"));
        assert!(parts[1].contains("the last part"));
        assert!(!parts[1].contains("Answer only"));
    }

    #[test]
    fn cuts_before_a_heading_where_that_leaves_the_part_full_enough() {
        let text = format!("{}## Results\n{}", "x\n".repeat(500), "y\n".repeat(600));
        let parts = split(&text, LIMIT);
        assert!(parts[1].contains("\n\n## Results\ny\n"), "{}", parts[1]);
    }

    #[test]
    fn a_line_of_megabytes_takes_no_more_than_its_length() {
        let parts = split(&"word ".repeat(400_000), LIMIT);
        assert!(parts.iter().all(|part| LIMIT.holds(part)));
        assert!(parts.len() > 1000);
    }

    #[test]
    fn words_of_the_message_that_are_like_ours_stay() {
        let like_ours = "=== END OF PART 1 of 2 ===\nAnswer only: OK 1/2\n=== PART 2 of 2 ===\nThis is the last part.\n\n=== END OF PART 2 of 2 (in the middle of a line) ===\nlast words\n";
        for filling in [0, 50, 99, 130, 180] {
            let text = format!("{}{like_ours}", "a line of text\n".repeat(filling)).repeat(2);
            assert_eq!(join(&split(&text, LIMIT)), text);
        }
        assert_eq!(join(&["=== PART 1 of 1 ===\nx\n\ny".to_owned()]).len(), 24);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn every_part_fits_and_together_they_lose_nothing(
            lines in prop::collection::vec("([a-z ,.]{0,90}|## [a-z]{3}|```|[0-9é漢]{0,300}|[a-z]{0,3000}|=== END OF PART [12] of [23] ===|Answer only: OK [12]/[23])", 0..40),
            characters in 900_usize..5000, tokens in 500_usize..2000)
        {
            let text = lines.join("\n") + "\n";
            let limit = Limit { characters, tokens };
            let parts = split(&text, limit);
            for part in &parts {
                prop_assert!(limit.holds(part), "{} of {:?}", chars(part), limit);
            }
            prop_assert_eq!(join(&parts), text);
        }
    }
}
