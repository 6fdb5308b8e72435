//! A section of one piece, which is cut in its middle where it must be.

use super::budget::{Claim, Rank};
use super::content::fenced;
use super::cuts::Cuts;
use super::{Section, chars};
use crate::excerpt::excerpt;

/// The room that is always there.
const LEAST: usize = 1500;

/// A text whose output, if it has one, is cut before what stands around it.
#[derive(Debug)]
pub(super) struct Passage {
    /// When it is cut.
    pub(super) rank: Rank,
    /// The text before the output; all of a text that has none.
    pub(super) before: String,
    /// The output of a program.
    pub(super) output: String,
    /// The text after it.
    pub(super) after: String,
    /// The part that a cut leaves out, in words for the person.
    pub(super) cut: &'static str,
}

impl Passage {
    fn whole(&self) -> String {
        self.around(&self.output)
    }

    /// The text with this output.
    fn around(&self, output: &str) -> String {
        let output = if output.is_empty() {
            String::new()
        } else {
            format!("{}\n", fenced(output))
        };
        format!("{}{output}{}", self.before, self.after)
    }
}

impl Section for Passage {
    fn claims(&self) -> Vec<Claim> {
        let need = chars(&self.whole());
        vec![Claim {
            rank: self.rank,
            need,
            least: need.min(LEAST),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
        let room = rooms.first().copied().unwrap_or_default();
        let whole = self.whole();
        let need = chars(&whole);
        if need <= room {
            return whole;
        }
        cuts.push(self.cut.to_owned());
        let excess = need - room;
        match chars(&self.output).checked_sub(excess) {
            Some(left) if left > room / 2 => self.around(&excerpt(&self.output, left)),
            _ => excerpt(&whole, room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_cut_inside_of_its_fence() {
        let passage = Passage {
            rank: Rank::Failure,
            before: "## Check\n".to_owned(),
            output: "fine\n".repeat(500) + "error: no\n" + &"fine\n".repeat(500),
            after: "The end.\n".to_owned(),
            cut: "some of it",
        };
        let mut cuts = Cuts::default();
        let text = passage.fit(&[400], &mut cuts);
        assert!(text.starts_with("## Check\n```\nfine\n"), "{text}");
        assert!(text.ends_with("fine\n```\nThe end.\n"), "{text}");
        assert!(
            text.contains("error: no\n") && chars(&text) <= 400,
            "{text}"
        );
        assert_eq!(cuts.words, ["some of it"]);
        assert!(chars(&passage.fit(&[200], &mut cuts)) <= 200);
    }
}
