//! Spaces that chat pages put in place of plain ones, and characters that nobody sees.
//!
//! A non-breaking space counts as damage where no author puts one: in the indentation of a line,
//! in a run of several spaces, in a tag or marker, and everywhere if the text has no plain space at
//! all. A single one between words is how French and other typography is written, and stays. Other
//! wide spaces count only in the indentation; the ideographic space, which indents Chinese and
//! Japanese paragraphs, stays. Zero-width characters go from the ends of lines; between letters
//! they may belong to a word. Marks of direction and whatever else nobody sees go from tags and
//! markers, and from the ends of lines only if every line has them: some texts need them.

use super::{RepairedLines, RepairedText, copied, is_structural, repaired};
use crate::line::{begins_with, is_space};
use crate::tags;
use crate::trim::{each_line, is_blank, trim_start};
use agent_protocol::unseen::is_stray;

const NO_BREAK: char = '\u{a0}';

/// Removes characters that nobody sees where they cannot belong to a word.
pub(super) fn remove_invisible(text: &str) -> RepairedText {
    if text.is_ascii() || !text.contains(is_stray) {
        return None;
    }
    let mut texts = text.split('\n').filter(|line| !is_blank(line));
    let everywhere = texts.all(|line| line.starts_with(is_stray) || line.ends_with(is_stray));
    let goes = if everywhere { is_stray } else { is_invisible };
    by_line(text, "removed invisible characters", |line, repaired| {
        if line.is_ascii() || !line.contains(is_stray) {
            repaired.push_str(line);
        } else if let Some(marker) = marker(line) {
            repaired.push_str(&marker);
        } else {
            without_ends(line, goes, repaired);
        }
    })
}

/// The line without what stands unseen around it, of these characters.
fn without_ends(line: &str, goes: fn(char) -> bool, repaired: &mut String) {
    let visible = line.trim_end_matches(|c: char| goes(c) || c == ' ');
    let kept = if line[visible.len()..].contains(goes) {
        visible
    } else {
        line
    };
    let start = kept
        .find(|c: char| !goes(c) && c != ' ' && c != '\t' && c != NO_BREAK)
        .unwrap_or(kept.len());
    repaired.extend(kept[..start].chars().filter(|c| !goes(*c)));
    repaired.push_str(&kept[start..]);
}

/// The tag or marker that a line is without what nobody sees in it; values in quotes and a body
/// behind the tag stay.
fn marker(line: &str) -> Option<String> {
    /// Longer than any tag that a page damaged, so that a long line costs little.
    const MAX_BYTES: usize = 10_000;
    if line.len() > MAX_BYTES {
        return None;
    }
    let (mut is_quoted, mut is_behind) = (false, false);
    let keeps = |c: &char| {
        is_quoted ^= matches!(c, '"' | '\u{201c}'..='\u{201f}');
        is_behind |= *c == ']' && !is_quoted;
        is_quoted || is_behind || !is_stray(*c)
    };
    let visible = line.trim_end_matches(is_space);
    let plain: String = visible.chars().filter(keeps).collect();
    let start = trim_start(&plain);
    let is_marker = tags::read(0, start).is_some()
        || tags::read_angled(0, start).is_some()
        || begins_with(start, "<<<<<<<|=======|>>>>>>>|*** |```|~~~");
    is_marker.then_some(plain)
}

/// Removes blanks from the ends of lines, where every line of the reply has them: tags, fences and
/// markers too. A terminal fills its lines that way.
pub(super) fn remove_padding(text: &str) -> RepairedText {
    /// Fewer lines may end so by chance.
    const ENOUGH: usize = 4;
    let is_padded = |line: &str| line.is_empty() || line.ends_with([' ', '\t']);
    let filled = each_line(text).filter(|line| !is_blank(line));
    if !each_line(text).all(is_padded) || filled.take(ENOUGH).count() < ENOUGH {
        return None;
    }
    by_line(text, copied::PADDING, |line, repaired| {
        repaired.push_str(line.trim_end_matches([' ', '\t']));
    })
}

/// Puts plain spaces in place of others.
pub(super) fn restore_spaces(text: &str) -> RepairedText {
    if text.is_ascii() {
        return None;
    }
    let everywhere = !text.contains(' ') && text.contains(NO_BREAK);
    by_line(text, copied::UNUSUAL_SPACES, |line, repaired| {
        if line.is_ascii() {
            repaired.push_str(line);
        } else if everywhere || (line.contains(NO_BREAK) && is_marker(line)) {
            repaired.extend(line.chars().map(|c| if c == NO_BREAK { ' ' } else { c }));
        } else {
            restore_line(line, repaired);
        }
    })
}

/// Returns true if a line with non-breaking spaces is a tag or a marker without them.
fn is_marker(line: &str) -> bool {
    let plain = line.replace(NO_BREAK, " ");
    let start = trim_start(&plain);
    start.starts_with("***") || start.starts_with(">>>") || is_structural(start)
}

fn restore_line(line: &str, repaired: &mut String) {
    // The sign of a diff or a bullet stands before the indentation of what it marks.
    let (sign, rest) = match line.as_bytes().first() {
        Some(b'+' | b'-' | b'>') => line.split_at(1),
        _ => ("", line),
    };
    repaired.push_str(sign);
    let start = rest
        .find(|c: char| !(c == ' ' || c == '\t' || c == NO_BREAK || is_wide(c)))
        .unwrap_or(rest.len());
    let plain = |c: char| if c == '\t' { c } else { ' ' };
    repaired.extend(rest[..start].chars().map(plain));
    let mut rest = &rest[start..];
    while let Some(at) = rest.find(NO_BREAK) {
        // A run of spaces of both kinds around it.
        let from = rest[..at].trim_end_matches(' ').len();
        let run: &str = &rest[from..];
        let length = run
            .find(|c: char| c != ' ' && c != NO_BREAK)
            .unwrap_or(run.len());
        repaired.push_str(&rest[..from]);
        let spaces = run[..length].chars().count();
        if spaces > 1 {
            repaired.extend(std::iter::repeat_n(' ', spaces));
        } else {
            repaired.push(NO_BREAK);
        }
        rest = &run[length..];
    }
    repaired.push_str(rest);
}

/// Repairs a text line by line, and remembers which lines came out different.
fn by_line(text: &str, what: &'static str, repair: impl Fn(&str, &mut String)) -> RepairedText {
    let mut plain = String::with_capacity(text.len());
    let mut lines = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            plain.push('\n');
        }
        let from = plain.len();
        repair(line, &mut plain);
        if plain[from..] != *line {
            lines.push(number);
        }
    }
    let count = lines.len();
    repaired(plain, what, count, RepairedLines::Lines(lines))
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{feff}' | '\u{200b}' | '\u{2060}')
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn restored(text: &str, expected: &str) {
        let got = restore_spaces(text).map(|(repaired, _)| repaired);
        assert_eq!(got.as_deref().unwrap_or(text), expected, "{text:?}");
    }

    #[test]
    fn spaces_of_indentation_and_runs_are_restored() {
        restored("\u{a0}\u{a0}a b", "  a b");
        restored("a =\u{a0}\u{a0}\u{a0}1 b", "a =   1 b");
        restored("a \u{a0} b", "a   b");
        restored("+\u{a0}a b", "+ a b");
        restored("\t\u{2003}a b", "\t a b");
        restored("<<<<<<<\u{a0}SEARCH x y", "<<<<<<< SEARCH x y");
        restored("[READ_FILE\u{a0}path=a] \n", "[READ_FILE path=a] \n");
        restored("a\u{a0}b\nc", "a b\nc");
    }

    #[test]
    fn blanks_go_from_the_ends_of_all_lines_or_of_none() {
        let padded = "[PLAN]  \n a\t\n\n  \nb \n[/PLAN] \n";
        let repaired = remove_padding(padded).map(|(repaired, _)| repaired);
        assert_eq!(repaired.as_deref(), Some("[PLAN]\n a\n\n\nb\n[/PLAN]\n"));
        assert_eq!(remove_padding("[PLAN]\na  \nb  \nc  \n[/PLAN]\n"), None);
        assert_eq!(remove_padding("a  \nb  \n"), None);
    }

    #[test]
    fn typography_stays() {
        for text in [
            "Vraiment\u{a0}? Oui, dit-il.",
            "\u{3000}\u{672c}\u{6587} x",
            "10\u{202f}000 pages",
            "caf\u{e9} au lait",
        ] {
            restored(text, text);
        }
    }

    #[test]
    fn what_nobody_sees_goes_from_tags_and_markers() {
        let repaired = |text: &str| remove_invisible(text).map(|(repaired, _)| repaired);
        for (text, expected) in [
            ("a\n[/PLAN]\u{200f}", "a\n[/PLAN]"),
            ("a\n  \u{200e}[PLAN]", "a\n  [PLAN]"),
            (
                "a\n\u{2068}[READ_FILE\u{200b} path=\"a\"]\u{2069}",
                "a\n[READ_FILE path=\"a\"]",
            ),
            ("a\n>>>>>>> REPLACE\u{200e}", "a\n>>>>>>> REPLACE"),
            ("a\n<PLAN>\u{200e}", "a\n<PLAN>"),
        ] {
            assert_eq!(repaired(text).as_deref(), Some(expected), "{text:?}");
        }
        for text in [
            "a\n\u{5d0}\u{200f}.",
            "a\n[SEARCH_TEXT pattern=\"\u{200f}\"]",
            "a\n[READ_FILE path=\"\u{645}\u{6cc}\u{200c}\u{634}\"]",
            "a\n\u{200e}1.\u{200e}",
            "a\n[RUN_COMMAND]grep '\u{200f}' a[/RUN_COMMAND]",
        ] {
            assert_eq!(repaired(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_nobody_sees_goes_from_the_ends_of_lines() {
        let repaired = |text: &str| remove_invisible(text).map(|(repaired, _)| repaired);
        assert_eq!(
            repaired("\u{feff}a\n\u{200b}\n  \u{200b}b\u{200b} "),
            Some("a\n\n  b".to_owned())
        );
        assert_eq!(repaired("a\u{200b}b  "), None);
        assert_eq!(
            repaired("\u{200f}a\u{200f}\n\n  b\u{200f}"),
            Some("a\n\n  b".to_owned())
        );
        assert_eq!(repaired("a  \nb"), None);
    }
}
