//! Commands that can be read in two ways: they are not done, and the model is told what to send.
//!
//! A body that holds its own closing tag seems to end there. What shows it is another closing tag of
//! the same name, with text before it and no command of that name to close: then all from the
//! opening tag to there belongs to the body, commands that seemed to stand in it included.

use std::ops::Range;

use super::tagged::BodyAt;
use super::{Assembly, number};
use crate::tags::{Kind, Name, Opening, TagLine};
use crate::work;

/// A command that a closing tag without a mark ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// The first command of its name that may as well go on to the end of this one: between them
    /// stand words, which may be those of a file.
    pub(super) first: usize,
    /// Its lines.
    pub(super) lines: Range<usize>,
}

impl Assembly<'_> {
    /// Takes note of how a command ended: without a mark, its closing tag may be the body's own.
    pub(super) fn remember_body(&mut self, tag: &TagLine<'_>, opening: &Opening, body: BodyAt<'_>) {
        let name = opening.name;
        let last = self.bodies.remove(&name);
        let BodyAt::Until(closing) = body else {
            return;
        };
        if opening.mark.is_some() {
            return;
        }
        let has_words = self.texts(self.free_from..tag.line) > 0;
        let first = last.filter(|_| has_words).map(|last| last.first);
        let ended = Ended {
            first: first.unwrap_or(tag.line),
            lines: tag.line..closing + 1,
        };
        self.bodies.insert(name, ended);
    }

    /// A closing tag without an opening one: harmless, unless text before it was lost to it.
    /// Returns the line below it.
    pub(super) fn stray(&mut self, name: Name, line: usize) -> usize {
        let Some(mut ended) = self.bodies.remove(&name) else {
            return self.take(line, line + 1);
        };
        if self.texts(ended.lines.end..line) == 0 {
            ended.lines.end = line + 1;
            self.bodies.insert(name, ended);
            return self.take(line, line + 1);
        }
        self.forget_from(ended.first);
        let (message, hint) = uncertain_end(name, line);
        self.malformed(ended.first, Some(name.as_str()), message, hint);
        self.take(ended.first, line + 1)
    }

    /// Takes a closing tag above `end` that closes nothing, in what seems to be a body without an
    /// end; returns the line below it.
    pub(super) fn stray_above(&mut self, tag: &TagLine<'_>, end: usize) -> Option<usize> {
        let mut opened = Vec::new();
        let tags = self.tags;
        let within = tags.below(tag.line + 1).iter();
        for inner in within.take_while(|inner| inner.line < end) {
            work::count(1);
            match &inner.kind {
                Kind::Open { name, .. } if !opened.contains(name) => opened.push(*name),
                Kind::Close { name, mark } if mark.is_empty() && !opened.contains(name) => {
                    let ended = self.bodies.get(name);
                    if ended.is_some_and(|it| self.texts(it.lines.end..inner.line) > 0) {
                        return Some(self.stray(*name, inner.line));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Takes a command up to the closing tag on this line, which may belong to another of its name.
    pub(super) fn contested(&mut self, tag: &TagLine<'_>, name: Name, closing: usize) -> usize {
        let name = name.as_str();
        let message =
            format!("another `[{name}` begins before `[/{name}]`, so its end is uncertain");
        let hint = format!(
            "Send both again, each closed with `[/{name}]`; if the second belongs to the body, with \
             a mark: `[{name} ... end=\"Q7\"]` and `[/{name} Q7]`. {}",
            not_done_to(closing)
        );
        self.malformed(tag.line, Some(name), message, hint);
        self.take(tag.line, closing + 1)
    }

    /// Takes a command whose body holds closing tags of its own name, the outermost on this line.
    pub(super) fn nested(&mut self, tag: &TagLine<'_>, name: Name, closing: usize) -> usize {
        let (message, hint) = uncertain_end(name, closing);
        self.malformed(tag.line, Some(name.as_str()), message, hint);
        self.take(tag.line, closing + 1)
    }

    /// Takes a command in whose body the code block around it ends.
    pub(super) fn torn(&mut self, tag: &TagLine<'_>, name: Name, closing: usize) -> usize {
        let message =
            "the code block around it ends inside of its body, so what belongs to it is uncertain";
        let hint = format!(
            "Send it again whole, in one code block; if its body has such a fence, put one with more \
             backticks around the reply. {}",
            not_done_to(closing)
        );
        self.malformed(tag.line, Some(name.as_str()), message.to_owned(), hint);
        self.take(tag.line, closing + 1)
    }
}

fn uncertain_end(name: Name, last: usize) -> (String, String) {
    let name = name.as_str();
    (
        format!("the body contains `[/{name}]`, so its end is uncertain"),
        format!(
            "Send it again with a mark of its own: `[{name} ... end=\"Q7\"]` and `[/{name} Q7]`. {}",
            not_done_to(last)
        ),
    )
}

fn not_done_to(last: usize) -> String {
    format!("Nothing from there down to line {} was done.", number(last))
}
