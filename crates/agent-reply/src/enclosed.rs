//! Lines that an HTML comment or a string of a program encloses: a command there is only shown.
//!
//! Only lines count that no command took, so a comment in the body of a file hides nothing. What a
//! string or a comment encloses must end in the code block in which it began.

use std::ops::Range;

use crate::code_fence::Fence;
use crate::tags::{self, Kind};

/// The text that encloses a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnclosingText {
    Comment,
    String,
}

/// Marks that begin a string of several lines, and those that end it. The long ones come first.
const STRINGS: [(&str, &str); 5] = [
    ("\"\"\"", "\"\"\""),
    ("'''", "'''"),
    ("r#\"", "\"#"),
    ("`", "`"),
    ("\"", "\""),
];

/// The enclosed lines; `blocks` are the lines of commands, in order.
pub(super) fn find(lines: &[&str], blocks: &[Range<usize>]) -> Vec<(Range<usize>, EnclosingText)> {
    let mut blocks = blocks.iter().peekable();
    let (mut taken_to, mut has_command) = (0, false);
    let mut fence: Option<Fence<'_>> = None;
    let mut open: Option<(usize, EnclosingText, &str)> = None;
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        while let Some(block) = blocks.next_if(|block| block.start <= at) {
            taken_to = taken_to.max(block.end);
            has_command = true;
        }
        if at < taken_to {
            // With the end mark in it, it is the answer.
            let kind = || tags::read(at, line).map(|tag| tag.kind);
            if open.is_some() && matches!(kind(), Some(Kind::End(_))) {
                open = None;
            }
        } else if let Some((start, text, _)) = open.take_if(|open| line.contains(open.2)) {
            if has_command {
                found.push((start..at, text));
            }
        } else if let Some(next) = Fence::read(line) {
            (fence, open) = match fence {
                Some(around) if !next.closes(&around) => (fence, open),
                Some(_) => (None, None),
                None => (Some(next), None),
            };
        } else if open.is_none() {
            let is_code = fence.is_some_and(|fence| !fence.is_frame());
            open = opened(line, is_code).map(|(text, close)| (at, text, close));
            has_command = false;
        }
    }
    found
}

/// The comment or string that a line begins and does not end, and the mark that ends it.
fn opened(line: &str, is_code: bool) -> Option<(EnclosingText, &'static str)> {
    if let Some(inner) = line.trim_start().strip_prefix("<!--") {
        return (!inner.contains("-->")).then_some((EnclosingText::Comment, "-->"));
    }
    let opens = |(mark, _): &&(&str, &str)| {
        let is_odd = !line.matches(mark).count().is_multiple_of(2);
        is_odd && (mark.len() == 3 || line.trim_end().ends_with(mark))
    };
    let found = STRINGS.iter().filter(|_| is_code).find(opens);
    found.map(|(_, close)| (EnclosingText::String, *close))
}
