//! "Did you mean": the nearest of a few names, and how foreign text is shown in a message.

use std::path::Path;

/// Longer texts are nobody's typing error, and comparing them would only cost time.
const LONGEST_TYPING_ERROR: usize = 64;
const LONGEST_SHOWN: usize = 60;

/// Finds the candidate that differs least from what was written, if it is near enough.
///
/// Letter case, `_` and `-` are not counted: `max_rounds` is `MaxRounds`.
pub fn nearest<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > LONGEST_TYPING_ERROR {
        return None;
    }
    let written = plain(written);
    candidates
        .map(|candidate| (distance(&written, &plain(candidate)), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .map(|(_, candidate)| candidate)
}

/// A text of unknown origin for a message: short, and without anything that a terminal obeys.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(LONGEST_SHOWN) {
        if is_treacherous(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(LONGEST_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// A path for a command that the person may copy into a shell.
///
/// A project chooses its paths: unquoted, `; rm -r x` in one would run.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '\\' | ':' | '.' | '_' | '-');
    if text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Control characters, and those that reorder or hide the text around them.
fn is_treacherous(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn plain(name: &str) -> Vec<char> {
    name.chars()
        .filter(|character| !matches!(character, '_' | '-'))
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let width = other.len() + 1;
    let mut before = vec![0; width];
    let mut above: Vec<usize> = (0..width).collect();
    let mut row = vec![0; width];
    for i in 1..=one.len() {
        row[0] = i;
        for j in 1..width {
            let same = one[i - 1] == other[j - 1];
            row[j] = (above[j - 1] + usize::from(!same))
                .min(above[j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    above[width - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(written: &str, expected: Option<&str>) {
        let names = ["MaxRounds", "MaxReadLines", "InboxDir", "OutboxDir"];
        assert_eq!(nearest(written, names.into_iter()), expected, "{written}");
    }

    #[test]
    fn finds_what_was_meant() {
        case("maxRounds", Some("MaxRounds"));
        case("max_rounds", Some("MaxRounds"));
        case("MaxRound", Some("MaxRounds"));
        case("MaxRuonds", Some("MaxRounds"));
        case("Inbox", Some("InboxDir"));
        case("outbox-dir", Some("OutboxDir"));
    }

    #[test]
    fn one_slip_of_the_finger_is_understood() {
        let names = || crate::settings::KEYS.iter().map(|key| key.name);
        for name in names() {
            for index in 0..name.len() {
                let mut slip = name.to_owned();
                slip.remove(index);
                assert_eq!(nearest(&slip, names()), Some(name), "{slip}");
            }
        }
    }

    #[test]
    fn a_path_to_copy_cannot_smuggle_in_a_command() {
        assert_eq!(quoted(Path::new("/a/b-c.d")), "/a/b-c.d");
        assert_eq!(quoted(Path::new("/a; rm -r x")), "'/a; rm -r x'");
        assert_eq!(quoted(Path::new("/it's $(x)")), r"'/it'\''s $(x)'");
    }

    #[test]
    fn does_not_guess_wildly() {
        case("Temperature", None);
        case("", None);
        case("x", None);
        case(&"MaxRounds".repeat(100), None);
    }

    #[test]
    fn a_foreign_text_is_short_and_harmless() {
        assert_eq!(shown("plain ä"), "plain ä");
        assert_eq!(
            shown("a\u{1b}b\u{9b}c\u{202e}"),
            "a\\u{1b}b\\u{9b}c\\u{202e}"
        );
        assert_eq!(shown(&"ä".repeat(61)), format!("{}…", "ä".repeat(60)));
        assert_eq!(shown(&"ä".repeat(60)), "ä".repeat(60));
    }
}
