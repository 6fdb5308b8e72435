//! Which fences only wrap a body.

use super::{Around, BodyPlace};
use crate::code_fence::Fence;
use crate::tags::content::FileContent;
use crate::trim::is_blank;

impl Around<'_> {
    /// Returns true if a pair of fences around all of the body can be no part of it.
    pub(super) fn may_wrap(&self, open: &Fence<'_>, place: BodyPlace) -> bool {
        !place.is_part() || self.is_no_deeper(open)
    }

    /// Returns true if the first line of the body only opens what the line below the closing tag
    /// closes.
    pub(super) fn may_open(&self, open: &Fence<'_>, place: BodyPlace) -> bool {
        let is_closed_below = self
            .below
            .is_some_and(|below| below.closes(open) && below.is_like(open))
            && !matches!((self.below, self.frame), (Some(below), Some(frame)) if below.closes(&frame));
        match place {
            BodyPlace::Part(content) => {
                content != FileContent::Prose && is_closed_below && self.is_no_deeper(open)
            }
            _ => is_closed_below || !place.is_prose(),
        }
    }

    /// Returns true if the last line of the body only closes what the line above the opening tag
    /// opens.
    pub(super) fn may_close(&self, end: &Fence<'_>, place: BodyPlace) -> bool {
        let Some(above) = self.above.filter(|above| end.closes(above)) else {
            return false;
        };
        let is_closed_below = self.below.is_some_and(|below| below.closes(&above));
        let may_be_its_own = place.is_part() || (place.is_prose() && is_closed_below);
        !may_be_its_own
    }

    /// Returns true if a fence stands no deeper than the opening tag.
    fn is_no_deeper(&self, fence: &Fence<'_>) -> bool {
        let own = self.before_tag.rsplit('>').next().unwrap_or_default();
        let indent = if is_blank(own) { own.len() } else { 0 };
        fence.indent <= indent
    }
}

/// Which fences enclose a body.
pub(super) enum Enclosed<'a> {
    /// This one and the one that closes it.
    Both(Fence<'a>),
    /// Only the first line is a fence: its end is missing or stands after the closing tag.
    First(Fence<'a>),
    /// Only the last line is one: it was opened above the opening tag.
    Last(Fence<'a>),
}

/// Looks at lines whose first and last are not blank.
pub(super) fn enclosing<'a>(lines: &[&'a str], place: BodyPlace) -> Option<Enclosed<'a>> {
    let opens = lines.first().and_then(|line| Fence::read(line));
    let ends = lines.last().and_then(|line| Fence::read(line));
    if opens.is_none() && ends.is_none() {
        return None;
    }
    let middle = lines.get(1..lines.len() - 1).unwrap_or_default();
    let alone = !middle.iter().any(|line| Fence::read(line).is_some());
    match (opens, ends) {
        (Some(open), Some(end)) if lines.len() > 1 && end.closes(&open) => {
            let whole = !place.is_part();
            let own = match open.info.to_ascii_lowercase().as_str() {
                "md" | "markdown" => true,
                "" | "text" | "txt" | "plaintext" => whole,
                _ => false,
            };
            let enclosed = alone || encloses(&open, middle);
            let sure = if place.is_prose() {
                own && enclosed
            } else {
                enclosed || matches!(place, BodyPlace::File(_))
            };
            sure.then_some(Enclosed::Both(open))
        }
        (Some(open), None) if alone => {
            let markdown = matches!(open.info, "md" | "markdown");
            (markdown || !place.is_prose()).then_some(Enclosed::First(open))
        }
        (None, Some(end)) if alone && end.info.is_empty() => Some(Enclosed::Last(end)),
        _ => None,
    }
}

/// Returns true if the fence that opened stays open throughout `middle`.
///
/// A fence with a language opens another block inside, and one without closes the innermost.
/// Where Markdown's own rule, by which nothing nests, also has every fence closed, that rule wins.
fn encloses(open: &Fence<'_>, middle: &[&str]) -> bool {
    let fences = || middle.iter().filter_map(|line| Fence::read(line));
    let mut flat = Some(*open);
    for fence in fences() {
        flat = match flat {
            Some(current) if fence.closes(&current) => None,
            None => Some(fence),
            current => current,
        };
    }
    if !fences().any(|fence| fence.closes(open)) {
        return true;
    }
    // The last line of the body still follows: it closes what is open by then.
    let flat_is_sound = flat.is_some();
    let mut depth = 1_usize;
    for fence in fences() {
        depth = if fence.info.is_empty() {
            depth - 1
        } else {
            depth + 1
        };
        if depth == 0 {
            return false;
        }
    }
    depth == 1 && (!flat_is_sound || matches!(open.info, "md" | "markdown"))
}
