//! A model's thinking, which is no part of its answer: `<think> ... </think>`.
//!
//! Nothing in it is ever a command. It counts only before the first command, in whatever
//! dialect, and outside of code blocks, the frame around a whole reply aside, so that a file about
//! such tags survives.

use std::cell::OnceCell;
use std::ops::Range;

use super::code_fence::Fence;
use super::tags::{self, Kind, Name};
use super::xml::{self, XmlEnds};
use super::{json, patch, search_replace};
use crate::recognise::other::begins_edit;
use crate::trim::{is_blank, trim_end, trim_start};

const NAMES: [&str; 5] = ["think", "thinking", "reasoning", "scratchpad", "reflection"];

/// Blanks the lines of a reply that are thinking, and tells which.
///
/// Text behind a closing tag stays, alone on its line. `text` is the same as the
/// lines: without a closing tag in it they need not be looked at.
pub(super) fn remove(text: &str, lines: &mut [&str]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let has_closing = |name: &&str| after_closing(text, name).is_some();
    if !NAMES.iter().any(has_closing) {
        return found;
    }
    let mut at = 0;
    let mut fence: Option<Fence<'_>> = None;
    let mut is_top = true;
    let ends = OnceCell::new();
    while at < lines.len() {
        let line = lines[at];
        if let Some(next) = Fence::read(line) {
            is_top &= is_frame(&next);
            fence = next.follow(fence);
        } else if tags::read(at, line).is_some()
            || tags::read_angled(at, line).is_some()
            || begins_edit(lines, at)
            || json::begins(lines, at)
            || xml::last_line(lines, at, &ends).is_some()
        {
            // Below it may stand what belongs to a file, also where a fence seems to be closed.
            break;
        } else if fence.is_none() || is_top {
            match thought(lines, at) {
                Thought::Until(end) => {
                    found.push(at..end);
                    at = end;
                    continue;
                }
                Thought::Endless => break,
                Thought::None => is_top &= is_blank(line),
            }
        }
        at += 1;
    }
    if found.is_empty() {
        found.extend(headless(lines));
    }
    for thought in &found {
        lines[thought.clone()].fill("");
    }
    found
}

enum Thought {
    /// None begins here.
    None,
    /// It ends before this line.
    Until(usize),
    /// It does not end, so that it cannot be told from the answer.
    Endless,
}

/// Follows the thinking that begins here; what follows its end is put on a line of its own.
fn thought(lines: &mut [&str], at: usize) -> Thought {
    let text = trim_start(lines[at]);
    if !text.starts_with('<') {
        return Thought::None;
    }
    let Some(name) = NAMES.iter().find(|name| is_tag(text, name, "")) else {
        return Thought::None;
    };
    for (line, text) in lines.iter_mut().enumerate().skip(at) {
        if let Some(rest) = after_closing(text, name) {
            if rest.trim().is_empty() {
                return Thought::Until(line + 1);
            }
            *text = rest;
            return Thought::Until(line);
        }
    }
    Thought::Endless
}

/// Returns true if a fence at the top is one that people and chats put around a whole reply.
fn is_frame(fence: &Fence<'_>) -> bool {
    ["", "text", "plaintext", "markdown", "md"].contains(&fence.info)
}

/// Thinking whose beginning was not copied: all that stands above a closing tag that is alone.
///
/// Commands above it were only thought of, if others follow it and it is not part of a body. In
/// the frame around a whole reply only commands that follow tell it from a text about such tags.
/// Where the opening tag stands above it, or a block of another dialect around it, it is of a file.
fn headless(lines: &[&str]) -> Option<Range<usize>> {
    let first = lines.iter().position(|line| !is_blank(line))?;
    let is_framed = Fence::read(lines[first]).is_some_and(|fence| is_frame(&fence));
    let top = first + usize::from(is_framed);
    let mut fence: Option<Fence<'_>> = None;
    let mut has_commands = false;
    let mut open = Vec::new();
    let mut blocks = Blocks::default();
    for (at, line) in lines.iter().enumerate().skip(top) {
        if NAMES.iter().any(|name| is_tag(trim_start(line), name, "")) {
            return None;
        }
        blocks.look(lines, at);
        if let Some(next) = Fence::read(line) {
            fence = next.follow(fence);
            continue;
        }
        if fence.is_none() && is_lone_closing(line) {
            if at < blocks.end {
                return None;
            }
            let is_certain = !has_commands && !is_framed;
            let is_thought = is_certain || is_answered(&lines[at + 1..], &open);
            return is_thought.then_some(top..at + 1);
        }
        match tags::read(at, line).map(|tag| tag.kind) {
            Some(Kind::Open { name, inline, .. }) => {
                has_commands = true;
                if inline.is_none() && !open.contains(&name) {
                    open.push(name);
                }
            }
            Some(Kind::Close { name, .. }) => open.retain(|other| *other != name),
            Some(_) => has_commands = true,
            None => {}
        }
    }
    None
}

/// The blocks of other dialects whose lines may be of a file.
#[derive(Default)]
struct Blocks {
    /// The line below the last one that was seen to begin.
    end: usize,
    /// True if it is known that no SEARCH/REPLACE block ends any more.
    is_endless: bool,
    /// Whose closing tags in angle brackets do not follow any more.
    unclosed: Vec<Name>,
    patches: patch::Ends,
    elements: OnceCell<XmlEnds>,
}

impl Blocks {
    fn look(&mut self, lines: &[&str], at: usize) {
        if at < self.end {
            return;
        }
        if !self.is_endless && search_replace::is_head(lines[at]) {
            let tail = (at..lines.len()).find(|line| search_replace::is_tail(lines[*line]));
            self.is_endless = tail.is_none();
            self.end = tail.unwrap_or(0);
        } else if json::begins(lines, at) {
            self.end = json::last_line(lines, at).unwrap_or(0);
        } else if patch::begins(lines[at]) {
            self.end = self.patches.end_line(lines, at).unwrap_or(0);
        } else if let Some(last) = xml::last_line(lines, at, &self.elements) {
            self.end = last;
        } else if let Some(Kind::Open { name, .. }) =
            tags::read_angled(at, lines[at]).map(|tag| tag.kind)
            && !self.unclosed.contains(&name)
        {
            let closing = format!("</{}>", name.as_str());
            let end = (at..lines.len()).find(|line| lines[*line].ends_with(&closing));
            self.unclosed.extend(end.is_none().then_some(name));
            self.end = end.unwrap_or(0);
        }
    }
}

/// Returns true if commands follow, and none of them closes a body that was `open` before.
fn is_answered(lines: &[&str], open: &[Name]) -> bool {
    let mut again = Vec::new();
    let mut has_commands = false;
    for (at, line) in lines.iter().enumerate() {
        match tags::read(at, line).map(|tag| tag.kind) {
            Some(Kind::Open { name, .. }) => {
                has_commands = true;
                if !again.contains(&name) {
                    again.push(name);
                }
            }
            Some(Kind::Close { name, .. }) if open.contains(&name) && !again.contains(&name) => {
                return false;
            }
            _ => {}
        }
    }
    has_commands
}

/// Returns true if a line is a closing tag and nothing else.
fn is_lone_closing(line: &str) -> bool {
    let text = trim_end(line);
    let is_closed = |name: &&str| after_closing(text, name).is_some_and(str::is_empty);
    text.starts_with("</") && NAMES.iter().any(is_closed)
}

/// Returns true if a text begins with `<name>` or, with a slash, `</name>`.
fn is_tag(text: &str, name: &str, slash: &str) -> bool {
    text.strip_prefix('<')
        .and_then(|text| text.strip_prefix(slash))
        .and_then(|text| Some((text.get(..name.len())?, text.get(name.len()..)?)))
        .is_some_and(|(word, rest)| word.eq_ignore_ascii_case(name) && rest.starts_with('>'))
}

/// The rest of a line behind `</name>`.
fn after_closing<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    memchr::memmem::find_iter(line.as_bytes(), b"</")
        .map(|at| &line[at..])
        .find(|text| is_tag(text, name, "/"))
        .map(|text| &text[name.len() + 3..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, thoughts: &[(usize, usize)], left: &str) {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let found: Vec<_> = remove(text, &mut lines)
            .into_iter()
            .map(|thought| (thought.start, thought.end))
            .collect();
        assert_eq!(found, thoughts, "{text}");
        let is_thought = |line: usize| found.iter().any(|(from, to)| (*from..*to).contains(&line));
        let kept: Vec<&str> = (0..lines.len())
            .filter(|line| !is_thought(*line))
            .map(|line| lines[line])
            .collect();
        assert_eq!(kept.join("\n"), left, "{text}");
    }

    #[test]
    fn leaves_out_what_the_model_thought() {
        case("<think>\n[DONE]\n</think>\nHi", &[(0, 3)], "Hi");
        case("<Thinking>hm</Thinking>\nHi", &[(0, 1)], "Hi");
        case(
            "<think>\n<invoke name=\"Edit\">\n</invoke>\n</think>\nHi",
            &[(0, 4)],
            "Hi",
        );
        case(
            "Hi\n<reasoning>\na\n</reasoning>[DONE]",
            &[(1, 3)],
            "Hi\n[DONE]",
        );
        case("so I write it\n</think>\n[DONE]", &[(0, 2)], "[DONE]");
        case(
            "``````\n<think>\n[DONE]\n</think>\n[GIT_STATUS]\n``````",
            &[(1, 4)],
            "``````\n[GIT_STATUS]\n``````",
        );
    }

    #[test]
    fn commands_that_were_only_thought_of_are_left_out() {
        case(
            "or\n[RUN_COMMAND]\nrm x\n[/RUN_COMMAND]\nno\n</think>\n[DONE]",
            &[(0, 6)],
            "[DONE]",
        );
        case("[GIT_STATUS]\n</think>\n[DONE]", &[(0, 2)], "[DONE]");
        case(
            "```\n[GIT_STATUS]\n</think>\n[DONE]\n```",
            &[(1, 3)],
            "```\n[DONE]\n```",
        );
    }

    #[test]
    fn keeps_what_a_file_says_about_thinking() {
        for text in [
            "[CREATE_FILE path=a]\n<think>\nx\n</think>\n[/CREATE_FILE]",
            "```html\n<think>\nx\n</think>\n```",
            "<think>\n[DONE]",
            "a </think> b",
            "[GIT_STATUS]\n</think>\nbye",
            "```\na\n</think>\n```",
            "*** Begin Patch\n*** Update File: a\n </think>\n-a\n+b\n*** End Patch",
            "[CREATE_FILE path=a]\n</think>\n[/CREATE_FILE]\n[DONE]",
            "```\n[CREATE_FILE path=a]\n# x\n```sh\nls\n```\n<think>\nx\n</think>\n[/CREATE_FILE]\n[DONE]\n```",
            "<write_to_file>\n<path>a</path>\n<content>\n<think>\nx\n</think>\n</content>\n</write_to_file>",
            "<invoke name=\"Edit\">\n<parameter name=\"old_string\"><think>\nx\n</think></parameter>\n</invoke>",
            "<function=edit>\n<parameter=old_string>\n<think>\nx\n</think>\n</parameter>\n</function>",
            "a\n<<<<<<< SEARCH\nold\n=======\n<think>\nx\n</think>\n>>>>>>> REPLACE",
            "a\n<<<<<<< SEARCH\nold\n=======\n</think>\n>>>>>>> REPLACE\n[DONE]",
            "{\"tool\": \"write_file\", \"path\": \"a\", \"content\": \"\n<think>\nx\n</think>\n\"}",
            "{\"tool\": \"write_file\", \"path\": \"a\", \"content\": \"\n</think>\n\"}",
            "*** Begin Patch\n*** Add File: a\n</think>\n*** End Patch",
            "<CREATE_FILE path=\"a\">\n</think>\n</CREATE_FILE>",
            "*** Begin Patch\n*** Add File: a\n<think>\nx\n</think>\n*** End Patch",
            "<CREATE_FILE path=\"a\">\n<think>\nx\n</think>\n</CREATE_FILE>",
        ] {
            case(text, &[], text);
        }
    }
}
