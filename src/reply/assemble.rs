//! From lines to a `Reply`: one walk from the top, each block taken by whoever knows it.
//!
//! A tag is ours; anything else is offered to the other dialects; what nobody wants is prose. Each
//! line belongs to one block or to the prose, and a command gets its number where it begins.

use std::ops::Range;

use super::found::{Found, Item};
use super::line::Fence;
use super::tags::{Around, Close, Damage, Kind, Name, Opening, TagLine, Tags, build, example};
use super::{Cut, Issue, Repair, Reply, invented, prose, thinking};
use crate::protocol::{Command, Step};

/// Finds a block of a dialect that begins at a line.
type Find = fn(&[&str], usize) -> Option<Found>;

/// The other dialects, in the order in which they are asked.
const DIALECTS: [Find; 0] = [];

/// How many blocks may be followed to the end of the text without an end of their own, before
/// every further one is looked for only up to the next tag.
const OPEN_BLOCKS: u32 = 16;

/// Turns repaired text into a reply; `repairs` are those that led to it.
pub(super) fn assemble(text: &str, repairs: Vec<Repair>) -> Reply {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let thoughts = thinking::remove(&mut lines);
    let tags = Tags::of(&lines);
    let mut assembly = Assembly {
        lines: &lines,
        tags: &tags,
        reply: Reply {
            repairs,
            ..Reply::default()
        },
        blocks: thoughts,
        free_from: 0,
        last: None,
        count: 0,
        told_results: false,
        open_blocks: 0,
    };
    let thoughts = assembly.blocks.len();
    assembly.repaired("left out the model's thinking", thoughts, false);
    assembly.walk();
    assembly.reply.prose = prose::around(&lines, &mut assembly.blocks);
    assembly.reply
}

struct Assembly<'a> {
    lines: &'a [&'a str],
    tags: &'a Tags<'a>,
    reply: Reply,
    /// The lines that are not prose.
    blocks: Vec<Range<usize>>,
    /// The first line below the last block: no dialect may look above it.
    free_from: usize,
    /// The last command that was taken from a tag with a body: its name and the line below it.
    last: Option<(Name, usize)>,
    /// How many commands there are so far, malformed ones included.
    count: u32,
    told_results: bool,
    open_blocks: u32,
}

impl<'a> Assembly<'a> {
    fn walk(&mut self) {
        let tags = self.tags;
        let mut coming = tags.below(0).iter().peekable();
        let mut at = 0;
        while at < self.lines.len() {
            while coming.next_if(|tag| tag.line < at).is_some() {}
            let next = match coming.peek() {
                Some(tag) if tag.line == at => self.tag(tag),
                _ => self.dialect(at),
            };
            if next.is_none() {
                self.prose(at);
            }
            at = next.unwrap_or(0).max(at + 1);
        }
    }

    /// Takes what begins with a tag; returns the line below it, or nothing if it is prose.
    fn tag(&mut self, tag: &TagLine<'a>) -> Option<usize> {
        match &tag.kind {
            Kind::End(mark) => {
                self.reply.end = Some(mark.clone());
                Some(self.take(tag.line, tag.line + 1))
            }
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
                if tag.damage != Damage::None {
                    self.repaired("restored tags that were escaped", 1, false);
                }
                let opening = Opening::read(*name, attributes);
                match inline {
                    Some(text) => {
                        let body = [&**text];
                        let body = (!text.is_empty()).then_some(&body[..]);
                        self.build(tag, opening, body, tag.line + 1);
                        Some(self.take(tag.line, tag.line + 1))
                    }
                    None => self.open(tag, opening),
                }
            }
        }
    }

    /// Takes a command whose body, if it has one, stands on the lines below.
    fn open(&mut self, tag: &TagLine<'a>, opening: Opening) -> Option<usize> {
        if !opening.needs_body() {
            let body = self.tags.closed_next(tag).filter(|closing| {
                opening.name == Name::Done || self.texts(tag.line + 1..*closing) <= 1
            });
            return Some(self.finish(tag, opening, body));
        }
        match self.tags.close(self.lines, tag, opening.mark.as_deref()) {
            Close::At(closing) => Some(self.finish(tag, opening, Some(closing))),
            Close::Restarted(again) => {
                self.repaired("left out a command that was cut and begun again", 1, false);
                Some(self.take(tag.line, again))
            }
            Close::MissingBefore(next) => {
                let message = format!("`{}` is missing", opening.closing());
                let hint = format!(
                    "Send it again and close it with `{}` on a line of its own.",
                    opening.closing()
                );
                self.malformed(tag.line, Some(opening.name.as_str()), message, hint);
                Some(self.take(tag.line, next))
            }
            Close::Nested(closing) => {
                let name = opening.name.as_str();
                let message = format!("the body contains `[/{name}]`, so its end is uncertain");
                let hint = format!(
                    "Send it again with a mark of its own: `[{name} ... end=\"Q7\"]` and \
                     `[/{name} Q7]`."
                );
                self.malformed(tag.line, Some(name), message, hint);
                Some(self.take(tag.line, closing + 1))
            }
            Close::Missing => self.unfinished(tag, &opening),
        }
    }

    /// Takes a body without an end: the reply was cut, or the model forgot to close it.
    fn unfinished(&mut self, tag: &TagLine<'a>, opening: &Opening) -> Option<usize> {
        let words = matches!(opening.name, Name::Plan | Name::Message | Name::AskUser);
        if words && !self.lines[tag.line].contains(opening.name.as_str()) {
            // `[Plan]` as a heading of prose.
            return None;
        }
        let Some(end) = self.tags.end_of_text(self.lines) else {
            self.reply.cut = Some(Cut {
                line: number(tag.line),
                what: opening.subject(),
            });
            return Some(self.take(tag.line, self.lines.len()));
        };
        let message = format!("`{}` is missing", opening.closing());
        let hint = format!(
            "Send it again and close it with `{}` on a line of its own.",
            opening.closing()
        );
        self.malformed(tag.line, Some(opening.name.as_str()), message, hint);
        Some(self.take(tag.line, end))
    }

    /// Builds a command that ends at its closing tag, or with the opening one.
    fn finish(&mut self, tag: &TagLine<'a>, opening: Opening, closing: Option<usize>) -> usize {
        let lines = self.lines;
        let body = closing.map(|closing| &lines[tag.line + 1..closing]);
        let end = closing.unwrap_or(tag.line) + 1;
        self.build(tag, opening, body, end);
        self.take(tag.line, end)
    }

    fn build(&mut self, tag: &TagLine<'a>, opening: Opening, body: Option<&[&str]>, end: usize) {
        let name = opening.name;
        let above = self.lines[self.free_from.min(tag.line)..tag.line]
            .iter()
            .rfind(|line| !line.trim().is_empty());
        let below = self.lines[end..]
            .iter()
            .find(|line| !line.trim().is_empty());
        let is_fence = |line: Option<&&str>| line.and_then(|line| Fence::read(line)).is_some();
        let around = Around {
            before_tag: tag.before,
            fence_above: is_fence(above),
            fence_below: is_fence(below),
            escaped: tag.damage == Damage::Escaped,
        };
        let built = build(opening, body, around);
        self.repaired(
            "straightened curly quotes in tags",
            built.curly as usize,
            false,
        );
        for (what, count) in built.repairs {
            self.repaired(what, count, true);
        }
        match built.command {
            Ok(command) => self.step(tag.line, command),
            Err(trouble) => {
                self.malformed(tag.line, Some(name.as_str()), trouble.message, trouble.hint);
            }
        }
        if !built.unknown.is_empty() {
            self.reply.issues.push(Issue {
                line: number(tag.line),
                number: None,
                command: Some(name.as_str().to_owned()),
                message: format!(
                    "`{}` means nothing to it and was ignored",
                    built.unknown.join("`, `")
                ),
                hint: format!("It is written as `{}`.", example(name)),
            });
        }
        self.last = body.is_some().then_some((name, end));
    }

    /// A closing tag without an opening one: harmless, unless text before it was lost to it.
    fn stray(&mut self, name: Name, line: usize) {
        let Some((last, end)) = self.last else {
            return;
        };
        if last != name {
            return;
        }
        if self.texts(end..line) == 0 {
            self.last = Some((last, line + 1));
            return;
        }
        // The body held its own closing tag, and what was taken for all of it is only a part.
        let Some(step) = self
            .reply
            .steps
            .pop_if(|step| step.command.name() == name.as_str())
        else {
            return;
        };
        let name = name.as_str();
        self.reply.issues.push(Issue {
            line: step.line,
            number: Some(step.number),
            command: Some(name.to_owned()),
            message: format!("the body contains `[/{name}]`, so its end is uncertain"),
            hint: format!(
                "Send it again with a mark of its own: `[{name} ... end=\"Q7\"]` and `[/{name} Q7]`."
            ),
        });
    }

    /// What looks like a command that we do not have.
    fn unknown(&mut self, tag: &TagLine<'a>, name: &str, has_attributes: bool) -> Option<usize> {
        let closing = self.tags.unknown_close(tag);
        let meant = Name::meant_by(name);
        if !has_attributes && closing.is_none() && meant.is_none() {
            return None;
        }
        let hint = match meant {
            Some(meant) => format!("Did you mean `{}`?", example(meant)),
            None => "Use only the commands of the protocol.".to_owned(),
        };
        let message = format!("there is no command `{name}`");
        self.malformed(tag.line, None, message, hint);
        Some(self.take(tag.line, closing.unwrap_or(tag.line) + 1))
    }

    /// Offers a line to the other dialects.
    fn dialect(&mut self, at: usize) -> Option<usize> {
        let from = self.free_from;
        let boundary = self.tags.next_boundary(at).unwrap_or(self.lines.len());
        for find in DIALECTS {
            let reach = if self.open_blocks < OPEN_BLOCKS {
                self.lines.len()
            } else {
                boundary
            };
            let Some(mut found) = find(&self.lines[from..reach], at - from) else {
                continue;
            };
            if found.open && boundary < reach {
                self.open_blocks += 1;
                match find(&self.lines[from..boundary], at - from) {
                    Some(within) => found = within,
                    None => continue,
                }
            }
            found.lines = found.lines.start + from..found.lines.end + from;
            return Some(self.found(found));
        }
        None
    }

    /// Takes a block of another dialect.
    fn found(&mut self, found: Found) -> usize {
        let Range { start, end } = found.lines;
        let more = self.lines[end..].iter().any(|line| !line.trim().is_empty());
        if found.open && !more {
            let what = found.items.iter().find_map(|item| match item {
                Item::Command(command) => Some(subject(command)),
                Item::Problem { command, .. } => command.map(str::to_owned),
            });
            self.reply.cut = Some(Cut {
                line: number(start),
                what: what.unwrap_or_else(|| "an edit".to_owned()),
            });
            return self.take(start, end);
        }
        for item in found.items {
            match item {
                Item::Command(command) => self.step(start, command),
                Item::Problem {
                    command,
                    message,
                    hint,
                } => self.malformed(start, command, message, hint),
            }
        }
        self.last = None;
        self.take(start, end)
    }

    /// Looks at a line of prose for results that only we can know.
    fn prose(&mut self, at: usize) {
        let after_run = self.last.is_some_and(|(name, end)| {
            name == Name::RunCommand && invented::claims_output(self.lines[at]) && {
                self.texts(end..at) == 0
            }
        });
        if !after_run && !invented::is_result(self.lines[at]) {
            return;
        }
        if !std::mem::replace(&mut self.told_results, true) {
            self.reply.issues.push(Issue {
                line: number(at),
                number: None,
                command: None,
                message: invented::MESSAGE.to_owned(),
                hint: invented::HINT.to_owned(),
            });
        }
    }

    fn step(&mut self, line: usize, command: Command) {
        let step = Step {
            number: self.next_number(),
            line: number(line),
            command,
        };
        self.reply.steps.push(step);
    }

    fn malformed(&mut self, line: usize, command: Option<&str>, message: String, hint: String) {
        let issue = Issue {
            line: number(line),
            number: Some(self.next_number()),
            command: command.map(str::to_owned),
            message,
            hint,
        };
        self.reply.issues.push(issue);
        self.last = None;
    }

    fn next_number(&mut self) -> u32 {
        self.count = self.count.saturating_add(1);
        self.count
    }

    fn repaired(&mut self, what: &str, count: usize, in_body: bool) {
        super::add_repair(&mut self.reply.repairs, what, count, in_body);
    }

    /// How many lines of these are neither blank nor a fence; counts no further than two.
    fn texts(&self, lines: Range<usize>) -> usize {
        let lines = self.lines.get(lines).unwrap_or_default();
        let is_text = |line: &&&str| !super::line::is_blank_or_fence(line);
        lines.iter().filter(is_text).take(2).count()
    }

    fn take(&mut self, start: usize, end: usize) -> usize {
        self.blocks.push(start..end);
        self.free_from = end;
        end
    }
}

/// A few words that tell a command from its neighbours.
fn subject(command: &Command) -> String {
    match command.path() {
        Some(path) => format!("{} {path}", command.name()),
        None => command.name().to_owned(),
    }
}

/// A line as people count them, from 1.
fn number(line: usize) -> u32 {
    u32::try_from(line).map_or(u32::MAX, |line| line.saturating_add(1))
}
