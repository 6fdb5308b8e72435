//! The line book: which lines of a file are still where, while a reply changes it.
//!
//! A reply names lines as they were when it began. The book holds the file as a sequence of pieces,
//! each either lines of then that still stand or lines that are new, so that a later step's numbers
//! can be turned into those of now. Together the pieces always cover all lines of then, in order.
//! The book knows nothing of the text.

use std::ops::Range;

use crate::edit::LineChange;

/// The history of the lines of one file since the reply began, or since it wrote the file anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineBook {
    /// How many lines there were.
    lines: usize,
    pieces: Vec<Piece>,
}

/// A stretch of the file. Lines are counted from 0, ranges are half open.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// These lines of then still stand.
    Kept(Range<usize>),
    /// So many lines stand in place of these lines of then, which may be none.
    New { old: Range<usize>, lines: usize },
}

impl Piece {
    fn old(&self) -> &Range<usize> {
        match self {
            Self::Kept(old) | Self::New { old, .. } => old,
        }
    }

    fn lines_now(&self) -> usize {
        match self {
            Self::Kept(old) => old.len(),
            Self::New { lines, .. } => *lines,
        }
    }
}

/// Why lines cannot be named, or not any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LineProblem {
    /// Lines are counted from 1, and a range goes forward.
    #[error(
        "{start}-{end} is no range of lines: they are counted from 1, the smaller number first"
    )]
    NoRange { start: u32, end: u32 },
    /// The file ends before.
    #[error("there is no line {line}: the file has {lines}, counted when this reply begins or when one of its steps writes the file anew", lines = count(*.lines))]
    Beyond { line: u32, lines: usize },
    /// An earlier step of the same reply changed them.
    #[error("{lines} changed by an earlier step of this reply", lines = were(.0))]
    Changed(Range<usize>),
    /// An earlier step of the same reply inserted something between them.
    #[error("an earlier step of this reply inserted text after line {0}, within this range")]
    Inserted(usize),
}

fn count(lines: usize) -> String {
    match lines {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}

fn were(old: &Range<usize>) -> String {
    if old.len() == 1 {
        format!("line {} was", old.end)
    } else {
        format!("lines {}-{} were", old.start + 1, old.end)
    }
}

impl LineBook {
    /// A file of so many lines, untouched.
    pub(super) fn new(lines: usize) -> Self {
        Self {
            lines,
            pieces: vec![Piece::Kept(0..lines)],
        }
    }

    /// How many lines there were, and those that are replaced: from, to, and by how many.
    pub(super) fn replaced(&self) -> (usize, Vec<(usize, usize, usize)>) {
        let replaced = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Kept(_) => None,
            Piece::New { old, lines } => Some((old.start, old.end, *lines)),
        });
        (self.lines, replaced.collect())
    }

    /// The book that told this; nothing if no book can have.
    pub(super) fn restored(lines: usize, replaced: &[(usize, usize, usize)]) -> Option<Self> {
        let (mut pieces, mut border) = (Vec::new(), 0);
        for &(start, end, now) in replaced {
            if start < border || end < start || end > lines {
                return None;
            }
            pieces.extend(kept(border..start));
            pieces.push(Piece::New {
                old: start..end,
                lines: now,
            });
            border = end;
        }
        pieces.extend(kept(border..lines));
        Some(Self { lines, pieces })
    }

    /// Where the lines `start..=end` of then, counted from 1, are now: counted from 0, half open.
    pub(super) fn range(&self, start: u32, end: u32) -> Result<Range<usize>, LineProblem> {
        if start == 0 || end < start {
            return Err(LineProblem::NoRange { start, end });
        }
        let (first, last) = (start as usize - 1, end as usize);
        if last > self.lines {
            return Err(LineProblem::Beyond {
                line: end,
                lines: self.lines,
            });
        }
        let mut now = 0;
        for piece in &self.pieces {
            let old = piece.old();
            match piece {
                Piece::Kept(_) if old.start <= first && last <= old.end => {
                    let begin = now + first - old.start;
                    return Ok(begin..begin + (last - first));
                }
                Piece::New { .. } if old.start.max(first) < old.end.min(last) => {
                    return Err(LineProblem::Changed(old.clone()));
                }
                Piece::New { .. } if first < old.start && old.start < last => {
                    return Err(LineProblem::Inserted(old.start));
                }
                _ => now += piece.lines_now(),
            }
        }
        // The pieces cover all lines, so that one of the cases above was met.
        Err(LineProblem::Changed(first..last))
    }

    /// After how many lines of now a text goes that is to stand after line `line` of then.
    ///
    /// Earlier insertions at the same place stay before it: the order of the reply is kept.
    pub(super) fn gap(&self, line: u32) -> Result<usize, LineProblem> {
        let gap = line as usize;
        if gap > self.lines {
            return Err(LineProblem::Beyond {
                line,
                lines: self.lines,
            });
        }
        let mut now = 0;
        for piece in &self.pieces {
            let old = piece.old();
            if old.end > gap {
                return match piece {
                    Piece::Kept(_) => Ok(now + gap.saturating_sub(old.start)),
                    Piece::New { .. } if old.start >= gap => Ok(now),
                    Piece::New { .. } => Err(LineProblem::Changed(old.clone())),
                };
            }
            now += piece.lines_now();
        }
        Ok(now)
    }

    /// Returns true if all lines are where they were.
    pub(super) fn is_untouched(&self) -> bool {
        matches!(self.pieces.as_slice(), [] | [Piece::Kept(_)])
    }

    /// Returns true if the only place of `old` stands in `new` already, and edits of this reply wrote
    /// the rest of that; `lines` are those of now.
    ///
    /// A change that only adds lines matches once more where it was made.
    pub(super) fn has_change(&self, lines: &[&str], old: &[&str], new: &[&str]) -> bool {
        let place = |lines: &[&str]| {
            let windows = lines.windows(old.len()).enumerate();
            let mut found = windows.filter(|(_, window)| *window == old);
            let only = found.next().map(|(at, _)| at);
            only.filter(|_| found.next().is_none())
        };
        if old.is_empty() || old.len() >= new.len() {
            return false;
        }
        let found = place(new).and_then(|inside| Some((place(lines)?, inside)));
        let Some((found, start)) =
            found.and_then(|(at, inside)| Some((at, at.checked_sub(inside)?)))
        else {
            return false;
        };
        if !lines[start..].starts_with(new) {
            return false;
        }
        let written = self.written();
        let is_written = |line| written.iter().any(|range| range.contains(&line));
        let mut added = (start..start + new.len())
            .filter(|line| !(found..found + old.len()).contains(line))
            .filter(|line| !lines[*line].trim().is_empty())
            .peekable();
        added.peek().is_some() && added.all(is_written)
    }

    /// The lines of now that edits wrote: counted from 0, half open.
    fn written(&self) -> Vec<Range<usize>> {
        let mut now = 0;
        let mut written = Vec::new();
        for piece in &self.pieces {
            let start = now;
            now += piece.lines_now();
            if matches!(piece, Piece::New { .. }) {
                written.push(start..now);
            }
        }
        written
    }

    /// The book, made ready for many questions.
    pub(super) fn lookup(&self) -> Lookup<'_> {
        let mut now = 0;
        let starts = self.pieces.iter().map(|piece| {
            let start = now;
            now += piece.lines_now();
            start
        });
        Lookup {
            pieces: &self.pieces,
            starts: starts.collect(),
        }
    }

    /// Enters what an edit replaced, in the lines before that edit: ascending, without overlap.
    pub(super) fn record(&mut self, changes: &[LineChange]) {
        // From the bottom up, so that the numbers of those above stay true. What lies below the
        // change under way is taken off the pieces, in reverse, and comes back at the end.
        let mut below = Vec::new();
        let mut end = self.pieces.iter().map(Piece::lines_now).sum();
        for change in changes.iter().rev() {
            if !change.old.is_empty() || change.new > 0 {
                end = self.record_one(&change.old, change.new, end, &mut below);
            }
        }
        self.pieces.extend(below.into_iter().rev());
    }

    /// Enters one change; tells how many lines the pieces have now that are not taken off.
    fn record_one(
        &mut self,
        replaced: &Range<usize>,
        new: usize,
        mut end: usize,
        below: &mut Vec<Piece>,
    ) -> usize {
        let mut old: Option<Range<usize>> = None;
        let mut lines = new;
        let mut cover = |part: Range<usize>| {
            old = Some(part.start..old.as_ref().map_or(part.end, |old| old.end));
        };
        let mut kept_on_top = None;
        while let Some(piece) = self.pieces.pop_if(|_| end > replaced.start) {
            let start = end - piece.lines_now();
            if start >= replaced.end {
                below.push(piece);
            } else {
                let kept_above = replaced.start.saturating_sub(start);
                let kept_below = end.saturating_sub(replaced.end);
                match piece {
                    Piece::Kept(old) => {
                        let (from, to) = (old.start + kept_above, old.end - kept_below);
                        below.extend(kept(to..old.end));
                        cover(from..to);
                        kept_on_top = kept(old.start..from);
                    }
                    Piece::New { old, .. } => {
                        lines += kept_above + kept_below;
                        cover(old);
                    }
                }
            }
            end = start;
        }
        if let Some(piece) = kept_on_top {
            end += piece.lines_now();
            self.pieces.push(piece);
        }
        let border = self.pieces.last().map_or(0, |piece| piece.old().end);
        self.pieces.push(Piece::New {
            old: old.unwrap_or(border..border),
            lines,
        });
        end + lines
    }
}

/// A book whose answers take no walk over its pieces.
pub(super) struct Lookup<'b> {
    pieces: &'b [Piece],
    /// After how many lines of now each piece begins.
    starts: Vec<usize>,
}

impl Lookup<'_> {
    /// Where a line of then is now, both counted from 1; nothing if it is not there any more.
    pub(super) fn line(&self, line: u32) -> Option<usize> {
        let line = (line as usize).checked_sub(1)?;
        let at = self.pieces.partition_point(|piece| piece.old().end <= line);
        match self.pieces.get(at)? {
            Piece::Kept(old) => Some(self.starts[at] + line - old.start + 1),
            Piece::New { .. } => None,
        }
    }

    /// Like `LineBook::gap`, but `None` if the line was changed or never existed.
    pub(super) fn gap(&self, line: u32) -> Option<usize> {
        let gap = line as usize;
        let at = self.pieces.partition_point(|piece| piece.old().end <= gap);
        match (self.pieces.get(at), self.pieces.last()) {
            (Some(Piece::Kept(old)), _) => Some(self.starts[at] + gap.saturating_sub(old.start)),
            (Some(Piece::New { old, .. }), _) => (old.start >= gap).then(|| self.starts[at]),
            (None, Some(last)) if last.old().end == gap => {
                self.starts.last().map(|start| start + last.lines_now())
            }
            (None, _) => None,
        }
    }
}

fn kept(old: Range<usize>) -> Option<Piece> {
    (!old.is_empty()).then_some(Piece::Kept(old))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change(old: Range<usize>, new: usize) -> LineChange {
        LineChange { old, new }
    }

    fn book(changes: &[LineChange]) -> LineBook {
        let mut book = LineBook::new(10);
        book.record(changes);
        book
    }

    #[test]
    fn lines_below_a_change_move_with_it() {
        let book = book(&[change(1..3, 5), change(5..6, 0)]);
        assert_eq!(book.range(1, 1), Ok(0..1));
        assert_eq!(book.range(4, 5), Ok(6..8));
        assert_eq!(book.range(7, 10), Ok(8..12));
    }

    #[test]
    fn lines_that_were_changed_cannot_be_named_again() {
        let book = book(&[change(2..4, 1)]);
        for (start, end) in [(3, 3), (4, 4), (1, 3), (4, 9), (1, 10)] {
            assert_eq!(book.range(start, end), Err(LineProblem::Changed(2..4)));
        }
    }

    #[test]
    fn a_range_around_an_insertion_is_refused() {
        let book = book(&[change(4..4, 2)]);
        assert_eq!(book.range(4, 5), Err(LineProblem::Inserted(4)));
        assert_eq!(book.range(1, 4), Ok(0..4));
        assert_eq!(book.range(5, 10), Ok(6..12));
    }

    #[test]
    fn a_book_that_was_written_down_comes_back() {
        for changes in [
            vec![change(1..3, 5), change(5..6, 0)],
            vec![change(0..10, 2)],
            vec![change(4..4, 2), change(10..10, 1)],
            Vec::new(),
        ] {
            let mut book = book(&changes);
            book.record(&[change(0..1, 3)]);
            let (lines, replaced) = book.replaced();
            assert_eq!(LineBook::restored(lines, &replaced), Some(book));
        }
        for impossible in [
            [(3, 2, 1), (4, 5, 1)],
            [(2, 4, 1), (3, 5, 1)],
            [(0, 1, 1), (5, 11, 1)],
        ] {
            assert_eq!(LineBook::restored(10, &impossible), None);
        }
    }

    #[test]
    fn insertions_at_one_place_keep_their_order() {
        let mut book = LineBook::new(10);
        for expected in [4, 6, 8] {
            let gap = book.gap(4).unwrap();
            assert_eq!(gap, expected);
            book.record(&[change(gap..gap, 2)]);
        }
    }

    #[test]
    fn an_insertion_goes_to_the_border_of_a_change_and_not_into_it() {
        let book = book(&[change(4..7, 1)]);
        assert_eq!(book.gap(4), Ok(4));
        assert_eq!(book.gap(7), Ok(5));
        assert_eq!(book.gap(5), Err(LineProblem::Changed(4..7)));
        assert_eq!(book.gap(0), Ok(0));
        assert_eq!(book.gap(10), Ok(8));
    }

    #[test]
    fn a_change_of_changed_lines_is_one_change() {
        let mut book = book(&[change(2..4, 6)]);
        book.record(&[change(3..9, 1)]);
        assert_eq!(
            book.pieces,
            [
                Piece::Kept(0..2),
                Piece::New {
                    old: 2..5,
                    lines: 2
                },
                Piece::Kept(5..10)
            ]
        );
    }

    #[test]
    fn says_what_is_wrong_in_the_numbers_of_the_reply() {
        let book = book(&[change(2..3, 1), change(5..8, 1)]);
        let word = |start, end| book.range(start, end).unwrap_err().to_string();
        assert_eq!(
            word(9, 11),
            "there is no line 11: the file has 10 lines, counted when this reply begins or when one of its steps writes the file anew"
        );
        assert_eq!(
            word(3, 3),
            "line 3 was changed by an earlier step of this reply"
        );
        assert_eq!(
            word(7, 7),
            "lines 6-8 were changed by an earlier step of this reply"
        );
        assert_eq!(word(0, 1), word(0, 1));
        assert!(book.range(5, 4).is_err());
    }

    proptest! {
        /// The book against the text itself: every line that can still be named is the same line.
        #[test]
        fn a_named_line_is_the_line_that_was_meant(
            edits in proptest::collection::vec((0_usize..20, 0_usize..4, 0_usize..4), 0..12),
        ) {
            let mut text: Vec<Option<usize>> = (0..12).map(Some).collect();
            let mut book = LineBook::new(text.len());
            for (start, length, new) in edits {
                let start = start.min(text.len());
                let end = (start + length).min(text.len());
                book.record(&[change(start..end, new)]);
                text.splice(start..end, vec![None; new]);
            }
            let lookup = book.lookup();
            for line in 0..14_u32 {
                prop_assert_eq!(lookup.gap(line), book.gap(line).ok());
                let now = book.range(line, line).ok();
                prop_assert_eq!(lookup.line(line), now.map(|now| now.end));
            }
            for line in 0..12_u32 {
                let meant = Some(line as usize);
                match book.range(line + 1, line + 1) {
                    Ok(now) => prop_assert_eq!(text[now.start], meant),
                    Err(_) => prop_assert!(!text.contains(&meant)),
                }
                if let Ok(gap) = book.gap(line) {
                    let above = text[..gap].iter().flatten().max();
                    let below = text[gap..].iter().flatten().min();
                    prop_assert!(above.is_none_or(|above| *above < line as usize));
                    prop_assert!(below.is_none_or(|below| *below >= line as usize));
                }
            }
            let total: usize = book.pieces.iter().map(Piece::lines_now).sum();
            prop_assert_eq!(total, text.len());
        }
    }
}
