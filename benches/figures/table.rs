//! The table: one row for each figure, printed as soon as it is known, in Markdown.

use std::io::Write;
use std::time::Duration;

/// The widths of the columns; a longer cell pushes the rest of its row.
const WIDTHS: [usize; 5] = [72, 11, 26, 6, 30];

/// The rows so far.
#[derive(Debug)]
pub(crate) struct Table {
    missed: Vec<String>,
    rows: usize,
}

/// One figure, the figure beside it, and what is hoped for.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) ours: String,
    pub(crate) beside: String,
    pub(crate) ratio: Option<f64>,
    pub(crate) goal: Goal,
}

/// The goal of a figure.
#[derive(Debug)]
pub(crate) enum Goal {
    /// No goal; the figure is there to compare with.
    None,
    /// It was met or missed.
    Judged {
        /// The goal in words.
        words: String,
        is_met: bool,
    },
}

impl Goal {
    /// A goal in words, and whether this run met it.
    pub(crate) fn new(words: impl Into<String>, is_met: bool) -> Self {
        Self::Judged {
            words: words.into(),
            is_met,
        }
    }
}

impl Table {
    /// Prints the heading.
    pub(crate) fn begin() -> Self {
        print(&["what", "ours", "peer or limit", "ratio", "goal"]);
        let lines = WIDTHS.map(|width| "-".repeat(width));
        print(&lines.each_ref().map(String::as_str));
        Self {
            missed: Vec::new(),
            rows: 0,
        }
    }

    /// Prints a row.
    pub(crate) fn add(&mut self, row: &Row) {
        self.rows += 1;
        let ratio = row
            .ratio
            .map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let goal = match &row.goal {
            Goal::None => String::new(),
            Goal::Judged {
                words,
                is_met: true,
            } => format!("{words}: met"),
            Goal::Judged { words, .. } => {
                self.missed.push(row.what.clone());
                format!("{words}: MISSED")
            }
        };
        print(&[&row.what, &row.ours, &row.beside, &ratio, &goal]);
    }

    /// Says how many goals were missed.
    pub(crate) fn end(self) {
        println!();
        println!("{} figures, {} goals missed", self.rows, self.missed.len());
        for what in self.missed {
            println!("missed: {what}");
        }
    }
}

fn print(cells: &[&str; 5]) {
    for (cell, width) in cells.iter().zip(WIDTHS) {
        print!("| {cell:width$} ");
    }
    println!("|");
    let _ = std::io::stdout().flush();
}

/// `12.3 ms`
pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// `12.3 MB`
pub(crate) fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
