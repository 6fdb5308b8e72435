//! Where a hunk with a number matches exactly: at its line, at an end of the file, or near by.

use super::super::document::{Document, LineId};
use super::candidate::{Candidate, is_at_its_end, says_to_be_first, says_to_be_last};
use super::{NEAR, Placer, Stated};
use agent_protocol::{Hunk, Level};

impl Placer {
    /// The place nearest to the stated line where the hunk matches exactly, if it is a near one.
    ///
    /// Another place that is not much further away is worth a word. A line that the file does not
    /// have is near to nothing, and what says to begin the file has no other place near by.
    pub(super) fn near_stated_line<'h>(
        &self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        old: &[&str],
    ) -> Option<Candidate<'h>> {
        let expected = self.expected(stated)?;
        let at = |start: usize| self.exactly_at(document, hunk, stated, old, start);
        if let Some(candidate) = at(expected) {
            return Some(candidate);
        }
        if expected > document.len() || says_to_be_first(hunk) {
            return None;
        }
        let both = |distance| {
            let above = expected.checked_sub(distance).and_then(at);
            let below = expected.checked_add(distance).and_then(at);
            (above, below)
        };
        let is_any = |(above, below): &(Option<_>, Option<_>)| above.is_some() || below.is_some();
        let (distance, (above, below)) = (1..=NEAR)
            .map(|distance| (distance, both(distance)))
            .find(|(_, found)| is_any(found))?;
        let last = (document.len() + 1).saturating_sub(old.len());
        if says_to_be_last(hunk)
            && last.abs_diff(expected) <= NEAR
            && let Some(candidate) = at(last)
        {
            let level = match last.abs_diff(expected) {
                nearest if nearest == distance && above.is_some() != below.is_some() => {
                    Level::Exact
                }
                _ => Level::Nearest,
            };
            return Some(Candidate { level, ..candidate });
        }
        let mut nearest = above.xor(below)?;
        if (distance + 1..2 * distance + 2)
            .map(both)
            .any(|found| is_any(&found))
        {
            nearest.level = Level::Nearest;
        }
        Some(nearest)
    }

    /// The place that the number in the hunk's own header points to, where that is counted in
    /// another way than the one that was taken, and nothing has shown yet which of them holds.
    pub(super) fn as_written<'h>(
        &self,
        document: &Document<'_>,
        hunk: &'h Hunk,
        stated: Stated,
        old: &[&str],
    ) -> Option<Candidate<'h>> {
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
        (is_there
            && self.is_free(&candidate)
            && self.is_in_order(stated, &candidate)
            && is_at_its_end(document, hunk, &candidate))
        .then_some(candidate)
    }
}
