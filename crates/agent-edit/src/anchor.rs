//! The lines that a hunk's `@@` names, and the blocks that they open.
//!
//! An anchor says below which line a place is. It is a line of the file but for its indentation,
//! which the header of a hunk does not keep, or the beginning of one.
//!
//! Where the block ends that a line opens.
//!
//! By indentation, as in all languages that people indent. Lines at the margin that are a part of
//! the block nevertheless are known by how they begin.

use std::collections::HashMap;
use std::ops::Range;

use crate::document::{Document, LineKey, LineNumber};
use crate::fold::is_of_word;
use crate::refuse::{numbers, shortened};
use crate::{Refusal, fold};

/// A line that stands in more places than this is no anchor.
const MANY: usize = 64;

/// How far the block is taken to reach that a line opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum BlockReach {
    /// To the next line that is indented no deeper and is no part of it.
    Block,
    /// To the next definition that is indented no deeper, if the line is one: text at the margin
    /// may be a part of it.
    Wide,
}

/// The anchors of a patch that were looked for so far.
#[derive(Debug)]
pub(super) struct Anchors<'d> {
    document: &'d Document<'d>,
    lines: HashMap<String, Vec<LineNumber>>,
    ends: HashMap<(LineNumber, BlockReach), LineNumber>,
}

/// Stretches of lines, in ascending order, that do not overlap.
#[derive(Debug)]
pub(super) struct AnchoredBlocks(Vec<Range<LineNumber>>);

impl AnchoredBlocks {
    pub(super) fn has(&self, line: LineNumber) -> bool {
        let at = self.0.partition_point(|block| block.end <= line);
        self.0.get(at).is_some_and(|block| block.start <= line)
    }

    /// Those of some lines, in ascending order, that are inside; how many, if that is too many.
    fn part_of(&self, lines: &[LineNumber]) -> Result<Vec<LineNumber>, usize> {
        let inside = || {
            let first = |line| lines.partition_point(|&number| number < line);
            (self.0.iter()).map(move |block| &lines[first(block.start)..first(block.end)])
        };
        match inside().map(<[_]>::len).sum() {
            count if count > MANY => Err(count),
            _ => Ok(inside().flatten().copied().collect()),
        }
    }
}

impl<'d> Anchors<'d> {
    pub(super) fn new(document: &'d Document<'d>) -> Self {
        Self {
            document,
            lines: HashMap::new(),
            ends: HashMap::new(),
        }
    }

    /// The lines that the last anchor may mean, in ascending order, each in a block that the anchor
    /// before it opens; lines after `above` are preferred. Never empty, and never many.
    pub(super) fn find(
        &mut self,
        anchors: &[String],
        above: LineNumber,
    ) -> Result<Vec<LineNumber>, Refusal> {
        let from =
            |line: LineNumber| AnchoredBlocks(std::iter::once(line..LineNumber::MAX).collect());
        let mut found: Vec<LineNumber> = Vec::new();
        for (position, anchor) in anchors.iter().enumerate() {
            let (preferred, others) = match found.first() {
                Some(&first) if position > 0 => {
                    (self.blocks(&found, BlockReach::Block), from(first + 1))
                }
                _ => (from(above + 1), from(0)),
            };
            let all = self.lines(anchor);
            let lines = match preferred.part_of(all) {
                Ok(inside) if inside.is_empty() => others.part_of(all),
                inside => inside,
            };
            match lines {
                Ok(lines) if !lines.is_empty() => found = lines,
                Ok(_) => return Err(unusable(anchor, 0)),
                Err(count) => return Err(unusable(anchor, count)),
            }
        }
        Ok(found)
    }

    /// The one line that the anchors mean.
    pub(super) fn only(
        &mut self,
        anchors: &[String],
        above: LineNumber,
    ) -> Result<LineNumber, Refusal> {
        match *self.find(anchors, above)? {
            [only] => Ok(only),
            ref lines => Err(Refusal::new(format!(
                "`{}` stands at lines {}",
                last(anchors),
                numbers(lines)
            ))
            .with_hint("quote lines around the place")),
        }
    }

    /// The blocks that lines open, given in ascending order; each begins with its line.
    pub(super) fn blocks(&mut self, openings: &[LineNumber], reach: BlockReach) -> AnchoredBlocks {
        let mut blocks: Vec<Range<LineNumber>> = Vec::with_capacity(openings.len());
        for &opening in openings {
            let end = self.end(opening, reach);
            match blocks.last_mut() {
                Some(last) if opening <= last.end => last.end = last.end.max(end),
                _ => blocks.push(opening..end),
            }
        }
        AnchoredBlocks(blocks)
    }

    /// The line after the block that a line opens; after the last one, if it opens none.
    fn end(&mut self, opening: LineNumber, reach: BlockReach) -> LineNumber {
        let document = self.document;
        *(self.ends.entry((opening, reach))).or_insert_with(|| {
            let end = block_end(document, opening, reach);
            let is_empty = (opening + 1..end).all(|line| fold::is_blank(document.text(line)));
            if is_empty { document.len() + 1 } else { end }
        })
    }

    /// All lines that an anchor may mean, in ascending order.
    fn lines(&mut self, anchor: &str) -> &Vec<LineNumber> {
        let document = self.document;
        (self.lines.entry(anchor.to_owned())).or_insert_with(|| {
            let mut lines = equal(document, anchor);
            if lines.is_empty() {
                lines = begun(document, anchor);
            }
            lines
        })
    }
}

/// The last of a hunk's anchors, as a message names it.
pub(super) fn last(anchors: &[String]) -> String {
    shortened(anchors.last().map(String::as_str).unwrap_or_default(), 80)
}

fn unusable(anchor: &str, places: usize) -> Refusal {
    let anchor = shortened(anchor, 80);
    match places {
        0 => Refusal::new(format!("the line `{anchor}` was not found")),
        _ => Refusal::new(format!("`{anchor}` stands at {places} lines"))
            .with_hint("quote lines around the place"),
    }
}

/// The lines that are equal to an anchor but for their indentation.
fn equal(document: &Document<'_>, anchor: &str) -> Vec<LineNumber> {
    let mut lines = document.find_lines(LineKey::Loose, &[anchor]);
    lines.retain(|&line| document.text(line).trim() == anchor.trim());
    lines
}

/// The lines that begin with an anchor, which ends with a word: `class A` of `class A(Base):`.
fn begun(document: &Document<'_>, anchor: &str) -> Vec<LineNumber> {
    let anchor = anchor.trim();
    if anchor.is_empty() {
        return Vec::new();
    }
    let begins = |line: &str| {
        let rest = line.trim_start().strip_prefix(anchor);
        rest.and_then(|rest| rest.chars().next())
            .is_some_and(|next| !is_of_word(next))
    };
    (1..=document.len())
        .filter(|&line| begins(document.text(line)))
        .collect()
}

/// First words of lines that go on with what the lines above began.
const GOING_ON: [&str; 15] = [
    "where", "else", "elif", "elsif", "elseif", "except", "finally", "catch", "rescue", "ensure",
    "then", "do", "begin", "case", "default",
];

/// Words that begin a definition, after any of the words before it.
pub(super) const DEFINITIONS: &str = "def class fn func fun function impl struct enum trait mod module \
    interface namespace sub type";

/// Words that may stand before it.
pub(super) const MODIFIERS: &str = "pub crate super async export default static public private protected \
    internal abstract final sealed override virtual inline unsafe extern const";

/// The line after the block that a line opens.
fn block_end(document: &Document<'_>, opening: LineNumber, reach: BlockReach) -> LineNumber {
    let first = document.text(opening);
    let depth = fold::indentation(first).len();
    let first = first.trim();
    let by_definition = reach == BlockReach::Wide && is_definition(first);
    (opening + 1..=document.len())
        .find(|&id| {
            let line = document.text(id);
            let body = line.trim_start();
            let is_outside = !body.is_empty() && line.len() - body.len() <= depth;
            is_outside
                && if by_definition {
                    is_definition(body)
                } else {
                    !goes_on(first, body.trim_end())
                }
        })
        .unwrap_or(document.len() + 1)
}

/// True if a line that is indented no deeper than the first one of a block is a part of it still:
/// a bracket, a directive of the preprocessor, a label or the next branch.
fn goes_on(first: &str, line: &str) -> bool {
    if line.starts_with(['}', ')', ']', '{']) {
        return true;
    }
    if line.starts_with('#') {
        return !first.starts_with('#');
    }
    let word = first_word(line);
    if word.is_empty() || word == first_word(first) {
        return false;
    }
    // In languages where a colon opens a block, a word with one is a block of its own.
    let is_label = !first.ends_with(':') && line.strip_prefix(word) == Some(":");
    is_label || GOING_ON.contains(&word)
}

fn is_definition(line: &str) -> bool {
    let starts_with_word = line.starts_with(is_of_word);
    let word = fold::words(line).find(|word| !fold::is_among(MODIFIERS, word));
    starts_with_word && word.is_some_and(|word| fold::is_among(DEFINITIONS, word))
}

fn first_word(line: &str) -> &str {
    let end = line.find(|c: char| !is_of_word(c));
    &line[..end.unwrap_or(line.len())]
}

#[cfg(test)]
mod block_tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, block: LineNumber, wide: LineNumber) {
        let document = Document::new(text);
        let ends =
            [BlockReach::Block, BlockReach::Wide].map(|reach| block_end(&document, 1, reach));
        assert_eq!(ends, [block, wide]);
    }

    #[test]
    fn a_block_goes_on_at_the_margin() {
        case(
            "fn f<T>(t: T)\nwhere\n    T: X,\n{\n    go();\n}\n\nfn g() {\n",
            8,
            8,
        );
        case(
            "int f()\n{\n#ifdef X\n  a();\n#endif\nout:\n  b();\n}\nint g()\n",
            9,
            9,
        );
        case("if x:\n    a()\nelse:\n    b()\nc()\n", 5, 5);
        case("try {\n  a()\n}\ncatch (e) {\n  b()\n}\nc()\n", 7, 7);
        case(
            "def f():\n    s = '''\nText\n'''\n    b()\n\ndef g():\n",
            3,
            7,
        );
        case("class A:\n    x = 1\nLIMIT = 2\n", 3, 4);
    }

    #[test]
    fn what_is_like_its_first_line_ends_a_block() {
        case("case 1:\n  a()\ncase 2:\n", 3, 3);
        case("jobs:\n  a: 1\nsteps:\n", 3, 3);
        case("# One\n  text\n# Two\n", 3, 3);
        case(
            "pub(crate) fn f() {\n    a();\n}\npub async fn g() {\n",
            4,
            4,
        );
        case("default:\n  a()\nclassy = 1\n", 3, 3);
    }
}
