//! The failures in the middle of an output that is too long to be kept, gathered while it comes.
//!
//! Memory depends on the room, not on the output. The pieces in which the output comes do not
//! matter.

use std::collections::VecDeque;

use super::{AFTER, BEFORE, is_failure, mark, may_fail};

/// The longest line that is looked at, in bytes; of a longer one only that many.
const LONGEST: usize = 4 * 1024;

/// Lines that tell of failures, with what stands around them.
#[derive(Debug, Default)]
pub struct Passages {
    kept: String,
    /// How many more characters are kept.
    room: usize,
    has_failures: bool,
    /// The lines before, which are kept if a failure follows.
    before: VecDeque<String>,
    /// How many more lines are kept after the last failure.
    after: usize,
    /// The beginning of a line whose end has not come yet.
    partial: String,
    /// How many characters were left out since the last line that was kept.
    omitted: u64,
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
            if self.partial.is_empty() {
                self.line(line);
            } else {
                self.partial.push_str(line);
                let line = std::mem::take(&mut self.partial);
                self.line(&line);
            }
        }
        self.partial.push_str(rest);
        if self.partial.len() > LONGEST {
            let end = self.partial.floor_char_boundary(LONGEST);
            self.omitted += self.partial[end..].chars().count() as u64;
            self.partial.truncate(end);
        }
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
            self.remember(line);
        }
        *rest = &rest[end..];
        true
    }

    fn line(&mut self, line: &str) {
        if is_failure(line) && self.room > 0 {
            self.has_failures = true;
            for before in std::mem::take(&mut self.before) {
                self.keep(&before);
            }
            self.keep(line);
            self.after = AFTER;
        } else if self.after > 0 {
            self.after -= 1;
            self.keep(line);
        } else {
            self.remember(line);
        }
    }

    fn keep(&mut self, line: &str) {
        let size = line.chars().count();
        if size > self.room {
            self.room = 0;
            self.omitted += size as u64;
            return;
        }
        self.room -= size;
        mark(&mut self.kept, &mut self.omitted);
        self.kept.push_str(line);
    }

    fn remember(&mut self, line: &str) {
        self.before.push_back(line.to_owned());
        self.forget_before(BEFORE);
    }

    fn forget_before(&mut self, most: usize) {
        while self.before.len() > most {
            let gone = self.before.pop_front().unwrap_or_default();
            self.omitted += gone.chars().count() as u64;
        }
    }

    /// What was kept, with words about what is missing, and the line whose end has not come; nothing
    /// if no line told of a failure.
    pub fn finish(mut self) -> Option<(String, String)> {
        if !self.has_failures {
            return None;
        }
        self.forget_before(0);
        mark(&mut self.kept, &mut self.omitted);
        Some((self.kept, self.partial))
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
        assert!(passages.kept.len() + passages.partial.len() < 100_000);
        assert!(passages.before.iter().map(String::len).sum::<usize>() < 100_000);
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
