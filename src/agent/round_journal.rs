//! The journal of a session, made durable together with the files that were written before it.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::session::{Journal, Record, Sync};
use crate::workspace::Workspace;

/// Says if files or snapshots were written that no sync has brought onto the disk yet.
#[derive(Debug, Clone)]
pub(super) struct UnsyncedFiles {
    has_some: Rc<Cell<bool>>,
    /// True if a sync of the workspace covers the sessions too.
    pub(super) covers_sessions: bool,
}

impl UnsyncedFiles {
    /// Notes that something was written.
    pub(super) fn note(&self) {
        self.has_some.set(true);
    }
}

/// The journal of a session at work.
#[derive(Debug)]
pub(super) struct RoundJournal<'a> {
    journal: Journal,
    workspace: &'a Workspace,
    pub(super) unsynced: UnsyncedFiles,
}

impl<'a> RoundJournal<'a> {
    /// `sessions` is the directory of the journals.
    pub(super) fn new(journal: Journal, workspace: &'a Workspace, sessions: &Path) -> Self {
        Self {
            journal,
            workspace,
            unsynced: UnsyncedFiles {
                has_some: Rc::default(),
                covers_sessions: workspace.sync_covers(sessions),
            },
        }
    }

    /// Appends, and makes that last together with what was written to files before.
    ///
    /// One sync does both where files and journal lie on the same file system.
    pub(super) fn record(&mut self, records: &[Record]) -> Result<()> {
        if !self.unsynced.has_some.get() {
            return self.journal.append(records, Sync::Now);
        }
        self.journal.append(records, Sync::Later)?;
        let synced = self.workspace.sync();
        synced.map_err(|cause| Error::file("sync", self.workspace.path(), cause))?;
        if self.unsynced.covers_sessions {
            self.journal.note_synced();
        } else {
            self.journal.sync()?;
        }
        self.unsynced.has_some.set(false);
        Ok(())
    }

    /// Appends, and leaves the files to a later sync.
    pub(super) fn append(&mut self, records: &[Record], sync: Sync) -> Result<()> {
        self.journal.append(records, sync)
    }

    /// The records that other processes appended since.
    pub(super) fn news(&mut self) -> Result<Vec<Record>> {
        self.journal.news()
    }

    /// Removes what nobody needs any more, once it has grown long; returns how many bytes that were.
    pub(super) fn compact(&mut self) -> Result<u64> {
        self.journal.compact()
    }

    /// Returns true if it is worth compacting.
    pub(super) fn is_long(&self) -> bool {
        self.journal.is_long()
    }
}
