//! A model's thinking, which is no part of its answer: `<think> ... </think>`.
//!
//! What stands in it is never a command. It counts only before the first command and outside of
//! code blocks, so that a file about such tags survives.

use std::ops::Range;

use super::code_fence::Fence;
use super::tags;

const NAMES: [&str; 3] = ["think", "thinking", "reasoning"];

/// Blanks the lines of a reply that are thinking, and tells which.
///
/// What follows a closing tag on its line stays, and stands there alone.
pub(super) fn remove(lines: &mut [&str]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut fence: Option<Fence<'_>> = None;
    while at < lines.len() {
        let line = lines[at];
        if let Some(next) = Fence::read(line) {
            fence = match fence {
                Some(open) if next.closes(&open) => None,
                Some(open) => Some(open),
                None => Some(next),
            };
        } else if fence.is_none() {
            match thought(lines, at) {
                Thought::Until(end) => {
                    found.push(at..end);
                    at = end;
                    continue;
                }
                Thought::Endless => break,
                Thought::None if tags::read(at, line).is_some() => break,
                Thought::None => {}
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
    let text = lines[at].trim_start();
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

/// Thinking whose beginning was not copied: all that stands above a closing tag that is alone.
fn headless(lines: &mut [&str]) -> Option<Range<usize>> {
    let mut fence: Option<Fence<'_>> = None;
    for (at, line) in lines.iter().enumerate() {
        if let Some(next) = Fence::read(line) {
            fence = match fence {
                Some(open) if next.closes(&open) => None,
                Some(open) => Some(open),
                None => Some(next),
            };
            continue;
        }
        let text = line.trim();
        if fence.is_none() && text.starts_with("</") {
            let alone = NAMES
                .iter()
                .any(|name| after_closing(text, name).is_some_and(str::is_empty));
            if alone {
                return Some(0..at + 1);
            }
        }
        if tags::read(at, line).is_some() {
            return None;
        }
    }
    None
}

/// Whether a text begins with `<name>` or, with a slash, `</name>`.
fn is_tag(text: &str, name: &str, slash: &str) -> bool {
    text.strip_prefix('<')
        .and_then(|text| text.strip_prefix(slash))
        .and_then(|text| Some((text.get(..name.len())?, text.get(name.len()..)?)))
        .is_some_and(|(word, rest)| word.eq_ignore_ascii_case(name) && rest.starts_with('>'))
}

/// What follows `</name>` on a line.
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
        let found: Vec<_> = remove(&mut lines)
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
            "Hi\n<reasoning>\na\n</reasoning>[DONE]",
            &[(1, 3)],
            "Hi\n[DONE]",
        );
        case("so I write it\n</think>\n[DONE]", &[(0, 2)], "[DONE]");
    }

    #[test]
    fn keeps_what_a_file_says_about_thinking() {
        for text in [
            "[CREATE_FILE path=a]\n<think>\nx\n</think>\n[/CREATE_FILE]",
            "```html\n<think>\nx\n</think>\n```",
            "<think>\n[DONE]",
            "a </think> b",
        ] {
            case(text, &[], text);
        }
    }
}
