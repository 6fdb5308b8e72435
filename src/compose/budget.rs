//! Who gets how much of a message that is too small for all.
//!
//! Everything that wants room makes a claim: how much it needs, how little it can be cut to, and its
//! rank. Where the room is short, the lower ranks are cut first, each down to its least before the
//! next one loses anything. Within a rank the shares are fair: a claim for less than an equal part
//! gets all it needs, and what it leaves is divided among the others; so a short result is never cut
//! because a long one stands beside it. Of a file a cut keeps the beginning; of an output it keeps
//! what `excerpt` chooses.

use crate::protocol::truncated_lines;

/// The order in which content is cut, the first one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Content that nobody asked for, but may be of use.
    Unasked,
    /// The files of the workspace.
    Listing,
    /// The project's instructions.
    Project,
    /// Files that the task names.
    Named,
    /// Results of steps that succeeded.
    Success,
    /// Results of steps that did not.
    Failure,
    /// Contents that the model asked for.
    Requested,
    /// The person's words.
    Words,
}

/// From the first to be cut to the last.
const ORDER: [Rank; 8] = [
    Rank::Unasked,
    Rank::Listing,
    Rank::Project,
    Rank::Named,
    Rank::Success,
    Rank::Failure,
    Rank::Requested,
    Rank::Words,
];

impl Rank {
    /// Returns true if it is worth another part of the message rather than being cut.
    pub fn is_worth_a_part(self) -> bool {
        self >= Self::Success
    }
}

/// Something that wants room, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// When it is cut.
    pub rank: Rank,
    /// All that it could use.
    pub need: usize,
    /// The least that it can be cut to.
    pub least: usize,
}

/// How much room it takes to tell all that is worth a part, and the rest at its least.
pub fn required(claims: &[Claim]) -> usize {
    let required = |claim: &Claim| {
        if claim.rank.is_worth_a_part() {
            claim.need
        } else {
            claim.least
        }
    };
    claims.iter().map(required).sum()
}

/// Divides the room; if it is less than the least of all, even that is shared fairly.
pub fn divide(claims: &[Claim], room: usize) -> Vec<usize> {
    let mut given: Vec<usize> = claims.iter().map(|claim| claim.need).collect();
    let mut excess = given.iter().sum::<usize>().saturating_sub(room);
    for rank in ORDER {
        if excess == 0 {
            return given;
        }
        let members: Vec<usize> = (0..claims.len())
            .filter(|index| claims[*index].rank == rank)
            .collect();
        let leasts = |index: &usize| claims[*index].least.min(claims[*index].need);
        let least: usize = members.iter().map(leasts).sum();
        let need: usize = members.iter().map(|index| claims[*index].need).sum();
        let kept = need.saturating_sub(excess).max(least);
        excess -= need - kept;
        let extras: Vec<usize> = members
            .iter()
            .map(|index| claims[*index].need - leasts(index))
            .collect();
        let extra_shares = shares(&extras, kept - least);
        for (index, extra) in members.iter().zip(extra_shares) {
            given[*index] = leasts(index) + extra;
        }
    }
    if excess > 0 {
        return shares(&given, room);
    }
    given
}

/// Divides `room` among parts of these sizes.
pub fn shares(sizes: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|index| sizes[*index]);
    let mut shares = vec![0; sizes.len()];
    let mut left = room;
    for (served, index) in order.iter().enumerate() {
        let share = left / (sizes.len() - served);
        shares[*index] = sizes[*index].min(share);
        left -= shares[*index];
    }
    shares
}

/// The most characters of a note about a cut.
pub const CUT_WORDS: usize = 80;

/// The first lines of a text that fit, and how many more there are.
pub fn lines_within(text: &str, room: usize) -> (&str, usize) {
    let (mut end, mut used) = (0, 0);
    for line in text.split_inclusive('\n') {
        used += line.chars().count();
        if used > room {
            break;
        }
        end += line.len();
    }
    (&text[..end], text[end..].lines().count())
}

/// The first lines of a text that fit, with a word about the rest.
pub fn first_lines(text: &str, room: usize) -> String {
    let (kept, more) = lines_within(text, room.saturating_sub(CUT_WORDS));
    with_cut(kept, more)
}

/// Lines, and a word about those that are missing after them, if any are.
pub fn with_cut(kept: &str, more: usize) -> String {
    if more == 0 {
        return kept.to_owned();
    }
    let line_break = if kept.is_empty() || kept.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let words = truncated_lines(kept.lines().count(), more);
    format!("{kept}{line_break}{words}\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_small_are_served_whole_and_the_large_share_the_rest() {
        assert_eq!(shares(&[10, 1000, 5, 1000], 115), [10, 50, 5, 50]);
        assert_eq!(shares(&[10, 20], 100), [10, 20]);
        assert_eq!(shares(&[], 100), Vec::<usize>::new());
        assert_eq!(shares(&[10], 0), [0]);
    }

    #[test]
    fn cuts_between_lines() {
        let text = "line\n".repeat(100);
        let cut = first_lines(&text, 130);
        assert!(
            cut.ends_with("line\n[TRUNCATED: showing first 10 lines, 90 more available]\n"),
            "{cut}"
        );
    }

    fn claim(rank: Rank, need: usize, least: usize) -> Claim {
        Claim { rank, need, least }
    }

    #[test]
    fn the_lower_ranks_are_cut_to_their_least_before_the_next_loses_anything() {
        let claims = [
            claim(Rank::Listing, 1000, 100),
            claim(Rank::Failure, 300, 50),
            claim(Rank::Success, 300, 50),
            claim(Rank::Requested, 500, 80),
        ];
        assert_eq!(divide(&claims, 5000), [1000, 300, 300, 500]);
        assert_eq!(divide(&claims, 1500), [400, 300, 300, 500]);
        assert_eq!(divide(&claims, 1100), [100, 300, 200, 500]);
        assert_eq!(divide(&claims, 900), [100, 250, 50, 500]);
        assert_eq!(divide(&claims, 300), [100, 50, 50, 100]);
        assert_eq!(required(&claims), 1200);
    }

    proptest! {
        #[test]
        fn no_division_gives_more_than_there_is(
            claims in prop::collection::vec((0_usize..8, 0_usize..5000, 0_usize..600), 0..30), room in 0_usize..40_000)
        {
            let claims: Vec<Claim> = claims.into_iter().map(|(rank, need, least)| claim(ORDER[rank], need, least)).collect();
            let given = divide(&claims, room);
            let needs: usize = claims.iter().map(|claim| claim.need).sum();
            prop_assert_eq!(given.iter().sum::<usize>(), room.min(needs));
            prop_assert!(given.iter().zip(&claims).all(|(given, claim)| *given <= claim.need));
            // If a claim is cut, all lower ranks are at their least.
            for (mine, claim) in given.iter().zip(&claims) {
                if *mine < claim.need {
                    for (other, lower) in given.iter().zip(&claims) {
                        prop_assert!(lower.rank >= claim.rank || *other <= lower.least);
                    }
                }
            }
        }

        #[test]
        fn shares_never_exceed_room_or_need(sizes in prop::collection::vec(0_usize..5000, 0..20), room in 0_usize..20_000) {
            let shares = shares(&sizes, room);
            prop_assert!(shares.iter().sum::<usize>() <= room);
            prop_assert!(shares.iter().zip(&sizes).all(|(share, size)| share <= size));
            if sizes.iter().sum::<usize>() <= room {
                prop_assert_eq!(shares, sizes);
            }
        }

        #[test]
        fn cut_texts_fit(text in "[aä€\n]{0,400}", room in 80_usize..300) {
            prop_assert!(first_lines(&text, room).chars().count() <= room.max(80));
        }
    }
}
