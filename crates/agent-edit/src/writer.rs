//! Turns lines of a reply into lines of the file.
//!
//! Where the quoted lines are wrong about the file, the new lines are wrong as well: one change of
//! indentation, characters that have a plain form, and a `\r` at the end of every line.

use std::borrow::Cow;

use super::copy_damage::has_turned_quotes;
use super::document::{Document, LineNumber};
use super::fold::{self, Shift};
use agent_protocol::Level;

/// Turns a line of the reply into one of the file.
#[derive(Debug)]
pub(super) struct LineWriter {
    shift: Shift,
    fancy: Vec<char>,
    drops_returns: bool,
}

impl LineWriter {
    pub(super) fn new(
        document: &Document<'_>,
        start: LineNumber,
        quoted: &[&str],
        new: &[&str],
        level: Level,
        shift: Option<Shift>,
    ) -> Self {
        let file = || document.lines_from(start).take(quoted.len());
        let shift = match shift {
            Some(Shift::Deeper(_)) if is_indented_like(new, file()) => Shift::None,
            Some(Shift::Scaled(scale)) if scale.is_of_file(quoted, new) => Shift::None,
            shift => shift.unwrap_or(Shift::None),
        };
        let fancy = if level >= Level::Whitespace {
            let mut lines = quoted.to_vec();
            if has_turned_quotes(quoted, new) {
                lines.extend(new);
            }
            fold::fancy(lines.into_iter(), file())
        } else {
            Vec::new()
        };
        let drops_returns = !quoted.is_empty()
            && quoted.iter().all(|line| line.ends_with('\r'))
            && !file().any(|line| line.ends_with('\r'));
        Self {
            shift,
            fancy,
            drops_returns,
        }
    }

    /// The line with the indentation and the punctuation of the file.
    pub(super) fn write<'t>(&self, line: &'t str) -> Cow<'t, str> {
        let line = match line.strip_suffix('\r') {
            Some(line) if self.drops_returns => line,
            _ => line,
        };
        if self.fancy.is_empty() {
            return self.shift.apply(line);
        }
        let plain = fold::without(line, &self.fancy);
        Cow::Owned(self.shift.apply(&plain).into_owned())
    }
}

/// True if no new line is less indented than the lines of the file: then they were indented
/// although the quote was not.
fn is_indented_like<'t>(new: &[&str], file: impl Iterator<Item = &'t str>) -> bool {
    let filled = file.filter(|line| !fold::is_blank(line));
    let least = (filled.map(fold::indentation)).min_by_key(|indentation| indentation.len());
    least.is_some_and(|least| {
        new.iter()
            .all(|line| fold::is_blank(line) || line.starts_with(least))
    })
}
