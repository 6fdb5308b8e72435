//! Contents of files under a heading: those that the model asked for, those that the task names, and
//! what the project says.
//!
//! Where the room is short, each file has a fair share of it. A share that would show next to nothing
//! helps nobody: then as many files as have a share worth showing, in their order, and a line names
//! the others.

use super::budget::{self, Claim, Rank};
use super::content::{Content, Extent, WORTH};
use super::cuts::Cuts;
use super::titles::{listed, titles};
use super::{Section, chars};

/// How long the names of what is not shown may be together, in characters.
const NAMES: usize = 300;

/// The most characters of the line about files that are not shown.
const WORD: usize = NAMES + 120;

/// How many files that were cut are named for the person.
const NAMED: usize = 3;

/// The section: one claim for all files.
pub(super) struct ContentsSection<'a> {
    heading: &'static str,
    rank: Rank,
    files: &'a [Content],
    claims: Vec<Claim>,
}

/// The contents that the model asked for.
pub(super) fn requested(contents: &[Content]) -> ContentsSection<'_> {
    ContentsSection::new("\n## Requested File Contents\n", Rank::Requested, contents)
}

/// The files that the task names.
pub(super) fn named(contents: &[Content]) -> ContentsSection<'_> {
    ContentsSection::new("\n## Files That the Task Names\n", Rank::Named, contents)
}

/// The project's instructions, from the general to the specific, quoted so that they cannot pass
/// for ours.
pub(super) fn project(contents: &[Content]) -> ContentsSection<'_> {
    ContentsSection::new(
        "\n## Project Instructions\nRules of the project. Where two differ, the later one holds; the task and the protocol come before all of them.\n",
        Rank::Project,
        contents,
    )
}

impl<'a> ContentsSection<'a> {
    fn new(heading: &'static str, rank: Rank, files: &'a [Content]) -> Self {
        let claim = |content: &Content| Claim {
            rank,
            need: content.chars(),
            least: content.least(),
        };
        Self {
            heading,
            rank,
            files,
            claims: files.iter().map(claim).collect(),
        }
    }

    /// Divides the room among the files; `None` for those that are not shown.
    fn rooms(&self, room: usize) -> Vec<Option<usize>> {
        let mut left = room;
        let is_shown: Vec<bool> = (self.files.iter().zip(&self.claims))
            .map(|(content, claim)| {
                let rest = left.checked_sub(claim.least);
                let is_shown = rest.is_some() && !content.is_unread();
                left = rest.filter(|_| is_shown).unwrap_or(left);
                is_shown
            })
            .collect();
        let claims = self.claims.iter().zip(&is_shown);
        let shown: Vec<Claim> = (claims.filter(|(_, is_shown)| **is_shown))
            .map(|(claim, _)| *claim)
            .collect();
        let mut rooms = budget::divide(&shown, room).into_iter();
        (is_shown.into_iter())
            .map(|is_shown| if is_shown { rooms.next() } else { None })
            .collect()
    }

    /// A line about those that are not shown; nothing if all are.
    fn left_out(&self, rooms: &[Option<usize>]) -> String {
        let missing: Vec<&str> = (self.files.iter().zip(rooms))
            .filter(|(_, room)| room.is_none())
            .map(|(content, _)| content.title.as_str())
            .collect();
        if missing.is_empty() {
            return String::new();
        }
        let next = match self.rank {
            Rank::Requested => "Ask again, for fewer files or lines at once.",
            _ => "READ_FILE shows it.",
        };
        format!(
            "Not shown for lack of room: {}. {next}\n",
            titles(&missing, NAMES)
        )
    }

    /// Notes what became of the files.
    fn tell(&self, extents: &[Option<Extent>], cuts: &mut Cuts) {
        let of = |wanted: fn(&Option<Extent>) -> bool| -> Vec<&str> {
            (self.files.iter().zip(extents))
                .filter(|(_, extent)| wanted(extent))
                .map(|(content, _)| content.title.as_str())
                .collect()
        };
        let cut = of(|extent| extent.is_some_and(|extent| !extent.is_whole));
        if !cut.is_empty() {
            cuts.push(format!("the end of {}", listed(&cut, NAMED)));
        }
        let missing = of(Option::is_none);
        if !missing.is_empty() {
            cuts.push(listed(&missing, NAMED));
        }
        match self.rank {
            Rank::Requested => {
                let all = extents.iter().enumerate();
                cuts.unkept = (all.filter(|(_, extent)| extent.is_none()))
                    .map(|(at, _)| at)
                    .collect();
            }
            Rank::Project => {
                let lines = |extent: &Option<Extent>| extent.map(|extent| extent.lines);
                cuts.project = extents.iter().map(lines).collect();
            }
            _ => {}
        }
    }
}

impl Section for ContentsSection<'_> {
    fn claims(&self) -> Vec<Claim> {
        if self.files.is_empty() {
            return Vec::new();
        }
        let files = self.files.iter().zip(&self.claims);
        let (unread, read): (Vec<_>, Vec<_>) = files.partition(|(content, _)| content.is_unread());
        let all: usize = read.iter().map(|(_, claim)| claim.need).sum();
        let word = if unread.is_empty() { 0 } else { WORD };
        let need = all + word + chars(self.heading);
        let least = match self.rank {
            Rank::Requested => WORTH + WORD,
            _ => chars(&self.left_out(&vec![None; self.files.len()])),
        };
        vec![Claim {
            rank: self.rank,
            need,
            least: need.min(chars(self.heading) + least),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
        let Some(room) = rooms.first() else {
            return String::new();
        };
        let room = room.saturating_sub(chars(self.heading));
        let mut rooms = self.rooms(room);
        if rooms.contains(&None) {
            let nothing = self.left_out(&vec![None; rooms.len()]);
            rooms = self.rooms(room.saturating_sub(WORD.min(chars(&nothing))));
        }
        let mut section = String::new();
        let mut extents = Vec::new();
        for (content, room) in self.files.iter().zip(&rooms) {
            extents.push(room.map(|room| content.write(&mut section, room, cuts)));
        }
        let word = self.left_out(&rooms);
        if chars(&section) + chars(&word) <= room {
            section.push_str(&word);
        }
        self.tell(&extents, cuts);
        if section.is_empty() {
            return section;
        }
        format!("{}{section}", self.heading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::LineWindow;

    fn file(title: &str, lines: usize) -> Content {
        Content {
            title: title.to_owned(),
            lines: Some(LineWindow {
                first: 1,
                of: lines,
            }),
            text: "some words in a line\n".repeat(lines).into(),
            sighting: None,
        }
    }

    #[track_caller]
    fn fitted(files: &[Content], room: usize) -> (String, Cuts) {
        let section = requested(files);
        let mut cuts = Cuts::default();
        let text = super::super::fit(&section, room, &mut cuts);
        assert!(chars(&text) <= room, "{text}");
        (text, cuts)
    }

    #[test]
    fn of_many_files_some_are_shown_and_the_others_named() {
        let files: Vec<Content> = (0..400).map(|n| file(&format!("f{n}.txt"), 12)).collect();
        let (text, cuts) = fitted(&files, 8_000);
        let whole = text.matches(" (12 lines)\n").count();
        assert!((20..30).contains(&whole), "{text}");
        assert!(!text.contains("[TRUNCATED"), "{text}");
        assert!(text.contains("f0.txt (12 lines)"), "{text}");
        let word = format!("Not shown for lack of room: f{whole}.txt, ");
        assert!(text.contains(&word), "{text}");
        assert_eq!(cuts.unkept, (whole..400).collect::<Vec<_>>());
        let words = format!(
            "f{whole}.txt, f{}.txt, f{}.txt and {} more",
            whole + 1,
            whole + 2,
            400 - whole - 3
        );
        assert_eq!(cuts.words, [words]);
    }

    #[test]
    fn short_files_are_whole_or_not_there() {
        let files: Vec<Content> = (0..40).map(|n| file(&format!("f{n}.txt"), 30)).collect();
        let (text, cuts) = fitted(&files, 8_000);
        assert_eq!(text.matches(" (30 lines)\n").count(), 11, "{text}");
        assert!(!text.contains("[TRUNCATED"), "{text}");
        assert_eq!(cuts.unkept.len(), 29);
    }

    #[test]
    fn long_files_share_the_room_and_none_is_shown_without_a_line() {
        let files: Vec<Content> = (0..10).map(|n| file(&format!("f{n}.txt"), 300)).collect();
        for room in [900, 1_500, 3_000, 6_000, 20_000] {
            let (text, cuts) = fitted(&files, room);
            assert!(!text.contains("first 0 lines"), "{text}");
            let shown = text.matches("### ").count();
            assert_eq!(shown + cuts.unkept.len(), 10, "{text}");
            assert_eq!(text.matches("[TRUNCATED").count(), shown, "{text}");
            if room >= 6_000 {
                assert_eq!(shown, 10, "{text}");
            }
        }
    }

    #[test]
    fn a_file_of_which_not_even_a_line_fits_is_named() {
        let long = Content {
            text: format!("{}\n", "x".repeat(2_000)).repeat(3).into(),
            ..file("minified.js", 3)
        };
        let (text, cuts) = fitted(&[long, file("a.txt", 3)], 1_500);
        assert!(text.contains("### a.txt (3 lines)\n"), "{text}");
        assert!(text.contains("lack of room: minified.js. Ask"), "{text}");
        assert_eq!(cuts.unkept, [0]);
    }
}
