//! A text as a list of lines that can be edited many times and is put together once.
//!
//! Lines are named by their number, counted from 1, as the text is now. Each remembers which line
//! of the original it is, so that the changes can be read off at the end, whatever happened in
//! between.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use memchr::memchr_iter;
use memchr::memmem::Finder;

use super::align::{DiffBlock, common};
use super::ending::{self, LineEnding};
use super::fold;
use super::matcher::CodeLayout;
use super::{Edited, LineChange};
use agent_protocol::Level;

/// The number of a line, from 1. As a place to insert at, the number of the line above: 0 is the
/// top.
pub(super) type LineNumber = usize;

/// How many refusals name the passages that are near.
const MAX_HINTS: usize = 20;

/// Which lines count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKey {
    /// Those with the same characters.
    Exact,
    /// Those that differ only in white space and kinds of punctuation: whatever any level matches.
    Loose,
}

impl LineKey {
    fn hash(self, hasher: &RandomState, line: &str) -> u64 {
        match self {
            Self::Exact => hasher.hash_one(line),
            Self::Loose => hasher.hash_one(&*fold::loose(line)),
        }
    }
}

/// Lines to be written in the place of others.
#[derive(Debug)]
pub(super) struct LineSplice<'a> {
    /// The line above.
    pub(super) above: LineNumber,
    /// How many lines below that are replaced.
    pub(super) removed: usize,
    pub(super) lines: Vec<Cow<'a, str>>,
}

impl<'a> LineSplice<'a> {
    /// Writes the new lines of blocks over the old ones, of which the first of all is `start`.
    pub(super) fn of_blocks(
        blocks: &[DiffBlock],
        start: LineNumber,
        new: &[&'a str],
        write: impl Fn(&'a str) -> Cow<'a, str>,
    ) -> Vec<Self> {
        let splice = |block: &DiffBlock| Self {
            above: start - 1 + block.old.start,
            removed: block.old.len(),
            lines: (new[block.new.clone()].iter())
                .map(|line| write(line))
                .collect(),
        };
        blocks.iter().map(splice).collect()
    }

    /// The lines that are replaced, counted from 0.
    fn range(&self) -> Range<usize> {
        self.above..self.above + self.removed
    }
}

#[derive(Debug)]
struct DocumentLine<'a> {
    text: Cow<'a, str>,
    ending: LineEnding,
    /// Its number in the original; if it was added, that of the line above it, 0 for the top.
    origin: LineNumber,
    is_added: bool,
}

/// The lines of a text in their order.
#[derive(Debug)]
pub(super) struct Document<'a> {
    lines: Vec<DocumentLine<'a>>,
    originals: usize,
    is_changed: bool,
    /// How most lines of the original end.
    dominant: LineEnding,
    /// Set if a new line ends like the one whose place it takes.
    copies_endings: bool,
    has_final_newline: bool,
    layout: OnceCell<CodeLayout>,
    hints: Cell<usize>,
    hasher: RandomState,
    /// A number for each line, equal for equal lines, by `LineKey`.
    keys: [OnceCell<Vec<u64>>; 2],
    flat: OnceCell<String>,
}

impl<'a> Document<'a> {
    /// Splits a text into its lines; a lone `\r` is an ordinary character.
    pub(super) fn new(text: &'a str) -> Self {
        Self::broken(text, ending::breaks(text))
    }

    /// Splits a text into its lines, which a lone `\r` ends as well.
    ///
    /// New lines end as most lines do: in such a mixture the neighbours are no example.
    pub(super) fn with_lone_returns(text: &'a str) -> Self {
        Self {
            copies_endings: false,
            ..Self::broken(text, ending::breaks_with_lone_returns(text))
        }
    }

    fn broken(text: &'a str, breaks: impl Iterator<Item = (usize, LineEnding)>) -> Self {
        let mut lines = Vec::with_capacity(text.len() / 32 + 1);
        let mut start = 0;
        for (end, ending) in breaks.chain(std::iter::once((text.len(), LineEnding::Missing))) {
            if start == text.len() {
                break;
            }
            lines.push(DocumentLine {
                text: Cow::Borrowed(&text[start..end]),
                ending,
                origin: lines.len() + 1,
                is_added: false,
            });
            start = end + ending.as_str().len();
        }
        Self {
            originals: lines.len(),
            is_changed: false,
            dominant: dominant(&lines),
            copies_endings: true,
            has_final_newline: lines
                .last()
                .is_none_or(|line| line.ending != LineEnding::Missing),
            lines,
            layout: OnceCell::new(),
            hints: Cell::new(0),
            hasher: RandomState::new(),
            keys: [OnceCell::new(), OnceCell::new()],
            flat: OnceCell::new(),
        }
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }

    pub(super) fn text(&self, line: LineNumber) -> &str {
        &self.lines[line - 1].text
    }

    /// The lines from this one on.
    pub(super) fn lines_from(&self, line: LineNumber) -> impl Iterator<Item = &str> {
        self.lines[line - 1..].iter().map(|line| &*line.text)
    }

    /// Returns true if these lines stand at a line.
    pub(super) fn has_lines_at(&self, line: LineNumber, lines: &[&str]) -> bool {
        let below = (line.checked_sub(1)).and_then(|at| self.lines.get(at..)?.get(..lines.len()));
        below.is_some_and(|below| {
            below
                .iter()
                .map(|line| &*line.text)
                .eq(lines.iter().copied())
        })
    }

    /// The line of the original that this one is, or that stood above it; 0 for the top.
    pub(super) fn original_number(&self, line: LineNumber) -> LineNumber {
        self.lines[line - 1].origin
    }

    /// Decides about the final newline; an empty last line cannot do without.
    pub(super) fn set_final_newline(&mut self, has: bool) {
        self.has_final_newline = has || self.lines.last().is_none_or(|line| line.text.is_empty());
    }

    /// The signs in the lines by which languages differ.
    pub(super) fn layout(&self) -> CodeLayout {
        *self.layout.get_or_init(|| {
            let lines = self.lines.iter().map(|line| &*line.text);
            CodeLayout::default().with(lines)
        })
    }

    /// Counts a refusal, and tells whether it should name the passages that are near: to look for
    /// them takes time, and of very many refusals nobody reads the last.
    pub(super) fn may_hint(&self) -> bool {
        self.hints.set(self.hints.get() + 1);
        self.hints.get() <= MAX_HINTS
    }

    fn keys(&self, key: LineKey) -> &[u64] {
        self.keys[key as usize].get_or_init(|| {
            let keys = self.lines.iter().map(|line| self.key(key, &line.text));
            keys.collect()
        })
    }

    fn key(&self, key: LineKey, line: &str) -> u64 {
        key.hash(&self.hasher, line)
    }

    /// True if the document has a line like this.
    pub(super) fn has_line(&self, key: LineKey, line: &str) -> bool {
        self.keys(key).contains(&self.key(key, line))
    }

    /// The first lines of all places where these lines stand one below the other, in ascending
    /// order, overlaps included.
    ///
    /// Knuth, Morris and Pratt's search: linear in the text and the run, also where every line is
    /// like every other.
    pub(super) fn find_lines(&self, key: LineKey, lines: &[&str]) -> Vec<LineNumber> {
        let run: Vec<u64> = lines.iter().map(|line| self.key(key, line)).collect();
        let mut found = Vec::new();
        if run.is_empty() {
            return found;
        }
        let borders = borders(&run);
        let mut matched = 0;
        for (at, line) in self.keys(key).iter().enumerate() {
            while matched > 0 && run[matched] != *line {
                matched = borders[matched - 1];
            }
            matched += usize::from(run[matched] == *line);
            if matched == run.len() {
                found.push(at + 2 - run.len());
                matched = borders[matched - 1];
            }
        }
        found
    }

    /// The whole text with `\n` as the only line ending, for searches within lines.
    pub(super) fn flat(&self) -> &str {
        self.flat.get_or_init(|| {
            let size: usize = self.lines.iter().map(|line| line.text.len() + 1).sum();
            let mut flat = String::with_capacity(size);
            for line in &self.lines {
                flat.push_str(&line.text);
                flat.push('\n');
            }
            if !self.has_final_newline {
                flat.pop();
            }
            flat
        })
    }

    /// Where a string stands in the flat text, without overlaps.
    pub(super) fn find_text(&self, needle: &str) -> Vec<usize> {
        let finder = Finder::new(needle);
        finder.find_iter(self.flat().as_bytes()).collect()
    }

    /// Where the same string stands next, which may be within the one that begins at `place`.
    pub(super) fn text_after(&self, needle: &str, place: usize) -> Option<usize> {
        let first = needle.chars().next().map_or(1, char::len_utf8);
        let from = place + first;
        self.flat()[from..].find(needle).map(|at| from + at)
    }

    /// The lines in which places of the flat text are, given in ascending order.
    pub(super) fn lines_at(&self, places: impl Iterator<Item = usize>) -> Vec<LineNumber> {
        let flat = self.flat().as_bytes();
        let (mut line, mut counted) = (1, 0);
        let number = |at: usize| {
            line += memchr_iter(b'\n', &flat[counted..at]).count();
            counted = at;
            line
        };
        places.map(number).collect()
    }

    /// Replaces so many lines below `above` by others.
    pub(super) fn splice(&mut self, above: LineNumber, removed: usize, lines: Vec<Cow<'a, str>>) {
        self.splice_all(vec![LineSplice {
            above,
            removed,
            lines,
        }]);
    }

    /// Replaces many stretches of lines, which are given in ascending order and do not overlap.
    ///
    /// A new line ends like the one whose place it takes, or like its neighbour.
    pub(super) fn splice_all(&mut self, splices: Vec<LineSplice<'a>>) {
        self.is_changed = true;
        self.flat.take();
        for (kind, keys) in [LineKey::Exact, LineKey::Loose].iter().zip(&mut self.keys) {
            if let Some(keys) = keys.get_mut() {
                let hash = |line: &Cow<'_, str>| kind.hash(&self.hasher, line);
                let hashed = (splices.iter())
                    .map(|splice| (splice.range(), splice.lines.iter().map(hash).collect()));
                splice_items(keys, hashed.collect());
            }
        }
        let written = (splices.into_iter()).map(|splice| (splice.range(), self.ended(splice)));
        let written = written.collect();
        splice_items(&mut self.lines, written);
        self.set_final_newline(self.has_final_newline);
    }

    /// The new lines of a splice with their endings.
    fn ended(&self, splice: LineSplice<'a>) -> Vec<DocumentLine<'a>> {
        let range = splice.range();
        let replaced = &self.lines[range.clone()];
        let above = range.start.checked_sub(1).map(|above| &self.lines[above]);
        let neighbours = replaced.iter().rev().chain(above);
        let fallback = (neighbours.chain(self.lines.get(range.end)))
            .map(|line| line.ending)
            .find(|&ending| self.copies_endings && ending != LineEnding::Missing)
            .unwrap_or(self.dominant);
        let origin = above.map_or(0, |line| line.origin);
        let ended = |(position, text): (usize, Cow<'a, str>)| {
            let replaced = replaced.get(position).map(|line| line.ending);
            let copied = replaced.filter(|&it| self.copies_endings && it != LineEnding::Missing);
            DocumentLine {
                text,
                ending: copied.unwrap_or(fallback),
                origin,
                is_added: true,
            }
        };
        splice.lines.into_iter().enumerate().map(ended).collect()
    }

    /// Replaces stretches of the flat text, which are given in ascending order, by texts with `\n`
    /// as their only line ending.
    pub(super) fn splice_flat(&mut self, stretches: Vec<(Range<usize>, String)>) {
        let flat = self.flat();
        let bounds = (stretches.iter()).flat_map(|(range, _)| [range.start, range.end]);
        let lines = self.lines_at(bounds);
        // Those that touch the same line are one, so that each line is written once.
        let mut joined: Vec<(Range<usize>, String, LineNumber)> = Vec::new();
        for ((range, new), lines) in stretches.into_iter().zip(lines.chunks(2)) {
            match joined.last_mut() {
                Some((last, text, line)) if *line == lines[0] => {
                    text.push_str(&flat[last.end..range.start]);
                    text.push_str(&new);
                    last.end = range.end;
                    *line = lines[1];
                }
                _ => joined.push((range, new, lines[1])),
            }
        }
        let Some((last, new, _)) = joined.last() else {
            return;
        };
        let parts = [&flat[last.end..], new, &flat[..last.start]];
        let ends_with_newline = (parts.into_iter().find(|part| !part.is_empty()))
            .is_none_or(|part| part.ends_with('\n'));
        let splices = joined.into_iter().map(|(range, new, last)| {
            let removed = memchr_iter(b'\n', &flat.as_bytes()[range.clone()]).count() + 1;
            line_splice(flat, range, &new, last - removed)
        });
        let splices = splices.collect();
        self.splice_all(splices);
        self.set_final_newline(ends_with_newline);
    }

    /// Puts the text together and tells what changed.
    pub(super) fn finish(&self, level: Level) -> Edited {
        let size = self.lines.iter().map(|line| line.text.len() + 2).sum();
        let mut text = String::with_capacity(size);
        let mut changes = Vec::new();
        let mut seen = 0;
        let mut added = 0;
        for (line, number) in self.lines.iter().zip(1..) {
            let ending = match line.ending {
                _ if number == self.lines.len() && !self.has_final_newline => LineEnding::Missing,
                LineEnding::Missing => self.dominant,
                ending => ending,
            };
            text.push_str(&line.text);
            if line.is_added {
                added += 1;
                // A diff of a file with such endings may quote them: one `\r` is enough.
                if ending == LineEnding::CrLf && line.text.ends_with('\r') {
                    text.pop();
                }
            } else {
                push_change(&mut changes, seen..line.origin - 1, added);
                seen = line.origin;
                added = 0;
            }
            text.push_str(ending.as_str());
        }
        push_change(&mut changes, seen..self.originals, added);
        Edited {
            text,
            level,
            changes,
        }
    }
}

/// The most frequent ending; of those that are equally frequent, `\n` before `\r\n` before `\r`.
fn dominant(lines: &[DocumentLine<'_>]) -> LineEnding {
    let count = |ending: &LineEnding| lines.iter().filter(|line| line.ending == *ending).count();
    // The last of those that are equal is the greatest.
    let kinds = [LineEnding::Cr, LineEnding::CrLf, LineEnding::Lf];
    kinds
        .into_iter()
        .max_by_key(count)
        .unwrap_or(LineEnding::Lf)
}

/// Replaces stretches, which are given in ascending order and do not overlap.
fn splice_items<T>(items: &mut Vec<T>, mut splices: Vec<(Range<usize>, Vec<T>)>) {
    if splices.len() == 1
        && let Some((range, new)) = splices.pop()
    {
        items.splice(range, new);
        return;
    }
    let mut at = splices
        .first()
        .map_or(items.len(), |(range, _)| range.start);
    let mut rest = items.split_off(at).into_iter();
    for (range, new) in splices {
        items.extend(rest.by_ref().take(range.start - at));
        rest.by_ref().take(range.len()).for_each(drop);
        items.extend(new);
        at = range.end;
    }
    items.extend(rest);
}

/// Does to whole lines what replacing a stretch of the flat text does; it begins in the line below
/// `above`.
fn line_splice<'a>(
    flat: &str,
    range: Range<usize>,
    new: &str,
    above: LineNumber,
) -> LineSplice<'a> {
    let start = flat[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = flat[range.end..].find('\n');
    let end = end.map_or(flat.len(), |at| range.end + at + 1);
    let whole = [&flat[start..range.start], new, &flat[range.end..end]].concat();
    let old: Vec<&str> = flat[start..end].split_terminator('\n').collect();
    let new: Vec<&str> = whole.split_terminator('\n').collect();
    let prefix = common(old.iter(), new.iter());
    let suffix = common(old[prefix..].iter().rev(), new[prefix..].iter().rev());
    LineSplice {
        above: above + prefix,
        removed: old.len() - prefix - suffix,
        lines: (new[prefix..new.len() - suffix].iter())
            .map(|&line| Cow::Owned(line.to_owned()))
            .collect(),
    }
}

/// For each prefix, the length of the longest shorter prefix that it also ends with.
fn borders(run: &[u64]) -> Vec<usize> {
    let mut borders = vec![0; run.len()];
    let mut length = 0;
    for at in 1..run.len() {
        while length > 0 && run[length] != run[at] {
            length = borders[length - 1];
        }
        length += usize::from(run[length] == run[at]);
        borders[at] = length;
    }
    borders
}

fn push_change(changes: &mut Vec<LineChange>, old: Range<usize>, new: usize) {
    if !old.is_empty() || new > 0 {
        changes.push(LineChange { old, new });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Cow<'_, str>> {
        text.split_terminator('\n').map(Cow::Borrowed).collect()
    }

    #[track_caller]
    fn spliced(text: &str, above: LineNumber, removed: usize, new: &str) -> String {
        let mut document = Document::new(text);
        document.splice(above, removed, lines(new));
        document.finish(Level::Exact).text
    }

    #[test]
    fn an_unedited_text_stays_as_it_is() {
        for text in ["", "\n", "a", "a\n", "a\r\nb\nc\rd\r\r\n", "\r\n\r\n", "\r"] {
            let edited = Document::new(text).finish(Level::Exact);
            assert_eq!((edited.text.as_str(), edited.changes.len()), (text, 0));
        }
    }

    #[test]
    fn new_lines_end_as_those_that_they_replace_or_as_their_neighbours() {
        assert_eq!(spliced("a\r\nb\nc\n", 0, 1, "x\ny\n"), "x\r\ny\r\nb\nc\n");
        assert_eq!(spliced("a\r\nb\nc\n", 1, 0, "x\n"), "a\r\nx\r\nb\nc\n");
        assert_eq!(spliced("a\r\nb", 2, 0, "x\n"), "a\r\nb\r\nx");
        assert_eq!(spliced("", 0, 0, "x\n"), "x\n");
    }

    #[test]
    fn a_new_line_that_brings_its_return_gets_no_second_one() {
        assert_eq!(spliced("a\r\nb\r\n", 1, 1, "x\r\n\r\n"), "a\r\nx\r\n\r\n");
        assert_eq!(spliced("a\nb\n", 1, 1, "x\r\n"), "a\nx\r\n");
        assert_eq!(spliced("a\r\nb\r\r\n", 0, 1, "x\n"), "x\r\nb\r\r\n");
    }

    #[test]
    fn lines_remember_their_number_in_the_original() {
        let mut document = Document::new("a\nb\nc\nd\n");
        document.splice(1, 1, lines("x\ny\n"));
        assert_eq!(
            [1, 2, 3, 4, 5].map(|line| document.original_number(line)),
            [1, 1, 1, 3, 4]
        );
        document.splice(0, 1, Vec::new());
        assert_eq!([1, 3].map(|line| document.original_number(line)), [1, 3]);
    }

    #[test]
    fn lines_are_found_wherever_they_stand() {
        let mut document = Document::new("a\nb\na\n b\na\n");
        let found = |document: &Document<'_>, key| document.find_lines(key, &["a", "b"]);
        assert_eq!(found(&document, LineKey::Exact), [1]);
        assert_eq!(found(&document, LineKey::Loose), [1, 3]);
        document.splice_all(vec![
            LineSplice {
                above: 0,
                removed: 1,
                lines: Vec::new(),
            },
            LineSplice {
                above: 5,
                removed: 0,
                lines: lines("b\n"),
            },
        ]);
        assert_eq!(found(&document, LineKey::Exact), [4]);
        assert!(document.find_lines(LineKey::Exact, &[]).is_empty());
        let blank = "\n".repeat(20_000);
        let found = Document::new(&blank).find_lines(LineKey::Exact, &vec![""; 10_000]);
        assert_eq!(found.len(), 10_001);
    }

    #[test]
    fn stretches_of_text_become_lines() {
        #[track_caller]
        fn case(text: &str, stretches: &[(Range<usize>, &str)], expected: &str, changes: usize) {
            let mut document = Document::new(text);
            let stretches = stretches
                .iter()
                .map(|(range, new)| (range.clone(), (*new).to_owned()));
            document.splice_flat(stretches.collect());
            let edited = document.finish(Level::Exact);
            assert_eq!(
                (edited.text.as_str(), edited.changes.len()),
                (expected, changes)
            );
        }
        case("ab cd\nef\n", &[(0..1, "x"), (3..4, "y")], "xb yd\nef\n", 1);
        case("a\nb\nc\n", &[(0..1, "x"), (4..5, "y")], "x\nb\ny\n", 2);
        case("a\nb\nc\n", &[(1..4, "-")], "a-c\n", 1);
        case("a\r\nb\r\n", &[(1..2, "\nx\n")], "a\r\nx\r\nb\r\n", 1);
        case("a\nb\n", &[(4..4, "c")], "a\nb\nc", 1);
        case("a\nb", &[(0..3, "")], "", 1);
    }

    #[test]
    fn a_missing_final_newline_stays_missing() {
        assert_eq!(spliced("a\nb", 1, 1, "x\ny\n"), "a\nx\ny");
        assert_eq!(spliced("a\nb", 1, 1, ""), "a");
        assert_eq!(spliced("a\nb\n", 1, 1, ""), "a\n");
    }

    #[test]
    fn changes_add_up_over_several_edits() {
        let mut document = Document::new("a\nb\nc\nd\n");
        document.splice(1, 1, lines("x\ny\n"));
        document.splice(2, 2, lines("z\n"));
        let edited = document.finish(Level::Exact);
        assert_eq!(edited.text, "a\nx\nz\nd\n");
        assert_eq!(edited.changes, [LineChange { old: 1..3, new: 2 }]);
    }
}
