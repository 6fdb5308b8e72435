//! A range of lines that was sent at the margin, or less deep than the lines that it replaces.
//!
//! The lines of a block may move left on purpose, as where a condition around them is removed. So the
//! new lines are shifted only if old lines among them show it, and the lines around the range, or words
//! that stand in a block only, show that it was not meant.

use std::collections::HashSet;

use crate::fold::{self, is_among, is_blank};
use crate::inline::opens_block;
use crate::matcher::CodeLayout;

/// Words that begin a statement which stands in a block only.
const BOUND_WORDS: &str = "return yield break continue";

/// The indentation that every new line lacks, if it is certain.
///
/// `same` are the lines, from 0, that say the same in both.
pub(super) fn lost_indentation<'t>(
    file: &str,
    old: &[&'t str],
    new: &[&str],
    same: &[(usize, usize)],
) -> Option<&'t str> {
    let (deep, least) = (least_indentation(old)?, least_indentation(new)?);
    let lost = deep.strip_suffix(least).filter(|lost| !lost.is_empty())?;
    if is_only_shifted(old, new) || has_kept_line(old, new) || has_empty_block(new) {
        return None;
    }
    let around = LinesAround::of(file, old);
    if around.is_above_gone(file, old) {
        return None;
    }
    let is_broken = around.are_broken(old, new);
    let is_at_margin = least.is_empty();
    let is_proved = if let Some(shifted) = shifted_lines(old, new, same, lost) {
        is_broken || (is_at_margin && shifted.contains(&deep))
    } else {
        let mut words = common_words(deep, old, new);
        words.any(|word| is_broken || (is_at_margin && is_bound(word)))
    };
    is_proved.then_some(lost)
}

fn filled<'l, 't>(lines: &'l [&'t str]) -> impl DoubleEndedIterator<Item = &'t str> + use<'l, 't> {
    lines.iter().copied().filter(|line| !is_blank(line))
}

/// The indentation of the least indented line, if all lines begin with it.
fn least_indentation<'t>(lines: &[&'t str]) -> Option<&'t str> {
    let indentations = filled(lines).map(fold::indentation);
    let least = indentations.min_by_key(|indentation| indentation.len())?;
    filled(lines)
        .all(|line| line.starts_with(least))
        .then_some(least)
}

/// Returns true if nothing but the indentation changes: then that is what the edit is for.
fn is_only_shifted(old: &[&str], new: &[&str]) -> bool {
    filled(old).map(str::trim).eq(filled(new).map(str::trim))
}

fn has_kept_line(old: &[&str], new: &[&str]) -> bool {
    let old: HashSet<&str> = filled(old).collect();
    filled(new).any(|line| old.contains(line))
}

/// Returns true if a page flattened the lines: one that opens a block is followed by one no deeper.
fn has_empty_block(lines: &[&str]) -> bool {
    filled(lines)
        .zip(filled(lines).skip(1))
        .any(|(above, line)| leaves_empty(above, line))
}

/// Returns true if a line opens a block, and the one below it does not stand in that block.
fn leaves_empty(above: &str, line: &str) -> bool {
    let body = line.trim_start();
    opens_block(above)
        && fold::indentation(line).len() <= fold::indentation(above).len()
        && !body.starts_with(['}', ')', ']'])
        && !body.starts_with("- ")
}

/// The old indentations of lines that both texts have, if there are enough of them and all lack the same.
fn shifted_lines<'t>(
    old: &[&'t str],
    new: &[&str],
    same: &[(usize, usize)],
    lost: &str,
) -> Option<Vec<&'t str>> {
    const ENOUGH: usize = 2;
    let pairs = same.iter().map(|&(at, new_at)| (old[at], new[new_at]));
    let telling: Vec<_> = pairs.filter(|(old, _)| is_telling(old)).collect();
    let lacks = |(old, new): &(&str, &str)| {
        old.strip_prefix(lost).map(str::trim_end) == Some(new.trim_end())
    };
    let is_shown = telling.len() >= ENOUGH && telling.iter().all(lacks);
    is_shown.then(|| {
        telling
            .iter()
            .map(|(old, _)| fold::indentation(old))
            .collect()
    })
}

/// Returns true if a line is none of those that may stand anywhere: a bracket, or an item of a list.
fn is_telling(line: &str) -> bool {
    let is_item = ["- ", "* ", "+ "]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark));
    !is_item && line.contains(char::is_alphanumeric)
}

/// The words that begin lines of both texts, if every new line is less indented than all old ones.
fn common_words<'t>(
    deep: &str,
    old: &[&'t str],
    new: &[&str],
) -> impl Iterator<Item = &'t str> + use<'t> {
    let is_less = filled(new).all(|line| fold::indentation(line).len() < deep.len());
    let new: HashSet<&str> = filled(new).filter_map(first_word).collect();
    let words: Vec<&str> = filled(old)
        .filter_map(first_word)
        .filter(|word| is_less && new.contains(word))
        .collect();
    words.into_iter()
}

/// The word that a line begins with; a key has its colon.
fn first_word(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let end = line
        .find(|c: char| !fold::is_of_word(c))
        .unwrap_or(line.len());
    let is_key = line[end..].starts_with(": ") || &line[end..] == ":";
    (end > 0).then(|| &line[..end + usize::from(is_key)])
}

/// Returns true for a word that begins a line of a block, or a key, which has its place in one.
fn is_bound(word: &str) -> bool {
    word.ends_with(':') || is_among(BOUND_WORDS, word)
}

/// The filled lines above and below a range, where it stands once in its file.
#[derive(Debug, Default)]
struct LinesAround<'f> {
    above: Option<&'f str>,
    below: Option<&'f str>,
}

impl<'f> LinesAround<'f> {
    fn of(file: &'f str, old: &[&str]) -> Self {
        /// This bounds the time that hostile text can cost.
        const MOST: usize = 20_000_000;
        let lines: Vec<&str> = file.lines().collect();
        if lines.len().saturating_mul(old.len()) > MOST {
            return Self::default();
        }
        let mut places = (0..lines.len()).filter(|&at| lines[at..].starts_with(old));
        let (Some(at), None) = (places.next(), places.next()) else {
            return Self::default();
        };
        Self {
            above: filled(&lines[..at]).next_back(),
            below: filled(&lines[at + old.len()..]).next(),
        }
    }

    /// Returns true if the old lines stand deeper than the line above for no reason that is left: an
    /// earlier edit removed what opened their block.
    fn is_above_gone(&self, file: &str, old: &[&str]) -> bool {
        let is_gone = |above: &str, line: &str| {
            fold::indentation(line).len() > fold::indentation(above).len()
                && !above.trim_end().ends_with([':', '{', '(', '[', ',', '\\'])
        };
        let pair = self.above.zip(filled(old).next());
        pair.is_some_and(|(above, line)| is_gone(above, line))
            && CodeLayout::default().with(file.lines()).is_meaningful()
    }

    /// Returns true if the new lines leave the block above without lines, or those below without a block,
    /// as the old ones did not.
    fn are_broken(&self, old: &[&str], new: &[&str]) -> bool {
        let depth = |line: &str| fold::indentation(line).len();
        let is_emptied = |above: &str| {
            let first = |lines| filled(lines).next();
            first(new).is_some_and(|line| leaves_empty(above, line))
                && !first(old).is_some_and(|line| leaves_empty(above, line))
        };
        let is_orphaned = |below: &str| {
            let last = |lines| filled(lines).next_back();
            last(old).is_some_and(|line| depth(below) <= depth(line))
                && last(new).is_some_and(|line| depth(below) > depth(line) && !opens_block(line))
        };
        self.above.is_some_and(is_emptied) || self.below.is_some_and(is_orphaned)
    }
}

#[cfg(test)]
mod tests {
    use crate::{CopyDamage, restore_copy};

    /// The new text for some lines, from 1, of a file.
    #[track_caller]
    fn case(file: &str, lines: [usize; 2], new: &str, expected: &str) {
        let range = file.split_inclusive('\n').skip(lines[0] - 1);
        let old: String = range.take(lines[1] + 1 - lines[0]).collect();
        let restored = restore_copy(file, &old, new);
        assert_eq!(restored.text, expected);
        let repaired = [CopyDamage::Indentation];
        let repaired = if new == expected { &[] } else { &repaired[..] };
        assert_eq!(
            (&*restored.repaired, &*restored.doubted),
            (repaired, &[][..])
        );
    }

    const CLASS: &str = "class A:\n    def g(self):\n        x = 1\n        y = 2\n        return x + y\n\n    def h(self):\n        return 3\n";

    #[test]
    fn a_range_that_lost_its_indentation_is_shifted_back() {
        case(
            CLASS,
            [2, 5],
            "def g(self):\n    x = 1\n    y = 3\n    return x + y\n",
            "    def g(self):\n        x = 1\n        y = 3\n        return x + y\n",
        );
        case(
            CLASS,
            [3, 5],
            "x = 1\nif x:\n    y = 3\n\nreturn x + y\n",
            "        x = 1\n        if x:\n            y = 3\n\n        return x + y\n",
        );
        // Nothing around it shows it.
        case(
            "f() {\n  a\n  b1\n  b2\n  b3\n  c\n}\n",
            [3, 5],
            "b1\nb3\n  d\n",
            "  b1\n  b3\n    d\n",
        );
        case(
            "x:\n  a:\n    - b\n  c: 1\n  d: 2\n",
            [2, 5],
            "a:\n- b\nc: 1\nd: 3\n",
            "  a:\n  - b\n  c: 1\n  d: 3\n",
        );
        // Only by one step, below the line that opens the block.
        let nested = CLASS
            .replace("        ", "            ")
            .replace("    def", "        def");
        case(
            &nested.replace("class A", "if z:\n    class A"),
            [3, 6],
            "    def g(self):\n        x = 1\n        y = 3\n        return x + y\n",
            "        def g(self):\n            x = 1\n            y = 3\n            return x + y\n",
        );
    }

    #[test]
    fn a_line_that_begins_with_the_same_word_is_shifted_back() {
        case(
            "def h():\n    return 3\n",
            [2, 2],
            "return 4\n",
            "    return 4\n",
        );
        case("a:\n  b: 1\n  c: 2\n", [3, 3], "c: 3\n", "  c: 3\n");
        case(
            "if a:\n    x = 1\n",
            [2, 2],
            "x = 2\ny = 3\n",
            "    x = 2\n    y = 3\n",
        );
        case(
            "for a in b:\n    c()\n    d(1)\n    e()\n",
            [3, 3],
            "d(2)\n",
            "    d(2)\n",
        );
        case(
            "func f() {\n\tx := 1\n}\n",
            [2, 2],
            "x := 2\n",
            "\tx := 2\n",
        );
    }

    #[test]
    fn lines_that_a_page_flattened_are_not_shifted() {
        let old: String = CLASS.split_inclusive('\n').skip(1).take(4).collect();
        let flat = "def g(self):\nx = 1\ny = 3\nreturn x + y\n";
        let restored = restore_copy(CLASS, &old, flat);
        assert!(restored.refuse_unrepairable().is_err());
    }

    #[test]
    fn lines_that_move_left_on_purpose_stay() {
        let as_sent = |file: &str, lines, new: &str| case(file, lines, new, new);
        // The condition around them is removed with them, or was before.
        let block = "def f():\n    if x:\n        a(1)\n        b(2)\n        c(3)\n";
        as_sent(block, [2, 5], "    a(1)\n    b(2)\n    c(4)\n");
        let without = "d()\n    a(1)\n    b(2)\n    if c:\n        e(3)\nif y:\n    z()\n";
        as_sent(without, [2, 5], "a(1)\nb(2)\nif c:\n    e(4)\n");
        // Out of a loop.
        let looped = "def f():\n    for a in b:\n        c += a\n        d = c\n        e = d\n        return c\n";
        as_sent(looped, [4, 6], "    d = c\n    e = d\n    return c / 2\n");
        as_sent(looped, [6, 6], "    return c / 2\n");
        as_sent(
            "for a in b:\n    c += a\n    print(c)\n",
            [3, 3],
            "print(c / 2)\n",
        );
        // A method becomes a function.
        let method = "class A:\n    def f(self):\n        return 1\n\n    def h(self, x):\n        y = x\n        z = y\n        return z\n";
        as_sent(
            method,
            [5, 8],
            "def h(x):\n    y = x\n    z = y\n    return z\n",
        );
        // A line of the range that kept its indentation.
        let body = "if x:\n    a(1)\n    b(2)\n    c(3)\n";
        as_sent(body, [2, 4], "    c(3)\na(1)\nb(2)\n");
        // Only that changes.
        as_sent(looped, [6, 6], "    return c\n");
        let branch = "if x:\n    a(1)\n    b(2)\n    if c:\n        e(3)\n";
        as_sent(branch, [4, 5], "if c:\n    e(3)\n");
        // Items of a list may be as deep as its key. The others have nothing in common.
        let list = "a:\n  - b\n  - c\n  - d\n    e: 1\n";
        as_sent(list, [2, 5], "- b\n- c\n- x\n  e: 1\n");
        as_sent("a:\n  b: 1\n", [2, 2], "d: 3\n");
        as_sent("def h():\n    return 3\n", [2, 2], "x = 4\n");
        // A block that goes on deeper.
        as_sent("def h():\n    return 3\n", [2, 2], "if a:\n    return 4\n");
    }
}
