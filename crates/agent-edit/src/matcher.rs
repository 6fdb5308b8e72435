//! Finds where quoted lines stand, and how closely they match.
//!
//! The levels are tried from the strictest on, and the first at which anything matches is the one
//! that counts: what matches more loosely elsewhere is no competitor, and two places at the same
//! level are no match at all, unless the caller has a reason to prefer one.
//!
//! In Python and YAML a line that is indented in another way means something else; between braces it
//! only looks odd. Which of the two a file is can be read off how its lines begin and end. Lines
//! within brackets that are still open are free even in Python.

use agent_protocol::Level;

use crate::Refusal;
use crate::document::{Document, LineKey, LineNumber};
use crate::fold::{self, Shift, is_blank};
use crate::refuse::{self, QuotedPiece};

/// The characters of an indentation; other spaces are a matter of punctuation.
const BLANKS: [char; 2] = [' ', '\t'];

/// All places that match at the strictest level at which any does.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineMatches {
    pub(super) level: Level,
    /// The first line of each, in ascending order; never empty.
    pub(super) starts: Vec<LineNumber>,
}

/// Looks for whole lines at all levels up to `loosest`, which is at most `Level::Whitespace`.
pub(super) fn find(document: &Document<'_>, lines: &[&str], loosest: Level) -> Option<LineMatches> {
    let starts = document.find_lines(LineKey::Exact, lines);
    if !starts.is_empty() {
        return Some(LineMatches {
            level: Level::Exact,
            starts,
        });
    }
    if loosest == Level::Exact || lines.iter().all(|line| is_blank(line)) {
        return None;
    }
    let candidates = document.find_lines(LineKey::Loose, lines);
    // Rating a place reads its lines. Candidates that overlap a lot can be too many to read; they
    // are then as ambiguous as anything can be.
    let budget = 4 * document.len() + 10_000;
    if candidates.len().saturating_mul(lines.len()) > budget {
        return (loosest == Level::Whitespace).then_some(LineMatches {
            level: Level::Whitespace,
            starts: candidates,
        });
    }
    let (mut level, mut starts) = (loosest, Vec::new());
    for start in candidates {
        let closeness = closeness(document, start, lines);
        if closeness < level {
            level = closeness;
            starts.clear();
        }
        if closeness == level {
            starts.push(start);
        }
    }
    (!starts.is_empty()).then_some(LineMatches { level, starts })
}

/// The strictest level at which the lines match those that begin at `start`.
///
/// They are known to match at `Level::Whitespace`.
fn closeness(document: &Document<'_>, start: LineNumber, lines: &[&str]) -> Level {
    let mut level = Level::Exact;
    for (file, quote) in document.lines_from(start).zip(lines) {
        let line = if file == *quote {
            Level::Exact
        } else if file.trim_end() == quote.trim_end() {
            Level::TrailingSpace
        } else if file.trim_matches(BLANKS) == quote.trim_matches(BLANKS) {
            Level::Indentation
        } else {
            return Level::Whitespace;
        };
        level = level.max(line);
    }
    if level >= Level::Indentation && shift(document, start, lines).is_none() {
        return Level::Whitespace;
    }
    level
}

/// The change of indentation between the quoted lines and those that begin at `start`, if it is
/// one and the same for all that are not blank.
pub(super) fn shift(document: &Document<'_>, start: LineNumber, lines: &[&str]) -> Option<Shift> {
    let pairs = document.lines_from(start).zip(lines);
    let filled = pairs.filter(|(_, quote)| !is_blank(quote));
    shift_between(filled.map(|(file, quote)| (*quote, file)))
}

fn shift_between<'t>(lines: impl Iterator<Item = (&'t str, &'t str)>) -> Option<Shift> {
    let folded: Vec<_> = lines
        .map(|(quote, file)| (fold::punctuation(quote), fold::punctuation(file)))
        .collect();
    if folded.is_empty() {
        return Some(Shift::None);
    }
    let pairs: Vec<_> = (folded.iter())
        .map(|(quote, file)| (fold::indentation(quote), fold::indentation(file)))
        .collect();
    Shift::between(&pairs)
}

/// How well it is known, at a place, how deep new lines belong: `has_shift` tells whether it is.
///
/// Where it is not, they are refused if their indentation has a meaning.
pub(super) fn indentation_level(
    piece: QuotedPiece,
    document: &Document<'_>,
    start: LineNumber,
    [quoted, new]: [&[&str]; 2],
    has_shift: impl FnOnce() -> bool,
) -> Result<Level, Refusal> {
    let is_flat = is_flattened(document, start, quoted, new);
    if !is_flat && has_shift() {
        return Ok(Level::Exact);
    }
    if is_flat || is_indentation_meaningful(document, new) {
        let length = quoted.len();
        return Err(refuse::indented_otherwise(piece, document, start, length));
    }
    Ok(Level::UnevenIndentation)
}

/// True if indentation says what belongs to what, in a text and the lines that are new to it.
pub(super) fn is_indentation_meaningful(document: &Document<'_>, new: &[&str]) -> bool {
    document.layout().with(new.iter().copied()).is_meaningful()
}

/// Returns true if a page collapsed the indentation of new lines to one blank, and nobody can tell how
/// deep a new line belongs: the quote kept its own or does not show one change of it, or a line follows
/// one that opens a block and is no deeper.
fn is_flattened(document: &Document<'_>, start: LineNumber, quoted: &[&str], new: &[&str]) -> bool {
    let is_flat = |lines: &[&str]| lines.iter().all(|line| fold::is_collapsed(line));
    let file: Vec<&str> = document.lines_from(start).take(quoted.len()).collect();
    let is_open = |pair: &[&str]| {
        let below = pair[1].trim_start();
        pair[0].trim_end().ends_with([':', '{', '(', '['])
            && !below.is_empty()
            && !below.starts_with(['-', '}', ')', ']'])
    };
    // ` * ` goes on with a comment.
    let is_damaged = |line: &&str| fold::indentation(line) == " " && !line.starts_with(" *");
    let is_quote_flat = || is_flat(quoted) && quoted.iter().any(is_damaged);
    let is_shown = || is_quote_flat() && shift(document, start, quoted).is_some();
    is_flat(new)
        && (new.iter().any(is_damaged) || is_quote_flat())
        && !is_flat(&file)
        && !file.iter().any(is_damaged)
        && (!is_shown() || new.windows(2).any(is_open))
}

/// The change of indentation, if it is one for the lines that begin outside of brackets: within
/// them, lines are aligned as anybody likes.
pub(super) fn statement_shift(
    document: &Document<'_>,
    start: LineNumber,
    lines: &[&str],
) -> Option<Shift> {
    let begins = statements(lines)?;
    let statements = (document.lines_from(start).zip(lines).zip(begins))
        .filter(|((_, quote), begins)| *begins && !is_blank(quote));
    shift_between(statements.map(|((file, quote), _)| (*quote, file)))
}

/// Chooses among several lines, by its position, the one that a line number points to.
///
/// The number must be at most five lines off, and every other line more than twice as far and
/// two lines more: models miscount by a few lines, and a choice must not depend on that.
pub(super) fn position_near(
    lines: impl Iterator<Item = LineNumber>,
    stated: Option<LineNumber>,
) -> Option<usize> {
    const FEW: usize = 5;
    let stated = stated?;
    let mut distances: Vec<_> = lines.map(|line| line.abs_diff(stated)).zip(0..).collect();
    distances.sort_unstable();
    let (distance, position) = *distances.first()?;
    let second = distances.get(1).map_or(usize::MAX, |second| second.0);
    (distance <= FEW && second >= 2 * distance + 2).then_some(position)
}

/// Signs in lines by which languages differ.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CodeLayout {
    has_statement: bool,
    colons: usize,
    braces: usize,
}

impl CodeLayout {
    /// Counts the signs in some more lines.
    pub(super) fn with<'t>(mut self, lines: impl Iterator<Item = &'t str>) -> Self {
        for line in lines.map(str::trim) {
            if line.ends_with(':') {
                self.has_statement |= opens_block(line);
                self.colons += 1;
            } else if line.starts_with("- ") {
                self.colons += 1;
            } else if line.ends_with([';', '{']) || line.starts_with('}') {
                self.braces += 1;
            }
        }
        self
    }

    /// True if indentation says what belongs to what.
    ///
    /// Labels and cases end with a colon in languages with braces too, but braces are more.
    pub(super) fn is_meaningful(self) -> bool {
        self.has_statement || self.colons > self.braces
    }
}

/// True if a line that ends with a colon is a statement that has one nowhere but in Python.
fn opens_block(line: &str) -> bool {
    const WORDS: &str = "async class def elif else: except except: finally: for if match try: \
        while with";
    let word = line.split(char::is_whitespace).next();
    word.is_some_and(|word| fold::is_among(WORDS, word))
}

/// Which of the lines begin outside of all brackets; nothing if brackets are not closed among them,
/// or closed that were not opened.
fn statements(lines: &[&str]) -> Option<Vec<bool>> {
    let mut open = 0_usize;
    let mut statements = Vec::with_capacity(lines.len());
    for line in lines {
        statements.push(open == 0);
        let mut quote = None;
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            match (character, quote) {
                ('\\', Some(_)) => {
                    characters.next();
                }
                (_, Some(mark)) if mark == character => quote = None,
                ('"' | '\'' | '`', None) => quote = Some(character),
                ('(' | '[' | '{', None) => open += 1,
                (')' | ']' | '}', None) => open = open.checked_sub(1)?,
                _ => {}
            }
        }
    }
    (open == 0).then_some(statements)
}

#[cfg(test)]
mod layout_tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, is_meaningful: bool) {
        let layout = CodeLayout::default().with(text.lines());
        assert_eq!(layout.is_meaningful(), is_meaningful);
    }

    #[test]
    fn the_lines_tell_whether_indentation_matters() {
        case("def f():\n    a = {\n    }\n    return a\n", true);
        case("on:\n  push:\n    branches: [main]\n", true);
        case("- a\n  - b\n", true);
        case("all:\n\tcc a.c\n", true);
        case("switch (a) {\ncase 1:\n  b();\n}\n", false);
        case("switch a {\ncase 1:\n\tb()\ndefault:\n\tc()\n}\n", false);
        case("a\nb\n", false);
    }

    #[test]
    fn lines_within_brackets_are_no_statements() {
        let begin = |text: &str| statements(&text.lines().collect::<Vec<_>>());
        assert_eq!(
            begin("f(1,\n  [2,\n3])\ng()"),
            Some(vec![true, false, false, true])
        );
        assert_eq!(begin("f(\"(\")\ng('\\'(')"), Some(vec![true, true]));
        assert_eq!(begin("f(1,"), None);
        assert_eq!(begin("2)"), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, search: &[&str], level: Level, starts: &[LineNumber]) {
        let document = Document::new(text);
        let matches = find(&document, search, Level::Whitespace).expect("a match");
        assert_eq!((matches.level, &*matches.starts), (level, starts));
    }

    #[test]
    fn the_strictest_level_counts() {
        case("a \na\n", &["a"], Level::Exact, &[2]);
        case("a \n a\n", &["a"], Level::TrailingSpace, &[1]);
        case("  a\n  b\n", &["a", "b"], Level::Indentation, &[1]);
        case("\ta\n\t\tb\n", &["  a", "    b"], Level::Indentation, &[1]);
        case("it's\n", &["it\u{2019}s"], Level::Whitespace, &[1]);
        case("a  b\n", &["a b"], Level::Whitespace, &[1]);
        case("  f( a,b )\n", &["f(a, b)"], Level::Whitespace, &[1]);
        case("  a\n   b\n", &["a", "b"], Level::Whitespace, &[1]);
        case("a \na  \n", &["a"], Level::TrailingSpace, &[1, 2]);
    }

    #[test]
    fn other_words_never_match() {
        let document = Document::new("let a = 1;\n");
        assert_eq!(find(&document, &["let b = 1;"], Level::Whitespace), None);
        assert_eq!(find(&document, &["let  a = 1;"], Level::Indentation), None);
        let joined = find(&document, &["leta = 1;"], Level::Whitespace);
        assert_eq!(joined, None);
    }

    #[test]
    fn a_line_number_chooses_only_if_it_is_clear() {
        let near = |lines: [LineNumber; 2], stated| position_near(lines.into_iter(), stated);
        assert_eq!(near([10, 20], Some(12)), Some(0));
        assert_eq!(near([10, 20], Some(15)), None);
        assert_eq!(near([10, 11], Some(10)), None);
        assert_eq!(near([10, 200], Some(17)), None);
        assert_eq!(near([10, 20], None), None);
    }
}
