//! A workspace that is too large to be listed: a tree in which directories are folded.
//!
//! The top level is always shown. Then directories are opened one after the other while there is
//! room: first those that the task names and those on the way to what matters, the weightiest first;
//! then the shallow before the deep, the recently changed before the old, the small before the
//! large. None takes more than a share while others wait. Many directories side by side of which
//! none matters are opened together or not at all: a few of them tell nothing. A directory that
//! matters and is too large shows only what matters in it, the weightiest first, and the top level
//! leaves some room for it. What is not opened reads `data/ (12,345 files)`. Files side by side whose
//! names differ only by numbers have one line, unless they matter or their directory is named:
//! `page1.md … page40.md (40 files)`; directories too, where there is no room for a line each.
//!
//! The files are sorted, so a directory is a range of them, and nothing is looked at that is not
//! shown, whatever the size of the workspace.

mod entries;
mod lines;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::super::relevance::{Relevance, SIDE_DIRECTORIES};
use crate::protocol::{Listed, RelPath};

/// The approximate length of a line beside its name and indentation.
const LINE: usize = 20;

/// So many directories side by side are alike.
const ALIKE: usize = 8;

/// No more of those that are alike are opened because they were changed of late.
const RECENT: usize = 3;

/// A change is recent if it is at most so many days older than the latest one.
const LATELY: i64 = 3;

/// For how many of the weightiest files the top level leaves room.
const WEIGHTIEST: usize = 5;

/// How much it leaves for a directory that the task names, in lines.
const OF_NAMED: usize = 8;

/// In nanoseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;

/// The tree of these files.
pub(super) struct Tree<'a> {
    files: &'a [Listed],
    /// Where the files are that matter, and how much.
    pinned: BTreeMap<usize, u32>,
    /// The directories that the task names, by where their files begin and end.
    named: BTreeSet<(usize, usize)>,
    /// The open directories.
    open: BTreeMap<Directory, OpenedDirectory>,
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
enum TreeRow {
    File(usize),
    /// Files whose names differ only by numbers: from the first to before the second.
    Run(usize, usize),
    Directory(Directory),
    /// Directories whose names differ only by numbers: their files, and how many they are.
    Directories {
        from: usize,
        to: usize,
        count: usize,
    },
}

/// The kinds of entry that may share a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folding {
    /// Files.
    Files,
    /// Files and directories.
    All,
}

impl TreeRow {
    /// Its first file.
    fn from(self) -> usize {
        match self {
            Self::File(at) | Self::Run(at, _) => at,
            Self::Directory(inner) => inner.from,
            Self::Directories { from, .. } => from,
        }
    }

    /// Behind its last file.
    fn to(self) -> usize {
        match self {
            Self::File(at) => at + 1,
            Self::Run(_, to) | Self::Directories { to, .. } => to,
            Self::Directory(inner) => inner.to,
        }
    }
}

/// The shown part of a directory.
#[derive(Debug)]
struct OpenedDirectory {
    entries: Vec<TreeRow>,
    /// True if there is more in it.
    is_part: bool,
}

/// A tree as it is shown.
pub(super) struct RenderedTree {
    /// The lines.
    pub(super) text: String,
    /// How many files are told of, or how many entries of a top level that is not whole.
    pub(super) shown: usize,
    /// True if even the top level is incomplete.
    pub(super) is_part: bool,
}

/// The room that is left for lines.
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

    fn without(self, other: Self) -> Self {
        Self {
            items: self.items.saturating_sub(other.items),
            room: self.room.saturating_sub(other.room),
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
    /// Documents, fixtures and the like, which are seldom worked on.
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
    pub(super) fn render(mut self, max_items: usize, room: usize) -> RenderedTree {
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
        let rest = left.without(self.reserve(left));
        let opened = self.look(top, rest).unwrap_or_else(|| OpenedDirectory {
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
        RenderedTree {
            text,
            shown,
            is_part,
        }
    }

    /// Reserves room beside the top level for the paths that matter most.
    fn reserve(&self, left: Left) -> Left {
        let mut weighed: Vec<_> = self
            .pinned
            .iter()
            .map(|(at, weight)| (*weight, *at))
            .collect();
        weighed.sort_unstable_by_key(|one| Reverse(*one));
        let (mut items, mut room) = (0, 0);
        for (_, at) in weighed.into_iter().take(WEIGHTIEST) {
            let path = &self.files[at].path;
            // The top level itself has a line for the first of them.
            let lines = path.components().count() - 1;
            items += lines;
            room += lines * LINE + path.as_str().len();
        }
        let lines = self.named.len().min(WEIGHTIEST) * OF_NAMED;
        let most = left.share(3);
        Left {
            items: (items + lines).min(most.items),
            room: (room + lines * 2 * LINE).min(most.room),
        }
    }

    /// Opens directories; those in them wait for their turn.
    fn show(
        &mut self,
        directories: &[Directory],
        all: Vec<OpenedDirectory>,
        left: &mut Left,
        waiting: &mut BinaryHeap<Waiting>,
    ) {
        let mut inner = Vec::new();
        for (directory, opened) in directories.iter().zip(all) {
            left.items = left.items.saturating_sub(opened.entries.len());
            left.room = left.room.saturating_sub(self.cost(&opened.entries));
            inner.extend(opened.entries.iter().filter_map(|entry| match entry {
                TreeRow::Directory(inner) => Some((self.urgency(*inner), *inner)),
                TreeRow::File(_) | TreeRow::Run(..) | TreeRow::Directories { .. } => None,
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

    /// Decides what to show of directories that are opened together; `None` if there is no room for
    /// all.
    fn look_at_all(
        &self,
        all: &[Directory],
        left: Left,
        parts: usize,
    ) -> Option<Vec<OpenedDirectory>> {
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

    /// Decides what to show of a directory; `None` if there is no room for it.
    fn look(&self, directory: Directory, left: Left) -> Option<OpenedDirectory> {
        let fits =
            |entries: &[TreeRow]| entries.len() <= left.items && self.cost(entries) <= left.room;
        for folding in [Folding::Files, Folding::All] {
            let entries = self.entries(directory, left.items + 1, folding);
            if fits(&entries) {
                return Some(OpenedDirectory {
                    entries,
                    is_part: false,
                });
            }
        }
        let mut choice = self.pinned_entries(directory);
        choice.sort_by_cached_key(|entry| Reverse(self.weight(*entry)));
        if directory.depth == 0 || self.is_named(directory) {
            choice.extend(self.entries(directory, left.items, Folding::All));
        }
        let entries = self.fitting(choice, left);
        (!entries.is_empty()).then_some(OpenedDirectory {
            entries,
            is_part: true,
        })
    }

    /// The first of these that there is room for, in the order of their paths.
    fn fitting(&self, choice: Vec<TreeRow>, left: Left) -> Vec<TreeRow> {
        let (mut entries, mut room) = (BTreeMap::new(), left.room);
        for entry in choice {
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

    /// How much an entry matters.
    fn weight(&self, entry: TreeRow) -> u32 {
        match entry {
            TreeRow::Directory(inner) => self.urgency(inner).weight.0,
            _ => self.pinned.get(&entry.from()).copied().unwrap_or_default(),
        }
    }

    fn is_named(&self, directory: Directory) -> bool {
        self.named.contains(&(directory.from, directory.to))
    }

    /// The entries of a directory that matter.
    fn pinned_entries(&self, directory: Directory) -> Vec<TreeRow> {
        let within = directory.from..directory.to;
        let pinned = self.pinned.range(within.clone()).map(|(at, _)| *at);
        let named = self.named.range((within.start, 0)..(within.end, 0));
        let named = named.map(|(from, _)| *from);
        // A directory that is named matters as a whole, not by its first file.
        let named = named.filter(|from| *from > directory.from || !self.is_named(directory));
        let places: BTreeSet<usize> = pinned.chain(named).collect();
        let mut entries: Vec<TreeRow> = Vec::new();
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

    fn urgency(&self, directory: Directory) -> Urgency {
        let within = directory.from..directory.to;
        let pinned = self.pinned.range(within.clone());
        let weight = pinned.map(|(_, weight)| *weight).max().unwrap_or_default();
        let has_named = (self.named.range((within.start, 0)..(within.end, 0)))
            .any(|(_, to)| *to <= directory.to);
        let is_last = || {
            let path = &self.files[directory.from].path.as_str()[..directory.start];
            path.split('/').any(|name| SIDE_DIRECTORIES.contains(&name))
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
}
