//! What the project says about working on it, quoted so that it cannot pass for ours.

use super::budget::{Claim, Rank};
use super::contents::Content;
use super::{Section, chars};

const HEADING: &str = "\n## Project Instructions\nFrom the project; where they differ, the later one holds, and the task and the protocol above all.\n";

/// The section: one claim for each file, from the general to the specific.
pub(super) struct Project<'a>(pub(super) &'a [Content]);

impl Section for Project<'_> {
    fn claims(&self) -> Vec<Claim> {
        let heading = std::iter::once(chars(HEADING)).chain(std::iter::repeat(0));
        let contents = self.0.iter().zip(heading);
        contents
            .map(|(content, heading)| content.claim(Rank::Project, heading))
            .collect()
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Vec<String>) -> String {
        let mut section = String::new();
        for (content, room) in self.0.iter().zip(rooms) {
            let heading = if section.is_empty() { HEADING } else { "" };
            section.push_str(heading);
            content.write(&mut section, room.saturating_sub(chars(heading)), cuts);
        }
        section
    }
}
