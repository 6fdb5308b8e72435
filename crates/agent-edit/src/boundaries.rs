//! Tells whether a stretch of a text is something of its own or a part of something longer.

use std::ops::Range;

/// Tells whether a stretch neither begins nor ends within a word.
pub(super) fn is_whole_words(text: &str, range: &Range<usize>) -> bool {
    let is_word = |character: Option<char>| {
        character.is_some_and(|character| character.is_alphanumeric() || character == '_')
    };
    let (before, rest) = text.split_at(range.start);
    let (inside, after) = rest.split_at(range.len());
    let cuts_first = is_word(before.chars().next_back()) && is_word(inside.chars().next());
    let cuts_last = is_word(inside.chars().next_back()) && is_word(after.chars().next());
    !cuts_first && !cuts_last
}

/// Tells whether a stretch is made of whole words and is no part of something longer, such as a
/// number, a path, an operator or a name with dots and dashes.
pub(super) fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    const JOINTS: &str = "-.!@#$:/\\";
    const OPERATORS: &str = "=<>+-*/%&|!^~?:";
    let is_one = |of: &str, character: Option<char>| {
        character.is_some_and(|character| of.contains(character))
    };
    let inside = &text[range.clone()];
    let before = text[..range.start].chars().next_back();
    let mut rest = text[range.end..].chars();
    let after = rest.next();
    // A full stop or a colon that ends something belongs to no longer word.
    let goes_on = rest.next().is_some_and(|next| !next.is_whitespace());
    let is_joined = is_one(JOINTS, before) || (goes_on && is_one(JOINTS, after));
    let cuts_operator = (is_one(OPERATORS, before)
        && inside.starts_with(|c| OPERATORS.contains(c)))
        || (is_one(OPERATORS, after) && inside.ends_with(|c| OPERATORS.contains(c)));
    is_whole_words(text, range) && !is_joined && !cuts_operator
}

/// Tells whether a stretch begins where a line does, and whether it ends where one does.
pub(super) fn is_at_line_ends(text: &str, range: &Range<usize>) -> (bool, bool) {
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    let is_newline = |character: Option<char>| character.is_none_or(|it| it == '\n');
    (is_newline(before), is_newline(after))
}
