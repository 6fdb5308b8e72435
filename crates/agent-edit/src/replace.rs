//! Replacements of one passage by another.
//!
//! How a passage is looked for, each way only if none before it found anything:
//!
//! 1. a string (`Pattern::Text`);
//! 2. whole lines, at all levels;
//! 3. the same without blank lines at the ends of the quote;
//! 4. the text without one layer of backslash escapes, or without those of Markdown (`\_`);
//! 5. all of this once more without the line numbers before its lines, if it has them and neither
//!    it nor its new text is there as it is written;
//! 6. as lines of the file that were wrapped at a column.
//!
//! If nothing is found and the new text is there, the edit was applied before.
//!
//! A passage that was in the text before the first replacement is not looked for more loosely, or
//! taken for unique, because an earlier replacement changed it.

use std::borrow::Cow;
use std::collections::HashSet;

use super::document::Document;
use super::ending::has_lone_return;
use super::lines::lines_of;
use super::patch::changes;
use super::quote::QuotedPassage;
use super::refuse::{self, QuotedPiece};
use super::{Edited, Refusal, guard, regular, unwrap};
use agent_protocol::{Level, Pattern, Replacement};

/// How many lines of the text the refused replacements may have been compared with, all together.
///
/// Far more than any reply needs that means this file: what is refused is mostly found out by
/// looking at the whole of it.
const MAX_COMPARED: usize = 400_000_000;

/// A text after several replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The text with those that could be applied.
    pub edited: Edited,
    /// The others, by their place in the list.
    pub refusals: Vec<(usize, Refusal)>,
    /// The level of each that was applied, in the order of the list.
    pub levels: Vec<Option<Level>>,
}

/// Applies the replacements one after the other; those that cannot be applied are left out and
/// named.
///
/// An empty search fills an empty text and is refused otherwise. A final newline of `search` and
/// `replace` ends their last line. `Replacement::line` counts lines of `text` as it was given.
///
/// A lone `\r` ends a line where nothing else does, or where more edits can be applied that way.
pub fn replace(text: &str, edits: &[Replacement]) -> Replaced {
    let returns_end_lines = !text.contains('\n') && text.contains('\r');
    let replace_as = |returns_end_lines: bool| {
        if !returns_end_lines {
            return replace_in([text; 2].map(Document::new), edits);
        }
        let mut replaced = replace_in([text; 2].map(Document::with_lone_returns), edits);
        replaced.edited.changes = changes(text, &replaced.edited.text);
        replaced
    };
    let first = replace_as(returns_end_lines);
    if first.refusals.is_empty() || !has_lone_return(text) {
        return first;
    }
    let second = replace_as(!returns_end_lines);
    if second.refusals.len() < first.refusals.len() {
        second
    } else {
        first
    }
}

/// Applies the replacements to the first of two documents; the second one stays as it is.
fn replace_in<'a>(
    [mut document, original]: [Document<'a>; 2],
    edits: &'a [Replacement],
) -> Replaced {
    let mut refusals = Vec::new();
    let mut levels = Vec::with_capacity(edits.len());
    let mut applied = HashSet::new();
    for (position, edit) in edits.iter().enumerate() {
        let outcome = if refusals.len().saturating_mul(document.len()) > MAX_COMPARED {
            Err(
                Refusal::new("it was not tried: too many before it do not fit this file")
                    .with_hint("read it, and send fewer"),
            )
        } else if !edit.all && applied.contains(edit) {
            // What only adds lines would match again and add them twice.
            Ok(Level::AlreadyApplied)
        } else {
            apply(&mut document, &original, edit)
        };
        match outcome {
            Ok(level) => {
                levels.push(Some(level));
                applied.insert(edit);
            }
            Err(refusal) => {
                levels.push(None);
                refusals.push((position, refusal));
            }
        }
    }
    Replaced {
        edited: document.finish(loosest(levels.iter().flatten().copied())),
        refusals,
        levels,
    }
}

/// The least strict of the levels; `AlreadyApplied` only if nothing else was done.
pub(super) fn loosest(levels: impl Iterator<Item = Level> + Clone) -> Level {
    (levels
        .clone()
        .filter(|&level| level != Level::AlreadyApplied)
        .max())
    .or_else(|| levels.max())
    .unwrap_or(Level::Exact)
}

fn apply<'a>(
    document: &mut Document<'a>,
    original: &Document<'a>,
    edit: &'a Replacement,
) -> Result<Level, Refusal> {
    if edit.search == edit.replace {
        return Err(Refusal::new(
            "the search and the replacement are the same: it changes nothing",
        ));
    }
    if edit.search.is_empty() {
        return fill(document, edit);
    }
    if edit.pattern == Pattern::Regex {
        return regular::apply(document, edit);
    }
    let quote = QuotedPassage::new(edit);
    quote.refuse_useless(document)?;
    match quote.displaced(document, original) {
        Some(_) if quote.is_applied(document) => return Ok(Level::AlreadyApplied),
        Some(refusal) => return Err(refusal),
        None => {}
    }
    if let Some(level) = quote.apply(document)? {
        return Ok(level);
    }
    if let Some(unnumbered) = &edit.unnumbered
        && !quote.has_numbered_result(document, unnumbered)
    {
        return Ok(apply(document, original, unnumbered)?.max(Level::LineNumbers));
    }
    if quote.is_applied(document) {
        return Ok(Level::AlreadyApplied);
    }
    if let Some(whole) = unwrap::unwrapped(document, &quote.search, &quote.new)? {
        document.splice_all(vec![whole]);
        return Ok(Level::Whitespace);
    }
    if let Some(dots) = quote.search.iter().find(|line| guard::is_elision(line)) {
        return Err(Refusal::new(format!(
            "the SEARCH text leaves lines out (`{}`)",
            refuse::shortened(dots.trim(), 60)
        ))
        .with_hint("send an edit for each part, with all of its lines"));
    }
    Err(refuse::not_found(
        QuotedPiece::Search,
        document,
        &quote.search,
    ))
}

fn fill<'a>(document: &mut Document<'a>, edit: &'a Replacement) -> Result<Level, Refusal> {
    if document.len() > 0 {
        return Err(Refusal::new("the SEARCH text is empty and the file is not")
            .with_hint("quote the lines to replace"));
    }
    let lines = lines_of(&edit.replace).into_iter().map(Cow::Borrowed);
    document.splice(0, 0, lines.collect());
    document.set_final_newline(edit.replace.ends_with('\n') || edit.pattern == Pattern::Lines);
    Ok(Level::Exact)
}

#[cfg(test)]
mod tests;
