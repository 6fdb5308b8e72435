//! Decides where a hunk stands.

use std::collections::{BTreeMap, BTreeSet};

use super::Refusal;
use super::document::{Document, EDGE, LineId};
use super::fold;
use super::index::Key;
use super::matcher;
use super::refuse::{self, Piece, shortened};
use crate::protocol::{Hunk, HunkLine, Level};

/// How many lines of context a hunk may be wrong about.
const FUZZ: usize = 2;

/// How far from its stated line a hunk is looked for before the whole file is.
const NEAR: usize = 100;

/// A hunk with its place.
#[derive(Debug)]
pub(super) struct Placed<'h> {
    pub(super) hunk: &'h Hunk,
    /// Its lines, without those that fuzz left out.
    pub(super) lines: &'h [HunkLine],
    /// The line below which it inserts, if it quotes none.
    pub(super) above: LineId,
    /// Its first line; the edge if it quotes none.
    pub(super) start: LineId,
    pub(super) level: Level,
    /// Whether its old lines end where the file ends.
    pub(super) is_at_end: bool,
}

/// Places hunks one after the other in a document that does not change meanwhile, so that the id of
/// a line is its number.
#[derive(Debug, Default)]
pub(super) struct Placer {
    /// The lines that hunks quote, each stretch by its first line, with the line after its last.
    taken: BTreeMap<LineId, LineId>,
    /// The lines below which hunks that quote none insert.
    inserted: BTreeSet<LineId>,
    /// The line after the last hunk.
    below: LineId,
    /// How much further down than stated the last hunk stood.
    drift: isize,
}

/// A part of a hunk that is looked for, and where it was found.
#[derive(Debug, Clone, Copy)]
struct Candidate<'h> {
    lines: &'h [HunkLine],
    /// How many lines of context were left out above.
    skipped: usize,
    /// The first line that matched.
    start: LineId,
    length: usize,
    level: Level,
}

impl Candidate<'_> {
    /// Where the whole hunk would begin.
    fn top(&self) -> usize {
        self.start.saturating_sub(self.skipped)
    }

    /// The line after the last.
    fn end(&self) -> LineId {
        self.start + self.length
    }
}

impl Placer {
    pub(super) fn place<'h>(
        &mut self,
        document: &mut Document<'_>,
        hunk: &'h Hunk,
    ) -> Result<Placed<'h>, Refusal> {
        let old: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::before).collect();
        if old.is_empty() {
            return self.place_insertion(document, hunk);
        }
        if let Some(candidate) = self.near_stated_line(document, hunk, &old) {
            return Ok(self.take(document, hunk, candidate));
        }
        let mut found = self.matches(document, hunk, &hunk.lines, 0, loosest(hunk));
        if found.is_empty() {
            found = self.fuzzy(document, hunk);
        }
        if found.is_empty() {
            return Err(refuse::not_found(Piece::Hunk, document, &old));
        }
        let candidate = self.choose(document, hunk, &found).ok_or_else(|| {
            let numbers: Vec<usize> = found.iter().map(|found| found.start).collect();
            refuse::ambiguous(Piece::Hunk, &numbers)
        })?;
        Ok(self.take(document, hunk, candidate))
    }

    /// The line at which a hunk should begin, by its header and the hunks before it.
    fn expected(&self, hunk: &Hunk) -> Option<usize> {
        let stated = usize::try_from(hunk.old_start?).ok()?;
        Some(stated.saturating_add_signed(self.drift))
    }

    /// The place nearest to the stated line where the hunk matches exactly, if it is a near one.
    fn near_stated_line<'h>(
        &self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        old: &[&str],
    ) -> Option<Candidate<'h>> {
        let expected = self.expected(hunk)?;
        let at = |start: usize| self.exactly_at(document, hunk, old, start);
        at(expected).or_else(|| {
            let both = |distance| {
                let above = expected.checked_sub(distance).and_then(at);
                let below = expected.checked_add(distance).and_then(at);
                (above, below)
            };
            let (above, below) = (1..=NEAR)
                .map(both)
                .find(|(above, below)| above.is_some() || below.is_some())?;
            above.xor(below)
        })
    }

    fn exactly_at<'h>(
        &self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        old: &[&str],
        start: LineId,
    ) -> Option<Candidate<'h>> {
        let candidate = Candidate {
            lines: &hunk.lines,
            skipped: 0,
            start,
            length: old.len(),
            level: Level::Exact,
        };
        let is_there = start > 0
            && start <= document.len()
            && candidate.end() <= document.len() + 1
            && (old.iter().zip(start..)).all(|(line, id)| document.text(id) == *line);
        (is_there && self.is_free(&candidate) && is_at_its_end(document, hunk, &candidate))
            .then_some(candidate)
    }

    /// All free places of some lines of a hunk, at the strictest level at which any matches.
    fn matches<'h>(
        &self,
        document: &mut Document<'_>,
        hunk: &Hunk,
        lines: &'h [HunkLine],
        skipped: usize,
        loosest: Level,
    ) -> Vec<Candidate<'h>> {
        let old: Vec<&str> = lines.iter().filter_map(HunkLine::before).collect();
        let Some(places) = matcher::places(document, &old, loosest) else {
            return Vec::new();
        };
        let candidates = places.starts.into_iter().map(|start| Candidate {
            lines,
            skipped,
            start,
            length: old.len(),
            level: places.level,
        });
        let mut free: Vec<Candidate<'h>> = candidates
            .filter(|candidate| self.is_free(candidate))
            .filter(|candidate| is_at_its_end(document, hunk, candidate))
            .collect();
        free.sort_unstable_by_key(|candidate| candidate.start);
        free
    }

    /// The places where all but one or two lines of context at the ends match.
    fn fuzzy<'h>(&self, document: &mut Document<'_>, hunk: &'h Hunk) -> Vec<Candidate<'h>> {
        let is_kept = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
        let leading = hunk.lines.iter().take_while(is_kept).count();
        let trailing = hunk.lines.iter().rev().take_while(is_kept).count();
        for fuzz in 1..=FUZZ.min(hunk.lines.len()) {
            let mut found: Vec<Candidate<'h>> = Vec::new();
            for skipped in 0..=fuzz.min(leading) {
                let cut = fuzz - skipped;
                let lines = &hunk.lines[skipped..hunk.lines.len() - cut];
                if cut <= trailing && is_enough(lines) {
                    let places = self.matches(document, hunk, lines, skipped, Level::TrailingSpace);
                    found.extend(places.into_iter().filter(|place| stays_first(hunk, place)));
                }
            }
            if !found.is_empty() {
                // The same place, found with different lines left out, is one place.
                found.sort_by_key(Candidate::top);
                found.dedup_by_key(|candidate| candidate.top());
                for candidate in &mut found {
                    candidate.level = Level::Fuzz;
                }
                return found;
            }
        }
        Vec::new()
    }

    fn is_free(&self, candidate: &Candidate<'_>) -> bool {
        let is_apart = (self.taken.range(..candidate.end()).next_back())
            .is_none_or(|(_, &end)| end <= candidate.start);
        let mut inside = self.inserted.range(candidate.start..candidate.end() - 1);
        is_apart && inside.next().is_none()
    }

    fn choose<'h>(
        &self,
        document: &mut Document<'_>,
        hunk: &Hunk,
        found: &[Candidate<'h>],
    ) -> Option<Candidate<'h>> {
        if let [only] = found {
            return Some(*only);
        }
        if let Some(expected) = self.expected(hunk) {
            let is_exact = found.iter().all(|found| found.level == Level::Exact);
            return if is_exact {
                nearest(found, expected)
            } else {
                let tops: Vec<_> = found.iter().map(|found| (*found, found.top())).collect();
                matcher::near(&tops, u32::try_from(expected).ok())
            };
        }
        let anchor = self.anchor(document, hunk).unwrap_or(EDGE);
        if anchor != EDGE {
            let end = block_end(document, anchor);
            let inside = |found: &&Candidate<'h>| found.start > anchor && found.start < end;
            if let Some(only) = only(found.iter().filter(inside)) {
                return Some(*only);
            }
        }
        let from = anchor.max(self.below.saturating_sub(1));
        only(found.iter().filter(|found| found.start > from)).copied()
    }

    /// The last of the hunk's anchors, each looked for below the one before it.
    fn anchor(&self, document: &mut Document<'_>, hunk: &Hunk) -> Option<LineId> {
        let mut at = self.below.saturating_sub(1);
        for anchor in &hunk.anchors {
            at = (first_below(document, anchor, at))
                .or_else(|| first_below(document, anchor, EDGE))?;
        }
        (!hunk.anchors.is_empty()).then_some(at)
    }

    fn place_insertion<'h>(
        &mut self,
        document: &mut Document<'_>,
        hunk: &'h Hunk,
    ) -> Result<Placed<'h>, Refusal> {
        let above = if let Some(line) = self.expected(hunk) {
            if line > document.len() {
                return Err(Refusal::new(format!(
                    "it inserts after line {line}, but the file has {} lines",
                    document.len()
                )));
            }
            line
        } else if hunk.anchors.is_empty() || hunk.at_end {
            document.len()
        } else {
            self.anchor(document, hunk).ok_or_else(|| {
                let anchor = hunk.anchors.last().map(String::as_str).unwrap_or_default();
                Refusal::new(format!(
                    "the line `{}` was not found",
                    shortened(anchor, 80)
                ))
            })?
        };
        let around = self.taken.range(..=above).next_back();
        if around.is_some_and(|(_, &end)| end > above + 1) {
            return Err(Refusal::new(
                "it inserts within the lines of an earlier hunk",
            ));
        }
        self.inserted.insert(above);
        self.below = self.below.max(above + 1);
        Ok(Placed {
            hunk,
            lines: &hunk.lines,
            above,
            start: EDGE,
            level: Level::Exact,
            is_at_end: above == document.len(),
        })
    }

    fn take<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        candidate: Candidate<'h>,
    ) -> Placed<'h> {
        self.taken.insert(candidate.start, candidate.end());
        self.below = candidate.end();
        if let Some(stated) = hunk.old_start.and_then(|line| isize::try_from(line).ok()) {
            self.drift = isize::try_from(candidate.top()).unwrap_or(stated) - stated;
        }
        Placed {
            hunk,
            lines: candidate.lines,
            above: candidate.start - 1,
            start: candidate.start,
            level: candidate.level,
            is_at_end: candidate.end() == document.len() + 1,
        }
    }
}

/// Whether a hunk that is said to reach the end of the file does so.
fn is_at_its_end(document: &Document<'_>, hunk: &Hunk, candidate: &Candidate<'_>) -> bool {
    !hunk.at_end || candidate.end() == document.len() + 1
}

/// How loosely a hunk may match: one that changes only white space or punctuation not at all.
fn loosest(hunk: &Hunk) -> Level {
    let folded = |lines: Vec<&str>| -> Vec<String> {
        lines
            .into_iter()
            .map(|line| fold::loose(line).into_owned())
            .collect()
    };
    let removed = hunk
        .lines
        .iter()
        .filter(|line| matches!(line, HunkLine::Remove(_)));
    let added = hunk
        .lines
        .iter()
        .filter(|line| matches!(line, HunkLine::Add(_)));
    let removed: Vec<&str> = removed.filter_map(HunkLine::before).collect();
    let added: Vec<&str> = added.filter_map(HunkLine::after).collect();
    if removed.len() == added.len() && folded(removed) == folded(added) {
        Level::Exact
    } else {
        Level::Whitespace
    }
}

/// Whether fuzz leaves a hunk that says to begin the file where it says to be.
fn stays_first(hunk: &Hunk, candidate: &Candidate<'_>) -> bool {
    let is_first = hunk.old_start.is_some_and(|line| line <= 1);
    !is_first || candidate.skipped == 0 || candidate.top() == 1
}

/// Whether what fuzz leaves of a hunk is enough to recognise a place by.
fn is_enough(lines: &[HunkLine]) -> bool {
    let removes = lines.iter().any(|line| matches!(line, HunkLine::Remove(_)));
    let filled = (lines.iter().filter_map(HunkLine::before))
        .filter(|line| !line.trim().is_empty())
        .count();
    filled >= if removes { 1 } else { 2 }
}

/// The candidate nearest to a line, if it is nearer than all others.
fn nearest<'h>(found: &[Candidate<'h>], expected: usize) -> Option<Candidate<'h>> {
    let distance = |candidate: &Candidate<'_>| candidate.top().abs_diff(expected);
    let least = found.iter().map(distance).min()?;
    only(found.iter().filter(|found| distance(found) == least)).copied()
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

/// The first line below another that is equal to an anchor, or is so but for its indentation.
fn first_below(document: &mut Document<'_>, anchor: &str, above: LineId) -> Option<LineId> {
    document.prepare(Key::Exact);
    document.prepare(Key::Loose);
    let document = &*document;
    let find = |key| {
        document
            .index(key)
            .map(|index| index.find(document, &[anchor]))
    };
    let is_below = |id: &LineId| *id > above;
    let exact = find(Key::Exact)?.into_iter().filter(is_below).min();
    exact.or_else(|| {
        (find(Key::Loose)?.into_iter().filter(is_below))
            .filter(|&id| document.text(id).trim() == anchor.trim())
            .min()
    })
}

/// The line after the block that a line opens: the next one that is indented no deeper and does
/// not merely close it.
fn block_end(document: &Document<'_>, opening: LineId) -> LineId {
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
