//! Where the lines that hunks state are now.
//!
//! A diff names lines as they were when the reply began, as line edits do. What earlier steps of the
//! reply changed moves them; where the file is not as the model last saw it, they mean nothing. Only
//! a patch that names a file several times is a series, as git writes and applies it: there the
//! lines are those that the change before it left.

use super::super::edit::number;
use super::super::ledger::Known;
use crate::protocol::{Hunk, KnownExtent};

/// By what the lines that hunks state are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// By the file at the beginning of the reply, or where the reply wrote the whole of it.
    Reply,
    /// By what the change before it in the same patch left.
    Patch,
    /// Both earlier steps and this patch changed the file: nobody can count them.
    Nobody,
}

impl Counted {
    /// The rule for the next change of the same patch; called before this one is entered.
    pub(super) fn after_change_of(self, known: &Known) -> Self {
        match self {
            Self::Reply if known.book.is_untouched() => Self::Patch,
            Self::Patch => Self::Patch,
            Self::Reply | Self::Nobody => Self::Nobody,
        }
    }
}

/// Where the line that each hunk states is now, if the model can know it; nothing if all are where
/// they were.
pub(super) fn lines_of_now(
    known: &Known,
    counted: Counted,
    hunks: &[Hunk],
) -> Option<Vec<Option<u32>>> {
    if known.is_stale() || counted == Counted::Nobody {
        return Some(vec![None; hunks.len()]);
    }
    let is_moved = counted == Counted::Reply && !known.book.is_untouched();
    if !is_moved && known.extent == KnownExtent::Whole {
        return None;
    }
    let book = known.book.lookup();
    let now = |hunk: &Hunk| {
        let stated = hunk.old_start?;
        if hunk.lines.iter().any(|line| line.before().is_some()) {
            let line = match stated.max(1) {
                line if is_moved => book.line(line)?,
                line => line as usize,
            };
            known.extent.has(&(line - 1..line)).then(|| number(line))
        } else {
            let gap = match stated {
                line if is_moved => book.gap(line)?,
                line => line as usize,
            };
            known.extent.has_beside(gap).then(|| number(gap))
        }
    };
    Some(hunks.iter().map(now).collect())
}

/// Returns true if lines of the file may differ from those that the model remembers.
pub(super) fn is_unsure(known: &Known) -> bool {
    known.is_stale() || known.extent != KnownExtent::Whole
}
