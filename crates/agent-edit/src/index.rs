//! Finds runs of lines by what they say.
//!
//! Each distinct line is a number, so that comparing lines is comparing numbers, and a run is
//! looked for where its rarest line stands. Where even that stands in too many places, as in a
//! file of blank lines, the text is searched once from top to bottom instead: the cost stays
//! linear in the text and the run.

use std::borrow::Cow;
use std::collections::HashMap;

use super::document::{Document, EDGE, LineId};
use super::fold;

/// What counts as the same line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// The same characters.
    Exact,
    /// The same but for white space and kinds of punctuation: whatever any level would match.
    Loose,
}

/// A distinct line.
type Symbol = usize;

/// Where each distinct line stands.
#[derive(Debug)]
pub(super) struct Index<'a> {
    key: Key,
    symbols: HashMap<Cow<'a, str>, Symbol>,
    places: Vec<Places>,
    by_line: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Places {
    live: usize,
    latest: LineId,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    symbol: Symbol,
    /// The line before this one that says the same.
    earlier: LineId,
}

impl<'a> Index<'a> {
    pub(super) fn new(key: Key, lines: usize) -> Self {
        let mut by_line = Vec::with_capacity(lines);
        by_line.push(Entry {
            symbol: Symbol::MAX,
            earlier: EDGE,
        });
        Self {
            key,
            symbols: HashMap::with_capacity(lines / 2),
            places: Vec::with_capacity(lines / 2),
            by_line,
        }
    }

    /// Adds the next line; ids count up.
    pub(super) fn add(&mut self, line: Cow<'a, str>, is_live: bool) {
        let next = self.places.len();
        let key = match (self.key, line) {
            (Key::Exact, line) => line,
            (Key::Loose, Cow::Borrowed(line)) => fold::loose(line),
            (Key::Loose, Cow::Owned(line)) => Cow::Owned(fold::loose(&line).into_owned()),
        };
        let symbol = *self.symbols.entry(key).or_insert(next);
        if symbol == next {
            self.places.push(Places {
                live: 0,
                latest: EDGE,
            });
        }
        let places = &mut self.places[symbol];
        places.live += usize::from(is_live);
        let id = self.by_line.len();
        let earlier = std::mem::replace(&mut places.latest, id);
        self.by_line.push(Entry { symbol, earlier });
    }

    /// Notes that a line was removed.
    pub(super) fn forget(&mut self, id: LineId) {
        self.places[self.by_line[id].symbol].live -= 1;
    }

    fn symbol(&self, line: &str) -> Option<Symbol> {
        match self.key {
            Key::Exact => self.symbols.get(line),
            Key::Loose => self.symbols.get(&*fold::loose(line)),
        }
        .copied()
        .filter(|&symbol| self.places[symbol].live > 0)
    }

    /// Whether the document has such a line.
    pub(super) fn has(&self, line: &str) -> bool {
        self.symbol(line).is_some()
    }

    /// The first lines of all places where these lines stand one below the other, in any order.
    pub(super) fn find(&self, document: &Document<'_>, lines: &[&str]) -> Vec<LineId> {
        let Some(run) = (lines.iter().map(|line| self.symbol(line))).collect::<Option<Vec<_>>>()
        else {
            return Vec::new();
        };
        let rarest = (0..run.len()).min_by_key(|&at| self.places[run[at]].live);
        let Some(rarest) = rarest else {
            return Vec::new();
        };
        let work = self.places[run[rarest]].live.saturating_mul(run.len());
        if work > 2 * document.len() + 1000 {
            return self.scan(document, &run);
        }
        std::iter::successors(Some(self.places[run[rarest]].latest), |&id| {
            Some(self.by_line[id].earlier)
        })
        .take_while(|&id| id != EDGE)
        .filter(|&id| document.is_live(id))
        .filter_map(|id| self.run_around(document, id, rarest, &run))
        .collect()
    }

    /// Where the run begins if its line number `at` is the line `id`.
    fn run_around(
        &self,
        document: &Document<'_>,
        id: LineId,
        at: usize,
        run: &[Symbol],
    ) -> Option<LineId> {
        let mut start = id;
        for symbol in run[..at].iter().rev() {
            start = document.previous(start);
            if self.by_line[start].symbol != *symbol {
                return None;
            }
        }
        let mut line = id;
        for symbol in &run[at + 1..] {
            line = document.next(line);
            if self.by_line[line].symbol != *symbol {
                return None;
            }
        }
        Some(start)
    }

    /// Knuth, Morris and Pratt's search over the whole document.
    fn scan(&self, document: &Document<'_>, run: &[Symbol]) -> Vec<LineId> {
        let borders = borders(run);
        let mut found = Vec::new();
        let mut matched = 0;
        // Trails behind by the length of the run, so that the start of a match is at hand.
        let mut start = document.next(EDGE);
        let mut length = 0;
        for id in document.walk() {
            length += 1;
            if length > run.len() {
                start = document.next(start);
            }
            let symbol = self.by_line[id].symbol;
            while matched > 0 && run[matched] != symbol {
                matched = borders[matched - 1];
            }
            matched += usize::from(run[matched] == symbol);
            if matched == run.len() {
                found.push(start);
                matched = borders[matched - 1];
            }
        }
        found
    }
}

/// For each prefix, the length of the longest shorter prefix that it also ends with.
fn borders(run: &[Symbol]) -> Vec<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, run: &[&str], expected: &[LineId]) {
        let mut document = Document::new(text);
        document.prepare(Key::Exact);
        let index = document.index(Key::Exact).unwrap();
        let mut found = index.find(&document, run);
        found.sort_unstable();
        assert_eq!(found, expected);
        if let Some(symbols) = run
            .iter()
            .map(|line| index.symbol(line))
            .collect::<Option<Vec<_>>>()
        {
            assert_eq!(index.scan(&document, &symbols), expected, "by scanning");
        }
    }

    #[test]
    fn finds_every_place() {
        case("a\nb\na\nb\nc\n", &["a", "b"], &[1, 3]);
        case("a\na\na\n", &["a", "a"], &[1, 2]);
        case("a\nb\n", &["b", "a"], &[]);
        case("a\nb\n", &["b", "c"], &[]);
        case("a\na\nb\na\na\nb\na\n", &["a", "b", "a"], &[2, 5]);
        case("", &["a"], &[]);
    }

    #[test]
    fn many_blank_lines_are_searched_in_one_pass() {
        let text = "\n".repeat(200_000);
        let mut document = Document::new(&text);
        document.prepare(Key::Exact);
        let index = document.index(Key::Exact).unwrap();
        let found = index.find(&document, &vec![""; 100_000]);
        assert_eq!(found.len(), 100_001);
    }
}
