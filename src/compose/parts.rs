//! A message that is too long for one paste, in parts.
//!
//! Each part is within the limit. It begins with a line that says which part it is, and all but the
//! last ask for nothing but `OK 1/3`. Parts are cut before a section or a heading where that leaves
//! them full enough and takes no part more, else between lines; inside of a line only where the line
//! alone is too long.
//! Put together again without the words around them, they are the message, to the letter.

use super::chars;
use super::meter::{Meter, Tokens};
use crate::excerpt;

/// How much a chat takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// In characters.
    pub characters: usize,
    /// In estimated tokens; the largest number if the chat does not count them.
    pub tokens: usize,
}

/// The room for the words around a part, with numbers of up to five digits.
const WORDS: Limit = Limit {
    characters: 420,
    tokens: 150,
};

/// A part is cut before a heading if it is at least so full, in percent; the next one counts where
/// that would take a part more, and at last none is cut there.
const FULL_ENOUGH: [usize; 3] = [60, 80, 95];

/// No part is so full.
const NEVER: usize = 101;

/// A heading that stands so near above the first one beneath it goes with it, in characters.
const HEADINGS: usize = 200;

/// So much of a line that is too long for a part is worth being cut off it, in characters.
const WORTH_A_CUT: usize = 200;

impl Limit {
    /// Returns true if a text is within it.
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

    /// The room that is left for the message itself if it goes in parts.
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
            more => self.of_part().characters.saturating_mul(more),
        }
    }
}

/// Splits a message; a single part if it is within the limit as it is.
pub fn split(text: &str, limit: Limit) -> Vec<String> {
    if limit.holds(text) {
        return vec![text.to_owned()];
    }
    let pieces = best_pieces(text, limit.of_part());
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

/// The words before a part.
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

/// The words after a part that is not the last one.
fn foot(number: usize, total: usize, cut: Cut) -> String {
    let (line_break, place) = match cut {
        Cut::BetweenLines => ("", ""),
        Cut::InALine => ("\n", " (in the middle of a line)"),
    };
    format!(
        "{line_break}=== END OF PART {number} of {total}{place} ===\nAnswer only: OK {number}/{total}\n"
    )
}

/// Strips the words around a part.
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

/// As few pieces as there can be, cut before headings as far as that takes no more.
fn best_pieces(text: &str, limit: Limit) -> Vec<&str> {
    let fewest = pieces(text, limit, NEVER);
    let choices = FULL_ENOUGH.iter();
    choices
        .map(|full_enough| pieces(text, limit, *full_enough))
        .find(|pieces| pieces.len() <= fewest.len())
        .unwrap_or(fewest)
}

/// Cuts a text into pieces that are each within the limit.
fn pieces(text: &str, limit: Limit, full_enough: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(first_piece(rest, limit, full_enough));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// How much of a piece there is already.
#[derive(Debug, Clone, Default)]
struct FilledPart {
    tokens: Tokens,
    characters: usize,
    /// In bytes.
    end: usize,
}

impl FilledPart {
    /// In percent.
    fn of(&self, limit: Limit) -> usize {
        let used = self.tokens.total().saturating_mul(100) / limit.tokens;
        (self.characters * 100 / limit.characters).max(used)
    }

    /// Adds a text, or only so much of it as shows that it is too long; says whether it fits.
    fn add(&mut self, text: &str, limit: Limit) -> bool {
        let most = limit.characters.saturating_sub(self.characters);
        let seen = text.char_indices().nth(most.saturating_add(1));
        let seen = seen.map_or(text, |(at, _)| &text[..at]);
        self.characters += chars(seen);
        self.tokens.push(seen);
        self.end += text.len();
        self.characters <= limit.characters && self.tokens.total() <= limit.tokens
    }
}

/// The length in bytes of what fits of a text, cut at the best place.
fn first_piece(text: &str, limit: Limit, full_enough: usize) -> usize {
    let mut filled = FilledPart::default();
    // Where the last heading begins before which a cut leaves the piece full enough.
    let mut heading = None;
    // Where the last section begins.
    let mut section = FilledPart::default();
    for line in text.split_inclusive('\n') {
        if line.starts_with("=== ") || line.starts_with("## ") {
            section = filled.clone();
        }
        let is_first = filled.characters - section.characters <= HEADINGS;
        let above = match line.starts_with("### ") {
            true if !is_first => Some(&filled),
            true => Some(&section),
            false if section.end == filled.end => Some(&section),
            false => None,
        };
        if let Some(above) = above.filter(|above| above.of(limit) >= full_enough) {
            heading = Some(above.end);
        }
        let before = filled.clone();
        if !filled.add(line, limit) {
            return match heading {
                Some(heading) => heading,
                None if before.end > 0 && FilledPart::default().add(line, limit) => before.end,
                None => within_line(line, before, limit),
            };
        }
    }
    text.len()
}

/// The length of the piece of an overlong line that fits behind what is there; at least one
/// character.
fn within_line(line: &str, before: FilledPart, limit: Limit) -> usize {
    let FilledPart {
        mut tokens,
        characters,
        end,
    } = before;
    let mut fitting = line.len();
    let mut count = 0;
    for (at, character) in line.char_indices() {
        tokens.push(character.encode_utf8(&mut [0; 4]));
        // One is left for the line break that the part adds.
        let is_full = characters + count + 1 >= limit.characters || tokens.total() >= limit.tokens;
        if is_full && end + count > 0 {
            fitting = at;
            break;
        }
        count += 1;
    }
    if end > 0 && count < WORTH_A_CUT {
        return end;
    }
    match excerpt::whole_end(&line[..fitting]) {
        0 => end + fitting,
        whole => end + whole,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: Limit = Limit {
        characters: 2_000,
        tokens: 1_000,
    };

    /// For a chat that counts characters only.
    const LOOSE: Limit = Limit {
        tokens: usize::MAX,
        ..LIMIT
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
    fn no_part_more_for_the_sake_of_headings() {
        // Two parts hold it, but not if the first is cut before the heading.
        let text = format!("{}## Results\n{}", "x\n".repeat(550), "y\n".repeat(950));
        assert_eq!(split(&text, LOOSE).len(), 2);
    }

    #[test]
    fn a_heading_goes_with_the_one_below_it() {
        let files = format!("\n## Contents\n### a.txt\n{}", "y\n".repeat(600));
        let parts = split(&format!("{}{files}", "x\n".repeat(700)), LOOSE);
        assert!(parts[0].contains("x\n\n=== END"), "{}", parts[0]);
        assert!(parts[1].contains("## Contents\n### a.txt\n"));
    }

    #[test]
    fn a_line_that_is_too_long_fills_the_part_that_it_begins_in() {
        let text = format!("## Note\n{}\n", "some words ".repeat(270));
        let parts = split(&text, LOOSE);
        assert_eq!(parts.len(), 2);
        assert!(chars(&parts[0]) > 1_700, "{}", parts[0]);
        assert!(parts[0].contains(" \n=== END"), "{}", parts[0]);
        assert_eq!(join(&parts), text);
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
