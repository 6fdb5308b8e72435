//! A text as a chain of lines that can be edited many times and is put together once.
//!
//! Lines are linked rather than stored side by side, so that replacing some of them costs only as
//! much as they are many. A line of the original keeps its number as its id for ever; a line that
//! was added gets a higher one. So which lines changed can be read off the chain at the end,
//! whatever happened in between.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::ending::{self, Ending, Endings};
use super::flat::{Flat, LineSplice};
use super::index::{Index, Key};
use super::layout::Layout;
use super::words::Words;
use super::{Change, Edited};
use agent_protocol::Level;

/// A line of a document: of the original, its number from 1; 0 is the place before the first line
/// and after the last one.
pub(super) type LineId = usize;

/// Before the first line, and after the last one.
pub(super) const EDGE: LineId = 0;

/// How many refusals are told which passages are near.
const MAX_HINTS: usize = 20;

#[derive(Debug)]
struct Line<'a> {
    text: Cow<'a, str>,
    ending: Ending,
    next: LineId,
    previous: LineId,
    is_live: bool,
}

impl Line<'_> {
    fn is_ended(&self) -> bool {
        self.ending != Ending::Missing
    }
}

/// The lines of a text, in their order, with what has been learned about them.
#[derive(Debug)]
pub(super) struct Document<'a> {
    lines: Vec<Line<'a>>,
    originals: usize,
    count: usize,
    /// How most lines of the original end.
    dominant: Ending,
    /// Whether a new line ends as the one whose place it takes.
    copies_endings: bool,
    has_final_newline: bool,
    is_changed: bool,
    /// The number that each line has now, by its id; until the next change.
    numbers: OnceCell<Vec<usize>>,
    /// The line of the original that each line is or that stands above it; until the next change.
    origins: OnceCell<Vec<usize>>,
    /// What the lines of the original tell about their language.
    layout: OnceCell<Layout>,
    hints: usize,
    exact: Option<Index<'a>>,
    loose: Option<Index<'a>>,
    words: Option<Words>,
    flat: Option<Flat>,
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

    /// Splits a text where a line is said to end in some way.
    fn broken(text: &'a str, breaks: impl Iterator<Item = (usize, Ending)>) -> Self {
        let mut lines = Vec::with_capacity(text.len() / 32 + 2);
        lines.push(Line {
            text: Cow::Borrowed(""),
            ending: Ending::Missing,
            next: EDGE,
            previous: EDGE,
            is_live: true,
        });
        let mut endings = Endings::default();
        let mut start = 0;
        for (end, ending) in breaks.chain(std::iter::once((text.len(), Ending::Missing))) {
            if start == text.len() {
                break;
            }
            endings.count(ending);
            let id = lines.len();
            lines.push(Line {
                text: Cow::Borrowed(&text[start..end]),
                ending,
                next: id + 1,
                previous: id - 1,
                is_live: true,
            });
            start = end + ending.as_str().len();
        }
        let is_ended = lines.len() == 1 || lines.last().is_some_and(Line::is_ended);
        let originals = lines.len() - 1;
        lines[EDGE].previous = originals;
        lines[EDGE].next = usize::from(originals > 0);
        lines[originals].next = EDGE;
        Self {
            lines,
            originals,
            count: originals,
            dominant: endings.dominant(),
            copies_endings: true,
            has_final_newline: is_ended,
            is_changed: false,
            numbers: OnceCell::new(),
            origins: OnceCell::new(),
            layout: OnceCell::new(),
            hints: 0,
            exact: None,
            loose: None,
            words: None,
            flat: None,
        }
    }

    /// How many lines there are now.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// How many ids were given out, the edge included.
    pub(super) fn ids(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn text(&self, id: LineId) -> &str {
        &self.lines[id].text
    }

    pub(super) fn next(&self, id: LineId) -> LineId {
        self.lines[id].next
    }

    pub(super) fn previous(&self, id: LineId) -> LineId {
        self.lines[id].previous
    }

    pub(super) fn is_live(&self, id: LineId) -> bool {
        self.lines[id].is_live
    }

    pub(super) fn is_original(&self, id: LineId) -> bool {
        id <= self.originals
    }

    pub(super) fn has_final_newline(&self) -> bool {
        self.has_final_newline
    }

    /// Decides about the final newline; an empty last line cannot do without.
    pub(super) fn set_final_newline(&mut self, has: bool) {
        let last = &self.lines[self.lines[EDGE].previous];
        self.has_final_newline = has || last.text.is_empty();
    }

    /// The lines in their order.
    pub(super) fn walk(&self) -> impl Iterator<Item = LineId> {
        self.walk_from(self.lines[EDGE].next)
    }

    /// The lines in their order, beginning with this one.
    pub(super) fn walk_from(&self, id: LineId) -> impl Iterator<Item = LineId> {
        std::iter::successors(Some(id), |&id| Some(self.lines[id].next))
            .take_while(|&id| id != EDGE)
    }

    /// The place so many lines further down; above the first line is the edge.
    pub(super) fn skip_from(&self, above: LineId, lines: usize) -> LineId {
        (0..lines).fold(above, |id, _| self.lines[id].next)
    }

    /// Puts places into the order of the document and gives each the number that its line has now.
    pub(super) fn numbered(&self, mut ids: Vec<LineId>) -> Vec<(LineId, usize)> {
        if !self.is_changed {
            ids.sort_unstable();
            return ids.into_iter().map(|id| (id, id)).collect();
        }
        let numbers = self.numbers();
        ids.retain(|&id| self.is_live(id));
        ids.sort_unstable_by_key(|&id| numbers[id]);
        ids.dedup();
        ids.into_iter().map(|id| (id, numbers[id])).collect()
    }

    /// The numbers of all lines, so that many questions between two changes cost one walk.
    fn numbers(&self) -> &[usize] {
        self.numbers.get_or_init(|| {
            let mut numbers = vec![0; self.lines.len()];
            for (id, number) in self.walk().zip(1..) {
                numbers[id] = number;
            }
            numbers
        })
    }

    /// What the lines of the original tell about their language.
    pub(super) fn layout(&self) -> Layout {
        *self.layout.get_or_init(|| {
            let originals = &self.lines[1..=self.originals];
            Layout::default().with(originals.iter().map(|line| &*line.text))
        })
    }

    /// Whether one more refusal is told which passages are near: to look for them takes time, and
    /// of very many refusals nobody reads the last.
    pub(super) fn may_hint(&mut self) -> bool {
        self.hints += 1;
        self.hints <= MAX_HINTS
    }

    /// The line of the original that this one is, or that stands above it, from 0 for the top.
    ///
    /// Like the numbers of now, all are found out in one walk.
    pub(super) fn original_number(&self, id: LineId) -> usize {
        if self.is_original(id) {
            return id;
        }
        let origins = self.origins.get_or_init(|| {
            let mut origins = vec![EDGE; self.lines.len()];
            let mut origin = EDGE;
            for id in self.walk() {
                if self.is_original(id) {
                    origin = id;
                }
                origins[id] = origin;
            }
            origins
        });
        origins[id]
    }

    /// Makes an index, unless there is one.
    pub(super) fn prepare(&mut self, key: Key) {
        let index = match key {
            Key::Exact => &self.exact,
            Key::Loose => &self.loose,
        };
        if index.is_none() {
            let index = Some(self.indexed(key));
            match key {
                Key::Exact => self.exact = index,
                Key::Loose => self.loose = index,
            }
        }
    }

    fn indexed(&self, key: Key) -> Index<'a> {
        let mut index = Index::new(key, self.lines.len());
        for line in &self.lines[1..] {
            index.add(line.text.clone(), line.is_live);
        }
        index
    }

    /// An index, if it was prepared.
    pub(super) fn index(&self, key: Key) -> Option<&Index<'a>> {
        match key {
            Key::Exact => self.exact.as_ref(),
            Key::Loose => self.loose.as_ref(),
        }
    }

    /// Takes in the words of all lines that are new.
    pub(super) fn learn_words(&mut self) {
        let mut words = self.words.take().unwrap_or_default();
        words.learn(self.lines.iter().map(|line| &*line.text));
        self.words = Some(words);
    }

    /// The words as they were learned last.
    pub(super) fn words(&self) -> Option<&Words> {
        self.words.as_ref()
    }

    /// The whole text with `\n` as the only line ending.
    pub(super) fn flat(&mut self) -> &Flat {
        let flat = match self.flat.take() {
            Some(flat) => flat,
            None => Flat::new(self),
        };
        self.flat.insert(flat)
    }

    /// Replaces so many lines below `above` by others.
    ///
    /// A new line ends as the one whose place it takes, or as its neighbour.
    pub(super) fn splice(&mut self, above: LineId, removed: usize, new: Vec<Cow<'a, str>>) {
        self.flat = None;
        self.splice_lines(above, removed, new);
    }

    fn splice_lines(
        &mut self,
        above: LineId,
        removed: usize,
        new: Vec<Cow<'a, str>>,
    ) -> Vec<LineId> {
        self.is_changed = true;
        self.numbers.take();
        self.origins.take();
        let mut below = self.lines[above].next;
        let mut endings = Vec::with_capacity(removed.min(new.len()));
        for _ in 0..removed {
            if below == EDGE {
                break;
            }
            endings.push(self.lines[below].ending);
            self.lines[below].is_live = false;
            self.count -= 1;
            for index in [&mut self.exact, &mut self.loose].into_iter().flatten() {
                index.forget(below);
            }
            below = self.lines[below].next;
        }
        let fallback = self.ending_at(&endings, above, below);
        let mut last = above;
        let mut ids = Vec::with_capacity(new.len());
        for (position, text) in new.into_iter().enumerate() {
            let id = self.lines.len();
            for index in [&mut self.exact, &mut self.loose].into_iter().flatten() {
                index.add(text.clone(), true);
            }
            let ending = (endings.get(position).copied()).filter(|_| self.copies_endings);
            self.lines.push(Line {
                text,
                ending: ending
                    .filter(|&ending| ending != Ending::Missing)
                    .unwrap_or(fallback),
                next: EDGE,
                previous: last,
                is_live: true,
            });
            self.lines[last].next = id;
            self.count += 1;
            ids.push(id);
            last = id;
        }
        self.lines[last].next = below;
        self.lines[below].previous = last;
        self.set_final_newline(self.has_final_newline);
        ids
    }

    fn ending_at(&self, replaced: &[Ending], above: LineId, below: LineId) -> Ending {
        if !self.copies_endings {
            return self.dominant;
        }
        let neighbours = [above, below].map(|id| self.lines[id].ending);
        (replaced.iter().rev().chain(&neighbours))
            .copied()
            .find(|&ending| ending != Ending::Missing)
            .unwrap_or(self.dominant)
    }

    /// Replaces a stretch of the flat text by another, which has `\n` as its only line ending.
    pub(super) fn splice_flat(&mut self, range: std::ops::Range<usize>, new: &str) {
        let mut flat = match self.flat.take() {
            Some(flat) => flat,
            None => Flat::new(self),
        };
        let splice = flat.line_splice(&range, new);
        let ids = self.splice_as(&flat, &splice);
        flat.splice(range, new, &splice, &ids);
        self.set_final_newline(flat.ends_with_newline());
        self.flat = Some(flat);
    }

    /// Replaces many stretches of the flat text, given in ascending order.
    pub(super) fn splice_flat_all(
        &mut self,
        stretches: impl Iterator<Item = (std::ops::Range<usize>, String)>,
    ) {
        let flat = match self.flat.take() {
            Some(flat) => flat,
            None => Flat::new(self),
        };
        let stretches = flat.joined(stretches);
        let Some((last, new)) = stretches.last() else {
            return;
        };
        let ends_with_newline = flat.will_end_with_newline(last, new);
        for (range, new) in stretches.iter().rev() {
            self.splice_as(&flat, &flat.line_splice(range, new));
        }
        self.set_final_newline(ends_with_newline);
    }

    fn splice_as(&mut self, flat: &Flat, splice: &LineSplice) -> Vec<LineId> {
        let above = match splice.first {
            0 => EDGE,
            first => flat.id(first - 1),
        };
        let lines = splice.lines.iter().cloned().map(Cow::Owned).collect();
        self.splice_lines(above, splice.removed, lines)
    }

    /// Puts the text together and tells what changed.
    pub(super) fn finish(&self, level: Level) -> Edited {
        let size = self.lines.iter().map(|line| line.text.len() + 2).sum();
        let mut text = String::with_capacity(size);
        let mut changes = Vec::new();
        let mut seen = 0;
        let mut added = 0;
        for id in self.walk() {
            let line = &self.lines[id];
            let ending = self.ending_of(line);
            text.push_str(&line.text);
            if self.is_original(id) {
                push_change(&mut changes, seen..id - 1, added);
                seen = id;
                added = 0;
            } else {
                added += 1;
                // A diff of a file with such endings may quote them: one `\r` is enough.
                if ending == Ending::CrLf && line.text.ends_with('\r') {
                    text.pop();
                }
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

    fn ending_of(&self, line: &Line<'_>) -> Ending {
        if line.next == EDGE && !self.has_final_newline {
            Ending::Missing
        } else if line.ending == Ending::Missing {
            self.dominant
        } else {
            line.ending
        }
    }
}

fn push_change(changes: &mut Vec<Change>, old: std::ops::Range<usize>, new: usize) {
    if !old.is_empty() || new > 0 {
        changes.push(Change { old, new });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Cow<'_, str>> {
        text.split_terminator('\n').map(Cow::Borrowed).collect()
    }

    #[track_caller]
    fn spliced(text: &str, above: LineId, removed: usize, new: &str) -> String {
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
    fn lines_have_the_numbers_that_they_have_now() {
        let mut document = Document::new("a\nb\nc\nd\n");
        assert_eq!(document.numbered(vec![3, 1]), [(1, 1), (3, 3)]);
        document.splice(1, 1, lines("x\ny\n"));
        assert_eq!(
            document.numbered(vec![4, 6, 5, 1]),
            [(1, 1), (5, 2), (6, 3), (4, 5)]
        );
        document.splice(EDGE, 1, lines(""));
        assert_eq!(
            document.numbered(vec![4, 1, 5, 4]),
            [(5, 1), (4, 4)],
            "a line that is gone"
        );
    }

    #[test]
    fn many_questions_between_two_changes_number_the_lines_once() {
        let mut document = Document::new("a\nb\nc\n");
        document.splice(1, 1, lines("x\n"));
        document.numbered(vec![1]);
        let numbers = document.numbers.get().map(Vec::as_ptr);
        document.numbered(vec![3]);
        assert_eq!(document.numbers.get().map(Vec::as_ptr), numbers);
        document.splice(EDGE, 0, lines("y\n"));
        assert!(document.numbers.get().is_none());
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
        let x = document.next(1);
        document.splice(x, 2, lines("z\n"));
        let edited = document.finish(Level::Exact);
        assert_eq!(edited.text, "a\nx\nz\nd\n");
        assert_eq!(edited.changes, [Change { old: 1..3, new: 2 }]);
    }
}
