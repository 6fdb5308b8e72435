//! Finds the passages that a text which was not found may have meant.
//!
//! Only for showing them: what is found here never decides an edit. A passage is the nearer the
//! more of its words, the rare ones above all, stand at the same distance from its first line. Each
//! question costs the same few thousand steps, however large the file is.

use super::document::{Document, EDGE, LineId};
use super::words::{Words, words};

const PASSAGES: usize = 3;
/// How many lines of a quote are looked at.
const MAX_QUOTED: usize = 40;
/// How many places of a word are looked at.
const MAX_PLACES: usize = 64;
/// How many places are looked at in all.
const MAX_VOTES: usize = 4000;

/// The first lines of the passages that are most like these lines, in no particular order.
pub(super) fn nearest(document: &mut Document<'_>, lines: &[&str]) -> Vec<LineId> {
    document.learn_words();
    let Some(index) = document.words() else {
        return Vec::new();
    };
    let votes = votes(document, index, lines);
    let mut found: Vec<LineId> = Vec::new();
    let apart = lines.len() / 2 + 1;
    for (start, _) in votes {
        let start = first_live(document, start);
        if start != EDGE && found.iter().all(|other| other.abs_diff(start) >= apart) {
            found.push(start);
            if found.len() == PASSAGES {
                break;
            }
        }
    }
    found
}

/// Where a passage would begin and how much speaks for it, the strongest first.
fn votes(document: &Document<'_>, index: &Words, lines: &[&str]) -> Vec<(LineId, usize)> {
    let mut votes: Vec<(LineId, usize)> = Vec::new();
    'lines: for (offset, line) in lines.iter().take(MAX_QUOTED).enumerate() {
        for word in words(line) {
            let bucket = index.bucket(word);
            let weight = (1000 / (bucket.count + 1)).max(1);
            for id in index.places(bucket).take(MAX_PLACES) {
                if votes.len() == MAX_VOTES {
                    break 'lines;
                }
                if document.is_live(id) {
                    let start = if document.is_original(id) {
                        id.saturating_sub(offset).max(1)
                    } else {
                        id
                    };
                    votes.push((start, weight));
                }
            }
        }
    }
    votes.sort_unstable();
    votes.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    votes.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight));
    votes.truncate(100);
    votes
}

/// The line, or the first after it in the original that is still there.
fn first_live(document: &Document<'_>, id: LineId) -> LineId {
    (id..document.ids())
        .take(100)
        .find(|&id| document.is_live(id))
        .unwrap_or(EDGE)
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
        let mut document = Document::new(&text);
        let found = nearest(
            &mut document,
            &["fn item_500() -> u32 {", "    call(500)", "}"],
        );
        assert_eq!(found.first(), Some(&1501));
        assert!(found.len() <= 3);
        assert!(nearest(&mut document, &["zebra"]).is_empty());
    }
}
