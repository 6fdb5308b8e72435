//! A search for all that one line has behind its indentation, as calls in JSON and XML write it.
//!
//! The first new line then stands behind the indentation that the file keeps. Whether the others have
//! the indentation of the file, or lost that of the line as the search did, is read off the new lines.

use std::ops::Range;

use crate::Refusal;
use crate::fold::{self, is_among, is_blank};
use crate::guard::is_comment_line;

/// How wide one step of indentation is at most, in blanks.
const WIDEST_STEP: usize = 4;

/// Words at the beginning of a line that closes what is open, so that it stands less deep.
const CLOSING_WORDS: &str =
    "else elif elsif except rescue finally ensure catch end endif fi done esac";

/// How the lines below the first new one are indented.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InlineIndentation {
    /// They are as they are to stand, or the search is no such one.
    AsSent,
    /// They are relative to the first line, and lack this.
    Lacks(String),
    /// They are as they are to stand, and so is the first one, which would get this twice.
    Repeats(String),
    /// They are less deep than the line, and nothing tells whether that is meant.
    Uncertain,
}

/// Reads off how the lines are indented that replace a stretch of a text.
pub(super) fn inline_indentation(
    text: &str,
    stretch: &Range<usize>,
    new: &str,
) -> InlineIndentation {
    let Some(missing) = missing_indentation(text, stretch) else {
        return InlineIndentation::AsSent;
    };
    let search = &text[stretch.clone()];
    let own = fold::indentation(search).len();
    let deep = missing.len() + own;
    let lines: Vec<&str> = new.lines().collect();
    if own == 0 && repeats(missing, &lines) {
        InlineIndentation::Repeats(missing.to_owned())
    } else if opens_block_at(own, deep, &lines) {
        InlineIndentation::Lacks(missing.to_owned())
    } else if falls_out(deep, &lines) {
        InlineIndentation::Uncertain
    } else {
        InlineIndentation::AsSent
    }
}

/// The new lines with what those below the first one lack.
pub(super) fn deepened(new: &str, missing: &str) -> String {
    let mut lines = new.split('\n');
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        text.push('\n');
        text.push_str(if is_blank(line) { "" } else { missing });
        text.push_str(line);
    }
    text
}

pub(super) fn less_indented() -> Refusal {
    Refusal::new(
        "the new lines are indented less than the line that they replace, so where they belong is not certain",
    )
    .with_hint("send whole lines with their indentation on both sides")
}

/// The indentation before a stretch that has all else of its line, if there is any.
fn missing_indentation<'t>(text: &'t str, stretch: &Range<usize>) -> Option<&'t str> {
    let search = &text[stretch.clone()];
    let ends_line = search.ends_with('\n');
    if is_blank(search) || search.trim_end_matches('\n').contains('\n') {
        return None;
    }
    // A line may be long and hold the search many times, so no more of it is looked at than blanks.
    let before = text[..stretch.start].trim_end_matches([' ', '\t']);
    let behind = text[stretch.end..].trim_start_matches([' ', '\t', '\r']);
    let is_whole = (before.is_empty() || before.ends_with('\n'))
        && (ends_line || behind.is_empty() || behind.starts_with('\n'));
    let missing = &text[before.len()..stretch.start];
    (is_whole && !missing.is_empty()).then_some(missing)
}

/// Returns true if all lines have this indentation, the first one and another no more than it.
fn repeats(missing: &str, lines: &[&str]) -> bool {
    let indentations = lines.iter().filter(|line| !is_blank(line));
    let mut indentations = indentations.map(|line| fold::indentation(line));
    indentations.next() == Some(missing)
        && indentations.clone().any(|it| it == missing)
        && indentations.all(|it| it.starts_with(missing))
}

/// Returns true if the first line opens a block that has no lines as they were sent, and has some if all
/// of them are as deep below the first line as they say.
fn opens_block_at(own: usize, deep: usize, lines: &[&str]) -> bool {
    let mut filled = lines.iter().filter(|line| !is_blank(line));
    let (Some(first), Some(second)) = (filled.next(), filled.next()) else {
        return false;
    };
    let below = fold::indentation(second);
    let step = below.len().saturating_sub(own);
    let is_step = match below.as_bytes().first() {
        Some(b'\t') => step == 1,
        _ => (2..=WIDEST_STEP).contains(&step),
    };
    fold::indentation(first).len() == own
        && opens_block(first)
        && is_step
        && below.len() <= deep
        && !second.trim_start().starts_with("- ")
}

/// Returns true if lines follow that stand deeper. A remark or a text may end with a colon too.
pub(super) fn opens_block(line: &str) -> bool {
    let line = line.trim();
    line.ends_with([':', '{', '(', '['])
        && !line.starts_with(['"', '\'', '`', '*'])
        && !is_comment_line(line)
}

/// Returns true if a line is less deep than the lines above it, and closes nothing.
fn falls_out(deep: usize, lines: &[&str]) -> bool {
    let mut deep = deep;
    let mut is_below_blank = false;
    for line in lines.iter().skip(1).filter(|line| !is_directive(line)) {
        if is_blank(line) {
            is_below_blank = true;
            continue;
        }
        let own = fold::indentation(line).len();
        if own < deep && !is_below_blank && !closes(line) {
            return true;
        }
        deep = deep.min(own);
        is_below_blank = false;
    }
    false
}

/// Returns true if a line ends something that was open above it.
fn closes(line: &str) -> bool {
    let line = line.trim_start();
    let word = line.split(|c: char| !fold::is_of_word(c)).next();
    line.starts_with(['}', ')', ']'])
        || line.starts_with("</")
        || word.is_some_and(|word| is_among(CLOSING_WORDS, word))
}

/// Returns true for a line of the C preprocessor, which stands at the margin wherever it is.
fn is_directive(line: &str) -> bool {
    const NAMES: &str = "if ifdef ifndef elif else endif define undef include pragma";
    let name = line.strip_prefix('#');
    name.is_some_and(|name| is_among(NAMES, name.split(' ').next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, search: &str, new: &str, expected: &InlineIndentation) {
        let text = format!("top:\n{line}\nend\n");
        let start = text.find(search).expect("the search");
        let found = inline_indentation(&text, &(start..start + search.len()), new);
        assert_eq!(found, *expected, "{new}");
    }

    fn lacks(missing: &str) -> InlineIndentation {
        InlineIndentation::Lacks(missing.to_owned())
    }

    #[test]
    fn a_block_that_would_have_no_lines_lost_its_indentation() {
        let opened = "if x > 1:\n    return 0\nreturn x";
        case("    return x", "return x", opened, &lacks("    "));
        case("        return x  ", "return x", opened, &lacks("        "));
        case(
            "    return x",
            "  return x",
            "  if y:\n    z()\n",
            &lacks("  "),
        );
        case("\tf()", "f()", "if x {\n\tf()\n}", &lacks("\t"));
        case("    f()", "f()\n", "g(\n    1,\n)\n", &lacks("    "));
        // With the indentation of the file, or a remark that ends with a colon.
        let carried = "if x > 1:\n        return 0\n    return x";
        case(
            "    return x",
            "return x",
            carried,
            &InlineIndentation::AsSent,
        );
        let remark = "# The value:\n    return y";
        case(
            "    return x",
            "return x",
            remark,
            &InlineIndentation::AsSent,
        );
    }

    #[test]
    fn the_first_line_may_have_the_indentation_of_the_file_already() {
        let repeats = InlineIndentation::Repeats("    ".to_owned());
        let guarded = "    if x:\n        return 0\n    return x";
        case("    return x", "return x", guarded, &repeats);
        // Deeper as a whole, one line alone, and a search that has the indentation too.
        for (search, new) in [
            ("return x", "    if x:\n        return 0\n        return x"),
            ("return x", "    return x"),
            ("    return x", guarded),
        ] {
            case("    return x", search, new, &InlineIndentation::AsSent);
        }
    }

    #[test]
    fn lines_that_fall_out_of_their_block_are_uncertain() {
        let uncertain = InlineIndentation::Uncertain;
        case(
            "  port: 80",
            "port: 80",
            "port: 80\nrestart: always",
            &uncertain,
        );
        case("    x = 1  ", "x = 1", "x = 1\ny = 2", &uncertain);
        case("        x = 1", "x = 1", "x = 1\n    y = 2", &uncertain);
        case(
            "    x = 1",
            "x = 1",
            "x = 1\n}\n  y = 2\nz = 3",
            &InlineIndentation::AsSent,
        );
        case(
            "    x = 1",
            "x = 1",
            "x = 1\n  }\n  y = 2\nz = 3",
            &uncertain,
        );
        for meant in [
            "x = 2\n    y = 3",
            "x = 2\n\ndef g():\n    return 1",
            "x = 2\n}",
            "x = 2\nelse:\n    y = 3",
            "x = 2\n</p>",
            "x = 2\n#ifdef A\n    y = 3\n#endif",
            "x = 2",
        ] {
            case("    x = 1", "x = 1", meant, &InlineIndentation::AsSent);
        }
        // A part of the line, and a line that is not indented.
        case("    x = 1", "= 1", "= 1\ny = 2", &InlineIndentation::AsSent);
        case(
            "    x = 1;",
            "x = 1",
            "x = 1\ny = 2",
            &InlineIndentation::AsSent,
        );
        case("x = 1", "x = 1", "x = 1\ny = 2", &InlineIndentation::AsSent);
    }
}
