//! Properties of all edits, whatever the texts are.

use proptest::prelude::*;
use similar::{ChangeTag, DiffOp, TextDiff};

use crate::{Edited, LineChange, insert_lines, patch, replace, replace_lines};
use agent_protocol::{Hunk, HunkLine, Pattern, Replacement};

/// Lines that are easily taken for one another.
const LINES: [&str; 16] = [
    "a",
    "b",
    " a",
    "  a",
    "a ",
    "\ta",
    "a  b",
    "a b",
    "",
    "  ",
    "\u{201c}x\u{201d}",
    "\"x\"",
    "...",
    "// ...",
    "fn function_name() {",
    "\\n\\\"",
];

fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&LINES[..])
}

/// A text of few different lines, with all kinds of endings.
fn text() -> impl Strategy<Value = String> {
    let ending = prop::sample::select(&["\n", "\n", "\r\n", "\r"][..]);
    let lines = prop::collection::vec((line(), ending), 0..12);
    (lines, any::<bool>()).prop_map(|(lines, is_ended)| {
        let mut text = String::new();
        for (line, ending) in lines {
            text.push_str(line);
            text.push_str(ending);
        }
        if is_ended {
            text
        } else {
            text.trim_end_matches('\n').to_owned()
        }
    })
}

/// A text of few different lines that all end with `\n`, but for the last one perhaps.
fn plain_text() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec("[a-d]{1,2}", 0..14);
    (lines, any::<bool>()).prop_map(|(lines, is_ended)| {
        let text = lines.join("\n");
        if is_ended && !text.is_empty() {
            text + "\n"
        } else {
            text
        }
    })
}

fn replacement() -> impl Strategy<Value = Replacement> {
    let pattern = prop::sample::select(&[Pattern::Lines, Pattern::Text, Pattern::Regex][..]);
    (
        text(),
        text(),
        pattern,
        any::<bool>(),
        prop::option::of(0..14_u32),
    )
        .prop_map(|(search, replace, pattern, all, line)| Replacement {
            search,
            replace,
            pattern,
            all,
            line,
            unnumbered: None,
        })
}

fn hunk() -> impl Strategy<Value = Hunk> {
    let line = (0..3, line()).prop_map(|(kind, line)| match kind {
        0 => HunkLine::Keep(line.to_owned()),
        1 => HunkLine::Remove(line.to_owned()),
        _ => HunkLine::Add(line.to_owned()),
    });
    (
        prop::option::of(0..14_u32),
        prop::collection::vec("[ab ]{1,2}", 0..2),
        prop::collection::vec(line, 0..7),
        any::<[bool; 3]>(),
    )
        .prop_map(
            |(old_start, anchors, lines, [at_end, old_without_newline, new_without_newline])| {
                Hunk {
                    old_start,
                    anchors,
                    unquoted: 0,
                    lines,
                    at_end,
                    old_without_newline,
                    new_without_newline,
                }
            },
        )
}

/// Checks that the lines outside of the changes are the same, byte for byte but for the ending of
/// a last line.
fn check_changes(old: &str, edited: &Edited) -> Result<(), TestCaseError> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = edited.text.split_inclusive('\n').collect();
    let mut old_at = 0;
    let mut new_at = 0;
    let end = LineChange {
        old: old.len()..old.len(),
        new: 0,
    };
    for change in edited.changes.iter().chain([&end]) {
        prop_assert!(old_at <= change.old.start);
        while old_at < change.old.start {
            prop_assert!(new_at < new.len(), "{:?} {:?}", edited, old);
            if old_at + 1 == old.len() || new_at + 1 == new.len() {
                prop_assert_eq!(
                    old[old_at].trim_end_matches(['\r', '\n']),
                    new[new_at].trim_end_matches(['\r', '\n'])
                );
            } else {
                prop_assert_eq!(old[old_at], new[new_at]);
            }
            old_at += 1;
            new_at += 1;
        }
        old_at = change.old.end;
        new_at += change.new;
    }
    prop_assert_eq!(new_at, new.len(), "{:?} {:?}", edited, old);
    Ok(())
}

/// The hunks of a unified diff.
fn hunks(old: &str, new: &str, context: usize) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(old, new);
    let groups = diff.grouped_ops(context);
    groups
        .iter()
        .map(|ops| {
            let start = ops.first().map_or(0, |op| op.old_range().start);
            let is_quoting = ops.iter().any(|op| !op.old_range().is_empty());
            let mut hunk = Hunk {
                old_start: u32::try_from(start + usize::from(is_quoting)).ok(),
                ..Hunk::default()
            };
            for change in ops.iter().flat_map(|op: &DiffOp| diff.iter_changes(op)) {
                let line = change.value().trim_end_matches('\n').to_owned();
                let is_ended = change.value().ends_with('\n');
                let tag = change.tag();
                hunk.old_without_newline |= !is_ended && tag != ChangeTag::Insert;
                hunk.new_without_newline |= !is_ended && tag != ChangeTag::Delete;
                hunk.lines.push(match tag {
                    ChangeTag::Equal => HunkLine::Keep(line),
                    ChangeTag::Delete => HunkLine::Remove(line),
                    ChangeTag::Insert => HunkLine::Add(line),
                });
            }
            hunk
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_diff_turns_the_old_text_into_the_new_one(
        old in plain_text(),
        new in plain_text(),
        context in 0..4_usize,
    ) {
        let hunks = hunks(&old, &new, context);
        prop_assume!(!hunks.is_empty());
        let edited = patch(&old, &hunks).unwrap();
        prop_assert_eq!(&edited.text, &new);
        check_changes(&old, &edited)?;
    }

    #[test]
    fn replacements_change_only_what_they_report(
        text in text(),
        edits in prop::collection::vec(replacement(), 0..4),
    ) {
        let replaced = replace(&text, &edits);
        prop_assert_eq!(replaced.levels.len(), edits.len());
        check_changes(&text, &replaced.edited)?;
        if replaced.refusals.len() == edits.len() {
            prop_assert_eq!(replaced.edited.text, text);
        }
    }

    #[test]
    fn quoted_lines_are_replaced_by_the_new_ones(
        text in plain_text(),
        new in plain_text(),
        range in any::<(prop::sample::Index, prop::sample::Index)>(),
        is_text in any::<bool>(),
    ) {
        let lines: Vec<&str> = text.lines().collect();
        prop_assume!(!lines.is_empty());
        let (one, other) = (range.0.index(lines.len()), range.1.index(lines.len()));
        let (first, last) = (one.min(other), one.max(other));
        let search = lines[first..=last].join("\n");
        let edit = Replacement {
            pattern: if is_text { Pattern::Text } else { Pattern::Lines },
            ..Replacement::lines(search, new.trim_end_matches('\n'))
        };
        let replaced = replace(&text, std::slice::from_ref(&edit));
        check_changes(&text, &replaced.edited)?;
        if replaced.refusals.is_empty() && !is_text {
            let mut expected = lines.clone();
            expected.splice(first..=last, new.lines());
            prop_assert_eq!(replaced.edited.text.lines().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn patches_change_only_what_they_report(
        text in text(),
        hunks in prop::collection::vec(hunk(), 0..4),
    ) {
        if let Ok(edited) = patch(&text, &hunks) {
            check_changes(&text, &edited)?;
        }
    }

    #[test]
    fn nothing_panics(
        text in any::<String>(),
        search in any::<String>(),
        new in any::<String>(),
        lines in any::<(u32, u32)>(),
        all in any::<bool>(),
    ) {
        for pattern in [Pattern::Lines, Pattern::Text, Pattern::Regex] {
            let edit = Replacement { pattern, all, ..Replacement::lines(&search, &new) };
            check_changes(&text, &replace(&text, &[edit]).edited)?;
        }
        let _ = replace_lines(&text, lines.0 % 4, lines.1 % 4, &new);
        let _ = replace_lines(&text, lines.0, lines.1, &new);
        let _ = insert_lines(&text, lines.0 % 4, &new);
        let _ = crate::omission_in_file(&text, &new);
        let _ = crate::drops_most(&text, &new);
    }

    #[test]
    fn a_line_edit_can_be_taken_back(
        text in plain_text(),
        new in plain_text(),
        range in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let lines: Vec<&str> = text.lines().collect();
        prop_assume!(lines.len() > 1);
        let (one, other) = (range.0.index(lines.len() - 1), range.1.index(lines.len() - 1));
        let (first, last) = (one.min(other), one.max(other));
        let number = |line: usize| u32::try_from(line + 1).unwrap();
        let edited = replace_lines(&text, number(first), number(last), &new).unwrap();
        check_changes(&text, &edited)?;
        let old = lines[first..=last].join("\n");
        let back = match new.lines().count() {
            0 => insert_lines(&edited.text, number(first) - 1, &old),
            count => replace_lines(&edited.text, number(first), number(first + count - 1), &old),
        };
        prop_assert_eq!(back.unwrap().text, text);
    }
}
