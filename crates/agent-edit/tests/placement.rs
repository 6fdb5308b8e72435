//! Random edits of real sources whose place is known: none may land elsewhere in silence.
//!
//! Edits this crate's own sources. `PLACEMENT_SOURCES` names another directory, `PLACEMENT_CASES`
//! the number of edits of each form, and `cargo test --test placement -- --nocapture` prints a
//! table of what became of them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use agent_edit::{patch, replace, replace_lines};
use agent_protocol::{Hunk, HunkLine, Level, Replacement};

/// A small generator of random numbers that gives the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % bound.max(1)
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

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

/// How the context of edits beside each other is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spacing {
    /// They are far apart.
    Apart,
    /// Their contexts overlap, but none quotes what another one changes.
    Overlapping,
    /// They quote lines that others change, as these were before.
    QuotingChanged,
}

/// One change at a known place.
#[derive(Debug, Clone)]
struct KnownEdit {
    old: Range<usize>,
    new: Vec<String>,
    quoted: Range<usize>,
}

#[derive(Default)]
struct Tally {
    right: usize,
    refused: usize,
    told: usize,
    wrong: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.right + self.refused + self.told + self.wrong;
        write!(
            out,
            "{all:6} edits: {:6} right, {:5} refused, {:4} wrong and told, {:4} wrong in silence",
            self.right, self.refused, self.told, self.wrong
        )
    }
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| {
            ["rs", "toml", "md", "c", "h", "py", "yml", "json"].contains(&&*kind.to_string_lossy())
        }) {
            found.push(path);
        }
    }
}

fn texts() -> Vec<String> {
    let directory = std::env::var_os("PLACEMENT_SOURCES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        PathBuf::from,
    );
    let mut paths = Vec::new();
    sources(&directory, &mut paths);
    let every = paths.len() / 2000 + 1;
    (paths.iter().step_by(every))
        .filter_map(|path| fs::read_to_string(path).ok())
        .filter(|text| (20..3000).contains(&text.lines().count()) && !text.contains('\r'))
        .collect()
}

/// Changes at places that ascend and do not touch.
fn known_edits(lines: &[&str], spacing: Spacing, random: &mut Random) -> Vec<KnownEdit> {
    let count = match spacing {
        Spacing::Apart => 1 + random.below(3),
        Spacing::Overlapping | Spacing::QuotingChanged => 2 + random.below(3),
    };
    let mut edits: Vec<KnownEdit> = Vec::new();
    let mut start = random.below(lines.len() - 8);
    for _ in 0..count {
        let removed = random.below(3);
        if start + removed > lines.len() {
            break;
        }
        let least = usize::from(removed == 0);
        let added = least + random.below(3 - least);
        let new: Vec<String> = (0..added).map(|_| new_line(lines, start, random)).collect();
        let old = start..start + removed;
        if new
            .iter()
            .map(String::as_str)
            .ne(lines[old.clone()].iter().copied())
        {
            let above = start.saturating_sub(1 + random.below(3));
            let below = (old.end + 1 + random.below(3)).min(lines.len());
            edits.push(KnownEdit {
                old: old.clone(),
                new,
                quoted: above..below,
            });
        }
        start = old.end
            + match spacing {
                Spacing::Apart => 8 + random.below(40),
                Spacing::Overlapping | Spacing::QuotingChanged => 1 + random.below(4),
            };
    }
    if spacing != Spacing::QuotingChanged {
        let changed: Vec<_> = edits.iter().map(|edit| edit.old.clone()).collect();
        for (at, edit) in edits.iter_mut().enumerate() {
            if at > 0 {
                edit.quoted.start = edit.quoted.start.max(changed[at - 1].end);
            }
            if let Some(next) = changed.get(at + 1) {
                edit.quoted.end = edit.quoted.end.min(next.start);
            }
        }
    }
    edits
}

/// A line like its neighbours, one of the file, or one of its own.
fn new_line(lines: &[&str], near: usize, random: &mut Random) -> String {
    let indentation = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let neighbour = lines.get(near).copied().unwrap_or_default();
    match random.below(4) {
        0 => lines[random.below(lines.len())].to_owned(),
        1 => format!("{neighbour} more_{}", random.below(1000)),
        _ => format!("{}new_{}();", indentation(neighbour), random.below(1000)),
    }
}

fn applied<'e>(lines: &[&str], edits: impl DoubleEndedIterator<Item = &'e KnownEdit>) -> String {
    let mut lines: Vec<&str> = lines.to_vec();
    for edit in edits.rev() {
        lines.splice(edit.old.clone(), edit.new.iter().map(String::as_str));
    }
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

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
    let (above, below) = (
        edit.quoted.start..edit.old.start,
        edit.old.end..edit.quoted.end,
    );
    Replacement::lines(
        text(edit.quoted.clone()),
        [text(above), joined(&edit.new), text(below)].concat(),
    )
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
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
    let cases = std::env::var("PLACEMENT_CASES").ok();
    let cases: usize = cases.and_then(|cases| cases.parse().ok()).unwrap_or(100);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
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
    let cases = std::env::var("PLACEMENT_CASES").ok();
    let cases: usize = cases.and_then(|cases| cases.parse().ok()).unwrap_or(100);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
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
