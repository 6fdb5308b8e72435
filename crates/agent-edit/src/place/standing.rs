//! Evidence from the hunks that were placed about the numbers of their patch.
//!
//! A hunk that states a later line than one before it stands below it. Where hunks stand elsewhere
//! than stated, the lines between two of them have moved as both did, if both moved alike.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::super::document::LineNumber;

/// How much further down than stated the lines of a hunk stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drift {
    /// At its first line.
    pub(super) top: isize,
    /// Below its last line.
    pub(super) bottom: isize,
}

/// Where the hunks stand that state a line.
#[derive(Debug, Default)]
pub(super) struct HunkPositions {
    /// Above which line nothing stands that states a later line than the key; both ascend.
    floors: BTreeMap<LineNumber, LineNumber>,
    drifts: BTreeMap<LineNumber, Drift>,
    /// Set if one stands where its number cannot be true.
    is_broken: bool,
}

impl HunkPositions {
    /// True if no number was put to the proof yet.
    pub(super) fn is_unproved(&self) -> bool {
        self.drifts.is_empty()
    }

    /// True if a hunk that states this line may change lines below `start`.
    pub(super) fn is_in_order(&self, stated: LineNumber, start: LineNumber) -> bool {
        (self.floors.range(..stated).next_back()).is_none_or(|(_, &floor)| floor <= start)
    }

    /// Enters a hunk that states a line and ends before `end`.
    pub(super) fn enter(&mut self, stated: LineNumber, end: LineNumber, drift: Drift) {
        let floor = (self.floors.range(..=stated).next_back())
            .map_or(end, |(_, &earlier)| earlier.max(end));
        let below = (Bound::Excluded(stated), Bound::Unbounded);
        while let Some((&later, _)) =
            (self.floors.range(below).next()).filter(|next| *next.1 <= floor)
        {
            self.floors.remove(&later);
        }
        self.floors.insert(stated, floor);
        self.drifts.insert(stated, drift);
    }

    /// Notes that a hunk stands where its number cannot be true.
    pub(super) fn distrust(&mut self) {
        self.is_broken = true;
    }

    /// How much further down than stated a line stands between the hunks around it, if that is
    /// certain. Above all of them is the top of the file, which does not move.
    pub(super) fn drift_at(&self, stated: LineNumber) -> Option<isize> {
        let above = (self.drifts.range(..=stated).next_back()).map_or(0, |(_, drift)| drift.bottom);
        let below = (Bound::Excluded(stated), Bound::Unbounded);
        let is_alike = match self.drifts.range(below).next() {
            Some((_, drift)) => drift.top == above,
            None => above == 0,
        };
        (is_alike && !self.is_broken).then_some(above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(drift: isize) -> Drift {
        Drift {
            top: drift,
            bottom: drift,
        }
    }

    #[test]
    fn what_states_a_later_line_stands_below() {
        let mut standing = HunkPositions::default();
        assert!(standing.is_unproved());
        standing.enter(20, 23, even(0));
        assert!(standing.is_in_order(30, 23));
        assert!(!standing.is_in_order(30, 22));
        assert!(standing.is_in_order(20, 1), "the same number says nothing");
        standing.enter(10, 40, even(20));
        assert!(!standing.is_in_order(21, 39), "the lowest of them counts");
        assert!(!standing.is_in_order(11, 39));
        assert!(standing.is_in_order(21, 40));
    }

    #[test]
    fn lines_between_two_hunks_moved_as_both_did() {
        let mut standing = HunkPositions::default();
        assert_eq!(standing.drift_at(5), Some(0));
        standing.enter(10, 15, even(2));
        assert_eq!(standing.drift_at(5), None, "the top did not move");
        assert_eq!(standing.drift_at(12), None, "nobody knows about the end");
        standing.enter(20, 25, even(2));
        assert_eq!(standing.drift_at(15), Some(2));
        standing.enter(30, 31, even(0));
        assert_eq!(standing.drift_at(25), None);
        assert_eq!(standing.drift_at(40), Some(0));
        standing.distrust();
        assert_eq!(standing.drift_at(40), None);
    }
}
