//! Contents of files under a heading: those that the model asked for, and what the project says.

use std::fmt::Write as _;
use std::ops::Range;

use super::budget::{self, CUT_WORDS, Claim, Rank};
use super::cuts::Cuts;
use super::{Section, chars};
use crate::protocol::{Capped, Lines, Sighting};

/// A file's contents as they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The heading but for which lines of it are shown: the path.
    pub title: String,
    /// Which lines the text has, if it is of a file.
    pub lines: Option<Lines>,
    /// The text, empty where the heading says why there is none; and how many lines after it are
    /// missing.
    pub text: Capped,
    /// What it shows of a file, if the model knows that file from now on.
    pub sighting: Option<Sighting>,
}

/// The section: one claim for each file.
pub(super) struct Contents<'a> {
    heading: &'static str,
    rank: Rank,
    files: &'a [Content],
}

/// What the model asked for.
pub(super) fn requested(contents: &[Content]) -> Contents<'_> {
    Contents {
        heading: "\n## Requested File Contents\n",
        rank: Rank::Requested,
        files: contents,
    }
}

/// What the project says about working on it, from the general to the specific, quoted so that it
/// cannot pass for ours.
pub(super) fn project(contents: &[Content]) -> Contents<'_> {
    Contents {
        heading: "\n## Project Instructions\nFrom the project; where they differ, the later one holds, and the task and the protocol above all.\n",
        rank: Rank::Project,
        files: contents,
    }
}

impl Section for Contents<'_> {
    fn claims(&self) -> Vec<Claim> {
        let heading = std::iter::once(chars(self.heading)).chain(std::iter::repeat(0));
        let contents = self.files.iter().zip(heading);
        contents
            .map(|(content, heading)| content.claim(self.rank, heading))
            .collect()
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
        let mut section = String::new();
        for (content, room) in self.files.iter().zip(rooms) {
            let heading = if section.is_empty() { self.heading } else { "" };
            section.push_str(heading);
            content.write(&mut section, room.saturating_sub(chars(heading)), cuts);
        }
        section
    }
}

impl Content {
    /// The heading: the path, and which lines of it follow.
    pub fn heading(&self) -> String {
        self.heading_over(&self.text.text)
    }

    /// The lines, and a word about those that are missing after them.
    pub fn body(&self) -> String {
        budget::with_cut(&self.text.text, self.omitted())
    }

    /// Leaves no more than its first lines that fit.
    pub fn keep_first(&mut self, room: usize) {
        let Capped { text, omitted } = &mut self.text;
        if chars(text) > room {
            let (kept, more) = budget::lines_within(text, room);
            *omitted = omitted.saturating_add(more as u64);
            text.truncate(kept.len());
        }
    }

    /// The heading over the first lines of it.
    fn heading_over(&self, shown: &str) -> String {
        let words = |lines: Lines| format!(" {}", lines.words(shown.lines().count()));
        let words = self.lines.map(words).unwrap_or_default();
        format!("{}{words}", self.title)
    }

    /// Whether the heading is all there is.
    fn is_bare(&self) -> bool {
        self.text.is_empty() && self.text.omitted == 0
    }

    fn omitted(&self) -> usize {
        usize::try_from(self.text.omitted).unwrap_or(usize::MAX)
    }

    /// All that it takes, its heading and fence included.
    pub(super) fn chars(&self) -> usize {
        let heading = chars(&self.heading()) + "### \n".len();
        if self.is_bare() {
            return heading;
        }
        heading + chars(&fenced(&self.body())) + 1
    }

    /// What stands around the lines where not all of them are shown, at most.
    fn frame(&self) -> usize {
        let last = |Lines { of, .. }| Lines { first: of, of }.words(2);
        let heading = chars(&self.title) + 1 + chars(&self.lines.map(last).unwrap_or_default());
        let text = &self.text.text;
        heading + "### \n".len() + chars(&fenced(text)) - chars(text) + 1 + CUT_WORDS
    }

    fn claim(&self, rank: Rank, heading: usize) -> Claim {
        let need = self.chars();
        Claim {
            rank,
            need: need + heading,
            least: need.min(self.frame()) + heading,
        }
    }

    /// Writes as much of it as fits; at the worst its title.
    pub(super) fn write(&self, section: &mut String, room: usize, cuts: &mut Cuts) {
        let text = &self.text.text;
        let is_whole = self.is_bare() || self.chars() <= room;
        let (shown, more) = if is_whole {
            (text.as_str(), 0)
        } else {
            budget::lines_within(text, room.saturating_sub(self.frame()))
        };
        let _ = writeln!(section, "### {}", self.heading_over(shown));
        cuts.shown.extend(self.sighting_of(shown));
        if self.is_bare() {
            return;
        }
        let body = budget::with_cut(shown, more.saturating_add(self.omitted()));
        let _ = writeln!(section, "{}", fenced(&body));
        if !is_whole {
            cuts.push(format!("the end of {}", self.title));
        }
    }

    /// What is seen of the file where only the first lines of the text are shown.
    fn sighting_of(&self, shown: &str) -> Option<Sighting> {
        let mut sighting = self.sighting.clone()?;
        let Range { start, end } = sighting.lines;
        sighting.lines = start..end.min(start.saturating_add(shown.lines().count()));
        Some(sighting)
    }
}

/// Encloses a text in a code fence that it cannot end by itself.
pub(super) fn fenced(text: &str) -> String {
    let fence = fence(text);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}\n{text}{end}{fence}")
}

/// A run of backticks longer than any in the text.
fn fence(text: &str) -> String {
    let (mut longest, mut current) = (0, 0);
    for byte in text.bytes() {
        current = if byte == b'`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    "`".repeat((longest + 1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_encloses() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("a ````` b"), "``````");
    }

    /// Numbered lines of a file from one on, of which some more were asked for.
    fn content(first: usize, shown: usize, of: usize, omitted: u64) -> Content {
        let lines = (first..first + shown).map(|number| format!("{number}: text"));
        Content {
            title: "big.txt".to_owned(),
            lines: Some(Lines { first, of }),
            text: Capped {
                text: lines.collect::<Vec<_>>().join("\n"),
                omitted,
            },
            sighting: None,
        }
    }

    #[track_caller]
    fn shown(content: &Content, room: usize) -> String {
        let mut section = String::new();
        content.write(&mut section, room, &mut Cuts::default());
        assert!(chars(&section) <= room, "{section}");
        section
    }

    #[test]
    fn what_is_cut_twice_says_how_much_is_missing_of_all() {
        let content = content(1, 500, 5_000, 4_500);
        let whole = shown(&content, 100_000);
        assert!(
            whole.starts_with("### big.txt (lines 1-500 of 5000)\n"),
            "{whole}"
        );
        let word = "500: text\n[TRUNCATED: showing first 500 lines, 4500 more available]\n```\n";
        assert!(whole.ends_with(word), "{whole}");
        assert_eq!(chars(&whole), content.chars());
        let cut = shown(&content, 300);
        let number = cut.lines().filter(|line| line.ends_with(": text")).count();
        assert!(number > 5, "{cut}");
        let heading = format!("### big.txt (lines 1-{number} of 5000)\n");
        assert!(cut.starts_with(&heading), "{cut}");
        let more = 5_000 - number;
        let word = format!("[TRUNCATED: showing first {number} lines, {more} more available]\n");
        assert!(cut.contains(&word), "{cut}");
    }

    #[test]
    fn a_heading_names_the_lines_that_are_shown() {
        let content = content(1_001, 500, 5_000, 0);
        assert!(
            shown(&content, 100_000).starts_with("### big.txt (lines 1001-1500 of 5000)\n```\n")
        );
        let cut = shown(&content, 400);
        let last = cut.lines().rfind(|line| line.ends_with(": text")).unwrap();
        let last = last.split_once(':').unwrap().0;
        let heading = format!("### big.txt (lines 1001-{last} of 5000)\n");
        assert!(cut.starts_with(&heading), "{cut}");
    }

    #[test]
    fn the_first_lines_that_are_kept_count_with_those_that_are_cut_later() {
        let mut content = content(1, 500, 900, 400);
        content.keep_first(1_000);
        assert!(chars(&content.text.text) <= 1_000);
        let kept = content.text.text.lines().count();
        assert_eq!(kept as u64 + content.text.omitted, 900);
        let cut = shown(&content, 300);
        let number = cut.lines().filter(|line| line.ends_with(": text")).count();
        let more = format!("showing first {number} lines, {} more", 900 - number);
        assert!(number < kept && cut.contains(&more), "{cut}");
    }
}
