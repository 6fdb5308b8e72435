//! Finds where quoted lines stand, and how closely they match.
//!
//! The levels are tried from the strictest on, and the first at which anything matches is the one
//! that counts: what matches more loosely elsewhere is no competitor, and two places at the same
//! level are no match at all, unless the caller has a reason to prefer one.

use super::document::{Document, LineKey, LineNumber};
use super::fold::{self, Shift};
use super::layout;
use agent_protocol::Level;

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
    let is_blank = lines.iter().all(|line| line.trim().is_empty());
    if loosest == Level::Exact || is_blank {
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
    let mut best: Option<LineMatches> = None;
    for start in candidates {
        let level = closeness(document, start, lines);
        match &mut best {
            _ if level > loosest => {}
            Some(best) if best.level < level => {}
            Some(best) if best.level == level => best.starts.push(start),
            _ => {
                best = Some(LineMatches {
                    level,
                    starts: vec![start],
                });
            }
        }
    }
    best
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
    let filled = pairs.filter(|(_, quote)| !quote.trim().is_empty());
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

/// The change of indentation, if it is one for the lines that begin outside of brackets: within
/// them, lines are
/// aligned as anybody likes.
pub(super) fn statement_shift(
    document: &Document<'_>,
    start: LineNumber,
    lines: &[&str],
) -> Option<Shift> {
    let begins = layout::statements(lines)?;
    let is_filled = |line: &str| !line.trim().is_empty();
    let statements = (document.lines_from(start).zip(lines).zip(begins))
        .filter(|((_, quote), begins)| *begins && is_filled(quote));
    shift_between(statements.map(|((file, quote), _)| (*quote, file)))
}

/// Chooses among several places the one that a line number points to.
///
/// The number must be at most five lines off, and every other place more than twice as far and
/// two lines more: models miscount by a few lines, and a choice must not depend on that.
pub(super) fn near<P: Copy>(places: &[(P, usize)], line: Option<u32>) -> Option<P> {
    const FEW: usize = 5;
    let line = usize::try_from(line?).ok()?;
    let mut nearest = None;
    let mut second = usize::MAX;
    for &(place, number) in places {
        let distance = number.abs_diff(line);
        match nearest {
            Some((_, best)) if distance >= best => second = second.min(distance),
            Some((_, best)) => {
                second = best;
                nearest = Some((place, distance));
            }
            None => nearest = Some((place, distance)),
        }
    }
    let (place, distance) = nearest?;
    (distance <= FEW && second >= 2 * distance + 2).then_some(place)
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
        case("  a\n   b\n", &["a", "b"], Level::Whitespace, &[1]);
        case("a \na  \n", &["a"], Level::TrailingSpace, &[1, 2]);
    }

    #[test]
    fn other_words_never_match() {
        let document = Document::new("let a = 1;\n");
        assert_eq!(find(&document, &["let b = 1;"], Level::Whitespace), None);
        assert_eq!(find(&document, &["let  a = 1;"], Level::Indentation), None);
    }

    #[test]
    fn a_line_number_chooses_only_if_it_is_clear() {
        assert_eq!(near(&[(1, 10), (2, 20)], Some(12)), Some(1));
        assert_eq!(near(&[(1, 10), (2, 20)], Some(15)), None);
        assert_eq!(near(&[(1, 10), (2, 11)], Some(10)), None);
        assert_eq!(near(&[(1, 10), (2, 200)], Some(17)), None);
        assert_eq!(near(&[(1, 10), (2, 20)], None), None);
    }
}
