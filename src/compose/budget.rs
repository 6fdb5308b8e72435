//! Who gets how much of an outbox that is too small for all.
//!
//! Fair shares: whoever needs less than an equal part gets all it needs, and what it leaves is
//! divided among the others. So a short result is never cut because a long one stands beside it.

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

/// The first lines of a text that fit, with a word about the rest.
pub fn first_lines(text: &str, room: usize) -> String {
    let total = text.lines().count();
    let (mut kept, mut used, mut lines) = (String::new(), 0, 0);
    // What the word itself may need.
    let room = room.saturating_sub(80);
    for line in text.split_inclusive('\n') {
        used += line.chars().count();
        if used > room {
            break;
        }
        kept.push_str(line);
        lines += 1;
    }
    if lines == total {
        return kept;
    }
    let more = total - lines;
    if !kept.is_empty() && !kept.ends_with('\n') {
        kept.push('\n');
    }
    kept + &format!("[TRUNCATED: showing first {lines} lines, {more} more available]\n")
}

/// The beginning and the end of a text that fits, with a word about what lies between.
pub fn both_ends(text: &str, room: usize) -> String {
    let total = text.chars().count();
    if total <= room {
        return text.to_owned();
    }
    // The end of an output tells more than its beginning: it gets two thirds.
    let room = room.saturating_sub(60);
    let head = floor(text, room / 3);
    let tail = text
        .char_indices()
        .rev()
        .nth((room - room / 3).saturating_sub(1))
        .map_or(0, |(at, _)| at);
    let tail = if room == 0 { text.len() } else { tail };
    let omitted = text[head..tail].chars().count();
    let line_break = if head == 0 || text[..head].ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!(
        "{}{line_break}[TRUNCATED: {omitted} characters omitted]\n{}",
        &text[..head],
        &text[tail..]
    )
}

/// The byte offset after the first `count` characters.
fn floor(text: &str, count: usize) -> usize {
    text.char_indices()
        .nth(count)
        .map_or(text.len(), |(at, _)| at)
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

    proptest! {
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
            prop_assert!(both_ends(&text, room).chars().count() <= room.max(60));
            prop_assert!(first_lines(&text, room).chars().count() <= room.max(80));
        }
    }
}
