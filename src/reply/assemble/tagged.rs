//! What begins with a tag.

use super::{Assembly, number};
use crate::reply::Issue;
use crate::reply::code_fence::{self, Fence};
use crate::reply::tags::{
    Around, Close, Closer, Damage, Kind, Name, Opening, TagLine, build, crowded,
};
use crate::reply::trim::is_blank;

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

impl Assembly<'_> {
    /// Takes what begins with a tag; returns the line below it, or nothing if it is prose.
    pub(super) fn tag(&mut self, tag: &TagLine<'_>) -> Option<usize> {
        match &tag.kind {
            Kind::End(mark) => Some(self.end(tag.line, mark)),
            Kind::Close { name, .. } => {
                self.stray(*name, tag.line);
                Some(self.take(tag.line, tag.line + 1))
            }
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
                self.in_results = false;
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
            Close::At(closing) => Some(self.build(tag, opening, BodyAt::Until(closing))),
            Close::Oddly(closer) => Some(self.oddly_closed(tag, opening, closer)),
            Close::Restarted { first, again } => {
                self.restart(first);
                Some(self.take(tag.line, again))
            }
            Close::MissingBefore(next) => Some(self.unclosed(tag, &opening, next)),
            Close::Nested(closing) => {
                let (message, hint) = uncertain_end(opening.name);
                self.malformed(tag.line, Some(opening.name.as_str()), message, hint);
                Some(self.take(tag.line, closing + 1))
            }
            Close::Missing => self.endless(tag, &opening),
        }
    }

    /// Makes a command whose closing tag is misspelled or shares its line with the body.
    fn oddly_closed(&mut self, tag: &TagLine<'_>, opening: Opening, closer: Closer) -> usize {
        let Closer { line, keeps } = closer;
        let closing = opening.closing();
        if keeps == 0 {
            let what = format!("read a misspelled closing tag as `{closing}`");
            self.repaired(&what, 1, false);
            return self.build(tag, opening, BodyAt::Until(line));
        }
        self.lines[line] = &self.lines[line][..keeps];
        let what = format!("read `{closing}` behind the last line of a body as its end");
        self.repaired(&what, 1, true);
        self.build(tag, opening, BodyAt::Through(line))
    }

    /// Forgets the commands from a line on: the reply was cut and goes on from there once more.
    fn restart(&mut self, first: usize) {
        let from = number(first);
        let mut again = 1;
        while self.reply.steps.pop_if(|step| step.line >= from).is_some() {
            again += 1;
            self.count -= 1;
        }
        while let Some(issue) = self.reply.issues.pop_if(|issue| issue.line >= from) {
            self.count -= u32::from(issue.number.is_some());
        }
        self.repaired(
            "left out commands that were cut and sent again",
            again,
            false,
        );
        self.last_body = None;
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
        self.cut(tag.line, opening.subject());
        Some(self.take(tag.line, self.lines.len()))
    }

    fn unclosed(&mut self, tag: &TagLine<'_>, opening: &Opening, end: usize) -> usize {
        let closing = opening.closing();
        let message = format!("`{closing}` is missing");
        let hint = format!("Send it again and close it with `{closing}` on a line of its own.");
        self.malformed(tag.line, Some(opening.name.as_str()), message, hint);
        self.take(tag.line, end)
    }

    /// Makes a command; returns the line below it.
    pub(super) fn build(&mut self, tag: &TagLine<'_>, opening: Opening, body: BodyAt<'_>) -> usize {
        let name = opening.name;
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
        let has_body = lines.is_some();
        let built = build(opening, lines, self.around(tag, end));
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
        self.last_body = has_body.then_some((name, end));
        self.take(tag.line, end)
    }

    fn around<'t>(&self, tag: &TagLine<'t>, end: usize) -> Around<'t> {
        let is_text = |line: &&&str| !is_blank(line);
        let is_fence = |line: Option<&&str>| line.and_then(|line| Fence::read(line)).is_some();
        let above = &self.lines[self.free_from.min(tag.line)..tag.line];
        Around {
            before_tag: tag.before,
            fence_above: is_fence(above.iter().rfind(is_text)),
            fence_below: is_fence(self.lines[end..].iter().find(is_text)),
            escaped: tag.damage == Damage::Escaped,
        }
    }

    fn report_unknown(&mut self, line: usize, name: Name, attributes: &[String]) {
        if attributes.is_empty() {
            return;
        }
        self.reply.issues.push(Issue {
            line: number(line),
            number: None,
            command: Some(name.as_str().to_owned()),
            message: match attributes {
                [one] => format!("`{one}` means nothing to it and was ignored"),
                several => format!(
                    "`{}` mean nothing to it and were ignored",
                    several.join("`, `")
                ),
            },
            hint: format!("It is written as `{}`.", name.example()),
        });
    }

    /// A closing tag without an opening one: harmless, unless text before it was lost to it.
    fn stray(&mut self, name: Name, line: usize) {
        let Some((last, end)) = self.last_body.filter(|(last, _)| *last == name) else {
            return;
        };
        if self.texts(end..line) == 0 {
            self.last_body = Some((last, line + 1));
            return;
        }
        // The body held its own closing tag, and what was taken for all of it is only a part.
        let steps = &mut self.reply.steps;
        if let Some(step) = steps.pop_if(|step| step.command.name() == name.as_str()) {
            let (message, hint) = uncertain_end(name);
            self.reply.issues.push(Issue {
                line: step.line,
                number: Some(step.number),
                command: Some(name.as_str().to_owned()),
                message,
                hint,
            });
        }
    }

    /// A tag that shares its line with other text, or that goes on on the next line: it does not
    /// count, but what was meant for its body is not taken for anything else.
    pub(super) fn crowded_tag(&mut self, at: usize) -> Option<usize> {
        let crowded = crowded(self.lines[at])?;
        let is_last = code_fence::skip_blank(&self.lines, at + 1) == self.lines.len();
        if is_last && !self.lines[at].contains(']') {
            self.cut(at, crowded.name.as_str().to_owned());
            return Some(self.take(at, at + 1));
        }
        let end = match self.tags.next_close(crowded.name, at) {
            Some(closing) if crowded.name.needs_body() => closing + 1,
            _ => at + 1,
        };
        let name = crowded.name.as_str();
        let message = format!("`[{name}` counts only as a whole tag alone on its line");
        let hint = format!("Write it as `{}`.", crowded.name.example());
        if crowded.has_attributes || end > at + 1 {
            self.malformed(at, Some(name), message, hint);
        } else {
            self.reply.issues.push(Issue {
                line: number(at),
                number: None,
                command: Some(name.to_owned()),
                message,
                hint,
            });
        }
        Some(self.take(at, end))
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

fn uncertain_end(name: Name) -> (String, String) {
    let name = name.as_str();
    (
        format!("the body contains `[/{name}]`, so its end is uncertain"),
        format!(
            "Send it again with a mark of its own: `[{name} ... end=\"Q7\"]` and `[/{name} Q7]`."
        ),
    )
}
