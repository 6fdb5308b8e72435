//! Undoes what chat pages and copying do to text.
//!
//! Each repair is done only where the text itself shows that it is one: a prefix only if every
//! line has it, entities and backslashes only if tags or markers arrived with them, spaces only
//! where no file has such spaces on purpose. What would be a guess is left as it is. The order
//! matters: line ends first, because everything else looks at lines, and what wraps the whole text
//! before what happened inside of it.
//!
//! Repairs that need to know where a body begins and ends are done there, with the functions that
//! this file lends.

use std::borrow::Cow;

use super::tags;

pub(super) mod copied;
mod escapes;
mod gutter;
mod line_ends;
mod line_grammar;
mod paste;
mod prefix;
mod spaces;
mod wrapped;

pub(super) use escapes::{is_escaped, without_backslashes, without_entities};
pub(super) use gutter::{
    Divider, are_settings, numbered, without_gutter, without_labels, without_line_numbers,
    without_number_lines,
};
pub(super) use paste::without_copies;
pub(super) use prefix::{is_spaced_quotation, without_quote_marks};
pub(super) use wrapped::{WrapVerdict, breaks_line_of, judge_texts};

/// A repair of the whole text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) what: &'static str,
    pub(super) count: usize,
    pub(super) changed: RepairedLines,
}

/// Which lines a repair gave another content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepairedLines {
    /// None: a body says the same as before.
    Nothing,
    /// Every line.
    Everything,
    /// These, from 0, in ascending order.
    Lines(Vec<usize>),
}

/// A repair: the new text and what was done, or nothing.
type RepairedText = Option<(String, Done)>;

/// A repair, unless it found nothing to do.
fn repaired(
    text: String,
    what: &'static str,
    count: usize,
    changed: RepairedLines,
) -> RepairedText {
    let done = Done {
        what,
        count,
        changed,
    };
    (count > 0).then_some((text, done))
}

const REPAIRS: [fn(&str) -> RepairedText; 11] = [
    line_ends::repair,
    spaces::remove_padding,
    spaces::remove_invisible,
    prefix::repair,
    // A list inside of a quote, or the other way round.
    prefix::repair,
    prefix::repair_parts,
    spaces::restore_spaces,
    escapes::repair_entities,
    escapes::repair_backslashes,
    escapes::repair_half_escaped_tags,
    wrapped::join_tags,
];

/// Undoes what happened to a text as a whole; `without_copies` comes after it.
pub(super) fn repair(text: &str) -> (Cow<'_, str>, Vec<Done>) {
    let mut text = Cow::Borrowed(text);
    let mut done = Vec::new();
    for repair in REPAIRS {
        if let Some((repaired, what)) = repair(&text) {
            text = Cow::Owned(repaired);
            done.push(what);
        }
    }
    (text, done)
}

/// Returns true if tags were put together that had been wrapped.
pub(super) fn has_wrapped_tags(done: &[Done]) -> bool {
    done.iter().any(|done| done.what == copied::WRAPPED_TAGS)
}

/// Returns true if a line begins something of ours or of another dialect.
///
/// Used to tell a prefix that copying brought from lines that only look alike.
fn is_structural(line: &str) -> bool {
    // Not one text of words: every line may be asked about.
    const BEGINNINGS: [&str; 9] = [
        "<<<<<",
        "*** Begin Patch",
        "--- ",
        "diff --git ",
        "@@ ",
        "```",
        "~~~",
        "{",
        ">>>>>",
    ];
    BEGINNINGS.iter().any(|mark| line.starts_with(mark))
        || (line.starts_with(['[', '*', '\\']) && tags::read(0, line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_text_is_not_even_copied() {
        let text =
            "Hi\n[CREATE_FILE path=\"a.html\"]\n<p>a &amp; b &lt;\u{a0}c</p>\n[/CREATE_FILE]\n";
        let (repaired, done) = repair(text);
        assert!(matches!(repaired, Cow::Borrowed(_)));
        assert_eq!(done, []);
    }

    #[test]
    fn several_kinds_of_damage_are_undone_together() {
        let text = "\u{feff}> [PLAN]\r\n> \u{a0}\u{a0}a\r\n> [/PLAN]\r\n";
        let (repaired, done) = repair(text);
        assert_eq!(repaired, "[PLAN]\n  a\n[/PLAN]\n");
        assert_eq!(done.len(), 4);
    }
}
