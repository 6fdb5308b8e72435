//! Compares two versions of a text line by line.
//!
//! Everything that shows a difference uses this, so that the program carries one comparison instead
//! of one for each caller.

use std::ops::Range;
use std::time::{Duration, Instant};

use memchr::memchr2;
use similar::algorithms::{
    Capture, Compact, DiffHook, IdentifyDistinct, NoFinishHook, Replace, myers,
};
use similar::{DiffOp, DiffTag, group_diff_ops};

/// Lines that were added and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lines {
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
}

/// The names of the two versions above a diff.
#[derive(Debug, Clone, Copy)]
pub struct DiffNames<'a> {
    /// The old version.
    pub old: &'a str,
    /// The new version.
    pub new: &'a str,
}

/// The difference between two versions of a text.
pub struct LineDiff<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    operations: Vec<DiffOp>,
}

impl<'a> LineDiff<'a> {
    /// Compares two versions. After `patience` the difference is no longer made smaller.
    pub fn new(old: &'a str, new: &'a str, patience: Duration) -> Self {
        let deadline = Instant::now().checked_add(patience);
        let (old, new) = (lines_with_ends(old), lines_with_ends(new));
        let operations = compare(&old, &new, deadline);
        Self {
            old,
            new,
            operations,
        }
    }

    /// Counts the lines that differ.
    pub fn lines(&self) -> Lines {
        let changes = self.operations.iter().filter(|change| is_change(change));
        changes.fold(Lines::default(), |lines, change| Lines {
            added: lines.added + change.new_range().len(),
            removed: lines.removed + change.old_range().len(),
        })
    }

    /// The hunks of a unified diff, with this many equal lines around each change. Without names
    /// there is no header.
    pub fn unified(&self, context: usize, names: Option<DiffNames<'_>>) -> String {
        let mut text = String::new();
        for hunk in group_diff_ops(self.operations.clone(), context) {
            if let Some(DiffNames { old, new }) = names.filter(|_| text.is_empty()) {
                text = format!("--- {old}\n+++ {new}\n");
            }
            text.push_str(&hunk_header(&hunk));
            for operation in &hunk {
                let old = &self.old[operation.old_range()];
                let new = &self.new[operation.new_range()];
                if is_change(operation) {
                    push_lines(&mut text, '-', old);
                    push_lines(&mut text, '+', new);
                } else {
                    push_lines(&mut text, ' ', old);
                }
            }
        }
        text
    }
}

/// Compares lists of lines with Myers' algorithm.
///
/// `TextDiff` would do the same, but brings all its algorithms along, each compiled several times:
/// three quarters of a megabyte of code.
fn compare(old: &[&str], new: &[&str], deadline: Option<Instant>) -> Vec<DiffOp> {
    let equal = |(one, other): &(&&str, &&str)| one == other;
    let prefix = old.iter().zip(new).take_while(equal).count();
    let ends = old[prefix..].iter().rev().zip(new[prefix..].iter().rev());
    let suffix = ends.take_while(equal).count();
    let (old_end, new_end) = (old.len() - suffix, new.len() - suffix);
    // Lines become numbers, and only those between the equal ends: most edits are small.
    let numbered = IdentifyDistinct::<u32>::new(old, prefix..old_end, new, prefix..new_end);
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    if prefix > 0 {
        let Ok(()) = hook.equal(0, 0, prefix);
    }
    let Ok(()) = myers::diff_deadline(
        &mut NoFinishHook::new(&mut hook),
        numbered.old_lookup(),
        numbered.old_range(),
        numbered.new_lookup(),
        numbered.new_range(),
        deadline,
    );
    if suffix > 0 {
        let Ok(()) = hook.equal(old_end, new_end, suffix);
    }
    let Ok(()) = hook.finish();
    hook.into_inner().into_inner().into_ops()
}

fn is_change(operation: &DiffOp) -> bool {
    operation.tag() != DiffTag::Equal
}

fn hunk_header(hunk: &[DiffOp]) -> String {
    let whole = |of: fn(&DiffOp) -> Range<usize>| {
        let start = hunk.first().map_or(0, |first| of(first).start);
        let count = hunk.last().map_or(0, |last| of(last).end) - start;
        match count {
            // Nothing stands after this line.
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            _ => format!("{},{count}", start + 1),
        }
    };
    let (old, new) = (whole(DiffOp::old_range), whole(DiffOp::new_range));
    format!("@@ -{old} +{new} @@\n")
}

/// Splits a text after each `\n`, `\r\n` and `\r`.
fn lines_with_ends(mut text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    while let Some(at) = memchr2(b'\n', b'\r', text.as_bytes()) {
        let length = if text[at..].starts_with("\r\n") { 2 } else { 1 };
        let (line, rest) = text.split_at(at + length);
        lines.push(line);
        text = rest;
    }
    if !text.is_empty() {
        lines.push(text);
    }
    lines
}

fn push_lines(text: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        text.push(mark);
        text.push_str(line);
        if !line.ends_with(['\n', '\r']) {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::{ChangeTag, TextDiff};

    use super::*;

    #[test]
    fn hunks_and_counts_describe_the_change() {
        let diff = LineDiff::new("one\ntwo\n", "one\n2", Duration::from_secs(1));
        let counted = Lines {
            added: 1,
            removed: 1,
        };
        assert_eq!(diff.lines(), counted);
        let names = DiffNames {
            old: "a/x",
            new: "b/x",
        };
        assert_eq!(
            diff.unified(0, Some(names)),
            "--- a/x\n+++ b/x\n@@ -2 +2 @@\n-two\n+2\n\\ No newline at end of file\n"
        );
        assert!(diff.unified(1, None).starts_with("@@ -1,2 +1,2 @@\n one\n"));
    }

    proptest! {
        #[test]
        fn a_difference_is_the_one_of_text_diff(
            old in "([abc ]{0,2}(\n|\r\n|\r)?){0,160}",
            new in "([abc ]{0,2}(\n|\r\n|\r)?){0,160}",
            shared in "(x\n){0,3}",
            context in 0_usize..4,
        ) {
            let old = format!("{shared}{old}{shared}");
            let new = format!("{shared}{new}{shared}");
            let diff = LineDiff::new(&old, &new, Duration::from_mins(1));
            let expected = TextDiff::from_lines(old.as_str(), &new);
            let count = |tag| expected.iter_all_changes().filter(|one| one.tag() == tag).count();
            let counted = Lines {
                added: count(ChangeTag::Insert),
                removed: count(ChangeTag::Delete),
            };
            prop_assert_eq!(diff.lines(), counted);
            let names = DiffNames { old: "a", new: "b" };
            let mut unified = expected.unified_diff();
            unified.context_radius(context).header("a", "b");
            prop_assert_eq!(diff.unified(context, Some(names)), unified.to_string());
        }
    }
}
