//! Folds text between words to the width of a terminal.
//!
//! Styles are ours and take no column; foreign text has been escaped before it comes here. What is
//! longer than a line is cut where the line ends.

use std::fmt::Write as _;

use super::width::width;

/// The lines of a text, each at most so many columns wide.
pub fn fold(text: &str, columns: usize) -> Vec<String> {
    let mut folder = Folder {
        columns: columns.max(1),
        lines: Vec::new(),
        line: String::new(),
        used: 0,
    };
    for line in text.split('\n') {
        folder.take(line);
        folder.end_line();
    }
    folder.lines
}

/// A text whose long lines are folded, what is folded as far to the right as its line begins, or as the text
/// of an item with a number.
pub(super) fn folded(text: &str, columns: usize) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        // A path by itself is left to the terminal: broken, it could not be copied.
        if columns_of(line) <= columns || !line.trim().contains(' ') {
            shown.push_str(line);
        } else {
            // Not farther than half the width: a line of spaces would be repeated without end.
            let indent = line.len() - line.trim_start_matches(' ').len();
            let indent = indent.min(columns / 2);
            let text = line.trim_start_matches(' ');
            let (number, text) = text.split_at(number_before(text));
            let room = columns.saturating_sub(indent + number.len());
            let beneath = " ".repeat(indent + number.len());
            let _ = write!(shown, "{:indent$}{number}", "");
            shown.push_str(&fold(text, room).join(&format!("\n{beneath}")));
        }
        shown.push_str(end);
    }
    shown
}

/// The length of a number that an item of a list begins with, and what is between it and the text: `2. `.
fn number_before(text: &str) -> usize {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match digits {
        1 | 2 if text[digits..].starts_with(". ") => digits + 2,
        _ => 0,
    }
}

/// The pieces of a line, each as long as the terminal is wide or up to its last space: nothing of it is
/// lost. A word of more than half the width is cut.
pub(super) fn cut(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut cuts = Vec::new();
    let (mut row, mut used) = (String::new(), 0);
    // How long the row is up to its last space, in bytes and in columns.
    let mut space = (0, 0);
    for (piece, width) in pieces(line) {
        if used + width > columns && used > 0 {
            let is_good = piece != " " && space.1 > columns / 2;
            let (end, end_columns) = if is_good { space } else { (row.len(), used) };
            let rest = row.split_off(end);
            cuts.push(std::mem::replace(&mut row, rest));
            (used, space) = (used - end_columns, (0, 0));
        }
        row.push_str(piece);
        used += width;
        if piece == " " {
            space = (row.len(), used);
        }
    }
    cuts.push(row);
    cuts
}

/// How many columns a text takes, its styles aside.
pub(super) fn columns_of(text: &str) -> usize {
    pieces(text).map(|(_, columns)| columns).sum()
}

struct Folder {
    columns: usize,
    lines: Vec<String>,
    line: String,
    used: usize,
}

impl Folder {
    fn take(&mut self, text: &str) {
        for word in text.split_inclusive(' ') {
            let bare = word.trim_end_matches(' ');
            if self.used + columns_of(bare) > self.columns && self.used > 0 {
                self.end_line();
            }
            if columns_of(bare) > self.columns {
                self.take_long(bare);
            } else {
                self.line.push_str(bare);
                self.used += columns_of(bare);
            }
            let spaces = word.len() - bare.len();
            self.line.push_str(&word[bare.len()..]);
            self.used += spaces;
        }
    }

    fn take_long(&mut self, word: &str) {
        for (piece, columns) in pieces(word) {
            if self.used + columns > self.columns && self.used > 0 {
                self.end_line();
            }
            self.line.push_str(piece);
            self.used += columns;
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.lines.push(line.trim_end_matches(' ').to_owned());
        self.used = 0;
    }
}

/// The characters of a text and the sequences of styles between them, each with its columns.
fn pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if rest.starts_with("\u{1b}]") {
            // A link, up to its end.
            let end = rest.find("\u{1b}\\");
            end.map_or(rest.len(), |end| end + 2)
        } else if first == '\u{1b}' {
            let end = rest[1..].find(|last: char| last.is_ascii_alphabetic());
            end.map_or(rest.len(), |end| end + 2)
        } else {
            first.len_utf8()
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        let columns = if first == '\u{1b}' { 0 } else { width(first) };
        Some((piece, columns))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, columns: usize, expected: &[&str]) {
        assert_eq!(fold(text, columns), expected);
    }

    #[test]
    fn lines_are_folded_between_words() {
        case("one two three", 8, &["one two", "three"]);
        case("one two three", 80, &["one two three"]);
        case("a\nb", 80, &["a", "b"]);
        case("", 80, &[""]);
        case("abcdefghij", 4, &["abcd", "efgh", "ij"]);
        case("x abcdefghij y", 4, &["x", "abcd", "efgh", "ij y"]);
        case("日本語 日本", 6, &["日本語", "日本"]);
    }

    #[test]
    fn styles_take_no_room() {
        case(
            "\u{1b}[1mone\u{1b}[0m two",
            7,
            &["\u{1b}[1mone\u{1b}[0m two"],
        );
        assert_eq!(columns_of("\u{1b}[38;5;1mab\u{1b}[0m"), 2);
    }

    #[test]
    fn what_is_folded_begins_where_its_line_begins() {
        assert_eq!(
            folded("  one two three\nfour\n", 10),
            "  one two\n  three\nfour\n"
        );
        assert_eq!(folded("no end", 80), "no end");
        assert_eq!(
            folded("  2. one two three\n", 12),
            "  2. one two\n     three\n"
        );
    }

    #[test]
    fn what_is_cut_is_all_there() {
        assert_eq!(cut("a  b   cd", 4), ["a  b", "   ", "cd"]);
        assert_eq!(cut("make one two", 9), ["make one ", "two"]);
        assert_eq!(cut("a long-word", 6), ["a long", "-word"]);
        assert_eq!(cut("", 4), [""]);
        assert_eq!(cut("日本語", 5), ["日本", "語"]);
        assert_eq!(cut("\u{1b}[1mabcd", 2), ["\u{1b}[1mab", "cd"]);
        assert_eq!(cut("ab", 0), ["a", "b"]);
    }

    #[test]
    fn no_width_is_too_small() {
        for columns in 0..5 {
            assert!(!fold("日本 abc", columns).is_empty());
            assert!(folded("     日本 abc\n", columns).ends_with('\n'));
        }
    }
}
