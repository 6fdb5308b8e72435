//! `EDIT_FILE` and `INSERT_TEXT`: where an edit applies, and what becomes of the file.
//!
//! How text is found and replaced is left to `crate::edit`. Here the numbers of the reply are turned
//! into those of now, edits of files that changed behind the model's back are refused, and the
//! encoding of the file is kept.

use std::ops::Range;

use super::ledger::{Known, Sight};
use super::lines::{LineBook, LineProblem};
use super::read::excerpt;
use super::write::{explained, failed};
use super::{Execution, capped, count};
use crate::edit::{self, Change, Edited, Refusal, Replaced};
use crate::protocol::{Edit, Level, Outcome, RelPath, Replacement};
use crate::workspace::FileProblem;
use crate::workspace::text::{Encoding, TextFile};

/// How many lines around a range are shown when it is stale.
const CONTEXT: usize = 5;
/// The most lines that are shown then.
const MAX_EXCERPT: usize = 60;

/// Where the numbers of a reply point.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The lines from this to that one.
    Range(u32, u32),
    /// The gap after this line.
    After(u32),
}

impl Place {
    fn apply(self, book: &LineBook, text: &str, new: &str) -> Result<Edited, Refusal> {
        match self {
            Self::Range(start, end) => {
                let now = book
                    .range(start, end)
                    .map_err(|problem| refusal(&problem))?;
                let edited =
                    edit::replace_lines(text, number(now.start + 1), number(now.end), new)?;
                Ok(as_one_change(edited, now, text))
            }
            Self::After(line) => {
                let gap = book.gap(line).map_err(|problem| refusal(&problem))?;
                edit::insert_lines(text, number(gap), new)
            }
        }
    }

    /// The lines to show around it, from 0.
    fn surroundings(self) -> Range<usize> {
        let (first, last) = match self {
            Self::Range(start, end) => (start as usize, end as usize),
            Self::After(line) => (line as usize, line as usize),
        };
        let start = first.saturating_sub(CONTEXT + 1);
        start..last.saturating_add(CONTEXT).min(start + MAX_EXCERPT)
    }

    fn done(self, new: &str) -> String {
        let lines = count(new.lines().count(), "line");
        match self {
            Self::After(0) => format!("inserted {lines} at the top"),
            Self::After(line) => format!("inserted {lines} after line {line}"),
            Self::Range(start, end) => {
                let old = if start == end {
                    format!("line {start}")
                } else {
                    format!("lines {start}-{end}")
                };
                if new.is_empty() {
                    format!("deleted {old}")
                } else {
                    format!("replaced {old} by {lines}")
                }
            }
        }
    }
}

fn number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

fn refusal(problem: &LineProblem) -> Refusal {
    let hint = match problem {
        LineProblem::Changed(_) | LineProblem::Inserted(_) => {
            "; send one edit for all of it, or SEARCH/REPLACE, or edit it in the next reply"
        }
        LineProblem::NoRange { .. } | LineProblem::Beyond { .. } => "",
    };
    Refusal {
        message: format!("{problem}{hint}"),
        detail: String::new(),
    }
}

/// A range that was sent counts as changed from its first to its last line, those that came out
/// the same included: the model has spoken about all of them.
fn as_one_change(edited: Edited, replaced: Range<usize>, old: &str) -> Edited {
    let kept = old.lines().count() - replaced.len();
    let new = edited.text.lines().count().saturating_sub(kept);
    Edited {
        changes: vec![Change { old: replaced, new }],
        ..edited
    }
}

impl Execution<'_> {
    /// Changes an existing file, by line numbers or by text.
    pub(super) fn edit_file(&mut self, path: &RelPath, edit: &Edit) -> Outcome {
        match edit {
            Edit::Lines {
                start_line,
                end_line,
                text,
            } => self.edit_at(path, Place::Range(*start_line, *end_line), text),
            Edit::Replace { edits } => self.replace_text(path, edits),
        }
    }

    /// Inserts text after a line.
    pub(super) fn insert_text(&mut self, path: &RelPath, line: u32, text: &str) -> Outcome {
        self.edit_at(path, Place::After(line), text)
    }

    fn edit_at(&mut self, path: &RelPath, place: Place, new: &str) -> Outcome {
        let (file, known) = match self.open(path) {
            Ok(opened) => opened,
            Err(outcome) => return outcome,
        };
        if known.is_stale() {
            self.ledger.show(path);
            return Outcome::failed(format!(
                "`{path}` is not as you last saw it, so that line numbers cannot be trusted; its current lines are below, send the edit again with their numbers"
            ))
            .with_detail(excerpt(&file.text, place.surroundings()));
        }
        match place.apply(&known.book, &file.text, new) {
            Ok(edited) => {
                let message = format!("edited {path}: {}", place.done(new));
                self.store(path, &file, known, &edited, message)
            }
            Err(refusal) => Outcome::failed(format!("`{path}`: {}", refusal.message))
                .with_detail(refusal.detail),
        }
    }

    fn replace_text(&mut self, path: &RelPath, edits: &[Replacement]) -> Outcome {
        let creates = edits.first().is_some_and(|edit| edit.search.is_empty());
        let (file, known) = match self.ledger.read(path) {
            Err(FileProblem::NotFound(_)) if creates => (
                TextFile {
                    text: String::new(),
                    encoding: Encoding::Utf8,
                },
                None,
            ),
            _ => match self.open(path) {
                Ok((file, known)) => (file, Some(known)),
                Err(outcome) => return outcome,
            },
        };
        let edits = match &known {
            Some(known) if !known.is_stale() => with_lines_of_now(edits, &known.book),
            _ => edits.to_vec(),
        };
        let replaced = edit::replace(&file.text, &edits);
        let is_done = replaced.refusals.len() < edits.len();
        let message = message(path, &replaced, edits.len());
        let is_failed = !replaced.refusals.is_empty();
        if is_failed && !is_done {
            return self.with_refusals(Outcome::failed(message), &replaced);
        }
        let outcome = match known {
            Some(known) => self.store(path, &file, known, &replaced.edited, message),
            None => self.create_by_edit(path, &replaced.edited, &message),
        };
        if !is_failed || outcome.status != crate::protocol::Status::Ok {
            return outcome;
        }
        let failed = Outcome {
            status: crate::protocol::Status::Failed,
            ..outcome
        };
        self.with_refusals(failed, &replaced)
    }

    /// Reads a text file and what is known of it.
    fn open(&mut self, path: &RelPath) -> Result<(TextFile, Known), Outcome> {
        let content = self
            .ledger
            .read(path)
            .map_err(|problem| explained(self.workspace, &problem))?;
        let size = content.len();
        let file = TextFile::decode(content).map_err(|_| {
            Outcome::failed(format!(
                "`{path}` is a binary file ({size} bytes): it cannot be edited"
            ))
        })?;
        let known = self.ledger.known(path).cloned().unwrap_or(Known {
            hash: None,
            sight: Sight::Stale,
            book: LineBook::new(0),
        });
        Ok((file, known))
    }

    /// Writes an edited file back in its own encoding.
    fn store(
        &mut self,
        path: &RelPath,
        file: &TextFile,
        mut known: Known,
        edited: &Edited,
        message: String,
    ) -> Outcome {
        let level = edited.level;
        if edited.text == file.text {
            let message = match level {
                Level::AlreadyApplied => format!("{path}: already applied, nothing changed"),
                _ => format!("{path}: nothing changed, the text is the same"),
            };
            return Outcome::ok(message).with_level(level);
        }
        let content = match file.with_text(edited.text.as_str()).encode() {
            Ok(content) => content,
            Err(problem) => return Outcome::failed(format!("`{path}`: {problem}")),
        };
        known.hash = Some(super::hash(&content));
        known.book.record(&edited.changes);
        match self.ledger.write(path, &content, known) {
            Ok(()) => Outcome::ok(message)
                .with_level(level)
                .with_changed([path.clone()]),
            Err(problem) => failed(&problem),
        }
    }

    fn create_by_edit(&mut self, path: &RelPath, edited: &Edited, message: &str) -> Outcome {
        let content = edited.text.as_bytes();
        let known = Known::written(content, &edited.text);
        match self.ledger.write(path, content, known) {
            Ok(()) => Outcome::ok(message.replacen("edited", "created", 1))
                .with_level(Level::Exact)
                .with_changed([path.clone()]),
            Err(problem) => failed(&problem),
        }
    }

    fn with_refusals(&self, outcome: Outcome, replaced: &Replaced) -> Outcome {
        let is_only = replaced.levels.len() == 1;
        let details: Vec<String> = replaced
            .refusals
            .iter()
            .map(|(position, refusal)| {
                if is_only {
                    refusal.detail.clone()
                } else {
                    let Refusal { message, detail } = refusal;
                    let text = format!("block {}: {message}\n{detail}", position + 1);
                    text.trim_end().to_owned()
                }
            })
            .collect();
        outcome.with_detail(capped(&details.join("\n"), self.limits.max_output))
    }
}

/// The line that a block names counts lines of the beginning of the reply too.
fn with_lines_of_now(edits: &[Replacement], book: &LineBook) -> Vec<Replacement> {
    let now = |line: u32| book.range(line, line).ok().map(|now| number(now.end));
    edits
        .iter()
        .map(|edit| Replacement {
            line: edit.line.and_then(now),
            ..edit.clone()
        })
        .collect()
}

fn message(path: &RelPath, replaced: &Replaced, blocks: usize) -> String {
    let refused: Vec<String> = replaced
        .refusals
        .iter()
        .map(|(position, _)| (position + 1).to_string())
        .collect();
    let applied = blocks - refused.len();
    if let [(_, only)] = replaced.refusals.as_slice()
        && blocks == 1
    {
        return format!("`{path}`: {}", only.message);
    }
    let level = match replaced.edited.level {
        Level::Exact | Level::AlreadyApplied => String::new(),
        level => format!(", {}", words(level)),
    };
    if refused.is_empty() {
        return format!("edited {path} ({}{level})", count(blocks, "block"));
    }
    format!(
        "{applied} of {blocks} blocks applied to {path}{level}; not applied: block {}",
        refused.join(", block ")
    )
}

/// How an edit matched, in words.
pub(super) fn words(level: Level) -> &'static str {
    match level {
        Level::Exact => "matched exactly",
        Level::TrailingSpace => "matched but for spaces at line ends",
        Level::Indentation => "matched but for indentation",
        Level::Punctuation => "matched but for kinds of quotes, dashes or spaces",
        Level::Whitespace => "matched but for the amount of white space",
        Level::Escapes => "matched but for backslash escapes",
        Level::Elision => "matched around `...`",
        Level::Fuzz => "matched but for lines of context at the ends",
        Level::AlreadyApplied => "already applied",
    }
}

#[cfg(test)]
mod tests;
