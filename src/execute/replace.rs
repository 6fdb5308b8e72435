//! `EDIT_FILE` by text: good blocks are applied, the others named with what helps to send them again.

use std::collections::BTreeMap;

use super::edit::{EditableFile, Stored, number, refused};
use super::ledger::Known;
use super::{Execution, capped, count};
use crate::edit::{self, Replaced};
use crate::protocol::{Level, Outcome, Pattern, RelPath, Replacement};

/// How many refused blocks are named.
const MAX_NAMED: usize = 20;

impl Execution<'_> {
    /// Replaces passages of text; an empty search creates a file that does not exist.
    pub(super) fn replace_text(&mut self, path: &RelPath, edits: &[Replacement]) -> Outcome {
        let creates = edits.first().is_some_and(|edit| edit.search.is_empty());
        let opened = if creates && matches!(self.ledger.staging.kind(path), Ok(None)) {
            EditableFile::missing()
        } else {
            match self.open(path) {
                Ok(opened) => opened,
                Err(outcome) => return outcome,
            }
        };
        let verb = if opened.is_missing() {
            "created"
        } else {
            "edited"
        };
        let mut edits = with_lines_of_now(edits, &opened.known);
        let count = edits.len();
        let repeated = take_repeated(&mut edits, &opened.file.text, &opened.known);
        let mut replaced = edit::replace(&opened.file.text, &edits);
        enter_repeated(&mut replaced, &repeated);
        tracing::debug!(levels = %tally(replaced.levels.iter().flatten()), "edit matched");
        let remark = copied_characters_remark(path, &opened.file.text, &replaced.edited.text);
        let stored = match self.store(path, opened, &replaced.edited) {
            Ok(stored) => stored,
            Err(outcome) => return outcome,
        };
        let mut outcome = if replaced.refusals.is_empty() {
            Outcome::ok(success(path, verb, stored, &replaced))
        } else {
            failure(path, &replaced)
                .with_detail(capped(&refusals(&replaced), self.limits.max_output))
        };
        outcome.remarks.extend(remark);
        if replaced.refusals.len() < count {
            outcome.level = Some(replaced.edited.level);
        }
        if stored == Stored::Changed {
            outcome.changed.push(path.clone());
        }
        outcome
    }
}

/// Says so if an edit brought characters into a file that copying makes, unless it holds words, or
/// entities into a program.
pub(super) fn copied_characters_remark(
    path: &RelPath,
    before: &str,
    after: &str,
) -> Option<String> {
    let typography = edit::typography_remark(before, after).filter(|_| !is_prose(path));
    let entities = edit::entities_remark(before, after).filter(|_| is_program(path));
    let remarks: Vec<String> = typography.into_iter().chain(entities).collect();
    (!remarks.is_empty()).then(|| remarks.join("; "))
}

/// Returns true if a file is in a language that has no entities. Templates and what may hold tags, such
/// as JSX, are none.
fn is_program(path: &RelPath) -> bool {
    const PROGRAMS: [&str; 49] = [
        "bash", "c", "cc", "cjs", "clj", "cpp", "cs", "cts", "cu", "cxx", "dart", "erl", "ex",
        "exs", "fs", "go", "gradle", "groovy", "h", "hh", "hpp", "hs", "java", "jl", "js", "kt",
        "kts", "lua", "m", "mjs", "ml", "mm", "mts", "nim", "pl", "pm", "proto", "ps1", "py",
        "pyi", "r", "rb", "rs", "scala", "sh", "sql", "swift", "ts", "zig",
    ];
    let extension = path.file_name().rsplit_once('.');
    extension.is_some_and(|(_, extension)| PROGRAMS.contains(&extension))
}

/// Returns true if a file holds words, where such characters are at home.
pub(super) fn is_prose(path: &RelPath) -> bool {
    const PROSE: [&str; 9] = [
        "adoc", "htm", "html", "markdown", "md", "mdx", "rst", "tex", "txt",
    ];
    let extension = path.file_name().rsplit_once('.');
    extension.is_some_and(|(_, extension)| PROSE.contains(&extension))
}

/// The line that a block names is one of the beginning of the reply, like all line numbers.
fn with_lines_of_now(edits: &[Replacement], known: &Known) -> Vec<Replacement> {
    let now = |line: u32| {
        let now = known.book.range(line, line).ok()?;
        let is_known = !known.is_stale() && known.extent.has(&now);
        is_known.then(|| number(now.end))
    };
    let mut edits = edits.to_vec();
    for edit in &mut edits {
        edit.line = edit.line.and_then(now);
        if let Some(unnumbered) = &mut edit.unnumbered {
            unnumbered.line = unnumbered.line.and_then(now);
        }
    }
    edits
}

/// Takes out the blocks that an earlier step of this reply applied, by their place in the list.
///
/// A model shows a change and then sends it, or sends it twice. What only adds lines would match
/// again and add them twice.
fn take_repeated(edits: &mut Vec<Replacement>, text: &str, known: &Known) -> Vec<usize> {
    let mut repeated = Vec::new();
    if known.book.is_untouched() || known.is_stale() {
        return repeated;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut position = 0;
    edits.retain(|edit| {
        let search: Vec<&str> = edit.search.lines().collect();
        let new: Vec<&str> = edit.replace.lines().collect();
        let is_repeated = edit.pattern != Pattern::Regex
            && !edit.all
            && known.book.has_change(&lines, &search, &new);
        if is_repeated {
            repeated.push(position);
        }
        position += 1;
        !is_repeated
    });
    repeated
}

/// Enters the blocks that were taken out as applied.
fn enter_repeated(replaced: &mut Replaced, repeated: &[usize]) {
    if replaced.levels.is_empty() && !repeated.is_empty() {
        replaced.edited.level = Level::AlreadyApplied;
    }
    for at in repeated {
        replaced.levels.insert(*at, Some(Level::AlreadyApplied));
        for (position, _) in &mut replaced.refusals {
            *position += usize::from(*position >= *at);
        }
    }
}

fn success(path: &RelPath, verb: &str, stored: Stored, replaced: &Replaced) -> String {
    let level = replaced.edited.level;
    if stored == Stored::Same {
        return match level {
            Level::AlreadyApplied => format!("{}: already applied, nothing changed", path.quoted()),
            _ => format!("{}: nothing changed, the text is the same", path.quoted()),
        };
    }
    let before = replaced
        .levels
        .iter()
        .filter(|level| **level == Some(Level::AlreadyApplied))
        .count();
    let mut notes = vec![count(replaced.levels.len(), "block")];
    if before > 0 {
        notes.push(format!("{before} of them applied already"));
    }
    notes.extend(note(level).map(str::to_owned));
    format!("{verb} {} ({})", path.quoted(), notes.join(", "))
}

fn failure(path: &RelPath, replaced: &Replaced) -> Outcome {
    let blocks = replaced.levels.len();
    if let ([(_, only)], 1) = (replaced.refusals.as_slice(), blocks) {
        return refused(path, only.clone());
    }
    let mut named: Vec<String> = (replaced.refusals.iter().take(MAX_NAMED))
        .map(|(position, _)| format!("block {}", position + 1))
        .collect();
    let more = replaced.refusals.len() - named.len();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    let applied = blocks - replaced.refusals.len();
    let note = note(replaced.edited.level).map(|note| format!(" ({note})"));
    Outcome::failed(format!(
        "{applied} of {blocks} blocks applied to {}{}; not applied: {}",
        path.quoted(),
        note.unwrap_or_default(),
        named.join(", ")
    ))
    .with_hint("send only these again")
}

fn refusals(replaced: &Replaced) -> String {
    let is_only = replaced.levels.len() == 1;
    let texts: Vec<String> = replaced
        .refusals
        .iter()
        .take(MAX_NAMED)
        .map(|(position, refusal)| {
            if is_only {
                refusal.detail.clone()
            } else {
                let (line, detail) = (refusal.line_for_model(), &refusal.detail);
                format!("block {}: {line}\n{detail}", position + 1)
            }
        })
        .map(|text| text.trim_end().to_owned())
        .collect();
    texts.join("\n")
}

/// Counts how often each level was needed, for the log: `Exact 3, Fuzz 1`.
pub(super) fn tally<'l>(levels: impl Iterator<Item = &'l Level>) -> String {
    let mut counts: BTreeMap<Level, usize> = BTreeMap::new();
    for level in levels {
        *counts.entry(*level).or_default() += 1;
    }
    let counts: Vec<String> = (counts.iter())
        .map(|(level, count)| format!("{level:?} {count}"))
        .collect();
    counts.join(", ")
}

/// How an edit matched, where that is worth a word.
pub(super) fn note(level: Level) -> Option<&'static str> {
    match level {
        Level::Exact | Level::AlreadyApplied => None,
        Level::TrailingSpace => Some("matched but for spaces at line ends"),
        Level::Indentation => Some("matched but for indentation"),
        Level::Whitespace => Some("matched but for white space or kinds of quotes and dashes"),
        Level::UnevenIndentation => Some(
            "matched but for an indentation that differs from line to line: new lines are indented as they were sent",
        ),
        Level::Escapes => Some("matched but for backslash escapes"),
        Level::LineNumbers => Some("matched without the line numbers before its lines"),
        Level::PartlyApplied => Some("but for a part that was there already"),
        Level::Fuzz => Some("matched but for lines of context at the ends"),
        Level::Nearest => Some(
            "matched several places, of which the nearest to its line or the end of the file was taken",
        ),
        Level::Elsewhere => Some(
            "matched one place, which its line numbers or the line after its `@@` do not lead to",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::stage::{lines, path, replace, stage};
    use super::*;
    use crate::protocol::Status;

    #[test]
    fn good_blocks_are_applied_and_the_others_named() {
        let mut stage = stage(&[("a", "alpha\nbeta\ngamma\n")]);
        let outcome = stage.fails(
            replace(
                "a",
                &[
                    ("alpha\n", "ALPHA\n"),
                    ("nowhere in the file\n", "x\n"),
                    ("gamma\n", "GAMMA\n"),
                ],
            ),
            "2 of 3 blocks applied to a; not applied: block 2; send only these again",
        );
        assert!(
            outcome.detail.text.starts_with("block 2: "),
            "{:?}",
            outcome.detail
        );
        assert_eq!(outcome.changed, [path("a")]);
        assert_eq!(stage.text("a"), "ALPHA\nbeta\nGAMMA\n");
    }

    #[test]
    fn of_very_many_blocks_that_fail_the_first_ones_are_named() {
        let mut stage = stage(&[("a", "alpha\n")]);
        let searches: Vec<String> = (0..3000)
            .map(|n| format!("alpha {n} is not there\n"))
            .collect();
        let blocks: Vec<(&str, &str)> = searches.iter().map(|search| (&**search, "x\n")).collect();
        let outcome = stage.fails(replace("a", &blocks), "block 20, and 2980 more");
        assert!(outcome.message.len() < 500, "{}", outcome.message.len());
    }

    #[test]
    fn a_block_that_fails_alone_says_why() {
        let mut stage = stage(&[("a", "alpha\n")]);
        let outcome = stage.fails(replace("a", &[("nowhere at all\n", "x\n")]), "`a`: ");
        assert!(outcome.changed.is_empty());
        stage.fails(replace("gone", &[("x", "y")]), "`gone` does not exist");
    }

    #[test]
    fn what_is_there_already_is_a_success_without_a_change() {
        let mut stage = stage(&[("a", "one\nnew text here\n")]);
        let outcome = stage.one(replace("a", &[("old text here\n", "new text here\n")]));
        assert_eq!(
            (outcome.status, outcome.message.as_str(), outcome.level),
            (
                Status::Ok,
                "a: already applied, nothing changed",
                Some(Level::AlreadyApplied)
            )
        );
        assert!(outcome.changed.is_empty());
    }

    #[test]
    fn the_change_of_an_earlier_step_is_not_applied_twice() {
        let edit = || replace("a", &[("one\n", "one\n\nnew\n")]);
        let mut stage = stage(&[("a", "zero\none\n\ntwo\n"), ("b", "one\n\nnew\ntwo\n")]);
        let outcomes = stage.reply(vec![
            edit(),
            edit(),
            replace(
                "a",
                &[
                    ("one\n", "one\n\nnew\n"),
                    ("nowhere\n", "x\n"),
                    ("two\n", "2\n"),
                ],
            ),
            replace("a", &[("new\n", "new\nnewer\n")]),
            replace("b", &[("one\n", "one\n\nnew\n")]),
        ]);
        let told: Vec<&str> = outcomes.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "edited a (1 block)",
                "a: already applied, nothing changed",
                "2 of 3 blocks applied to a; not applied: block 2",
                "edited a (1 block)",
                "edited b (1 block)",
            ]
        );
        assert_eq!(stage.text("a"), "zero\none\n\nnew\nnewer\n\n2\n");
        assert_eq!(stage.text("b"), "one\n\nnew\n\nnew\ntwo\n");
    }

    #[test]
    fn an_empty_search_creates_a_file() {
        let mut stage = stage(&[("full", "x\n")]);
        let outcome = stage.one(replace("d/a", &[("", "one\ntwo")]));
        assert_eq!(
            (outcome.status, outcome.message.as_str()),
            (Status::Ok, "created d/a (1 block)")
        );
        assert_eq!(stage.text("d/a"), "one\ntwo\n");
        stage.succeeds(vec![lines("d/a", 2, 2, "TWO\n")]);
        stage.fails(replace("full", &[("", "one\n")]), "`full`: ");
    }

    #[test]
    fn blocks_that_are_there_already_do_not_hide_those_that_fail() {
        let mut stage = stage(&[("a", "new text here\nother\n")]);
        let edits = &[
            ("old text here\n", "new text here\n"),
            ("nowhere at all\n", "x\n"),
        ];
        let outcome = stage.fails(replace("a", edits), "1 of 2 blocks applied to a");
        assert!(outcome.changed.is_empty());
        let edits = &[
            ("old text here\n", "new text here\n"),
            ("other\n", "OTHER\n"),
        ];
        let outcome = stage.one(replace("a", edits));
        assert_eq!(
            outcome.message,
            "edited a (2 blocks, 1 of them applied already)"
        );
    }

    #[test]
    fn the_log_counts_the_levels() {
        let levels = [Level::Fuzz, Level::Exact, Level::Exact];
        assert_eq!(tally(levels.iter()), "Exact 2, Fuzz 1");
    }

    #[test]
    fn a_loose_match_is_told() {
        let mut stage = stage(&[("a", "    if x {\n        y();\n    }\n")]);
        let outcome = stage.one(replace(
            "a",
            &[("if x {\n    y();\n}\n", "if x {\n    z();\n}\n")],
        ));
        assert_eq!(
            (outcome.message.as_str(), outcome.level),
            (
                "edited a (1 block, matched but for indentation)",
                Some(Level::Indentation)
            )
        );
        assert_eq!(stage.text("a"), "    if x {\n        z();\n    }\n");
    }
}
