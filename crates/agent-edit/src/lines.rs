//! Edits by line numbers.

use std::borrow::Cow;
use std::ops::Range;

use super::align::align;
use super::document::{Document, LineNumber, LineSplice};
use super::{Edited, Refusal, guard};
use agent_protocol::Level;

/// The lines of a text that may or may not end with a newline, without their endings.
pub(super) fn lines_of(text: &str) -> Vec<&str> {
    (text.split_terminator('\n'))
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect()
}

/// Replaces the lines `start_line..=end_line`, counted from 1; an empty text deletes them.
pub fn replace_lines(
    text: &str,
    start_line: u32,
    end_line: u32,
    new: &str,
) -> Result<Edited, Refusal> {
    let mut document = Document::new(text);
    let count = document.len();
    if start_line == 0 || start_line > end_line {
        return Err(Refusal::new(format!(
            "lines {start_line}-{end_line} are no range; lines count from 1 and the file has {count}"
        )));
    }
    let start = within(start_line, count)?;
    let end = within(end_line, count)?;
    let new = lines_of(new);
    let old: Vec<&str> = (lines_of(text).into_iter())
        .skip(start - 1)
        .take(end + 1 - start)
        .collect();
    guard::refuse_omission(&old, &new, guard::line_lookup(text.lines()))?;
    let blocks = align(&old, &new);
    let splices = LineSplice::of_blocks(&blocks, start, &new, Cow::Borrowed);
    document.splice_all(splices);
    Ok(document.finish(Level::Exact))
}

/// Inserts text after a line, counted from 1; after line 0 is the top.
pub fn insert_lines(text: &str, after: u32, new: &str) -> Result<Edited, Refusal> {
    let mut document = Document::new(text);
    let above = match after {
        0 => 0,
        after => within(after, document.len())?,
    };
    if new.is_empty() {
        return Err(Refusal::new("there is no text to insert"));
    }
    let new = lines_of(new);
    guard::refuse_omission(&[], &new, guard::line_lookup(text.lines()))?;
    let lines = new.into_iter().map(Cow::Borrowed).collect();
    document.splice(above, 0, lines);
    Ok(document.finish(Level::Exact))
}

/// Says so if new text for these lines, counted from 0, begins with the line above them or ends with the
/// one below, which both stay: its numbers are probably off by one. Refuses it where that is certain: at
/// both ends, or if the line opens a block.
pub fn repeated_neighbours(
    text: &str,
    replaced: &Range<usize>,
    new: &str,
) -> Result<Option<String>, Refusal> {
    let (all, new) = (lines_of(text), lines_of(new));
    let old = all.get(replaced.clone()).unwrap_or_default();
    // A bracket or a short word may well follow itself.
    let is_telling = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).count() > 5;
    let repeats = |neighbour: Option<&&str>, new: Option<&&str>, old: Option<&&str>| {
        neighbour == new && new != old && new.is_some_and(|line| is_telling(line))
    };
    let above = replaced.start.checked_sub(1).and_then(|at| all.get(at));
    let is_above = repeats(above, new.first(), old.first());
    let is_below = repeats(all.get(replaced.end), new.last(), old.last());
    let opens_block = || above.is_some_and(|line| line.trim_end().ends_with([':', '{', '(', '[']));
    if is_above && (is_below && new.len() > 1 || opens_block()) {
        let line = replaced.start;
        return Err(Refusal::new(format!(
            "the new text begins with line {line}, which is above the place and stays"
        ))
        .with_hint("leave it out, begin the range there, or send SEARCH/REPLACE"));
    }
    Ok(if is_above {
        Some("its first line is the same as the line above it".to_owned())
    } else if is_below {
        Some("its last line is the same as the line below it".to_owned())
    } else {
        None
    })
}

fn within(line: u32, count: usize) -> Result<LineNumber, Refusal> {
    usize::try_from(line)
        .ok()
        .filter(|&line| line <= count)
        .ok_or_else(|| {
            Refusal::new(match count {
                0 => format!("line {line} does not exist: the file is empty"),
                1 => format!("line {line} does not exist: the file has 1 line"),
                _ => format!("line {line} does not exist: the file has {count} lines"),
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LineChange;

    #[track_caller]
    fn replaced(text: &str, start: u32, end: u32, new: &str, expected: &str) {
        assert_eq!(replace_lines(text, start, end, new).unwrap().text, expected);
    }

    #[test]
    fn text_that_repeats_its_neighbours_is_told_or_refused() {
        let text = "def total():\n    result = 0\n    work(result)\n    return result\n";
        let repeats = |range: Range<usize>, new: &str| repeated_neighbours(text, &range, new);
        assert!(repeats(1..2, "def total():\n    result = 1\n").is_err());
        assert!(repeats(1..1, "def total():\n    result = 1\n").is_err());
        let both = "    result = 0\n    work(1)\n    return result\n";
        assert!(repeats(2..3, both).is_err());
        let one = "    result = 0\n    work(1)\n";
        assert!(repeats(2..3, one).unwrap().is_some());
        let end = "    work(1)\n    return result\n";
        assert!(repeats(2..3, end).unwrap().is_some());
        assert!(repeats(4..4, "    return result\n").unwrap().is_some());
        assert_eq!(repeats(1..2, "    result = 1\n").unwrap(), None);
        assert_eq!(repeats(0..4, "def total():\n    return 1\n").unwrap(), None);
        let doubled = "import a\nimport a\nx\n";
        let kept = repeated_neighbours(doubled, &(1..2), "import a\nimport b\n");
        assert_eq!(kept.unwrap(), None);
        assert_eq!(repeated_neighbours("}\n}\n", &(1..1), "}\n").unwrap(), None);
    }

    #[test]
    fn replaces_lines() {
        replaced("a\nb\nc\n", 2, 2, "x\ny", "a\nx\ny\nc\n");
        replaced("a\nb\nc\n", 2, 3, "", "a\n");
        replaced("a\nb\nc", 3, 3, "x\n", "a\nb\nx");
        replaced("a\r\nb\r\n", 1, 1, "x\ny\n", "x\r\ny\r\nb\r\n");
        replaced("a\nb\n", 1, 1, "\n", "\nb\n");
        let edited = replace_lines("a\nb\nc\n", 1, 3, "a\nx\nc\n").unwrap();
        assert_eq!(edited.changes, [LineChange { old: 1..2, new: 1 }]);
    }

    #[test]
    fn inserts_lines() {
        let inserted = |text, after, new| insert_lines(text, after, new).unwrap().text;
        assert_eq!(inserted("a\nb\n", 0, "x"), "x\na\nb\n");
        assert_eq!(inserted("a\nb\n", 2, "x"), "a\nb\nx\n");
        assert_eq!(inserted("a\nb", 2, "x"), "a\nb\nx");
        assert_eq!(inserted("", 0, "x"), "x\n");
    }

    #[test]
    fn a_range_outside_of_the_file_is_refused_with_its_length() {
        let refused = |start, end| {
            replace_lines("a\nb\n", start, end, "x")
                .unwrap_err()
                .message
        };
        assert_eq!(refused(2, 3), "line 3 does not exist: the file has 2 lines");
        assert_eq!(
            refused(0, 1),
            "lines 0-1 are no range; lines count from 1 and the file has 2"
        );
        assert_eq!(
            refused(2, 1),
            "lines 2-1 are no range; lines count from 1 and the file has 2"
        );
        assert!(insert_lines("a\nb\n", 3, "x").is_err());
        assert!(insert_lines("a\n", 1, "# ... existing code ...").is_err());
    }
}
