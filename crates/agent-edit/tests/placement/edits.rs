//! Edits as the reader hands them on: none may land elsewhere in silence.

use std::collections::BTreeMap;
use std::ops::Range;

use agent_edit::{patch, replace, replace_lines};
use agent_protocol::{Hunk, HunkLine, Level, Replacement};

use crate::known::{
    KnownEdit, Random, Spacing, Tally, applied, cases, joined, known_edits, seed, texts,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EditForm {
    RightNumbers,
    /// All numbers are off by the same few lines.
    DriftedNumbers,
    /// Each number is off on its own.
    WrongNumbers,
    NoNumbers,
    Blocks,
    LineRange,
}

const FORMS: [EditForm; 6] = [
    EditForm::RightNumbers,
    EditForm::DriftedNumbers,
    EditForm::WrongNumbers,
    EditForm::NoNumbers,
    EditForm::Blocks,
    EditForm::LineRange,
];

fn hunk(lines: &[&str], edit: &KnownEdit, old_start: Option<usize>) -> Hunk {
    let keep = |range: Range<usize>| lines[range].iter().map(|&line| HunkLine::Keep(line.into()));
    let removed = (lines[edit.old.clone()].iter()).map(|&line| HunkLine::Remove(line.into()));
    let added = edit.new.iter().cloned().map(HunkLine::Add);
    Hunk {
        old_start: old_start.and_then(|line| u32::try_from(line).ok()),
        lines: keep(edit.quoted.start..edit.old.start)
            .chain(removed)
            .chain(added)
            .chain(keep(edit.old.end..edit.quoted.end))
            .collect(),
        ..Hunk::default()
    }
}

fn block(lines: &[&str], edit: &KnownEdit) -> Replacement {
    let text = |range: Range<usize>| -> String {
        (lines[range].iter())
            .flat_map(|line| [line, "\n"])
            .collect()
    };
    let (above, below) = edit.context();
    Replacement::lines(
        text(edit.quoted.clone()),
        [text(above), joined(&edit.new), text(below)].concat(),
    )
}

/// Something that a chat page or a copy does to every line of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineDamage {
    TrailingSpaceAdded,
    Trimmed,
    TabsAreBlanks,
    Collapsed,
    CurlyQuotes,
    UnusualSpaces,
}

const DAMAGES: [LineDamage; 6] = [
    LineDamage::TrailingSpaceAdded,
    LineDamage::Trimmed,
    LineDamage::TabsAreBlanks,
    LineDamage::Collapsed,
    LineDamage::CurlyQuotes,
    LineDamage::UnusualSpaces,
];

impl LineDamage {
    fn apply(self, line: &str) -> String {
        let body = line.trim_start();
        let indentation = &line[..line.len() - body.len()];
        match self {
            Self::TrailingSpaceAdded => format!("{line} "),
            Self::Trimmed => line.trim().to_owned(),
            Self::TabsAreBlanks => indentation.replace('\t', "    ") + body,
            Self::Collapsed => body.split_whitespace().collect::<Vec<_>>().join(" "),
            Self::CurlyQuotes => line.replace('"', "\u{201d}").replace('\'', "\u{2019}"),
            Self::UnusualSpaces => indentation.replace(' ', "\u{a0}") + body,
        }
    }
}

/// The text without what damage may leave in new lines.
fn words(text: &str) -> String {
    let plain = text.replace('\u{201d}', "\"").replace('\u{2019}', "'");
    plain
        .replace('\u{a0}', " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The text after the edits, how they matched, and what it should be; nothing if they are refused.
fn outcome(
    text: &str,
    edits: &[KnownEdit],
    form: EditForm,
    random: &mut Random,
) -> Option<(String, Level, String)> {
    let lines: Vec<&str> = text.lines().collect();
    outcome_of(text, &lines, edits, form, random)
}

/// Applies edits that quote the file as `quoted` has it, line by line.
fn outcome_of(
    text: &str,
    quoted: &[&str],
    edits: &[KnownEdit],
    form: EditForm,
    random: &mut Random,
) -> Option<(String, Level, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let all = || applied(&lines, edits.iter());
    let drift = random.below(40);
    let mut number = |edit: &KnownEdit| -> Option<usize> {
        let right = edit.quoted.start + 1;
        match form {
            EditForm::NoNumbers => None,
            EditForm::DriftedNumbers => Some((right + drift).saturating_sub(20).max(1)),
            EditForm::WrongNumbers if random.one_in(2) => Some(1 + random.below(lines.len())),
            EditForm::WrongNumbers => Some((right + random.below(9)).saturating_sub(4).max(1)),
            _ => Some(right),
        }
    };
    match form {
        EditForm::Blocks => {
            let blocks: Vec<_> = edits.iter().map(|edit| block(quoted, edit)).collect();
            let replaced = replace(text, &blocks);
            let done = edits.iter().zip(&replaced.levels);
            let done = (done.filter(|(_, level)| level.is_some())).map(|(edit, _)| edit);
            let expected = applied(&lines, done);
            let is_refused = !replaced.refusals.is_empty() && replaced.edited.text == expected;
            let level = replaced.edited.level;
            (!is_refused).then_some((replaced.edited.text, level, expected))
        }
        EditForm::LineRange => {
            let edit = edits.iter().find(|edit| !edit.old.is_empty())?;
            let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
            let (start, end) = (line(edit.old.start + 1), line(edit.old.end));
            let edited = replace_lines(text, start, end, &joined(&edit.new)).ok()?;
            let expected = applied(&lines, std::iter::once(edit));
            Some((edited.text, edited.level, expected))
        }
        _ => {
            let numbers: Vec<_> = edits.iter().map(&mut number).collect();
            // A wrong number at which the hunk fits as well leaves nothing to tell the places apart.
            let is_misleading = |(edit, number): (&KnownEdit, &Option<usize>)| {
                number.is_some_and(|number| {
                    let quoted = &lines[edit.quoted.clone()];
                    let there = lines.get(number - 1..).unwrap_or_default();
                    number != edit.quoted.start + 1 && there.starts_with(quoted)
                })
            };
            if edits.iter().zip(&numbers).any(is_misleading) {
                return None;
            }
            let hunks: Vec<_> = (edits.iter().zip(numbers))
                .map(|(edit, number)| hunk(quoted, edit, number))
                .collect();
            let edited = patch(text, &hunks).ok()?;
            Some((edited.text, edited.level, all()))
        }
    }
}

#[test]
fn no_edit_lands_elsewhere_in_silence() {
    let texts = texts();
    let cases = cases(100);
    let mut random = Random(seed());
    let mut tallies: BTreeMap<(EditForm, Spacing), Tally> = BTreeMap::new();
    let mut first_wrong = None;
    for spacing in [
        Spacing::Apart,
        Spacing::Overlapping,
        Spacing::QuotingChanged,
    ] {
        for form in FORMS {
            for _ in 0..cases {
                let text = &texts[random.below(texts.len())];
                let text = format!("{}\n", text.trim_end_matches('\n'));
                let lines: Vec<&str> = text.lines().collect();
                let edits = known_edits(&lines, spacing, &mut random);
                if edits.is_empty() {
                    continue;
                }
                let tally = tallies.entry((form, spacing)).or_default();
                match outcome(&text, &edits, form, &mut random) {
                    None => tally.refused += 1,
                    Some((got, _, expected)) if got == expected => tally.right += 1,
                    Some((_, level, _)) if level >= Level::Nearest => tally.told += 1,
                    Some((got, level, expected)) => {
                        tally.wrong += 1;
                        first_wrong.get_or_insert((form, spacing, edits, level, got, expected));
                    }
                }
            }
        }
    }
    for ((form, spacing), tally) in &tallies {
        println!("{:32} {tally}", format!("{form:?}, {spacing:?}"));
    }
    if let Some((form, spacing, edits, level, got, expected)) = first_wrong {
        let diff = similar::TextDiff::from_lines(&expected, &got);
        panic!(
            "{form:?}, {spacing:?}, {level:?}: {edits:#?}\n{}",
            diff.unified_diff().context_radius(2)
        );
    }
    let hunks = &tallies[&(EditForm::RightNumbers, Spacing::Overlapping)];
    assert_eq!(hunks.refused, 0, "hunks at their exact lines");
}

#[test]
fn hardly_any_damaged_edit_lands_elsewhere_in_silence() {
    let texts = texts();
    let cases = cases(100);
    let mut random = Random(seed());
    let mut all = Tally::default();
    for damage in DAMAGES {
        for form in [
            EditForm::RightNumbers,
            EditForm::NoNumbers,
            EditForm::Blocks,
        ] {
            let mut tally = Tally::default();
            for _ in 0..cases {
                let text = &texts[random.below(texts.len())];
                let text = format!("{}\n", text.trim_end_matches('\n'));
                let lines: Vec<&str> = text.lines().collect();
                let mut edits = known_edits(&lines, Spacing::Overlapping, &mut random);
                let quoted: Vec<String> = lines.iter().map(|line| damage.apply(line)).collect();
                let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
                for line in edits.iter_mut().flat_map(|edit| &mut edit.new) {
                    *line = damage.apply(line);
                }
                match outcome_of(&text, &quoted, &edits, form, &mut random) {
                    None => tally.refused += 1,
                    Some((got, _, expected)) if words(&got) == words(&expected) => tally.right += 1,
                    Some((_, level, _)) if level >= Level::Nearest => tally.told += 1,
                    Some(_) => tally.wrong += 1,
                }
            }
            println!("{:32} {tally}", format!("{damage:?}, {form:?}"));
            all.wrong += tally.wrong;
            all.right += tally.right + tally.refused + tally.told;
        }
    }
    assert!(all.wrong * 200 <= all.right + all.wrong, "{all}");
}
