//! Changes as a unified diff in git's format.
//!
//! Binary and very large files are listed without their content. Text that is not UTF-8 is shown
//! with replacement characters. The output has a size limit and says when it was reached.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::changes::{ChangeKind, SnapshotChange};
use super::objects::Objects;
use super::tree::Node;
use crate::error::Result;
use crate::line_diff::{DiffNames, LineDiff, Lines};

/// Limits on the size of a diff.
#[derive(Debug, Clone, Copy)]
pub struct DiffLimits {
    /// Larger files are only listed.
    pub max_file_bytes: u64,
    /// Maximum size of the output, in bytes; the rest is counted.
    pub max_bytes: usize,
}

impl Default for DiffLimits {
    fn default() -> Self {
        Self {
            max_file_bytes: 1024 * 1024,
            max_bytes: 4 * 1024 * 1024,
        }
    }
}

/// A change with the number of added and removed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffStat {
    /// The change.
    pub change: SnapshotChange,
    /// The line counts; `None` if the file is binary, too large or not covered.
    pub lines: Option<Lines>,
}

/// Time limit for comparing files that have little in common; the diff is then less minimal.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) fn diff(
    objects: &Objects,
    changes: &[SnapshotChange],
    limits: &DiffLimits,
) -> Result<String> {
    let mut text = String::new();
    for (done, change) in changes.iter().enumerate() {
        let mut one = String::new();
        show(objects, change, limits, &mut one)?;
        if text.len() + one.len() > limits.max_bytes {
            let more = changes.len() - done;
            let _ = writeln!(text, "[TRUNCATED: {more} more changes]");
            break;
        }
        text.push_str(&one);
    }
    Ok(text)
}

pub(super) fn stat(
    objects: &Objects,
    changes: Vec<SnapshotChange>,
    limits: &DiffLimits,
) -> Result<Vec<DiffStat>> {
    let count = |change: SnapshotChange| {
        let texts = match sides(objects, &change, limits)? {
            Sides::Text { old, new } => Some((old, new)),
            Sides::Binary | Sides::TooLarge => None,
        };
        let lines = texts.map(|(old, new)| LineDiff::new(&old, &new, PATIENCE).lines());
        Ok(DiffStat { change, lines })
    };
    changes.into_iter().map(count).collect()
}

enum Sides {
    Text { old: String, new: String },
    Binary,
    TooLarge,
}

fn sides(objects: &Objects, change: &SnapshotChange, limits: &DiffLimits) -> Result<Sides> {
    if matches!(change.kind, ChangeKind::NotCovered(_)) {
        return Ok(Sides::TooLarge);
    }
    let mut texts = [String::new(), String::new()];
    for (text, node) in texts.iter_mut().zip([change.before, change.after]) {
        let hash = match node {
            Some(Node::File { size, .. }) if size > limits.max_file_bytes => {
                return Ok(Sides::TooLarge);
            }
            Some(Node::File { content, .. }) => content,
            Some(Node::Link { target }) => target,
            _ => continue,
        };
        let bytes = objects.read(&hash)?;
        if bytes.contains(&0) {
            return Ok(Sides::Binary);
        }
        *text = String::from_utf8_lossy(&bytes).into_owned();
    }
    let [old, new] = texts;
    Ok(Sides::Text { old, new })
}

fn show(
    objects: &Objects,
    change: &SnapshotChange,
    limits: &DiffLimits,
    text: &mut String,
) -> Result<()> {
    if let Some(words) = directory_words(change) {
        let _ = writeln!(text, "{words}: {}", quoted("", &change.path));
        return Ok(());
    }
    let new_name = quoted("b/", &change.path);
    let old_name = match &change.kind {
        ChangeKind::Renamed { from } => quoted("a/", from),
        _ => quoted("a/", &change.path),
    };
    let _ = writeln!(text, "diff --git {old_name} {new_name}");
    show_header(change, text);
    if let ChangeKind::NotCovered(reason) = change.kind {
        let _ = writeln!(
            text,
            "Not shown: {} {}",
            change.path.display(),
            reason.words()
        );
        return Ok(());
    }
    let is_nothing = |node: Option<Node>| node.is_none_or(|node| node.is_directory());
    let old_side = if is_nothing(change.before) {
        "/dev/null"
    } else {
        &old_name
    };
    let new_side = if is_nothing(change.after) {
        "/dev/null"
    } else {
        &new_name
    };
    match sides(objects, change, limits)? {
        Sides::Text { old, new } => {
            let names = DiffNames {
                old: old_side,
                new: new_side,
            };
            text.push_str(&LineDiff::new(&old, &new, PATIENCE).unified(3, Some(names)));
        }
        Sides::Binary => {
            let _ = writeln!(text, "Binary files {old_side} and {new_side} differ");
        }
        Sides::TooLarge => {
            let _ = writeln!(
                text,
                "Files {old_side} and {new_side} differ: too large to show"
            );
        }
    }
    Ok(())
}

/// A change of a directory alone, which git has no notation for.
fn directory_words(change: &SnapshotChange) -> Option<&'static str> {
    let is_directory = |node: Option<Node>| node.is_some_and(|node| node.is_directory());
    match (change.before, change.after) {
        _ if matches!(change.kind, ChangeKind::NotCovered(_)) => None,
        (None, after) if is_directory(after) => Some("New empty directory"),
        (before, None) if is_directory(before) => Some("Deleted empty directory"),
        (before, after) if is_directory(before) && is_directory(after) => {
            Some("Changed permissions of a directory")
        }
        _ => None,
    }
}

fn show_header(change: &SnapshotChange, text: &mut String) {
    let _ = match (mode(change.before), mode(change.after)) {
        (None, Some(new)) => writeln!(text, "new file mode {new:06o}"),
        (Some(old), None) => writeln!(text, "deleted file mode {old:06o}"),
        (Some(old), Some(new)) if old != new => {
            writeln!(text, "old mode {old:06o}\nnew mode {new:06o}")
        }
        _ => Ok(()),
    };
    if let ChangeKind::Renamed { from } = &change.kind {
        let (from, to) = (quoted("", from), quoted("", &change.path));
        let _ = writeln!(text, "rename from {from}\nrename to {to}");
    }
}

/// The mode in git's notation.
fn mode(node: Option<Node>) -> Option<u32> {
    match node? {
        Node::File { mode, .. } => Some(0o100_000 | u32::from(mode)),
        Node::Link { .. } => Some(0o120_000),
        Node::Directory { mode, .. } => Some(0o040_000 | u32::from(mode)),
        Node::PassedOver { .. } => None,
    }
}

/// The path, quoted as git does if it contains unusual characters.
fn quoted(prefix: &str, path: &Path) -> String {
    let path = format!("{prefix}{}", path.display());
    if path.contains(|c: char| c.is_control() || c == '"' || c == '\\') {
        format!("\"{}\"", path.escape_default())
    } else {
        path
    }
}
