//! Tags that do not count where they stand: with other text on their line, not finished on it, or
//! with a name that no command has.
//!
//! Lines that were meant for the body of such a tag are not taken for anything else.

use crate::candidate::{BlockTrouble, BodyEnd, DoubtedMeaning, OfferSource, ReplyOffer};
use crate::carried_out::ShownWork;
use crate::code_fence;
use crate::scan::Scan;
use crate::tags::{Crowded, LooseTag, Name, TagLine, crowded, led_to};
use crate::work;

/// A tag that shares its line with other text, or that goes on on the next line.
pub(crate) fn find(scan: &Scan<'_>, at: usize) -> Option<ReplyOffer> {
    let line = scan.lines[at];
    let announced = announced(scan, at);
    let is_announced = announced.is_some();
    let crowded = crowded(line).or(announced)?;
    let name = crowded.name.as_str();
    let is_last = code_fence::skip_blank(&scan.lines, at + 1) == scan.lines.len();
    if is_last && !line.contains(']') {
        return Some(ReplyOffer::aside(at..at + 1).cut_off(name));
    }
    let is_closed = line.contains(&format!("[/{name}]"));
    let closing = scan.tags.next_close(crowded.name, at);
    let closing = closing.filter(|_| crowded.name.needs_body() && !is_closed);
    let body = match closing {
        Some(_) => BodyEnd::Forgotten(crowded.name),
        None => BodyEnd::Unchanged,
    };
    let end = closing.unwrap_or(at) + 1;
    let offer = ReplyOffer::new(at..end, OfferSource::Misplaced { body });
    let trouble = BlockTrouble::new(
        format!("`[{name}` counts only as a whole tag alone on its line"),
        format!("Write it as `{}`.", crowded.name.example()),
    );
    let trouble = trouble.of(name);
    if is_announced && closing.is_none() && crowded.name.needs_body() {
        let meant = DoubtedMeaning::Named(crowded.name);
        return Some(offer.problem(trouble).doubted(meant));
    }
    if crowded.has_attributes || closing.is_some() {
        return Some(offer.problem(trouble));
    }
    if !crowded.name.has_effects() || crowded.name == Name::Done {
        return Some(offer.note(trouble));
    }
    let meant = match scan.frames.open {
        Some(_) => DoubtedMeaning::Certain,
        None => DoubtedMeaning::announced(crowded.name, crowded.rest),
    };
    Some(offer.problem(trouble).doubted(meant))
}

/// A tag among words, in other brackets or in other letters, with its closing tag below: whatever
/// stands between them is its body and nothing else.
pub(crate) fn loose(scan: &Scan<'_>, at: usize) -> Option<ReplyOffer> {
    const MOST_LINES: usize = 5_000;
    let tag = LooseTag::opening(scan.lines[at]).filter(|_| scan.known.is_patient())?;
    let next = scan.tags.below(at + 1).first();
    let limit = next.map_or(scan.lines.len(), |next| next.line);
    let is_close = |line: &usize| {
        work::count(1);
        let closing = LooseTag::find(scan.lines[*line]);
        closing.is_some_and(|closing| closing.is_closing && closing.name == tag.name)
    };
    let close = (at + 1..limit).take(MOST_LINES).find(is_close).or_else(|| {
        let next = next?;
        next.closes(tag.name).then_some(next.line)
    });
    let close = scan.known.looked_for(close)?;
    let work = ShownWork::lines(&scan.lines[at + 1..close]).of_files(tag.path);
    let offer = ReplyOffer::aside(at..close + 1).problem(tag.trouble());
    Some(offer.doubted(DoubtedMeaning::Shown(work)))
}

/// A tag at the end of a line or of the row of a table, if its closing tag or its attributes show
/// that it was meant.
fn announced<'a>(scan: &Scan<'a>, at: usize) -> Option<Crowded<'a>> {
    let led_to = led_to(scan.lines[at])?;
    let next = scan.tags.below(at + 1).first();
    let is_closed = next.is_some_and(|next| next.closes(led_to.name)) && led_to.name.needs_body();
    (is_closed || led_to.has_attributes).then_some(led_to)
}

/// A tag that looks like a command that we do not have.
pub(super) fn unknown(
    scan: &Scan<'_>,
    tag: &TagLine<'_>,
    name: &str,
    has_attributes: bool,
) -> Option<ReplyOffer> {
    let closing = scan.tags.unknown_close(tag);
    let meant = Name::meant_by(name);
    if !has_attributes && closing.is_none() && meant.is_none() {
        return None;
    }
    let hint = match meant {
        Some(meant) => format!("Did you mean `{}`?", meant.example()),
        None => "Use only the commands of the protocol.".to_owned(),
    };
    let end = closing.unwrap_or(tag.line) + 1;
    let message = format!("there is no command `{name}`");
    Some(ReplyOffer::aside(tag.line..end).problem(BlockTrouble::new(message, hint)))
}
