//! The prompt as rows: what is typed, folded to the width of the terminal.

use anstyle::Style;

use super::line::{Cell, EditedLine};
use crate::ui::live::{LiveRow, Rows};
use crate::ui::palette::{CYAN, DIM, MAGENTA};
use crate::ui::shortened;

/// How many rows a long line takes at most; those around the cursor are shown.
const MAX_ROWS: usize = 8;

const QUESTION: Style = MAGENTA.bold();

/// The contents of the prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) line: &'a EditedLine,
    /// True if a question waits for the typed line.
    pub(super) is_question: bool,
    /// The hint that is shown while nothing is typed.
    pub(super) hint: &'a str,
    /// Rows about a text that waits for a key, the keys last.
    pub(super) held: &'a [String],
}

impl View<'_> {
    pub(super) fn rows(&self, columns: usize) -> Rows {
        // The last column stays free: there terminals disagree about where the cursor is.
        let columns = columns.saturating_sub(1).max(10);
        let (sign, style) = if self.is_question {
            ("? ", QUESTION)
        } else {
            ("> ", CYAN)
        };
        let (texts, cursor) = fold(&self.line.cells(), self.line.cursor(), columns - sign.len());
        let first = (cursor.0 + 1).saturating_sub(MAX_ROWS);
        let mut rows: Vec<LiveRow> = texts
            .into_iter()
            .enumerate()
            .skip(first)
            .take(MAX_ROWS)
            .map(|(number, text)| {
                let sign = if number == 0 { sign } else { "  " };
                LiveRow(vec![(style, sign.to_owned()), (Style::new(), text)])
            })
            .collect();
        let room = columns - sign.len();
        if let Some((keys, about)) = self.held.split_last() {
            let about = about.join(" ");
            if about.chars().count() + 1 + keys.chars().count() <= columns {
                rows.push(LiveRow(vec![
                    (DIM, format!("{about} ")),
                    (QUESTION, keys.clone()),
                ]));
            } else {
                rows.push(LiveRow(vec![(DIM, shortened(&about, columns))]));
                rows.push(LiveRow(vec![(QUESTION, shortened(keys, columns))]));
            }
        } else if self.line.is_empty() && !self.hint.is_empty() {
            let hint = shortened(self.hint, room);
            rows[0].0.push((DIM, hint));
        }
        Rows {
            rows,
            cursor: (cursor.0 - first, cursor.1 + sign.len()),
        }
    }
}

/// The texts of the rows, and the cursor in them.
fn fold(cells: &[Cell], cursor: usize, columns: usize) -> (Vec<String>, (usize, usize)) {
    let mut rows = vec![String::new()];
    let mut used = 0;
    let mut place = (0, 0);
    for (number, cell) in cells.iter().enumerate() {
        if used + cell.columns > columns && used > 0 {
            rows.push(String::new());
            used = 0;
        }
        if number == cursor {
            place = (rows.len() - 1, used);
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(&cell.shown);
        }
        used += cell.columns;
    }
    if cursor >= cells.len() {
        if used >= columns {
            rows.push(String::new());
            used = 0;
        }
        place = (rows.len() - 1, used);
    }
    (rows, place)
}

#[cfg(test)]
mod tests {
    use super::super::line::Move;
    use super::*;

    fn shown(rows: &Rows) -> Vec<String> {
        let row = |row: &LiveRow| row.0.iter().map(|(_, text)| text.as_str()).collect();
        rows.rows.iter().map(row).collect()
    }

    fn view(line: &EditedLine) -> View<'_> {
        View {
            line,
            is_question: false,
            hint: "type here",
            held: &[],
        }
    }

    #[test]
    fn an_empty_line_tells_what_can_be_typed() {
        let rows = view(&EditedLine::default()).rows(80);
        assert_eq!(shown(&rows), ["> type here"]);
        assert_eq!(rows.cursor, (0, 2));
        let rows = View {
            is_question: true,
            hint: "",
            ..view(&EditedLine::default())
        }
        .rows(80);
        assert_eq!(shown(&rows), ["? "]);
    }

    #[test]
    fn a_long_line_is_folded_and_the_cursor_stays_in_it() {
        let mut line = EditedLine::of("abcdefghijklmnop");
        let rows = view(&line).rows(13);
        assert_eq!(shown(&rows), ["> abcdefghij", "  klmnop"]);
        assert_eq!(rows.cursor, (1, 8));
        line.go(Move::Start);
        assert_eq!(view(&line).rows(13).cursor, (0, 2));
    }

    #[test]
    fn wide_letters_are_not_cut_in_half() {
        let rows = view(&EditedLine::of("日本語日本語")).rows(14);
        assert_eq!(shown(&rows), ["> 日本語日本", "  語"]);
        assert_eq!(rows.cursor, (1, 4));
    }

    #[test]
    fn of_a_very_long_line_the_rows_around_the_cursor_are_shown() {
        let mut line = EditedLine::of(&"x".repeat(1_000));
        let rows = view(&line).rows(23);
        assert_eq!(rows.rows.len(), MAX_ROWS);
        assert_eq!(rows.cursor.0, MAX_ROWS - 1);
        line.go(Move::Start);
        assert_eq!(view(&line).rows(23).cursor, (0, 2));
    }

    #[test]
    fn no_width_is_too_small() {
        for columns in 0..20 {
            let rows = view(&EditedLine::of("some words 日本")).rows(columns);
            assert!(!rows.rows.is_empty());
        }
    }
}
