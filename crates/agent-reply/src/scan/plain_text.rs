//! Blocks in a part of a reply that is quoted, or indented as an item of a list.
//!
//! A run of lines with a quote mark is read without it if a whole block of one of the dialects
//! stands in it, its file name included. A block that would need a name from elsewhere is a
//! citation, as of what a tool complained about: it is pointed out and not done. Tags need no such
//! help: they are found behind a quote mark, and their bodies know of it. A quotation in a file that
//! is shown in a code block stays as it is.

use std::ops::Range;

use agent_protocol::RelPath;

use super::{Scan, VAIN_LOOKS};
use crate::candidate::{BlockTrouble, ReplyOffer};
use crate::carried_out::ShownWork;
use crate::code_fence::{self, Fence};
use crate::recognise::other;
use crate::repair::{is_spaced_quotation, without_quote_marks};
use crate::tags::read_angled;
use crate::trim::is_blank;
use crate::work;

/// The content of a run of quoted or indented lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunContent {
    Nothing,
    /// A block that is not whole by itself, on this line.
    Citation(usize),
    Block,
}

impl<'a> Scan<'a> {
    /// Takes the quote marks off the lines from here on, if a block stands in them.
    pub(super) fn unquote(&mut self, at: usize) {
        if at < self.quotes_read_to || !is_quoted(self.lines[at]) || !self.may_read_plain(at) {
            return;
        }
        let lines = &self.lines[at..self.next_tag(at)];
        let length = lines.iter().take_while(|line| is_quoted(line)).count();
        let run = at..at + length;
        self.quotes_read_to = run.end;
        let quoted = &self.lines[run.clone()];
        let Some(plain) = without_quote_marks(quoted, is_spaced_quotation(quoted)) else {
            return;
        };
        let quoted = self.replace(&run, &plain);
        let content = self.run_content(&run);
        let is_in_file = content != RunContent::Nothing && self.is_in_file(at);
        match content {
            RunContent::Block if !is_in_file => {
                return self.keep_plain(&run, "removed the quote mark before some lines");
            }
            RunContent::Citation(line) if !is_in_file => {
                self.known.add_vain_look();
                let trouble = BlockTrouble::new(
                    "a quoted block names no file of its own and was not done",
                    "Send it again with its file and without `>`, if it was meant.",
                );
                let work = ShownWork::added(&plain[line - at..]);
                self.adopt(ReplyOffer::shown(line, trouble, work));
            }
            _ => {}
        }
        self.replace(&run, &quoted);
    }

    /// Takes the indentation of a list item off the code block that begins here, if a block stands
    /// in it.
    pub(super) fn unindent(&mut self, at: usize) {
        let fence = Fence::read(self.lines[at]).filter(|fence| fence.indent > 0);
        let Some(fence) = fence.filter(|_| at >= self.unquoted_to && self.may_read_plain(at))
        else {
            return;
        };
        let mut below = (at + 1..self.next_tag(at)).inspect(|_| work::count(1));
        let close = below.find(|line| fence.is_closed_by(self.lines[*line]));
        let Some(close) = self.known.looked_for(close) else {
            return;
        };
        let run = at..close + 1;
        let without_margin = |line: &&'a str| match line.get(..fence.indent) {
            Some(margin) if is_blank(margin) => Some(&line[fence.indent..]),
            _ => is_blank(line).then_some(""),
        };
        let plain: Option<Vec<&str>> = self.lines[run.clone()].iter().map(without_margin).collect();
        let Some(plain) = plain else {
            return;
        };
        let indented = self.replace(&run, &plain);
        if self.run_content(&run) == RunContent::Nothing {
            self.replace(&run, &indented);
            return;
        }
        self.keep_plain(&run, "removed the indentation of a code block in a list");
    }

    /// Tells that a run of lines is read without what stood before each.
    fn keep_plain(&mut self, run: &Range<usize>, what: &'static str) {
        self.unquoted_to = run.end;
        self.remark(ReplyOffer::remark(run.start).repaired(what, run.len(), true));
    }

    fn may_read_plain(&self, at: usize) -> bool {
        !self.is_in_results(at) && !self.is_shown(at) && self.known.is_patient()
    }

    fn next_tag(&self, at: usize) -> usize {
        let tag = self.tags.below(at).first();
        tag.map_or(self.lines.len(), |tag| tag.line)
    }

    /// Puts other lines in the place of a run; returns those that stood there.
    fn replace(&mut self, run: &Range<usize>, lines: &[&'a str]) -> Vec<&'a str> {
        let old = self.lines[run.clone()].to_vec();
        self.lines[run.clone()].copy_from_slice(lines);
        old
    }

    fn run_content(&self, run: &Range<usize>) -> RunContent {
        let mut content = RunContent::Nothing;
        let mut frames = self.frames.clone();
        let mut last_file: Option<RelPath> = None;
        let mut citations = 0;
        let mut line = run.start;
        while line < run.end && citations < VAIN_LOOKS {
            if read_angled(line, self.lines[line]).is_some() {
                return RunContent::Block;
            }
            // The fences of the run count as they will once it is read without its marks.
            frames.read(&self.lines, line, self.free_from);
            let window = frames.window_start(line, self.free_from)..run.end;
            let Some(found) = other::find(self, line, window, last_file.as_ref()) else {
                line += 1;
                continue;
            };
            if found.is_sound() {
                return RunContent::Block;
            }
            last_file = other::edited_file(self, line, &found).or(last_file);
            if content == RunContent::Nothing {
                content = RunContent::Citation(line);
            }
            citations += 1;
            line = found.span.end.max(line + 1);
        }
        content
    }

    /// Returns true if a code block is open that is more than the frame around a whole reply.
    fn is_in_file(&self, at: usize) -> bool {
        let open = code_fence::open_after(&self.lines[self.free_from..at]);
        let is_file = open.is_some_and(|open| !open.fence.is_frame());
        if is_file {
            self.known.add_vain_look();
        }
        is_file
    }
}

/// Returns true if a line has one quote mark; two of them may be the end of a block or a prompt.
pub(super) fn is_quoted(line: &str) -> bool {
    let rest = line.trim_start_matches(' ');
    line.len() - rest.len() <= 3 && rest.starts_with('>') && !rest.starts_with(">>")
}
