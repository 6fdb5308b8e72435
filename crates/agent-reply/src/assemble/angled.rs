//! Commands that are written as XML.
//!
//! `<CREATE_FILE path="a">` up to `</CREATE_FILE>` is read as a command of ours where the name is
//! exactly one of our names and the tag stands alone on its line. Names of one word, such as
//! `<MESSAGE>`, are elements of other formats too: they count only beside names of two.

use super::Assembly;
use super::tagged::BodyAt;
use crate::tags::{Kind, Name, Opening, TagLine, read_angled};
use crate::trim::trim;
use crate::work;

/// How a command in angle brackets ends.
enum End {
    /// At the closing tag on this line.
    At(usize),
    /// Nowhere before this line, where another one begins or the text ends.
    MissingBefore(usize),
}

impl Assembly<'_> {
    /// Takes a command in angle brackets that begins here; returns the line below it.
    pub(super) fn angled(&mut self, at: usize) -> Option<usize> {
        let tag = read_angled(at, self.lines[at])?;
        let Kind::Open {
            name,
            attributes,
            inline,
        } = &tag.kind
        else {
            return None;
        };
        if !name.is_compound() && !self.has_angled() {
            return None;
        }
        let opening = Opening::read(*name, attributes);
        let is_closed = self.lines[at].trim_end().ends_with("/>");
        let has_attributes = !attributes.trim().is_empty();
        let body = match (inline.as_deref(), self.angled_end(at, *name)) {
            (Some(text), _) => BodyAt::Inline(text),
            (None, _) if is_closed && !opening.needs_body() => BodyAt::Nowhere,
            (None, End::At(line)) if opening.needs_body() || self.is_short(&opening, at, line) => {
                BodyAt::Until(line)
            }
            _ if !opening.needs_body() && has_attributes => BodyAt::Nowhere,
            (None, End::MissingBefore(next)) if opening.needs_body() => {
                return Some(self.not_closed(&tag, *name, next));
            }
            _ => return None,
        };
        self.leave_output(at);
        let name = name.as_str();
        let what = format!("read `<{name} ...>` as `[{name} ...]`");
        self.repaired(&what, 1, false);
        Some(self.build(&tag, opening, body))
    }

    fn is_short(&self, opening: &Opening, at: usize, closing: usize) -> bool {
        opening.may_have_lines() || self.texts(at + 1..closing) <= 1
    }

    fn not_closed(&mut self, tag: &TagLine<'_>, name: Name, next: usize) -> usize {
        let boundary = self.tags.next_boundary(tag.line + 1);
        let message = format!("`</{}>` is missing", name.as_str());
        let hint = format!("Write it as `{}`.", name.example());
        self.malformed(tag.line, Some(name.as_str()), message, hint);
        self.take(tag.line, boundary.map_or(next, |line| line.min(next)))
    }

    fn angled_end(&self, at: usize, name: Name) -> End {
        let name = name.as_str();
        for (line, text) in self.lines.iter().enumerate().skip(at + 1) {
            work::count(1);
            let text = trim(text);
            let Some(rest) = text.strip_prefix(['<', '[']) else {
                continue;
            };
            if rest.strip_prefix('/').is_some_and(|rest| {
                let rest = rest.strip_prefix(name);
                matches!(rest, Some(">" | "]"))
            }) {
                return End::At(line);
            }
            // Whatever may be such a tag once more ends the search, so that no line is passed twice.
            let again = rest.strip_prefix(name);
            let goes_on = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '-');
            if again.is_some_and(|rest| !rest.starts_with(goes_on)) {
                return End::MissingBefore(line);
            }
        }
        End::MissingBefore(self.lines.len())
    }

    fn has_angled(&mut self) -> bool {
        let lines = &self.lines;
        *self.has_angled.get_or_insert_with(|| {
            lines.iter().any(|line| {
                read_angled(0, line).is_some_and(
                    |tag| matches!(tag.kind, Kind::Open { name, .. } if name.is_compound()),
                )
            })
        })
    }
}
