//! Excerpts of an output that is too long: its failures, its end and its beginning.
//!
//! A line that tells of a failure is worth more than all that succeeded, so it is kept with what
//! stands around it; of the rest, the end tells more than the beginning. Where it is cut, lines stay
//! whole, and within a line too long for that words do: half a password is still half a secret.
//! Every cut says how much is missing: `[TRUNCATED: N characters omitted]`.

mod failures;
mod passages;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

pub use self::failures::is_failure;
use self::failures::may_fail;
pub use self::passages::Passages;

/// How many lines are kept before and after one that tells of a failure.
const BEFORE: usize = 2;
const AFTER: usize = 6;

/// The longest note about a cut, in characters.
pub const MARK: usize = 60;

/// How far a cut within a long line moves to leave a word whole, in bytes.
const WORD: usize = 256;

/// The text if it fits; else what it tells of failures, its end and its beginning.
pub fn excerpt(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    if !may_fail(text) {
        return both_ends(text, room);
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut choice = KeptLines::of(&lines);
    choice.take_failures(room / 2);
    if choice.used == 0 {
        return both_ends(text, room);
    }
    let left = room.saturating_sub(choice.used + 2 * MARK);
    choice.take((0..lines.len()).rev(), left - left / 3);
    let left = room.saturating_sub(choice.used + 2 * MARK);
    choice.take(0..lines.len(), left);
    choice.write()
}

/// Which lines of a text are kept.
struct KeptLines<'a> {
    lines: &'a [&'a str],
    sizes: Vec<usize>,
    is_kept: Vec<bool>,
    /// Their length with the notes about cuts before them, in characters.
    used: usize,
}

impl<'a> KeptLines<'a> {
    fn of(lines: &'a [&'a str]) -> Self {
        Self {
            lines,
            sizes: lines.iter().map(|line| line.chars().count()).collect(),
            is_kept: vec![false; lines.len()],
            used: 0,
        }
    }

    /// Keeps lines that tell of failures, with what stands around them as long as there is room.
    fn take_failures(&mut self, room: usize) {
        // The same line again tells nothing more.
        let mut known = HashSet::new();
        let telling: Vec<usize> = (0..self.lines.len())
            .filter(|at| is_failure(self.lines[*at]) && known.insert(self.lines[*at]))
            .collect();
        // The failures themselves before what stands around the first of them.
        let mut left = room;
        for at in &telling {
            left = left.saturating_sub(self.sizes[*at] + MARK);
            if left == 0 {
                break;
            }
            self.keep(*at..at + 1, room);
        }
        for at in telling {
            if self.is_kept[at] {
                let end = (at + 1 + AFTER).min(self.lines.len());
                self.keep(at.saturating_sub(BEFORE)..end, room);
            }
        }
    }

    /// Keeps these lines if all of them fit.
    fn keep(&mut self, range: Range<usize>, room: usize) {
        let new: usize = range
            .clone()
            .filter(|at| !self.is_kept[*at])
            .map(|at| self.sizes[at])
            .sum();
        let is_joined = range.clone().any(|at| self.is_kept[at]);
        let cost = new + if is_joined { 0 } else { MARK };
        if self.used + cost <= room {
            self.used += cost;
            self.is_kept[range].fill(true);
        }
    }

    /// Keeps lines in this order until there is no more room.
    fn take(&mut self, order: impl Iterator<Item = usize>, room: usize) {
        let mut left = room;
        for at in order {
            if self.is_kept[at] {
                continue;
            }
            if self.sizes[at] > left {
                return;
            }
            left -= self.sizes[at];
            self.used += self.sizes[at];
            self.is_kept[at] = true;
        }
    }

    fn write(&self) -> String {
        let (mut text, mut omitted, mut has_words) = (String::new(), 0_u64, false);
        for (at, line) in self.lines.iter().enumerate() {
            if !self.is_kept[at] {
                has_words |= line.contains(char::is_alphanumeric);
                // A part of what was omitted before is omitted again.
                omitted = omitted.saturating_add(omitted_by(line).unwrap_or(self.sizes[at] as u64));
                continue;
            }
            if let Some(before) = omitted_by(line).filter(|_| omitted > 0) {
                omitted = omitted.saturating_add(before);
                has_words = true;
                continue;
            }
            // Nobody misses rulers and blank lines, so no word about them is needed.
            if !std::mem::take(&mut has_words) {
                omitted = 0;
            }
            mark(&mut text, &mut omitted);
            text.push_str(line);
        }
        mark(&mut text, &mut omitted);
        text
    }
}

/// Says how much is missing here, if something is.
fn mark(text: &mut String, omitted: &mut u64) {
    if *omitted > 0 {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "[TRUNCATED: {omitted} characters omitted]");
        *omitted = 0;
    }
}

/// How much a line says that is missing, if it is a word about a cut.
fn omitted_by(line: &str) -> Option<u64> {
    let number = line.strip_prefix("[TRUNCATED: ")?;
    number.split_once(" characters omitted]")?.0.parse().ok()
}

/// Two texts one after the other, of which the second may begin with a word about a cut: then the
/// first ends where it is whole, and the word counts what it loses.
pub fn joined(first: &str, second: &str) -> String {
    let Some(mut omitted) = second.lines().next().and_then(omitted_by) else {
        return format!("{first}{second}");
    };
    let mut text = first[..whole_end(first)].to_owned();
    omitted = omitted.saturating_add(first[text.len()..].chars().count() as u64);
    mark(&mut text, &mut omitted);
    text.push_str(second.split_once('\n').map_or("", |(_, rest)| rest));
    text
}

/// How much is missing of a text that was cut here, by its own words.
pub fn omitted(text: &str) -> u64 {
    let all = text.lines().filter_map(omitted_by);
    all.fold(0, u64::saturating_add)
}

/// The beginning and the end of a text that fits, with a word about what lies between.
pub fn both_ends(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let room = room.saturating_sub(MARK);
    // The end of an output tells more than its beginning: it gets two thirds.
    join(text, head(text, room / 3), tail(text, room - room / 3))
}

/// The text up to one place and from another, with a word about what lies between.
fn join(text: &str, head: usize, tail: usize) -> String {
    let mut shown = text[..head].to_owned();
    // A part of what was omitted before is omitted again.
    let lines = text[head..tail.max(head)].split_inclusive('\n');
    let sizes = lines.map(|line| omitted_by(line).unwrap_or(line.chars().count() as u64));
    let mut omitted = sizes.fold(0, u64::saturating_add);
    mark(&mut shown, &mut omitted);
    shown.push_str(&text[tail.max(head)..]);
    shown
}

/// Where the beginning of a text ends that has at most so many characters, and no half of a line.
fn head(text: &str, most: usize) -> usize {
    let end = text.char_indices().nth(most);
    end.map_or(text.len(), |(end, _)| whole_end(&text[..end]))
}

/// Where the end of a text begins that has at most so many characters, and no half of a line.
fn tail(text: &str, most: usize) -> usize {
    let Some(last) = most.checked_sub(1) else {
        return text.len();
    };
    match text.char_indices().rev().nth(last) {
        None | Some((0, _)) => 0,
        Some((start, _)) if text[..start].ends_with('\n') => start,
        Some((start, _)) => start + whole_start(&text[start..]),
    }
}

/// Where a text that was cut at its end is still whole: after a line, or before half a word.
pub fn whole_end(cut: &str) -> usize {
    match cut.rfind('\n') {
        Some(line) if line + 1 >= cut.len() / 2 => line + 1,
        _ => {
            let from = cut.floor_char_boundary(cut.len().saturating_sub(WORD));
            let between = cut[from..]
                .char_indices()
                .rev()
                .find(|(_, c)| is_between_words(*c));
            between.map_or(cut.len(), |(at, c)| from + at + c.len_utf8())
        }
    }
}

/// Where a text that was cut at its beginning is whole again: at a line, or after half a word.
pub fn whole_start(cut: &str) -> usize {
    match cut.find('\n') {
        Some(line) if line < cut.len() / 2 => line + 1,
        _ => {
            let to = cut.floor_char_boundary(WORD);
            let between = cut[..to].find(is_between_words).unwrap_or(0);
            between + usize::from(cut[between..].starts_with('\n'))
        }
    }
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | ',' | ';' | '=' | '(' | ')' | '<' | '>' | '|'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbered(count: usize) -> String {
        (0..count).fold(String::new(), |text, n| {
            text + &format!("test case_{n:04} ... ok\n")
        })
    }

    #[test]
    fn what_fits_is_whole() {
        assert_eq!(excerpt("error\n", 6), "error\n");
        assert_eq!(both_ends("short", 100), "short");
    }

    #[test]
    fn failures_are_kept_before_beginning_and_end() {
        let text = format!(
            "{}thread 'main' panicked at src/a.rs:7:\nleft: 1\nright: 2\n{}test result: FAILED. 1 failed\n",
            numbered(300),
            numbered(300)
        );
        let shown = excerpt(&text, 1_000);
        assert!(shown.chars().count() <= 1_000, "{shown}");
        assert!(shown.starts_with("test case_0000 ... ok\n"), "{shown}");
        assert!(
            shown.contains("panicked at src/a.rs:7:\nleft: 1\nright: 2\n"),
            "{shown}"
        );
        assert!(
            shown.ends_with("test result: FAILED. 1 failed\n"),
            "{shown}"
        );
        let kept = shown.lines().filter(|line| !line.starts_with("[TRUNCATED"));
        let kept: u64 = kept.map(|line| line.len() as u64 + 1).sum();
        assert_eq!(omitted(&shown) + kept, text.len() as u64, "{shown}");
    }

    #[test]
    fn rulers_that_are_left_out_need_no_word() {
        let ruler = "=".repeat(70);
        let failure = |n: usize| format!("{ruler}\nERROR: test_{n}\n{ruler}\n");
        let text: String = (0..40).map(failure).collect();
        let shown = excerpt(&text, 2_000);
        assert!(
            shown.contains("\nERROR: test_5\nERROR: test_6\n"),
            "{shown}"
        );
    }

    #[test]
    fn equal_failures_leave_room_for_others() {
        let text = format!(
            "{}error: another\n{}",
            "error: the same\n".repeat(200),
            numbered(200)
        );
        let shown = excerpt(&text, 600);
        assert!(shown.contains("error: another\n"), "{shown}");
    }

    #[test]
    fn many_failures_leave_room_for_the_end() {
        let text = "error: no\n".repeat(500) + "the end\n";
        let shown = excerpt(&text, 600);
        assert!(
            shown.ends_with("the end\n") && shown.len() <= 600,
            "{shown}"
        );
    }

    #[test]
    fn a_text_that_was_cut_before_tells_all_that_is_missing() {
        let text = format!(
            "{}[TRUNCATED: 1000 characters omitted]\nfatal: x\n",
            numbered(100)
        );
        let shown = excerpt(&text, 400);
        assert_eq!(
            omitted(&shown),
            1_000 + ((100 - shown.matches("case_").count()) * numbered(1).len()) as u64,
            "{shown}"
        );
    }

    #[test]
    fn both_ends_of_a_text_that_was_cut_before_tell_all_that_is_missing() {
        let (before, after) = (numbered(50), numbered(50));
        let text = format!("{before}[TRUNCATED: 1000 characters omitted]\n{after}");
        let shown = both_ends(&text, 400);
        let missing = (100 - shown.matches("case_").count()) * numbered(1).len();
        assert_eq!(omitted(&shown), 1_000 + missing as u64, "{shown}");
    }

    #[test]
    fn a_beginning_that_was_cut_in_a_line_ends_before_it() {
        let cut = "[TRUNCATED: 5 characters omitted]\nerror\n";
        assert_eq!(
            joined("test one\ntest cas", cut),
            "test one\n[TRUNCATED: 13 characters omitted]\nerror\n"
        );
        assert_eq!(joined("one\n", cut), format!("one\n{cut}"));
        assert_eq!(joined("an er", "ror\n"), "an error\n");
    }

    #[test]
    fn no_line_and_no_word_is_cut_in_two() {
        let text = "one\ntwo two\nthree three three\nfour\nfive\n";
        assert_eq!(&text[..head(text, 14)], "one\ntwo two\n");
        assert_eq!(&text[tail(text, 12)..], "four\nfive\n");
        assert_eq!(&text[tail(text, 5)..], "five\n");
        let line = "KEY=abcdefghij rest rest rest TOKEN=klmnopqrst";
        assert_eq!(&line[..head(line, 10)], "KEY=");
        assert_eq!(&line[tail(line, 20)..], " TOKEN=klmnopqrst");
    }

    proptest! {
        #[test]
        fn never_longer_than_its_room(text in "(error|ok|ä|[a-z]{0,9}|\n| ){0,200}", room in 130_usize..600) {
            prop_assert!(excerpt(&text, room).chars().count() <= room.max(2));
            prop_assert!(both_ends(&text, room).chars().count() <= room);
        }

        #[test]
        fn no_place_is_inside_of_a_character(text in "\\PC{0,60}", most in 0_usize..70) {
            prop_assert!(text.is_char_boundary(head(&text, most)));
            prop_assert!(text.is_char_boundary(tail(&text, most)));
            prop_assert!(text[..head(&text, most)].chars().count() <= most);
            prop_assert!(text[tail(&text, most)..].chars().count() <= most);
        }
    }
}
