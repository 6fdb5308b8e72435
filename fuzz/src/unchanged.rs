//! An edit changes nothing outside of the lines that it reports.

use agent_edit::Edited;

/// Checks that every line of the old text that is not in a change stands in the new one, in order.
pub fn assert_unchanged_elsewhere(old: &str, edited: &Edited) {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = edited.text.split_inclusive('\n').collect();
    let (mut before, mut after) = (0, 0);
    for change in &edited.changes {
        let range = &change.old;
        assert!(
            before <= range.start && range.start <= range.end && range.end <= old.len(),
            "{edited:?}"
        );
        assert!(
            !range.is_empty() || change.new > 0,
            "an empty change: {edited:?}"
        );
        after = assert_same(&old, before..range.start, &new, after) + change.new;
        before = range.end;
    }
    let end = assert_same(&old, before..old.len(), &new, after);
    assert_eq!(
        end,
        new.len(),
        "lines at the end that no change reports: {edited:?}"
    );
}

/// Compares lines; only the end of a line that was or became the last one may differ.
fn assert_same(old: &[&str], range: std::ops::Range<usize>, new: &[&str], at: usize) -> usize {
    for (number, position) in range.clone().zip(at..) {
        let line = new
            .get(position)
            .unwrap_or_else(|| panic!("line {number} is gone: {old:?} {new:?}"));
        let may_end_otherwise = number + 1 == old.len() || position + 1 == new.len();
        let is_same =
            old[number] == *line || may_end_otherwise && content(old[number]) == content(line);
        assert!(is_same, "line {number} changed unreported: {old:?} {new:?}");
    }
    at + range.len()
}

/// The line without its end; where a `\r` belongs to the text, a new `\n` behind it hides that.
fn content(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}
