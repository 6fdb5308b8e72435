//! Surroundings of blocks: Markdown code fences and our own tags.
//!
//! A fence closes only what stands at least as far to the right: a fence line inside a diff has a
//! mark before it and does not end the block.

use crate::tags;
use crate::trim::{is_blank, trim_end, trim_start};
use std::ops::Range;

/// The line that begins a code block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fence<'a> {
    mark: u8,
    length: usize,
    /// How many bytes of white space stand before it.
    pub(super) indent: usize,
    /// The words behind the marks: a language, perhaps a file name.
    pub(super) info: &'a str,
}

impl<'a> Fence<'a> {
    /// Reads a line of three or more backticks or tildes.
    #[inline]
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let text = trim_start(line);
        match *text.as_bytes().first()? {
            mark @ (b'`' | b'~') => Self::marked(line, text, mark),
            _ => None,
        }
    }

    fn marked(line: &'a str, text: &'a str, mark: u8) -> Option<Self> {
        let indent = line.len() - text.len();
        let length = text.bytes().take_while(|byte| *byte == mark).count();
        let info = text[length..].trim();
        if length < 3 || (mark == b'`' && info.contains('`')) {
            return None;
        }
        Some(Self {
            mark,
            length,
            indent,
            info,
        })
    }

    /// The first of the words behind the marks.
    pub(super) fn language(&self) -> &'a str {
        self.info.split([' ', ':', '{']).next().unwrap_or_default()
    }

    /// Returns true if it is longer than a plain one, so that plain ones may stand inside.
    pub(super) fn is_long(&self) -> bool {
        self.length > 3
    }

    /// Returns true if it is one as the instructions ask for around all commands.
    pub(super) fn is_frame(&self) -> bool {
        self.is_long() && matches!(self.info, "" | "text")
    }

    /// Returns true if it has the same mark at least as often.
    pub(super) fn is_as_long_as(&self, other: &Fence<'_>) -> bool {
        self.mark == other.mark && self.length >= other.length
    }

    /// Returns true if it has the same mark as often.
    pub(super) fn is_like(&self, other: &Fence<'_>) -> bool {
        self.mark == other.mark && self.length == other.length
    }

    /// Returns true if the line ends the block that this one began.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        Fence::read(line).is_some_and(|other| other.closes(self))
    }

    /// Returns true if the end of a block that `inner` begins would be taken for the end of this
    /// one.
    pub(super) fn may_hold(&self, inner: &Fence<'_>) -> bool {
        self.mark == inner.mark && self.length <= inner.length && !inner.info.is_empty()
    }

    /// Returns true if this line ends the block that `open` began.
    pub(super) fn closes(&self, open: &Fence<'_>) -> bool {
        self.mark == open.mark
            && self.length >= open.length
            && self.indent <= open.indent
            && self.info.is_empty()
    }

    /// The fence that is open below this one, where another may be open above it and none nests.
    pub(super) fn follow(self, open: Option<Self>) -> Option<Self> {
        match open {
            Some(open) if self.closes(&open) => None,
            None => Some(self),
            open => open,
        }
    }
}

/// Returns for each of so many lines whether it is in one of these blocks.
pub(super) fn in_blocks(count: usize, blocks: &[Range<usize>]) -> Vec<bool> {
    let mut is_taken = vec![false; count];
    for block in blocks {
        let end = block.end.min(count);
        is_taken[block.start.min(end)..end].fill(true);
    }
    is_taken
}

/// Returns true if the line is a fence without a word after it: most often the end of a block.
pub(super) fn is_bare(line: &str) -> bool {
    Fence::read(line).is_some_and(|fence| fence.info.is_empty())
}

/// Returns true if the line is a tag of our own protocol: no other dialect goes on beyond one
/// unnoticed. `[TODO]` and `[EOF]` are words of files.
pub(super) fn is_tag(line: &str) -> bool {
    let rest = trim_start(line).strip_prefix('[').map(trim_end);
    let Some(rest) = rest.filter(|rest| rest.ends_with(']')) else {
        return false;
    };
    let tag = rest.strip_prefix('/').unwrap_or(rest);
    let (name, rest) = tag.split_once([' ', ']']).unwrap_or_default();
    tags::Name::exact(name).is_some() || (name == "END" && rest.contains('#'))
}

/// A code block that was begun and not yet ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Enclosure<'a> {
    /// The line with the fence.
    pub(super) line: usize,
    /// The fence itself.
    pub(super) fence: Fence<'a>,
}

/// The innermost code block that is open after these lines.
///
/// Reads all of them: to be called once per block that was found, not once per line.
pub(super) fn open_after<'a>(lines: &[&'a str]) -> Option<Enclosure<'a>> {
    let mut open: Vec<Enclosure<'a>> = Vec::new();
    for (line, text) in lines.iter().enumerate() {
        let Some(fence) = Fence::read(text) else {
            continue;
        };
        match open.last() {
            Some(last) if last.fence.is_closed_by(text) => {
                open.pop();
            }
            _ => open.push(Enclosure { line, fence }),
        }
    }
    open.pop()
}

/// Widens a block by the code block that it fills.
///
/// Reads all lines above it, as `open_after` does.
pub(super) fn with_fences(lines: &[&str], block: Range<usize>) -> Range<usize> {
    let enclosure = open_after(&lines[..block.start]);
    widen(lines, block, enclosure)
}

/// Widens a block by the fence lines directly around it, blank lines between them allowed.
pub(super) fn widen(
    lines: &[&str],
    block: Range<usize>,
    enclosure: Option<Enclosure<'_>>,
) -> Range<usize> {
    let mut start = block.start;
    if let Some(enclosure) = enclosure
        && all_blank(&lines[enclosure.line + 1..block.start])
    {
        start = enclosure.line;
    }
    let next = skip_blank(lines, block.end);
    let closes = lines.get(next).is_some_and(|line| match enclosure {
        Some(enclosure) => enclosure.fence.is_closed_by(line),
        // The block before this one took the fence that both stand in.
        None => next == block.end && is_bare(line),
    });
    start..if closes { next + 1 } else { block.end }
}

/// The lines of the code block that begins with the fence on a line.
pub(super) fn content<'l, 'a>(lines: &'l [&'a str], fence: usize) -> &'l [&'a str] {
    let inner = lines.get(fence + 1..).unwrap_or_default();
    let open = lines.get(fence).and_then(|line| Fence::read(line));
    let is_end = |line: &&str| open.is_some_and(|open| open.is_closed_by(line));
    let end = inner.iter().position(is_end);
    &inner[..end.unwrap_or(inner.len())]
}

/// The first line from `at` on that is not blank, or the end.
pub(super) fn skip_blank(lines: &[&str], at: usize) -> usize {
    lines
        .iter()
        .skip(at)
        .position(|line| !is_blank(line))
        .map_or(lines.len(), |found| at + found)
}

fn all_blank(lines: &[&str]) -> bool {
    lines.iter().all(|line| is_blank(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_closed_by_one_as_long_and_as_far_left() {
        let fence = Fence::read("```rust").unwrap();
        assert_eq!(fence.info, "rust");
        for (line, closes) in [
            ("```", true),
            ("`````  ", true),
            (" ```", false),
            ("~~~", false),
            ("```rust", false),
            ("+```", false),
        ] {
            assert_eq!(fence.is_closed_by(line), closes, "{line}");
        }
        assert!(Fence::read("``` a `b`").is_none());
    }

    #[test]
    fn knows_the_block_that_is_still_open() {
        let lines = ["```", "x", "```", "", "``````", "```diff", "a"];
        assert_eq!(open_after(&lines).unwrap().line, 5);
        assert_eq!(open_after(&lines[..5]).unwrap().line, 4);
        assert!(open_after(&lines[..4]).is_none());
    }

    #[test]
    fn knows_our_tags() {
        for line in [
            "[DONE]",
            "[END 12345678#1]",
            "[/CREATE_FILE Q7]",
            " [READ_FILE path=\"x\"]",
        ] {
            assert!(is_tag(line), "{line}");
        }
        for line in [
            "[1, 2]", "[OK]", "[Done]", "[DONE", "DONE", "[TODO]", "[EOF]", "[END]",
        ] {
            assert!(!is_tag(line), "{line}");
        }
    }

    #[test]
    fn takes_the_fences_directly_around_a_block() {
        let lines = ["text", "```", "", "block", "", "```", "more"];
        let enclosure = open_after(&lines[..3]);
        assert_eq!(widen(&lines, 3..4, enclosure), 1..6);
        assert_eq!(widen(&lines, 3..4, None), 3..4);
        assert_eq!(widen(&lines, 3..5, None), 3..6);
    }
}
