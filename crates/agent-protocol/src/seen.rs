//! What the model knows of files: what it asks to read, and which version and lines it saw.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::RelPath;

/// A request for the contents of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadRequest {
    /// The file.
    pub path: RelPath,
    /// The first line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    /// The last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// Whether each line is shown with its number.
    #[serde(default)]
    pub numbered: bool,
    /// The number of the step that asks for it; none has 0.
    #[serde(default)]
    pub step: u32,
}

/// What a text shows of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The file.
    pub path: RelPath,
    /// The identity of its whole content.
    pub hash: String,
    /// The lines that are shown, from 0.
    pub lines: Range<usize>,
    /// How many lines the file has.
    pub of: usize,
}

/// How much of a version of a file the model knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// All of it, or all that it ever needs: it knows no other version.
    Whole,
    /// These lines, counted from 0, sorted and apart; it may remember others as they were before.
    Lines(Vec<Range<usize>>),
}

impl Extent {
    /// Nothing yet.
    pub fn nothing() -> Self {
        Self::Lines(Vec::new())
    }

    /// Whether not even a line is known.
    pub fn is_nothing(&self) -> bool {
        *self == Self::nothing()
    }

    /// Whether all of these lines are known.
    pub fn has(&self, lines: &Range<usize>) -> bool {
        match self {
            Self::Whole => true,
            Self::Lines(known) => {
                let below = known.partition_point(|one| one.end < lines.end);
                let found = known.get(below);
                found.is_some_and(|one| one.start <= lines.start && lines.end <= one.end)
            }
        }
    }

    /// Whether a line beside the gap above line `gap`, from 0, is known.
    pub fn has_beside(&self, gap: usize) -> bool {
        self.has(&(gap..gap.saturating_add(1)))
            || gap
                .checked_sub(1)
                .is_some_and(|above| self.has(&(above..gap)))
    }

    /// Learns more lines.
    pub fn add(&mut self, lines: Range<usize>) {
        let Self::Lines(known) = self else {
            return;
        };
        if lines.is_empty() {
            return;
        }
        let first = known.partition_point(|one| one.end < lines.start);
        let last = known.partition_point(|one| one.start <= lines.end);
        let start = known[first..last]
            .first()
            .map_or(lines.start, |one| one.start.min(lines.start));
        let end = known[first..last]
            .last()
            .map_or(lines.end, |one| one.end.max(lines.end));
        known.splice(first..last, std::iter::once(start..end));
    }

    /// What is known after the model replaced lines by so many of its own: ascending, without
    /// overlap, in the numbers of before.
    #[must_use]
    pub fn after(&self, changes: impl IntoIterator<Item = (Range<usize>, usize)>) -> Self {
        let Self::Lines(known) = self else {
            return Self::Whole;
        };
        let mut then = Self::nothing();
        let (mut kept_from, mut now, mut first) = (0, 0, 0);
        let end = std::iter::once((usize::MAX..usize::MAX, 0));
        for (old, new) in changes.into_iter().chain(end) {
            while known.get(first).is_some_and(|one| one.end <= kept_from) {
                first += 1;
            }
            for one in known[first..]
                .iter()
                .take_while(|one| one.start < old.start)
            {
                let (from, to) = (one.start.max(kept_from), one.end.min(old.start));
                then.add(now + (from - kept_from)..now + (to.max(from) - kept_from));
            }
            now = now.saturating_add(old.start.saturating_sub(kept_from));
            then.add(now..now.saturating_add(new));
            now = now.saturating_add(new);
            kept_from = old.end;
        }
        then
    }
}

/// A version of a file, and how much of it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Kept", into = "Kept")]
struct Version {
    hash: String,
    extent: Extent,
}

/// How a version is written down.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Kept {
    Whole(String),
    Part {
        hash: String,
        lines: Vec<(usize, usize)>,
    },
}

impl From<Kept> for Version {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Whole(hash) => Self {
                hash,
                extent: Extent::Whole,
            },
            Kept::Part { hash, lines } => {
                let mut extent = Extent::nothing();
                for (start, end) in lines {
                    extent.add(start..end);
                }
                Self { hash, extent }
            }
        }
    }
}

impl From<Version> for Kept {
    fn from(version: Version) -> Self {
        let hash = version.hash;
        match version.extent {
            Extent::Whole => Self::Whole(hash),
            Extent::Lines(lines) => Self::Part {
                hash,
                lines: lines.iter().map(|one| (one.start, one.end)).collect(),
            },
        }
    }
}

/// The version of each file that the model last saw, as the identity of its content, and how much
/// of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seen(BTreeMap<RelPath, Version>);

impl Seen {
    /// The hash of what the model last saw of the file, and how much of it.
    pub fn get(&self, path: &RelPath) -> Option<(&str, &Extent)> {
        let version = self.0.get(path)?;
        Some((&version.hash, &version.extent))
    }

    /// The model was shown the whole file, or wrote it, with this content.
    pub fn note(&mut self, path: &RelPath, hash: impl Into<String>) {
        self.note_extent(path, hash, Extent::Whole);
    }

    /// The model knows so much of the file with this content, and nothing else of it.
    pub fn note_extent(&mut self, path: &RelPath, hash: impl Into<String>, extent: Extent) {
        let hash = hash.into();
        self.0.insert(path.clone(), Version { hash, extent });
    }

    /// The model was shown lines of a file.
    ///
    /// Of a file that it knows in no other version it can have no outdated numbers: there a part is
    /// as good as the whole.
    pub fn note_sighting(&mut self, sighting: &Sighting) {
        let Sighting {
            path,
            hash,
            lines,
            of,
        } = sighting;
        let all = 0..*of;
        if *lines == all {
            return self.note(path, hash);
        }
        if lines.is_empty() {
            return;
        }
        let extent = match self.0.get_mut(path) {
            None => Extent::Whole,
            Some(known) if known.hash == *hash => {
                known.extent.add(lines.clone());
                if known.extent.has(&all) {
                    known.extent = Extent::Whole;
                }
                return;
            }
            Some(_) => Extent::Lines(vec![lines.clone()]),
        };
        self.note_extent(path, hash, extent);
    }

    /// How much of this file the model saw is not sure: nothing counts but what it is shown again.
    pub fn doubt(&mut self, path: &RelPath) {
        if let Some(known) = self.0.get_mut(path) {
            known.extent = Extent::nothing();
        }
    }

    /// The file is gone.
    pub fn forget(&mut self, path: &RelPath) {
        self.0.remove(path);
    }

    /// What is known of one file is known of another.
    pub fn copy(&mut self, from: &RelPath, to: &RelPath) {
        match self.0.get(from).cloned() {
            Some(version) => self.0.insert(to.clone(), version),
            None => self.0.remove(to),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path() -> RelPath {
        RelPath::parse("a").unwrap()
    }

    fn sighting(hash: &str, lines: Range<usize>) -> Sighting {
        Sighting {
            path: path(),
            hash: hash.to_owned(),
            lines,
            of: 10,
        }
    }

    fn knows(seen: &Seen, hash: &str, lines: Range<usize>) -> bool {
        let known = seen.get(&path());
        known.is_some_and(|(known, extent)| known == hash && extent.has(&lines))
    }

    #[test]
    fn a_part_of_another_version_is_known_only_as_far_as_it_was_shown() {
        let mut seen = Seen::default();
        seen.note_sighting(&sighting("A", 2..4));
        assert!(knows(&seen, "A", 0..10), "no other numbers are known");
        seen.note_sighting(&sighting("B", 2..4));
        assert!(knows(&seen, "B", 2..4) && !knows(&seen, "B", 3..5));
        seen.note_sighting(&sighting("B", 4..4));
        seen.note_sighting(&sighting("B", 4..10));
        assert!(knows(&seen, "B", 2..10) && !knows(&seen, "B", 1..10));
        let json = serde_json::to_string(&seen).unwrap();
        assert_eq!(json, r#"{"a":{"hash":"B","lines":[[2,10]]}}"#);
        assert_eq!(serde_json::from_str::<Seen>(&json).unwrap(), seen);
        seen.note_sighting(&sighting("B", 0..2));
        assert_eq!(serde_json::to_string(&seen).unwrap(), r#"{"a":"B"}"#);
        seen.doubt(&path());
        assert!(!knows(&seen, "B", 0..1));
        seen.note_sighting(&sighting("B", 0..10));
        assert!(knows(&seen, "B", 0..10));
    }

    #[test]
    fn text_goes_beside_a_known_line() {
        let mut extent = Extent::nothing();
        extent.add(2..4);
        let beside: Vec<usize> = (0..7).filter(|gap| extent.has_beside(*gap)).collect();
        assert_eq!(beside, [2, 3, 4]);
        assert!(Extent::Whole.has_beside(0));
    }

    proptest! {
        /// Against a line for line account.
        #[test]
        fn what_is_known_moves_with_the_lines(
            parts in prop::collection::vec((0_usize..30, 0_usize..6), 0..6),
            changes in prop::collection::vec((0_usize..6, 0_usize..4, 0_usize..4), 0..6),
        ) {
            let (mut extent, mut account) = (Extent::nothing(), vec![false; 40]);
            for (start, length) in parts {
                extent.add(start..start + length);
                account[start..start + length].fill(true);
            }
            let (mut at, mut replaced, mut shift) = (0, Vec::new(), 0_isize);
            for (gap, old, new) in changes {
                let start = (at + gap).min(40);
                let end = (start + old).min(40);
                at = end;
                replaced.push((start..end, new));
            }
            let extent = extent.after(replaced.clone());
            for (old, new) in replaced {
                let start = old.start.checked_add_signed(shift).unwrap();
                account.splice(start..start + old.len(), vec![true; new]);
                shift += isize::try_from(new).unwrap() - isize::try_from(old.len()).unwrap();
            }
            for (line, is_known) in account.iter().enumerate() {
                prop_assert_eq!(extent.has(&(line..line + 1)), *is_known);
            }
            if let Extent::Lines(known) = extent {
                prop_assert!(known.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
