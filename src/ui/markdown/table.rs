//! A table in as many columns as the terminal has: what does not fit is folded within its cell.

use std::fmt::Write as _;

use anstyle::Style;

use crate::ui::palette::{BOLD, DIM, either};
use crate::ui::wrap::{columns_of, fold};

/// The number of spaces between two cells.
const BETWEEN: usize = 2;
/// How narrow a column may become.
const NARROW: usize = 6;
/// How many rows are worked out; the model could write any number.
const MAX_ROWS: usize = 200;

/// The cells of a table, row by row, styled; the first row is its head.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

impl Table {
    pub(super) fn push(&mut self, cell: String) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        if self.rows.len() < MAX_ROWS {
            self.rows.push(row);
        }
    }

    /// The lines, none wider than `room` unless the table has too many columns for any terminal. Those
    /// after `most` are not worked out, but for the rest of a row.
    pub(super) fn lines(&self, room: usize, most: usize) -> Vec<String> {
        let widths = self.widths(room);
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            if lines.len() > most {
                break;
            }
            let style = if number == 0 { BOLD } else { Style::new() };
            lines.extend(row_lines(row, &widths, style));
            if number == 0 {
                let rules: Vec<String> = widths
                    .iter()
                    .map(|width| either("─", "-").repeat(*width))
                    .collect();
                let rule = rules.join(&" ".repeat(BETWEEN));
                lines.push(format!("{DIM}{rule}{DIM:#}"));
            }
        }
        lines
    }

    /// How wide each column is: as its widest cell, or less where the room is small.
    fn widths(&self, room: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1; count];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns_of(cell));
            }
        }
        let room = room.saturating_sub(BETWEEN * count.saturating_sub(1));
        let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
        while excess > 0 {
            let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROW) else {
                break;
            };
            let less = excess.min((*widest - NARROW).div_ceil(4));
            *widest -= less;
            excess -= less;
        }
        widths
    }
}

fn row_lines(row: &[String], widths: &[usize], style: Style) -> Vec<String> {
    let cells: Vec<Vec<String>> = widths
        .iter()
        .enumerate()
        .map(|(at, width)| fold(row.get(at).map_or("", String::as_str), *width))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |number: usize| {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let text = cell.get(number).map_or("", String::as_str);
            if at > 0 {
                line.push_str(&" ".repeat(BETWEEN));
            }
            let _ = write!(line, "{style}{text}{style:#}");
            line.push_str(&" ".repeat(width.saturating_sub(columns_of(text))));
        }
        line.trim_end_matches(' ').to_owned()
    };
    (0..height).map(line).collect()
}
