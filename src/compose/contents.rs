//! Contents of files under a heading: those that the model asked for, and what the project says.

use std::fmt::Write as _;

use super::budget::{self, CUT_WORDS, Claim, Rank};
use super::{Section, chars};
use crate::protocol::Capped;

/// A file's contents as they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The heading: the path, and which lines.
    pub title: String,
    /// The text; empty where the heading says why there is none.
    pub text: Capped,
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

    fn fit(&self, rooms: &[usize], cuts: &mut Vec<String>) -> String {
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
    /// All that it takes, its title and fence included.
    pub(super) fn chars(&self) -> usize {
        let text = &self.text.text;
        if text.is_empty() {
            return chars(&self.title) + "### \n".len();
        }
        chars(&self.title) + "### \n".len() + chars(&fenced(text)) + 1
    }

    /// What stands around the text.
    fn frame(&self) -> usize {
        self.chars() - chars(&self.text.text)
    }

    fn claim(&self, rank: Rank, heading: usize) -> Claim {
        let need = self.chars();
        Claim {
            rank,
            need: need + heading,
            least: need.min(self.frame() + CUT_WORDS) + heading,
        }
    }

    /// Writes as much of it as fits; at the worst its title.
    pub(super) fn write(&self, section: &mut String, room: usize, cuts: &mut Vec<String>) {
        let text = &self.text.text;
        let _ = writeln!(section, "### {}", self.title);
        if text.is_empty() {
            return;
        }
        if self.chars() <= room {
            let _ = writeln!(section, "{}", fenced(text));
            return;
        }
        let shown = budget::first_lines(text, room.saturating_sub(self.frame()));
        let _ = writeln!(section, "{}", fenced(&shown));
        cuts.push(format!("the end of {}", self.title));
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
}
