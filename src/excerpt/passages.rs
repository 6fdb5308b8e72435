//! The failures in the middle of an output that is too long to be kept, gathered while it comes.
//!
//! Memory depends on the room, not on the output. The pieces in which the output comes do not
//! matter.

use std::collections::VecDeque;

use super::{AFTER, BEFORE, is_failure, mark, may_fail, whole_end};

/// The longest line that is looked at and kept, in bytes; of a longer one only its beginning.
const LONGEST: usize = 4 * 1024;

/// Lines that tell of failures, with what stands around them.
#[derive(Debug, Default)]
pub struct Passages {
    kept: String,
    /// How many more characters are kept.
    room: usize,
    has_failures: bool,
    /// The lines before, which are kept if a failure follows.
    before: VecDeque<Line>,
    /// How many more lines are kept after the last failure.
    after: usize,
    /// The beginning of a line whose end has not come yet.
    partial: Line,
    /// How many characters were left out since the last line that was kept.
    omitted: u64,
}

/// A line, or the beginning of one that is too long.
#[derive(Debug, Default)]
struct Line {
    text: String,
    /// How many of its characters were left out.
    omitted: u64,
}

impl Line {
    fn of(text: &str) -> Self {
        let mut line = Self::default();
        line.push(text);
        line
    }

    /// Takes the next piece; where nothing fits any more, only a line break is kept.
    fn push(&mut self, text: &str) {
        let (text, end) = match text.strip_suffix('\n') {
            Some(text) => (text, "\n"),
            None => (text, ""),
        };
        let room = match self.omitted {
            0 => LONGEST.saturating_sub(self.text.len()),
            _ => 0,
        };
        let (kept, left) = text.split_at(text.floor_char_boundary(room));
        self.text.push_str(kept);
        if self.omitted == 0 && !left.is_empty() {
            // Half a word could be half a secret, which nobody would know again.
            let half = self.text.split_off(whole_end(&self.text));
            self.omitted += half.chars().count() as u64;
        }
        self.omitted += left.chars().count() as u64;
        self.text.push_str(end);
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// How many characters the whole line has.
    fn size(&self) -> u64 {
        self.text.chars().count() as u64 + self.omitted
    }
}

impl Passages {
    /// Keeps about so many characters.
    pub fn keeping(room: usize) -> Self {
        Self {
            room,
            ..Self::default()
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, text: &str) {
        let mut rest = text;
        while let Some(end) = rest.find('\n').map(|at| at + 1) {
            if self.partial.is_empty() && self.after == 0 && self.skip_quiet(&mut rest) {
                continue;
            }
            let (line, more) = rest.split_at(end);
            rest = more;
            self.partial.push(line);
            let line = std::mem::take(&mut self.partial);
            self.line(line);
        }
        self.partial.push(rest);
    }

    /// Passes over whole lines at once of which none can tell of a failure; tells whether it did.
    fn skip_quiet(&mut self, rest: &mut &str) -> bool {
        let Some(end) = rest.rfind('\n').map(|at| at + 1) else {
            return false;
        };
        let is_full = self.room == 0;
        if !is_full && may_fail(&rest[..end]) {
            return false;
        }
        let lines = &rest[..end];
        let last: Vec<&str> = lines.split_inclusive('\n').rev().take(BEFORE).collect();
        let last_bytes: usize = last.iter().map(|line| line.len()).sum();
        let passed = &lines[..lines.len() - last_bytes];
        if !passed.is_empty() {
            self.forget_before(0);
            self.omitted += passed.chars().count() as u64;
        }
        for line in last.into_iter().rev() {
            self.remember(Line::of(line));
        }
        *rest = &rest[end..];
        true
    }

    fn line(&mut self, line: Line) {
        if is_failure(&line.text) && self.room > 0 {
            self.has_failures = true;
            for before in std::mem::take(&mut self.before) {
                self.keep(&before);
            }
            self.keep(&line);
            self.after = AFTER;
        } else if self.after > 0 {
            self.after -= 1;
            self.keep(&line);
        } else {
            self.remember(line);
        }
    }

    fn keep(&mut self, line: &Line) {
        let size = line.text.chars().count();
        if size > self.room {
            self.room = 0;
            self.omitted += line.size();
            return;
        }
        self.room -= size;
        mark(&mut self.kept, &mut self.omitted);
        self.kept.push_str(&line.text);
        self.omitted += line.omitted;
    }

    fn remember(&mut self, line: Line) {
        self.before.push_back(line);
        self.forget_before(BEFORE);
    }

    fn forget_before(&mut self, most: usize) {
        while self.before.len() > most {
            let gone = self.before.pop_front().unwrap_or_default();
            self.omitted += gone.size();
        }
    }

    /// Returns the kept passages, with notes about what is missing, and the last line if it has no
    /// end yet; `None` if no line reported a failure.
    pub fn finish(mut self) -> Option<(String, String)> {
        if !self.has_failures {
            return None;
        }
        self.forget_before(0);
        self.omitted += self.partial.omitted;
        mark(&mut self.kept, &mut self.omitted);
        Some((self.kept, self.partial.text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gathered(pieces: &[&str], room: usize) -> Option<(String, String)> {
        let mut passages = Passages::keeping(room);
        for piece in pieces {
            passages.push(piece);
        }
        passages.finish()
    }

    #[test]
    fn failures_come_with_what_stands_around_them() {
        let text = "one\ntwo\nthree\nerror: four\nfive\n".to_owned() + &"ok\n".repeat(20);
        let (kept, partial) = gathered(&[&text, "half"], 1_000).unwrap();
        assert_eq!(
            kept,
            "[TRUNCATED: 4 characters omitted]\ntwo\nthree\nerror: four\nfive\nok\nok\nok\nok\nok\n[TRUNCATED: 45 characters omitted]\n"
        );
        assert_eq!(partial, "half");
        assert_eq!(gathered(&["all is well\n"], 1_000), None);
    }

    #[test]
    fn memory_stays_flat() {
        let mut passages = Passages::keeping(500);
        for _ in 0..2_000 {
            passages.push("error: again\nnothing of interest\n");
            passages.push(&"x".repeat(10_000));
        }
        assert!(passages.kept.len() + passages.partial.text.len() < 100_000);
        let before = passages.before.iter().map(|line| line.text.len());
        assert!(before.sum::<usize>() < 100_000);
    }

    #[test]
    fn of_a_line_that_is_too_long_only_the_beginning_is_kept_whatever_the_pieces() {
        let text = format!("error: {}\nafter\n", "é".repeat(LONGEST));
        let whole = gathered(&[&text], 10_000).unwrap();
        let (kept, _) = &whole;
        assert!(kept.len() < LONGEST + 100, "{}", kept.len());
        assert!(
            kept.ends_with("é\n[TRUNCATED: 2052 characters omitted]\nafter\n"),
            "{kept}"
        );
        for cut in [3, 7, 9, LONGEST + 1, text.len() - 3] {
            let (first, second) = text.split_at(text.floor_char_boundary(cut));
            assert_eq!(gathered(&[first, second], 10_000).as_ref(), Some(&whole));
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "(error|ok|ä|[a-z]{0,9}|\n){0,80}", cuts in prop::collection::vec(0_usize..300, 0..6)) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(*cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&str> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            prop_assert_eq!(gathered(&pieces, 60), gathered(&[&text], 60));
        }
    }
}
