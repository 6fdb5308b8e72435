//! SEARCH texts that leave lines out, with `...` in their place.
//!
//! Every piece between the dots must be unique in the file and they must stand in their order. The
//! REPLACE text leaves out as often; what is left out stays as it is, so that it does not matter
//! how much that is.

use super::Refusal;
use super::document::{Document, LineId};
use super::guard::is_elision;
use super::matcher;
use super::quote::Quote;
use super::refuse::{self, Piece};
use crate::protocol::Level;

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
    let mut found: Vec<(Quote<'a>, LineId, Level)> = Vec::new();
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
    for (piece, start, level) in found {
        piece.put(document, start, level);
    }
    Ok(Some(Level::Elision))
}

fn is_in_order(document: &Document<'_>, found: &[(Quote<'_>, LineId, Level)]) -> bool {
    let starts = found.iter().map(|(_, start, _)| *start).collect();
    let numbers = document.numbered(starts);
    // Equal starts are one entry in `numbers`, so that a missing one is an overlap too.
    numbers.len() == found.len()
        && (numbers.iter().zip(found)).all(|((id, _), (_, start, _))| id == start)
        && (numbers.windows(2).zip(found))
            .all(|(pair, (piece, _, _))| pair[0].1 + piece.search.len() <= pair[1].1)
}
