//! The files of the workspace, as far as the model must hear of them.
//!
//! The first outbox lists them; a follow-up tells only what is new, changed or gone since, because
//! the chat has the rest.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::budget::{self, Claim, Rank};
use super::{Section, chars};
use crate::protocol::RelPath;

/// The files of the workspace at one time, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listing {
    /// The files.
    pub files: Vec<Listed>,
    /// How many more there are.
    pub omitted: u64,
}

/// A file in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Where it is.
    pub path: RelPath,
    /// Its length in bytes.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970; only compared, never shown.
    pub modified: i64,
}

/// What the listing always has room for.
const LEAST: usize = 1200;

/// The section before it is cut to its room.
pub(super) struct Files(String);

/// The section: everything, or what is different since the last outbox.
pub(super) fn section(now: &Listing, before: Option<&Listing>, max_items: usize) -> Files {
    let (mut text, lines) = match before {
        None => ("## Workspace Files\n".to_owned(), all(now)),
        Some(before) => {
            let lines = difference(now, before);
            if lines.is_empty() {
                return Files(String::new());
            }
            (
                "## Workspace Files (what is different since the last message)\n".to_owned(),
                lines,
            )
        }
    };
    if lines.is_empty() {
        text.push_str("(the workspace is empty)\n");
    }
    for line in lines.iter().take(max_items) {
        text.push_str(line);
        text.push('\n');
    }
    if lines.len() > max_items || now.omitted > 0 {
        let _ = writeln!(
            text,
            "[TRUNCATED: first {} items]",
            lines.len().min(max_items)
        );
    }
    Files(text)
}

impl Section for Files {
    fn claims(&self) -> Vec<Claim> {
        let need = chars(&self.0);
        vec![Claim {
            rank: Rank::Listing,
            need,
            least: need.min(LEAST),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Vec<String>) -> String {
        let room = rooms.first().copied().unwrap_or_default();
        if chars(&self.0) <= room {
            return self.0.clone();
        }
        cuts.push("the end of the file listing".to_owned());
        budget::first_lines(&self.0, room)
    }
}

fn all(now: &Listing) -> Vec<String> {
    now.files
        .iter()
        .map(|file| format!("{} ({})", file.path, bytes(file.size)))
        .collect()
}

fn difference(now: &Listing, before: &Listing) -> Vec<String> {
    let known: BTreeMap<&RelPath, &Listed> =
        before.files.iter().map(|file| (&file.path, file)).collect();
    let mut lines = Vec::new();
    for file in &now.files {
        match known.get(&file.path) {
            Some(old) if *old == file => {}
            Some(_) => lines.push(format!("changed: {} ({})", file.path, bytes(file.size))),
            None => lines.push(format!("new: {} ({})", file.path, bytes(file.size))),
        }
    }
    // A listing that was cut says nothing about what it lacks.
    if now.omitted == 0 {
        let present: std::collections::BTreeSet<&RelPath> =
            now.files.iter().map(|file| &file.path).collect();
        let gone = before
            .files
            .iter()
            .filter(|file| !present.contains(&file.path));
        lines.extend(gone.map(|file| format!("deleted: {}", file.path)));
    }
    lines
}

fn bytes(size: u64) -> String {
    if size == 1 {
        "1 byte".to_owned()
    } else {
        format!("{size} bytes")
    }
}
