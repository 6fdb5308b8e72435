//! Edits by line numbers.

use std::borrow::Cow;

use super::align::{DiffBlock, align};
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
    refuse_omission(text, &old, &new)?;
    let splice = |block: DiffBlock| LineSplice {
        above: start - 1 + block.old.start,
        removed: block.old.len(),
        lines: (new[block.new].iter().copied().map(Cow::Borrowed)).collect(),
    };
    document.splice_all(align(&old, &new).into_iter().map(splice).collect());
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
    refuse_omission(text, &[], &new)?;
    let lines = new.into_iter().map(Cow::Borrowed).collect();
    document.splice(above, 0, lines);
    Ok(document.finish(Level::Exact))
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

fn refuse_omission(text: &str, old: &[&str], new: &[&str]) -> Result<(), Refusal> {
    let is_known = guard::line_lookup(text);
    guard::omission_in_edit(old, new, is_known).map_or(Ok(()), |sign| Err(omitted(sign)))
}

pub(super) fn omitted(placeholder: &str) -> Refusal {
    Refusal::new(format!(
        "the new text has the placeholder `{}` instead of the code",
        super::refuse::shortened(placeholder, 80)
    ))
    .with_hint("write all lines out, or word it differently if it is a remark of its own")
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
