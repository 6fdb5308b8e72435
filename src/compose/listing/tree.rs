//! A workspace that is too large to be listed: a tree in which directories are folded.
//!
//! The top level is always shown. Then directories are opened one after the other while there is
//! room: first those that the task names and those on the way to what matters, the weightiest first;
//! then the shallow before the deep, the recently changed before the old, the small before the
//! large. None takes more than a share while others wait. Many directories side by side of which
//! none matters are opened together or not at all: a few of them tell nothing. A directory that
//! matters and is too large shows only what matters in it. What is not opened reads
//! `data/ (12,345 files)`. Files side by side whose names differ only by numbers have one line, unless
//! they matter or their directory is named: `page1.md … page40.md (40 files)`.
//!
//! The files are sorted, so a directory is a range of them, and nothing is looked at that is not
//! shown, whatever the size of the workspace.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt::Write as _;

use super::super::relevance::Relevance;
use super::runs::{RUN, ends, is_alike};
use super::{Listed, described, files};
use crate::protocol::RelPath;

/// What a line takes beside its name and its indentation, about.
const LINE: usize = 20;

/// By how much the numbers in two names may be longer than in the first of them, about.
const NUMBERS: usize = 10;

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

/// So many directories side by side are alike.
const ALIKE: usize = 8;

/// No more of those that are alike are opened because they were changed of late.
const RECENT: usize = 3;

/// What was changed so many days before the latest change is not recent.
const LATELY: i64 = 3;

/// In nanoseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;

/// The tree of these files.
pub(super) struct Tree<'a> {
    files: &'a [Listed],
    /// Where the files are that matter, and how much.
    pinned: BTreeMap<usize, u32>,
    /// The directories that the task names, by where their files begin and end.
    named: BTreeSet<(usize, usize)>,
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
    /// Files whose names differ only by numbers: from the first to before the second.
    Run(usize, usize),
    Directory(Directory),
}

impl Entry {
    /// Its first file.
    fn from(self) -> usize {
        match self {
            Self::File(at) | Self::Run(at, _) => at,
            Self::Directory(inner) => inner.from,
        }
    }

    /// Behind its last file.
    fn to(self) -> usize {
        match self {
            Self::File(at) => at + 1,
            Self::Run(_, to) => to,
            Self::Directory(inner) => inner.to,
        }
    }
}

/// What is shown of a directory.
#[derive(Debug)]
struct Opened {
    entries: Vec<Entry>,
    /// Whether there is more in it.
    is_part: bool,
}

/// A tree as it is shown.
pub(super) struct Rendered {
    /// The lines.
    pub(super) text: String,
    /// How many files are told of, or how many entries of a top level that is not whole.
    pub(super) shown: usize,
    /// Whether even the top level is not whole.
    pub(super) is_part: bool,
}

/// What is left for lines.
#[derive(Debug, Clone, Copy)]
struct Left {
    items: usize,
    room: usize,
}

impl Left {
    fn share(self, parts: usize) -> Self {
        Self {
            items: self.items / parts,
            room: self.room / parts,
        }
    }
}

/// How urgently a directory is opened; the least comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Urgency {
    class: Class,
    weight: Reverse<u32>,
    depth: usize,
    /// The day of its latest change.
    day: Reverse<i64>,
    size: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Named by the task, or on the way to what matters.
    Matters,
    Other,
    /// See `LAST`.
    Seldom,
}

/// Directories that wait to be opened together; most are alone.
type Waiting = Reverse<(Urgency, Vec<Directory>)>;

impl<'a> Tree<'a> {
    /// The tree of files that are sorted by path.
    pub(super) fn of(files: &'a [Listed], relevance: &Relevance<'_>) -> Self {
        let place = |path: &RelPath| files.binary_search_by(|file| file.path.cmp(path)).ok();
        let pinned = relevance.files.iter();
        let mut tree = Self {
            files,
            pinned: pinned
                .filter_map(|(path, weight)| Some((place(path)?, *weight)))
                .collect(),
            named: BTreeSet::new(),
            open: BTreeMap::new(),
        };
        for directory in &relevance.directories {
            let from = files.partition_point(|file| file.path.as_str() < *directory);
            let rest = &files[from..];
            let count = rest.partition_point(|file| file.path.as_str().starts_with(directory));
            if count > 0 {
                tree.named.insert((from, from + count));
            }
        }
        tree
    }

    /// The lines, of which there are about as many as items, in about this room.
    pub(super) fn render(mut self, max_items: usize, room: usize) -> Rendered {
        let top = Directory {
            from: 0,
            to: self.files.len(),
            start: 0,
            depth: 0,
        };
        let mut left = Left {
            items: max_items,
            room,
        };
        let mut waiting: BinaryHeap<Waiting> = BinaryHeap::new();
        let opened = self.look(top, left).unwrap_or_else(|| Opened {
            entries: Vec::new(),
            is_part: true,
        });
        self.show(&[top], vec![opened], &mut left, &mut waiting);
        for parts in [3, 1] {
            let mut later = Vec::new();
            while let Some(next) = waiting.pop() {
                let together = &next.0.1;
                match self.look_at_all(together, left, parts) {
                    Some(opened) => self.show(together, opened, &mut left, &mut waiting),
                    None => later.push(next),
                }
            }
            waiting.extend(later);
        }
        let mut text = String::new();
        self.write(top, &mut text);
        let (shown, is_part) = match self.open.get(&top) {
            Some(opened) if !opened.is_part => (self.files.len(), false),
            Some(opened) => (opened.entries.len(), true),
            None => (0, true),
        };
        Rendered {
            text,
            shown,
            is_part,
        }
    }

    /// Opens directories; those in them wait for their turn.
    fn show(
        &mut self,
        directories: &[Directory],
        all: Vec<Opened>,
        left: &mut Left,
        waiting: &mut BinaryHeap<Waiting>,
    ) {
        let mut inner = Vec::new();
        for (directory, opened) in directories.iter().zip(all) {
            left.items = left.items.saturating_sub(opened.entries.len());
            left.room = left.room.saturating_sub(self.cost(&opened.entries));
            inner.extend(opened.entries.iter().filter_map(|entry| match entry {
                Entry::Directory(inner) => Some((self.urgency(*inner), *inner)),
                Entry::File(_) | Entry::Run(..) => None,
            }));
            self.open.insert(*directory, opened);
        }
        let (mut alone, mut others): (Vec<_>, Vec<_>) =
            (inner.into_iter()).partition(|(urgency, _)| urgency.class == Class::Matters);
        if others.len() > ALIKE {
            let latest = others.iter().map(|(urgency, _)| urgency.day.0).max();
            let lately = latest.unwrap_or_default() - LATELY;
            let (recent, old): (Vec<_>, Vec<_>) =
                (others.iter()).partition(|(urgency, _)| urgency.day.0 > lately);
            if recent.len() <= RECENT {
                alone.extend(recent);
                others = old;
            }
            let urgency = others.iter().map(|(urgency, _)| *urgency).max();
            let together = others.into_iter().map(|(_, inner)| inner).collect();
            waiting.extend(urgency.map(|urgency| Reverse((urgency, together))));
        } else {
            alone.extend(others);
        }
        let alone = alone.into_iter();
        waiting.extend(alone.map(|(urgency, inner)| Reverse((urgency, vec![inner]))));
    }

    /// What to show of directories that are opened together; nothing if there is no room for all.
    fn look_at_all(&self, all: &[Directory], left: Left, parts: usize) -> Option<Vec<Opened>> {
        if let [only] = all {
            let parts = if self.is_named(*only) { 2 } else { parts };
            return Some(vec![self.look(*only, left.share(parts))?]);
        }
        let mut rest = left.share(2);
        let mut opened = Vec::with_capacity(all.len());
        for directory in all {
            let one = self.look(*directory, rest)?;
            rest.items = rest.items.checked_sub(one.entries.len())?;
            rest.room = rest.room.checked_sub(self.cost(&one.entries))?;
            opened.push(one);
        }
        Some(opened)
    }

    /// What to show of a directory; nothing if there is no room for it.
    fn look(&self, directory: Directory, left: Left) -> Option<Opened> {
        let fits =
            |entries: &[Entry]| entries.len() <= left.items && self.cost(entries) <= left.room;
        let entries = self.entries(directory, left.items + 1);
        if fits(&entries) {
            return Some(Opened {
                entries,
                is_part: false,
            });
        }
        let mut entries = self.pinned_entries(directory);
        if directory.depth == 0 || self.is_named(directory) {
            entries = self.first_entries(directory, entries, left);
        }
        (!entries.is_empty() && fits(&entries)).then_some(Opened {
            entries,
            is_part: true,
        })
    }

    /// What matters of a directory, and as much else from its beginning as there is room for.
    fn first_entries(&self, directory: Directory, matter: Vec<Entry>, left: Left) -> Vec<Entry> {
        let (mut entries, mut room) = (BTreeMap::new(), left.room);
        let first = self.entries(directory, left.items);
        for entry in matter.into_iter().chain(first) {
            let cost = self.cost(&[entry]);
            if entries.contains_key(&entry.from()) {
                continue;
            }
            if entries.len() >= left.items || cost > room {
                break;
            }
            room -= cost;
            entries.insert(entry.from(), entry);
        }
        entries.into_values().collect()
    }

    fn is_named(&self, directory: Directory) -> bool {
        self.named.contains(&(directory.from, directory.to))
    }

    /// What is in a directory, at most so much.
    fn entries(&self, directory: Directory, most: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut at = directory.from;
        while at < directory.to && entries.len() < most {
            let entry = self.entry(directory, at);
            let end = match entry {
                Entry::File(_) if !self.is_named(directory) => self.run_end(directory, at),
                _ => entry.to(),
            };
            if end - at >= RUN && matches!(entry, Entry::File(_)) {
                entries.push(Entry::Run(at, end));
            } else {
                let single = (at + 1..end).map(Entry::File);
                let single = single.filter(|_| matches!(entry, Entry::File(_)));
                entries.push(entry);
                let room = most - entries.len();
                entries.extend(single.take(room));
            }
            at = end;
        }
        entries
    }

    /// Behind the last of the files from this one on whose names differ only by numbers, and of
    /// which none matters.
    fn run_end(&self, directory: Directory, first: usize) -> usize {
        let name = |at: usize| &self.files[at].path.as_str()[directory.start..];
        let next_pinned = self.pinned.range(first..directory.to).next();
        let most = next_pinned.map_or(directory.to, |(at, _)| *at);
        let is_more = |at: &usize| is_alike(name(first), name(*at));
        let more = (first + 1..most).take_while(is_more).count();
        first + 1 + more
    }

    /// What of a directory matters.
    fn pinned_entries(&self, directory: Directory) -> Vec<Entry> {
        let within = directory.from..directory.to;
        let pinned = self.pinned.range(within.clone()).map(|(at, _)| *at);
        let named = self.named.range((within.start, 0)..(within.end, 0));
        let named = named.map(|(from, _)| *from);
        // A directory that is named matters as a whole, not by its first file.
        let named = named.filter(|from| *from > directory.from || !self.is_named(directory));
        let places: BTreeSet<usize> = pinned.chain(named).collect();
        let mut entries: Vec<Entry> = Vec::new();
        let mut after = directory.from;
        for at in places {
            if at < after {
                continue;
            }
            let entry = self.entry(directory, at);
            after = entry.to();
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
        let within = directory.from..directory.to;
        let pinned = self.pinned.range(within.clone());
        let weight = pinned.map(|(_, weight)| *weight).max().unwrap_or_default();
        let has_named = (self.named.range((within.start, 0)..(within.end, 0)))
            .any(|(_, to)| *to <= directory.to);
        let is_last = || {
            let path = &self.files[directory.from].path.as_str()[..directory.start];
            path.split('/').any(|name| LAST.contains(&name))
        };
        let class = if weight > 0 || has_named {
            Class::Matters
        } else if is_last() {
            Class::Seldom
        } else {
            Class::Other
        };
        let latest = self.files[within].iter().map(|file| file.modified).max();
        Urgency {
            class,
            // What is named goes before what only has words of the task.
            weight: Reverse(if has_named { u32::MAX } else { weight }),
            depth: directory.depth,
            day: Reverse(latest.unwrap_or_default() / DAY),
            size: directory.to - directory.from,
        }
    }

    fn cost(&self, entries: &[Entry]) -> usize {
        let cost = |entry: &Entry| match entry {
            Entry::File(at) => self.files[*at].path.file_name().len() + LINE,
            // Two of its names are told.
            Entry::Run(at, _) => self.files[*at].path.file_name().len() * 2 + LINE + NUMBERS,
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
                }
                Entry::Run(from, to) => {
                    let names = self.files[from..to].iter();
                    let names = names.map(|file| &file.path.as_str()[directory.start..]);
                    let count = files((to - from) as u64);
                    if let Some((first, last)) = ends(names) {
                        let _ = writeln!(text, "{indent}{first} \u{2026} {last} ({count})");
                    }
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
                }
            }
            shown += entry.to() - entry.from();
        }
        if opened.is_part && directory.depth > 0 {
            let more = directory.to - directory.from - shown;
            let _ = writeln!(text, "{indent}... ({} besides)", files(more as u64));
        }
    }
}
