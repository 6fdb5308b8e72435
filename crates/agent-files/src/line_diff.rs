//! Compares two versions of a text line by line.
//!
//! Everything that shows a difference uses this, so that the program carries one comparison instead
//! of one for each caller.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

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
pub struct LineDiff<'a>(TextDiff<'a, 'a, str>);

impl<'a> LineDiff<'a> {
    /// Compares two versions. After `patience` the difference is no longer made smaller.
    pub fn new(old: &'a str, new: &'a str, patience: Duration) -> Self {
        Self(TextDiff::configure().timeout(patience).diff_lines(old, new))
    }

    /// Counts the lines that differ.
    pub fn lines(&self) -> Lines {
        let mut lines = Lines::default();
        for change in self.0.iter_all_changes() {
            match change.tag() {
                ChangeTag::Insert => lines.added += 1,
                ChangeTag::Delete => lines.removed += 1,
                ChangeTag::Equal => {}
            }
        }
        lines
    }

    /// The hunks of a unified diff, with this many equal lines around each change. Without names
    /// there is no header.
    pub fn unified(&self, context: usize, names: Option<DiffNames<'_>>) -> String {
        let mut diff = self.0.unified_diff();
        diff.context_radius(context);
        if let Some(DiffNames { old, new }) = names {
            diff.header(old, new);
        }
        diff.to_string()
    }
}

#[cfg(test)]
mod tests {
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
}
