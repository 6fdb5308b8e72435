//! Results that the model made up, and what stands among them.
//!
//! A section under one of our own headings goes on up to the end mark or to a fence that frames
//! commands. What is claimed to be a command's output is the rest of the claim's paragraph and the
//! code block directly below it; where the claim has words of its own, a block that begins with a
//! command is none of it. A tag ends it, unless that stands in the code block with the output. A
//! command in results that would change or run something is not done.

use std::ops::Range;

use super::Assembly;
use crate::code_fence::{self, Fence};
use crate::line::is_blank_or_fence;
use crate::trim::is_blank;
use crate::{diff, file_name, invented, json, patch, search_replace, tags, work};

/// Whether lines are results that only we can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Results {
    None,
    /// The output of a command, up to the line `end`, from the line `block` on in a code block.
    Output {
        block: usize,
        end: usize,
    },
    /// A section of our own messages.
    Section,
}

impl Assembly<'_> {
    /// Whether a line stands in such results.
    pub(super) fn is_in_results(&mut self, line: usize) -> bool {
        self.read_fences(line);
        match self.results {
            Results::None => false,
            Results::Section => true,
            Results::Output { end, .. } => line < end,
        }
    }

    /// Where the output ends that is claimed to stand on a line.
    pub(super) fn output_end(&mut self, line: usize) -> Option<usize> {
        self.read_fences(line);
        match self.results {
            Results::Output { end, .. } if line < end => Some(end),
            _ => None,
        }
    }

    /// Takes note of a tag: output that is shown above it has come to its end.
    pub(super) fn leave_output(&mut self, line: usize) {
        self.read_fences(line);
        if let Results::Output { block, .. } = self.results
            && line < block
        {
            self.results = Results::None;
        }
    }

    pub(super) fn leave_results(&mut self) {
        self.results = Results::None;
    }

    /// Looks for results that only we can know.
    pub(super) fn look_for_results(&mut self, at: usize) {
        let line = self.lines[at];
        if is_blank_or_fence(line) {
            return;
        }
        let has_just_run = std::mem::take(&mut self.has_just_run);
        let claim = invented::claim(line).filter(|_| has_just_run);
        let is_new = claim.is_some() && !self.is_in_results(at);
        if invented::is_heading(line) {
            self.read_fences(at);
            self.results = Results::Section;
        } else if let Some(words) = claim.filter(|_| is_new) {
            let Range { start: block, end } = self.claimed_block(at, words);
            self.results = Results::Output { block, end };
        } else if claim.is_none() && !invented::is_outcome(line) {
            return;
        }
        if !std::mem::replace(&mut self.has_results, true) {
            let (message, hint) = invented::told();
            self.issue(at, None, None, message, hint);
        }
    }

    /// The code block with the output that is claimed on a line with these words; an empty one below
    /// it where it is only a paragraph.
    fn claimed_block(&mut self, at: usize, words: &str) -> Range<usize> {
        let frame = self.frame_at(at).map(|frame| frame.fence);
        let lines = &self.lines;
        let has_words = !words.is_empty();
        let begins_command = |line: usize| has_words && begins_command(lines, line);
        let names_block = |line: usize| {
            let below = lines.get(line + 1).and_then(|below| Fence::read(below));
            below.is_some() && file_name::alone(lines[line]).is_some()
        };
        let is_end = |line: usize| {
            is_blank_or_fence(lines[line]) || begins_command(line) || names_block(line)
        };
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
        let Some(fence) = fence.filter(|fence| !frame.is_some_and(|frame| fence.closes(&frame)))
        else {
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
}

/// Whether a command of whatever dialect begins on a line, or the name of its file stands there.
fn begins_command(lines: &[&str], at: usize) -> bool {
    let line = lines[at];
    tags::read(0, line).is_some()
        || file_name::alone(line).is_some()
        || search_replace::is_head(line)
        || patch::begins(line)
        || diff::begins(lines, at)
        || json::begins(lines, at)
}
