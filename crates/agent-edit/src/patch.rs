//! Patches of one file: all hunks or none.
//!
//! Every hunk is placed in the text as it was, then all are written, so that no hunk can match what
//! another one wrote. The context of hunks may overlap; what they change may not. A hunk stands at its stated line if it matches there exactly; else at the
//! strictest level that matches anywhere, at the place nearest to that line, if it is near. A hunk
//! without numbers must be unique: in the file, below the hunk before it, or in the block that its
//! anchors open. As a last resort up to two lines of context at its ends are left out of account,
//! but never all of it.

use std::collections::HashSet;

use super::align::align;
use super::document::{Document, LineKey, LineNumber, LineSplice};
use super::ending::has_lone_return;
use super::fold;
use super::place::{HunkPlace, Placer, Stated, is_context, new_lines, old_lines};
use super::refuse::{self, QuotedPiece};
use super::replace::loosest;
use super::writer::LineWriter;
use super::{Edited, LineChange, Refusal, guard, matcher};
use agent_protocol::{Hunk, HunkLine, Level};

/// Applies all hunks, or none. The lines that they state are those of the text.
///
/// A hunk whose new lines are there already, and whose old ones are not, is left out.
pub fn patch(text: &str, hunks: &[Hunk]) -> Result<Edited, Refusal> {
    let stated: Vec<_> = hunks.iter().map(|hunk| hunk.old_start).collect();
    patch_moved(text, hunks, &stated)
}

/// Applies all hunks, or none, where the lines that they state are those of an earlier text.
///
/// `now` tells for each hunk where that line is now; a hunk whose line is not known any more must
/// be unique in the text.
pub fn patch_moved(text: &str, hunks: &[Hunk], now: &[Option<u32>]) -> Result<Edited, Refusal> {
    if !changes_anything(hunks) {
        return Err(Refusal::new("the patch changes nothing"));
    }
    let is_known = guard::line_lookup(text.lines());
    for (position, hunk) in hunks.iter().enumerate() {
        let (old, new) = (old_lines(&hunk.lines), new_lines(&hunk.lines));
        guard::refuse_omission(&old, &new, &is_known)
            .map_err(|refusal| refusal.of(&named(position, hunks)))?;
    }
    if !hunks.iter().all(is_useful) {
        check_patch_context(text, hunks)?;
    }
    let now = now.iter().copied().chain(std::iter::repeat(None));
    let stated = (hunks.iter().zip(now)).map(|(hunk, now)| match (hunk.old_start, now) {
        (None, _) => Stated::Nothing,
        (Some(_), Some(line)) => Stated::Line(line as usize),
        (Some(_), None) => Stated::Lost,
    });
    let stated: Vec<Stated> = stated.collect();
    let document = Document::new(text);
    let restored = with_lost_blanks(&document, hunks, &stated);
    let hunks = restored.as_deref().unwrap_or(hunks);
    apply(document, hunks, &stated).or_else(|refusal| {
        if !has_lone_return(text) {
            return Err(refusal);
        }
        let document = Document::with_lone_returns(text);
        let mut edited = apply(document, hunks, &stated).map_err(|_| refusal)?;
        edited.changes = changes(text, &edited.text);
        Ok(edited)
    })
}

/// True if hunks do more than quote the file.
pub fn changes_anything(hunks: &[Hunk]) -> bool {
    hunks.iter().any(is_useful)
}

/// Checks that hunks which only quote the file are in it: what is not may be a change whose marks
/// were lost.
pub fn check_patch_context(text: &str, hunks: &[Hunk]) -> Result<(), Refusal> {
    let document = Document::new(text);
    for (position, hunk) in hunks.iter().enumerate() {
        let lines = old_lines(&hunk.lines);
        let is_quote = !is_useful(hunk) && !lines.is_empty();
        if is_quote && matcher::find(&document, &lines, Level::Whitespace).is_none() {
            let refusal = refuse::not_found(QuotedPiece::Hunk, &document, &lines);
            return Err(refusal.of(&named(position, hunks)));
        }
    }
    Ok(())
}

/// The hunks with the blank that marks a line of context, where some lost it: at a place of the text,
/// every line is there as it is or with one blank more.
fn with_lost_blanks(
    document: &Document<'_>,
    hunks: &[Hunk],
    stated: &[Stated],
) -> Option<Vec<Hunk>> {
    const MOST_PLACES: usize = 100;
    let mut restored = None;
    for (position, hunk) in hunks.iter().enumerate() {
        let old = old_lines(&hunk.lines);
        let is_at_line =
            |stated| matches!(stated, Stated::Line(line) if document.has_lines_at(line, &old));
        if is_at_line(stated[position])
            || matcher::find(document, &old, Level::TrailingSpace).is_some()
        {
            continue;
        }
        let places = document.find_lines(LineKey::Loose, &old);
        let mut places = places.into_iter().take(MOST_PLACES);
        if let Some(lines) = places.find_map(|start| restored_at(document, start, hunk)) {
            restored.get_or_insert_with(|| hunks.to_vec())[position].lines = lines;
        }
    }
    restored
}

/// The lines of a hunk as they are at a place, if some lines of context have one blank less than there.
/// Where all have, new lines that are indented like them, and not like the file, were shifted with them.
fn restored_at(document: &Document<'_>, start: LineNumber, hunk: &Hunk) -> Option<Vec<HunkLine>> {
    let mut file = document.lines_from(start);
    let (mut lost, mut depths) = (HashSet::new(), HashSet::new());
    let (mut lines, mut is_shift) = (Vec::new(), true);
    for line in &hunk.lines {
        let there = line.before().and_then(|_| file.next()).unwrap_or_default();
        depths.insert(fold::indentation(there));
        lines.push(match line {
            HunkLine::Add(_) => line.clone(),
            HunkLine::Keep(text) | HunkLine::Remove(text)
                if text.trim_end() == there.trim_end() =>
            {
                is_shift &= fold::is_blank(there);
                line.clone()
            }
            HunkLine::Keep(text) if there.strip_prefix(' ')?.trim_end() == text.trim_end() => {
                lost.insert(fold::indentation(text));
                HunkLine::Keep(there.to_owned())
            }
            _ => return None,
        });
    }
    is_shift &= hunk.lines.iter().any(|line| match line {
        HunkLine::Add(text) => {
            let depth = fold::indentation(text);
            lost.contains(depth) && !depths.contains(depth)
        }
        HunkLine::Keep(_) | HunkLine::Remove(_) => false,
    });
    (!is_shift).then_some(lines)
}

/// Which lines differ, where they are not those of the document.
pub(super) fn changes(old: &str, new: &str) -> Vec<LineChange> {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    (align(&lines(old), &lines(new)).into_iter())
        .map(|block| LineChange {
            old: block.old,
            new: block.new.len(),
        })
        .collect()
}

fn apply<'a>(
    mut document: Document<'a>,
    hunks: &'a [Hunk],
    stated: &[Stated],
) -> Result<Edited, Refusal> {
    let placed = place_all(&document, hunks, stated)?;
    // Hunks may insert in the same place: first the one that quotes what is above.
    let mut downwards: Vec<_> = placed.iter().collect();
    downwards.sort_by_key(|placed| placed.start);
    let mut splices: Vec<LineSplice<'a>> = (downwards.into_iter())
        .flat_map(|placed| splices(&document, placed))
        .collect();
    splices.sort_by_key(|splice| (splice.above, splice.removed > 0));
    let last: Vec<_> = (placed.iter())
        .filter(|placed| placed.is_at_end(&document))
        .collect();
    document.splice_all(splices);
    for placed in last {
        end_file(&mut document, placed);
    }
    let useful = hunks.iter().filter(|hunk| is_useful(hunk)).count();
    let left_out = (placed.len() < useful).then_some(match placed.len() {
        0 => Level::AlreadyApplied,
        _ => Level::PartlyApplied,
    });
    let levels = placed.iter().map(|placed| placed.level);
    Ok(document.finish(loosest(levels.chain(left_out))))
}

/// Checks that the hunks which delete a file describe the whole of it.
pub fn check_patch_old(text: &str, hunks: &[Hunk]) -> Result<(), Refusal> {
    if hunks.is_empty() {
        return Ok(());
    }
    let left = patch(text, hunks)?.text.lines().count();
    if left == 0 {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "the patch deletes the file, but {left} lines of it are not in the patch"
    )))
}

/// True if a hunk changes anything; one that only quotes the file needs no place.
fn is_useful(hunk: &Hunk) -> bool {
    !hunk.lines.iter().all(is_context) || hunk.old_without_newline != hunk.new_without_newline
}

fn named(position: usize, hunks: &[Hunk]) -> String {
    let number = position + 1;
    match hunks[position].old_start {
        Some(line) => format!("hunk {number} of {} (line {line})", hunks.len()),
        None => format!("hunk {number} of {}", hunks.len()),
    }
}

/// Places all hunks but those whose change is in the file already. Those that have nothing but a number
/// come last: whether the numbers are true is known from the others.
fn place_all<'h>(
    document: &Document<'_>,
    hunks: &'h [Hunk],
    stated: &[Stated],
) -> Result<Vec<HunkPlace<'h>>, Refusal> {
    let is_bare = |hunk: &Hunk, stated: Stated| {
        stated != Stated::Nothing && hunk.lines.iter().all(|line| line.before().is_none())
    };
    let mut order: Vec<usize> = (0..hunks.len())
        .filter(|&position| is_useful(&hunks[position]))
        .collect();
    order.sort_by_key(|&position| is_bare(&hunks[position], stated[position]));
    let mut placer = Placer::new(document);
    let mut found = Vec::with_capacity(hunks.len());
    for position in order {
        let place = placer.place(&hunks[position], stated[position]);
        let place = place.map_err(|refusal| refusal.of(&named(position, hunks)))?;
        found.extend(place.map(|place| (position, place)));
    }
    found.sort_by_key(|(position, _)| *position);
    Ok(found.into_iter().map(|(_, place)| place).collect())
}

/// Writes a hunk; its context stays as the file has it.
fn splices<'a>(document: &Document<'_>, placed: &HunkPlace<'a>) -> Vec<LineSplice<'a>> {
    let mut start = placed.start;
    let (quoted, new) = (old_lines(placed.lines), new_lines(placed.lines));
    let shift = matcher::shift(document, start, &quoted);
    let writer = LineWriter::new(document, start, &quoted, &new, placed.level, shift);
    let mut splices = Vec::new();
    for run in (placed.lines).chunk_by(|one, other| is_context(one) == is_context(other)) {
        let (removed, added) = (old_lines(run), new_lines(run));
        let blocks = align(&removed, &added);
        let write = |line| writer.write(line);
        splices.extend(LineSplice::of_blocks(&blocks, start, &added, write));
        start += removed.len();
    }
    splices
}

/// Ends the file as a hunk says that reaches its end.
fn end_file(document: &mut Document<'_>, placed: &HunkPlace<'_>) {
    let hunk = placed.hunk;
    // What fuzz left out takes its word about the end of the file with it.
    let is_whole = hunk.lines.as_ptr_range().end == placed.lines.as_ptr_range().end;
    // Without numbers it is a patch as codex writes them, which always ends a file properly.
    let is_ended = hunk.old_start.is_none() && !hunk.lines.last().is_some_and(is_context);
    if is_whole && hunk.new_without_newline {
        document.set_final_newline(false);
    } else if is_whole && (hunk.old_without_newline || is_ended) {
        document.set_final_newline(true);
    }
}

#[cfg(test)]
mod tests;
