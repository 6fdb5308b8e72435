//! Lines that a comment, a string, a here-document or a program encloses: a command there is only
//! shown.
//!
//! Only lines count that no command took, so a comment in the body of a file hides nothing. What
//! encloses a command must end in the code block in which it began, and a code block with the end
//! mark in it is the answer.

use std::ops::Range;

use crate::code_fence::Fence;
use crate::line::has_word;
use crate::script;
use crate::tags::{self, Kind};
use crate::trim::{is_blank, trim};

/// The text that encloses a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnclosingText {
    Comment,
    /// A string or a here-document.
    String,
    /// Lines of a program above it in its code block.
    Program,
}

/// Languages of code blocks in which a reply may stand.
const TEXTS: &str = "agent markdown md plain plaintext protocol text txt";

/// Marks that begin a string of several lines, and those that end it. The long ones come first.
const STRINGS: [(&str, &str); 5] = [
    ("\"\"\"", "\"\"\""),
    ("'''", "'''"),
    ("r#\"", "\"#"),
    ("`", "`"),
    ("\"", "\""),
];

/// Text that was begun and not yet ended.
struct OpenText<'a> {
    line: usize,
    text: EnclosingText,
    end: TextEndMark<'a>,
    /// It is a comment of the page around the code blocks in it.
    holds_fences: bool,
}

enum TextEndMark<'a> {
    /// It ends on a line with this in it.
    Within(&'static str),
    /// It ends on a line that is nothing else.
    Alone(&'a str),
    /// It ends with its code block.
    Fence,
}

/// The enclosed lines; `is_taken` tells of each line whether a command has it.
pub(super) fn find(lines: &[&str], is_taken: &[bool]) -> Vec<(Range<usize>, EnclosingText)> {
    let mut fence: Option<Fence<'_>> = None;
    // True as long as only blank lines stand above in the code block.
    let mut is_top = false;
    let mut open: Option<OpenText<'_>> = None;
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let next = Fence::read(line).filter(|_| !is_taken[at]);
        if is_taken[at] {
            is_top = false;
            let kind = || tags::read(at, line).map(|tag| tag.kind);
            let is_comment = line.starts_with('#') && fence.as_ref().is_some_and(is_program);
            if open.is_none() && is_comment && kind().is_some() {
                found.push((at..at + 1, EnclosingText::Comment));
            } else if open.is_some() && matches!(kind(), Some(Kind::End(_))) {
                open = None;
            }
        } else if let Some(begun) = open.as_ref().filter(|it| it.holds_fences) {
            if begun.ends_on(line) {
                found.push((begun.line..at, begun.text));
                open = None;
            }
        } else if next.is_some_and(|next| fence.is_none_or(|around| next.closes(&around))) {
            let ends = |open: &OpenText<'_>| matches!(open.end, TextEndMark::Fence);
            let program = open.take().filter(ends);
            found.extend(program.map(|open| (open.line..at, open.text)));
            fence = if fence.is_some() { None } else { next };
            is_top = fence.is_some();
        } else if let Some(begun) = &open {
            if begun.ends_on(line) {
                found.push((begun.line..at, begun.text));
                open = None;
            }
        } else if next.is_none() && !is_blank(line) {
            open = OpenText::begun(at, line, fence.as_ref().filter(|it| !it.is_frame()), is_top);
            is_top = false;
        }
    }
    found
}

/// Returns true if a code block with this fence holds a program or data.
fn is_program(fence: &Fence<'_>) -> bool {
    !fence.language().is_empty() && !has_word(TEXTS, fence.language()) && !fence.is_frame()
}

impl<'a> OpenText<'a> {
    /// The text that a line begins and does not end, in this code block.
    fn begun(at: usize, line: &'a str, fence: Option<&Fence<'_>>, is_top: bool) -> Option<Self> {
        let opens = |(mark, _): &&(&str, &str)| {
            let is_odd = !line.matches(mark).count().is_multiple_of(2);
            is_odd && (mark.len() == 3 || line.trim_end().ends_with(mark))
        };
        let mut strings = STRINGS.iter().filter(|_| fence.is_some());
        // The log of a shell begins with its prompt.
        let is_log = line.trim_start().starts_with("$ ");
        let (text, end) = if is_top && fence.is_some_and(|fence| is_log || is_program(fence)) {
            (EnclosingText::Program, TextEndMark::Fence)
        } else if let Some(inner) = line.trim_start().strip_prefix("<!--") {
            let is_open = !inner.contains("-->");
            is_open.then_some((EnclosingText::Comment, TextEndMark::Within("-->")))?
        } else if script::written_file(line).is_some() {
            let mark = script::here_document_mark(line)?;
            (EnclosingText::String, TextEndMark::Alone(mark))
        } else {
            let (_, close) = strings.find(opens)?;
            (EnclosingText::String, TextEndMark::Within(close))
        };
        Some(Self {
            line: at,
            text,
            holds_fences: text == EnclosingText::Comment && fence.is_none(),
            end,
        })
    }

    fn ends_on(&self, line: &str) -> bool {
        match self.end {
            TextEndMark::Within(mark) => line.contains(mark),
            TextEndMark::Alone(mark) => trim(line) == mark,
            TextEndMark::Fence => false,
        }
    }
}
