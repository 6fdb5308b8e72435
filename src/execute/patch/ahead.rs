//! Works out ahead, on several threads, what the changes of a large patch make of their files.
//!
//! Only files that no other change of the patch speaks of: nothing before a change can alter what
//! it finds there. What was worked out is taken up when the turn of the change comes; whatever is
//! missing here is worked out then.

use std::collections::BTreeMap;

use super::super::staging::Staging;
use super::patched::Patched;
use crate::protocol::{FileChange, Hunk, RelPath};

/// Fewer files are not worth it.
const WORTH_IT: usize = 16;

/// What could be worked out ahead, by file.
pub(super) fn work_ahead(
    staging: &mut Staging<'_>,
    changes: &[FileChange],
    max_bytes: u64,
) -> BTreeMap<RelPath, Patched> {
    if changes.len() < WORTH_IT {
        return BTreeMap::new();
    }
    let updates = lone_updates(changes);
    let worked_out = staging.read_ahead(
        updates.keys().copied().collect(),
        max_bytes,
        |path, content| Patched::new(content, updates.get(path)?).ok(),
    );
    worked_out
        .into_iter()
        .filter_map(|(path, worked)| Some((path.clone(), worked?)))
        .collect()
}

/// The files that one change updates and no other one names.
fn lone_updates(changes: &[FileChange]) -> BTreeMap<&RelPath, &[Hunk]> {
    let mut updates: BTreeMap<&RelPath, Option<&[Hunk]>> = BTreeMap::new();
    for change in changes {
        let mut name = |path, hunks: Option<_>| {
            updates
                .entry(path)
                .and_modify(|update| *update = None)
                .or_insert(hunks);
        };
        match change {
            FileChange::Update {
                path,
                move_to: None,
                hunks,
                ..
            } => name(path, (!hunks.is_empty()).then_some(hunks.as_slice())),
            FileChange::Update {
                path,
                move_to: Some(to),
                ..
            } => {
                name(path, None);
                name(to, None);
            }
            FileChange::Add { path, .. } | FileChange::Delete { path, .. } => name(path, None),
        }
    }
    updates
        .into_iter()
        .filter_map(|(path, hunks)| Some((path, hunks?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::stage::{path, update};
    use super::*;

    #[test]
    fn files_that_two_changes_name_wait_for_their_turn() {
        let delete = |name: &str| FileChange::Delete {
            path: path(name),
            hunks: Vec::new(),
        };
        let mut moved = update("from", &["-a", "+b"]);
        if let FileChange::Update { move_to, .. } = &mut moved {
            *move_to = Some(path("to"));
        }
        let changes = [
            update("once", &["-a", "+b"]),
            update("twice", &["-a", "+b"]),
            update("twice", &["-c", "+d"]),
            update("gone", &["-a", "+b"]),
            delete("gone"),
            moved,
            update("to", &["-b", "+c"]),
            update("last", &["-a", "+b"]),
        ];
        let paths = lone_updates(&changes);
        let names: Vec<&str> = paths.keys().map(|path| path.as_str()).collect();
        assert_eq!(names, ["last", "once"]);
    }
}
