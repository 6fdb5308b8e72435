//! Finds the passages that a text which was not found may have meant.
//!
//! Only for showing them: what is found here never decides an edit. A passage is the nearer the
//! more of its words, the rare ones above all, stand at the same distance from its first line.

use std::collections::{BTreeMap, HashMap};

use super::document::{Document, LineNumber};

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
pub(super) fn nearest(document: &Document<'_>, lines: &[&str]) -> Vec<LineNumber> {
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

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
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
