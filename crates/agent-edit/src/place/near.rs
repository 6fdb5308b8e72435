//! Where a hunk with a number matches exactly: at its line, at an end of the file, or near by.

use super::super::document::{Document, LineKey, LineNumber};
use super::candidate::{HunkPlace, is_at_its_end, says_to_be_first, says_to_be_last};
use super::{NEAR, Placer, Stated};
use agent_protocol::{Hunk, Level};

impl Placer {
    /// The place nearest to the stated line where the hunk matches exactly, if it is a near one.
    ///
    /// Unless it is the stated line itself, another place is worth a word. A line that the file does not
    /// have is near to nothing, and what says to begin the file has no other place near by.
    pub(super) fn near_stated_line<'h>(
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
    pub(super) fn as_written<'h>(
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
        let is_there = start > 0
            && start <= document.len()
            && candidate.end() <= document.len() + 1
            && (old.iter().zip(start..)).all(|(line, number)| document.text(number) == *line);
        (is_there
            && self.is_free(&candidate.changes(), &candidate.quoted())
            && self.is_in_order(stated, &candidate)
            && is_at_its_end(document, hunk, &candidate))
        .then_some(candidate)
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
