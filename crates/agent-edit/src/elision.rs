//! SEARCH texts that leave lines out, with `...` in their place.
//!
//! Every piece between the dots must be unique in the file and they must stand in their order. The
//! REPLACE text leaves out as often, and what is left out stays as it is. It must not leave the block
//! that the piece above it is in. If that piece begins a block and the one below is inside of one, it
//! must be the same: dots that lead into the next function stand for more than was meant.

use super::Refusal;
use super::document::{Document, LineNumber};
use super::guard::is_elision;
use super::matcher;
use super::quote::Quote;
use super::refuse::{self, Piece};
use agent_protocol::Level;

/// The most lines that one `...` stands for.
const MAX_LEFT_OUT: usize = 300;

/// A piece of a quote, where it stands, and how it matched.
type Found<'a> = (Quote<'a>, LineNumber, Level);

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
        let Some(matches) = matcher::find(document, old, Level::Whitespace) else {
            return Ok(None);
        };
        let [start] = *matches.starts else {
            return Err(refuse::ambiguous(Piece::Elided, &matches.starts));
        };
        found.push((quote.piece(old, new), start, matches.level));
    }
    if found.is_empty() || !is_in_order(&found) {
        return Ok(None);
    }
    for (piece, start, _) in &found {
        piece.uneven(document, *start, Piece::Elided)?;
    }
    for pair in found.windows(2) {
        refuse_wide(document, &pair[0], pair[1].1)?;
    }
    let splices = (found.iter())
        .flat_map(|(piece, start, level)| piece.splices(document, *start, *level))
        .collect();
    document.splice_all(splices);
    Ok(Some(Level::Elision))
}

fn is_in_order(found: &[Found<'_>]) -> bool {
    (found.windows(2)).all(|pair| pair[0].1 + pair[0].0.search.len() <= pair[1].1)
}

/// Refuses dots between a piece and the line `below` that stand for too much: for hundreds of lines,
/// or for lines that leave the block of the piece, or the one that it begins and `below` is in.
fn refuse_wide(
    document: &Document<'_>,
    (piece, start, _): &Found<'_>,
    below: LineNumber,
) -> Result<(), Refusal> {
    let end = start + piece.search.len();
    let depth = (document.lines_from(*start).take(piece.search.len()))
        .filter_map(depth)
        .min()
        .unwrap_or_default();
    let left_out = document.lines_from(end).take(below + 1 - end);
    if below - end <= MAX_LEFT_OUT && !leaves(left_out, depth) {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "`...` would stand for lines {end}-{}, which reach beyond what the part above it begins; send the parts as edits of their own",
        below - 1
    )))
}

/// Tells whether some of the lines but the last are less deep than this; or, if the first and the
/// last one are deeper, as deep and with a deeper one below.
fn leaves<'t>(lines: impl Iterator<Item = &'t str>, depth_above: usize) -> bool {
    let depths: Vec<usize> = lines
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
