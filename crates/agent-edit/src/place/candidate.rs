//! A place where a hunk may stand, and what speaks against it.

use std::ops::Range;

use super::super::Refusal;
use super::super::document::{Document, LineNumber};
use super::super::fold;
use super::super::matcher::{self, indentation_level};
use super::super::refuse::{self, QuotedPiece};
use super::{Stated, is_context, new_lines, old_lines};
use agent_protocol::{Hunk, HunkLine, Level};

/// The shortest added line that may have been wrapped.
const NARROWEST: usize = 40;

/// A place where a hunk stands or may stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HunkPlace<'h> {
    pub(crate) hunk: &'h Hunk,
    /// The lines of it that are looked for, without those that fuzz leaves out.
    pub(crate) lines: &'h [HunkLine],
    /// How many lines of context were left out above.
    pub(super) skipped: usize,
    /// The first line that matched.
    pub(crate) start: LineNumber,
    pub(super) length: usize,
    pub(crate) level: Level,
    /// Set if the file has the new lines of the hunk, not the old ones.
    pub(super) is_applied: bool,
}

impl<'h> HunkPlace<'h> {
    /// The place of a whole hunk that stands in so many lines, as it is written.
    pub(super) fn whole(hunk: &'h Hunk, start: LineNumber, length: usize) -> Self {
        Self {
            hunk,
            lines: &hunk.lines,
            skipped: 0,
            start,
            length,
            level: Level::Exact,
            is_applied: false,
        }
    }

    pub(super) fn at_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// Where the whole hunk would begin.
    pub(super) fn top(&self) -> LineNumber {
        self.start.saturating_sub(self.skipped)
    }

    /// The line after the last.
    pub(super) fn end(&self) -> LineNumber {
        self.start + self.length
    }

    /// True if its lines end where the file ends.
    pub(crate) fn is_at_end(&self, document: &Document<'_>) -> bool {
        self.end() == document.len() + 1
    }

    /// True if a hunk that is said to reach the end of the file does so.
    pub(super) fn is_at_its_end(&self, document: &Document<'_>) -> bool {
        !self.hunk.at_end || self.is_at_end(document)
    }

    /// The lines that are quoted.
    pub(super) fn quoted(&self) -> Range<LineNumber> {
        self.start..self.end()
    }

    /// The line above the first change.
    pub(super) fn first_above(&self) -> LineNumber {
        let changes = self.changes();
        changes
            .first()
            .map_or(self.end() - 1, |change| change.above)
    }

    /// The last line that is changed, or below which lines are inserted.
    pub(super) fn last_changed(&self) -> LineNumber {
        let changes = self.changes();
        (changes.last()).map_or(self.end() - 1, |change| change.above + change.removed)
    }

    /// The stretches that are changed.
    pub(super) fn changes(&self) -> Vec<ChangedLines> {
        let is_in_file = |line: &&HunkLine| match line {
            HunkLine::Keep(_) => true,
            HunkLine::Remove(_) => !self.is_applied,
            HunkLine::Add(_) => self.is_applied,
        };
        let mut above = self.start - 1;
        let mut changes = Vec::new();
        for run in (self.lines).chunk_by(|one, other| is_context(one) == is_context(other)) {
            let removed = run.iter().filter(is_in_file).count();
            if !is_context(&run[0]) {
                changes.push(ChangedLines { above, removed });
            }
            above += removed;
        }
        changes
    }
}

/// Lines that a hunk replaces, or the place at which it inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangedLines {
    /// The line above.
    pub(super) above: LineNumber,
    /// How many lines below that are replaced; none if lines are only inserted.
    pub(super) removed: usize,
}

impl ChangedLines {
    /// A range of numbers by which changes can be compared: twice the number of each line that is
    /// replaced; what lies between two lines is the odd number between them.
    pub(super) fn span(&self) -> Range<usize> {
        match self.removed {
            0 => 2 * self.above + 1..2 * self.above + 2,
            removed => 2 * self.above + 2..2 * (self.above + removed) + 1,
        }
    }
}

/// How loosely a hunk may match: one that changes only white space or punctuation not at all.
pub(super) fn loosest(hunk: &Hunk) -> Level {
    let changed = |is_old: bool| {
        let lines = (hunk.lines.iter()).filter_map(move |line| match line {
            HunkLine::Remove(text) if is_old => Some(text),
            HunkLine::Add(text) if !is_old => Some(text),
            _ => None,
        });
        lines.map(|line| fold::loose(line))
    };
    if changed(true).eq(changed(false)) {
        Level::Exact
    } else {
        Level::Whitespace
    }
}

/// True if fuzz leaves a hunk that says to begin the file where it says to be.
pub(super) fn stays_first(stated: Stated, place: &HunkPlace<'_>) -> bool {
    let is_first = place.hunk.old_start.is_some_and(|line| line <= 1);
    let is_there = matches!(stated, Stated::Line(line) if line.max(1) == place.top());
    !is_first || place.skipped == 0 || is_there
}

/// True if a hunk says that it begins the file: at its first line, with less context above than
/// below.
pub(super) fn says_to_be_first(hunk: &Hunk) -> bool {
    let (above, below) = context(hunk);
    hunk.old_start.is_some_and(|line| line <= 1) && above < below
}

/// True if a hunk says that it ends the file: with context above and none below.
pub(super) fn says_to_be_last(hunk: &Hunk) -> bool {
    let (above, below) = context(hunk);
    hunk.old_start.is_some() && above > 0 && below == 0
}

/// How many lines of context a hunk has above and below what it changes.
pub(super) fn context(hunk: &Hunk) -> (usize, usize) {
    let above = hunk.lines.iter().take_while(|line| is_context(line));
    let below = (hunk.lines.iter().rev()).take_while(|line| is_context(line));
    (above.count(), below.count())
}

/// Returns true if a line of context that fuzz left out is the line of the file but for signs before
/// it, or may be the rest of an added line: then it is no context that is wrong, but a line that lost
/// its `-`, such as `\u{2022} name`, or its place.
pub(super) fn has_lost_mark(document: &Document<'_>, place: &HunkPlace<'_>) -> bool {
    fn words(line: &str) -> &str {
        let words = line.trim_start_matches(|character: char| !character.is_alphanumeric());
        words.trim_end()
    }
    let lines = &place.hunk.lines;
    let (above, rest) = lines.split_at(place.skipped);
    let below = &rest[place.lines.len()..];
    // The rest of an added line that was wrapped looks like context.
    let is_rest = |pair: &[HunkLine]| match pair {
        [HunkLine::Add(added), HunkLine::Keep(rest)] => {
            added.len() >= NARROWEST && has_word(rest) && !rest.starts_with([' ', '\t'])
        }
        _ => false,
    };
    let last = lines.len() - below.len();
    if lines[last.saturating_sub(1)..].windows(2).any(is_rest) {
        return true;
    }
    let above = above.iter().rev().zip((1..place.start).rev());
    let below = below.iter().zip(place.end()..=document.len());
    above.chain(below).any(|(line, number)| {
        let (line, file) = (line.before().unwrap_or_default(), document.text(number));
        line != file && has_word(line) && words(line) == words(file)
    })
}

/// True if what fuzz leaves of a hunk is enough to recognise a place by: two lines, of which
/// one is context with a word. What is removed says nothing about where it is without a word around it.
pub(super) fn is_enough(lines: &[HunkLine]) -> bool {
    let is_telling = |line: &HunkLine| matches!(line, HunkLine::Keep(text) if has_word(text));
    let quoted = lines.iter().filter_map(HunkLine::before);
    quoted.filter(|line| !fold::is_blank(line)).count() >= 2 && lines.iter().any(is_telling)
}

/// True if the old lines of a hunk leave no doubt about their place, if they are there only once.
pub(super) fn is_telling(hunk: &Hunk) -> bool {
    let old = hunk.lines.iter().filter_map(HunkLine::before);
    old.filter(|line| has_word(line)).count() >= 2
}

pub(super) fn has_word(line: &str) -> bool {
    line.contains(char::is_alphanumeric)
}

pub(super) fn ambiguous(found: &[HunkPlace<'_>]) -> Refusal {
    let mut numbers: Vec<usize> = found.iter().map(|found| found.start).collect();
    numbers.sort_unstable();
    refuse::ambiguous(QuotedPiece::Hunk, &numbers)
}

/// The only place of a hunk that would stand above one that states an earlier line, if the hunk
/// itself says enough to leave no doubt.
pub(super) fn crossing<'h>(hunk: &Hunk, found: &[HunkPlace<'h>]) -> Result<HunkPlace<'h>, Refusal> {
    match found {
        [only] if is_telling(hunk) => Ok(only.at_level(Level::Elsewhere)),
        [only] => Err(Refusal::new(format!(
            "its old text stands only at line {}, above a hunk that states an earlier line",
            only.start
        ))
        .with_hint("add lines around it")),
        _ => Err(ambiguous(found)),
    }
}

/// The candidate, if the indentation of its lines is that of the file with one and the same change
/// of it, or does not matter.
pub(super) fn indented<'h>(
    document: &Document<'_>,
    candidate: HunkPlace<'h>,
) -> Result<HunkPlace<'h>, Refusal> {
    let adds = (candidate.lines.iter()).any(|line| matches!(line, HunkLine::Add(_)));
    if candidate.level < Level::Indentation || !adds {
        return Ok(candidate);
    }
    let (start, old) = (candidate.start, old_lines(candidate.lines));
    let has_shift = || {
        matcher::shift(document, start, &old).is_some() || has_own_indentation(document, &candidate)
    };
    let sides = [&old[..], &new_lines(candidate.lines)];
    let level = indentation_level(QuotedPiece::Hunk, document, start, sides, has_shift)?;
    Ok(candidate.at_level(candidate.level.max(level)))
}

/// Returns true if the changed lines of a hunk have the indentation of the file behind their marks,
/// where only the context lost its own.
fn has_own_indentation(document: &Document<'_>, candidate: &HunkPlace<'_>) -> bool {
    let (mut is_flat, mut is_exact, mut removed, mut is_deep) = (true, true, 0, false);
    let mut file = document.lines_from(candidate.start);
    for line in candidate.lines {
        match line {
            HunkLine::Keep(text) => is_flat &= file.next().is_some() && fold::is_collapsed(text),
            HunkLine::Remove(text) => {
                is_exact &= file.next().map(str::trim_end) == Some(text.trim_end());
                removed += 1;
            }
            HunkLine::Add(text) => is_deep |= !fold::is_collapsed(text),
        }
    }
    is_flat && is_exact && (removed > 0 || is_deep)
}
