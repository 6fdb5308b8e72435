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
use candidate::{
    ChangedLines, HunkPlace, ambiguous, changes, context, crossing, elsewhere, has_lost_mark,
    has_word, indented, is_at_its_end, is_enough, is_telling, loosest, nearest_of,
    says_to_be_first, says_to_be_last, stays_first,
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
    /// Finds the place of a hunk; nothing if its change is in the file already.
    ///
    /// A change that is there counts before fuzz: without a line of its context the hunk would fit
    /// beside its own new lines, and write them a second time.
    pub(super) fn place<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Result<Option<PlacedHunk<'h>>, Refusal> {
        let found = self.find(document, hunk, stated);
        let there = match &found {
            Ok(place) if place.lines.len() == hunk.lines.len() => added_at(document, hunk, place),
            _ => self.changed_at(document, hunk, stated),
        };
        if there.is_some_and(|start| self.leave_out(hunk, stated, start)) {
            return Ok(None);
        }
        let place = found?;
        Ok(Some(self.take(document, hunk, stated, place)))
    }

    fn find<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Result<HunkPlace<'h>, Refusal> {
        let old: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::before).collect();
        if old.is_empty() {
            return self.find_insertion(document, hunk, stated);
        }
        if let Some(candidate) = self.near_stated_line(document, hunk, stated, &old) {
            let other = self.as_written(document, hunk, stated, &old);
            return match other.filter(|other| other.start != candidate.start) {
                Some(other) => Err(ambiguous(&[candidate, other])),
                None => Ok(candidate),
            };
        }
        if self.looked_at / MAX_LOOKED_AT > document.len() + 10_000 {
            return Err(Refusal::new("the hunks before it fit very many places")
                .with_hint("add lines around them until each is unique"));
        }
        let candidate = self.look_everywhere(document, hunk, stated, &old)?;
        indented(document, candidate)
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
                "it fits line {}, where another hunk of this patch changes the same lines",
                taken[0].start
            ))
            .with_hint("send one hunk for both"));
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
                        && added_at(document, hunk, place).is_none()
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

    /// True if no hunk so far changes what these changes are about.
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
                let near = matcher::near(&tops, u32::try_from(expected).ok())?;
                let is_there = near.top() == expected && self.drift == 0;
                Some(if is_there { near } else { nearest_of(&near) })
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
    fn find_insertion<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
    ) -> Result<HunkPlace<'h>, Refusal> {
        if hunk.unquoted > 0 {
            return Err(
                Refusal::new("its `@@` line counts old lines, but it shows none")
                    .with_hint("quote lines around the place"),
            );
        }
        let above = if let Stated::Line(line) = stated {
            let Some(drift) = self.standing.drift_at(line) else {
                return Err(Refusal::new(
                    "it inserts after a line by number, but the other hunks show that the numbers do not fit the file",
                ).with_hint("quote lines around it"));
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
            return Err(
                Refusal::new("it inserts after a line whose number is not true any more")
                    .with_hint("quote lines around it"),
            );
        } else if hunk.anchors.is_empty() || hunk.at_end {
            document.len()
        } else {
            self.anchors
                .only(document, &hunk.anchors, self.last_changed)?
        };
        let place = HunkPlace {
            lines: &hunk.lines,
            skipped: 0,
            start: above + 1,
            length: 0,
            level: Level::Exact,
        };
        if self.is_free(&place.changes(), &place.quoted()) {
            Ok(place)
        } else {
            Err(Refusal::new(
                "it inserts within the lines of an earlier hunk",
            ))
        }
    }

    fn take<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        candidate: HunkPlace<'h>,
    ) -> PlacedHunk<'h> {
        self.occupy(&candidate.changes(), &candidate.quoted());
        let mut last_changed = candidate.last_changed();
        if candidate.length == 0 {
            // What quotes nothing proves nothing about the numbers.
            last_changed = last_changed.max(self.last_changed);
        } else if self.is_in_order(stated, &candidate) {
            self.learn(stated, candidate.top(), last_changed, 0);
        } else {
            self.standing.distrust();
        }
        self.last_changed = last_changed;
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

    /// The place nearest to the stated line where the hunk matches exactly, if it is a near one.
    ///
    /// Unless it is the stated line itself, another place is worth a word. A line that the file does not
    /// have is near to nothing, and what says to begin the file has no other place near by.
    fn near_stated_line<'h>(
        &self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        old: &[&str],
    ) -> Option<HunkPlace<'h>> {
        let expected = self.expected(stated)?;
        let at = |start: usize| self.exactly_at(document, hunk, stated, old, start);
        let place = match at(expected) {
            Some(place) if self.drift == 0 => return Some(place),
            Some(place) => place,
            None if expected > document.len() || says_to_be_first(hunk) => return None,
            None => nearest(document, hunk, expected, old, at)?,
        };
        let starts = document.find_lines(LineKey::Exact, old).into_iter();
        let level = match starts.filter_map(at).nth(1) {
            Some(_) => Level::Nearest,
            None => Level::Exact,
        };
        Some(HunkPlace { level, ..place })
    }

    /// The place that the number in the hunk's own header points to, where that is counted in
    /// another way than the one that was taken, and nothing has shown yet which of them holds.
    fn as_written<'h>(
        &self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        old: &[&str],
    ) -> Option<HunkPlace<'h>> {
        let written = hunk.old_start?;
        if stated == Stated::Line(written) || !self.standing.is_unproved() {
            return None;
        }
        let line = usize::try_from(written).ok()?;
        self.exactly_at(document, hunk, stated, old, line)
    }

    fn exactly_at<'h>(
        &self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        old: &[&str],
        start: LineNumber,
    ) -> Option<HunkPlace<'h>> {
        let candidate = HunkPlace {
            lines: &hunk.lines,
            skipped: 0,
            start,
            length: old.len(),
            level: Level::Exact,
        };
        (document.has_lines_at(start, old)
            && self.is_free(&candidate.changes(), &candidate.quoted())
            && self.is_in_order(stated, &candidate)
            && is_at_its_end(document, hunk, &candidate))
        .then_some(candidate)
    }

    /// Where the new lines of a hunk stand whose change is in the file beyond doubt.
    ///
    /// They stand at the line that it states or nowhere else, and what they would replace does not
    /// stand elsewhere.
    fn changed_at(
        &self,
        document: &Document<'_>,
        hunk: &Hunk,
        stated: Stated,
    ) -> Option<LineNumber> {
        let starts = places_of_change(document, hunk);
        let expected = self.expected(stated);
        let at_its_line = starts.iter().find(|start| Some(**start) == expected);
        let (old, new) = sides(&hunk.lines);
        let start = match (at_its_line, starts.as_slice()) {
            (Some(start), _) | (None, [start]) => *start,
            _ => return None,
        };
        let end = start + new.len();
        let removes = (hunk.lines.iter()).any(|line| matches!(line, HunkLine::Remove(_)));
        let is_left = |matches: matcher::LineMatches| {
            let mut starts = matches.starts.into_iter();
            starts.any(|place| place < start || end <= place)
        };
        let is_elsewhere = removes
            && at_its_line.is_none()
            && matcher::find(document, &old, loosest(hunk)).is_some_and(is_left);
        (!is_elsewhere).then_some(start)
    }

    /// Leaves out a hunk whose new lines begin on the line `start`, if that is where it may stand;
    /// tells whether it is.
    fn leave_out(&mut self, hunk: &Hunk, stated: Stated, start: LineNumber) -> bool {
        let (old, new) = sides(&hunk.lines);
        let end = start + new.len();
        let changed = changes(&hunk.lines, start - 1, HunkLine::after);
        let first_above = changed.first().map_or(start, |change| change.above);
        let is_in_order = match stated {
            Stated::Line(line) => self.standing.is_in_order(line, first_above),
            Stated::Nothing | Stated::Lost => true,
        };
        if !is_in_order || !self.is_free(&changed, &(start..end)) {
            return false;
        }
        self.occupy(&changed, &(start..end));
        self.last_changed = (changed.last()).map_or(end, |change| change.above + change.removed);
        let grown = new.len().cast_signed() - old.len().cast_signed();
        self.learn(stated, start, self.last_changed, grown);
        true
    }

    /// Chooses the place in the block that the hunk's anchors open.
    ///
    /// The only place of all is good enough if it is below them. Above them, or where they are not
    /// found, it is only if the hunk itself says enough to leave no doubt.
    fn choose_by_anchors<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &Hunk,
        found: &[HunkPlace<'h>],
    ) -> Result<HunkPlace<'h>, Refusal> {
        let mut refusal = None;
        for above in [self.last_changed, 0] {
            match self.anchors.find(document, &hunk.anchors, above) {
                Ok(openings) => {
                    if let Some(chosen) = self.choose_below(document, &openings, found) {
                        return chosen;
                    }
                    refusal.get_or_insert_with(|| {
                        let anchor = anchor::last(&hunk.anchors);
                        Refusal::new(format!(
                            "its old text is not below `{anchor}`, which it names"
                        ))
                    });
                }
                Err(unusable) => {
                    refusal.get_or_insert(unusable);
                }
            }
        }
        match (found, refusal) {
            ([only], _) if is_telling(hunk) => Ok(elsewhere(only)),
            ([_], Some(refusal)) => Err(refusal),
            _ => Err(ambiguous(found)),
        }
    }

    /// The place that lines choose which open a block, if they choose any.
    fn choose_below<'h>(
        &mut self,
        document: &Document<'_>,
        openings: &[LineNumber],
        found: &[HunkPlace<'h>],
    ) -> Option<Result<HunkPlace<'h>, Refusal>> {
        let mut inside = |reach| -> Vec<HunkPlace<'h>> {
            let blocks = self.anchors.blocks(document, openings, reach);
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
        below.map(|below| Ok(elsewhere(below)))
    }
}

/// The place nearest to a line, or the end of the file if the hunk says to be there.
fn nearest<'h>(
    document: &Document<'_>,
    hunk: &'h Hunk,
    expected: LineNumber,
    old: &[&str],
    at: impl Fn(LineNumber) -> Option<HunkPlace<'h>>,
) -> Option<HunkPlace<'h>> {
    let (above, below) = (1..=NEAR)
        .map(|distance| {
            let above = expected.checked_sub(distance).and_then(&at);
            (above, at(expected + distance))
        })
        .find(|(above, below)| above.is_some() || below.is_some())?;
    let last = (document.len() + 1).saturating_sub(old.len());
    let at_end = (says_to_be_last(hunk) && last.abs_diff(expected) <= NEAR).then(|| at(last));
    at_end.flatten().or(above.xor(below))
}

/// Where the new side of a hunk stands, if that proves anything.
fn places_of_change(document: &Document<'_>, hunk: &Hunk) -> Vec<LineNumber> {
    let (old, new) = sides(&hunk.lines);
    let blocks = align(&old, &new);
    if blocks.is_empty() || !proves_edit(&old, &new, &blocks) {
        return Vec::new();
    }
    matcher::find(document, &new, Level::TrailingSpace)
        .map(|matches| matches.starts)
        .unwrap_or_default()
}

/// Where the new lines begin of a hunk that only adds lines above or below what it quotes, if they
/// stand there already: it was applied before, and would add them twice.
///
/// A hunk with numbers that has no context on that side says that the file begins or ends there. One
/// without any context says nothing but its line, and repeats lines as often as it is sent.
fn added_at(document: &Document<'_>, hunk: &Hunk, place: &HunkPlace<'_>) -> Option<LineNumber> {
    let (old, new) = sides(place.lines);
    let blocks = align(&old, &new);
    let is_outside = |block: &DiffBlock| {
        block.old.is_empty() && (block.old.start == 0 || block.old.end == old.len())
    };
    let says_so = || {
        let mut added = blocks.iter().flat_map(|block| &new[block.new.clone()]);
        hunk.old_start.is_some() && added.any(|line| has_word(line))
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

fn sides(lines: &[HunkLine]) -> (Vec<&str>, Vec<&str>) {
    let old = lines.iter().filter_map(HunkLine::before).collect();
    let new = lines.iter().filter_map(HunkLine::after).collect();
    (old, new)
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
