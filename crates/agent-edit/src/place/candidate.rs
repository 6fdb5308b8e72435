//! A place where a hunk may stand, and what speaks against it.

use std::ops::Range;

use super::super::Refusal;
use super::super::document::{Document, LineNumber};
use super::super::refuse::{self, QuotedPiece};
use super::super::{fold, matcher};
use super::Stated;
use agent_protocol::{Hunk, HunkLine, Level};

/// The shortest added line that may have been wrapped.
const NARROWEST: usize = 40;

/// A part of a hunk that is looked for, and where it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct HunkPlace<'h> {
    pub(super) lines: &'h [HunkLine],
    /// How many lines of context were left out above.
    pub(super) skipped: usize,
    /// The first line that matched.
    pub(super) start: LineNumber,
    pub(super) length: usize,
    pub(super) level: Level,
}

impl HunkPlace<'_> {
    /// Where the whole hunk would begin.
    pub(super) fn top(&self) -> usize {
        self.start.saturating_sub(self.skipped)
    }

    /// The line after the last.
    pub(super) fn end(&self) -> LineNumber {
        self.start + self.length
    }

    /// The lines that are quoted.
    pub(super) fn quoted(&self) -> Range<LineNumber> {
        self.start..self.end()
    }

    /// The line above the first change.
    pub(super) fn first_above(&self) -> LineNumber {
        let first = self.changes().first().map(|change| change.above);
        first.unwrap_or(self.end() - 1)
    }

    /// The last line that is changed, or below which lines are inserted.
    pub(super) fn last_changed(&self) -> LineNumber {
        let last = self
            .changes()
            .last()
            .map(|change| change.above + change.removed);
        last.unwrap_or(self.end() - 1)
    }

    /// The stretches that are changed.
    pub(super) fn changes(&self) -> Vec<ChangedLines> {
        changes(self.lines, self.start - 1, HunkLine::before)
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

/// The stretches that a hunk changes whose first line stands below `above`, with the lines that the
/// file has: the old ones, or the new ones if the change is there already.
pub(super) fn changes(
    lines: &[HunkLine],
    above: LineNumber,
    in_file: fn(&HunkLine) -> Option<&str>,
) -> Vec<ChangedLines> {
    let is_kept = |line: &HunkLine| matches!(line, HunkLine::Keep(_));
    let mut above = above;
    let mut changes = Vec::new();
    for run in lines.chunk_by(|one, other| is_kept(one) == is_kept(other)) {
        let removed = run.iter().filter_map(in_file).count();
        if !is_kept(&run[0]) {
            changes.push(ChangedLines { above, removed });
        }
        above += removed;
    }
    changes
}

/// True if a hunk that is said to reach the end of the file does so.
pub(super) fn is_at_its_end(
    document: &Document<'_>,
    hunk: &Hunk,
    candidate: &HunkPlace<'_>,
) -> bool {
    !hunk.at_end || candidate.end() == document.len() + 1
}

/// How loosely a hunk may match: one that changes only white space or punctuation not at all.
pub(super) fn loosest(hunk: &Hunk) -> Level {
    let folded = |lines: Vec<&str>| -> Vec<String> {
        lines
            .into_iter()
            .map(|line| fold::loose(line).into_owned())
            .collect()
    };
    let removed = hunk
        .lines
        .iter()
        .filter(|line| matches!(line, HunkLine::Remove(_)));
    let added = hunk
        .lines
        .iter()
        .filter(|line| matches!(line, HunkLine::Add(_)));
    let removed: Vec<&str> = removed.filter_map(HunkLine::before).collect();
    let added: Vec<&str> = added.filter_map(HunkLine::after).collect();
    if removed.len() == added.len() && folded(removed) == folded(added) {
        Level::Exact
    } else {
        Level::Whitespace
    }
}

/// True if fuzz leaves a hunk that says to begin the file where it says to be.
pub(super) fn stays_first(hunk: &Hunk, stated: Stated, candidate: &HunkPlace<'_>) -> bool {
    let is_first = hunk.old_start.is_some_and(|line| line <= 1);
    let is_there = match stated {
        Stated::Line(line) => usize::try_from(line.max(1)) == Ok(candidate.top()),
        _ => false,
    };
    !is_first || candidate.skipped == 0 || is_there
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
    let is_kept = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
    let above = hunk.lines.iter().take_while(is_kept).count();
    let below = hunk.lines.iter().rev().take_while(is_kept).count();
    (above, below)
}

/// Returns true if a line of context that fuzz left out is the line of the file but for signs before
/// it, or may be the rest of an added line: then it is no context that is wrong, but a line that lost
/// its `-`, such as `\u{2022} name`, or its place.
pub(super) fn has_lost_mark(document: &Document<'_>, hunk: &Hunk, place: &HunkPlace<'_>) -> bool {
    let words = |line: &str| {
        let words = line.trim_start_matches(|character: char| !character.is_alphanumeric());
        words.trim_end().to_owned()
    };
    let left_out = hunk.lines.iter().zip(1..);
    let (above, below) = (place.skipped, place.skipped + place.lines.len());
    // The rest of an added line that was wrapped looks like context.
    let is_rest = |at: usize| {
        let is_long =
            |line: &HunkLine| matches!(line, HunkLine::Add(text) if text.len() >= NARROWEST);
        let is_margin = |line: &HunkLine| matches!(line, HunkLine::Keep(text) if has_word(text) && !text.starts_with([' ', '\t']));
        at > 0 && is_long(&hunk.lines[at - 1]) && is_margin(&hunk.lines[at])
    };
    if (below..hunk.lines.len()).any(is_rest) {
        return true;
    }
    left_out
        .filter(|(_, at)| *at <= above || *at > below)
        .filter_map(|(line, at)| {
            let number = if at <= above {
                (place.start + at).checked_sub(above + 1)?
            } else {
                place.end() + at - below - 1
            };
            let is_there = (1..=document.len()).contains(&number);
            Some((line.before()?, document.text(is_there.then_some(number)?)))
        })
        .any(|(line, file)| line != file && has_word(line) && words(line) == words(file))
}

/// True if what fuzz leaves of a hunk is enough to recognise a place by: two lines, of which
/// one is context with a word. What is removed says nothing about where it is without a word around it.
pub(super) fn is_enough(lines: &[HunkLine]) -> bool {
    let is_context = |line: &HunkLine| matches!(line, HunkLine::Keep(text) if has_word(text));
    let filled = (lines.iter().filter_map(HunkLine::before))
        .filter(|line| !fold::is_blank(line))
        .count();
    filled >= 2 && lines.iter().any(is_context)
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

/// Marks a place as one that is not where the hunk says to be.
pub(super) fn elsewhere<'h>(candidate: &HunkPlace<'h>) -> HunkPlace<'h> {
    HunkPlace {
        level: Level::Elsewhere,
        ..*candidate
    }
}

/// Marks a place as one of several, to which the line that the hunk states is only near.
pub(super) fn nearest_of<'h>(candidate: &HunkPlace<'h>) -> HunkPlace<'h> {
    HunkPlace {
        level: Level::Nearest,
        ..*candidate
    }
}

/// The only place of a hunk that would stand above one that states an earlier line, if the hunk
/// itself says enough to leave no doubt.
pub(super) fn crossing<'h>(hunk: &Hunk, found: &[HunkPlace<'h>]) -> Result<HunkPlace<'h>, Refusal> {
    match found {
        [only] if is_telling(hunk) => Ok(elsewhere(only)),
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
    let lines = candidate.lines;
    let adds = lines.iter().any(|line| matches!(line, HunkLine::Add(_)));
    if candidate.level < Level::Indentation || !adds {
        return Ok(candidate);
    }
    let old: Vec<&str> = lines.iter().filter_map(HunkLine::before).collect();
    let new: Vec<&str> = lines.iter().filter_map(HunkLine::after).collect();
    let is_flat = matcher::is_flattened(document, candidate.start, &old, &new);
    let has_own = || has_own_indentation(document, &candidate);
    if !is_flat && (matcher::shift(document, candidate.start, &old).is_some() || has_own()) {
        return Ok(candidate);
    }
    if is_flat || document.layout().with(new.into_iter()).is_meaningful() {
        let (start, length) = (candidate.start, old.len());
        let piece = QuotedPiece::Hunk;
        return Err(refuse::indented_otherwise(piece, document, start, length));
    }
    Ok(HunkPlace {
        level: candidate.level.max(Level::UnevenIndentation),
        ..candidate
    })
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
