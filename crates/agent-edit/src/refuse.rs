//! The words of a refusal: what is wrong, and what the model needs to send it again.
//!
//! Finds the passages that a text which was not found may have meant.
//!
//! Only for showing them: what is found here never decides an edit. A passage is the nearer the
//! more of its words, the rare ones above all, stand at the same distance from its first line.

use std::collections::{BTreeMap, HashMap};

use crate::Refusal;
use crate::document::{Document, LineNumber};
use crate::fold::words;

/// How many bytes an edit of many places may write.
pub(super) const MAX_WRITTEN: usize = 64 << 20;
/// How many line numbers are named.
const MAX_NUMBERS: usize = 12;
/// How many lines of a passage are shown.
const MAX_LINES: usize = 10;
/// How many characters of a line are shown.
const MAX_CHARS: usize = 160;
/// The advice for a quotation that differs from the file.
const AS_IT_IS: &str = "copy it from the file as it is";

/// Refuses an edit of many places that would write more than anybody means.
pub(super) fn too_much(places: usize, length: usize) -> Result<(), Refusal> {
    if places.saturating_mul(length) <= MAX_WRITTEN {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "it would write {length} bytes at each of {places} places, which is too much"
    )))
}

/// The piece of an edit that a refusal is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum QuotedPiece {
    /// The text to look for.
    Search,
    /// A pattern to look for.
    Regex,
    /// The context and removed lines of a hunk.
    Hunk,
}

impl QuotedPiece {
    fn name(self) -> &'static str {
        match self {
            Self::Search => "the SEARCH text",
            Self::Regex => "the regular expression",
            Self::Hunk => "its old text",
        }
    }
}

/// More than one place matches.
pub(super) fn ambiguous(piece: QuotedPiece, lines: &[usize]) -> Refusal {
    Refusal::new(format!(
        "{} matches {} places, at lines {}",
        piece.name(),
        lines.len(),
        numbers(lines),
    ))
    .with_hint("add lines around it until it is unique")
}

/// The first of some line numbers, and how many more there are.
pub(super) fn numbers(lines: &[usize]) -> String {
    let shown: Vec<String> = (lines.iter().take(MAX_NUMBERS))
        .map(ToString::to_string)
        .collect();
    let more = match lines.len().saturating_sub(MAX_NUMBERS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}

/// The lines match, but their indentation differs from line to line: there is none to give to the
/// new ones.
pub(super) fn indented_otherwise(
    piece: QuotedPiece,
    document: &Document<'_>,
    start: LineNumber,
    lines: usize,
) -> Refusal {
    let mut refusal = Refusal::new(format!(
        "{} stands at line {start}, but is indented in another way there",
        piece.name(),
    ))
    .with_hint(AS_IT_IS);
    refusal.detail = format!("The lines of the file:{}", passage(document, start, lines));
    refusal
}

/// Nothing matches; the nearest passages are shown.
pub(super) fn not_found(piece: QuotedPiece, document: &Document<'_>, lines: &[&str]) -> Refusal {
    let first = (lines.iter().map(|line| line.trim()))
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let mut refusal = Refusal::new(format!(
        "{} was not found (it begins with `{}`)",
        piece.name(),
        shortened(first, 60),
    ));
    if document.len() == 0 {
        refusal.message.push_str("; the file is empty");
        return refusal;
    }
    if !document.may_hint() {
        return refusal;
    }
    let mut passages = nearest(document, lines);
    passages.sort_unstable();
    if passages.is_empty() {
        refusal.message.push_str("; no line of the file is like it");
        return refusal;
    }
    refusal = refusal.with_hint(AS_IT_IS);
    refusal.detail.push_str("The nearest passages of the file:");
    for start in passages {
        refusal.detail += &passage(document, start, lines.len());
    }
    refusal
}

/// Some lines with their numbers, under a heading.
fn passage(document: &Document<'_>, start: LineNumber, lines: usize) -> String {
    let shown: Vec<String> = (document.lines_from(start).take(lines.clamp(1, MAX_LINES)))
        .zip(start..)
        .map(|(line, number)| format!("\n{number}| {}", shortened(line, MAX_CHARS)))
        .collect();
    let last = start + shown.len().saturating_sub(1);
    format!("\nlines {start}-{last}:{}", shown.concat())
}

/// The text, cut to so many characters.
pub(super) fn shortened(text: &str, max: usize) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(max).collect();
    if characters.next().is_some() {
        shown.push_str(" ...");
    }
    shown
}

const PASSAGES: usize = 3;
/// How many lines of a quote are looked at.
const MAX_QUOTED: usize = 40;
/// How many places of a word are looked at.
const MAX_PLACES: usize = 64;

/// A word of the quote.
#[derive(Default)]
struct QuotedWord {
    /// In which lines of the quote it stands, from 0.
    offsets: Vec<usize>,
    /// The first lines of the document in which it stands.
    places: Vec<LineNumber>,
    /// How often it stands in the document.
    count: usize,
}

/// The first lines of the passages that are most like these lines, the nearest first.
fn nearest(document: &Document<'_>, lines: &[&str]) -> Vec<LineNumber> {
    let mut quoted: HashMap<&str, QuotedWord> = HashMap::new();
    for (offset, line) in lines.iter().take(MAX_QUOTED).enumerate() {
        for word in words(line) {
            quoted.entry(word).or_default().offsets.push(offset);
        }
    }
    for (line, number) in document.lines_from(1).zip(1..) {
        for word in words(line) {
            if let Some(word) = quoted.get_mut(word) {
                word.count += 1;
                if word.places.len() < MAX_PLACES {
                    word.places.push(number);
                }
            }
        }
    }
    let mut votes: BTreeMap<LineNumber, usize> = BTreeMap::new();
    for word in quoted.values() {
        let weight = (1000 / (word.count + 1)).max(1);
        for &offset in &word.offsets {
            for place in &word.places {
                let start = place.saturating_sub(offset).max(1);
                *votes.entry(start).or_default() += weight;
            }
        }
    }
    let mut votes: Vec<_> = votes.into_iter().collect();
    votes.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight));
    let mut found: Vec<LineNumber> = Vec::new();
    let apart = lines.len() / 2 + 1;
    for (start, _) in votes {
        if found.len() < PASSAGES && found.iter().all(|other| other.abs_diff(start) >= apart) {
            found.push(start);
        }
    }
    found
}

#[cfg(test)]
mod nearest_tests {
    use super::*;

    #[test]
    fn finds_the_passage_with_a_typo() {
        let text: Vec<String> = (0..1000)
            .map(|number| format!("fn item_{number}() {{\n    call({number});\n}}\n"))
            .collect();
        let text = text.concat();
        let document = Document::new(&text);
        let found = nearest(&document, &["fn item_500() -> u32 {", "    call(500)", "}"]);
        assert_eq!(found.first(), Some(&1501));
        assert!(found.len() <= 3);
        assert!(nearest(&document, &["zebra"]).is_empty());
    }
}
