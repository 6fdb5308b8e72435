//! Blocks in a part of a reply that is quoted.
//!
//! A run of lines with a quote mark is read without it if a whole block of one of the dialects
//! stands in it, its file name included. A block that would need a name from elsewhere is a
//! citation, as of what a tool complained about: it is pointed out and not done. Tags need no such help: they are found behind a quote mark, and their bodies know of it. A
//! quotation in a file that is shown in a code block stays as it is.

use std::ops::Range;

use super::talk::Meant;
use super::{Assembly, VAIN_LOOKS};
use crate::code_fence::{self, Fence};
use crate::found::Item;
use crate::repair::{is_spaced_quotation, without_quote_marks};
use crate::tags::read_angled;
use crate::trim::is_blank;
use crate::work;

/// What a run of quoted lines holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Nothing,
    /// A block that is not whole by itself, on this line.
    Citation(usize),
    Block,
}

impl Assembly<'_> {
    /// Takes the quote marks off the lines from here on, if a block stands in them.
    pub(super) fn unquote(&mut self, at: usize) {
        let is_new = at >= self.quotes_read_to && is_quoted(self.lines[at]);
        if !is_new || self.is_in_results(at) || self.is_shown(at) || self.vain_looks >= VAIN_LOOKS {
            return;
        }
        let below = self.tags.below(at).first();
        let limit = below.map_or(self.lines.len(), |tag| tag.line);
        let lines = &self.lines[at..limit];
        let length = lines.iter().take_while(|line| is_quoted(line)).count();
        let run = at..at + length;
        self.quotes_read_to = run.end;
        let quoted = self.lines[run.clone()].to_vec();
        let Some(plain) = without_quote_marks(&quoted, is_spaced_quotation(&quoted)) else {
            return;
        };
        let last_file = self.last_file.take();
        self.lines[run.clone()].copy_from_slice(&plain);
        let held = self.held(run.clone());
        self.last_file = last_file;
        let is_shown = held != Held::Nothing && self.is_in_file(at);
        if held == Held::Block && !is_shown {
            self.repaired("removed the quote mark before some lines", length, true);
            self.unquoted_to = run.end;
            return;
        }
        self.lines[run].copy_from_slice(&quoted);
        if let Held::Citation(line) = held
            && !is_shown
        {
            self.vain_looks += 1;
            let message = "a quoted block names no file of its own and was not done";
            let hint = "Send it again with its file and without `>`, if it was meant.";
            self.doubted(
                line,
                None,
                Meant::Change,
                message.to_owned(),
                hint.to_owned(),
            );
        }
    }

    /// Takes the indentation of a list item off the code block that begins here, if a block stands in
    /// it.
    pub(super) fn unindent(&mut self, at: usize) {
        let Some(fence) = Fence::read(self.lines[at]).filter(|fence| fence.indent > 0) else {
            return;
        };
        let is_done = at < self.unquoted_to || self.is_in_results(at) || self.is_shown(at);
        if is_done || self.vain_looks >= VAIN_LOOKS {
            return;
        }
        let limit = self
            .tags
            .below(at)
            .first()
            .map_or(self.lines.len(), |tag| tag.line);
        let mut below = (at + 1..limit).inspect(|_| work::count(1));
        let Some(close) = below.find(|line| fence.is_closed_by(self.lines[*line])) else {
            self.vain_looks += 1;
            return;
        };
        let run = at..close + 1;
        let indented = self.lines[run.clone()].to_vec();
        let plain: Option<Vec<&str>> = indented
            .iter()
            .map(|line| match line.get(..fence.indent) {
                Some(margin) if is_blank(margin) => Some(&line[fence.indent..]),
                _ => is_blank(line).then_some(""),
            })
            .collect();
        let Some(plain) = plain else {
            return;
        };
        let last_file = self.last_file.take();
        self.lines[run.clone()].copy_from_slice(&plain);
        let held = self.held(run.clone());
        self.last_file = last_file;
        if held == Held::Nothing {
            self.lines[run].copy_from_slice(&indented);
            return;
        }
        self.repaired(
            "removed the indentation of a code block in a list",
            run.len(),
            true,
        );
        self.unquoted_to = run.end;
    }

    fn held(&mut self, run: Range<usize>) -> Held {
        let Range {
            start: mut line,
            end,
        } = run;
        let mut held = Held::Nothing;
        let mut citations = 0;
        while line < end && citations < VAIN_LOOKS {
            if read_angled(line, self.lines[line]).is_some() {
                return Held::Block;
            }
            let Some(found) = self.find(line, end) else {
                line += 1;
                continue;
            };
            let is_sound = |item: &Item| matches!(item, Item::Command(_));
            if found.items.iter().all(is_sound) {
                return Held::Block;
            }
            if held == Held::Nothing {
                held = Held::Citation(line);
            }
            citations += 1;
            line = found.lines.end.max(line + 1);
        }
        held
    }

    /// Whether a code block is open that is more than the frame around a whole reply.
    fn is_in_file(&mut self, at: usize) -> bool {
        let open = code_fence::open_after(&self.lines[self.free_from..at]);
        let is_file = open.is_some_and(|open| !open.fence.is_frame());
        self.vain_looks += u32::from(is_file);
        is_file
    }
}

/// Whether a line has one quote mark; two of them may be the end of a block or a prompt.
pub(super) fn is_quoted(line: &str) -> bool {
    let rest = line.trim_start_matches(' ');
    line.len() - rest.len() <= 3 && rest.starts_with('>') && !rest.starts_with(">>")
}
