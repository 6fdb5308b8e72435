//! Content that the model did not ask for and will need next: whole excerpts, as many as fit, and
//! the names of the others.

use super::budget::{Claim, Rank};
use super::content::Content;
use super::cuts::Cuts;
use super::titles::titles;
use super::{Section, chars};

/// How long the names of what was left out may be together, in characters.
const NAMES: usize = 200;

const HEADING: &str = "\n## You May Need\n";

/// The section: never in pieces.
pub(super) struct UnaskedSection<'a> {
    contents: &'a [Content],
}

/// The section of unrequested content, which is left out first.
pub(super) fn section(contents: &[Content]) -> UnaskedSection<'_> {
    UnaskedSection { contents }
}

impl UnaskedSection<'_> {
    /// Which of them are shown in so much room, the first ones first.
    fn fitting(&self, room: usize) -> Vec<bool> {
        let mut left = room;
        let fits = |content: &Content| {
            let rest = left.checked_sub(content.chars());
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        self.contents.iter().map(fits).collect()
    }

    /// A line about those that are not shown.
    fn left_out(&self, is_shown: &[bool]) -> String {
        let missing = self
            .contents
            .iter()
            .zip(is_shown)
            .filter(|(_, shown)| !**shown);
        let headings: Vec<String> = missing.map(|(content, _)| content.heading()).collect();
        format!(
            "Left out for lack of room: {}. READ_FILE shows it.\n",
            titles(&headings, NAMES)
        )
    }

    fn size(&self, is_shown: &[bool]) -> usize {
        let shown = self
            .contents
            .iter()
            .zip(is_shown)
            .filter(|(_, shown)| **shown);
        shown.map(|(content, _)| content.chars()).sum()
    }
}

impl Section for UnaskedSection<'_> {
    fn claims(&self) -> Vec<Claim> {
        if self.contents.is_empty() {
            return Vec::new();
        }
        let need: usize = self.contents.iter().map(Content::chars).sum();
        let nothing = vec![false; self.contents.len()];
        vec![Claim {
            rank: Rank::Unasked,
            need: need + chars(HEADING),
            least: need.min(chars(&self.left_out(&nothing))) + chars(HEADING),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
        let room = rooms.first().copied().unwrap_or_default();
        let room = room.saturating_sub(chars(HEADING));
        let mut is_shown = self.fitting(room);
        let mut word = String::new();
        if is_shown.contains(&false) {
            word = self.left_out(&is_shown);
            if self.size(&is_shown) + chars(&word) > room {
                is_shown = self.fitting(room.saturating_sub(chars(&word)));
                word = self.left_out(&is_shown);
            }
            if self.size(&is_shown) + chars(&word) > room {
                word.clear();
            }
        }
        let mut section = String::new();
        for (content, is_shown) in self.contents.iter().zip(is_shown) {
            if is_shown {
                content.write(&mut section, content.chars(), cuts);
            } else {
                cuts.push(content.heading());
            }
        }
        section.push_str(&word);
        if section.is_empty() {
            return section;
        }
        format!("{HEADING}{section}")
    }
}
