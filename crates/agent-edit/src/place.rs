//! Decides where a hunk stands.

mod anchored;
mod applied;
mod candidate;
mod near;
mod standing;

use std::collections::{BTreeMap, BTreeSet};

use super::Refusal;
use super::anchor::Anchors;
use super::document::{Document, EDGE, LineId};
use super::matcher;
use super::refuse::{self, Piece};
use agent_protocol::{Hunk, HunkLine, Level};
use candidate::{
    Candidate, ambiguous, crossing, elsewhere, indented, is_at_its_end, is_enough, loosest,
    says_to_be_first, stays_first,
};
use standing::{Drift, Standing};

/// How many lines of context a hunk may be wrong about.
const FUZZ: usize = 2;

/// How far from its stated line a hunk is looked for before the whole file is.
const NEAR: usize = 100;

/// How many times as many places as the file has lines are looked at; a patch of which every hunk
/// fits a large part of the file has no place.
const MAX_LOOKED_AT: usize = 64;

/// What a hunk says about the line at which it begins.
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
    standing: Standing,
    anchors: Anchors,
    /// How many places were looked at that hunks may have meant.
    looked_at: usize,
}

impl Placer {
    pub(super) fn place<'h>(
        &mut self,
        document: &mut Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Result<Placed<'h>, Refusal> {
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
        document: &mut Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        old: &[&str],
    ) -> Result<Candidate<'h>, Refusal> {
        let found = self.matches(document, hunk, &hunk.lines, 0, loosest(hunk));
        let (mut found, out_of_order): (Vec<_>, Vec<_>) =
            (found.into_iter()).partition(|candidate| self.is_in_order(stated, candidate));
        if found.is_empty() && !out_of_order.is_empty() {
            return crossing(hunk, &out_of_order);
        }
        if found.is_empty() {
            found = self.fuzzy(document, hunk, stated);
        }
        if found.is_empty() {
            return Err(refuse::not_found(Piece::Hunk, document, old));
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

    /// All free places of some lines of a hunk, at the strictest level at which any matches.
    fn matches<'h>(
        &mut self,
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
        self.looked_at += places.starts.len();
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
    fn fuzzy<'h>(
        &mut self,
        document: &mut Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Vec<Candidate<'h>> {
        let expected = self.expected(stated);
        let is_near = |candidate: &Candidate<'_>, reach| match (stated, expected) {
            (Stated::Nothing, _) => reach > 0,
            (_, Some(expected)) => candidate.top().abs_diff(expected) <= reach,
            (_, None) => false,
        };
        let is_kept = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
        let leading = hunk.lines.iter().take_while(is_kept).count();
        let trailing = hunk.lines.iter().rev().take_while(is_kept).count();
        for fuzz in 1..=FUZZ.min(hunk.lines.len()) {
            let mut found: Vec<Candidate<'h>> = Vec::new();
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
                let is_fine = |place: &Candidate<'_>| {
                    is_near(place, reach)
                        && stays_first(hunk, stated, place)
                        && self.is_in_order(stated, place)
                };
                found.extend(places.into_iter().filter(is_fine));
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

    /// Whether a place is below those of the hunks before that state earlier lines.
    fn is_in_order(&self, stated: Stated, candidate: &Candidate<'_>) -> bool {
        match stated {
            Stated::Line(line) => self.standing.is_in_order(line, candidate.start),
            Stated::Nothing | Stated::Lost => true,
        }
    }

    fn choose<'h>(
        &mut self,
        document: &mut Document<'_>,
        hunk: &Hunk,
        stated: Stated,
        found: &[Candidate<'h>],
    ) -> Result<Candidate<'h>, Refusal> {
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

    /// The last line of the last hunk; the edge before the first.
    fn last(&self) -> LineId {
        self.below.saturating_sub(1)
    }

    /// The only place below the last hunk: hunks without numbers go down the file.
    fn only_below<'h: 'f, 'f>(
        &self,
        found: impl Iterator<Item = &'f Candidate<'h>>,
    ) -> Option<Candidate<'h>> {
        only(found.filter(|found| found.start > self.last())).copied()
    }

    fn place_insertion<'h>(
        &mut self,
        document: &mut Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Result<Placed<'h>, Refusal> {
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
            self.anchors.only(document, &hunk.anchors, self.last())?
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
        stated: Stated,
        candidate: Candidate<'h>,
    ) -> Placed<'h> {
        let is_in_order = self.is_in_order(stated, &candidate);
        self.taken.insert(candidate.start, candidate.end());
        self.below = candidate.end();
        if is_in_order {
            self.learn(stated, candidate.top(), candidate.end(), 0);
        } else {
            self.standing.distrust();
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

impl Placer {
    /// Learns from a hunk how far the numbers are off; `grown` is by how many lines it is longer
    /// than it says.
    fn learn(&mut self, stated: Stated, top: LineId, end: LineId, grown: isize) {
        if let Stated::Line(line) = stated
            && let (Ok(number), Ok(top)) = (isize::try_from(line), isize::try_from(top))
        {
            let drift = Drift {
                top: top - number,
                bottom: top - number + grown,
            };
            self.drift = drift.bottom;
            self.standing.enter(line, end, drift);
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
        let mut document = Document::new(&text);
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
            placer.place(&mut document, hunk, stated).is_ok()
        });
        assert!(!fits.last().unwrap());
        let bound = MAX_LOOKED_AT * (document.len() + 10_001) + 6 * document.len();
        assert!(placer.looked_at <= bound, "{}", placer.looked_at);
    }
}
