//! `EDIT_FILE` and `INSERT_TEXT`: where an edit applies, and what becomes of the file.
//!
//! How text is replaced is left to `crate::edit`. Here the numbers of the reply are turned into
//! those of now, edits of files that changed behind the model's back are refused, and the encoding
//! of the file is kept.

use std::ops::Range;

use super::ledger::Known;
use super::lines::{LineBook, LineProblem};
use super::read::excerpt;
use super::write::failed;
use super::{Execution, count, hash};
use crate::edit::{self, Edited, LineChange, Refusal};
use crate::protocol::{END_OF_FILE, Edit, Excerpt, Outcome, RelPath};
use crate::workspace::text::TextFile;

/// How many lines around a range are shown when it is stale.
const CONTEXT: usize = 5;
/// The most lines that are shown then.
const MAX_EXCERPT: usize = 60;

/// Where the numbers of a reply point.
#[derive(Debug, Clone, Copy)]
enum LineTarget {
    /// The lines from this to that one.
    Range(u32, u32),
    /// The gap after this line.
    After(u32),
    /// The end of the file.
    End,
}

impl LineTarget {
    /// The text after the edit, and remarks about the new lines.
    fn apply(
        self,
        book: &LineBook,
        text: &str,
        new: &str,
    ) -> Result<(Edited, Vec<String>), Refusal> {
        match self {
            Self::Range(start, end) => {
                let now = book
                    .range(start, end)
                    .map_err(|problem| refusal(&problem))?;
                let old: String = (text.split_inclusive('\n'))
                    .skip(now.start)
                    .take(now.len())
                    .collect();
                let new = edit::restore_copy(text, &old, new);
                new.refuse_unrepairable()?;
                let repeats = edit::repeated_neighbours(text, &now, &new.text)?;
                let (start, end) = (number(now.start + 1), number(now.end));
                let edited = edit::replace_lines(text, start, end, &new.text)?;
                let remarks = repeats.into_iter().chain(new.remark()).collect();
                Ok((as_one_change(edited, now, text), remarks))
            }
            Self::End | Self::After(_) => {
                let gap = match self {
                    Self::After(line) => book.gap(line).map_err(|problem| refusal(&problem))?,
                    _ => text.lines().count(),
                };
                let new = edit::restore_copy(text, "", new);
                let repeats = edit::repeated_neighbours(text, &(gap..gap), &new.text)?;
                let edited = edit::insert_lines(text, number(gap), &new.text)?;
                Ok((edited, repeats.into_iter().chain(new.remark()).collect()))
            }
        }
    }

    /// Returns true if the model knows what is there now, or if the place does not exist at all.
    fn is_known(self, known: &Known) -> bool {
        let is_seen = match self {
            // However the file looks, it has an end.
            Self::End => return true,
            Self::Range(start, end) => {
                (known.book.range(start, end)).map_or(true, |now| known.extent.has(&now))
            }
            Self::After(line) => {
                (known.book.gap(line)).map_or(true, |gap| known.extent.has_beside(gap))
            }
        };
        is_seen && !known.is_stale()
    }

    /// The lines to show around it, from 0, of a file that has so many.
    fn surroundings(self, lines: usize) -> Range<usize> {
        let (first, last) = match self {
            Self::Range(start, end) => (start as usize, end as usize),
            Self::After(line) => (line as usize, line as usize),
            Self::End => (lines, lines),
        };
        // Where the file ends before, its end tells that.
        let start = (first.saturating_sub(CONTEXT + 1)).min(lines.saturating_sub(CONTEXT));
        let end = last.saturating_add(CONTEXT).min(lines);
        start..end.clamp(start, start + MAX_EXCERPT)
    }

    /// Says what was done, with so many new lines.
    fn done(self, new: usize) -> String {
        let lines = count(new, "line");
        match self {
            Self::End => format!("appended {lines}"),
            Self::After(0) => format!("inserted {lines} at the top"),
            Self::After(line) => format!("inserted {lines} after line {line}"),
            Self::Range(start, end) => {
                let old = if start == end {
                    format!("line {start}")
                } else {
                    format!("lines {start}-{end}")
                };
                if new == 0 {
                    format!("deleted {old}")
                } else {
                    format!("replaced {old} by {lines}")
                }
            }
        }
    }
}

/// A line number as a reply writes it.
pub(super) fn number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

fn refusal(problem: &LineProblem) -> Refusal {
    Refusal::new(problem.to_string()).with_hint(match problem {
        LineProblem::Changed(_) | LineProblem::Inserted(_) => {
            "send one edit for all of it, or SEARCH/REPLACE, or edit it in the next reply"
        }
        LineProblem::NoRange { .. } | LineProblem::Beyond { .. } => "",
    })
}

/// The outcome of an edit of this file that was refused.
pub(super) fn refused(path: &RelPath, refusal: Refusal) -> Outcome {
    Outcome::failed(format!("`{path}`: {}", refusal.message))
        .with_hint(refusal.hint)
        .with_detail(refusal.detail)
}

/// A range that was sent counts as changed from its first to its last line, those that came out
/// the same included: the model has spoken about all of them.
fn as_one_change(edited: Edited, replaced: Range<usize>, old: &str) -> Edited {
    let kept = old.lines().count() - replaced.len();
    let new = edited.text.lines().count().saturating_sub(kept);
    Edited {
        changes: vec![LineChange { old: replaced, new }],
        ..edited
    }
}

/// A text file to be edited, and what is known of it.
pub(super) struct EditableFile {
    pub(super) file: TextFile,
    pub(super) known: Known,
}

impl EditableFile {
    /// A file that is not there yet.
    pub(super) fn missing() -> Self {
        Self {
            file: TextFile::default(),
            known: Known::removed(),
        }
    }

    /// Returns true if there is no such file yet.
    pub(super) fn is_missing(&self) -> bool {
        self.known.hash.is_none()
    }
}

/// The effect of an edit on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Changed,
    /// The text came out as it was: nothing was written.
    Same,
}

impl Execution<'_> {
    /// Changes an existing file, by line numbers or by text.
    pub(super) fn edit_file(&mut self, path: &RelPath, edit: &Edit) -> Outcome {
        match edit {
            Edit::Lines {
                start_line,
                end_line,
                text,
            } => self.edit_at(path, LineTarget::Range(*start_line, *end_line), text),
            Edit::Replace { edits } => self.replace_text(path, edits),
        }
    }

    /// Inserts text after a line.
    pub(super) fn insert_text(&mut self, path: &RelPath, line: u32, text: &str) -> Outcome {
        let target = match line {
            END_OF_FILE => LineTarget::End,
            line => LineTarget::After(line),
        };
        self.edit_at(path, target, text)
    }

    fn edit_at(&mut self, path: &RelPath, place: LineTarget, new: &str) -> Outcome {
        let opened = match self.open(path) {
            Ok(opened) => opened,
            Err(outcome) => return outcome,
        };
        if !place.is_known(&opened.known) {
            return self.not_as_seen(path, place, &opened);
        }
        let (edited, remarks) = match place.apply(&opened.known.book, &opened.file.text, new) {
            Ok(edited) => edited,
            Err(refusal) => return refused(path, refusal),
        };
        match self.store(path, opened, &edited) {
            Ok(Stored::Changed) => {
                let done = place.done(edited.changes.iter().map(|change| change.new).sum());
                Outcome::ok(format!("edited {}: {done}", path.quoted()))
                    .with_remarks(remarks)
                    .with_changed([path.clone()])
            }
            Ok(Stored::Same) => Outcome::ok(format!(
                "{}: nothing changed, the text is the same",
                path.quoted()
            )),
            Err(outcome) => outcome,
        }
    }

    /// Refuses an edit whose numbers may be those of another version, and shows the lines of now.
    fn not_as_seen(&mut self, path: &RelPath, place: LineTarget, opened: &EditableFile) -> Outcome {
        let text = &opened.file.text;
        let lines = text.lines().count();
        let shown = place.surroundings(lines);
        self.ledger.show(path, shown.clone(), lines);
        let excerpts = vec![Excerpt::of_lines(path.clone(), shown.len())];
        let (hint, excerpts) = match place {
            LineTarget::Range(start, end) if shown.end < lines.min(end as usize) => {
                let hint = format!(
                    "the first of its current lines are below: see lines {start}-{end} with READ_FILE, then send the edit again"
                );
                (hint, Vec::new())
            }
            _ => {
                let hint = "its current lines are below: send the edit again with their numbers";
                (hint.to_owned(), excerpts)
            }
        };
        let why = if opened.known.is_taken_over && opened.known.is_stale() {
            format!(
                "`agent` was stopped in the middle of this reply, after an earlier step had changed `{path}`"
            )
        } else {
            format!("`{path}` is not as it was last shown")
        };
        Outcome::failed(format!("{why}, so that line numbers cannot be trusted"))
            .with_hint(hint)
            .with_detail(excerpt(text, shown))
            .with_excerpts(excerpts)
    }

    /// Reads a text file and what is known of it.
    pub(super) fn open(&mut self, path: &RelPath) -> Result<EditableFile, Outcome> {
        let content = self
            .ledger
            .read(path)
            .map_err(|problem| self.walks.explained(&problem))?;
        let size = content.len();
        let file = TextFile::decode(content).map_err(|_| {
            Outcome::failed(format!(
                "`{path}` is a binary file ({size} bytes): it cannot be edited"
            ))
        })?;
        // What was just read is known; if it were not, no line number could be trusted.
        let known = self
            .ledger
            .known(path)
            .cloned()
            .unwrap_or(Known::stale(None));
        Ok(EditableFile { file, known })
    }

    /// Writes an edited file back in its own encoding.
    pub(super) fn store(
        &mut self,
        path: &RelPath,
        opened: EditableFile,
        edited: &Edited,
    ) -> Result<Stored, Outcome> {
        let is_missing = opened.is_missing();
        let EditableFile { file, mut known } = opened;
        if edited.text == file.text {
            return Ok(Stored::Same);
        }
        let content = file
            .with_text(edited.text.as_str())
            .encode()
            .map_err(|problem| Outcome::failed(format!("`{path}`: {problem}")))?;
        if is_missing {
            known = Known::written(&content, edited.text.lines().count());
        } else {
            known.hash = Some(hash(&content));
            known.record(&edited.changes);
        }
        self.ledger
            .write(path, &content, known)
            .map(|()| Stored::Changed)
            .map_err(|problem| failed(&problem))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
