//! What begins with a tag.

use super::Assembly;
use super::frame::has_seam;
use super::talk::Meant;
use crate::code_fence::{self, Fence};
use crate::tags::{
    Around, Close, Closer, Crowded, Damage, Kind, Name, Opening, TagLine, build, crowded, led_to,
};
use crate::trim::is_blank;

/// The most unknown attributes that are named.
const MOST_NAMED: usize = 8;

/// Where the body of a command stands.
#[derive(Clone, Copy)]
pub(super) enum BodyAt<'b> {
    Nowhere,
    /// On the tag's own line.
    Inline(&'b str),
    /// On the lines up to the closing tag.
    Until(usize),
    /// On the lines up to this one and on it: the closing tag behind it is cut off already.
    Through(usize),
}

impl<'a> Assembly<'a> {
    /// Takes what begins with a tag; returns the line below it, or nothing if it is prose.
    pub(super) fn tag(&mut self, tag: &TagLine<'_>) -> Option<usize> {
        match &tag.kind {
            Kind::End(mark) => Some(self.end(tag.line, mark)),
            Kind::Close { name, mark } if mark.is_empty() => Some(self.stray(*name, tag.line)),
            Kind::Close { .. } => Some(self.take(tag.line, tag.line + 1)),
            Kind::UnknownClose { .. } => None,
            Kind::Unknown {
                name,
                has_attributes,
            } => self.unknown(tag, name, *has_attributes),
            Kind::Open {
                name,
                attributes,
                inline,
            } => {
                if let Some(end) = self.quotation(tag, *name) {
                    return Some(end);
                }
                self.leave_output(tag.line);
                self.code.has_tags = true;
                let opening = Opening::read(*name, attributes);
                match inline.as_deref() {
                    Some("") => Some(self.build(tag, opening, BodyAt::Nowhere)),
                    Some(text) => Some(self.build(tag, opening, BodyAt::Inline(text))),
                    None => self.open(tag, opening),
                }
            }
        }
    }

    /// Takes a command whose body, if it has one, stands on the lines below.
    fn open(&mut self, tag: &TagLine<'_>, opening: Opening) -> Option<usize> {
        if !opening.needs_body() {
            let closing = self.tags.closed_next(tag).filter(|closing| {
                opening.may_have_lines() || self.texts(tag.line + 1..*closing) <= 1
            });
            let body = closing.map_or(BodyAt::Nowhere, BodyAt::Until);
            return Some(self.build(tag, opening, body));
        }
        match self.tags.close(&self.lines, tag, opening.mark.as_deref()) {
            Close::At(closing) => Some(self.closed(tag, opening, closing)),
            Close::Example(closing) => {
                let what = format!(
                    "read an indented or quoted `{}` as the end of a body",
                    opening.closing()
                );
                self.repaired(&what, 1, true);
                Some(self.closed(tag, opening, closing))
            }
            Close::Oddly(closer) => Some(self.oddly_closed(tag, opening, closer)),
            Close::Restarted { first, again } => {
                self.restart(first);
                Some(self.take(tag.line, again))
            }
            Close::MissingBefore(next) => Some(self.unclosed(tag, &opening, next)),
            Close::Nested(closing) => Some(self.nested(tag, opening.name, closing)),
            Close::Contested(closing) => Some(self.contested(tag, opening.name, closing)),
            Close::Missing => self.endless(tag, &opening),
        }
    }

    /// Makes a command whose body goes up to the closing tag on this line.
    fn closed(&mut self, tag: &TagLine<'_>, opening: Opening, closing: usize) -> usize {
        let body = &self.lines[tag.line + 1..closing];
        let frame = self.frame;
        if frame.is_some_and(|frame| has_seam(body, &frame.fence)) {
            return self.torn(tag, opening.name, closing);
        }
        self.build(tag, opening, BodyAt::Until(closing))
    }

    /// Makes a command whose closing tag is misspelled or shares its line with the body.
    fn oddly_closed(&mut self, tag: &TagLine<'_>, opening: Opening, closer: Closer) -> usize {
        let Closer { line, keeps } = closer;
        let closing = opening.closing();
        if keeps == 0 {
            let what = format!("read a misspelled closing tag as `{closing}`");
            self.repaired(&what, 1, false);
            return self.closed(tag, opening, line);
        }
        self.lines[line] = &self.lines[line][..keeps];
        let what = format!("read `{closing}` behind the last line of a body as its end");
        self.repaired(&what, 1, true);
        self.build(tag, opening, BodyAt::Through(line))
    }

    /// Forgets the commands from a line on: the reply was cut and goes on from there once more.
    fn restart(&mut self, first: usize) {
        let again = self.forget_from(first) + 1;
        self.repaired(
            "left out commands that were cut and sent again",
            again,
            false,
        );
    }

    /// Takes a body without an end: the reply was cut, or the model forgot to close it.
    fn endless(&mut self, tag: &TagLine<'_>, opening: &Opening) -> Option<usize> {
        let words = matches!(opening.name, Name::Plan | Name::Message | Name::AskUser);
        if words && !self.lines[tag.line].contains(opening.name.as_str()) {
            // `[Plan]` as a heading of prose.
            return None;
        }
        if let Some(end) = self.tags.end_of_text(&self.lines) {
            return Some(self.unclosed(tag, opening, end));
        }
        if let Some(end) = self.stray_above(tag, self.lines.len()) {
            return Some(end);
        }
        self.cut(tag.line, opening.subject());
        Some(self.take(tag.line, self.lines.len()))
    }

    fn unclosed(&mut self, tag: &TagLine<'_>, opening: &Opening, end: usize) -> usize {
        if let Some(end) = self.stray_above(tag, end) {
            return end;
        }
        let closing = opening.closing();
        let message = format!("`{closing}` is missing");
        let hint = format!("Send it again and close it with `{closing}` on a line of its own.");
        self.malformed(tag.line, Some(opening.name.as_str()), message, hint);
        self.take(tag.line, end)
    }

    /// Makes a command; returns the line below it.
    pub(super) fn build(&mut self, tag: &TagLine<'_>, opening: Opening, body: BodyAt<'_>) -> usize {
        let name = opening.name;
        self.code.has_tags = true;
        self.remember_body(tag, &opening, body);
        let inline;
        let (lines, end) = match body {
            BodyAt::Nowhere => (None, tag.line + 1),
            BodyAt::Inline(text) => {
                inline = [text];
                (Some(&inline[..]), tag.line + 1)
            }
            BodyAt::Until(closing) => (Some(&self.lines[tag.line + 1..closing]), closing + 1),
            BodyAt::Through(last) => (Some(&self.lines[tag.line + 1..=last]), last + 1),
        };
        let has_run = name == Name::RunCommand && lines.is_some();
        let around = self.around(tag, end);
        let built = build(opening, lines, around);
        if tag.damage != Damage::None {
            self.repaired("restored tags that were escaped", 1, false);
        }
        self.repaired("straightened curly quotes in tags", built.curly, false);
        for (what, count) in built.repairs {
            self.repaired(what, count, true);
        }
        match built.command {
            Ok(command) => self.step(tag.line, command),
            Err(trouble) => {
                self.malformed(tag.line, Some(name.as_str()), trouble.message, trouble.hint);
            }
        }
        self.report_unknown(tag.line, name, &built.unknown);
        if let Some(damage) = built.damage {
            let hint = "Send it again inside of a code block, which pages leave as it is.";
            self.issue(
                tag.line,
                None,
                Some(name.as_str()),
                damage.to_owned(),
                hint.to_owned(),
            );
        }
        self.has_just_run = has_run;
        self.take(tag.line, end)
    }

    fn around<'t>(&self, tag: &TagLine<'t>, end: usize) -> Around<'t>
    where
        'a: 't,
    {
        let is_text = |line: &&&str| !is_blank(line);
        let above = &self.lines[self.free_from.min(tag.line)..tag.line];
        Around {
            before_tag: tag.before,
            above: (above.iter().rfind(is_text)).and_then(|line| Fence::read(line)),
            below: (self.lines[end..].iter().find(is_text)).and_then(|line| Fence::read(line)),
            frame: self.frame.map(|frame| frame.fence),
            escaped: tag.damage == Damage::Escaped,
        }
    }

    fn report_unknown(&mut self, line: usize, name: Name, attributes: &[String]) {
        let message = match attributes {
            [] => return,
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
        };
        let hint = format!("It is written as `{}`.", name.example());
        self.issue(line, None, Some(name.as_str()), message, hint);
    }

    /// A tag that shares its line with other text, or that goes on on the next line: it does not
    /// count, but what was meant for its body is not taken for anything else.
    pub(super) fn crowded_tag(&mut self, at: usize) -> Option<usize> {
        let crowded = crowded(self.lines[at]).or_else(|| self.led_to(at))?;
        let is_last = code_fence::skip_blank(&self.lines, at + 1) == self.lines.len();
        if is_last && !self.lines[at].contains(']') {
            self.cut(at, crowded.name.as_str().to_owned());
            return Some(self.take(at, at + 1));
        }
        let is_closed = self.lines[at].contains(&format!("[/{}]", crowded.name.as_str()));
        let end = match self.tags.next_close(crowded.name, at) {
            Some(closing) if crowded.name.needs_body() && !is_closed => closing + 1,
            _ => at + 1,
        };
        let name = crowded.name.as_str();
        let message = format!("`[{name}` counts only as a whole tag alone on its line");
        let hint = format!("Write it as `{}`.", crowded.name.example());
        if end > at + 1 {
            self.bodies.remove(&crowded.name);
        }
        if crowded.has_attributes || end > at + 1 {
            self.malformed(at, Some(name), message, hint);
        } else if crowded.name.has_effects() && crowded.name != Name::Done {
            let meant = match self.frame_at(at) {
                Some(_) => Meant::Certain,
                None => Meant::announced(crowded.name, crowded.rest),
            };
            self.doubted(at, Some(crowded.name), meant, message, hint);
        } else {
            self.issue(at, None, Some(name), message, hint);
        }
        Some(self.take(at, end))
    }

    /// A tag at the end of a line, if its closing tag or its attributes show that it was meant.
    fn led_to(&self, at: usize) -> Option<Crowded<'a>> {
        let led_to = led_to(self.lines[at])?;
        let next = self.tags.below(at + 1).first();
        let is_closed = next.is_some_and(
            |next| matches!(&next.kind, Kind::Close { name, .. } if *name == led_to.name),
        );
        let is_meant = if led_to.name.needs_body() {
            is_closed
        } else {
            led_to.has_attributes
        };
        is_meant.then_some(led_to)
    }

    /// What looks like a command that we do not have.
    fn unknown(&mut self, tag: &TagLine<'_>, name: &str, has_attributes: bool) -> Option<usize> {
        let closing = self.tags.unknown_close(tag);
        let meant = Name::meant_by(name);
        if !has_attributes && closing.is_none() && meant.is_none() {
            return None;
        }
        let hint = match meant {
            Some(meant) => format!("Did you mean `{}`?", meant.example()),
            None => "Use only the commands of the protocol.".to_owned(),
        };
        let message = format!("there is no command `{name}`");
        self.malformed(tag.line, None, message, hint);
        Some(self.take(tag.line, closing.unwrap_or(tag.line) + 1))
    }
}
