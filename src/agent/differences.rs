//! Differences that prepared steps are about to make, for the events that report them.
//!
//! They are computed before the changes are made, while both versions are on disk. This is a
//! courtesy on which nothing depends: files that are unreadable, large or not text are left out,
//! and so is everything that would take long.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use agent_files::line_diff::LineDiff;

use crate::protocol::{RelPath, ShownDifference, StagedChange, StagedStep};
use crate::workspace::Workspace;

/// The largest file that is compared, in bytes.
const MAX_BYTES: u64 = 256 * 1024;
/// How many equal lines are shown around a change.
const CONTEXT: usize = 1;
/// How many lines of hunks are told; longer ones are only counted.
const MAX_LINES: usize = 40;
/// The longest hunks that are told, in bytes.
const MAX_HUNKS: usize = 8 * 1024;
/// After which time a difference need not be the smallest any more.
const PATIENCE: Duration = Duration::from_millis(100);
/// How much time a group of steps gets for it.
const MAX_TIME: Duration = Duration::from_millis(300);

/// The differences that each step makes, by its number.
pub(super) type Differences = BTreeMap<u32, Vec<ShownDifference>>;

/// The difference between two versions of a file; one that is missing is no file.
fn between(before: Option<&str>, after: Option<&str>) -> ShownDifference {
    let diff = LineDiff::new(
        before.unwrap_or_default(),
        after.unwrap_or_default(),
        PATIENCE,
    );
    let is_edit = before.is_some() && after.is_some();
    let hunks = if is_edit {
        diff.unified(CONTEXT, None)
    } else {
        String::new()
    };
    let is_short = hunks.len() <= MAX_HUNKS && hunks.lines().count() <= MAX_LINES;
    let lines = diff.lines();
    ShownDifference {
        added: lines.added,
        removed: lines.removed,
        is_edit,
        hunks: if is_short { hunks } else { String::new() },
    }
}

/// Computes the differences that these steps make, as far as time allows.
pub(super) fn differences(workspace: &Workspace, staged: &[StagedStep]) -> Differences {
    let mut differences = Differences::new();
    let began = Instant::now();
    // A file that two steps change is read once: what the first wrote lies aside.
    let mut contents: HashMap<&str, String> = HashMap::new();
    for step in staged {
        let own = step.changes.iter();
        let own: Vec<ShownDifference> = own
            .take_while(|_| began.elapsed() < MAX_TIME)
            .filter_map(|change| difference(workspace, change, &mut contents))
            .collect();
        if !own.is_empty() {
            differences.insert(step.result.number, own);
        }
    }
    differences
}

fn difference<'s>(
    workspace: &Workspace,
    change: &'s StagedChange,
    contents: &mut HashMap<&'s str, String>,
) -> Option<ShownDifference> {
    let mut text = |hash: &'s str, lies: &RelPath| -> Option<String> {
        if let Some(text) = contents.get(hash) {
            return Some(text.clone());
        }
        let text = text_of(workspace, lies)?;
        contents.insert(hash, text.clone());
        Some(text)
    };
    match change {
        StagedChange::Write {
            path,
            staged,
            before,
            after,
        } => {
            let before = match before {
                Some(hash) => Some(text(hash, path)?),
                None => None,
            };
            let after = text(after, staged)?;
            Some(between(before.as_deref(), Some(&after)))
        }
        StagedChange::Remove { path, before } => Some(between(Some(&text(before, path)?), None)),
        StagedChange::Rename { .. } => None,
    }
}

fn text_of(workspace: &Workspace, path: &RelPath) -> Option<String> {
    let bytes = workspace.read(path, MAX_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_told_with_its_hunks_and_a_long_one_only_counted() {
        let edit = between(Some("one\ntwo\n"), Some("one\n2\n3\n"));
        assert_eq!((edit.added, edit.removed, edit.is_edit), (2, 1, true));
        assert_eq!(edit.hunks, "@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n");
        let long = between(Some(""), Some(&"x\n".repeat(50)));
        assert_eq!((long.added, long.hunks.as_str()), (50, ""));
        let new = between(None, Some("x\n"));
        assert_eq!((new.added, new.is_edit, new.hunks.as_str()), (1, false, ""));
    }
}
