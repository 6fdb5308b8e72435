//! Which version and which lines of each file the model has seen.
//!
//! Files are compared by the hash of their content. Reading files and computing hashes is left to
//! `execute` and `compose`.

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
    /// True if lines are shown with their numbers.
    #[serde(default)]
    pub numbered: bool,
    /// The number of the step that asks for it; 0 if no step does.
    #[serde(default)]
    pub step: u32,
}

/// Lines of a file that a message shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownLines {
    /// The file.
    pub path: RelPath,
    /// The hash of the whole content.
    pub hash: String,
    /// The lines that are shown, from 0.
    pub lines: Range<usize>,
    /// The number of lines in the file.
    pub of: usize,
}

/// How much of a version of a file the model knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownExtent {
    /// All of it. Also used for a part if the model never saw another version, see
    /// [`SeenFiles::note_sighting`].
    Whole,
    /// These lines, from 0, sorted and disjoint. The model may remember other lines from an older
    /// version.
    Lines(Vec<Range<usize>>),
}

impl KnownExtent {
    /// No lines.
    pub fn nothing() -> Self {
        Self::Lines(Vec::new())
    }

    /// Returns true if no line is known.
    pub fn is_nothing(&self) -> bool {
        *self == Self::nothing()
    }

    /// Returns true if all of these lines are known.
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

    /// Returns true if a line next to the gap above line `gap`, from 0, is known.
    pub fn has_beside(&self, gap: usize) -> bool {
        self.has(&(gap..gap.saturating_add(1)))
            || gap
                .checked_sub(1)
                .is_some_and(|above| self.has(&(above..gap)))
    }

    /// Adds lines.
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

    /// The known lines after the model replaced lines: each old range by that many lines of its
    /// own. Ranges are ascending, disjoint and in old line numbers.
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
#[serde(from = "SeenVersionJson", into = "SeenVersionJson")]
struct SeenVersion {
    hash: String,
    extent: KnownExtent,
}

/// The serialised form of a [`SeenVersion`].
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SeenVersionJson {
    Whole(String),
    Part {
        hash: String,
        lines: Vec<(usize, usize)>,
    },
}

impl From<SeenVersionJson> for SeenVersion {
    fn from(kept: SeenVersionJson) -> Self {
        match kept {
            SeenVersionJson::Whole(hash) => Self {
                hash,
                extent: KnownExtent::Whole,
            },
            SeenVersionJson::Part { hash, lines } => {
                let mut extent = KnownExtent::nothing();
                for (start, end) in lines {
                    extent.add(start..end);
                }
                Self { hash, extent }
            }
        }
    }
}

impl From<SeenVersion> for SeenVersionJson {
    fn from(version: SeenVersion) -> Self {
        let hash = version.hash;
        match version.extent {
            KnownExtent::Whole => Self::Whole(hash),
            KnownExtent::Lines(lines) => Self::Part {
                hash,
                lines: lines.iter().map(|one| (one.start, one.end)).collect(),
            },
        }
    }
}

/// The last version of each file that the model saw, by the hash of its content, and how much of
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeenFiles(BTreeMap<RelPath, SeenVersion>);

impl SeenFiles {
    /// The hash of the version that the model last saw, and how much of it.
    pub fn get(&self, path: &RelPath) -> Option<(&str, &KnownExtent)> {
        let version = self.0.get(path)?;
        Some((&version.hash, &version.extent))
    }

    /// Notes that the model saw or wrote the whole file.
    pub fn note(&mut self, path: &RelPath, hash: impl Into<String>) {
        self.note_extent(path, hash, KnownExtent::Whole);
    }

    /// Notes how much of this version the model knows, and forgets any other version.
    pub fn note_extent(&mut self, path: &RelPath, hash: impl Into<String>, extent: KnownExtent) {
        let hash = hash.into();
        self.0.insert(path.clone(), SeenVersion { hash, extent });
    }

    /// Notes that the model was shown lines of a file.
    ///
    /// If the model knows no other version, it cannot have outdated line numbers, so a part counts
    /// as the whole.
    pub fn note_sighting(&mut self, sighting: &ShownLines) {
        let ShownLines {
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
            None => KnownExtent::Whole,
            Some(known) if known.hash == *hash => {
                known.extent.add(lines.clone());
                if known.extent.has(&all) {
                    known.extent = KnownExtent::Whole;
                }
                return;
            }
            Some(_) => KnownExtent::Lines(vec![lines.clone()]),
        };
        self.note_extent(path, hash, extent);
    }

    /// Notes that it is unclear how much the model saw: only lines that are shown again count.
    pub fn doubt(&mut self, path: &RelPath) {
        if let Some(known) = self.0.get_mut(path) {
            known.extent = KnownExtent::nothing();
        }
    }

    /// Notes that the file is gone.
    pub fn forget(&mut self, path: &RelPath) {
        self.0.remove(path);
    }

    /// Copies the knowledge about one file to another.
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

    fn sighting(hash: &str, lines: Range<usize>) -> ShownLines {
        ShownLines {
            path: path(),
            hash: hash.to_owned(),
            lines,
            of: 10,
        }
    }

    fn knows(seen: &SeenFiles, hash: &str, lines: Range<usize>) -> bool {
        let known = seen.get(&path());
        known.is_some_and(|(known, extent)| known == hash && extent.has(&lines))
    }

    #[test]
    fn a_part_of_another_version_is_known_only_as_far_as_it_was_shown() {
        let mut seen = SeenFiles::default();
        seen.note_sighting(&sighting("A", 2..4));
        assert!(knows(&seen, "A", 0..10), "no other numbers are known");
        seen.note_sighting(&sighting("B", 2..4));
        assert!(knows(&seen, "B", 2..4) && !knows(&seen, "B", 3..5));
        seen.note_sighting(&sighting("B", 4..4));
        seen.note_sighting(&sighting("B", 4..10));
        assert!(knows(&seen, "B", 2..10) && !knows(&seen, "B", 1..10));
        let json = serde_json::to_string(&seen).unwrap();
        assert_eq!(json, r#"{"a":{"hash":"B","lines":[[2,10]]}}"#);
        assert_eq!(serde_json::from_str::<SeenFiles>(&json).unwrap(), seen);
        seen.note_sighting(&sighting("B", 0..2));
        assert_eq!(serde_json::to_string(&seen).unwrap(), r#"{"a":"B"}"#);
        seen.doubt(&path());
        assert!(!knows(&seen, "B", 0..1));
        seen.note_sighting(&sighting("B", 0..10));
        assert!(knows(&seen, "B", 0..10));
    }

    #[test]
    fn text_goes_beside_a_known_line() {
        let mut extent = KnownExtent::nothing();
        extent.add(2..4);
        let beside: Vec<usize> = (0..7).filter(|gap| extent.has_beside(*gap)).collect();
        assert_eq!(beside, [2, 3, 4]);
        assert!(KnownExtent::Whole.has_beside(0));
    }

    proptest! {
        /// Compares with a map that has one entry per line.
        #[test]
        fn what_is_known_moves_with_the_lines(
            parts in prop::collection::vec((0_usize..30, 0_usize..6), 0..6),
            changes in prop::collection::vec((0_usize..6, 0_usize..4, 0_usize..4), 0..6),
        ) {
            let (mut extent, mut account) = (KnownExtent::nothing(), vec![false; 40]);
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
            if let KnownExtent::Lines(known) = extent {
                prop_assert!(known.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
