//! Patches of which every hunk stands exactly where it says: most diffs that a program wrote.
//!
//! The text is neither split into lines nor indexed. Its newlines are counted up to each hunk, and
//! what lies between two hunks is copied in one piece. Whatever is not as plain as that (other line
//! ends, no newline at the end, hunks that moved or have no numbers) is left to the way that can do
//! all of it; where this one answers, that one would give the same answer.

use memchr::{memchr, memchr_iter};

use super::is_useful;
use crate::align::align;
use crate::{Change, Edited};
use agent_protocol::{Hunk, HunkLine, Level};

/// Applies the hunks, if all of them stand where they say, one below the other.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Option<Edited> {
    if !text.ends_with('\n') || memchr(b'\r', text.as_bytes()).is_some() {
        return None;
    }
    let mut copy = Copy::new(text, hunks);
    for hunk in hunks.iter().filter(|hunk| is_useful(hunk)) {
        copy.add(hunk)?;
    }
    Some(copy.finish())
}

/// The new text, as far as it is put together.
struct Copy<'a> {
    old: &'a str,
    /// How far the old text is copied or left out, in bytes.
    at: usize,
    /// The same, in lines.
    line: usize,
    new: String,
    changes: Vec<Change>,
}

impl<'a> Copy<'a> {
    fn new(old: &'a str, hunks: &[Hunk]) -> Self {
        let added: usize = (hunks.iter().flat_map(|hunk| &hunk.lines))
            .filter(|line| matches!(line, HunkLine::Add(_)))
            .filter_map(|line| Some(line.after()?.len() + 1))
            .sum();
        Self {
            old,
            at: 0,
            line: 0,
            new: String::with_capacity(old.len() + added),
            changes: Vec::new(),
        }
    }

    /// Copies what stands above the hunk, then its new lines; nothing if it stands elsewhere.
    fn add(&mut self, hunk: &Hunk) -> Option<()> {
        let speaks_of_the_end = hunk.at_end || hunk.old_without_newline || hunk.new_without_newline;
        if speaks_of_the_end || hunk.lines.iter().all(|line| line.before().is_none()) {
            return None;
        }
        let above = usize::try_from(hunk.old_start?).ok()?.checked_sub(1)?;
        self.copy(above.checked_sub(self.line)?)?;
        let is_kept = |line: &HunkLine| matches!(line, HunkLine::Keep(_));
        for run in (hunk.lines).chunk_by(|one, other| is_kept(one) == is_kept(other)) {
            let old: Vec<&str> = run.iter().filter_map(HunkLine::before).collect();
            let new: Vec<&str> = run.iter().filter_map(HunkLine::after).collect();
            if !is_kept(&run[0]) {
                self.note_changes(&old, &new);
            }
            for line in old {
                self.pass(line)?;
            }
            for line in new {
                self.new.push_str(line);
                self.new.push('\n');
            }
        }
        Some(())
    }

    /// Copies so many lines.
    fn copy(&mut self, lines: usize) -> Option<()> {
        let rest = &self.old[self.at..];
        let length = length_of(rest.as_bytes(), lines)?;
        self.new.push_str(&rest[..length]);
        self.at += length;
        self.line += lines;
        Some(())
    }

    /// Goes over the next line of the old text, if it is this one.
    fn pass(&mut self, line: &str) -> Option<()> {
        let rest = &self.old[self.at..];
        let length = memchr(b'\n', rest.as_bytes())?;
        if rest[..length] != *line {
            return None;
        }
        self.at += length + 1;
        self.line += 1;
        Some(())
    }

    /// Notes which of the next lines are really replaced; those that touch are one change.
    fn note_changes(&mut self, old: &[&str], new: &[&str]) {
        for block in align(old, new) {
            let (start, end) = (self.line + block.old.start, self.line + block.old.end);
            match self.changes.last_mut() {
                Some(last) if last.old.end == start => {
                    last.old.end = end;
                    last.new += block.new.len();
                }
                _ => self.changes.push(Change {
                    old: start..end,
                    new: block.new.len(),
                }),
            }
        }
    }

    fn finish(mut self) -> Edited {
        self.new.push_str(&self.old[self.at..]);
        Edited {
            text: self.new,
            level: Level::Exact,
            changes: self.changes,
        }
    }
}

/// How many bytes the first so many lines have, all of which must be there.
fn length_of(text: &[u8], lines: usize) -> Option<usize> {
    // Counting newlines is much quicker than stopping at each of them.
    const BLOCK: usize = 1024;
    let mut left = lines;
    if left == 0 {
        return Some(0);
    }
    for (block, start) in text.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        let count = memchr_iter(b'\n', block).count();
        if count >= left {
            let last = memchr_iter(b'\n', block).nth(left - 1)?;
            return Some(start + last + 1);
        }
        left -= count;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Document, Stated, apply as apply_any};
    use super::*;

    fn hunk(start: u32, lines: &[&str]) -> Hunk {
        let lines = lines.iter().map(|line| {
            let (mark, text) = line.split_at(1);
            match mark {
                " " => HunkLine::Keep(text.to_owned()),
                "-" => HunkLine::Remove(text.to_owned()),
                _ => HunkLine::Add(text.to_owned()),
            }
        });
        Hunk {
            old_start: Some(start),
            lines: lines.collect(),
            ..Hunk::default()
        }
    }

    #[test]
    fn hunks_that_stand_where_they_say_need_no_search() {
        let text = "a\nb\nc\nd\ne\n";
        let edited = apply(
            text,
            &[hunk(1, &["-a", "+x", " b"]), hunk(4, &[" d", "-e"])],
        )
        .unwrap();
        assert_eq!(edited.text, "x\nb\nc\nd\n");
        let changes = [Change { old: 0..1, new: 1 }, Change { old: 4..5, new: 0 }];
        assert_eq!(edited.changes, changes);
    }

    #[test]
    fn what_is_not_plain_is_left_to_others() {
        let moved = [hunk(2, &["-a", "+x"])];
        let inserting = [hunk(1, &["+x"])];
        let backwards = [hunk(2, &["-b"]), hunk(1, &["-a"])];
        let twice = [hunk(1, &["-a", " b"]), hunk(2, &["-b"])];
        for hunks in [&moved[..], &inserting, &backwards, &twice] {
            assert_eq!(apply("a\nb\n", hunks), None, "{hunks:?}");
        }
        let fitting = [hunk(1, &["-a", "+x"])];
        assert!(apply("a\nb\n", &fitting).is_some());
        for text in ["a\nb", "a\r\nb\n", "a\nb\r\n", "", "b\na\n", "a"] {
            assert_eq!(apply(text, &fitting), None, "{text:?}");
        }
        let mut ending = hunk(2, &["-b", "+x"]);
        ending.new_without_newline = true;
        assert_eq!(apply("a\nb\n", &[ending]), None);
    }

    #[test]
    fn lines_are_counted_over_blocks() {
        let text = "0123456\n".repeat(1000);
        for lines in [0, 1, 127, 128, 129, 999, 1000] {
            assert_eq!(length_of(text.as_bytes(), lines), Some(lines * 8));
        }
        assert_eq!(length_of(text.as_bytes(), 1001), None);
    }

    /// Lines that stay, go and come: the hunks of a change, some of them moved by a line.
    fn patched() -> impl Strategy<Value = (String, Vec<Hunk>)> {
        let line = || prop::sample::select(&["a", "b", "  a", "", "x\u{201d}"][..]);
        let mark = prop::sample::select(&[" ", " ", " ", "-", "+"][..]);
        let hunk_lines = prop::collection::vec((mark, line()), 1..6);
        let apart = prop::collection::vec(line(), 0..3);
        let shift = prop::sample::select(&[0, 0, 0, 0, 0, 0, 0, 1][..]);
        prop::collection::vec((apart, hunk_lines, shift), 1..4).prop_map(|parts| {
            let (mut text, mut hunks, mut number) = (String::new(), Vec::new(), 1);
            for (apart, lines, shift) in parts {
                for line in apart {
                    text.push_str(line);
                    text.push('\n');
                    number += 1;
                }
                let marked: Vec<String> = (lines.iter())
                    .map(|(mark, line)| format!("{mark}{line}"))
                    .collect();
                let marked: Vec<&str> = marked.iter().map(String::as_str).collect();
                hunks.push(hunk(number + shift, &marked));
                for (_, line) in lines.iter().filter(|(mark, _)| *mark != "+") {
                    text.push_str(line);
                    text.push('\n');
                    number += 1;
                }
            }
            (text, hunks)
        })
    }

    proptest! {
        #[test]
        fn both_ways_give_the_same((text, hunks) in patched()) {
            if let Some(edited) = apply(&text, &hunks) {
                let stated: Vec<Stated> = (hunks.iter())
                    .map(|hunk| hunk.old_start.map_or(Stated::Nothing, Stated::Line))
                    .collect();
                prop_assert_eq!(apply_any(Document::new(&text), &hunks, &stated), Ok(edited));
            }
        }
    }
}
