//! Breaks the lines of a text at the width of the terminal.
//!
//! Code between fences and the rows of tables stay as they are; the lines of a list item stand
//! under its text.

use crate::ui::fold;

/// The text with lines of at most so many columns.
pub(super) fn wrapped(text: &str, columns: usize) -> String {
    let mut shown = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            None if !line.starts_with('|') => {
                wrap_line(line, columns, &mut shown);
                continue;
            }
            _ => {}
        }
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

fn wrap_line(line: &str, columns: usize, shown: &mut String) {
    let (mark, text) = line.split_at(hanging(line));
    let indent = " ".repeat(mark.len());
    let mut before = mark;
    for piece in fold(text, columns.saturating_sub(mark.len())) {
        shown.push_str(before);
        shown.push_str(&piece);
        shown.push('\n');
        before = &indent;
    }
}

/// Under which column the further lines of a line stand.
fn hanging(line: &str) -> usize {
    let text = line.trim_start();
    let lead = line.len() - text.len();
    let mark = text.split(' ').next().unwrap_or_default();
    let is_number = mark.strip_suffix('.').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    if mark == "-" || is_number {
        (lead + mark.len() + 1).min(line.len())
    } else {
        lead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &str) {
        assert_eq!(wrapped(text, 12), expected);
    }

    #[test]
    fn lines_are_broken_between_words() {
        case("short", "short\n");
        case("one two three four", "one two\nthree four\n");
        case("averyverylongword x", "averyverylon\ngword x\n");
        case("a\n\nb", "a\n\nb\n");
        case("ä ö ü ä ö ü ä", "ä ö ü ä ö ü\nä\n");
    }

    #[test]
    fn items_of_lists_hang() {
        case("- one two three", "- one two\n  three\n");
        case("10. one two three", "10. one two\n    three\n");
        case("  in one two three", "  in one two\n  three\n");
    }

    #[test]
    fn code_and_tables_stay_as_they_are() {
        let code = "```sh\na line that is long  enough\n```\n";
        case(code, code);
        let nested = "````\n```\nstill code that is long\n````\n";
        case(nested, nested);
        let row = "| a row that is long |\n";
        case(row, row);
    }
}
