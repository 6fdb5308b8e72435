//! Prefixes that stand before every line: a quote mark, line numbers, a sign, an indentation.
//!
//! It goes only if every line that is not blank has it. All but the quote mark must also bring
//! something to the front that we know, a tag or a marker, so that a text of its own kind (a
//! numbered list, an indented quotation) stays as it is.

use super::gutter::{Divider, numbered_runs, without_line_numbers, without_number_lines};
use super::{RepairedLines, RepairedText, copied, is_structural, repaired};
use crate::line::begins_with;
use crate::trim::{each_line as lines_of, is_blank};

pub(super) fn repair(text: &str) -> RepairedText {
    let first = text.split('\n').find(|line| !is_blank(line))?;
    let (lines, what) = match first.trim_start().as_bytes().first()? {
        // A lone end marker of a SEARCH/REPLACE block is no quotation.
        b'>' if !first.trim_start().starts_with(">>>") => {
            let lines: Vec<&str> = text.split('\n').collect();
            let plain = without_quote_marks(&lines, is_spaced_quotation(&lines))?;
            (plain, "removed the quote mark before every line")
        }
        b'0'..=b'9' => (without_numbers(text)?, copied::LINE_NUMBERS),
        b'+' if first.starts_with('+') => {
            (without_signs(text)?, "removed the `+` before every line")
        }
        _ if first.starts_with(' ') => (without_indentation(text)?, copied::INDENTATION),
        _ => return None,
    };
    let changed = RepairedLines::Everything;
    repaired(lines.join("\n"), what, lines.len(), changed)
}

/// Also takes the space after each mark, if every line has one, or where there is one if the text
/// `is_spaced`.
pub(crate) fn without_quote_marks<'a>(lines: &[&'a str], is_spaced: bool) -> Option<Vec<&'a str>> {
    let bare: Vec<&str> = lines
        .iter()
        .map(|line| marked(line).or_else(|| is_blank(line).then_some("")))
        .collect::<Option<_>>()?;
    if is_spaced {
        let rest = |line: &&'a str| line.strip_prefix(' ').unwrap_or(line);
        return Some(bare.iter().map(rest).collect());
    }
    let rest = |line: &&'a str| line.strip_prefix(' ').or(line.is_empty().then_some(""));
    let spaced: Option<Vec<&str>> = bare.iter().map(rest).collect();
    Some(spaced.unwrap_or(bare))
}

/// Returns true if something we know stands behind a quote mark and a space: then a line without
/// the space lost it, as before a tab.
pub(crate) fn is_spaced_quotation(lines: &[&str]) -> bool {
    let mut behind = lines.iter().filter_map(|line| marked(line));
    behind.any(|line| line.strip_prefix(' ').is_some_and(is_structural))
}

/// The line behind its quote mark.
fn marked(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    let is_margin = line.len() - rest.len() <= 3;
    rest.strip_prefix('>').filter(|_| is_margin)
}

fn without_signs(text: &str) -> Option<Vec<&str>> {
    let spaced = each_line(text, |line| match line.strip_prefix('+')? {
        "" => Some(""),
        rest => rest.strip_prefix(' '),
    });
    spaced.filter(|lines| has_structure(lines)).or_else(|| {
        each_line(text, |line| line.strip_prefix('+')).filter(|lines| has_structure(lines))
    })
}

fn without_numbers(text: &str) -> Option<Vec<&str>> {
    let lines: Vec<&str> = text.trim_matches('\n').split('\n').collect();
    let plain =
        without_line_numbers(&lines, &Divider::ALL).or_else(|| without_number_lines(&lines));
    plain.filter(|lines| has_structure(lines))
}

/// Takes the line numbers off the parts of a reply that have them, where a command or an edit comes
/// to the front. A numbered list of commands is none: its tags stand behind their numbers as well.
pub(super) fn repair_parts(text: &str) -> RepairedText {
    let has_number = |line: &str| {
        let first = line.bytes().find(|byte| *byte != b' ');
        first.is_some_and(|byte| byte.is_ascii_digit())
    };
    let has_mark = |mark: &str| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some();
    if !MARKERS.split('|').any(has_mark) || !lines_of(text).any(has_number) {
        return None;
    }
    let mut lines: Vec<&str> = text.split('\n').collect();
    let mut changed = Vec::new();
    for (start, plain) in numbered_runs(&lines) {
        if !plain.iter().any(|line| is_marker(line)) {
            continue;
        }
        for (at, line) in (start..).zip(plain) {
            lines[at] = line;
            changed.push(at);
        }
    }
    if changed.is_empty() {
        return None;
    }
    let (count, changed) = (changed.len(), RepairedLines::Lines(changed));
    repaired(lines.join("\n"), copied::BLOCK_NUMBERS, count, changed)
}

/// Beginnings of lines that mark a block with a body: a closing tag, a marker of SEARCH/REPLACE, a
/// hunk.
const MARKERS: &str = "[/|<<<<<<< SEARCH|>>>>>>> REPLACE|@@ -|*** Begin Patch|*** End Patch";

fn is_marker(line: &str) -> bool {
    begins_with(line, MARKERS) && (!line.starts_with("[/") || crate::tags::read(0, line).is_some())
}

fn without_indentation(text: &str) -> Option<Vec<&str>> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let width = text
        .split('\n')
        .filter(|line| !is_blank(line))
        .map(indent)
        .min()
        .filter(|width| *width > 0)?;
    each_line(text, |line| line.get(width..)).filter(|lines| has_structure(lines))
}

/// Every line without its prefix; blank lines stay as they are.
fn each_line(text: &str, strip: impl Fn(&str) -> Option<&str>) -> Option<Vec<&str>> {
    text.split('\n')
        .map(|line| strip(line).or_else(|| is_blank(line).then_some("")))
        .collect()
}

fn has_structure(lines: &[&str]) -> bool {
    lines.iter().any(|line| is_structural(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &str) {
        let got = repair(text).map(|(repaired, _)| repaired);
        assert_eq!(got.as_deref().unwrap_or(text), expected, "{text:?}");
    }

    #[test]
    fn what_stands_before_every_line_goes() {
        case("> a\n>\n>   b\n", "a\n\n  b\n");
        case("> > [DONE]", "> [DONE]");
        case("> [PLAN]\n>\ta\n> [/PLAN]", "[PLAN]\n\ta\n[/PLAN]");
        case(">[PLAN]\n> a\n>[/PLAN]", "[PLAN]\n a\n[/PLAN]");
        case(" 9 | [PLAN]\n10 | x\n11 | [/PLAN]\n", "[PLAN]\nx\n[/PLAN]");
        case("1: [PLAN]\n2:\n3: [/PLAN]", "[PLAN]\n\n[/PLAN]");
        case(
            "+ [PLAN]\n+\n+   a\n+ [/PLAN]\n",
            "[PLAN]\n\n  a\n[/PLAN]\n",
        );
        case("+[PLAN]\n+ a\n+[/PLAN]", "[PLAN]\n a\n[/PLAN]");
        case(
            "    [PLAN]\n\n      a\n    [/PLAN]",
            "[PLAN]\n\n  a\n[/PLAN]",
        );
    }

    #[test]
    fn what_only_looks_like_a_prefix_stays() {
        for text in [
            "> a\nb",
            "1: one\n2: two",
            "+ one\n+ two",
            "  one\n    two",
            "1 | [DONE]\n3 | x",
            ">>>>>>> REPLACE",
            "  [PLAN]\nx\n  [/PLAN]",
        ] {
            case(text, text);
        }
    }
}
