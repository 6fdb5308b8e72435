//! Where the lines that hunks state are now.
//!
//! A diff names lines as they were when the reply began, as line edits do. What earlier steps of the
//! reply changed moves them; where the file is not as the model last saw it, they mean nothing.

use super::super::edit::number;
use super::super::ledger::Known;
use crate::protocol::{Extent, Hunk};

/// Where the line that each hunk states is now, if the model can know it; nothing if all are where
/// they were.
pub(super) fn lines_of_now(known: &Known, hunks: &[Hunk]) -> Option<Vec<Option<u32>>> {
    if known.is_stale() {
        return Some(vec![None; hunks.len()]);
    }
    if known.book.is_untouched() && known.extent == Extent::Whole {
        return None;
    }
    let book = known.book.lookup();
    let now = |hunk: &Hunk| {
        let stated = hunk.old_start?;
        if hunk.lines.iter().any(|line| line.before().is_some()) {
            let line = book.line(stated.max(1))?;
            known.extent.has(&(line - 1..line)).then(|| number(line))
        } else {
            let gap = book.gap(stated)?;
            known.extent.has_beside(gap).then(|| number(gap))
        }
    };
    Some(hunks.iter().map(now).collect())
}

/// Whether lines of the file may be others than those that the model remembers.
pub(super) fn is_unsure(known: &Known) -> bool {
    known.is_stale() || known.extent != Extent::Whole
}
