//! The files of the workspace, as far as the model must hear of them.
//!
//! The first outbox lists them; a follow-up tells only what is new, changed or gone since, because
//! the chat has the rest. What does not fit becomes a tree, see `tree`. Names are whatever somebody
//! made them, so they stand in a code block and cannot pass for headings or words of ours.

mod difference;
mod generated;
mod runs;
mod tree;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::difference::ListedChange;
pub use self::difference::ListingChanges;
use self::tree::Tree;
use super::budget::{self, CUT_WORDS, Claim, Rank};
use super::content::fenced;
use super::cuts::Cuts;
use super::relevance::Relevance;
use super::titles::titles;
use super::{Section, chars};
use crate::number::grouped;
use crate::protocol::Listed;
use crate::protocol::generated::unread;

/// The files of the workspace at one time, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listing {
    /// The files; those of the walk itself, unless some were filled by tools.
    pub files: Arc<Vec<Listed>>,
    /// How many more there are.
    pub omitted: u64,
    /// How many have names that cannot be written in a reply.
    #[serde(default)]
    pub unnamable: u64,
    /// Directories that tools fill by themselves, each with the number of its files; these are not
    /// among the files.
    #[serde(default)]
    pub generated: BTreeMap<String, u64>,
    /// Files that the check made before the first message; these are not among the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_by_check: Vec<Listed>,
    /// True if the workspace is a git repository.
    #[serde(default)]
    pub is_repository: bool,
}

impl Listing {
    /// Leaves the project as it was before the check, and names apart what the check made.
    pub fn set_apart_made_since(&mut self, before: &Self) {
        // A listing that was cut does not tell what is new.
        if before.omitted > 0 {
            return;
        }
        let is_old = |file: &Listed| {
            let found = (before.files).binary_search_by(|old| old.path.cmp(&file.path));
            found.is_ok()
        };
        let files = Arc::unwrap_or_clone(std::mem::take(&mut self.files));
        let (old, made) = files.into_iter().partition(is_old);
        self.files = Arc::new(old);
        self.made_by_check = made;
        self.generated.clone_from(&before.generated);
    }
}

/// The room that the listing always has.
const LEAST: usize = 1500;

/// The most room that the listing takes, so that a paste stays handy.
const MOST: usize = 12_000;

const FOLDED: &str =
    "Directories with `(... files)` are not shown in full: LIST_FILES (path) opens them.\n";

/// The length of the fences of a code block, unless names have runs of backticks.
const FENCES: usize = 8;

const HEADING: &str = "\n## Workspace Files\n";
const HEADING_LATER: &str = "\n## Workspace Files (what is different since the last message)\n";

/// The section before it is cut to its room.
pub(super) enum Files<'a> {
    /// The whole listing.
    All {
        now: &'a Listing,
        /// The files that matter, by what was touched and what the task says.
        relevance: Relevance<'a>,
        max_items: usize,
        /// The section in all the room that it may take, and true if something is cut.
        most: (String, bool),
    },
    /// The differences to the last message.
    Different {
        /// A line for each file, as many as there may be items.
        lines: Vec<String>,
        /// True if there are more.
        has_more: bool,
    },
}

/// The section: everything, or what is different since the last outbox.
pub(super) fn section<'a>(
    now: &'a Listing,
    before: Option<&Listing>,
    relevance: impl FnOnce() -> Relevance<'a>,
    max_items: usize,
) -> Files<'a> {
    let Some(before) = before else {
        let relevance = relevance();
        return Files::All {
            most: all(now, &relevance, max_items, MOST),
            now,
            relevance,
            max_items,
        };
    };
    let (gone, there): (Vec<_>, Vec<_>) = now
        .differences(before)
        .partition(|difference| matches!(difference, ListedChange::Deleted(_)));
    let has_more = there.len() + gone.len() > max_items;
    let all = there.into_iter().chain(gone).take(max_items);
    Files::Different {
        lines: all.map(ListedChange::words).collect(),
        has_more,
    }
}

impl Files<'_> {
    fn render(&self, room: usize) -> (String, bool) {
        match self {
            Self::All {
                now,
                relevance,
                max_items,
                most,
            } => {
                if chars(&most.0) <= room {
                    return most.clone();
                }
                all(now, relevance, *max_items, room)
            }
            Self::Different { lines, has_more } => different(lines, *has_more, room),
        }
    }
}

impl Section for Files<'_> {
    fn claims(&self) -> Vec<Claim> {
        let need = chars(&self.render(MOST).0);
        vec![Claim {
            rank: Rank::Listing,
            need,
            least: need.min(LEAST),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
        let room = rooms.first().copied().unwrap_or_default();
        let (text, is_cut) = self.render(room.min(MOST));
        if is_cut {
            cuts.push("part of the file listing".to_owned());
        }
        text
    }
}

/// Renders the differences since the last message, as many as fit; and true if something is cut.
fn different(lines: &[String], has_more: bool, room: usize) -> (String, bool) {
    if lines.is_empty() {
        return (String::new(), false);
    }
    let text = lines.join("\n") + "\n";
    let left = room.saturating_sub(chars(HEADING_LATER));
    let is_cut = chars(&text) + if has_more { CUT_WORDS } else { 0 } > left;
    let (kept, _) = budget::lines_within(
        &text,
        if is_cut {
            left.saturating_sub(CUT_WORDS)
        } else {
            left
        },
    );
    let mut text = format!("{HEADING_LATER}{kept}");
    if is_cut || has_more {
        let _ = writeln!(text, "{}", truncated(kept.lines().count()));
    }
    (text, is_cut)
}

/// The word about items that are missing.
fn truncated(shown: usize) -> String {
    format!("[TRUNCATED: first {shown} items]")
}

/// The whole listing: a line for each file if they are few, else a tree; and whether it lacks more
/// than what the model can ask for by name.
fn all(now: &Listing, relevance: &Relevance<'_>, max_items: usize, room: usize) -> (String, bool) {
    let mut text = HEADING.to_owned();
    let _ = writeln!(text, "({})", sum(now));
    text.push_str(&made_by_check(now));
    let generated = generated::lines(&now.generated);
    let left = room.saturating_sub(chars(&text) + FENCES + chars(&generated));
    let flat = flat(now, max_items, left);
    let (mut lines, mut shown, mut is_cut) = if let Some(flat) = flat {
        (flat, now.files.len(), false)
    } else {
        text.push_str(FOLDED);
        let around = chars(&text) + FENCES + chars(&generated) + CUT_WORDS;
        let tree = Tree::of(&now.files, relevance);
        let tree = tree.render(max_items, room.saturating_sub(around));
        (tree.text, tree.shown, tree.is_part)
    };
    lines.push_str(&generated);
    let has_more = |is_cut: bool| is_cut || now.omitted > 0;
    let words = if has_more(is_cut) { CUT_WORDS } else { 0 };
    let left = room.saturating_sub(chars(&text) + fences(&lines));
    if chars(&lines) + words > left {
        let (kept, _) = budget::lines_within(&lines, left.saturating_sub(CUT_WORDS));
        (shown, is_cut) = (kept.lines().count(), true);
        lines.truncate(kept.len());
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "{}", fenced(&lines));
    }
    if has_more(is_cut) {
        let _ = writeln!(text, "{}", truncated(shown));
    }
    if chars(&text) > room {
        return (format!("{HEADING}{}\n", truncated(0)), true);
    }
    (text, is_cut)
}

/// A line about the files that the check made.
fn made_by_check(now: &Listing) -> String {
    const NAMES: usize = 300;
    if now.made_by_check.is_empty() {
        return String::new();
    }
    let name = |file: &Listed| format!("{} ({})", file.path.quoted(), described(file));
    let names: Vec<String> = now.made_by_check.iter().map(name).collect();
    format!(
        "Made by the check, and not listed: {}.\n",
        titles(&names, NAMES)
    )
}

/// The length of the fences around these lines.
fn fences(lines: &str) -> usize {
    chars(&fenced(lines)) + 1 - chars(lines)
}

/// A line for each file, if they are few enough.
fn flat(now: &Listing, max_items: usize, room: usize) -> Option<String> {
    if now.files.len() > max_items {
        return None;
    }
    let mut text = String::new();
    for file in now.files.iter() {
        let _ = writeln!(text, "{} ({})", file.path, described(file));
    }
    (chars(&text) <= room).then_some(text)
}

/// How many files there are and what they are part of.
fn sum(now: &Listing) -> String {
    let repository = if now.is_repository {
        "a git repository"
    } else {
        "not a git repository"
    };
    let left_out = match now.unnamable {
        0 => String::new(),
        count => {
            let plural = if count == 1 { "" } else { "s" };
            let count = grouped(count);
            format!("; left out: {count} name{plural} that cannot be written in a reply")
        }
    };
    if now.files.is_empty() && now.generated.is_empty() {
        return format!("the workspace is empty; {repository}{left_out}");
    }
    let size = now.files.iter().map(|file| file.size).sum();
    format!(
        "{}, {}; {repository}{left_out}",
        files(now.files.len() as u64),
        bytes(size)
    )
}

/// The size of a file, and what it is if it is not to be read.
fn described(file: &Listed) -> String {
    if file.is_link {
        return "link".to_owned();
    }
    let size = bytes(file.size);
    match unread(&file.path) {
        Some(kind) => format!("{size}, {kind}"),
        None => size,
    }
}

fn files(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} file{plural}", grouped(count))
}

/// A size that is easy to read and no longer than it need be.
fn bytes(size: u64) -> String {
    match size {
        1 => "1 byte".to_owned(),
        0..10_000 => format!("{size} bytes"),
        10_000..1_000_000 => format!("{} kB", size / 1000),
        _ => format!("{}.{} MB", grouped(size / 1_000_000), size / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests;
