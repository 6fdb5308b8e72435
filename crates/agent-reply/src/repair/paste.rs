//! A reply that was pasted twice, or in two parts that overlap.
//!
//! Twice: the second half of the text is the first once more. In parts: some lines stand twice in
//! a row, the last of the first copy cut in its middle. Files repeat lines too, so an overlap counts
//! only if a line was cut, and if what is repeated opens or closes more brackets than it closes or
//! opens: a file that really said it twice would be out of balance.

use super::{RepairedLines, RepairedText, is_structural, repaired};
use crate::trim::trim_start;

/// The shortest text without an end mark that is taken for a second copy.
const MIN_COPY: usize = 400;

/// The shortest overlap, in lines and in bytes that are not spaces.
const MIN_LINES: usize = 3;
const MIN_BYTES: usize = 30;

/// The longest overlap, in lines.
const MAX_LINES: usize = 60;

/// Leaves out what a text has twice; these are its lines.
pub(crate) fn without_copies(text: &str, lines: &[&str]) -> RepairedText {
    twice(text).or_else(|| overlap(text, lines))
}

fn twice(text: &str) -> RepairedText {
    /// How many blank characters may stand between the copies.
    const BETWEEN: usize = 8;
    let whole = text.trim();
    let copy = (0..=BETWEEN).find_map(|between| {
        let length = whole.len().checked_sub(between)?;
        let half = (length % 2 == 0).then_some(length / 2)?;
        let (first, gap) = (whole.get(..half)?, whole.get(half..half + between)?);
        let same = gap.trim().is_empty() && Some(first) == whole.get(half + between..);
        same.then_some(first)
    })?;
    let certain = copy.len() >= MIN_COPY || super::super::end_mark(copy).is_some();
    if !certain || !copy.split('\n').any(is_structural) {
        return None;
    }
    let what = "left out a second copy of the reply";
    repaired(format!("{copy}\n"), what, 1, RepairedLines::Nothing)
}

fn overlap(text: &str, lines: &[&str]) -> RepairedText {
    let mut last = LastSeen::new();
    let mut at = 0;
    let seam = loop {
        let line = lines.get(at)?;
        if let Some(before) = last.replace(line, at)
            && at - before <= MAX_LINES
            && repeats(lines, before, at)
        {
            break before..at;
        }
        at += 1;
    };
    let is_reply = lines.iter().any(|line| is_structural(trim_start(line)));
    if !is_reply {
        return None;
    }
    let what = "left out lines that two pasted parts share";
    let changed = RepairedLines::Lines(vec![seam.start]);
    let kept = [&lines[..seam.start], &lines[seam.end..]].concat();
    let last_end = if text.ends_with('\n') { "\n" } else { "" };
    repaired(kept.join("\n") + last_end, what, seam.len(), changed)
}

/// Returns true if the lines from `before` up to `at` stand once more from `at` on.
fn repeats(lines: &[&str], before: usize, at: usize) -> bool {
    let length = at - before;
    let Some(again) = lines.get(at..at + length) else {
        return false;
    };
    let once = &lines[before..at];
    let (Some((cut, whole)), Some((complete, rest))) = (once.split_last(), again.split_last())
    else {
        return false;
    };
    let is_solid = |byte: &u8| !byte.is_ascii_whitespace();
    let bytes = || once.iter().flat_map(|line| line.bytes());
    let bracketed = once.iter().flat_map(|line| without_list_mark(line).bytes());
    length >= MIN_LINES
        && whole == rest
        && !matches!(*cut, "" | "+" | "-" | " ")
        && complete.starts_with(cut)
        && complete.len() > cut.len()
        && bytes().filter(is_solid).count() >= MIN_BYTES
        && balance(bracketed) != [0; 3]
}

/// A line without the `a)` or `12.)` that begins an item of a list: it closes nothing.
fn without_list_mark(line: &str) -> &str {
    const LONGEST: usize = 3;
    let rest = trim_start(line);
    let word = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let mark = rest[word..].strip_prefix('.').unwrap_or(&rest[word..]);
    match mark.strip_prefix(") ") {
        Some(text) if (1..=LONGEST).contains(&word) => text,
        _ => line,
    }
}

/// How many brackets of each kind are opened more often than closed.
fn balance(bytes: impl Iterator<Item = u8>) -> [i32; 3] {
    let mut balance = [0; 3];
    for byte in bytes {
        match byte {
            b'(' => balance[0] += 1,
            b')' => balance[0] -= 1,
            b'[' => balance[1] += 1,
            b']' => balance[1] -= 1,
            b'{' => balance[2] += 1,
            b'}' => balance[2] -= 1,
            _ => {}
        }
    }
    balance
}

/// Where a line was seen last, for the lines of late: a table that forgets.
struct LastSeen {
    slots: Vec<usize>,
}

impl LastSeen {
    const SLOTS: usize = 1 << 12;

    fn new() -> Self {
        Self {
            slots: vec![usize::MAX; Self::SLOTS],
        }
    }

    /// Remembers a line, and tells where a line like it was seen before.
    fn replace(&mut self, line: &str, at: usize) -> Option<usize> {
        let bytes = line.as_bytes();
        if bytes.len() < 4 {
            return None;
        }
        let tail = &bytes[bytes.len() - bytes.len().min(12)..];
        let hash = tail.iter().fold(bytes.len(), |hash, byte| {
            hash.wrapping_mul(0x0100_0193) ^ usize::from(*byte)
        });
        let slot = &mut self.slots[(hash ^ (hash >> 15)) % Self::SLOTS];
        let before = std::mem::replace(slot, at);
        (before != usize::MAX).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(text: &str) -> Option<String> {
        let lines = crate::trim::lines(text);
        without_copies(text, &lines).map(|(repaired, _)| repaired)
    }

    #[test]
    fn a_second_copy_goes() {
        let reply = "Hi\n[CREATE_FILE path=a]\nx\n[/CREATE_FILE]\n[END ab12cd34#1]\n";
        for between in ["", "\n", "\n\n"] {
            let text = format!("{reply}{between}{reply}");
            assert_eq!(repaired(&text).as_deref(), Some(reply));
        }
        let unmarked = format!("[RUN_COMMAND]\n{}\n[/RUN_COMMAND]\n", "ls\n".repeat(200));
        assert_eq!(repaired(&unmarked.repeat(2)), Some(unmarked));
    }

    #[test]
    fn the_same_command_twice_is_no_copy() {
        let text = "[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n".repeat(2);
        assert_eq!(repaired(&text), None);
        assert_eq!(repaired(&"word ".repeat(400)), None);
    }

    const TOP: &str = "[CREATE_FILE path=a.rs]\nfn main() {\n    let value = compute(\n";

    #[test]
    fn lines_that_two_parts_share_go() {
        let whole =
            format!("{TOP}        first_argument,\n        second,\n    );\n}}\n[/CREATE_FILE]\n");
        let parts = format!(
            "{TOP}        first_argument,\n        sec\nfn main() {{\n    let value = compute(\n        \
             first_argument,\n        second,\n    );\n}}\n[/CREATE_FILE]\n"
        );
        assert_eq!(repaired(&parts), Some(whole));
    }

    #[test]
    fn lines_that_a_diff_adds_again_and_again_stay() {
        let added = "+if (x) {\n".repeat(9);
        let text = format!("--- a/f\n+++ b/f\n@@ -1,2 +1,20 @@\n one\n{added} two\n{added}");
        assert_eq!(repaired(&text), None);
    }

    #[test]
    fn a_file_that_repeats_itself_stays() {
        let block = "    assert_eq!(first(1), 1);\n    assert_eq!(second(2), 2);\n    third(3);\n";
        let text = format!("{TOP}{}[/CREATE_FILE]\n", block.repeat(3));
        assert_eq!(repaired(&text), None);
    }

    #[test]
    fn a_bare_mark_is_no_line_that_was_cut() {
        let part = "+    value of the first one\n+    }\n+    value of the second one\n";
        let text = format!("--- a/f\n+++ b/f\n@@ -1 +1,8 @@\n-a\n{part}+\n{part}+x\n");
        assert_eq!(repaired(&text), None);
    }
}
