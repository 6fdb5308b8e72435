//! Turns lines of a reply into lines of the file.
//!
//! What the quoted lines got wrong about the file, the new lines get wrong as well: one change of
//! indentation, and characters that have a plain form.

use std::borrow::Cow;

use super::document::{Document, LineNumber};
use super::fold::{self, Shift};
use agent_protocol::Level;

/// Turns a line of the reply into one of the file.
#[derive(Debug)]
pub(super) struct Writer {
    shift: Option<Shift>,
    fancy: Vec<char>,
}

impl Writer {
    pub(super) fn new(
        document: &Document<'_>,
        start: LineNumber,
        quoted: &[&str],
        level: Level,
        shift: Option<Shift>,
    ) -> Self {
        let fancy = if level >= Level::Punctuation {
            let file = document.lines_from(start).take(quoted.len());
            fold::fancy(quoted.iter().copied(), file)
        } else {
            Vec::new()
        };
        Self { shift, fancy }
    }

    /// The line with the indentation and the punctuation of the file.
    pub(super) fn write<'t>(&self, line: &'t str) -> Cow<'t, str> {
        let plain = if self.fancy.is_empty() {
            Cow::Borrowed(line)
        } else {
            Cow::Owned(fold::without(line, &self.fancy))
        };
        match (&self.shift, plain) {
            (None, plain) => plain,
            (Some(shift), Cow::Borrowed(line)) => shift.apply(line),
            (Some(shift), Cow::Owned(line)) => Cow::Owned(shift.apply(&line).into_owned()),
        }
    }
}
