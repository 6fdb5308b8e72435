//! One block, from its head to its tail.

use std::ops::Range;

use agent_protocol::Replacement;

use super::markers::{self, Head};
use crate::candidate::BlockTrouble;
use crate::code_fence::{self, Fence};
use crate::file_name;
use crate::repair::{Divider, numbered, without_line_numbers};
use crate::trim::is_blank;

/// A block as it was read.
pub(super) struct EditBlock {
    pub(super) replacement: Result<Replacement, BlockTrouble>,
    /// The line after it.
    pub(super) end: usize,
    pub(super) ending: EditBlockEnd,
}

/// The line that ended a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditBlockEnd {
    Tail,
    NextHead,
    EndOfText,
}

impl EditBlock {
    /// Reads the block whose head is the line `at`.
    pub(super) fn read(lines: &[&str], at: usize, head: &Head<'_>) -> Self {
        let mut dividers = Vec::new();
        let start = at + 1;
        for (index, line) in lines.iter().enumerate().skip(start) {
            if let Some(length) = markers::divider(line, head.length) {
                dividers.push((index, length));
            } else if markers::is_tail(line) {
                return Self {
                    replacement: divide(lines, start..index, &dividers, head.length),
                    end: index + 1,
                    ending: EditBlockEnd::Tail,
                };
            } else if markers::head(line).is_some() {
                let closed = closed_by_divider(lines, start, index, &dividers);
                return closed.unwrap_or_else(|| Self {
                    replacement: Err(unfinished(&dividers)),
                    end: index,
                    ending: EditBlockEnd::NextHead,
                });
            }
        }
        let closed = closed_by_divider(lines, start, lines.len(), &dividers);
        closed.unwrap_or_else(|| Self {
            replacement: Err(unfinished(&dividers)),
            end: lines.len(),
            ending: EditBlockEnd::EndOfText,
        })
    }
}

/// The block that a second divider ends in the place of its tail: nothing of it stands below.
fn closed_by_divider(
    lines: &[&str],
    start: usize,
    end: usize,
    dividers: &[(usize, usize)],
) -> Option<EditBlock> {
    let [(divider, length), (tail, other)] = dividers else {
        return None;
    };
    let mut below = lines[tail + 1..end].iter().filter(|line| !is_blank(line));
    let is_ended = match below.next() {
        None => end < lines.len(),
        Some(line) => {
            let is_name = end < lines.len() && file_name::alone(line).is_some();
            is_name || Fence::read(line).is_some() || code_fence::is_tag(line)
        }
    };
    (length == other && is_ended).then(|| EditBlock {
        replacement: Ok(replacement(lines, start..*divider, divider + 1..*tail)),
        end: tail + 1,
        ending: EditBlockEnd::Tail,
    })
}

fn unfinished(dividers: &[(usize, usize)]) -> BlockTrouble {
    let missing = if dividers.is_empty() {
        "`=======` and `>>>>>>> REPLACE`"
    } else {
        "`>>>>>>> REPLACE`"
    };
    BlockTrouble::new(
        format!("the SEARCH/REPLACE block has no {missing}"),
        "send the whole block again: `<<<<<<< SEARCH`, the old lines, `=======`, the new lines, `>>>>>>> REPLACE`",
    )
}

/// Finds the divider among the lines between head and tail.
fn divide(
    lines: &[&str],
    body: Range<usize>,
    dividers: &[(usize, usize)],
    length: usize,
) -> Result<Replacement, BlockTrouble> {
    let as_long: Vec<usize> = dividers
        .iter()
        .filter(|(_, other)| *other == length)
        .map(|(index, _)| *index)
        .collect();
    let candidates = if as_long.is_empty() {
        dividers.iter().map(|(index, _)| *index).collect()
    } else {
        as_long
    };
    let divider = match candidates[..] {
        [only] => only,
        // Some models write it once more before the tail.
        [first, second] if second + 1 == body.end => {
            return Ok(replacement(lines, body.start..first, first + 1..second));
        }
        [] => {
            return Err(BlockTrouble::new(
                "the SEARCH/REPLACE block has no `=======` between its two parts",
                "put a line `=======` between the old lines and the new ones",
            ));
        }
        _ => {
            return Err(BlockTrouble::new(
                "the SEARCH/REPLACE block has several `=======` lines, so its parts are not certain",
                "write `\\=======` where the line belongs to the file, or use a marker of another length throughout",
            ));
        }
    };
    Ok(replacement(
        lines,
        body.start..divider,
        divider + 1..body.end,
    ))
}

fn replacement(lines: &[&str], search: Range<usize>, replace: Range<usize>) -> Replacement {
    let (stated, search) = without_header(&lines[search]);
    let (search, replace) = (unescaped(search), unescaped(&lines[replace]));
    // Whether the numbers are the model's or the file's only the file can tell.
    let unnumbered = without_numbers(&search).map(|(first, search)| {
        let bare = without_numbers(&replace).map(|(_, bare)| bare);
        let replace = ended(bare.as_ref().unwrap_or(&replace));
        Box::new(Replacement {
            line: stated.or(Some(first)),
            ..Replacement::lines(ended(&search), replace)
        })
    });
    // A blank line alone quotes nothing: it is how some models write an empty part.
    let quoted = match search[..] {
        [""] => String::new(),
        _ => ended(&search),
    };
    Replacement {
        line: stated,
        unnumbered,
        ..Replacement::lines(quoted, ended(&replace))
    }
}

/// The text of these lines, each with its newline, so that a blank one at the end is a line too.
fn ended(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

fn unescaped<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| markers::unescape(line)).collect()
}

/// Takes Roo's `:start_line:` lines and the rule under them off.
fn without_header<'a, 'b>(search: &'b [&'a str]) -> (Option<u32>, &'b [&'a str]) {
    let mut stated = None;
    let mut rest = search;
    while let [first, others @ ..] = rest {
        let text = first.trim();
        if let Some(number) = text.strip_prefix(":start_line:") {
            stated = number.trim().parse().ok();
        } else if !text.starts_with(":end_line:") {
            break;
        }
        rest = others;
    }
    if rest.len() == search.len() {
        return (None, search);
    }
    match rest {
        [rule, others @ ..] if markers::is_rule(rule) => (stated, others),
        _ => (stated, rest),
    }
}

/// Takes `12 | `, `12: ` or a like number off every line, if they go up by one.
fn without_numbers<'a>(lines: &[&'a str]) -> Option<(u32, Vec<&'a str>)> {
    let (first, ..) = numbered(lines.first()?)?;
    if let [only] = lines {
        let (_, divider, text) = numbered(only)?;
        return (divider == Divider::Bar).then(|| (first, vec![text]));
    }
    let plain = without_line_numbers(lines, &[Divider::Bar, Divider::Colon, Divider::Tab])?;
    Some((first, plain))
}
