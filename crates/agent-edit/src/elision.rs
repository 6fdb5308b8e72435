//! SEARCH texts that leave lines out, with `...` in their place.
//!
//! Every piece between the dots must be unique in the file and they must stand in their order. The
//! REPLACE text leaves out as often, and what is left out stays as it is. It must not leave the block
//! that the piece above it is in. If that piece begins a block and the one below is inside of one, it
//! must be the same: dots that lead into the next function stand for more than was meant.

use super::Refusal;
use super::document::{Document, LineId};
use super::guard::is_elision;
use super::matcher;
use super::quote::Quote;
use super::refuse::{self, Piece};
use agent_protocol::Level;

/// The most lines that one `...` stands for.
const MAX_LEFT_OUT: usize = 300;

/// A piece of a quote, where it stands, and how it matched.
type Found<'a> = (Quote<'a>, LineId, Level);

/// Whether both texts leave lines out, equally often.
pub(super) fn is_elided_alike(search: &[&str], new: &[&str]) -> bool {
    let count = |lines: &[&str]| lines.iter().filter(|line| is_elision(line)).count();
    count(search) > 0 && count(search) == count(new)
}

/// Replaces each piece of the quote on its own.
pub(super) fn apply<'a>(
    document: &mut Document<'a>,
    quote: &Quote<'a>,
) -> Result<Option<Level>, Refusal> {
    if !is_elided_alike(&quote.search, &quote.new) {
        return Ok(None);
    }
    let mut found: Vec<Found<'a>> = Vec::new();
    let old = quote.search.split(|line| is_elision(line));
    let new = quote.new.split(|line| is_elision(line));
    for (old, new) in old.zip(new) {
        if old.is_empty() && new.is_empty() {
            continue;
        }
        let Some(places) = matcher::places(document, old, Level::Whitespace) else {
            return Ok(None);
        };
        let [start] = *places.starts else {
            let numbers: Vec<usize> = (document.numbered(places.starts).into_iter())
                .map(|(_, number)| number)
                .collect();
            return Err(refuse::ambiguous(Piece::Elided, &numbers));
        };
        found.push((quote.piece(old, new), start, places.level));
    }
    if found.is_empty() || !is_in_order(document, &found) {
        return Ok(None);
    }
    for (piece, start, _) in &found {
        piece.uneven(document, *start, Piece::Elided)?;
    }
    for pair in found.windows(2) {
        refuse_wide(document, &pair[0], pair[1].1)?;
    }
    for (piece, start, level) in found {
        piece.put(document, start, level);
    }
    Ok(Some(Level::Elision))
}

fn is_in_order(document: &Document<'_>, found: &[Found<'_>]) -> bool {
    let starts = found.iter().map(|(_, start, _)| *start).collect();
    let numbers = document.numbered(starts);
    // Equal starts are one entry in `numbers`, so that a missing one is an overlap too.
    numbers.len() == found.len()
        && (numbers.iter().zip(found)).all(|((id, _), (_, start, _))| id == start)
        && (numbers.windows(2).zip(found))
            .all(|(pair, (piece, _, _))| pair[0].1 + piece.search.len() <= pair[1].1)
}

/// Refuses dots between a piece and the line `below` that stand for too much: for hundreds of lines,
/// or for lines that leave the block of the piece, or the one that it begins and `below` is in.
fn refuse_wide(
    document: &Document<'_>,
    (piece, start, _): &Found<'_>,
    below: LineId,
) -> Result<(), Refusal> {
    let end = document.skip_from(*start, piece.search.len());
    let mut left_out: Vec<LineId> = (document.walk_from(end))
        .take_while(|&id| id != below)
        .take(MAX_LEFT_OUT + 1)
        .collect();
    let count = left_out.len();
    left_out.push(below);
    let depth = (document.walk_from(*start).take(piece.search.len()))
        .filter_map(|id| depth(document.text(id)))
        .min()
        .unwrap_or_default();
    if count <= MAX_LEFT_OUT && !leaves(document, &left_out, depth) {
        return Ok(());
    }
    let numbers = document.numbered(vec![end, document.previous(below)]);
    let lines: Vec<String> = numbers.iter().map(|(_, line)| line.to_string()).collect();
    Err(Refusal::new(format!(
        "`...` would stand for lines {}, which reach beyond what the part above it begins; send the parts as edits of their own",
        lines.join("-")
    )))
}

/// Whether some of the lines but the last are less deep than this; or, if the first and the last one
/// are deeper, as deep and with a deeper one below.
fn leaves(document: &Document<'_>, lines: &[LineId], depth_above: usize) -> bool {
    let depths: Vec<usize> = (lines.iter())
        .map(|&id| document.text(id))
        .filter(|line| !line.trim_start().starts_with(['}', ')', ']', '{']))
        .filter_map(depth)
        .collect();
    let is_inside = |depth: Option<&usize>| depth.is_some_and(|&depth| depth > depth_above);
    let opens = is_inside(depths.first()) && is_inside(depths.last());
    let opens_beside = |pair: &[usize]| opens && pair[0] == depth_above && pair[1] > depth_above;
    let is_out = |pair: &[usize]| pair[0] < depth_above || opens_beside(pair);
    depths.windows(2).any(is_out)
}

/// How deep a line is indented; nothing if it is blank.
fn depth(line: &str) -> Option<usize> {
    let body = line.trim_start();
    (!body.is_empty()).then(|| line.len() - body.len())
}
