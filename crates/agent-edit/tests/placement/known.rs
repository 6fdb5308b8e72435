//! Changes of real sources whose place is known.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A small generator of random numbers that gives the same ones each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % bound.max(1)
    }

    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// How the context of edits beside each other is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spacing {
    /// They are far apart.
    Apart,
    /// Their contexts overlap, but none quotes what another one changes.
    Overlapping,
    /// They quote lines that others change, as these were before.
    QuotingChanged,
}

/// One change at a known place.
#[derive(Debug, Clone)]
pub(crate) struct KnownEdit {
    pub(crate) old: Range<usize>,
    pub(crate) new: Vec<String>,
    pub(crate) quoted: Range<usize>,
}

impl KnownEdit {
    /// The lines that are quoted above the change, and those below it.
    pub(crate) fn context(&self) -> (Range<usize>, Range<usize>) {
        (
            self.quoted.start..self.old.start,
            self.old.end..self.quoted.end,
        )
    }
}

#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) right: usize,
    pub(crate) refused: usize,
    pub(crate) told: usize,
    pub(crate) wrong: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.right + self.refused + self.told + self.wrong;
        write!(
            out,
            "{all:6} edits: {:6} right, {:5} refused, {:4} wrong and told, {:4} wrong in silence",
            self.right, self.refused, self.told, self.wrong
        )
    }
}

/// How many cases of each kind to try: `PLACEMENT_CASES`, or else so many.
pub(crate) fn cases(few: usize) -> usize {
    let cases = std::env::var("PLACEMENT_CASES").ok();
    cases.and_then(|cases| cases.parse().ok()).unwrap_or(few)
}

/// Where the random numbers begin: `PLACEMENT_SEED`, or else a fixed number. Printed, so that a
/// failure can be repeated.
#[expect(clippy::print_stdout, reason = "a failure is repeated with it")]
pub(crate) fn seed() -> u64 {
    let seed = std::env::var("PLACEMENT_SEED").ok();
    let seed = seed
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(88_172_645_463_325_252);
    println!("PLACEMENT_SEED={seed}");
    seed
}

pub(crate) fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| {
            ["rs", "toml", "md", "c", "h", "py", "yml", "json"].contains(&&*kind.to_string_lossy())
        }) {
            found.push(path);
        }
    }
}

pub(crate) fn texts() -> Vec<String> {
    let directory = std::env::var_os("PLACEMENT_SOURCES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        PathBuf::from,
    );
    let mut paths = Vec::new();
    sources(&directory, &mut paths);
    let every = paths.len() / 2000 + 1;
    (paths.iter().step_by(every))
        .filter_map(|path| fs::read_to_string(path).ok())
        .filter(|text| (20..3000).contains(&text.lines().count()) && !text.contains('\r'))
        .collect()
}

/// Changes at places that ascend and do not touch.
pub(crate) fn known_edits(lines: &[&str], spacing: Spacing, random: &mut Random) -> Vec<KnownEdit> {
    let count = match spacing {
        Spacing::Apart => 1 + random.below(3),
        Spacing::Overlapping | Spacing::QuotingChanged => 2 + random.below(3),
    };
    let mut edits: Vec<KnownEdit> = Vec::new();
    let mut start = random.below(lines.len() - 8);
    for _ in 0..count {
        let removed = random.below(3);
        if start + removed > lines.len() {
            break;
        }
        let least = usize::from(removed == 0);
        let added = least + random.below(3 - least);
        let new: Vec<String> = (0..added).map(|_| new_line(lines, start, random)).collect();
        let old = start..start + removed;
        if new
            .iter()
            .map(String::as_str)
            .ne(lines[old.clone()].iter().copied())
        {
            let above = start.saturating_sub(1 + random.below(3));
            let below = (old.end + 1 + random.below(3)).min(lines.len());
            edits.push(KnownEdit {
                old: old.clone(),
                new,
                quoted: above..below,
            });
        }
        start = old.end
            + match spacing {
                Spacing::Apart => 8 + random.below(40),
                Spacing::Overlapping | Spacing::QuotingChanged => 1 + random.below(4),
            };
    }
    if spacing != Spacing::QuotingChanged {
        let changed: Vec<_> = edits.iter().map(|edit| edit.old.clone()).collect();
        for (at, edit) in edits.iter_mut().enumerate() {
            if at > 0 {
                edit.quoted.start = edit.quoted.start.max(changed[at - 1].end);
            }
            if let Some(next) = changed.get(at + 1) {
                edit.quoted.end = edit.quoted.end.min(next.start);
            }
        }
    }
    edits
}

/// A line like its neighbours, one of the file, or one of its own.
pub(crate) fn new_line(lines: &[&str], near: usize, random: &mut Random) -> String {
    let indentation = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let neighbour = lines.get(near).copied().unwrap_or_default();
    match random.below(4) {
        0 => lines[random.below(lines.len())].to_owned(),
        1 => format!("{neighbour} more_{}", random.below(1000)),
        _ => format!("{}new_{}();", indentation(neighbour), random.below(1000)),
    }
}

pub(crate) fn applied<'e>(
    lines: &[&str],
    edits: impl DoubleEndedIterator<Item = &'e KnownEdit>,
) -> String {
    let mut lines: Vec<&str> = lines.to_vec();
    for edit in edits.rev() {
        lines.splice(edit.old.clone(), edit.new.iter().map(String::as_str));
    }
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

pub(crate) fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}
