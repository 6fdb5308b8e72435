//! Commands that are written as XML.
//!
//! `<CREATE_FILE path="a">` up to `</CREATE_FILE>` is read as a command of ours where the name is
//! exactly one of our names and the tag stands alone on its line. Names of one word, such as
//! `<MESSAGE>`, are elements of other formats too: they count only beside names of two.

use super::tagged::{self, BodyAt};
use crate::candidate::{BlockTrouble, ReplyOffer};
use crate::scan::Scan;
use crate::tags::{Kind, Name, Opening, read_angled};
use crate::trim::trim;
use crate::work;

/// How a command in angle brackets ends.
enum AngledEnd {
    /// At the closing tag on this line.
    At(usize),
    /// Nowhere before this line, where another one begins or the text ends.
    MissingBefore(usize),
}

/// The command in angle brackets that begins here.
pub(crate) fn find(scan: &Scan<'_>, at: usize) -> Option<ReplyOffer> {
    let tag = read_angled(at, scan.lines[at])?;
    let Kind::Open {
        name,
        attributes,
        inline,
    } = &tag.kind
    else {
        return None;
    };
    if !name.is_compound() && !has_angled(scan) {
        return None;
    }
    let opening = Opening::read(*name, attributes);
    let is_closed = scan.lines[at].trim_end().ends_with("/>");
    let has_attributes = !attributes.trim().is_empty();
    let is_short = |closing| opening.may_have_lines() || scan.texts(at + 1..closing) <= 1;
    let body = match (inline.as_deref(), end(scan, at, *name)) {
        (Some(text), _) => BodyAt::Inline(text),
        (None, _) if is_closed && !opening.needs_body() => BodyAt::Nowhere,
        (None, AngledEnd::At(line)) if opening.needs_body() || is_short(line) => {
            BodyAt::Until(line)
        }
        _ if !opening.needs_body() && has_attributes => BodyAt::Nowhere,
        (None, AngledEnd::MissingBefore(next)) if opening.needs_body() => {
            let end = scan.next_boundary(at + 1).min(next);
            let trouble = BlockTrouble::new(
                format!("`</{}>` is missing", name.as_str()),
                format!("Write it as `{}`.", name.example()),
            );
            return Some(ReplyOffer::aside(at..end).problem(trouble.of(name.as_str())));
        }
        _ => return None,
    };
    let what = format!("read `<{0} ...>` as `[{0} ...]`", name.as_str());
    Some(tagged::offer(scan, &tag, opening, body).first_repaired(what, false))
}

fn end(scan: &Scan<'_>, at: usize, name: Name) -> AngledEnd {
    let name = name.as_str();
    for (line, text) in scan.lines.iter().enumerate().skip(at + 1) {
        work::count(1);
        let text = trim(text);
        let Some(rest) = text.strip_prefix(['<', '[']) else {
            continue;
        };
        let closed = rest
            .strip_prefix('/')
            .and_then(|rest| rest.strip_prefix(name));
        if matches!(closed, Some(">" | "]")) {
            return AngledEnd::At(line);
        }
        // Whatever may be such a tag once more ends the search, so that no line is passed twice.
        let again = rest.strip_prefix(name);
        let goes_on = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '-');
        if again.is_some_and(|rest| !rest.starts_with(goes_on)) {
            return AngledEnd::MissingBefore(line);
        }
    }
    AngledEnd::MissingBefore(scan.lines.len())
}

/// Returns true if a tag in angle brackets stands anywhere that can be nothing else.
fn has_angled(scan: &Scan<'_>) -> bool {
    let is_certain = |line: &&str| {
        let name = read_angled(0, line).and_then(|tag| tag.opens());
        name.is_some_and(Name::is_compound)
    };
    let look = || scan.lines.iter().any(is_certain);
    *scan.known.has_angled.get_or_init(look)
}
