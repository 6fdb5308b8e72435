//! What the model did not ask for and will need next: whole excerpts, as many as fit.

use super::budget::{Claim, Rank};
use super::contents::Content;
use super::{Section, chars};

const HEADING: &str = "\n## You May Need\n";

/// The section: left out first, and never in pieces.
pub(super) struct Unasked<'a>(pub(super) &'a [Content]);

impl Section for Unasked<'_> {
    fn claims(&self) -> Vec<Claim> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let need: usize = self.0.iter().map(Content::chars).sum();
        vec![Claim {
            rank: Rank::Unasked,
            need: need + chars(HEADING),
            least: 0,
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Vec<String>) -> String {
        let room = rooms.first().copied().unwrap_or_default();
        let mut left = room.saturating_sub(chars(HEADING));
        let mut section = String::new();
        for content in self.0 {
            let size = content.chars();
            if size <= left {
                content.write(&mut section, size, cuts);
                left -= size;
            }
        }
        if section.is_empty() {
            return section;
        }
        format!("{HEADING}{section}")
    }
}
