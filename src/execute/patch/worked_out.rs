//! A patch that works out: what is to be done, and what is known of the files once it is done.

use super::super::ledger::{Known, Ledger};
use super::operation::Operation;
use crate::protocol::{Level, RelPath};

/// A patch that works out.
#[derive(Default)]
pub(super) struct WorkedOut {
    /// The operations, in this order.
    pub(super) operations: Vec<Operation>,
    /// One line for each change.
    pub(super) report: Vec<String>,
    /// How each change matched.
    pub(super) levels: Vec<Level>,
    /// Which file's history goes on under which other name.
    pub(super) carried: Vec<(RelPath, RelPath)>,
    /// The knowledge about each file afterwards.
    pub(super) known: Vec<(RelPath, Known)>,
}

impl WorkedOut {
    /// The files that are changed.
    pub(super) fn changed(&self) -> Vec<RelPath> {
        let mut paths = Vec::new();
        for operation in &self.operations {
            match operation {
                Operation::Write { path, .. } | Operation::Remove(path) => paths.push(path),
                Operation::Rename { from, to } => paths.extend([from, to]),
            }
        }
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().cloned().collect()
    }

    /// The least strict level that was needed; `AlreadyApplied` only if nothing else was done.
    pub(super) fn level(&self) -> Level {
        let levels = || self.levels.iter().copied();
        (levels()
            .filter(|level| *level != Level::AlreadyApplied)
            .max())
        .or_else(|| levels().max())
        .unwrap_or(Level::Exact)
    }

    /// Enters what is known of the files after the patch was carried out.
    pub(super) fn enter_into(self, ledger: &mut Ledger<'_>) {
        for (from, to) in &self.carried {
            ledger.carry(from, to);
        }
        for (path, known) in self.known {
            ledger.enter(&path, known);
        }
    }
}
