//! A passage that a model quotes, and the ways to find it in the file.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::ops::Range;

use agent_protocol::{Level, Pattern, Replacement};

use crate::align::{DiffBlock, align, kept};
use crate::copy_damage::{has_turned_quotes, without_page_escapes};
use crate::document::{Document, LineKey, LineNumber, LineSplice};
use crate::fold::{self, Shift, is_blank};
use crate::inline::{self, InlineIndentation, inline_indentation};
use crate::lines::lines_of;
use crate::matcher::{self, LineMatches, indentation_level};
use crate::refuse::{self, QuotedPiece};
use crate::writer::LineWriter;
use crate::{Refusal, guard};

/// A passage and the lines that replace it.
#[derive(Debug, Clone)]
pub(super) struct QuotedPassage<'a> {
    pub(super) search: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    edit: &'a Replacement,
}

impl<'a> QuotedPassage<'a> {
    pub(super) fn new(edit: &'a Replacement) -> Self {
        Self {
            search: lines_of(&edit.search),
            new: lines_of(&edit.replace),
            edit,
        }
    }

    pub(super) fn refuse_useless(&self, document: &Document<'_>) -> Result<(), Refusal> {
        if self.edit.pattern == Pattern::Lines && self.search == self.new {
            return Err(Refusal::new(
                "SEARCH and REPLACE are the same: the edit changes nothing",
            ));
        }
        let is_known = |line: &str| document.has_line(LineKey::Loose, line);
        guard::refuse_omission(&self.search, &self.new, is_known)
    }

    /// Refuses a passage that an earlier edit changed, at one of its places or the only one.
    ///
    /// A passage that is like it elsewhere, or is left of several, is not the one that was meant.
    pub(super) fn displaced(
        &self,
        document: &Document<'_>,
        original: &Document<'_>,
    ) -> Option<Refusal> {
        if !document.is_changed() || self.edit.all {
            return None;
        }
        let before = self.find(original)?;
        let left = match self.find(document) {
            Some(now) if now.level < before.level => return None,
            Some(now) if now.level == before.level => now.starts,
            _ => Vec::new(),
        };
        let is_stated = || {
            let stated = matcher::position_near(before.starts.iter().copied(), self.line());
            let mut left = left.iter().map(|&line| document.original_number(line));
            stated.is_some_and(|at| left.any(|line| line == before.starts[at]))
        };
        match before.starts.as_slice() {
            starts if left.len() >= starts.len() || is_stated() => None,
            [only] => Some(Refusal::new(format!(
                "it fits line {only} of the file as it was, which an earlier edit of this reply changed"
            )).with_hint("send one edit for both")),
            starts => Some(refuse::ambiguous(QuotedPiece::Search, starts)),
        }
    }

    /// The lines at which the passage begins, at the strictest level at which it is found.
    fn find(&self, document: &Document<'_>) -> Option<LineMatches> {
        if self.edit.pattern != Pattern::Lines {
            let found = document.find_text(&normalized(&self.edit.search));
            if !found.is_empty() {
                return Some(LineMatches {
                    level: Level::Exact,
                    starts: document.lines_at(found.into_iter()),
                });
            }
        }
        matcher::find(document, &self.search, self.loosest())
    }

    /// Replaces the passage, found in each way if none before it finds anything; nothing if none does.
    pub(super) fn apply(&self, document: &mut Document<'a>) -> Result<Option<Level>, Refusal> {
        let ways = [
            Self::as_text,
            Self::as_lines,
            Self::without_blank_ends,
            Self::without_escapes,
            Self::without_markdown_escapes,
        ];
        for way in ways {
            if let Some(level) = way(self, document)? {
                return Ok(Some(level));
            }
        }
        Ok(None)
    }

    /// Looks for a string, if it is not made of whole lines.
    fn as_text(&self, document: &mut Document<'a>) -> Result<Option<Level>, Refusal> {
        if self.edit.pattern != Pattern::Text {
            return Ok(None);
        }
        let search = normalized(&self.edit.search);
        let new = normalized(&self.edit.replace);
        let mut found = document.find_text(&search);
        if found.is_empty() {
            return Ok(None);
        }
        if self.edit.all {
            refuse::too_much(found.len(), new.len())?;
        } else {
            // The leftmost of places that overlap is no better than the next one.
            let overlapping = document.text_after(&search, found[0]);
            if found.get(1).copied() != overlapping {
                found.splice(1..1, overlapping);
            }
            found = vec![self.choose_text(document, &found)?];
        }
        let mut level = Level::Exact;
        let mut stretches = Vec::with_capacity(found.len());
        let is_meaningful =
            LazyCell::new(|| matcher::is_indentation_meaningful(document, &self.new));
        for at in found {
            let range = at..at + search.len();
            let (new, indented) =
                indented_inline(document.flat(), &range, &new, || *is_meaningful)?;
            level = level.max(indented);
            stretches.push((range, new));
        }
        document.splice_flat(stretches);
        Ok(Some(level))
    }

    fn choose_text(&self, document: &Document<'a>, found: &[usize]) -> Result<usize, Refusal> {
        if let [only] = found {
            return Ok(*only);
        }
        let numbers = document.lines_at(found.iter().copied());
        Ok(found[self.near(document, &numbers)?])
    }

    /// The position of the line that the stated one points to, among several.
    fn near(&self, document: &Document<'_>, lines: &[LineNumber]) -> Result<usize, Refusal> {
        let originals = lines.iter().map(|&line| document.original_number(line));
        matcher::position_near(originals, self.line())
            .ok_or_else(|| refuse::ambiguous(QuotedPiece::Search, lines))
    }

    /// The line at which the passage is said to begin.
    fn line(&self) -> Option<LineNumber> {
        self.edit.line.map(|line| line as usize)
    }

    /// Looks for whole lines.
    fn as_lines(&self, document: &mut Document<'a>) -> Result<Option<Level>, Refusal> {
        let Some(matches) = matcher::find(document, &self.search, self.loosest()) else {
            return Ok(None);
        };
        let mut level = matches.level;
        let starts = self.choose(document, matches)?;
        if self.adds() {
            let sides = [&self.search[..], &self.new];
            for &start in &starts {
                let has_shift = || self.shift(document, start).is_some();
                let piece = QuotedPiece::Search;
                level = level.max(indentation_level(piece, document, start, sides, has_shift)?);
            }
        }
        if has_turned_quotes(&self.search, &self.new) && !self.is_about_space() {
            level = level.max(Level::Whitespace);
        }
        let splices = (starts.into_iter()).flat_map(|start| self.splices(document, start, level));
        let splices = splices.collect();
        document.splice_all(splices);
        Ok(Some(level))
    }

    fn loosest(&self) -> Level {
        if self.is_about_space() {
            Level::Exact
        } else {
            Level::Whitespace
        }
    }

    /// The change of indentation between the quote and the lines that begin at `start`, if it is one
    /// for all of them; where indentation has a meaning, for all that are statements of their own.
    fn shift(&self, document: &Document<'_>, start: LineNumber) -> Option<Shift> {
        let shift = matcher::shift(document, start, &self.search);
        if shift.is_some() || !matcher::is_indentation_meaningful(document, &self.new) {
            return shift;
        }
        matcher::statement_shift(document, start, &self.search)
    }

    /// True if the new text has lines that the quote does not have.
    fn adds(&self) -> bool {
        let blocks = align(&self.search, &self.new);
        blocks.iter().any(|block| !block.new.is_empty())
    }

    /// True if only white space or punctuation is to change: then they cannot be overlooked.
    fn is_about_space(&self) -> bool {
        self.search.len() == self.new.len()
            && (self.search.iter().zip(&self.new))
                .all(|(old, new)| fold::loose(old) == fold::loose(new))
    }

    fn choose(
        &self,
        document: &Document<'_>,
        matches: LineMatches,
    ) -> Result<Vec<LineNumber>, Refusal> {
        let mut starts = matches.starts;
        if starts.len() == 1 {
            return Ok(starts);
        }
        if self.edit.all {
            refuse::too_much(starts.len(), self.edit.replace.len())?;
            let mut free = 0;
            starts.retain(|&start| {
                let is_free = start >= free;
                if is_free {
                    free = start + self.search.len();
                }
                is_free
            });
            return Ok(starts);
        }
        let nearest = self.near(document, &starts)?;
        Ok(vec![starts[nearest]])
    }

    /// Writes the new lines over the quoted ones; lines that both have stay as the file has them.
    fn splices(
        &self,
        document: &Document<'_>,
        start: LineNumber,
        level: Level,
    ) -> Vec<LineSplice<'a>> {
        let file: Vec<&str> = (document.lines_from(start))
            .take(self.search.len())
            .collect();
        let (shift, old) = if self.is_indented_like(&file) {
            (Some(Shift::None), file)
        } else {
            (self.shift(document, start), self.search.clone())
        };
        // Without one shift for all lines, lines of the file among those of the reply would stand
        // in two indentations: the new text is then taken as a whole.
        let blocks = if shift.is_none() && self.adds() {
            vec![DiffBlock {
                old: 0..self.search.len(),
                new: 0..self.new.len(),
            }]
        } else {
            align(&old, &self.new)
        };
        let writer = LineWriter::new(document, start, &self.search, &self.new, level, shift);
        LineSplice::of_blocks(&blocks, start, &self.new, |line| writer.write(line))
    }

    /// True if the new text has the indentation of the file, and the quote has another one:
    /// by the lines that both texts have or, without any, by their first ones.
    fn is_indented_like(&self, file: &[&str]) -> bool {
        let trimmed =
            |lines: &[&'a str]| -> Vec<&'a str> { lines.iter().map(|line| line.trim()).collect() };
        let mut shared = kept(&trimmed(&self.search), &trimmed(&self.new));
        shared.retain(|&(old, _)| !is_blank(self.search[old]));
        if shared.is_empty() {
            let first = |lines: &[&str]| lines.iter().position(|line| !is_blank(line));
            shared.extend(first(&self.search).zip(first(&self.new)));
        }
        let depths = || {
            (shared.iter()).map(|&(old, new)| {
                [self.search[old], self.new[new], file[old]].map(fold::indentation)
            })
        };
        depths().all(|[_, new, file]| new == file) && depths().any(|[quote, new, _]| quote != new)
    }

    /// Looks for the lines without the blank ones at the ends of the quote.
    fn without_blank_ends(&self, document: &mut Document<'a>) -> Result<Option<Level>, Refusal> {
        let Some(trimmed) = self.trimmed() else {
            return Ok(None);
        };
        let level = trimmed.as_lines(document)?;
        Ok(level.map(|level| level.max(Level::Whitespace)))
    }

    /// The passage without the blank lines at the ends of the quote, and without as many at the same
    /// ends of the new text; nothing if there are none or only they are to change.
    fn trimmed(&self) -> Option<Self> {
        let above = blank_lines(self.search.iter());
        let below = blank_lines(self.search.iter().rev());
        if above + below == 0 || above == self.search.len() {
            return None;
        }
        let search = &self.search[above..self.search.len() - below];
        let above = above.min(blank_lines(self.new.iter()));
        let new = &self.new[above..];
        let below = below.min(blank_lines(new.iter().rev()));
        let new = &new[..new.len() - below];
        let bare = &new[blank_lines(new.iter())..];
        let bare = &bare[..bare.len() - blank_lines(bare.iter().rev())];
        (bare != search).then(|| Self {
            search: search.to_vec(),
            new: new.to_vec(),
            edit: self.edit,
        })
    }

    /// Looks for the text as it is after undoing one layer of backslash escapes.
    ///
    /// Models escape a string once too often. If the new text has escapes as well, nobody can tell
    /// whether they are meant.
    fn without_escapes(&self, document: &mut Document<'a>) -> Result<Option<Level>, Refusal> {
        let search = self.search.join("\n");
        let (Some(search), None) = (unescaped(&search), unescaped(&self.edit.replace)) else {
            return Ok(None);
        };
        // The newline of its last line is that of the new text's last line.
        let search = search.strip_suffix('\n').unwrap_or(&search);
        if search.split('\n').next().is_none_or(is_blank)
            || search.split('\n').next_back().is_none_or(is_blank)
        {
            return Ok(None);
        }
        let mut found = document.find_text(search);
        found.retain(|&at| stands_alone(document.flat(), &(at..at + search.len())));
        if found.is_empty() {
            return Ok(None);
        }
        let at = self.choose_text(document, &found)?;
        let range = at..at + search.len();
        // A blank line at an end of the new text would break the line that this end stands in.
        let (before, after) = fold::around(document.flat(), &range);
        let breaks = |line: Option<&&str>, neighbour: Option<char>| {
            line.is_some_and(|line| is_blank(line)) && neighbour.is_some_and(|it| it != '\n')
        };
        if breaks(self.new.first(), before) || breaks(self.new.last(), after) {
            return Ok(None);
        }
        document.splice_flat(vec![(range, self.new.join("\n"))]);
        Ok(Some(Level::Escapes))
    }

    /// Looks for the lines without the backslashes that a page put before Markdown characters, if
    /// the new text has none.
    fn without_markdown_escapes(
        &self,
        document: &mut Document<'a>,
    ) -> Result<Option<Level>, Refusal> {
        let plain = self.plain_search();
        let plain = fold::strs(&plain);
        let has_escape = |line: &&str| without_page_escapes(line) != **line;
        if plain == self.search || self.new.iter().any(has_escape) {
            return Ok(None);
        }
        let Some(matches) = matcher::find(document, &plain, Level::TrailingSpace) else {
            return Ok(None);
        };
        let starts = self.choose(document, matches)?;
        let blocks = align(&plain, &self.new);
        let splices = (starts.into_iter())
            .flat_map(|start| LineSplice::of_blocks(&blocks, start, &self.new, Cow::Borrowed));
        document.splice_all(splices.collect());
        Ok(Some(Level::Escapes))
    }

    /// The quote without the backslashes of a page.
    fn plain_search(&self) -> Vec<Cow<'a, str>> {
        (self.search.iter().copied())
            .map(without_page_escapes)
            .collect()
    }

    /// True if the new text is there already, beyond doubt: exactly once, with enough letters in
    /// what the edit adds, or with lines on both sides of what it removes.
    pub(super) fn is_applied(&self, document: &Document<'a>) -> bool {
        self.is_there(document)
            || (self.trimmed()).is_some_and(|trimmed| trimmed.is_there(document))
    }

    fn is_there(&self, document: &Document<'a>) -> bool {
        let plain = self.plain_search();
        let plain = fold::strs(&plain);
        if plain != self.search && matcher::find(document, &plain, Level::Whitespace).is_some() {
            return false;
        }
        // A line that only a page or the model's spacing changed is not what the edit adds.
        let search: Vec<_> = plain.iter().map(|line| fold::loose(line)).collect();
        let new: Vec<_> = self.new.iter().map(|line| fold::loose(line)).collect();
        let (search, new) = (fold::strs(&search), fold::strs(&new));
        if !proves_edit(&search, &new, &align(&search, &new)) {
            return false;
        }
        if self.edit.pattern == Pattern::Text {
            let new = normalized(&self.edit.replace);
            let found = document.find_text(&new);
            return matches!(*found, [at] if is_whole_words(document.flat(), &(at..at + new.len())));
        }
        let matches = matcher::find(document, &self.new, Level::TrailingSpace);
        matches.is_some_and(|matches| matches.starts.len() == 1)
    }

    /// True if the new lines are there with the numbers before them: then the numbers are the file's.
    pub(super) fn has_numbered_result(
        &self,
        document: &Document<'a>,
        unnumbered: &Replacement,
    ) -> bool {
        self.edit.replace != unnumbered.replace
            && matcher::find(document, &self.new, Level::TrailingSpace).is_some()
    }
}

/// The new text for a stretch, as deep as the line that it replaces, if it lost that; refused if that is
/// not certain and indentation has a meaning.
fn indented_inline(
    text: &str,
    stretch: &Range<usize>,
    new: &str,
    is_meaningful: impl FnOnce() -> bool,
) -> Result<(String, Level), Refusal> {
    match inline_indentation(text, stretch, new) {
        InlineIndentation::AsSent => Ok((new.to_owned(), Level::Exact)),
        InlineIndentation::Lacks(missing) => {
            Ok((inline::deepened(new, &missing), Level::Indentation))
        }
        InlineIndentation::Repeats(missing) => {
            let first = new.strip_prefix(missing.as_str()).unwrap_or(new);
            Ok((first.to_owned(), Level::Indentation))
        }
        InlineIndentation::Uncertain if is_meaningful() => Err(inline::less_indented()),
        InlineIndentation::Uncertain => Ok((new.to_owned(), Level::UnevenIndentation)),
    }
}

/// True if finding the new lines proves that the edit was made.
pub(super) fn proves_edit(search: &[&str], new: &[&str], blocks: &[DiffBlock]) -> bool {
    const LETTERS: usize = 8;
    let letters = |lines: &[&str]| {
        (lines.iter().flat_map(|line| line.chars()))
            .filter(|character| character.is_alphanumeric())
            .take(LETTERS)
            .count()
    };
    let added: usize = blocks
        .iter()
        .map(|block| letters(&new[block.new.clone()]))
        .sum();
    let is_inside = |block: &DiffBlock| {
        letters(&search[..block.old.start]) > 0 && letters(&search[block.old.end..]) > 0
    };
    added >= LETTERS || (letters(new) >= LETTERS && blocks.iter().all(is_inside))
}

/// How many of the first lines are blank.
fn blank_lines<'l>(lines: impl Iterator<Item = &'l &'l str>) -> usize {
    lines.take_while(|line| is_blank(line)).count()
}

/// The text with `\n` as its only line ending.
fn normalized(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text without one layer of backslash escapes, if it has any.
fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let meant = match (character, characters.peek()) {
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some(&escaped @ ('\\' | '"' | '\'' | '`' | '$'))) => escaped,
            _ => {
                plain.push(character);
                continue;
            }
        };
        characters.next();
        plain.push(meant);
    }
    (plain.len() < text.len()).then_some(plain)
}

/// True if a stretch neither begins nor ends within a word.
fn is_whole_words(text: &str, range: &Range<usize>) -> bool {
    let is_word = |character: Option<char>| character.is_some_and(fold::is_of_word);
    let (before, after) = fold::around(text, range);
    let mut inside = text[range.clone()].chars();
    let (first, last) = (inside.clone().next(), inside.next_back());
    let cuts_first = is_word(before) && is_word(first);
    let cuts_last = is_word(last) && is_word(after);
    !cuts_first && !cuts_last
}

/// True if a stretch is made of whole words and is no part of something longer, such as a
/// number, a path, an operator or a name with dots and dashes.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    const JOINTS: &str = "-.!@#$:/\\";
    const OPERATORS: &str = "=<>+-*/%&|!^~?:";
    let is_one = |of: &str, character: Option<char>| {
        character.is_some_and(|character| of.contains(character))
    };
    let inside = &text[range.clone()];
    let (before, after) = fold::around(text, range);
    // A full stop or a colon that ends something belongs to no longer word.
    let next = text[range.end..].chars().nth(1);
    let goes_on = next.is_some_and(|next| !next.is_whitespace());
    let is_joined = is_one(JOINTS, before) || (goes_on && is_one(JOINTS, after));
    let cuts_operator = (is_one(OPERATORS, before)
        && inside.starts_with(|c| OPERATORS.contains(c)))
        || (is_one(OPERATORS, after) && inside.ends_with(|c| OPERATORS.contains(c)));
    is_whole_words(text, range) && !is_joined && !cuts_operator
}
