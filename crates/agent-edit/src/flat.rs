//! The whole text in one piece, for searches that may begin and end within a line.
//!
//! Its only line ending is `\n`; each line knows which line of the document it is.

use std::ops::Range;

use memchr::memchr_iter;
use memchr::memmem::Finder;

use super::document::{Document, LineId};

#[derive(Debug)]
pub(super) struct Flat {
    text: String,
    /// Where each line begins.
    starts: Vec<usize>,
    ids: Vec<LineId>,
}

/// What a splice of the flat text does to whole lines.
#[derive(Debug)]
pub(super) struct LineSplice {
    /// The first line that changes, counted from 0.
    pub(super) first: usize,
    pub(super) removed: usize,
    pub(super) lines: Vec<String>,
}

impl Flat {
    pub(super) fn new(document: &Document<'_>) -> Self {
        let mut flat = Self {
            text: String::new(),
            starts: Vec::with_capacity(document.len()),
            ids: Vec::with_capacity(document.len()),
        };
        for id in document.walk() {
            flat.starts.push(flat.text.len());
            flat.ids.push(id);
            flat.text.push_str(document.text(id));
            flat.text.push('\n');
        }
        if !document.has_final_newline() {
            flat.text.pop();
        }
        flat
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn ends_with_newline(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    pub(super) fn id(&self, line: usize) -> LineId {
        self.ids[line]
    }

    /// The line, from 0, that a place is in; the number of lines at the very end of a text that
    /// ends with a newline.
    pub(super) fn line(&self, at: usize) -> usize {
        if at == self.text.len() && self.ends_with_newline() {
            return self.starts.len();
        }
        self.starts.partition_point(|&start| start <= at) - 1
    }

    /// Where a string stands, counted without overlap.
    pub(super) fn find(&self, needle: &str) -> Vec<usize> {
        Finder::new(needle)
            .find_iter(self.text.as_bytes())
            .collect()
    }

    /// Whether a stretch neither begins nor ends within a word.
    pub(super) fn is_whole_words(&self, range: &Range<usize>) -> bool {
        let is_word = |character: Option<char>| {
            character.is_some_and(|character| character.is_alphanumeric() || character == '_')
        };
        let (before, rest) = self.text.split_at(range.start);
        let (inside, after) = rest.split_at(range.len());
        let cuts_first = is_word(before.chars().next_back()) && is_word(inside.chars().next());
        let cuts_last = is_word(inside.chars().next_back()) && is_word(after.chars().next());
        !cuts_first && !cuts_last
    }

    /// Whether a stretch is made of whole words and is no part of something longer, such as a
    /// number, a path, an operator or a name with dots and dashes.
    pub(super) fn stands_alone(&self, range: &Range<usize>) -> bool {
        const JOINTS: &str = "-.!@#$:/\\";
        const OPERATORS: &str = "=<>+-*/%&|!^~?:";
        let is_one = |of: &str, character: Option<char>| {
            character.is_some_and(|character| of.contains(character))
        };
        let inside = &self.text[range.clone()];
        let before = self.text[..range.start].chars().next_back();
        let mut rest = self.text[range.end..].chars();
        let after = rest.next();
        // A full stop or a colon that ends something belongs to no longer word.
        let goes_on = rest.next().is_some_and(|next| !next.is_whitespace());
        let is_joined = is_one(JOINTS, before) || (goes_on && is_one(JOINTS, after));
        let cuts_operator = (is_one(OPERATORS, before)
            && inside.starts_with(|c| OPERATORS.contains(c)))
            || (is_one(OPERATORS, after) && inside.ends_with(|c| OPERATORS.contains(c)));
        self.is_whole_words(range) && !is_joined && !cuts_operator
    }

    /// Whether a stretch begins where a line does, and whether it ends where one does.
    pub(super) fn is_at_line_ends(&self, range: &Range<usize>) -> (bool, bool) {
        let before = self.text[..range.start].chars().next_back();
        let after = self.text[range.end..].chars().next();
        let is_newline = |character: Option<char>| character.is_none_or(|it| it == '\n');
        (is_newline(before), is_newline(after))
    }

    /// What replacing a stretch would do to whole lines.
    pub(super) fn line_splice(&self, range: &Range<usize>, new: &str) -> LineSplice {
        let first = self.line(range.start);
        let last = self.line(range.end);
        let start = self.start(first);
        let end = self.start(last + 1);
        let old = &self.text[start..end];
        let before = &self.text[start..range.start];
        let whole = [before, new, &self.text[range.end..end]].concat();
        let old: Vec<&str> = old.split_terminator('\n').collect();
        let new: Vec<&str> = whole.split_terminator('\n').collect();
        let common = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
            pairs.take_while(|(old, new)| old == new).count()
        };
        let prefix = common(&mut old.iter().zip(&new));
        let suffix = common(&mut old[prefix..].iter().rev().zip(new[prefix..].iter().rev()));
        let new = &new[prefix..new.len() - suffix];
        LineSplice {
            first: first + prefix,
            removed: old.len() - prefix - suffix,
            lines: new.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    /// Where a line begins; the end of the text for one after the last.
    fn start(&self, line: usize) -> usize {
        self.starts
            .get(line)
            .map_or(self.text.len(), |&start| start)
    }

    /// Joins stretches that touch the same lines, so that each line is written once.
    pub(super) fn joined(
        &self,
        stretches: impl Iterator<Item = (Range<usize>, String)>,
    ) -> Vec<(Range<usize>, String)> {
        let mut joined: Vec<(Range<usize>, String)> = Vec::new();
        for (range, new) in stretches {
            match joined.last_mut() {
                Some((last, text)) if self.line(range.start) <= self.line(last.end) => {
                    text.push_str(&self.text[last.end..range.start]);
                    text.push_str(&new);
                    last.end = range.end;
                }
                _ => joined.push((range, new)),
            }
        }
        joined
    }

    /// Whether the text ends with a newline, or is empty, once a stretch is replaced.
    pub(super) fn will_end_with_newline(&self, range: &Range<usize>, new: &str) -> bool {
        let parts = [&self.text[range.end..], new, &self.text[..range.start]];
        (parts.into_iter().find(|part| !part.is_empty())).is_none_or(|part| part.ends_with('\n'))
    }

    /// Replaces a stretch as `line_splice` told, with the ids of the new lines.
    pub(super) fn splice(
        &mut self,
        range: Range<usize>,
        new: &str,
        splice: &LineSplice,
        ids: &[LineId],
    ) {
        self.text.replace_range(range, new);
        self.settle(splice.first, splice.removed, ids);
    }

    /// Brings the table of lines up to date.
    fn settle(&mut self, first: usize, removed: usize, ids: &[LineId]) {
        let new_start = match first {
            0 => 0,
            _ => self.line_end(self.starts[first - 1]),
        };
        let tail = first + removed;
        let mut starts = Vec::with_capacity(ids.len());
        let mut at = new_start;
        for _ in ids {
            starts.push(at);
            at = self.line_end(at);
        }
        if let Some(&old_tail) = self.starts.get(tail) {
            for start in &mut self.starts[tail..] {
                *start = *start - old_tail + at;
            }
        }
        self.starts.splice(first..tail, starts);
        self.ids.splice(first..tail, ids.iter().copied());
    }

    fn line_end(&self, start: usize) -> usize {
        memchr_iter(b'\n', &self.text.as_bytes()[start..])
            .next()
            .map_or(self.text.len(), |end| start + end + 1)
    }
}
