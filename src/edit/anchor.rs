//! The lines that a hunk's `@@` names, and the blocks that they open.
//!
//! An anchor says below which line a place is. It is a line of the file but for its indentation,
//! which the header of a hunk does not keep, or the beginning of one. The document must not change
//! while it is asked, so that what was found once holds.

use std::collections::HashMap;

use super::Refusal;
use super::document::{Document, LineId};
use super::fold;
use super::index::Key;
use super::refuse::{numbers, shortened};
use super::words::words;

/// A line that stands in more places than this is no anchor.
const MANY: usize = 64;

/// What was found out about the anchors of a patch.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    lines: HashMap<String, Vec<LineId>>,
    ends: HashMap<LineId, LineId>,
}

impl Anchors {
    /// The lines that the last anchor may mean, in ascending order, each in a block that the anchor
    /// before it opens; lines after `above` are preferred. Never empty.
    pub(super) fn find(
        &mut self,
        document: &mut Document<'_>,
        anchors: &[String],
        above: LineId,
    ) -> Result<Vec<LineId>, Refusal> {
        let mut found: Option<Vec<LineId>> = None;
        for anchor in anchors {
            let all = self.lines(document, anchor);
            let below = |line: LineId| all[all.partition_point(|&id| id <= line)..].to_vec();
            let lines = match &found {
                None if below(above).is_empty() => all.clone(),
                None => below(above),
                Some(outer) => {
                    let all = all.clone();
                    let inside: Vec<LineId> = (all.iter().copied())
                        .filter(|&line| self.is_inside(document, outer, line))
                        .collect();
                    match outer.first() {
                        Some(&first) if inside.is_empty() => {
                            all.into_iter().filter(|&line| line > first).collect()
                        }
                        _ => inside,
                    }
                }
            };
            if lines.is_empty() || lines.len() > MANY {
                return Err(unusable(anchor, lines.len()));
            }
            found = Some(lines);
        }
        Ok(found.unwrap_or_default())
    }

    /// The one line that the anchors mean.
    pub(super) fn only(
        &mut self,
        document: &mut Document<'_>,
        anchors: &[String],
        above: LineId,
    ) -> Result<LineId, Refusal> {
        match *self.find(document, anchors, above)? {
            [only] => Ok(only),
            ref lines => Err(Refusal::new(format!(
                "`{}` stands at lines {}; quote lines around the place",
                last(anchors),
                numbers(lines)
            ))),
        }
    }

    /// Whether a line is one of these, or in a block that one of them opens.
    pub(super) fn is_inside(
        &mut self,
        document: &Document<'_>,
        openings: &[LineId],
        line: LineId,
    ) -> bool {
        (openings.iter()).any(|&opening| opening <= line && line < self.end(document, opening))
    }

    /// The line after the block that a line opens; after the last one, if it opens none.
    fn end(&mut self, document: &Document<'_>, opening: LineId) -> LineId {
        *(self.ends.entry(opening)).or_insert_with(|| {
            let end = block_end(document, opening);
            let is_empty = (opening + 1..end).all(|id| document.text(id).trim().is_empty());
            if is_empty { document.len() + 1 } else { end }
        })
    }

    /// All lines that an anchor may mean, in ascending order.
    fn lines(&mut self, document: &mut Document<'_>, anchor: &str) -> &Vec<LineId> {
        (self.lines.entry(anchor.to_owned())).or_insert_with(|| {
            let mut lines = equal(document, anchor);
            if lines.is_empty() {
                lines = begun(document, anchor);
            }
            lines.sort_unstable();
            lines
        })
    }
}

/// The last of a hunk's anchors, as a message names it.
pub(super) fn last(anchors: &[String]) -> String {
    shortened(anchors.last().map(String::as_str).unwrap_or_default(), 80)
}

fn unusable(anchor: &str, places: usize) -> Refusal {
    let anchor = shortened(anchor, 80);
    Refusal::new(match places {
        0 => format!("the line `{anchor}` was not found"),
        _ => format!("`{anchor}` stands at {places} lines; quote lines around the place"),
    })
}

/// The lines that are equal to an anchor but for their indentation.
fn equal(document: &mut Document<'_>, anchor: &str) -> Vec<LineId> {
    document.prepare(Key::Loose);
    let document = &*document;
    let found = (document.index(Key::Loose)).map(|index| index.find(document, &[anchor]));
    (found.unwrap_or_default().into_iter())
        .filter(|&id| document.text(id).trim() == anchor.trim())
        .collect()
}

/// The lines that begin with an anchor, which ends with a word: `class A` of `class A(Base):`.
fn begun(document: &mut Document<'_>, anchor: &str) -> Vec<LineId> {
    let anchor = anchor.trim();
    document.learn_words();
    let document = &*document;
    let Some(index) = document.words() else {
        return Vec::new();
    };
    let rarest = words(anchor)
        .map(|word| index.bucket(word))
        .min_by_key(|bucket| bucket.count);
    let Some(bucket) = rarest else {
        return Vec::new();
    };
    let begins = |id: &LineId| {
        let rest = document.text(*id).trim_start().strip_prefix(anchor);
        rest.and_then(|rest| rest.chars().next())
            .is_some_and(|next| !next.is_alphanumeric() && next != '_')
    };
    index.places(bucket).filter(begins).collect()
}

/// The line after the block that a line opens: the next one that is indented no deeper and does
/// not merely close it.
pub(super) fn block_end(document: &Document<'_>, opening: LineId) -> LineId {
    let depth = fold::indentation(document.text(opening)).len();
    (opening + 1..=document.len())
        .find(|&id| {
            let line = document.text(id);
            let body = line.trim_start();
            !body.is_empty()
                && line.len() - body.len() <= depth
                && !body.starts_with(['}', ')', ']', '{'])
        })
        .unwrap_or(document.len() + 1)
}
