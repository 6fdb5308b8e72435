//! Files that changed after the last sign of life of a process that was killed.
//!
//! The command that it ran may have changed such a file, or the person while `agent` was down:
//! nobody knows. So the checkpoint before the round is made anew without these files, and an undo
//! of the round names them and leaves them alone. With `--force` they are restored from the
//! original checkpoint. A file whose hash the journal records as a step's own work is clear, no
//! matter when it was written.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::SystemTime;

use super::named::named_by;
use super::{Baseline, NAMED, RoundJournal};
use crate::agent::text_of;
use crate::checkpoint::{Before, Node, PassedOver, Reach, Reason, Snapshot};
use crate::error::Result;
use crate::protocol::{Bounded, Event, Recovery, RelPath, Step};
use crate::session::{Printed, Record, Recovered, Sync};
use crate::workspace::survey::FileStat;

/// Evidence that tells the changes of an interrupted round from later ones.
struct Clear<'a> {
    /// When it showed its last sign of life, in nanoseconds since 1970.
    alive_at: i64,
    /// Hashes of the contents that its steps wrote or were about to write, by file.
    written: HashMap<&'a Path, BTreeSet<&'a str>>,
    /// The directories of the files that its steps name.
    directories: BTreeSet<&'a Path>,
}

impl Baseline<'_> {
    /// Sets apart what was changed since the round under way showed its last sign of life.
    ///
    /// If nobody can tell what that is, the round has no checkpoint before it.
    pub(in crate::agent) fn set_apart(
        &mut self,
        recovered: &mut Recovered,
        sequence: u32,
        steps: &[Step],
        journal: &mut RoundJournal<'_>,
    ) -> Result<()> {
        let last_sign = self.last_sign(recovered, sequence);
        let (Some(before), Some(alive_at)) = (recovered.before, last_sign) else {
            return Ok(());
        };
        let named = named_by(steps);
        let clear = Clear::of(recovered, &named, alive_at);
        let apart = self.apart(before, &clear, steps);
        recovered.before = match apart {
            Some((snapshot, unclear)) if !unclear.is_empty() => {
                self.tell_unclear(&unclear);
                let before = before.apart(snapshot);
                let record = Record::Before { sequence, before };
                journal.append(&[record], Sync::Now)?;
                Some(before)
            }
            Some(_) => Some(before),
            None => None,
        };
        Ok(())
    }

    fn apart(
        &mut self,
        before: Before,
        clear: &Clear<'_>,
        steps: &[Step],
    ) -> Option<(Snapshot, Vec<PassedOver>)> {
        let agent = self.agent;
        let now = match before.reach {
            Reach::Named => self.checkpoint_part(before.snapshot, &named_by(steps)),
            Reach::Whole => {
                let whole = self.checkpoint()?;
                Some(self.with_named(whole, steps))
            }
        }?;
        let why_apart = |path: &Path, node: &Node, stat: &FileStat| {
            (!clear.has(path, node, stat)).then_some(Reason::Meanwhile)
        };
        let store = self.store().ok()?;
        let apart = store.set_apart(&agent.workspace, before.snapshot, now, why_apart);
        apart.ok()
    }

    /// When the process that was killed last wrote into the journal, or was attending to a command.
    fn last_sign(&self, recovered: &Recovered, sequence: u32) -> Option<i64> {
        let folder = self.agent.store.folder(&self.id);
        let printed = Printed::last_known_to_run(&folder, sequence);
        let last = printed.max(recovered.written_at)?;
        let since = last.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_nanos()).ok()
    }

    fn tell_unclear(&self, unclear: &[PassedOver]) {
        let files = unclear.iter().map(|one| text_of(&one.path));
        let files = Bounded::new(NAMED, files);
        self.agent
            .tell(Event::Recovery(Recovery::Unclear { files }));
    }
}

impl<'a> Clear<'a> {
    fn of(recovered: &'a Recovered, named: &'a [RelPath], alive_at: i64) -> Self {
        let mut written: HashMap<&Path, BTreeSet<&str>> = HashMap::new();
        let changes = (recovered.batches.iter())
            .flat_map(|batch| &batch.steps)
            .flat_map(|step| &step.changes);
        for (path, _, after) in changes.flat_map(|change| change.effects()) {
            let known = written.entry(Path::new(path.as_str())).or_default();
            known.extend(after);
        }
        let above = named.iter().map(|path| Path::new(path.as_str()));
        Self {
            alive_at,
            written,
            directories: above.flat_map(|path| path.ancestors().skip(1)).collect(),
        }
    }

    /// Returns true if the node is the round's own work, or did not change after the last sign of
    /// life.
    fn has(&self, path: &Path, node: &Node, stat: &FileStat) -> bool {
        match node {
            Node::Directory { .. } if self.directories.contains(path) => true,
            Node::File { content, .. } if self.has_written(path, &content.to_hex()) => true,
            _ => stat.modified.max(stat.changed) <= self.alive_at,
        }
    }

    fn has_written(&self, path: &Path, hash: &str) -> bool {
        let known = self.written.get(path);
        known.is_some_and(|known| known.contains(hash))
    }
}
