//! A file's contents as a message shows them: under a heading, in a fence, whole or its first lines.
//!
//! Every line of the text ends with a line break, a blank last one too, so that what is shown of a
//! file can be counted: the heading, the word about a cut and what counts as seen agree.

use std::fmt::Write as _;
use std::ops::Range;

use super::budget::{self, CUT_WORDS};
use super::chars;
use super::cuts::Cuts;
use crate::protocol::{Capped, LineWindow, ShownLines};

/// The least that is worth showing of a file, in characters: some ten lines.
pub(super) const WORTH: usize = 500;

/// A file that takes no more than this is shown whole or not at all, in characters.
pub(super) const SHORT: usize = 1_000;

/// A file's contents as they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The heading but for which lines of it are shown: the path.
    pub title: String,
    /// Which lines the text has, if it is of a file.
    pub lines: Option<LineWindow>,
    /// The text, empty where the heading says why there is none; and how many lines after it are
    /// missing.
    pub text: Capped,
    /// The lines of a file that it shows, if the model knows that file from now on.
    pub sighting: Option<ShownLines>,
}

/// How much of a content stands in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// How many of its lines.
    pub(super) lines: usize,
    /// True if this is all of it.
    pub(super) is_whole: bool,
}

impl Content {
    /// A file that was not even read, because the message is full without it.
    pub fn unread(title: String) -> Self {
        Self {
            title,
            lines: None,
            text: Capped {
                text: String::new(),
                omitted: 1,
            },
            sighting: None,
        }
    }

    /// Returns true if there is something to show, and none of it was read.
    pub(super) fn is_unread(&self) -> bool {
        self.text.is_empty() && self.text.omitted > 0
    }

    /// Returns true if the heading says why there is nothing to show.
    pub(super) fn is_refusal(&self) -> bool {
        self.is_bare() && self.lines.is_none() && self.sighting.is_none()
    }

    /// The heading: the path, and which lines of it follow.
    pub fn heading(&self) -> String {
        if self.is_unread() {
            return format!("{} (not shown: too much at once)", self.title);
        }
        self.heading_over(&self.text.text)
    }

    /// The lines, and a word about those that are missing after them.
    pub fn body(&self) -> String {
        if self.is_unread() {
            return String::new();
        }
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

    /// Leaves out its first lines.
    pub fn skip_first(&mut self, lines: usize) {
        let Some(LineWindow { first, .. }) = &mut self.lines else {
            return;
        };
        *first = first.saturating_add(lines);
        let text = &mut self.text.text;
        let skipped: usize = (text.split_inclusive('\n').take(lines)).map(str::len).sum();
        text.drain(..skipped);
    }

    /// The heading over the first lines of it.
    fn heading_over(&self, shown: &str) -> String {
        let words = |lines: LineWindow| format!(" {}", lines.words(shown.lines().count()));
        let words = self.lines.map(words).unwrap_or_default();
        format!("{}{words}", self.title)
    }

    /// Returns true if nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.text.omitted == 0
    }

    /// Returns true if the heading is all there is.
    pub fn is_bare(&self) -> bool {
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

    /// The least room in which it is worth showing: all of it if it is short, else some lines.
    pub(super) fn least(&self) -> usize {
        let need = self.chars();
        if need <= SHORT {
            return need;
        }
        let first = (self.text.text).split_inclusive('\n').next();
        let one_line = self.frame() + first.map_or(0, chars);
        need.min(one_line.max(WORTH))
    }

    /// The most room that the text around the lines takes if not all of them are shown.
    fn frame(&self) -> usize {
        let last = |LineWindow { of, .. }| LineWindow { first: of, of }.words(2);
        let heading = chars(&self.title) + 1 + chars(&self.lines.map(last).unwrap_or_default());
        let text = &self.text.text;
        heading + "### \n".len() + chars(&fenced(text)) - chars(text) + 1 + CUT_WORDS
    }

    /// Writes as much of it as fits; at the worst its title.
    pub(super) fn write(&self, section: &mut String, room: usize, cuts: &mut Cuts) -> Extent {
        let text = &self.text.text;
        let is_whole = self.is_bare() || self.chars() <= room;
        let (shown, more) = if is_whole {
            (text.as_str(), 0)
        } else {
            budget::lines_within(text, room.saturating_sub(self.frame()))
        };
        let extent = Extent {
            lines: shown.lines().count(),
            is_whole,
        };
        let _ = writeln!(section, "### {}", self.heading_over(shown));
        cuts.shown.extend(self.sighting_of(extent.lines));
        if !self.is_bare() {
            let body = budget::with_cut(shown, more.saturating_add(self.omitted()));
            let _ = writeln!(section, "{}", fenced(&body));
        }
        extent
    }

    /// The lines of the file that are seen if only so many lines of the text are shown.
    fn sighting_of(&self, shown: usize) -> Option<ShownLines> {
        let mut sighting = self.sighting.clone()?;
        let Range { start, end } = sighting.lines;
        sighting.lines = start..end.min(start.saturating_add(shown));
        Some(sighting)
    }
}

/// Encloses a text in a code fence that it cannot end by itself.
pub fn fenced(text: &str) -> String {
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
    use crate::protocol::RelPath;

    #[test]
    fn a_fence_is_longer_than_what_it_encloses() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("a ````` b"), "``````");
    }

    /// Numbered lines of a file from one on, of which some more were asked for.
    fn content(first: usize, shown: usize, of: usize, omitted: u64) -> Content {
        let line = |text: String, number: usize| text + &format!("{number}: text\n");
        Content {
            title: "big.txt".to_owned(),
            lines: Some(LineWindow { first, of }),
            text: Capped {
                text: (first..first + shown).fold(String::new(), line),
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
        let mut content = content(1_001, 500, 5_000, 0);
        assert!(
            shown(&content, 100_000).starts_with("### big.txt (lines 1001-1500 of 5000)\n```\n")
        );
        let cut = shown(&content, 400);
        let last = cut.lines().rfind(|line| line.ends_with(": text")).unwrap();
        let last = last.split_once(':').unwrap().0;
        let heading = format!("### big.txt (lines 1001-{last} of 5000)\n");
        assert!(cut.starts_with(&heading), "{cut}");
        content.skip_first(499);
        let end = "### big.txt (lines 1500-1500 of 5000)\n```\n1500: text\n```\n";
        assert_eq!(shown(&content, 400), end);
    }

    #[test]
    fn a_blank_last_line_is_shown_and_seen() {
        let blank = |text: &str, lines| Content {
            text: text.into(),
            sighting: Some(ShownLines {
                path: RelPath::parse("a.txt").unwrap(),
                hash: "h".to_owned(),
                lines,
                of: 3,
            }),
            ..content(1, 0, 3, 0)
        };
        let mut cuts = Cuts::default();
        let mut section = String::new();
        let mut whole = blank("a\nb\n\n", 0..3);
        whole.write(&mut section, 1_000, &mut cuts);
        assert_eq!(section, "### big.txt (3 lines)\n```\na\nb\n\n```\n");
        section.clear();
        let mut last = blank("\n", 2..3);
        last.lines = Some(LineWindow { first: 3, of: 3 });
        last.write(&mut section, 1_000, &mut cuts);
        assert_eq!(section, "### big.txt (lines 3-3 of 3)\n```\n\n```\n");
        let lines: Vec<_> = cuts.shown.iter().map(|one| one.lines.clone()).collect();
        assert_eq!(lines, [0..3, 2..3]);
        whole.keep_first(4);
        assert_eq!(
            (whole.text.text.as_str(), whole.text.omitted),
            ("a\nb\n", 1)
        );
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
