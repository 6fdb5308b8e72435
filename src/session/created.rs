//! Contents created by file steps. Their replies have them, so an undo need not keep them.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use super::{Record, Store};
use crate::error::{Error, Result};
use crate::protocol::{SessionId, StagedChange};

impl Store {
    /// The hashes of contents that the steps of these rounds wrote into new files, and made of those
    /// later, as far as the journal still tells.
    pub fn created_by_steps(&self, id: &SessionId, rounds: &[u32]) -> Result<HashSet<String>> {
        let path = self.journal_path(id);
        let failed = |cause: io::Error| Error::file("read", &path, cause);
        let mut reader = BufReader::new(File::open(&path).map_err(failed)?);
        let (mut created, mut line) = (HashSet::new(), Vec::new());
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            if line.starts_with(b"{\"event\":\"started\"")
                && let Ok(Record::Started {
                    sequence,
                    batch: Some(batch),
                    ..
                }) = serde_json::from_slice(&line)
                && rounds.contains(&sequence)
            {
                for change in batch.steps.into_iter().flat_map(|step| step.changes) {
                    add(&mut created, change);
                }
            }
            line.clear();
        }
        Ok(created)
    }
}

fn add(created: &mut HashSet<String>, change: StagedChange) {
    if let StagedChange::Write { before, after, .. } = change
        && before.is_none_or(|before| created.contains(&before))
    {
        created.insert(after);
    }
}
