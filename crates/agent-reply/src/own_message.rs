//! Our own message, copied together with the answer to it.
//!
//! ```text
//! message := ( "=== HEADER ===" | "=== PART n of m ===" ) ... "=== PROMPT ===" words end-mark
//! ```
//!
//! It is full of commands that are examples, and of files that may hold anything, so that it goes
//! before anything else is looked for. A file that is only about such messages stays: what stands in
//! a body or a code block is left to those who read it.

use std::ops::Range;

use super::code_fence::Fence;
use super::tags::{self, Kind, copy_button};
use super::trim::{is_blank, trim};
use agent_protocol::{EndMark, SessionId};

/// The headings of the first and the last section of an outbox.
pub(super) const FIRST_SECTION: &str = "=== HEADER ===";
pub(super) const LAST_SECTION: &str = "=== PROMPT ===";

/// How many lines that may be the last heading are looked at: a file in the message may have some.
const MOST_SECTIONS: usize = 16;

/// Blanks the lines of our messages, and tells which; `text` is the same as the lines.
pub(super) fn remove(text: &str, lines: &mut [&str]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if memchr::memmem::find(text.as_bytes(), LAST_SECTION.as_bytes()).is_none() {
        return found;
    }
    let mut around = OpenAround::default();
    let mut at = 0;
    while at < lines.len() {
        if around.are_free() && begins(lines[at]) {
            let Some(end) = end(lines, at) else {
                break;
            };
            lines[at..end].fill("");
            found.push(at..end);
            at = end;
            continue;
        }
        around.pass(at, lines[at]);
        at += 1;
    }
    found
}

/// Returns true if a message of ours may begin on this line.
pub(super) fn begins(line: &str) -> bool {
    trim(line) == FIRST_SECTION || is_part(line)
}

/// Returns true if this is the heading of a part of a message.
pub(super) fn is_part(line: &str) -> bool {
    let text = trim(line);
    text.starts_with("=== PART ") && text.ends_with(" ===")
}

/// Where the message ends that begins on this line: below its end mark or, if that was not copied,
/// below the heading of its last section.
pub(super) fn end(lines: &[&str], at: usize) -> Option<usize> {
    let is_whole = trim(lines[at]) == FIRST_SECTION;
    let heading = || last_sections(lines, at).next().filter(|_| is_whole);
    marked_end(lines, at).or_else(|| heading().map(|heading| heading + 1))
}

/// Returns true if something stands below the message that begins on this line.
pub(super) fn is_answered(lines: &[&str], at: usize) -> bool {
    let is_nothing = |line: &str| is_blank(line) || copy_button::is_button(trim(line));
    marked_end(lines, at).is_some_and(|end| !lines[end..].iter().all(|line| is_nothing(line)))
}

fn marked_end(lines: &[&str], at: usize) -> Option<usize> {
    let own = own_mark(lines, at);
    let mut sections = last_sections(lines, at).take(MOST_SECTIONS);
    sections.find_map(|section| below_prompt(lines, section, own.as_ref()))
}

fn last_sections<'l>(lines: &'l [&str], at: usize) -> impl Iterator<Item = usize> + 'l {
    (at + 1..lines.len()).filter(|line| trim(lines[*line]) == LAST_SECTION)
}

/// The line below the end mark of the section that begins here, if no command stands before it.
fn below_prompt(lines: &[&str], section: usize, own: Option<&EndMark>) -> Option<usize> {
    for (at, line) in lines.iter().enumerate().skip(section + 1) {
        match tags::read(at, line).map(|tag| tag.kind) {
            Some(Kind::End(mark)) => {
                return own.is_none_or(|own| *own == mark).then_some(at + 1);
            }
            Some(Kind::Open { .. }) => return None,
            _ if trim(line) == LAST_SECTION => return None,
            _ => {}
        }
    }
    None
}

/// The end mark of a message, as its header tells it.
fn own_mark(lines: &[&str], at: usize) -> Option<EndMark> {
    let header = &lines[at + 1..lines.len().min(at + 3)];
    let value = |key: &str| header.iter().find_map(|line| trim(line).strip_prefix(key));
    Some(EndMark {
        session: SessionId::parse(value("Session:")?.trim()).ok()?,
        sequence: value("Sequence:")?.trim().parse().ok()?,
    })
}

/// Bodies and code blocks that are open around a line.
#[derive(Default)]
struct OpenAround<'a> {
    body: Option<tags::Name>,
    fence: Option<Fence<'a>>,
    /// True if the fence is the first line of all, as around a whole text.
    is_frame: bool,
    has_text: bool,
}

impl<'a> OpenAround<'a> {
    fn are_free(&self) -> bool {
        self.body.is_none() && (self.fence.is_none() || self.is_frame)
    }

    fn pass(&mut self, at: usize, line: &'a str) {
        if is_blank(line) {
            return;
        }
        if let Some(fence) = Fence::read(line) {
            self.is_frame = !self.has_text;
            self.fence = fence.follow(self.fence);
        } else {
            self.is_frame = false;
        }
        self.has_text = true;
        match tags::read(at, line).map(|tag| tag.kind) {
            Some(Kind::Open { name, inline, .. }) if self.body.is_none() => {
                self.body = (inline.is_none() && name.needs_body()).then_some(name);
            }
            Some(Kind::Close { name, .. }) if self.body == Some(name) => self.body = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "=== HEADER ===\nSession: ab12cd34\nSequence: 1\nTask: x\n\n=== PROTOCOL ===\n[DONE]\n[END ab12cd34#1]\n\n=== CONTEXT ===\n```\n=== PROMPT ===\n[END ffffffff#1]\n```\n\n=== PROMPT ===\nDo it.\n[END ab12cd34#1]\n";

    #[track_caller]
    fn left(text: &str, expected: &str) {
        let mut lines: Vec<&str> = text.lines().collect();
        let found = remove(text, &mut lines);
        let is_gone = |line: &usize| found.iter().any(|range| range.contains(line));
        let kept: Vec<&str> = (0..lines.len())
            .filter(|line| !is_gone(line))
            .map(|line| lines[line])
            .collect();
        assert_eq!(kept.join("\n"), expected.trim_end(), "{text}");
    }

    #[test]
    fn a_message_goes_up_to_its_end_mark() {
        let answer = "You said:\nHi\n[DONE]\n[END ab12cd34#1]";
        left(
            &format!("You said:\n{MESSAGE}Hi\n[DONE]\n[END ab12cd34#1]"),
            answer,
        );
        left(&format!("```\n{MESSAGE}\n```\nHi"), "```\n\n```\nHi");
        let later = MESSAGE.replace("#1", "#2").replace(": 1", ": 2");
        left(
            &format!("{MESSAGE}[GIT_STATUS]\n{later}[DONE]"),
            "[GIT_STATUS]\n[DONE]",
        );
        let part = "=== PART 2 of 2 ===\nlast\n\n=== PROMPT ===\nDo it.\n[END ab12cd34#1]\n";
        left(&format!("{part}[DONE]"), "[DONE]");
        left(
            "=== HEADER ===\nx\n=== PROMPT ===\nGo on\n[DONE]",
            "Go on\n[DONE]",
        );
    }

    #[test]
    fn a_file_about_messages_stays() {
        for text in [
            format!("[CREATE_FILE path=\"a\"]\n{MESSAGE}[/CREATE_FILE]\n"),
            format!("a.txt\n```\n{MESSAGE}```\n"),
            "=== HEADER ===\nx\n".to_owned(),
            "=== PART 1 of 2 ===\n=== PROMPT ===\n[DONE]".to_owned(),
        ] {
            left(&text, &text);
        }
    }
}
