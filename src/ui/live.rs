//! The rows at the foot of the terminal that stay while lines are printed above them.
//!
//! All voices share one [`Terminal`](super::terminal::Terminal), which has one foot. All printing
//! goes through [`LiveRows::above`]: the rows are taken away, the text is printed, the rows come back.
//! The contents of a row are decided elsewhere.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstyle::Style;

use super::palette::DIM;
use super::wrap::columns_of;

/// A row: pieces of text, each in its style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LiveRow(pub(super) Vec<(Style, String)>);

impl LiveRow {
    /// A row of one text, less bright than others.
    pub(super) fn dimmed(text: &str) -> Self {
        Self(vec![(DIM, text.to_owned())])
    }

    pub(super) fn columns(&self) -> usize {
        self.0.iter().map(|(_, text)| columns_of(text)).sum()
    }

    fn write(&self, colour: Colour, into: &mut String) {
        for (style, text) in &self.0 {
            match colour {
                Colour::On => {
                    let _ = write!(into, "{style}{text}{style:#}");
                }
                Colour::Off => into.push_str(text),
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Colour {
    On,
    #[default]
    Off,
}

/// Rows with the place of the cursor in them: the row, and the column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) rows: Vec<LiveRow>,
    pub(super) cursor: (usize, usize),
}

/// The rows at the foot of the terminal.
#[derive(Debug, Default)]
struct Foot {
    colour: Colour,
    progress: Option<LiveRow>,
    prompt: Option<Rows>,
    drawn: Option<Drawn>,
}

/// The rows as drawn: how wide each is, and where the cursor was left.
#[derive(Debug, PartialEq, Eq)]
struct Drawn {
    widths: Vec<usize>,
    cursor: (usize, usize),
}

/// The rows of one terminal.
#[derive(Debug, Default)]
pub(super) struct LiveRows(Mutex<Foot>);

impl LiveRows {
    fn foot(&self) -> MutexGuard<'_, Foot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints above the rows; only one prints at a time.
    pub(super) fn above(&self, print: impl FnOnce()) {
        let mut foot = self.foot();
        foot.erase();
        print();
        foot.draw();
    }

    /// Writes what moves nothing on the screen.
    pub(super) fn beside(&self, write: impl FnOnce()) {
        let _foot = self.foot();
        write();
    }

    /// Shows another prompt, or none.
    pub(super) fn set_prompt(&self, prompt: Option<Rows>, colour: Colour) {
        let mut foot = self.foot();
        foot.colour = colour;
        if foot.prompt != prompt {
            foot.erase();
            foot.prompt = prompt;
            foot.draw();
        }
    }

    /// Shows another line of progress, or none.
    pub(super) fn set_progress(&self, progress: Option<LiveRow>, colour: Colour) {
        let mut foot = self.foot();
        foot.colour = colour;
        if foot.progress != progress {
            foot.erase();
            foot.progress = progress;
            foot.draw();
        }
    }

    /// Draws the rows anew, because the terminal has another width or was used by another program.
    pub(super) fn redraw(&self, prompt: Option<Rows>) {
        let mut foot = self.foot();
        foot.erase();
        foot.prompt = prompt;
        foot.draw();
    }

    /// Clears the screen and draws the rows at its top.
    pub(super) fn clear(&self, prompt: Option<Rows>) {
        let mut foot = self.foot();
        foot.drawn = None;
        write("\x1b[H\x1b[2J");
        foot.prompt = prompt;
        foot.draw();
    }

    /// Lets stand what was drawn, because others have written since: the next rows are drawn beneath.
    pub(super) fn forget(&self) {
        let mut foot = self.foot();
        foot.prompt = None;
        foot.drawn = None;
    }
}

impl Foot {
    fn erase(&mut self) {
        if let Some(drawn) = self.drawn.take() {
            let up = drawn.rows_above_cursor(size().0);
            let up = if up > 0 {
                format!("\x1b[{up}A")
            } else {
                String::new()
            };
            write(&format!("\r{up}\x1b[J"));
        }
    }

    fn draw(&mut self) {
        let columns = size().0;
        let progress = self.progress.iter().cloned();
        let prompt = self.prompt.as_ref();
        let rows: Vec<LiveRow> = progress
            .chain(prompt.iter().flat_map(|prompt| prompt.rows.iter().cloned()))
            .collect();
        if rows.is_empty() {
            return;
        }
        let first = usize::from(self.progress.is_some());
        let cursor = match prompt {
            Some(prompt) => (first + prompt.cursor.0, prompt.cursor.1),
            None => (0, rows[0].columns()),
        };
        let mut text = String::new();
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                text.push_str("\r\n");
            }
            row.write(self.colour, &mut text);
        }
        let below = rows.len() - 1 - cursor.0.min(rows.len() - 1);
        if below > 0 {
            let _ = write!(text, "\x1b[{below}A");
        }
        text.push('\r');
        if cursor.1 > 0 {
            let _ = write!(text, "\x1b[{}C", cursor.1.min(columns));
        }
        write(&text);
        self.drawn = Some(Drawn {
            widths: rows.iter().map(LiveRow::columns).collect(),
            cursor,
        });
    }
}

impl Drawn {
    /// How far up the first row begins, on a terminal of this width.
    ///
    /// A terminal that became narrower has folded rows that were written whole.
    fn rows_above_cursor(&self, columns: usize) -> usize {
        let columns = columns.max(1);
        let before = self.widths.iter().take(self.cursor.0);
        let folded: usize = before.map(|width| width.div_ceil(columns).max(1)).sum();
        folded + self.cursor.1 / columns
    }
}

/// The columns and rows of the terminal.
pub(super) fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(io::stderr());
    match size {
        Some((columns, rows)) if columns.0 > 0 && rows.0 > 0 => {
            (usize::from(columns.0), usize::from(rows.0))
        }
        // A terminal that does not know its size.
        _ => (80, 24),
    }
}

/// Returns true if there is a terminal to draw on, and it is not a dumb one.
pub(super) fn has_terminal() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

/// Returns true if the terminal understands no escape sequences.
pub(super) fn is_dumb() -> bool {
    cfg!(unix) && std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

fn write(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_a_narrower_terminal_folded_are_counted() {
        let drawn = Drawn {
            widths: vec![70, 79, 10],
            cursor: (2, 9),
        };
        assert_eq!(drawn.rows_above_cursor(80), 2);
        assert_eq!(drawn.rows_above_cursor(40), 4);
        assert_eq!(drawn.rows_above_cursor(8), 9 + 10 + 1);
        assert_eq!(drawn.rows_above_cursor(0), 70 + 79 + 9);
    }

    #[test]
    fn a_row_is_as_wide_as_its_text() {
        let row = LiveRow(vec![
            (Style::new().bold(), "> ".to_owned()),
            (Style::new(), "日本".to_owned()),
        ]);
        assert_eq!(row.columns(), 6);
        let mut text = String::new();
        row.write(Colour::Off, &mut text);
        assert_eq!(text, "> 日本");
    }
}
