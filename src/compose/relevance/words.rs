//! The words of a task: as names of files, as stems to be found in paths, and as identifiers, options
//! and quotations to be found in contents.

use std::collections::BTreeSet;

/// More stems than these are not looked for: they are told apart by the bits of a number.
const MOST_STEMS: usize = 32;

/// The shortest stem.
const SHORTEST: usize = 3;

/// From how many letters on a stem may be the beginning of a longer word.
const SHORTEST_BEGINNING: usize = 4;

/// By how many letters the longer word may go on.
const LONGEST_ENDING: usize = 3;

/// The shortest identifier that is looked for in contents.
const SHORTEST_IDENTIFIER: usize = 5;

/// More identifiers than these are not looked for.
const MOST_IDENTIFIERS: usize = 12;

/// The longest quotation that is looked for in contents, in bytes.
const LONGEST_QUOTE: usize = 80;

/// How much of a task is read, in bytes.
const READ: usize = 20_000;

/// Words of every task, which say nothing about files.
const EMPTY: &[&str] = &[
    "about",
    "add",
    "after",
    "all",
    "also",
    "and",
    "any",
    "are",
    "bug",
    "but",
    "can",
    "change",
    "code",
    "correct",
    "create",
    "does",
    "each",
    "error",
    "fail",
    "fails",
    "file",
    "files",
    "fix",
    "for",
    "from",
    "function",
    "get",
    "has",
    "have",
    "how",
    "implement",
    "into",
    "its",
    "make",
    "mend",
    "more",
    "need",
    "new",
    "not",
    "now",
    "one",
    "only",
    "out",
    "pass",
    "please",
    "project",
    "remove",
    "should",
    "some",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "too",
    "update",
    "use",
    "using",
    "want",
    "was",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "without",
    "work",
    "works",
    "write",
    "wrong",
    "you",
    "your",
];

/// The words of a text that may be names of files.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    text.split(move |c| !is_part(c))
        .map(|word| word.trim_end_matches('.').trim_start_matches("./"))
        .filter(|word| !word.is_empty())
}

/// Returns true for words that occur in every task.
pub(super) fn is_empty(word: &str) -> bool {
    EMPTY.contains(&word.to_lowercase().as_str())
}

/// The beginnings of the words in these texts that may be in paths, in lower case.
pub(super) fn stems<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut stems = BTreeSet::new();
    for text in texts {
        let text = &text[..text.floor_char_boundary(READ)];
        for word in humps(text) {
            let word = word.to_lowercase();
            let stem = stem(&word);
            if stem.len() >= SHORTEST && !is_empty(&word) {
                stems.insert(stem.to_owned());
            }
        }
    }
    let mut stems: Vec<String> = stems.into_iter().collect();
    // The longest tell most.
    stems.sort_by_key(|stem| std::cmp::Reverse(stem.len()));
    stems.truncate(MOST_STEMS);
    stems
}

/// A word without the ending that another form of it may lack.
fn stem(word: &str) -> &str {
    ["ing", "ed", "es", "s", "e"]
        .iter()
        .filter_map(|ending| word.strip_suffix(ending))
        .find(|stem| stem.len() >= SHORTEST_BEGINNING)
        .unwrap_or(word)
}

/// The parts of a text between other characters, and between the humps of `camelCase`.
fn humps(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(|word| {
        let mut cuts = vec![0];
        let mut before = None;
        for (at, c) in word.char_indices() {
            let is_hump = c.is_uppercase() && before.is_some_and(char::is_lowercase);
            if is_hump {
                cuts.push(at);
            }
            before = Some(c);
        }
        cuts.push(word.len());
        let parts = cuts.windows(2).map(|cut| &word[cut[0]..cut[1]]);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>()
    })
}

/// Returns true if a match in a path is a whole word, or the beginning of one that is not much
/// longer.
pub(super) fn is_word(path: &str, start: usize, end: usize) -> bool {
    let bytes = path.as_bytes();
    let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
    let is_upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
    // `XMLReader` begins a word where capitals end.
    let is_hump =
        |at: usize| is_upper(at) && (!is_upper(at - 1) || (is_letter(at + 1) && !is_upper(at + 1)));
    let begins = start == 0 || !is_letter(start - 1) || is_hump(start);
    let most = if end - start >= SHORTEST_BEGINNING {
        LONGEST_ENDING
    } else {
        // A short one may still have a plural.
        usize::from(bytes.get(end) == Some(&b's'))
    };
    let goes_on = |at: &usize| is_letter(*at) && !is_hump(*at);
    let ending = (end..).take_while(goes_on).take(most + 1).count();
    begins && ending <= most
}

/// Finds words of a task that may occur in files: identifiers, options (`--dry-run`) and text in
/// backticks or quotes, such as an error message.
pub fn identifiers(task: &str) -> Vec<String> {
    let task = &task[..task.floor_char_boundary(READ)];
    let mut found: Vec<&str> = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    for word in task.split(|c: char| !is_part(c)) {
        if humps(word).nth(1).is_some() {
            found.push(word);
        }
    }
    for word in task.split_whitespace() {
        let option = word.trim_matches(|c: char| !is_part(c) && c != '-');
        if option.starts_with("--") && option.chars().skip(2).all(|c| is_part(c) || c == '-') {
            found.push(option);
        }
    }
    for quote in ['`', '"'] {
        for quoted in task.split(quote).skip(1).step_by(2) {
            let is_word = quoted.chars().all(char::is_alphabetic);
            // A single word in quotes may be any word; in backticks it is meant as code.
            if !quoted.contains('\n') && (quote == '`' || !is_word) {
                found.push(quoted.trim_end_matches("()"));
            }
        }
    }
    found.retain(|word| (SHORTEST_IDENTIFIER..=LONGEST_QUOTE).contains(&word.len()));
    found.sort_unstable();
    found.dedup();
    found.sort_by_key(|word| std::cmp::Reverse(word.len()));
    found.truncate(MOST_IDENTIFIERS);
    found.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stems_are_the_telling_parts_of_words() {
        let stems = stems(["Fix parsing of InvoiceTotals in date_utils, please."].into_iter());
        assert_eq!(stems, ["invoic", "total", "date", "pars", "util"]);
    }

    #[test]
    fn identifiers_are_no_words_of_a_language() {
        assert_eq!(
            identifiers("`reconcile_pending_ledger` must call parseDate, not Date or __init__."),
            ["reconcile_pending_ledger", "parseDate"]
        );
        assert_eq!(
            identifiers(
                "`--dry-run` prints \"cannot open file\" twice, and `frobnicate()` \"nothing\"."
            ),
            ["cannot open file", "frobnicate", "--dry-run"]
        );
    }

    #[track_caller]
    fn case(path: &str, word: &str, expected: bool) {
        let start = path.to_lowercase().find(word).unwrap();
        assert_eq!(
            is_word(path, start, start + word.len()),
            expected,
            "{path} {word}"
        );
    }

    #[test]
    fn a_word_in_a_path_begins_and_ends_where_one_does() {
        case("src/parser.rs", "pars", true);
        case("src/parsers_old.rs", "pars", true);
        case("src/comparse.rs", "pars", false);
        case("src/particular.rs", "part", false);
        case("src/InvoiceTotals.ts", "total", true);
        case("src/XMLReader.ts", "reader", true);
        case("api/map.rs", "api", true);
        case("apis/map.rs", "api", true);
        case("apish/map.rs", "api", false);
        case("v2api3/map.rs", "api", true);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,80}") {
            let _ = stems([text.as_str()].into_iter());
            let _ = identifiers(&text);
        }
    }
}
