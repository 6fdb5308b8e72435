//! Hunks whose change is in the file already.

use super::super::align::align;
use super::super::document::{Document, LineNumber};
use super::super::matcher;
use super::super::quote::is_telling;
use super::candidate::{changes, loosest};
use super::{Placer, Stated};
use agent_protocol::{Hunk, HunkLine, Level};

impl Placer {
    /// Leaves out a hunk whose change is in the file beyond doubt; tells whether it is.
    ///
    /// Its new lines stand there, at the line that it states or nowhere else, and what they would
    /// replace does not stand elsewhere.
    pub(crate) fn leave_out(
        &mut self,
        document: &Document<'_>,
        hunk: &Hunk,
        stated: Stated,
    ) -> bool {
        let starts = places_of_change(document, hunk);
        let expected = self.expected(stated);
        let at_its_line = starts.iter().find(|start| Some(**start) == expected);
        let (old, new) = sides(hunk);
        let start = match (at_its_line, starts.as_slice()) {
            (Some(start), _) | (None, [start]) => *start,
            _ => return false,
        };
        let end = start + new.len();
        let removes = (hunk.lines.iter()).any(|line| matches!(line, HunkLine::Remove(_)));
        let is_left = |matches: matcher::LineMatches| {
            let mut starts = matches.starts.into_iter();
            starts.any(|place| place < start || end <= place)
        };
        if removes
            && at_its_line.is_none()
            && matcher::find(document, &old, loosest(hunk)).is_some_and(is_left)
        {
            return false;
        }
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
}

/// Where the new side of a hunk stands, if that proves anything.
fn places_of_change(document: &Document<'_>, hunk: &Hunk) -> Vec<LineNumber> {
    let (old, new) = sides(hunk);
    let blocks = align(&old, &new);
    if blocks.is_empty() || !is_telling(&old, &new, &blocks) {
        return Vec::new();
    }
    matcher::find(document, &new, Level::TrailingSpace)
        .map(|matches| matches.starts)
        .unwrap_or_default()
}

fn sides(hunk: &Hunk) -> (Vec<&str>, Vec<&str>) {
    let old = hunk.lines.iter().filter_map(HunkLine::before).collect();
    let new = hunk.lines.iter().filter_map(HunkLine::after).collect();
    (old, new)
}
