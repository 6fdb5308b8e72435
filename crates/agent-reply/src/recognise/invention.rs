//! Results that the model made up, and how far they reach.
//!
//! A section under one of our own headings goes on up to the end mark or to a fence that frames
//! commands. What is claimed to be a command's output is the rest of the claim's paragraph and the
//! code block directly below it; where the claim has words of its own, a block that begins with a
//! command is none of it. A tag ends it, unless that stands in the code block with the output. An
//! element for results (`<function_results>`) is data as a whole, and a code block that begins with a
//! result of ours quotes it.

use std::ops::Range;

use crate::candidate::{OfferSource, ReplyOffer};
use crate::code_fence::{self, Fence};
use crate::line::is_blank_or_fence;
use crate::recognise::other::begins_edit;
use crate::scan::Scan;
use crate::trim::is_blank;
use crate::{file_name, invented, json, tags, work};

/// Lines that the model presents as results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invented {
    Nothing,
    /// Output of a command, up to the line `end`, from the line `block` on in a code block.
    Output {
        block: usize,
        end: usize,
    },
    /// A section of our own messages.
    Section,
}

/// Looks for results on a line, below a command to run if `has_just_run`. The first offer of a reply
/// is told to the model, further ones are the same news.
pub(crate) fn find(
    scan: &Scan<'_>,
    at: usize,
    has_just_run: bool,
) -> Option<(Option<Invented>, ReplyOffer)> {
    let line = scan.lines[at];
    if let Some(end) = invented::element(line).and_then(|name| element_end(scan, at, name)) {
        let offer = ReplyOffer::new(at..end, OfferSource::Invention);
        return Some((None, offer.note(invented::told())));
    }
    let claim = has_just_run.then(|| invented::claim(line)).flatten();
    let reach = if invented::is_heading(line) {
        Some(Invented::Section)
    } else if let Some(words) = claim.filter(|_| !scan.is_in_results(at)) {
        let Range { start: block, end } = claimed_block(scan, at, words);
        Some(Invented::Output { block, end })
    } else if claim.is_some() {
        None
    } else {
        invented::is_outcome(line).then_some(())?;
        quoted_block(scan, at)
    };
    Some((reach, ReplyOffer::invention(at).note(invented::told())))
}

/// The line below the element of this name that begins on a line. The end mark is never in it.
fn element_end(scan: &Scan<'_>, at: usize, name: &str) -> Option<usize> {
    let close = format!("</{name}>");
    let last = end_without_mark(scan, at, |line| line.contains(&close))?;
    Some(last + 1)
}

/// The code block that begins with the result on a line: all of it quotes a message of ours.
fn quoted_block(scan: &Scan<'_>, at: usize) -> Option<Invented> {
    let open = scan.code.open.last()?;
    if open.line < scan.free_from || open.fence.is_frame() || open.first_line(&scan.lines) != at {
        return None;
    }
    if scan.is_in_results(at) {
        return None;
    }
    let end = end_without_mark(scan, at, |line| open.fence.is_closed_by(line))?;
    Some(Invented::Output { block: at, end })
}

/// The first line from `at` on that ends something, if no end mark stands above it.
fn end_without_mark(scan: &Scan<'_>, at: usize, is_end: impl Fn(&str) -> bool) -> Option<usize> {
    if !scan.known.is_patient() {
        return None;
    }
    let mut below = (at..scan.lines.len()).inspect(|_| work::count(1));
    let end = below.find(|line| is_end(scan.lines[*line]));
    let has_mark = |end: usize| {
        let mut inside = scan.tags.below(at).iter().take_while(|tag| tag.line < end);
        inside.any(|tag| matches!(tag.kind, tags::Kind::End(_)))
    };
    scan.known.looked_for(end.filter(|end| !has_mark(*end)))
}

/// The code block with the output that is claimed on a line with these words; an empty one below it
/// where the output is only a paragraph.
fn claimed_block(scan: &Scan<'_>, at: usize, words: &str) -> Range<usize> {
    let frame = scan.frames.open.map(|frame| frame.fence);
    let lines = &scan.lines;
    let has_words = !words.is_empty();
    let begins_command = |line: usize| has_words && begins_command(lines, line);
    let names_block = |line: usize| {
        let below = lines.get(line + 1).and_then(|below| Fence::read(below));
        below.is_some() && file_name::alone(lines[line]).is_some()
    };
    let is_end =
        |line: usize| is_blank_or_fence(lines[line]) || begins_command(line) || names_block(line);
    let mut end = at + 1;
    if !has_words {
        end = code_fence::skip_blank(lines, end);
    }
    let below = (end..lines.len()).inspect(|_| work::count(1));
    end = below
        .take_while(|line| !is_end(*line))
        .last()
        .map_or(end, |last| last + 1);
    if !has_words && end > at + 1 && lines[at + 1..end].iter().any(|line| !is_blank(line)) {
        return end..end;
    }
    let start = code_fence::skip_blank(lines, end);
    let fence = lines.get(start).and_then(|line| Fence::read(line));
    let Some(fence) = fence.filter(|fence| !frame.is_some_and(|frame| fence.closes(&frame))) else {
        return end..end;
    };
    let first = code_fence::skip_blank(lines, start + 1);
    if first < lines.len() && begins_command(first) {
        return end..end;
    }
    let mut inside = (start + 1..lines.len()).inspect(|_| work::count(1));
    let close = inside.find(|line| fence.is_closed_by(lines[*line]));
    start..close.map_or(lines.len(), |close| close + 1)
}

/// Returns true if a command of whatever dialect begins on a line, or the name of its file stands
/// there.
fn begins_command(lines: &[&str], at: usize) -> bool {
    let line = lines[at];
    tags::read(0, line).is_some()
        || file_name::alone(line).is_some()
        || begins_edit(lines, at)
        || json::begins(lines, at)
}
