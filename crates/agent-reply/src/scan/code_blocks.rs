//! The code blocks of a reply, as far as no offer took their lines, and the files that they show.

use std::cell::OnceCell;

use crate::candidate::BlockTrouble;
use crate::code_fence::{self, Fence};
use crate::recognise::shown::{self, ShownContent};

use super::Scan;

/// Code blocks above the current line.
#[derive(Default)]
pub(crate) struct CodeBlocks<'a> {
    /// Those that are open, the innermost last.
    pub(crate) open: Vec<OpenBlock<'a>>,
    /// First line below the last one that was closed.
    pub(crate) after: usize,
    /// The block with the file that is shown here, and the line below it.
    shown: Option<(usize, OpenBlock<'a>)>,
    /// File whose block is not closed.
    cut_file: Option<(usize, String)>,
    pub(crate) files: ShownFiles,
}

/// Files that code blocks show under their paths.
#[derive(Default)]
pub(crate) struct ShownFiles {
    /// Each with the line of its fence.
    pub(crate) files: Vec<(usize, String)>,
    pub(crate) unclear: Vec<UnclearBlock>,
    /// Commands stand in tags, so no file is written from a block.
    pub(crate) has_tags: bool,
}

/// A block under a path that is neither written nor done.
pub(crate) struct UnclearBlock {
    pub(crate) fence: usize,
    pub(crate) name: String,
    pub(crate) trouble: BlockTrouble,
    pub(crate) reason: UnclearReason,
}

#[derive(PartialEq, Eq)]
pub(crate) enum UnclearReason {
    /// It holds something else than the file.
    Content,
    /// Nobody can tell where it ends.
    End,
}

/// A code block that was begun.
#[derive(Clone)]
pub(crate) struct OpenBlock<'a> {
    pub(crate) fence: Fence<'a>,
    pub(crate) line: usize,
    pub(crate) is_program: bool,
    /// Its first line that is not blank, once somebody asked.
    first: OnceCell<usize>,
    /// Last line of the text that can close it, once somebody asked.
    last_close: OnceCell<usize>,
}

impl OpenBlock<'_> {
    pub(crate) fn first_line(&self, lines: &[&str]) -> usize {
        let look = || code_fence::skip_blank(lines, self.line + 1);
        *self.first.get_or_init(look)
    }

    pub(crate) fn last_close(&self, lines: &[&str]) -> usize {
        let look = || {
            let last = lines.iter().rposition(|line| self.fence.is_closed_by(line));
            last.unwrap_or(lines.len())
        };
        *self.last_close.get_or_init(look)
    }
}

impl Scan<'_> {
    /// Returns true if a line is of a file that is shown.
    pub(crate) fn is_shown(&self, at: usize) -> bool {
        let shown = &self.code.shown;
        shown.as_ref().is_some_and(|(end, _)| at < *end)
    }

    /// Follows the fence on a line that no offer took.
    pub(super) fn follow_fence(&mut self, at: usize) {
        if self.is_shown(at) {
            return;
        }
        let Some(fence) = Fence::read(self.lines[at]) else {
            return;
        };
        if self.closes_last(&fence) {
            self.code.after = at + 1;
            return;
        }
        let open = OpenBlock {
            fence,
            line: at,
            is_program: shown::is_program(&fence),
            first: OnceCell::new(),
            last_close: OnceCell::new(),
        };
        let Some(block) = shown::find(self, at, &fence) else {
            self.code.open.push(open);
            return;
        };
        match block.content {
            ShownContent::File(name) => self.code.files.files.push((at, name)),
            ShownContent::Cut(name) => self.code.cut_file = Some((at, name)),
            ShownContent::Unclear(unclear) => self.code.files.unclear.push(unclear),
            ShownContent::Script(offers) => {
                for offer in offers {
                    self.adopt(offer);
                }
            }
        }
        self.code.shown = Some((block.end, open));
        self.code.after = block.end;
    }

    /// Follows the blocks over the lines of an offer.
    pub(super) fn follow_taken(&mut self, start: usize, end: usize) {
        // The fences in a body would be counted for those of the file around it.
        if end > start + 1
            && let Some((_, open)) = self.code.shown.take_if(|(until, _)| start < *until)
        {
            self.code.open.push(open);
        }
        if let Some(fence) = end
            .checked_sub(1)
            .and_then(|last| Fence::read(self.lines[last]))
        {
            self.closes_last(&fence);
        }
    }

    fn closes_last(&mut self, fence: &Fence<'_>) -> bool {
        let open = &mut self.code.open;
        open.pop_if(|open| fence.closes(&open.fence)).is_some()
    }

    /// The code block that the end of the text leaves open: a sign that the reply was cut.
    pub(super) fn open_block(&mut self) -> Option<(usize, String)> {
        if let Some((line, name)) = self.code.cut_file.take() {
            return Some((line, format!("CREATE_FILE {name}")));
        }
        let open = self.code.open.last()?;
        if open.line < self.free_from || open.fence.is_frame() {
            return None;
        }
        // A fence with nothing below it may only be one too many.
        let has_text = self.texts(open.line + 1..self.lines.len()) > 0;
        (has_text || !open.fence.info.is_empty()).then(|| (open.line, "a code block".to_owned()))
    }
}
