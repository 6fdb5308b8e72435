//! Where envelopes end.
//!
//! The search for an end line may go far and in vain, from one begin after the other. What it learned
//! is kept: no stretch is searched twice.

use std::ops::Range;

use super::directive::{Directive, directive};
use crate::work;

/// Where the lines of a patch stand.
pub(super) struct PatchEnvelope {
    /// The lines of its files.
    pub(super) body: Range<usize>,
    /// True if there is an end line: then every line before it belongs to the patch.
    pub(super) closed: bool,
}

/// Known ends of the envelopes in some lines.
///
/// For lines that end at the same place only: it counts from their end, so that they may begin
/// anywhere.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    begun: Option<Stretch>,
    bare: Option<Stretch>,
}

/// Lines without an end line at the margin.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// How many lines there are from its first one to the end of all.
    first: usize,
    /// How many follow it.
    rest: usize,
    /// How many there are from its first padded end line on.
    padded: Option<usize>,
}

/// Known ends in all lines, and in those up to another one.
#[derive(Debug, Default)]
pub(crate) struct KnownEnds {
    all: Ends,
    reach: usize,
    near: Ends,
}

impl KnownEnds {
    /// Known ends in the lines before `reach`, where all of them end at `end`.
    pub(crate) fn up_to(&mut self, reach: usize, end: usize) -> &mut Ends {
        if reach == end {
            return &mut self.all;
        }
        if std::mem::replace(&mut self.reach, reach) != reach {
            self.near = Ends::default();
        }
        &mut self.near
    }
}

impl Ends {
    /// Looks for the end line of the envelope that begins on the line `at`.
    ///
    /// Another begin ends the search. Without a begin line an end far below may belong to something
    /// else, so there a line that is not of a patch ends it too.
    pub(super) fn envelope(&mut self, lines: &[&str], at: usize) -> PatchEnvelope {
        let begins = matches!(directive(lines[at]), Some(Directive::Begin));
        let known = if begins {
            &mut self.begun
        } else {
            &mut self.bare
        };
        let start = if begins { at + 1 } else { at };
        let from = lines.len() - start;
        let is_known = |known: &Stretch| known.rest < from && from <= known.first;
        let stretch = match known.filter(is_known) {
            Some(stretch) => stretch.below(lines, from),
            None => match search(lines, start, begins) {
                Ok(end) => {
                    return PatchEnvelope {
                        body: start..end,
                        closed: true,
                    };
                }
                Err(stretch) => stretch,
            },
        };
        *known = Some(stretch);
        let end = stretch.padded.unwrap_or(stretch.rest);
        PatchEnvelope {
            body: start..lines.len() - end,
            closed: stretch.padded.is_some(),
        }
    }
}

impl Ends {
    /// The end line of the envelope that begins on the line `at`, if it has one.
    pub(crate) fn end_line(&mut self, lines: &[&str], at: usize) -> Option<usize> {
        let envelope = self.envelope(lines, at);
        envelope.closed.then_some(envelope.body.end)
    }
}

impl Stretch {
    /// The part of the stretch from a line on, so many lines before the end of all.
    fn below(self, lines: &[&str], from: usize) -> Self {
        let padded = match self.padded {
            Some(padded) if padded > from => {
                let end = lines.len() - self.rest;
                let below = lines[..end].iter().skip(lines.len() - from);
                let passed = below.take_while(|line| directive(line) != Some(Directive::End));
                let passed = passed.inspect(|_| work::count(1)).count();
                (from - passed > self.rest).then_some(from - passed)
            }
            padded => padded,
        };
        Self {
            first: from,
            padded,
            ..self
        }
    }
}

/// The end line at the margin, or the stretch that has none.
fn search(lines: &[&str], start: usize, begins: bool) -> Result<usize, Stretch> {
    // A padded end line may be context, so one at the margin is preferred.
    let mut padded = None;
    let mut stop = lines.len();
    for (index, line) in lines.iter().enumerate().skip(start) {
        work::count(1);
        match directive(line) {
            Some(Directive::End) if !line.starts_with(char::is_whitespace) => return Ok(index),
            Some(Directive::End) => padded = padded.or(Some(lines.len() - index)),
            Some(Directive::Begin) if !line.starts_with(' ') => {
                stop = index;
                break;
            }
            None if !begins && !is_patch_line(line) => {
                stop = index;
                break;
            }
            _ => {}
        }
    }
    Err(Stretch {
        first: lines.len() - start,
        rest: lines.len() - stop,
        padded,
    })
}

fn is_patch_line(line: &str) -> bool {
    line.is_empty() || line.starts_with(['+', '-', ' ', '@'])
}
