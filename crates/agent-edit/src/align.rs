//! Tells which lines a replacement keeps, so that only the others are written anew.
//!
//! Lines that stand in both texts at the ends, and lines that are unique in both and keep their
//! order, with their equal neighbours, are kept. That is not the shortest difference, but it takes
//! linear time (but for a sort) whatever the texts are.

use std::collections::HashMap;
use std::ops::Range;

use super::fold::is_blank;

/// A stretch of old lines and the new lines that take its place; what lies between is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffBlock {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The stretches in which two texts differ, in ascending order.
pub(super) fn align(old: &[&str], new: &[&str]) -> Vec<DiffBlock> {
    let prefix = common(old.iter(), new.iter());
    let suffix = common(old[prefix..].iter().rev(), new[prefix..].iter().rev());
    let old_end = old.len() - suffix;
    let new_end = new.len() - suffix;
    let mut blocks = Vec::new();
    let mut old_at = prefix;
    let mut new_at = prefix;
    for (old_line, new_line) in anchors(&old[prefix..old_end], &new[prefix..new_end]) {
        let (old_line, new_line) = (old_line + prefix, new_line + prefix);
        if old_line < old_at || new_line < new_at {
            continue;
        }
        let back = common(
            old[old_at..old_line].iter().rev(),
            new[new_at..new_line].iter().rev(),
        );
        push(
            &mut blocks,
            old_at..old_line - back,
            new_at..new_line - back,
        );
        let forth = common(old[old_line..old_end].iter(), new[new_line..new_end].iter());
        old_at = old_line + forth;
        new_at = new_line + forth;
    }
    push(&mut blocks, old_at..old_end, new_at..new_end);
    blocks
}

/// The lines that two texts share, by their places in both, in ascending order.
pub(super) fn kept(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut kept = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for block in align(old, new) {
        kept.extend((old_at..block.old.start).zip(new_at..));
        (old_at, new_at) = (block.old.end, block.new.end);
    }
    kept.extend((old_at..old.len()).zip(new_at..));
    kept
}

fn push(blocks: &mut Vec<DiffBlock>, old: Range<usize>, new: Range<usize>) {
    if !old.is_empty() || !new.is_empty() {
        blocks.push(DiffBlock { old, new });
    }
}

/// How many of the first lines are equal.
pub(super) fn common<'l>(
    old: impl Iterator<Item = &'l &'l str>,
    new: impl Iterator<Item = &'l &'l str>,
) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

/// Lines that are unique on both sides and not blank, as long as they keep their order.
fn anchors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut seen: HashMap<&str, [Option<usize>; 2]> = HashMap::new();
    let mut repeated: Vec<&str> = Vec::new();
    for (side, lines) in [old, new].into_iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            let entry = seen.entry(line).or_default();
            if entry[side].replace(at).is_some() {
                repeated.push(line);
            }
        }
    }
    for line in repeated {
        seen.remove(line);
    }
    let mut pairs: Vec<(usize, usize)> = (seen.into_iter())
        .filter(|(line, _)| !is_blank(line))
        .filter_map(|(_, [old, new])| old.zip(new))
        .collect();
    pairs.sort_unstable();
    longest_ascent(&pairs)
}

/// The longest subsequence whose second numbers ascend.
fn longest_ascent(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < pair.1);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut ascent: Vec<_> = std::iter::successors(ends.last().copied(), |&at| before[at])
        .map(|at| pairs[at])
        .collect();
    ascent.reverse();
    ascent
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keeps_what_both_have() {
        let old = ["a", "b", "c", "d", "e"];
        let new = ["a", "x", "c", "d", "y", "z", "e"];
        let expected = [
            DiffBlock {
                old: 1..2,
                new: 1..2,
            },
            DiffBlock {
                old: 4..4,
                new: 4..6,
            },
        ];
        assert_eq!(align(&old, &new), expected);
        assert_eq!(align(&old, &old), []);
        assert_eq!(
            align(&[], &["a"]),
            [DiffBlock {
                old: 0..0,
                new: 0..1
            }]
        );
    }

    proptest! {
        #[test]
        fn what_is_not_in_a_block_is_equal(
            old in prop::collection::vec("[a-f]", 0..12),
            new in prop::collection::vec("[a-f]", 0..12),
        ) {
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let mut rebuilt: Vec<&str> = Vec::new();
            let mut at = 0;
            for block in align(&old, &new) {
                rebuilt.extend(&old[at..block.old.start]);
                prop_assert_eq!(rebuilt.len(), block.new.start);
                rebuilt.extend(&new[block.new]);
                at = block.old.end;
            }
            rebuilt.extend(&old[at..]);
            prop_assert_eq!(rebuilt, new);
        }
    }
}
