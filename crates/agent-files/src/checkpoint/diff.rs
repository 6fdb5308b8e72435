//! Changes as a unified diff, in the form that git gives and reads.
//!
//! Files that are not text, or are too large to compare, are named and not shown. Text that is not
//! UTF-8 is shown with replacement characters. The whole has a limit and says when it was met.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

use super::changes::{Change, What};
use super::objects::Objects;
use super::tree::Node;
use crate::error::Result;

/// How much of a diff is wanted.
#[derive(Debug, Clone, Copy)]
pub struct DiffLimits {
    /// Files with more bytes than these are only named.
    pub max_file_bytes: u64,
    /// The most bytes that are shown; what is more is counted.
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

/// How many lines of one file were added and removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// What happened.
    pub change: Change,
    /// The lines; `None` where they cannot be counted: not text, too large, not covered.
    pub lines: Option<Lines>,
}

/// Counted lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lines {
    /// New ones.
    pub added: u64,
    /// Those that are gone.
    pub removed: u64,
}

/// Bounds the time for files that have nothing in common; the result is then less minimal.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) fn diff(objects: &Objects, changes: &[Change], limits: &DiffLimits) -> Result<String> {
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
    changes: Vec<Change>,
    limits: &DiffLimits,
) -> Result<Vec<Stat>> {
    let count = |change: Change| {
        let texts = match sides(objects, &change, limits)? {
            Sides::Text { old, new } => Some((old, new)),
            Sides::Binary | Sides::TooLarge => None,
        };
        let lines = texts.map(|(old, new)| count(&old, &new));
        Ok(Stat { change, lines })
    };
    changes.into_iter().map(count).collect()
}

fn count(old: &str, new: &str) -> Lines {
    let mut lines = Lines::default();
    for change in compare(old, new).iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => lines.added += 1,
            ChangeTag::Delete => lines.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    lines
}

fn compare<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_lines(old, new)
}

enum Sides {
    Text { old: String, new: String },
    Binary,
    TooLarge,
}

fn sides(objects: &Objects, change: &Change, limits: &DiffLimits) -> Result<Sides> {
    if matches!(change.what, What::NotCovered(_)) {
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

fn show(objects: &Objects, change: &Change, limits: &DiffLimits, text: &mut String) -> Result<()> {
    let new_name = quoted("b/", &change.path);
    let old_name = match &change.what {
        What::Renamed { from } => quoted("a/", from),
        _ => quoted("a/", &change.path),
    };
    let _ = writeln!(text, "diff --git {old_name} {new_name}");
    show_header(change, text);
    if let What::NotCovered(reason) = change.what {
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
            let diff = compare(&old, &new);
            let hunks = diff
                .unified_diff()
                .context_radius(3)
                .header(old_side, new_side)
                .to_string();
            text.push_str(&hunks);
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

fn show_header(change: &Change, text: &mut String) {
    let _ = match (mode(change.before), mode(change.after)) {
        (None, Some(new)) => writeln!(text, "new file mode {new:06o}"),
        (Some(old), None) => writeln!(text, "deleted file mode {old:06o}"),
        (Some(old), Some(new)) if old != new => {
            writeln!(text, "old mode {old:06o}\nnew mode {new:06o}")
        }
        _ => Ok(()),
    };
    if let What::Renamed { from } = &change.what {
        let (from, to) = (quoted("", from), quoted("", &change.path));
        let _ = writeln!(text, "rename from {from}\nrename to {to}");
    }
}

/// The mode as git writes it.
fn mode(node: Option<Node>) -> Option<u32> {
    match node? {
        Node::File { mode, .. } => Some(0o100_000 | u32::from(mode)),
        Node::Link { .. } => Some(0o120_000),
        Node::Directory { mode, .. } => Some(0o040_000 | u32::from(mode)),
        Node::PassedOver { .. } => None,
    }
}

/// A path that cannot be taken for anything else: quoted, as git does, where it has odd characters.
fn quoted(prefix: &str, path: &Path) -> String {
    let path = format!("{prefix}{}", path.display());
    if path.contains(|c: char| c.is_control() || c == '"' || c == '\\') {
        format!("\"{}\"", path.escape_default())
    } else {
        path
    }
}
