//! Decides where a hunk stands.

mod anchored;
mod applied;
mod candidate;
mod near;
mod standing;

use std::collections::BTreeMap;
use std::ops::Range;

use super::Refusal;
use super::anchor::Anchors;
use super::document::{Document, LineNumber};
use super::matcher;
use super::refuse::{self, QuotedPiece};
use agent_protocol::{Hunk, HunkLine, Level};
use candidate::{
    ChangedLines, HunkPlace, ambiguous, context, crossing, elsewhere, has_lost_mark, indented,
    is_at_its_end, is_enough, loosest, says_to_be_first, stays_first,
};
use standing::{Drift, HunkPositions};

/// How many lines of context a hunk may be wrong about.
const FUZZ: usize = 2;

/// How far from its stated line a hunk is looked for before the whole file is.
const NEAR: usize = 100;

/// How many times as many places as the file has lines are looked at; a patch of which every hunk
/// fits a large part of the file has no place.
const MAX_LOOKED_AT: usize = 64;

/// The line at which a hunk says to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stated {
    /// Nothing: its header has no numbers.
    Nothing,
    /// This line.
    Line(u32),
    /// A line that nobody can find any more: the file changed since it was counted.
    Lost,
}

/// A hunk with its place.
#[derive(Debug)]
pub(super) struct PlacedHunk<'h> {
    pub(super) hunk: &'h Hunk,
    /// Its lines, without those that fuzz left out.
    pub(super) lines: &'h [HunkLine],
    /// The line above it.
    pub(super) above: LineNumber,
    pub(super) level: Level,
    /// Set if its old lines end where the file ends.
    pub(super) is_at_end: bool,
}

/// Places hunks one after the other in a document that does not change meanwhile.
#[derive(Debug, Default)]
pub(super) struct Placer {
    /// The stretches that hunks change, by their span, with the end of it and the lines that the
    /// hunk quotes.
    changed: BTreeMap<usize, (usize, Range<LineNumber>)>,
    /// The last line that the last hunk changes, or below which it inserts.
    last_changed: LineNumber,
    /// How much further down than stated the last hunk stood.
    drift: isize,
    standing: HunkPositions,
    anchors: Anchors,
    /// How many places were looked at that hunks may have meant.
    looked_at: usize,
}

impl Placer {
    pub(super) fn place<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Result<PlacedHunk<'h>, Refusal> {
        let old: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::before).collect();
        if old.is_empty() {
            return self.place_insertion(document, hunk, stated);
        }
        if let Some(candidate) = self.near_stated_line(document, hunk, stated, &old) {
            let other = self.as_written(document, hunk, stated, &old);
            return match other.filter(|other| other.start != candidate.start) {
                Some(other) => Err(ambiguous(&[candidate, other])),
                None => Ok(self.take(document, hunk, stated, candidate)),
            };
        }
        if self.looked_at / MAX_LOOKED_AT > document.len() + 10_000 {
            return Err(Refusal::new(
                "the hunks before it fit very many places; add lines around them until each is unique",
            ));
        }
        let candidate = self.look_everywhere(document, hunk, stated, &old)?;
        let candidate = indented(document, candidate)?;
        Ok(self.take(document, hunk, stated, candidate))
    }

    fn look_everywhere<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        old: &[&str],
    ) -> Result<HunkPlace<'h>, Refusal> {
        let found = self.matches(document, hunk, &hunk.lines, 0, loosest(hunk));
        let (free, taken): (Vec<_>, Vec<_>) =
            (found.into_iter()).partition(|place| self.is_free(&place.changes(), &place.quoted()));
        // What fits a place that another hunk changes is not looked for more loosely elsewhere.
        if free.is_empty() && !taken.is_empty() {
            return Err(Refusal::new(format!(
                "it fits line {}, where another hunk of this patch changes the same lines; send one hunk for both",
                taken[0].start
            )));
        }
        let (mut found, out_of_order): (Vec<_>, Vec<_>) =
            (free.into_iter()).partition(|place| self.is_in_order(stated, place));
        if found.is_empty() && !out_of_order.is_empty() {
            return crossing(hunk, &out_of_order);
        }
        if found.is_empty() {
            found = self.fuzzy(document, hunk, stated);
        }
        if found.is_empty() {
            return Err(refuse::not_found(QuotedPiece::Hunk, document, old));
        }
        self.choose(document, hunk, stated, &found)
    }

    /// The line at which a hunk should begin, by its header and the hunks before it.
    fn expected(&self, stated: Stated) -> Option<usize> {
        let Stated::Line(line) = stated else {
            return None;
        };
        Some(
            usize::try_from(line)
                .ok()?
                .saturating_add_signed(self.drift),
        )
    }

    /// All places of some lines of a hunk, at the strictest level at which any matches.
    fn matches<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &Hunk,
        lines: &'h [HunkLine],
        skipped: usize,
        loosest: Level,
    ) -> Vec<HunkPlace<'h>> {
        let old: Vec<&str> = lines.iter().filter_map(HunkLine::before).collect();
        let Some(matches) = matcher::find(document, &old, loosest) else {
            return Vec::new();
        };
        self.looked_at += matches.starts.len();
        let places = matches.starts.into_iter().map(|start| HunkPlace {
            lines,
            skipped,
            start,
            length: old.len(),
            level: matches.level,
        });
        places
            .filter(|place| is_at_its_end(document, hunk, place))
            .collect()
    }

    /// The places where all but one or two lines of context at the ends match.
    fn fuzzy<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Vec<HunkPlace<'h>> {
        let expected = self.expected(stated);
        let is_near = |candidate: &HunkPlace<'_>, reach| match (stated, expected) {
            (Stated::Nothing, _) => reach > 0,
            (_, Some(expected)) => candidate.top().abs_diff(expected) <= reach,
            (_, None) => false,
        };
        let (leading, trailing) = context(hunk);
        for fuzz in 1..=FUZZ.min(hunk.lines.len()) {
            let mut found: Vec<HunkPlace<'h>> = Vec::new();
            for skipped in 0..=fuzz.min(leading) {
                let cut = fuzz - skipped;
                let lines = &hunk.lines[skipped..hunk.lines.len() - cut];
                let left_out =
                    (hunk.lines[..skipped].iter()).chain(&hunk.lines[skipped + lines.len()..]);
                let reach = match left_out.filter_map(HunkLine::before).all(str::is_empty) {
                    _ if cut > trailing => continue,
                    _ if is_enough(lines) => NEAR,
                    // Blank lines say so little that the stated line alone can do.
                    true => 0,
                    false => continue,
                };
                let places = self.matches(document, hunk, lines, skipped, Level::TrailingSpace);
                let is_fine = |place: &HunkPlace<'_>| {
                    is_near(place, reach)
                        && self.is_free(&place.changes(), &place.quoted())
                        && stays_first(hunk, stated, place)
                        && !has_lost_mark(document, hunk, place)
                        && self.is_in_order(stated, place)
                        && (stated != Stated::Nothing || self.is_below_last(place))
                };
                found.extend(places.into_iter().filter(is_fine));
            }
            if !found.is_empty() {
                // The same place, found with different lines left out, is one place.
                found.sort_by_key(HunkPlace::top);
                found.dedup_by_key(|candidate| candidate.top());
                for candidate in &mut found {
                    candidate.level = Level::Fuzz;
                }
                return found;
            }
        }
        Vec::new()
    }

    /// Tells whether no hunk so far changes what these changes are about.
    ///
    /// Two hunks may insert in the same place only if neither quotes what is on the other side: then
    /// their order is known.
    fn is_free(&self, changes: &[ChangedLines], quoted: &Range<LineNumber>) -> bool {
        changes.iter().map(ChangedLines::span).all(|span| {
            match self.changed.range(..span.end).next_back() {
                Some((start, (end, other))) if *end > span.start => {
                    let is_insertion = span.len() == 1 && span == (*start..*end);
                    is_insertion && (quoted.end <= other.start || other.end <= quoted.start)
                }
                _ => true,
            }
        })
    }

    /// Notes what a hunk changes.
    fn occupy(&mut self, changes: &[ChangedLines], quoted: &Range<LineNumber>) {
        for span in changes.iter().map(ChangedLines::span) {
            let (_, around) =
                (self.changed.entry(span.start)).or_insert((span.end, quoted.clone()));
            *around = around.start.min(quoted.start)..around.end.max(quoted.end);
        }
    }

    /// Tells whether a place is below those of the hunks before that state earlier lines.
    fn is_in_order(&self, stated: Stated, place: &HunkPlace<'_>) -> bool {
        match stated {
            Stated::Line(line) => self.standing.is_in_order(line, place.first_above()),
            Stated::Nothing | Stated::Lost => true,
        }
    }

    /// Tells whether a place is below what the last hunk changes.
    fn is_below_last(&self, place: &HunkPlace<'_>) -> bool {
        place.first_above() >= self.last_changed
    }

    fn choose<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &Hunk,
        stated: Stated,
        found: &[HunkPlace<'h>],
    ) -> Result<HunkPlace<'h>, Refusal> {
        if stated == Stated::Nothing && !hunk.anchors.is_empty() {
            return self.choose_by_anchors(document, hunk, found);
        }
        if matches!(stated, Stated::Line(_)) && says_to_be_first(hunk) {
            let expected = self.expected(stated);
            let first = (found.iter()).find(|found| Some(found.top()) == expected);
            let moved = || only(found.iter()).map(elsewhere);
            return (first.copied().or_else(moved)).ok_or_else(|| ambiguous(found));
        }
        let chosen = only(found.iter()).copied().or_else(|| match stated {
            Stated::Lost => None,
            Stated::Nothing => self.only_below(found.iter()),
            Stated::Line(_) => {
                let expected = (self.expected(stated)).filter(|line| *line <= document.len())?;
                let tops: Vec<_> = found.iter().map(|found| (*found, found.top())).collect();
                matcher::near(&tops, u32::try_from(expected).ok())
            }
        });
        chosen.ok_or_else(|| ambiguous(found))
    }

    /// The only place below the last hunk: hunks without numbers go down the file.
    fn only_below<'h: 'f, 'f>(
        &self,
        found: impl Iterator<Item = &'f HunkPlace<'h>>,
    ) -> Option<HunkPlace<'h>> {
        only(found.filter(|found| self.is_below_last(found))).copied()
    }

    fn place_insertion<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Result<PlacedHunk<'h>, Refusal> {
        if hunk.unquoted > 0 {
            return Err(Refusal::new(
                "its `@@` line counts old lines, but it shows none; quote lines around the place",
            ));
        }
        let above = if let Stated::Line(line) = stated {
            let Some(drift) = self.standing.drift_at(line) else {
                return Err(Refusal::new(
                    "it inserts after a line by number, but the other hunks show that the numbers do not fit the file; quote lines around it",
                ));
            };
            let line = (usize::try_from(line).unwrap_or(usize::MAX)).saturating_add_signed(drift);
            if line > document.len() {
                return Err(Refusal::new(format!(
                    "it inserts after line {line}, but the file has {} lines",
                    document.len()
                )));
            }
            line
        } else if stated == Stated::Lost {
            return Err(Refusal::new(
                "it inserts after a line whose number is not true any more; quote lines around it",
            ));
        } else if hunk.anchors.is_empty() || hunk.at_end {
            document.len()
        } else {
            self.anchors
                .only(document, &hunk.anchors, self.last_changed)?
        };
        let change = [ChangedLines { above, removed: 0 }];
        let quoted = above + 1..above + 1;
        if !self.is_free(&change, &quoted) {
            return Err(Refusal::new(
                "it inserts within the lines of an earlier hunk",
            ));
        }
        self.occupy(&change, &quoted);
        self.last_changed = self.last_changed.max(above);
        Ok(PlacedHunk {
            hunk,
            lines: &hunk.lines,
            above,
            level: Level::Exact,
            is_at_end: above == document.len(),
        })
    }

    fn take<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        candidate: HunkPlace<'h>,
    ) -> PlacedHunk<'h> {
        self.occupy(&candidate.changes(), &candidate.quoted());
        if self.is_in_order(stated, &candidate) {
            self.learn(stated, candidate.top(), candidate.last_changed(), 0);
        } else {
            self.standing.distrust();
        }
        self.last_changed = candidate.last_changed();
        PlacedHunk {
            hunk,
            lines: candidate.lines,
            above: candidate.start - 1,
            level: candidate.level,
            is_at_end: candidate.end() == document.len() + 1,
        }
    }

    /// Learns from a hunk how far the numbers are off; `grown` is by how many lines it is longer
    /// than it says.
    fn learn(&mut self, stated: Stated, top: LineNumber, last_changed: LineNumber, grown: isize) {
        if let Stated::Line(line) = stated
            && let (Ok(number), Ok(top)) = (isize::try_from(line), isize::try_from(top))
        {
            let drift = Drift {
                top: top - number,
                bottom: top - number + grown,
            };
            self.drift = drift.bottom;
            self.standing.enter(line, last_changed, drift);
        }
    }
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_that_fit_everywhere_are_not_looked_for_without_end() {
        let text = "x\n".repeat(2000);
        let document = Document::new(&text);
        let mut placer = Placer::default();
        let hunks: Vec<Hunk> = (0..2000)
            .map(|_| Hunk {
                lines: vec![
                    HunkLine::Remove("x".to_owned()),
                    HunkLine::Add("y".to_owned()),
                ],
                ..Hunk::default()
            })
            .collect();
        let fits = (hunks.iter().zip(1..)).map(|(hunk, number)| {
            let stated = Stated::Line(1_000_000 * number);
            placer.place(&document, hunk, stated).is_ok()
        });
        assert!(!fits.last().unwrap());
        let bound = MAX_LOOKED_AT * (document.len() + 10_001) + 6 * document.len();
        assert!(placer.looked_at <= bound, "{}", placer.looked_at);
    }
}
