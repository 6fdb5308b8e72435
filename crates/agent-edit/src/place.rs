//! Decides where a hunk stands: at its stated line, near it, where its anchors lead to, or at the
//! only place that it fits; or that its change is in the file already.

mod candidate;
mod standing;

use std::collections::BTreeMap;
use std::ops::Range;

use super::Refusal;
use super::align::{DiffBlock, align};
use super::anchor::{self, Anchors, BlockReach};
use super::document::{Document, LineKey, LineNumber};
use super::matcher;
use super::quote::proves_edit;
use super::refuse::{self, QuotedPiece};
use agent_protocol::{Hunk, HunkLine, Level};
pub(super) use candidate::HunkPlace;
use candidate::{
    ChangedLines, ambiguous, context, crossing, has_lost_mark, has_word, indented, is_enough,
    is_telling, loosest, says_to_be_first, says_to_be_last, stays_first,
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
    Line(LineNumber),
    /// A line that nobody can find any more: the file changed since it was counted.
    Lost,
}

/// A hunk that is looked for.
struct SoughtHunk<'h> {
    hunk: &'h Hunk,
    /// The lines that it quotes.
    old: Vec<&'h str>,
    stated: Stated,
}

/// Places hunks one after the other.
#[derive(Debug)]
pub(super) struct Placer<'d> {
    document: &'d Document<'d>,
    /// The stretches that hunks change, by their span, with the end of it and the lines that the
    /// hunk quotes.
    changed: BTreeMap<usize, (usize, Range<LineNumber>)>,
    /// The last line that the last hunk changes, or below which it inserts.
    last_changed: LineNumber,
    /// How much further down than stated the last hunk stood.
    drift: isize,
    standing: HunkPositions,
    anchors: Anchors<'d>,
    /// How many places were looked at that hunks may have meant.
    looked_at: usize,
}

impl<'d> Placer<'d> {
    pub(super) fn new(document: &'d Document<'d>) -> Self {
        Self {
            document,
            changed: BTreeMap::new(),
            last_changed: 0,
            drift: 0,
            standing: HunkPositions::default(),
            anchors: Anchors::new(document),
            looked_at: 0,
        }
    }

    /// Finds the place of a hunk; nothing if its change is in the file already.
    ///
    /// A change that is there counts before fuzz: without a line of its context the hunk would fit
    /// beside its own new lines, and write them a second time.
    pub(super) fn place<'h>(
        &mut self,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Result<Option<HunkPlace<'h>>, Refusal> {
        let old = old_lines(&hunk.lines);
        let sought = SoughtHunk { hunk, old, stated };
        let found = self.find(&sought);
        let there = match &found {
            Ok(place) if place.lines.len() == hunk.lines.len() => added_at(self.document, place),
            _ => self.changed_at(&sought),
        };
        if let Some(start) = there {
            let length = new_lines(&hunk.lines).len();
            let applied = HunkPlace {
                is_applied: true,
                ..HunkPlace::whole(hunk, start, length)
            };
            if self.is_in_order(stated, &applied) && self.is_free(&applied) {
                self.note(&sought, &applied);
                return Ok(None);
            }
        }
        let place = found?;
        self.note(&sought, &place);
        Ok(Some(place))
    }

    fn find<'h>(&mut self, sought: &SoughtHunk<'h>) -> Result<HunkPlace<'h>, Refusal> {
        if sought.old.is_empty() {
            return self.find_insertion(sought);
        }
        if let Some(place) = self.near_stated_line(sought) {
            let other = self.as_written(sought);
            return match other.filter(|other| other.start != place.start) {
                Some(other) => Err(ambiguous(&[place, other])),
                None => Ok(place),
            };
        }
        if self.looked_at / MAX_LOOKED_AT > self.document.len() + 10_000 {
            return Err(Refusal::new("the hunks before it fit very many places")
                .with_hint("add lines around them until each is unique"));
        }
        let place = self.look_everywhere(sought)?;
        indented(self.document, place)
    }

    fn look_everywhere<'h>(&mut self, sought: &SoughtHunk<'h>) -> Result<HunkPlace<'h>, Refusal> {
        let hunk = sought.hunk;
        let found = self.matches(hunk, &hunk.lines, 0, loosest(hunk));
        let (free, taken): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|place| self.is_free(place));
        // What fits a place that another hunk changes is not looked for more loosely elsewhere.
        if free.is_empty() && !taken.is_empty() {
            return Err(Refusal::new(format!(
                "it fits line {}, where another hunk of this patch changes the same lines",
                taken[0].start
            ))
            .with_hint("send one hunk for both"));
        }
        let (mut found, out_of_order): (Vec<_>, Vec<_>) =
            (free.into_iter()).partition(|place| self.is_in_order(sought.stated, place));
        if found.is_empty() && !out_of_order.is_empty() {
            return crossing(hunk, &out_of_order);
        }
        if found.is_empty() {
            found = self.fuzzy(sought);
        }
        if found.is_empty() {
            return Err(refuse::not_found(
                QuotedPiece::Hunk,
                self.document,
                &sought.old,
            ));
        }
        self.choose(sought, &found)
    }

    /// The line at which a hunk should begin, by its header and the hunks before it.
    fn expected(&self, stated: Stated) -> Option<LineNumber> {
        match stated {
            Stated::Line(line) => Some(line.saturating_add_signed(self.drift)),
            Stated::Nothing | Stated::Lost => None,
        }
    }

    /// All places of some lines of a hunk, at the strictest level at which any matches.
    fn matches<'h>(
        &mut self,
        hunk: &'h Hunk,
        lines: &'h [HunkLine],
        skipped: usize,
        loosest: Level,
    ) -> Vec<HunkPlace<'h>> {
        let old = old_lines(lines);
        let Some(matches) = matcher::find(self.document, &old, loosest) else {
            return Vec::new();
        };
        self.looked_at += matches.starts.len();
        let places = matches.starts.into_iter().map(|start| HunkPlace {
            lines,
            skipped,
            level: matches.level,
            ..HunkPlace::whole(hunk, start, old.len())
        });
        places
            .filter(|place| place.is_at_its_end(self.document))
            .collect()
    }

    /// The places where all but one or two lines of context at the ends match.
    fn fuzzy<'h>(&mut self, sought: &SoughtHunk<'h>) -> Vec<HunkPlace<'h>> {
        let (hunk, stated) = (sought.hunk, sought.stated);
        let (leading, trailing) = context(hunk);
        for fuzz in 1..=FUZZ.min(hunk.lines.len()) {
            let mut found: Vec<HunkPlace<'h>> = Vec::new();
            for skipped in 0..=fuzz.min(leading) {
                let cut = fuzz - skipped;
                if cut > trailing {
                    continue;
                }
                let end = hunk.lines.len() - cut;
                let lines = &hunk.lines[skipped..end];
                let left_out = hunk.lines[..skipped].iter().chain(&hunk.lines[end..]);
                let reach = if is_enough(lines) {
                    NEAR
                } else if left_out.filter_map(HunkLine::before).all(str::is_empty) {
                    // Blank lines say so little that the stated line alone can do.
                    0
                } else {
                    continue;
                };
                let places = self.matches(hunk, lines, skipped, Level::TrailingSpace);
                let is_fine = |place: &HunkPlace<'_>| {
                    self.is_within(reach, stated, place)
                        && self.is_free(place)
                        && stays_first(stated, place)
                        && !has_lost_mark(self.document, place)
                        && self.is_in_order(stated, place)
                        && added_at(self.document, place).is_none()
                };
                found.extend(places.into_iter().filter(is_fine));
            }
            if !found.is_empty() {
                // The same place, found with different lines left out, is one place.
                found.sort_by_key(HunkPlace::top);
                found.dedup_by_key(|place| place.top());
                let fuzzy = found.into_iter().map(|place| place.at_level(Level::Fuzz));
                return fuzzy.collect();
            }
        }
        Vec::new()
    }

    /// True if a place that lacks lines of context is near enough to where the hunk says to be.
    fn is_within(&self, reach: usize, stated: Stated, place: &HunkPlace<'_>) -> bool {
        match self.expected(stated) {
            Some(expected) => place.top().abs_diff(expected) <= reach,
            None => stated == Stated::Nothing && reach > 0 && self.is_below_last(place),
        }
    }

    /// True if no hunk so far changes what one would change at a place.
    ///
    /// Two hunks may insert in the same place only if neither quotes what is on the other side: then
    /// their order is known.
    fn is_free(&self, place: &HunkPlace<'_>) -> bool {
        let quoted = place.quoted();
        place.changes().iter().map(ChangedLines::span).all(|span| {
            match self.changed.range(..span.end).next_back() {
                Some((start, (end, other))) if *end > span.start => {
                    let is_insertion = span.len() == 1 && span == (*start..*end);
                    is_insertion && (quoted.end <= other.start || other.end <= quoted.start)
                }
                _ => true,
            }
        })
    }

    /// Notes what a hunk changes, and learns from it how far the numbers are off.
    fn note(&mut self, sought: &SoughtHunk<'_>, place: &HunkPlace<'_>) {
        let quoted = place.quoted();
        for span in place.changes().iter().map(ChangedLines::span) {
            let (_, around) =
                (self.changed.entry(span.start)).or_insert((span.end, quoted.clone()));
            *around = around.start.min(quoted.start)..around.end.max(quoted.end);
        }
        let last_changed = place.last_changed();
        if place.length == 0 {
            // What quotes nothing proves nothing about the numbers.
            self.last_changed = last_changed.max(self.last_changed);
            return;
        }
        self.last_changed = last_changed;
        if !self.is_in_order(sought.stated, place) {
            self.standing.distrust();
        } else if let Stated::Line(line) = sought.stated {
            let top = place.top().cast_signed() - line.cast_signed();
            let grown = if place.is_applied {
                place.length.cast_signed() - sought.old.len().cast_signed()
            } else {
                0
            };
            self.drift = top + grown;
            let drift = Drift {
                top,
                bottom: self.drift,
            };
            self.standing.enter(line, last_changed, drift);
        }
    }

    /// True if a place is below those of the hunks before that state earlier lines.
    fn is_in_order(&self, stated: Stated, place: &HunkPlace<'_>) -> bool {
        match stated {
            Stated::Line(line) => self.standing.is_in_order(line, place.first_above()),
            Stated::Nothing | Stated::Lost => true,
        }
    }

    /// True if a place is below what the last hunk changes.
    fn is_below_last(&self, place: &HunkPlace<'_>) -> bool {
        place.first_above() >= self.last_changed
    }

    fn choose<'h>(
        &mut self,
        sought: &SoughtHunk<'h>,
        found: &[HunkPlace<'h>],
    ) -> Result<HunkPlace<'h>, Refusal> {
        let (hunk, stated) = (sought.hunk, sought.stated);
        if stated == Stated::Nothing && !hunk.anchors.is_empty() {
            return self.choose_by_anchors(hunk, found);
        }
        let expected = self.expected(stated);
        if expected.is_some() && says_to_be_first(hunk) {
            let first = found.iter().find(|found| Some(found.top()) == expected);
            let moved = || Some(only(found.iter())?.at_level(Level::Elsewhere));
            return (first.copied().or_else(moved)).ok_or_else(|| ambiguous(found));
        }
        let chosen = only(found.iter()).copied().or_else(|| match stated {
            Stated::Lost => None,
            Stated::Nothing => self.only_below(found.iter()),
            Stated::Line(_) => {
                let expected = expected.filter(|line| *line <= self.document.len())?;
                let tops = found.iter().map(HunkPlace::top);
                let near = found[matcher::position_near(tops, Some(expected))?];
                let is_there = near.top() == expected && self.drift == 0;
                Some(if is_there {
                    near
                } else {
                    near.at_level(Level::Nearest)
                })
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

    /// Finds the place of a hunk that quotes nothing.
    fn find_insertion<'h>(&mut self, sought: &SoughtHunk<'h>) -> Result<HunkPlace<'h>, Refusal> {
        let hunk = sought.hunk;
        if hunk.unquoted > 0 {
            return Err(
                Refusal::new("its `@@` line counts old lines, but it shows none")
                    .with_hint("quote lines around the place"),
            );
        }
        let above = match sought.stated {
            Stated::Line(line) => {
                let Some(drift) = self.standing.drift_at(line) else {
                    return Err(Refusal::new(
                        "it inserts after a line by number, but the other hunks show that the numbers do not fit the file",
                    ).with_hint("quote lines around it"));
                };
                line.saturating_add_signed(drift)
            }
            Stated::Lost => {
                return Err(Refusal::new(
                    "it inserts after a line whose number is not true any more",
                )
                .with_hint("quote lines around it"));
            }
            Stated::Nothing if hunk.anchors.is_empty() || hunk.at_end => self.document.len(),
            Stated::Nothing => self.anchors.only(&hunk.anchors, self.last_changed)?,
        };
        if above > self.document.len() {
            return Err(Refusal::new(format!(
                "it inserts after line {above}, but the file has {} lines",
                self.document.len()
            )));
        }
        let place = HunkPlace::whole(hunk, above + 1, 0);
        if !self.is_free(&place) {
            return Err(Refusal::new(
                "it inserts within the lines of an earlier hunk",
            ));
        }
        Ok(place)
    }

    /// The place nearest to the stated line where the hunk matches exactly, if it is a near one.
    ///
    /// Unless it is the stated line itself, another place is worth a word. A line that the file does not
    /// have is near to nothing, and what says to begin the file has no other place near by.
    fn near_stated_line<'h>(&self, sought: &SoughtHunk<'h>) -> Option<HunkPlace<'h>> {
        let expected = self.expected(sought.stated)?;
        let place = match self.exactly_at(sought, expected) {
            Some(place) if self.drift == 0 => return Some(place),
            Some(place) => place,
            None if expected > self.document.len() || says_to_be_first(sought.hunk) => return None,
            None => self.nearest(sought, expected)?,
        };
        let starts = self.document.find_lines(LineKey::Exact, &sought.old);
        let mut places = (starts.into_iter()).filter_map(|start| self.exactly_at(sought, start));
        let level = match places.nth(1) {
            Some(_) => Level::Nearest,
            None => Level::Exact,
        };
        Some(place.at_level(level))
    }

    /// The place nearest to a line, or the end of the file if the hunk says to be there.
    fn nearest<'h>(&self, sought: &SoughtHunk<'h>, expected: LineNumber) -> Option<HunkPlace<'h>> {
        let at = |start| self.exactly_at(sought, start);
        let (above, below) = (1..=NEAR)
            .map(|distance| {
                let above = expected.checked_sub(distance).and_then(at);
                (above, at(expected + distance))
            })
            .find(|(above, below)| above.is_some() || below.is_some())?;
        let last = (self.document.len() + 1).saturating_sub(sought.old.len());
        let is_last = says_to_be_last(sought.hunk) && last.abs_diff(expected) <= NEAR;
        let at_end = is_last.then(|| at(last));
        at_end.flatten().or(above.xor(below))
    }

    /// The place that the number in the hunk's own header points to, where that is counted in
    /// another way than the one that was taken, and nothing has shown yet which of them holds.
    fn as_written<'h>(&self, sought: &SoughtHunk<'h>) -> Option<HunkPlace<'h>> {
        let written = sought.hunk.old_start? as usize;
        if sought.stated == Stated::Line(written) || !self.standing.is_unproved() {
            return None;
        }
        self.exactly_at(sought, written)
    }

    fn exactly_at<'h>(&self, sought: &SoughtHunk<'h>, start: LineNumber) -> Option<HunkPlace<'h>> {
        let place = HunkPlace::whole(sought.hunk, start, sought.old.len());
        (self.document.has_lines_at(start, &sought.old)
            && self.is_free(&place)
            && self.is_in_order(sought.stated, &place)
            && place.is_at_its_end(self.document))
        .then_some(place)
    }

    /// Where the new lines of a hunk stand whose change is in the file beyond doubt.
    ///
    /// They stand at the line that it states or nowhere else, and what they would replace does not
    /// stand elsewhere.
    fn changed_at(&self, sought: &SoughtHunk<'_>) -> Option<LineNumber> {
        let (hunk, old) = (sought.hunk, &sought.old);
        let new = new_lines(&hunk.lines);
        let blocks = align(old, &new);
        if blocks.is_empty() || !proves_edit(old, &new, &blocks) {
            return None;
        }
        let starts = matcher::find(self.document, &new, Level::TrailingSpace)?.starts;
        let expected = self.expected(sought.stated);
        let at_its_line = starts.iter().find(|start| Some(**start) == expected);
        let start = match (at_its_line, starts.as_slice()) {
            (Some(start), _) | (None, [start]) => *start,
            _ => return None,
        };
        let changed = start..start + new.len();
        let removes = (hunk.lines.iter()).any(|line| matches!(line, HunkLine::Remove(_)));
        let is_elsewhere = removes
            && at_its_line.is_none()
            && matcher::find(self.document, old, loosest(hunk))
                .is_some_and(|left| left.starts.iter().any(|place| !changed.contains(place)));
        (!is_elsewhere).then_some(start)
    }

    /// Chooses the place in the block that the hunk's anchors open.
    ///
    /// The only place of all is good enough if it is below them. Above them, or where they are not
    /// found, it is only if the hunk itself says enough to leave no doubt.
    fn choose_by_anchors<'h>(
        &mut self,
        hunk: &Hunk,
        found: &[HunkPlace<'h>],
    ) -> Result<HunkPlace<'h>, Refusal> {
        let mut refusal = None;
        for above in [self.last_changed, 0] {
            let unusable = match self.anchors.find(&hunk.anchors, above) {
                Ok(openings) => match self.choose_below(&openings, found) {
                    Some(chosen) => return chosen,
                    None => Refusal::new(format!(
                        "its old text is not below `{}`, which it names",
                        anchor::last(&hunk.anchors)
                    )),
                },
                Err(unusable) => unusable,
            };
            refusal.get_or_insert(unusable);
        }
        match (found, refusal) {
            ([only], _) if is_telling(hunk) => Ok(only.at_level(Level::Elsewhere)),
            ([_], Some(refusal)) => Err(refusal),
            _ => Err(ambiguous(found)),
        }
    }

    /// The place that lines choose which open a block, if they choose any.
    fn choose_below<'h>(
        &mut self,
        openings: &[LineNumber],
        found: &[HunkPlace<'h>],
    ) -> Option<Result<HunkPlace<'h>, Refusal>> {
        let mut inside = |reach| -> Vec<HunkPlace<'h>> {
            let blocks = self.anchors.blocks(openings, reach);
            let has = |found: &&HunkPlace<'h>| blocks.has(found.start);
            found.iter().filter(has).copied().collect()
        };
        let (within, near) = (inside(BlockReach::Block), inside(BlockReach::Wide));
        if !within.is_empty() {
            let chosen = only(within.iter()).copied();
            let chosen = chosen.or_else(|| self.only_below(within.iter()));
            return Some(chosen.ok_or_else(|| ambiguous(&within)));
        }
        let below = match found {
            [only] if openings.first() < Some(&only.start) => Some(only),
            _ => only(near.iter()),
        };
        below.map(|below| Ok(below.at_level(Level::Elsewhere)))
    }
}

/// Where the new lines begin of a hunk that only adds lines above or below what it quotes, if they
/// stand there already: it was applied before, and would add them twice.
///
/// A hunk with numbers that has no context on that side says that the file begins or ends there. One
/// without any context says nothing but its line, and repeats lines as often as it is sent.
fn added_at(document: &Document<'_>, place: &HunkPlace<'_>) -> Option<LineNumber> {
    let (old, new) = (old_lines(place.lines), new_lines(place.lines));
    let blocks = align(&old, &new);
    let is_outside = |block: &DiffBlock| {
        block.old.is_empty() && (block.old.start == 0 || block.old.end == old.len())
    };
    let says_so = || {
        let mut added = blocks.iter().flat_map(|block| &new[block.new.clone()]);
        place.hunk.old_start.is_some() && added.any(|line| has_word(line))
    };
    let adds_outside = !old.is_empty() && !blocks.is_empty() && blocks.iter().all(is_outside);
    if !adds_outside || !(proves_edit(&old, &new, &blocks) || says_so()) {
        return None;
    }
    let is_added = |line: &&HunkLine| line.before().is_none();
    let above = place.lines.iter().take_while(is_added).count();
    let start = place.start.checked_sub(above)?;
    document.has_lines_at(start, &new).then_some(start)
}

/// The lines of the old text that some lines of a hunk show.
pub(super) fn old_lines(lines: &[HunkLine]) -> Vec<&str> {
    lines.iter().filter_map(HunkLine::before).collect()
}

/// The lines of the new text that some lines of a hunk show.
pub(super) fn new_lines(lines: &[HunkLine]) -> Vec<&str> {
    lines.iter().filter_map(HunkLine::after).collect()
}

pub(super) fn is_context(line: &HunkLine) -> bool {
    matches!(line, HunkLine::Keep(_))
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
        let mut placer = Placer::new(&document);
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
            placer.place(hunk, stated).is_ok()
        });
        assert!(!fits.last().unwrap());
        let bound = MAX_LOOKED_AT * (document.len() + 10_001) + 6 * document.len();
        assert!(placer.looked_at <= bound, "{}", placer.looked_at);
    }
}
