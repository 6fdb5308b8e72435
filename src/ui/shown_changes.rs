//! Remembers which changes to files the person has seen, so that none is shown twice.
//!
//! A file may have been shown in pieces: created in one round, edited in the next. What counts is what
//! they make together, so each piece is applied to those shown before it. Only line numbers and added
//! lines are needed for that, and a unified diff has them. A change that was made unseen in between
//! makes the result another one.

use std::collections::BTreeMap;
use std::ops::Range;

use super::diff;

/// The changes that were shown, by the names of the files.
#[derive(Debug, Default)]
pub(super) struct ShownChanges {
    /// The latest version comes last.
    versions: BTreeMap<String, Vec<Vec<FileLines>>>,
}

/// Where lines of a changed file come from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileLines {
    /// Lines of the file as it was at first.
    Kept(Range<usize>),
    Added(String),
}

impl ShownChanges {
    /// Notes a step's difference, which builds on what was shown of its files before.
    pub(super) fn note_step(&mut self, difference: &str) {
        for file in diff::files(difference) {
            let versions = self.versions.entry(name_of(file)).or_default();
            let before = versions.last().cloned().unwrap_or_else(unchanged);
            versions.push(applied(before, file));
        }
    }

    /// Notes a difference from the files as they were at first.
    pub(super) fn note_whole(&mut self, difference: &str) {
        for file in diff::files(difference) {
            let versions = self.versions.entry(name_of(file)).or_default();
            versions.push(applied(unchanged(), file));
        }
    }

    /// Returns true if all of a difference from the files as they were at first was shown. The next
    /// step's builds on it.
    pub(super) fn has(&mut self, difference: &str) -> bool {
        diff::files(difference).into_iter().all(|file| {
            let version = applied(unchanged(), file);
            let Some(versions) = self.versions.get_mut(&name_of(file)) else {
                return false;
            };
            let at = versions.iter().rposition(|one| *one == version);
            if let Some(at) = at {
                versions.remove(at);
                versions.push(version);
            }
            at.is_some()
        })
    }
}

/// The name in the head of a file's diff; all of it if there is none, as for a binary file.
fn name_of(file: &str) -> String {
    let named = file.lines().take(2).filter_map(|line| {
        line.strip_prefix("+++ b/")
            .or_else(|| line.strip_prefix("--- a/"))
    });
    named.last().unwrap_or(file).to_owned()
}

fn unchanged() -> Vec<FileLines> {
    vec![FileLines::Kept(0..usize::MAX)]
}

/// The file after the hunks of a diff.
fn applied(before: Vec<FileLines>, file: &str) -> Vec<FileLines> {
    let (mut rest, mut at) = (before, 0);
    let (mut after, mut is_after_added) = (Vec::new(), false);
    // A line may end with a carriage return of its own.
    let lines = file.split_terminator('\n');
    for line in lines.skip_while(|line| !line.starts_with("@@")) {
        let is_added = std::mem::replace(&mut is_after_added, line.starts_with('+'));
        match line.as_bytes().first() {
            Some(b'@') => {
                let begin = begin_of(line);
                let between = begin.saturating_sub(at);
                after.append(&mut take_lines(&mut rest, between));
                at += between;
            }
            Some(b' ' | b'-') => {
                let mut one = take_lines(&mut rest, 1);
                at += 1;
                if line.starts_with(' ') {
                    after.append(&mut one);
                }
            }
            // That a file has no last line break belongs to its last line.
            Some(b'\\') => {
                if let Some(FileLines::Added(last)) = after.last_mut().filter(|_| is_added) {
                    last.push_str(line);
                }
            }
            _ => after.push(FileLines::Added(line.to_owned())),
        }
    }
    after.append(&mut rest);
    joined(after)
}

/// How many lines come before a hunk: `@@ -3,2 +3,4 @@`, or `@@ -3,0 +4 @@` after line 3.
fn begin_of(hunk: &str) -> usize {
    let old = hunk.split([' ', '-']).nth(2).unwrap_or_default();
    let (line, length) = old.split_once(',').unwrap_or((old, "1"));
    let line = line.parse::<usize>().unwrap_or_default();
    line.saturating_sub(usize::from(length != "0"))
}

/// Takes so many lines off the beginning.
fn take_lines(from: &mut Vec<FileLines>, count: usize) -> Vec<FileLines> {
    let (mut taken, mut left) = (Vec::new(), count);
    let mut pieces = std::mem::take(from).into_iter();
    for piece in pieces.by_ref() {
        match piece {
            FileLines::Added(_) if left > 0 => {
                left -= 1;
                taken.push(piece);
            }
            FileLines::Kept(range) if left > 0 => {
                let middle = range.start.saturating_add(left).min(range.end);
                left -= middle - range.start;
                taken.push(FileLines::Kept(range.start..middle));
                if middle < range.end {
                    from.push(FileLines::Kept(middle..range.end));
                }
            }
            _ => from.push(piece),
        }
    }
    taken
}

/// The same lines, with neighbours of the first version in one piece.
fn joined(pieces: Vec<FileLines>) -> Vec<FileLines> {
    let mut joined: Vec<FileLines> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(FileLines::Kept(before)), FileLines::Kept(next)) if before.end == next.start => {
                before.end = next.end;
            }
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approve::difference;
    use crate::protocol::RelPath;

    fn of(before: Option<&str>, after: &str) -> String {
        difference(&RelPath::parse("x.py").unwrap(), before, Some(after))
    }

    /// Shows these versions one after another; tells if all that they make was shown then.
    #[track_caller]
    fn case(first: Option<&str>, versions: &[&str]) {
        let mut shown = ShownChanges::default();
        let mut before = first;
        for version in versions {
            let whole = of(first, version);
            assert!(!shown.has(&whole), "{whole}");
            shown.note_step(&of(before, version));
            assert!(shown.has(&whole), "{whole}");
            before = Some(version);
        }
    }

    #[test]
    fn what_was_shown_in_pieces_was_shown() {
        case(None, &["a\nb\nc\n", "a\n2\nc\n", "a\n2\nc\nd", "z\n"]);
        let long: Vec<String> = (0..40).map(|line| line.to_string()).collect();
        let long = long.join("\n") + "\n";
        let one = long.replace("7\n", "seven\n");
        let two = one.replace("20\n", "");
        let three = two.replace("30\n", "30\nand a half\n");
        let four = three.replace("seven\n", "VII\n");
        case(Some(&long), &[&one, &two, &three, &four]);
    }

    #[test]
    fn a_change_between_two_that_were_shown_is_not_shown_with_them() {
        let mut shown = ShownChanges::default();
        shown.note_step(&of(None, "a\nb\n"));
        // Nobody saw `a` become `evil`.
        shown.note_step(&of(Some("evil\nb\n"), "evil\nc\n"));
        let whole = of(None, "evil\nc\n");
        assert!(!shown.has(&whole));
        shown.note_whole(&whole);
        assert!(shown.has(&whole));
        shown.note_step(&of(Some("evil\nc\n"), "c\n"));
        assert!(shown.has(&of(None, "c\n")));
        assert!(!shown.has(&of(None, "c\r\n")));
    }

    #[test]
    fn a_step_that_was_shown_and_not_made_changes_nothing() {
        let mut shown = ShownChanges::default();
        shown.note_step(&of(None, "a\n"));
        shown.note_step(&of(Some("a\n"), "b\n"));
        assert!(shown.has(&of(None, "a\n")));
        shown.note_step(&of(Some("a\n"), "a\nc\n"));
        assert!(shown.has(&of(None, "a\nc\n")));
        assert!(!shown.has("Binary files differ\n"));
        shown.note_whole("Binary files differ\n");
        assert!(shown.has("Binary files differ\n"));
    }
}
