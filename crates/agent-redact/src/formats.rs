//! The formats that vendors gave their tokens, and the one reading of the text that finds them.
//!
//! A format is a word that every token of it contains, and a pattern that begins at the word or
//! shortly before it. The pattern's group 1 is the secret, or all of it where there is no group. To
//! add a format, add a line to `FORMATS` (`formats::table`) and a sample to the tests.
//!
//! The work grows with the text, whatever is repeated in it. A word costs at most its format's reach,
//! and nothing within what its format has matched already, plausible or not. Those formats that reach
//! far go by a run of letters, digits, `-` and `_`: where one has failed, every other beginning in the
//! same run fails for the same reason, so each run is read once.

mod table;

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::Regex;

use self::table::{AUTHORIZATION, FORMATS, Format, PASSWORD, URL_PASSWORD};
use super::boundary::is_within_word;
use super::plausible::{is_password, is_sample, is_template, is_token};
use super::{Finding, Source, assigned, keys, logins, names, pem};

/// The kinds of tokens that are known by their form, each once.
pub fn kinds() -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = FORMATS.iter().map(|format| format.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// What a word in the text may begin.
#[derive(Debug, Clone, Copy)]
enum Lead {
    Format(usize),
    KeyBegins,
    KeyEnds,
    EncodedKey,
    PuttyKey,
    Name,
}

/// The automaton of all words, what each leads to, and the patterns as they are needed.
struct Machine {
    words: AhoCorasick,
    leads: Vec<Lead>,
    patterns: Vec<OnceLock<Regex>>,
}

static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
    let mut words: Vec<&str> = Vec::new();
    let mut leads = Vec::new();
    for (index, format) in FORMATS.iter().enumerate() {
        words.extend(format.words);
        leads.resize(words.len(), Lead::Format(index));
    }
    let marks = [
        ("-----begin ", Lead::KeyBegins),
        ("-----end ", Lead::KeyEnds),
        (keys::ENCODED, Lead::EncodedKey),
        (keys::PUTTY, Lead::PuttyKey),
    ];
    words.extend(marks.map(|(word, _)| word));
    leads.extend(marks.map(|(_, lead)| lead));
    words.extend(names::LEADS);
    leads.resize(words.len(), Lead::Name);
    Machine {
        words: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words)
            .expect("the words are few and short"),
        leads,
        patterns: FORMATS.iter().map(|_| OnceLock::new()).collect(),
    }
});

/// Finds what the words of the text lead to.
pub(super) fn scan(text: &str, source: Source<'_>) -> Vec<Finding> {
    let machine = &*MACHINE;
    let (mut found, mut assigned, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    // A text of one format overlaps itself; behind its end there is no second look.
    let mut done = vec![0; FORMATS.len()];
    let mut done_keys = 0;
    for word in machine.words.find_overlapping_iter(text) {
        match machine.leads[word.pattern().as_usize()] {
            Lead::Format(index) if word.start() < done[index] => {}
            Lead::Format(index) => {
                let (finding, end) = machine.token(index, text, word.start());
                done[index] = end;
                found.extend(finding);
            }
            Lead::KeyBegins => marks.push(pem::Mark::Begin(word.start())),
            Lead::KeyEnds => marks.push(pem::Mark::End(word.start())),
            Lead::EncodedKey | Lead::PuttyKey if word.start() < done_keys => {}
            Lead::EncodedKey => {
                let (finding, end) = keys::encoded_at(text, word.start());
                done_keys = end;
                found.extend(finding);
            }
            Lead::PuttyKey => found.extend(keys::putty_at(text, word.end())),
            Lead::Name => {
                assigned.extend(assigned::at(text, word.range(), source));
                assigned.extend(logins::at(text, word.range()));
            }
        }
    }
    found.extend(pem::scan(text, &marks));
    // A form tells more than the name that something was assigned to.
    found.extend(assigned);
    found
}

impl Machine {
    /// The token at this word, and up to where there is no other of its format.
    fn token(&self, index: usize, text: &str, word: usize) -> (Option<Finding>, usize) {
        let format = &FORMATS[index];
        let bytes = text.as_bytes();
        let start = word.saturating_sub(format.before);
        if format.before == 0 && continues_a_word(bytes, word, format) {
            return (None, word);
        }
        let window = &bytes[start..(word + format.reach).min(bytes.len())];
        let pattern = self.patterns[index].get_or_init(|| compile(format));
        let captures = pattern.captures(window);
        let part = captures.and_then(|captures| captures.get(1).or_else(|| captures.get(0)));
        let Some(part) = part else {
            let end = if format.is_long() {
                word + run_length(&window[word - start..])
            } else {
                word
            };
            return (None, end);
        };
        let range = start + part.start()..start + part.end();
        if bytes.get(range.end).is_some_and(u8::is_ascii_alphanumeric)
            || (format.before > 0 && is_within_word(bytes, range.start))
        {
            return (None, range.end);
        }
        let value = text.get(range.clone());
        let is_plausible = value.is_some_and(|value| is_plausible(format.kind, value));
        let end = range.end;
        let finding = is_plausible.then(|| Finding::new(format.kind, vec![range]));
        (finding, end)
    }
}

/// How many letters, digits, `-` and `_` stand at the beginning.
fn run_length(bytes: &[u8]) -> usize {
    let is_run = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    bytes.iter().take_while(is_run).count()
}

fn compile(format: &Format) -> Regex {
    let anchor = if format.before == 0 { r"\A" } else { "" };
    Regex::new(&format!("(?-u){anchor}(?:{})", format.pattern))
        .expect("the patterns of the table are sound; a test compiles each")
}

/// Whether the word is the end or the middle of a longer one; `my_aws_secret` is fine, `xghp_` is not.
fn continues_a_word(bytes: &[u8], word: usize, format: &Format) -> bool {
    let is_name = bytes[word].is_ascii_alphanumeric() && !format.pattern.starts_with("(?i:");
    is_name && is_within_word(bytes, word)
}

fn is_plausible(kind: &str, value: &str) -> bool {
    match kind {
        URL_PASSWORD => is_url_password(value),
        "bearer-token" | "basic-credentials" | AUTHORIZATION | PASSWORD => {
            is_password(value) && !is_template(value)
        }
        // Their forms are common, but words have no digits in them.
        "api-key" | "crates-token" | "notion-token" | "nuget-key" => {
            is_token(value) && value.bytes().any(|byte| byte.is_ascii_digit())
        }
        _ => is_token(value),
    }
}

/// Whether the password of a URL is one: whoever writes one there means it, unless it is a stand-in.
fn is_url_password(value: &str) -> bool {
    const STAND_INS: [&str; 14] = [
        "pass",
        "passwd",
        "password",
        "passwort",
        "secret",
        "token",
        "user",
        "username",
        "test",
        "root",
        "admin",
        "guest",
        "postgres",
        "mypassword",
    ];
    let is_stand_in = STAND_INS
        .iter()
        .any(|word| word.eq_ignore_ascii_case(value));
    !is_stand_in && !is_sample(value) && !is_template(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_its_words_are_in_lower_case() {
        for format in FORMATS {
            compile(format);
            for word in format.words {
                assert_eq!(*word, word.to_ascii_lowercase());
            }
        }
    }

    #[test]
    fn many_formats_are_known() {
        assert!(kinds().len() >= 60, "{}", kinds().len());
    }
}
