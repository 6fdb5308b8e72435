//! The line that is being typed, and the cursor in it. One line: it never has a line break.

use crate::ui::escape_line;
use crate::ui::width::width;

/// The most characters that a line takes; what is longer is pasted, not typed.
pub(super) const MAX: usize = 10_000;

/// A text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EditedLine {
    text: Vec<char>,
    cursor: usize,
}

/// Where the cursor goes, or up to where text is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    Left,
    Right,
    WordLeft,
    WordRight,
    Start,
    End,
}

/// A character as it is shown, and its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) shown: String,
    pub(super) columns: usize,
}

impl EditedLine {
    /// A line with this text, the cursor at its end.
    pub(super) fn of(text: &str) -> Self {
        let mut line = Self::default();
        line.insert(text);
        line
    }

    pub(super) fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// The text before the cursor.
    pub(super) fn before(&self) -> String {
        self.text[..self.cursor].iter().collect()
    }

    /// Returns true if all of a text can be inserted.
    pub(super) fn has_room_for(&self, text: &str) -> bool {
        let room = MAX.saturating_sub(self.text.len());
        text.chars().nth(room).is_none()
    }

    /// Inserts at the cursor, as far as there is room; tabs become spaces, other control characters
    /// are left out.
    pub(super) fn insert(&mut self, text: &str) {
        let room = MAX.saturating_sub(self.text.len());
        let new: Vec<char> = text
            .chars()
            .map(|character| if character == '\t' { ' ' } else { character })
            .filter(|character| !character.is_control())
            .take(room)
            .collect();
        let count = new.len();
        self.text.splice(self.cursor..self.cursor, new);
        self.cursor += count;
    }

    /// Moves the cursor.
    pub(super) fn go(&mut self, to: Move) {
        self.cursor = self.target(to);
    }

    /// Deletes from the cursor up to there.
    pub(super) fn delete(&mut self, to: Move) {
        let target = self.target(to);
        let (from, until) = (self.cursor.min(target), self.cursor.max(target));
        self.text.drain(from..until);
        self.cursor = from;
    }

    /// Takes the whole text out.
    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        *self = Self::default();
        text
    }

    fn target(&self, to: Move) -> usize {
        let is_space = |at: usize| self.text[at].is_whitespace();
        let mut at = self.cursor;
        match to {
            Move::Left => at.saturating_sub(1),
            Move::Right => (at + 1).min(self.text.len()),
            Move::Start => 0,
            Move::End => self.text.len(),
            Move::WordLeft => {
                while at > 0 && is_space(at - 1) {
                    at -= 1;
                }
                while at > 0 && !is_space(at - 1) {
                    at -= 1;
                }
                at
            }
            Move::WordRight => {
                while at < self.text.len() && is_space(at) {
                    at += 1;
                }
                while at < self.text.len() && !is_space(at) {
                    at += 1;
                }
                at
            }
        }
    }

    /// The characters as they are shown: none can steer the terminal.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let cell = |character: &char| {
            let shown = escape_line(character.encode_utf8(&mut [0; 4]));
            Cell {
                columns: shown.chars().map(width).sum(),
                shown,
            }
        };
        self.text.iter().map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(edit: impl FnOnce(&mut EditedLine), expected: &str, cursor: usize) {
        let mut line = EditedLine::of("one two");
        edit(&mut line);
        assert_eq!((line.text().as_str(), line.cursor()), (expected, cursor));
    }

    #[test]
    fn a_line_is_edited_where_the_cursor_is() {
        case(|line| line.insert("!"), "one two!", 8);
        case(|line| line.delete(Move::Left), "one tw", 6);
        case(|line| line.delete(Move::WordLeft), "one ", 4);
        case(|line| line.delete(Move::Start), "", 0);
        case(|line| line.delete(Move::Right), "one two", 7);
        case(
            |line| {
                line.go(Move::Start);
                line.go(Move::WordRight);
                line.insert(" and");
                line.delete(Move::End);
            },
            "one and",
            7,
        );
        case(
            |line| {
                line.go(Move::WordLeft);
                line.go(Move::Left);
                line.delete(Move::Right);
            },
            "onetwo",
            3,
        );
    }

    #[test]
    fn a_line_stays_one_line_and_is_bounded() {
        let mut line = EditedLine::of("a\r\nb\tc\u{1b}[2J");
        assert_eq!(line.text(), "ab c[2J");
        line.insert(&"x".repeat(2 * MAX));
        assert_eq!(line.text.len(), MAX);
        assert_eq!(line.take().len(), MAX);
        assert!(line.is_empty() && line.cursor() == 0);
    }

    #[test]
    fn what_would_deceive_is_shown() {
        let cells = EditedLine::of("a\u{202e}日").cells();
        let shown: Vec<&str> = cells.iter().map(|cell| cell.shown.as_str()).collect();
        assert_eq!(shown, ["a", "\\u{202e}", "日"]);
        assert_eq!(cells[2].columns, 2);
    }
}
