//! SEARCH/REPLACE on texts of a small vocabulary, and on any texts.

use agent_edit::Replaced;
use agent_protocol::{Level, Pattern, Replacement};

use crate::unchanged::assert_unchanged_elsewhere;
use crate::words::{self, Kind};

/// The first bit of the first byte chooses between made texts and the bytes themselves.
pub fn check(mut bytes: &[u8]) {
    let (text, edits) = if words::byte(&mut bytes).is_multiple_of(2) {
        made(bytes)
    } else {
        given(bytes)
    };
    let replaced = agent_edit::replace(&text, &edits);
    assert_eq!(replaced.levels.len(), edits.len());
    let refused: Vec<usize> = replaced
        .refusals
        .iter()
        .map(|(position, _)| *position)
        .collect();
    let without_level = (0..edits.len()).filter(|&position| replaced.levels[position].is_none());
    assert_eq!(refused, without_level.collect::<Vec<_>>());
    assert_unchanged_elsewhere(&text, &replaced.edited);
    let did_something =
        (replaced.levels.iter().flatten()).any(|level| *level != Level::AlreadyApplied);
    if !did_something {
        assert_eq!(
            replaced.edited.text, text,
            "refused, and changed all the same"
        );
    }
    if let [edit] = &edits[..] {
        check_plain_text(&text, edit, &replaced);
    }
}

/// A string that may stand within a line: what is found literally is replaced literally.
fn check_plain_text(text: &str, edit: &Replacement, replaced: &Replaced) {
    let has_return = [text, &edit.search, &edit.replace]
        .iter()
        .any(|text| text.contains('\r'));
    let is_literal =
        edit.pattern == Pattern::Text && edit.line.is_none() && !edit.search.is_empty();
    if has_return || !is_literal || edit.search == edit.replace {
        return;
    }
    let result = &replaced.edited.text;
    // New lines that lost the indentation of their line get it back, and nothing else.
    let plain = |text: &str| -> Vec<String> {
        let is_shifted = replaced.levels[0] == Some(Level::Indentation);
        let lines = text.split('\n');
        let line = |line: &str| if is_shifted { line.trim() } else { line }.to_owned();
        lines.map(line).collect()
    };
    match (text.matches(&edit.search).count(), replaced.levels[0]) {
        (0, _) | (_, None) => {}
        (_, Some(_)) if edit.all => {
            assert_eq!(
                plain(result),
                plain(&text.replace(&edit.search, &edit.replace))
            );
        }
        (1, Some(_)) => {
            assert_eq!(
                plain(result),
                plain(&text.replacen(&edit.search, &edit.replace, 1))
            );
        }
        (count, Some(level)) => panic!("{count} places and yet replaced, {level:?}: {result:?}"),
    }
}

fn made(mut bytes: &[u8]) -> (String, Vec<Replacement>) {
    let text = words::text(words::take(&mut bytes, 24), Kind::Any);
    let mut edits = Vec::new();
    while !bytes.is_empty() && edits.len() < 4 {
        let flags = words::byte(&mut bytes);
        let search = words::text(words::take(&mut bytes, 6), Kind::Any);
        let replace = words::text(words::take(&mut bytes, 6), Kind::Any);
        edits.push(replacement(flags, search, replace));
    }
    (text, edits)
}

fn given(bytes: &[u8]) -> (String, Vec<Replacement>) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\0').map(str::to_owned);
    let text = parts.next().unwrap_or_default();
    let mut edits = Vec::new();
    while let Some(flags) = parts.next() {
        let (search, replace) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        edits.push(replacement(
            flags.bytes().next().unwrap_or_default(),
            search,
            replace,
        ));
    }
    (text, edits)
}

fn replacement(flags: u8, search: String, replace: String) -> Replacement {
    let pattern = match flags & 3 {
        0 | 1 => Pattern::Lines,
        2 => Pattern::Text,
        _ => Pattern::Regex,
    };
    Replacement {
        pattern,
        all: flags & 4 != 0,
        line: (flags & 8 != 0).then_some(u32::from(flags >> 4)),
        ..Replacement::lines(search, replace)
    }
}
