//! The code block that commands stand in: the frame that the instructions ask for, or another.
//!
//! Only lines outside of bodies are looked at, each once, so a fence in a file opens nothing.

use super::Assembly;
use crate::code_fence::{Enclosure, Fence};
use crate::trim::is_blank;
use crate::work;

impl<'a> Assembly<'a> {
    /// The code block that is open at a line.
    pub(super) fn frame_at(&mut self, line: usize) -> Option<Enclosure<'a>> {
        self.read_fences(line);
        self.frame
    }

    /// Looks at the fences above a line.
    pub(super) fn read_fences(&mut self, end: usize) {
        for line in self.fences_read_to..end {
            work::count(1);
            let Some(fence) = Fence::read(self.lines[line]) else {
                continue;
            };
            self.frame = match self.frame {
                Some(open) if fence.closes(&open.fence) => {
                    if open.line < self.free_from {
                        self.frames_end = line + 1;
                    }
                    None
                }
                None => Some(Enclosure { line, fence }),
                open => open,
            };
            if fence.is_frame() {
                self.leave_results();
            }
        }
        self.fences_read_to = self.fences_read_to.max(end);
    }

    /// Takes a block that may begin and end with the fences around it.
    pub(super) fn take_with_fences(&mut self, start: usize, end: usize) -> usize {
        self.read_fences(start + 1);
        self.fences_read_to = self.fences_read_to.max(end.saturating_sub(1));
        self.read_fences(end);
        self.take(start, end)
    }
}

/// Whether the frame of a reply ends inside of a body: two parts of it were pasted one after the
/// other, and what stands between them is no part of the file.
///
/// Only a long fence tells: shorter ones may be the body's own. At the end of a body it only
/// crosses the closing tag.
pub(super) fn has_seam(body: &[&str], frame: &Fence<'_>) -> bool {
    let last = body.iter().rposition(|line| !is_blank(line)).unwrap_or(0);
    let fences = body[..last].iter().filter_map(|line| Fence::read(line));
    let mut inner: Option<Fence<'_>> = None;
    for fence in fences.filter(|fence| fence.is_as_long_as(frame)) {
        match inner {
            Some(open) if fence.closes(&open) => inner = None,
            Some(_) => {}
            None if fence.closes(frame) => return frame.is_frame(),
            None => inner = Some(fence),
        }
    }
    false
}
