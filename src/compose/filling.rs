//! Sections in a room that may be too small for all of them.
//!
//! `budget` divides the room; this hands it out. The section of the highest rank is fitted first, and
//! what it leaves of its share goes to the others, so that nothing is cut beside room that is free:
//! excerpts that come whole or not at all and lines that are not broken leave some. What remains in
//! the end goes to those that were cut, again the highest first.

use std::cmp::Reverse;

use super::budget::{self, Claim};
use super::cuts::Cuts;
use super::{Section, chars};

/// A section that has its room.
#[derive(Default)]
struct Filled {
    text: String,
    cuts: Cuts,
    /// In characters.
    size: usize,
}

impl Filled {
    fn of(section: &dyn Section, rooms: &[usize]) -> Self {
        let mut cuts = Cuts::default();
        let text = section.fit(rooms, &mut cuts);
        Self {
            size: chars(&text),
            text,
            cuts,
        }
    }
}

/// The sections one after the other, in so much room.
pub(super) fn fill(sections: &[Box<dyn Section + '_>], room: usize) -> (String, Cuts) {
    let claims: Vec<Vec<Claim>> = sections.iter().map(|section| section.claims()).collect();
    let rank = |at: usize| claims[at].iter().map(|claim| claim.rank).max();
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|at| Reverse(rank(*at)));
    let mut filled: Vec<Filled> = sections.iter().map(|_| Filled::default()).collect();
    let mut left = room;
    for (served, at) in order.iter().enumerate() {
        let waiting = order[served..].iter();
        let waiting: Vec<Claim> = waiting.flat_map(|at| claims[*at].iter().copied()).collect();
        let rooms = budget::divide(&waiting, left);
        filled[*at] = Filled::of(sections[*at].as_ref(), &rooms[..claims[*at].len()]);
        left = left.saturating_sub(filled[*at].size);
    }
    for at in order {
        let need: usize = claims[at].iter().map(|claim| claim.need).sum();
        let size = filled[at].size;
        if left == 0 || size >= need {
            continue;
        }
        let rooms = budget::divide(&claims[at], size + left);
        let again = Filled::of(sections[at].as_ref(), &rooms);
        if (size + 1..=size + left).contains(&again.size) {
            left -= again.size - size;
            filled[at] = again;
        }
    }
    let (mut context, mut cuts) = (String::new(), Cuts::default());
    for one in filled {
        context.push_str(&one.text);
        cuts.append(one.cuts);
    }
    (context, cuts)
}

#[cfg(test)]
mod tests {
    use super::super::budget::Rank;
    use super::*;

    fn line(rank: Rank) -> String {
        format!("{:<9}\n", format!("{rank:?}"))
    }

    /// Lines of ten characters, all of them or none.
    struct Block(Rank, usize);

    impl Section for Block {
        fn claims(&self) -> Vec<Claim> {
            vec![Claim {
                rank: self.0,
                need: self.1 * 10,
                least: 0,
            }]
        }

        fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
            if rooms[0] < self.1 * 10 {
                cuts.push(format!("{:?}", self.0));
                return String::new();
            }
            line(self.0).repeat(self.1)
        }
    }

    /// As many of its lines of ten characters as fit.
    struct Lines(Rank, usize);

    impl Section for Lines {
        fn claims(&self) -> Vec<Claim> {
            Block(self.0, self.1).claims()
        }

        fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
            let shown = self.1.min(rooms[0] / 10);
            if shown < self.1 {
                cuts.push(format!("{:?}", self.0));
            }
            line(self.0).repeat(shown)
        }
    }

    #[track_caller]
    fn case(sections: &[Box<dyn Section>], room: usize, counts: &[(Rank, usize)], cut: &[&str]) {
        let (text, cuts) = fill(sections, room);
        assert!(chars(&text) <= room, "{text}");
        for (rank, count) in counts {
            assert_eq!(text.matches(&format!("{rank:?}")).count(), *count, "{text}");
        }
        assert_eq!(cuts.words, cut);
    }

    #[test]
    fn what_a_section_cannot_use_goes_to_those_that_were_cut() {
        // The excerpt does not fit, so the listing has its room; and the other way round.
        let listing = || -> Box<dyn Section> { Box::new(Lines(Rank::Listing, 30)) };
        let counts = [(Rank::Listing, 20), (Rank::Named, 0)];
        let too_long = Box::new(Block(Rank::Named, 50));
        case(&[listing(), too_long], 200, &counts, &["Listing", "Named"]);
        let counts = [(Rank::Listing, 4), (Rank::Named, 16)];
        let named = Box::new(Block(Rank::Named, 16));
        case(&[listing(), named], 200, &counts, &["Listing"]);
        // What nobody asked for does not fit behind a listing that leaves the end of a line.
        let counts = [(Rank::Listing, 30), (Rank::Unasked, 0)];
        let unasked = Box::new(Block(Rank::Unasked, 3));
        case(&[listing(), unasked], 329, &counts, &["Unasked"]);
    }

    #[test]
    fn the_text_keeps_its_order_whichever_section_is_served_first() {
        let sections: Vec<Box<dyn Section>> = vec![
            Box::new(Lines(Rank::Unasked, 1)),
            Box::new(Lines(Rank::Words, 1)),
        ];
        let (text, _) = fill(&sections, 100);
        assert!(text.starts_with("Unasked"), "{text}");
    }
}
