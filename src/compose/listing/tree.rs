//! A workspace that is too large to be listed: a tree in which directories are folded.
//!
//! The top level is always shown. Then directories are opened one after the other while there is
//! room: first those on the way to what matters, then the shallow before the deep and the small
//! before the large. A directory that matters and is too large shows only what matters in it. What
//! is not opened reads `data/ (12,345 files)`.
//!
//! The files are sorted, so a directory is a range of them, and nothing is looked at that is not
//! shown, whatever the size of the workspace.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt::Write as _;

use super::{Listed, described, files};
use crate::protocol::RelPath;

/// What a line takes beside its name and its indentation, about.
const LINE: usize = 20;

/// Directories that are opened last: what they hold is seldom worked on.
const LAST: &[&str] = &[
    "build",
    "coverage",
    "dist",
    "fixtures",
    "out",
    "snapshots",
    "target",
    "testdata",
    "third_party",
    "vendor",
];

/// The tree of these files.
pub(super) struct Tree<'a> {
    files: &'a [Listed],
    /// Where the files are that matter.
    pinned: BTreeSet<usize>,
    /// What is open.
    open: BTreeMap<Directory, Opened>,
}

/// A directory: the files from `from` to before `to`, whose own names begin after `start` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Directory {
    from: usize,
    to: usize,
    start: usize,
    depth: usize,
}

#[derive(Debug, Clone, Copy)]
enum Entry {
    File(usize),
    Directory(Directory),
}

/// What is shown of a directory.
#[derive(Debug)]
struct Opened {
    entries: Vec<Entry>,
    /// Whether there is more in it.
    is_part: bool,
}

/// How urgently a directory is opened; the least comes first.
type Urgency = (u8, usize, usize, Directory);

impl<'a> Tree<'a> {
    /// The tree of files that are sorted by path.
    pub(super) fn of(files: &'a [Listed], pinned: &BTreeSet<&RelPath>) -> Self {
        let place = |path: &&RelPath| files.binary_search_by(|file| file.path.cmp(path)).ok();
        Self {
            files,
            pinned: pinned.iter().filter_map(place).collect(),
            open: BTreeMap::new(),
        }
    }

    /// The lines, of which there are about as many as items, in about this room.
    pub(super) fn render(mut self, max_items: usize, room: usize) -> String {
        let top = Directory {
            from: 0,
            to: self.files.len(),
            start: 0,
            depth: 0,
        };
        let (mut items, mut left) = (max_items, room);
        let mut waiting = BinaryHeap::from([Reverse((0, 0, 0, top))]);
        while let Some(Reverse((.., directory))) = waiting.pop() {
            let Some(opened) = self.look(directory, items, left) else {
                continue;
            };
            items = items.saturating_sub(opened.entries.len());
            left = left.saturating_sub(self.cost(&opened.entries));
            let inner = opened.entries.iter().filter_map(|entry| match entry {
                Entry::Directory(inner) => Some(Reverse(self.urgency(*inner))),
                Entry::File(_) => None,
            });
            waiting.extend(inner);
            self.open.insert(directory, opened);
        }
        let mut text = String::new();
        self.write(top, &mut text);
        if self.open.get(&top).is_some_and(|opened| opened.is_part) {
            let _ = writeln!(text, "[TRUNCATED: first {max_items} items]");
        }
        text
    }

    /// What to show of a directory; nothing if there is no room for it.
    fn look(&self, directory: Directory, items: usize, room: usize) -> Option<Opened> {
        let is_root = directory.depth == 0;
        let mut entries = self.entries(directory, items + 1);
        if entries.len() <= items && self.cost(&entries) <= room {
            return Some(Opened {
                entries,
                is_part: false,
            });
        }
        if is_root {
            while entries.len() > items || self.cost(&entries) > room {
                entries.pop()?;
            }
        } else {
            entries = self.pinned_entries(directory);
            if entries.is_empty() || entries.len() > items || self.cost(&entries) > room {
                return None;
            }
        }
        Some(Opened {
            entries,
            is_part: true,
        })
    }

    /// What is in a directory, at most so much.
    fn entries(&self, directory: Directory, most: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut at = directory.from;
        while at < directory.to && entries.len() < most {
            let entry = self.entry(directory, at);
            at = match entry {
                Entry::File(_) => at + 1,
                Entry::Directory(inner) => inner.to,
            };
            entries.push(entry);
        }
        entries
    }

    /// What of a directory matters.
    fn pinned_entries(&self, directory: Directory) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut after = directory.from;
        for &at in self.pinned.range(directory.from..directory.to) {
            if at < after {
                continue;
            }
            let entry = self.entry(directory, at);
            after = match entry {
                Entry::File(_) => at + 1,
                Entry::Directory(inner) => inner.to,
            };
            entries.push(entry);
        }
        entries
    }

    /// The file at this place, or the directory in this one that holds it.
    fn entry(&self, directory: Directory, at: usize) -> Entry {
        let path = self.files[at].path.as_str();
        let Some(slash) = path[directory.start..].find('/') else {
            return Entry::File(at);
        };
        let mut start = directory.start + slash + 1;
        let within = &self.files[directory.from..directory.to];
        let begins = &path[..start];
        let from = within.partition_point(|file| file.path.as_str() < begins);
        let from = from.min(at - directory.from);
        let rest = &within[from..];
        let count = rest.partition_point(|file| file.path.as_str().starts_with(begins));
        if from + count <= at - directory.from {
            return Entry::File(at);
        }
        // A directory that holds only another is told with it: `src/main/java/`.
        let (first, last) = (rest[0].path.as_str(), rest[count - 1].path.as_str());
        while let Some(slash) = first[start..].find('/') {
            let longer = start + slash + 1;
            if last.get(..longer) != Some(&first[..longer]) {
                break;
            }
            start = longer;
        }
        Entry::Directory(Directory {
            from: directory.from + from,
            to: directory.from + from + count,
            start,
            depth: directory.depth + 1,
        })
    }

    fn urgency(&self, directory: Directory) -> Urgency {
        let matters = self
            .pinned
            .range(directory.from..directory.to)
            .next()
            .is_some();
        let is_last = || {
            let path = &self.files[directory.from].path.as_str()[..directory.start];
            path.split('/').any(|name| LAST.contains(&name))
        };
        let class = match matters {
            true => 0,
            false if is_last() => 2,
            false => 1,
        };
        (
            class,
            directory.depth,
            directory.to - directory.from,
            directory,
        )
    }

    fn cost(&self, entries: &[Entry]) -> usize {
        let cost = |entry: &Entry| match entry {
            Entry::File(at) => self.files[*at].path.file_name().len() + LINE,
            Entry::Directory(inner) => inner.start + LINE,
        };
        entries.iter().map(cost).sum()
    }

    /// Writes what is open; as deep as directories were opened, which is less than there are items.
    fn write(&self, directory: Directory, text: &mut String) {
        let Some(opened) = self.open.get(&directory) else {
            return;
        };
        let indent = "  ".repeat(directory.depth);
        let mut shown = 0;
        for entry in &opened.entries {
            match *entry {
                Entry::File(at) => {
                    let file = &self.files[at];
                    let name = &file.path.as_str()[directory.start..];
                    let _ = writeln!(text, "{indent}{name} ({})", described(file));
                    shown += 1;
                }
                Entry::Directory(inner) => {
                    let path = self.files[inner.from].path.as_str();
                    let name = &path[directory.start..inner.start];
                    if self.open.contains_key(&inner) {
                        let _ = writeln!(text, "{indent}{name}");
                        self.write(inner, text);
                    } else {
                        let count = files((inner.to - inner.from) as u64);
                        let _ = writeln!(text, "{indent}{name} ({count})");
                    }
                    shown += inner.to - inner.from;
                }
            }
        }
        if opened.is_part && directory.depth > 0 {
            let more = directory.to - directory.from - shown;
            let _ = writeln!(text, "{indent}... ({} besides)", files(more as u64));
        }
    }
}
