//! Commands and marks that begin with one of our tags.

use super::stray::{self, not_done_to, uncertain_end};
use super::{crowded, quotation};
use crate::candidate::{BlockTrouble, BodyEnd, CandidateItem, EndedBody, OfferSource, ReplyOffer};
use crate::code_fence::Fence;
use crate::scan::Scan;
use crate::tags::{Around, Close, Closer, Damage, Kind, Name, Opening, TagLine, build};
use crate::trim::is_blank;

/// The most unknown attributes that are named.
const MOST_NAMED: usize = 8;

/// Where the body of a command stands.
#[derive(Clone, Copy)]
pub(crate) enum BodyAt<'b> {
    Nowhere,
    /// On the tag's own line.
    Inline(&'b str),
    /// On the lines up to the closing tag.
    Until(usize),
    /// On the lines up to the closing tag, and before it on its line.
    Through(Closer),
}

/// The command, closing tag or end mark that begins with a tag; nothing if the tag is prose.
pub(crate) fn find(scan: &Scan<'_>, tag: &TagLine<'_>) -> Option<ReplyOffer> {
    let line = tag.line..tag.line + 1;
    match &tag.kind {
        Kind::End(mark) => {
            let mark = mark.clone();
            Some(ReplyOffer::new(
                line,
                OfferSource::End { mark, above: None },
            ))
        }
        Kind::Close { name, mark } if mark.is_empty() => Some(stray::find(scan, *name, tag.line)),
        Kind::Close { .. } => Some(ReplyOffer::aside(line)),
        Kind::UnknownClose { .. } => None,
        Kind::Unknown {
            name,
            has_attributes,
        } => crowded::unknown(scan, tag, name, *has_attributes),
        Kind::Open {
            name,
            attributes,
            inline,
        } => quotation::find(scan, tag, *name).or_else(|| {
            let opening = Opening::read(*name, attributes);
            match inline.as_deref() {
                Some("") => Some(offer(scan, tag, opening, BodyAt::Nowhere)),
                Some(text) => Some(offer(scan, tag, opening, BodyAt::Inline(text))),
                None => open(scan, tag, opening),
            }
        }),
    }
}

/// A command whose body, if it has one, stands on the lines below.
fn open(scan: &Scan<'_>, tag: &TagLine<'_>, opening: Opening) -> Option<ReplyOffer> {
    if !opening.needs_body() {
        let closing = scan
            .tags
            .closed_next(tag)
            .filter(|closing| opening.may_have_lines() || scan.texts(tag.line + 1..*closing) <= 1);
        let body = closing.map_or(BodyAt::Nowhere, BodyAt::Until);
        return Some(offer(scan, tag, opening, body));
    }
    let name = opening.name;
    match scan.tags.close(&scan.lines, tag, opening.mark.as_deref()) {
        Close::At(closing) => Some(closed(scan, tag, opening, closing)),
        Close::Example(closing) => {
            let what = format!(
                "read an indented or quoted `{}` as the end of a body",
                opening.closing()
            );
            Some(closed(scan, tag, opening, closing).first_repaired(what, true))
        }
        Close::Oddly(closer) => Some(oddly_closed(scan, tag, opening, closer)),
        Close::Restarted { first, again } => Some(ReplyOffer::new(
            tag.line..again,
            OfferSource::Restart { first },
        )),
        Close::MissingBefore(next) => Some(unclosed(scan, tag, &opening, next)),
        Close::Nested(closing) => Some(refused(tag, closing + 1, uncertain_end(name, closing))),
        Close::Contested(closing) => Some(contested(tag, name, closing)),
        Close::Missing => endless(scan, tag, &opening),
    }
}

/// A command whose body goes up to the closing tag on this line.
fn closed(scan: &Scan<'_>, tag: &TagLine<'_>, opening: Opening, closing: usize) -> ReplyOffer {
    let body = &scan.lines[tag.line + 1..closing];
    let frame = scan.frames.open;
    if frame.is_some_and(|frame| has_seam(body, &frame.fence)) {
        let trouble = BlockTrouble::new(
            "the code block around it ends inside of its body, so what belongs to it is uncertain",
            format!(
                "Send it again whole, in one code block; if its body has such a fence, put one with \
                 more backticks around the reply. {}",
                not_done_to(closing)
            ),
        );
        return refused(tag, closing + 1, trouble.of(opening.name.as_str()));
    }
    offer(scan, tag, opening, BodyAt::Until(closing))
}

/// A command whose closing tag is misspelled or shares its line with the body.
fn oddly_closed(
    scan: &Scan<'_>,
    tag: &TagLine<'_>,
    opening: Opening,
    closer: Closer,
) -> ReplyOffer {
    let closing = opening.closing();
    if closer.keeps == 0 {
        let what = format!("read a misspelled closing tag as `{closing}`");
        return closed(scan, tag, opening, closer.line).first_repaired(what, false);
    }
    let what = format!("read `{closing}` behind the last line of a body as its end");
    offer(scan, tag, opening, BodyAt::Through(closer)).first_repaired(what, true)
}

/// A body without an end: the reply was cut, or the model forgot to close it.
fn endless(scan: &Scan<'_>, tag: &TagLine<'_>, opening: &Opening) -> Option<ReplyOffer> {
    let words = matches!(opening.name, Name::Plan | Name::Message | Name::AskUser);
    if words && !scan.lines[tag.line].contains(opening.name.as_str()) {
        // `[Plan]` as a heading of prose.
        return None;
    }
    if let Some(end) = scan.tags.end_of_text(&scan.lines) {
        return Some(unclosed(scan, tag, opening, end));
    }
    let end = scan.lines.len();
    let stray = stray::above(scan, tag, end);
    Some(stray.unwrap_or_else(|| in_tag(tag, end).cut_off(opening.subject())))
}

fn unclosed(scan: &Scan<'_>, tag: &TagLine<'_>, opening: &Opening, end: usize) -> ReplyOffer {
    if let Some(stray) = stray::above(scan, tag, end) {
        return stray;
    }
    let closing = opening.closing();
    let trouble = BlockTrouble::new(
        format!("`{closing}` is missing"),
        format!("Send it again and close it with `{closing}` on a line of its own."),
    );
    refused(tag, end, trouble.of(opening.name.as_str()))
}

/// A command up to the closing tag on this line, which may belong to another of its name.
fn contested(tag: &TagLine<'_>, name: Name, closing: usize) -> ReplyOffer {
    let name = name.as_str();
    let trouble = BlockTrouble::new(
        format!("another `[{name}` begins before `[/{name}]`, so its end is uncertain"),
        format!(
            "Send both again, each closed with `[/{name}]`; if the second belongs to the body, with \
             a mark: `[{name} ... end=\"Q7\"]` and `[/{name} Q7]`. {}",
            not_done_to(closing)
        ),
    );
    refused(tag, closing + 1, trouble.of(name))
}

fn refused(tag: &TagLine<'_>, end: usize, trouble: BlockTrouble) -> ReplyOffer {
    in_tag(tag, end).problem(trouble)
}

fn in_tag(tag: &TagLine<'_>, end: usize) -> ReplyOffer {
    let source = OfferSource::Tag {
        body: BodyEnd::Unchanged,
        runs: false,
    };
    ReplyOffer::new(tag.line..end, source)
}

/// The command of a tag and its body.
pub(crate) fn offer(
    scan: &Scan<'_>,
    tag: &TagLine<'_>,
    opening: Opening,
    body: BodyAt<'_>,
) -> ReplyOffer {
    let name = opening.name;
    let written = name.as_str();
    let below = tag.line + 1;
    let source = OfferSource::Tag {
        body: body_end(scan, tag, &opening, body),
        runs: name == Name::RunCommand && !matches!(body, BodyAt::Nowhere),
    };
    let own;
    let (lines, end) = match body {
        BodyAt::Nowhere => (None, below),
        BodyAt::Inline(text) => {
            own = vec![text];
            (Some(&own[..]), below)
        }
        BodyAt::Until(closing) => (Some(&scan.lines[below..closing]), closing + 1),
        BodyAt::Through(Closer { line, keeps }) => {
            let last = &scan.lines[line][..keeps];
            let above = scan.lines[below..line].iter().copied();
            own = above.chain([last]).collect();
            (Some(&own[..]), line + 1)
        }
    };
    let built = build(opening, lines, around(scan, tag, end));
    let escaped = usize::from(tag.damage != Damage::None);
    let mut offer = ReplyOffer::new(tag.line..end, source)
        .repaired(crate::repair::copied::ESCAPED_TAGS, escaped, false)
        .repaired("straightened curly quotes in tags", built.curly, false);
    for (what, count) in built.repairs {
        offer = offer.repaired(what, count, true);
    }
    offer.items.push(CandidateItem::of(written, built.command));
    if let Some(message) = unknown_attributes(&built.unknown) {
        let hint = format!("It is written as `{}`.", name.example());
        offer = offer.note(BlockTrouble::new(message, hint).of(written));
    }
    if let Some(damage) = built.damage {
        let hint = "Send it again inside of a code block, which pages leave as it is.";
        offer = offer.note(BlockTrouble::new(damage, hint).of(written));
    }
    offer
}

/// How the body ended, for a closing tag of that name below: without a mark, it may be the body's
/// own.
fn body_end(scan: &Scan<'_>, tag: &TagLine<'_>, opening: &Opening, body: BodyAt<'_>) -> BodyEnd {
    let name = opening.name;
    let BodyAt::Until(closing) = body else {
        return BodyEnd::Forgotten(name);
    };
    if opening.mark.is_some() {
        return BodyEnd::Forgotten(name);
    }
    let last = scan.bodies.get(&name);
    let first = last.filter(|_| scan.texts(scan.free_from..tag.line) > 0);
    let ended = EndedBody {
        first: first.map_or(tag.line, |last| last.first),
        lines: tag.line..closing + 1,
    };
    BodyEnd::Unmarked(name, ended)
}

fn around<'t>(scan: &Scan<'t>, tag: &TagLine<'t>, end: usize) -> Around<'t> {
    let is_text = |line: &&&str| !is_blank(line);
    let above = &scan.lines[scan.free_from.min(tag.line)..tag.line];
    Around {
        before_tag: tag.before,
        above: (above.iter().rfind(is_text)).and_then(|line| Fence::read(line)),
        below: (scan.lines[end..].iter().find(is_text)).and_then(|line| Fence::read(line)),
        frame: scan.frames.open.map(|frame| frame.fence),
        escaped: tag.damage == Damage::Escaped,
        first_number: None,
    }
}

fn unknown_attributes(attributes: &[String]) -> Option<String> {
    Some(match attributes {
        [] => return None,
        [one] => format!("`{one}` means nothing to it and was ignored"),
        several if several.len() <= MOST_NAMED => format!(
            "`{}` mean nothing to it and were ignored",
            several.join("`, `")
        ),
        many => format!(
            "`{}` and {} more mean nothing to it and were ignored",
            many[..MOST_NAMED].join("`, `"),
            many.len() - MOST_NAMED
        ),
    })
}

/// Returns true if the frame of a reply ends inside of a body: two parts of it were pasted one
/// after the other, and what stands between them is no part of the file.
///
/// Only a long fence tells: shorter ones may be the body's own. At the end of a body it only
/// crosses the closing tag.
fn has_seam(body: &[&str], frame: &Fence<'_>) -> bool {
    let last = body.iter().rposition(|line| !is_blank(line)).unwrap_or(0);
    let fences = body[..last].iter().filter_map(|line| Fence::read(line));
    let mut inner: Option<Fence<'_>> = None;
    for fence in fences.filter(|fence| fence.is_as_long_as(frame)) {
        if inner.is_none() && fence.closes(frame) {
            return frame.is_frame();
        }
        inner = fence.follow(inner);
    }
    false
}
