//! A passage that a terminal or an editor wrapped at a column.
//!
//! The file proves it: joined, its lines are lines of the file, in one place only. The new text is
//! unwrapped where it repeats those lines. Any other line of it that reaches the edge may have been
//! wrapped as well, and nobody can tell, so then the edit is refused. The same holds for a new text
//! that takes the place of a file or a range of lines.

use std::borrow::Cow;
use std::collections::HashSet;

use super::document::{Document, LineSplice};
use super::fold::is_blank;
use super::{Refusal, refuse};

/// How far from the edge a line may end because the next word did not fit.
const RAGGED: usize = 20;

/// The narrowest line that may have been cut off at its end.
const NARROWEST: usize = 40;

/// How many parts a line may have: this bounds the time that hostile text can cost.
const MOST_PARTS: usize = 64;

/// Lines of a passage that are one line of the file.
struct WrappedLine<'t> {
    parts: &'t [&'t str],
    whole: String,
}

/// Whole lines in the place of a search text that was wrapped; nothing if it was not.
pub(super) fn unwrapped<'a>(
    document: &Document<'_>,
    search: &[&str],
    new: &[&'a str],
) -> Result<Option<LineSplice<'a>>, Refusal> {
    let width = search.iter().map(|line| line.chars().count()).max();
    let is_wrapped =
        |width: &usize| *width >= NARROWEST && search.len() > 1 && !is_blank(search[0]);
    let Some(width) = width.filter(is_wrapped) else {
        return Ok(None);
    };
    let mut places = (1..=document.len())
        .filter_map(|start| Some((start, wrapped_at(document, start, search)?)));
    let (Some((start, lines)), None) = (places.next(), places.next()) else {
        return Ok(None);
    };
    let mut whole = Vec::new();
    let mut at = 0;
    while at < new.len() {
        let rest = &new[at..];
        let repeated = lines.iter().find(|line| {
            let mut parts = rest.iter().zip(line.parts);
            rest.len() >= line.parts.len() && parts.all(|(one, other)| same(one, other))
        });
        let (line, parts) = match repeated {
            Some(line) => (Cow::Owned(line.whole.clone()), line.parts.len()),
            None => (Cow::Borrowed(new[at]), 1),
        };
        whole.push(line);
        at += parts;
        let goes_on = |next: &&str| {
            let is_margin = next.starts_with(|c: char| !c.is_whitespace());
            repeated.is_none() || (is_margin && !search.iter().any(|line| same(line, next)))
        };
        let is_near = new[at - 1].chars().count() + RAGGED > width;
        if is_near && new.get(at).is_some_and(goes_on) {
            return Err(Refusal::new(format!(
                "the SEARCH text was wrapped at about {width} columns, and where `{}` goes on is not certain; copy the reply with the chat's own copy button",
                refuse::shortened(new[at - 1].trim(), 60)
            )));
        }
    }
    Ok(Some(LineSplice {
        above: start - 1,
        removed: lines.len(),
        lines: whole,
    }))
}

fn same(one: &str, other: &str) -> bool {
    one.trim_end() == other.trim_end()
}

/// How many of the first lines are this one line, wrapped or not.
fn parts_of(whole: &str, lines: &[&str]) -> Option<usize> {
    let mut rest = whole.strip_prefix(lines.first()?.trim_end())?;
    let mut parts = 1;
    while !is_blank(rest) {
        let part = lines.get(parts).filter(|_| parts < MOST_PARTS)?.trim();
        rest = rest.trim_start().strip_prefix(part)?;
        (!part.is_empty()).then_some(())?;
        parts += 1;
    }
    Some(parts)
}

/// A new text without the line ends that wrapping brought, where a line of the old text shows each:
/// joined, the lines are that line. Fails if one shows that there are others. A line that goes on deeper
/// was broken on purpose.
pub(super) fn unwrapped_copy(old: &[&str], new: &[&str]) -> Option<Result<Vec<String>, ()>> {
    let known: HashSet<&str> = old.iter().map(|line| line.trim_end()).collect();
    let is_known = |line: &str| known.contains(line.trim_end());
    let mut sorted: Vec<&str> = known.iter().copied().collect();
    sorted.sort_unstable();
    let width = new.iter().map(|line| line.chars().count()).max()?;
    let (mut whole, mut is_proved, mut is_doubtful) = (Vec::new(), false, false);
    let mut at = 0;
    while at < new.len() {
        let (line, next) = (
            new[at].trim_end(),
            new.get(at + 1).copied().unwrap_or_default(),
        );
        at += 1;
        whole.push(new[at - 1].to_owned());
        let word = next.split_whitespace().next().unwrap_or_default();
        let is_margin = !next.starts_with([' ', '\t']) && !is_known(next);
        let is_near = line.chars().count() + RAGGED > width;
        if line.is_empty() || word.is_empty() || (is_known(line) && !is_margin) {
            continue;
        }
        // A few lines of a file begin alike.
        let from = sorted.partition_point(|other| *other < line);
        let alike = sorted[from..].iter().take(8);
        let mut alike = alike.filter(|other| other.starts_with(line) && **other != line);
        if let Some((other, parts)) = alike
            .clone()
            .find_map(|other| Some((other, parts_of(other, &new[at - 1..])?)))
            && new[at..at + parts - 1]
                .iter()
                .all(|part| !part.starts_with([' ', '\t']))
        {
            whole.pop();
            whole.push((*other).to_owned());
            at += parts - 1;
            is_proved = true;
            continue;
        }
        let goes_on = |other: &&str| other[line.len()..].trim_start().starts_with(word);
        is_proved |= is_margin && alike.any(goes_on);
        is_doubtful |= is_margin && is_near;
    }
    is_proved.then_some(if is_doubtful { Err(()) } else { Ok(whole) })
}

/// The lines of the file from `start` on that the passage is, if some of them were wrapped in it.
fn wrapped_at<'t>(
    document: &Document<'_>,
    start: usize,
    search: &'t [&'t str],
) -> Option<Vec<WrappedLine<'t>>> {
    let mut lines = Vec::new();
    let mut at = 0;
    let mut file = document.lines_from(start);
    while at < search.len() {
        let whole = file.next()?;
        let first = at;
        at += parts_of(whole, &search[at..])?;
        lines.push(WrappedLine {
            parts: &search[first..at],
            whole: whole.to_owned(),
        });
    }
    lines
        .iter()
        .any(|line| line.parts.len() > 1)
        .then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replace;
    use agent_protocol::{Pattern, Replacement};

    const FILE: &str = "def total(items, discount, currency, rounding=None):\n    return sum(item.price * item.count for item in items) * (1 - discount)\n\nprint(total([], 0, 'EUR'))\n";

    fn edit(search: &str, new: &str) -> Replacement {
        Replacement {
            search: search.to_owned(),
            replace: new.to_owned(),
            pattern: Pattern::Lines,
            all: false,
            line: None,
            unnumbered: None,
        }
    }

    const WRAPPED: &str =
        "    return sum(item.price * item.count for item in\nitems) * (1 - discount)\n";

    #[test]
    fn the_file_proves_where_a_line_went_on() {
        let new = format!("{WRAPPED}    # checked\n");
        let replaced = replace(FILE, &[edit(WRAPPED, &new)]);
        assert!(replaced.refusals.is_empty(), "{:?}", replaced.refusals);
        let expected = FILE.replace("discount)\n\n", "discount)\n    # checked\n\n");
        assert_eq!(replaced.edited.text, expected);
        let replaced = replace(FILE, &[edit(WRAPPED, "    return 0\n")]);
        assert!(replaced.edited.text.contains("    return 0\n\nprint"));
    }

    #[test]
    fn a_line_that_goes_on_deeper_was_broken_on_purpose() {
        let old: Vec<&str> = FILE.lines().collect();
        let copy = |rest: &str| {
            let text = FILE.replace(" items) *", rest);
            unwrapped_copy(&old, &text.lines().collect::<Vec<_>>())
        };
        let whole = Some(Ok(old.iter().map(|line| (*line).to_owned()).collect()));
        assert_eq!(copy("\nitems) *"), whole);
        assert_eq!(copy("\n               items) *"), None);
    }

    #[test]
    fn a_new_line_at_the_edge_is_not_guessed() {
        let new = "    return sum(item.price * item.count for item in\nshop.items)\n";
        let replaced = replace(FILE, &[edit(WRAPPED, new)]);
        assert_eq!(replaced.edited.text, FILE);
        assert!(replaced.refusals[0].1.message.contains("wrapped"));
        let search = format!("{}\n{WRAPPED}", FILE.lines().next().unwrap_or_default());
        let new = search.replacen("None):\n", "None):\nmore\n", 1);
        let replaced = replace(FILE, &[edit(&search, &new)]);
        assert!(replaced.refusals[0].1.message.contains("wrapped"));
    }
}
