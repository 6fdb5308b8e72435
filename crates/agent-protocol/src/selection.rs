//! `Selection`: which files a command is about, as a model writes it.
//!
//! ```text
//! selection := entry { newline entry }
//! entry     := part { "," part }
//! part      := the path of a file or directory, or a glob
//! ```
//!
//! A file whose real name has a comma or a star goes before the list or glob that it could be; only
//! the workspace can tell, so an entry is kept as it was written. Every part is a path in the
//! workspace. A comma in braces, as in `*.{c,h}`, does not separate.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{PathProblem, RelPath};

/// The maximum number of parts, because each may cost a walk through the whole workspace.
const MAX_PARTS: usize = 200;

/// Paths and globs; never empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SelectionJson", into = "SelectionJson")]
pub struct Selection(Vec<RelPath>);

/// The serialised form: one string or a list.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SelectionJson {
    One(String),
    Many(Vec<String>),
}

impl Selection {
    /// Parses the text of a reply, one entry per line.
    pub fn parse(text: &str) -> Result<Self, PathProblem> {
        Self::of_lines(text.lines())
    }

    /// Parses a selection that may be the workspace itself: empty, `.` and `/` give `None`.
    pub fn parse_directory(text: &str) -> Result<Option<Self>, PathProblem> {
        match RelPath::parse_directory(text) {
            Ok(None) => Ok(None),
            _ => Self::parse(text).map(Some),
        }
    }

    fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, PathProblem> {
        let lines = lines.filter(|line| !line.trim().is_empty());
        let entries: Vec<RelPath> = lines.map(RelPath::parse).collect::<Result<_, _>>()?;
        let mut parts = 0;
        for entry in &entries {
            parts += 1;
            for part in split(entry.as_str()) {
                RelPath::parse(part)?;
                parts += 1;
            }
            if parts > MAX_PARTS * 2 {
                return Err(PathProblem::TooMany);
            }
        }
        if entries.is_empty() {
            return Err(PathProblem::Empty);
        }
        Ok(Self(entries))
    }

    /// The entries as written; each may be a list.
    pub fn entries(&self) -> &[RelPath] {
        &self.0
    }

    /// The entry, if there is only one.
    pub fn only(&self) -> Option<&RelPath> {
        match self.0.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The parts of an entry that is a list; an entry without a comma is its own only part.
    pub fn parts(entry: &RelPath) -> Vec<RelPath> {
        split(entry.as_str())
            .filter_map(|part| RelPath::parse(part).ok())
            .collect()
    }

    /// Every path it may mean: each entry as a whole, and each part.
    pub fn readings(&self) -> Vec<RelPath> {
        let mut readings = self.0.clone();
        readings.extend(self.0.iter().flat_map(Self::parts));
        readings
    }

    /// Returns true if a name is a glob, unless a file has exactly this name.
    pub fn is_glob(part: &RelPath) -> bool {
        part.as_str().contains(['*', '?', '[', '{'])
    }
}

/// Splits a list at its commas, except for those in braces; empty pieces are left out.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|piece| !piece.is_empty())
}

impl From<RelPath> for Selection {
    fn from(path: RelPath) -> Self {
        Self(vec![path])
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, entry) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(", ")?;
            }
            entry.fmt(f)?;
        }
        Ok(())
    }
}

impl TryFrom<SelectionJson> for Selection {
    type Error = PathProblem;

    fn try_from(written: SelectionJson) -> Result<Self, PathProblem> {
        match written {
            SelectionJson::One(text) => Self::parse(&text),
            SelectionJson::Many(lines) => Self::of_lines(lines.iter().map(String::as_str)),
        }
    }
}

impl From<Selection> for SelectionJson {
    fn from(selection: Selection) -> Self {
        let mut entries: Vec<String> = selection.0.into_iter().map(Into::into).collect();
        if entries.len() == 1 {
            Self::One(entries.remove(0))
        } else {
            Self::Many(entries)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, parts: &[&str]) {
        let selection = Selection::parse(text).unwrap();
        let found: Vec<String> = (selection.entries().iter())
            .flat_map(Selection::parts)
            .map(String::from)
            .collect();
        assert_eq!(found, parts);
        let json = serde_json::to_string(&selection).unwrap();
        assert_eq!(
            serde_json::from_str::<Selection>(&json).unwrap(),
            selection,
            "{json}"
        );
    }

    #[test]
    fn a_list_has_commas_or_lines() {
        case("src/main.rs", &["src/main.rs"]);
        case("a.rs, ./b.rs,c", &["a.rs", "b.rs", "c"]);
        case("a.rs\n\n b.rs, c.rs\n", &["a.rs", "b.rs", "c.rs"]);
        case("a.rs,", &["a.rs"]);
        case("src/*.{c,h}, x", &["src/*.{c,h}", "x"]);
        case("{a,b", &["{a,b"]);
    }

    #[test]
    fn every_part_stays_inside() {
        for text in ["a, ../b", "a\n/etc/passwd", "", " \n", "x, ~/y"] {
            assert!(Selection::parse(text).is_err(), "{text}");
        }
        assert_eq!(Selection::parse_directory("."), Ok(None));
        assert_eq!(
            Selection::parse(&"a,b,c,d\n".repeat(1000)),
            Err(PathProblem::TooMany)
        );
    }

    #[test]
    fn reads_as_text_or_as_a_list_in_json() {
        let one = Selection::parse("a, b").unwrap();
        assert_eq!(serde_json::to_string(&one).unwrap(), r#""a, b""#);
        let two = Selection::parse("a\nb").unwrap();
        assert_eq!(serde_json::to_string(&two).unwrap(), r#"["a","b"]"#);
        assert_eq!(two.to_string(), "a, b");
    }
}
