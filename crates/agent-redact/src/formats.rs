//! Token formats of vendors, and the single pass over the text that finds them.
//!
//! A format is a word that each of its tokens contains, and a pattern that begins at the word or
//! shortly before it. The secret is group 1 of the pattern, or the whole match if there is no
//! group. To add a format, add a line to `FORMATS` (`formats::table`) and a sample to the tests.
//!
//! The work is linear in the length of the text, whatever it repeats. A word costs at most its
//! format's reach, and nothing within an earlier match of its format. Formats with a long reach
//! match runs of letters, digits, `-` and `_`. If one fails in a run, every later start in the run
//! fails for the same reason, so each run is read once.

mod table;

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::Regex;

use self::table::{AUTHORIZATION, FORMATS, PASSWORD, TokenFormat, URL_PASSWORD};
use super::boundary::is_within_word;
use super::plausible::{is_password, is_sample, is_template, is_token};
use super::{SecretFinding, TextSource, assigned, keys, logins, names, pem};

/// The kinds of tokens that have a known format, each once.
pub fn kinds() -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = FORMATS.iter().map(|format| format.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The kind of secret that a word in the text may start.
#[derive(Debug, Clone, Copy)]
enum Lead {
    Format(usize),
    KeyBegins,
    KeyEnds,
    EncodedKey,
    PuttyKey,
    Name,
}

/// The automaton of all words, the leads of each word, and the patterns, compiled on first use.
struct TokenMatcher {
    words: AhoCorasick,
    leads: Vec<Lead>,
    patterns: Vec<OnceLock<Regex>>,
}

static MACHINE: LazyLock<TokenMatcher> = LazyLock::new(|| {
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
    TokenMatcher {
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

/// Finds the secrets that the words of the text lead to.
pub(super) fn scan(text: &str, source: TextSource<'_>) -> Vec<SecretFinding> {
    let machine = &*MACHINE;
    let (mut found, mut assigned, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    // Matches of one format can overlap; no match starts before the end of the last one.
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
            Lead::KeyBegins => marks.push(pem::KeyMarker::Begin(word.start())),
            Lead::KeyEnds => marks.push(pem::KeyMarker::End(word.start())),
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
    // A known format says more than the name of a variable.
    found.extend(assigned);
    found
}

impl TokenMatcher {
    /// The token at this word, and the position before which there is no other of its format.
    fn token(&self, index: usize, text: &str, word: usize) -> (Option<SecretFinding>, usize) {
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
        let finding = is_plausible.then(|| SecretFinding::new(format.kind, vec![range]));
        (finding, end)
    }
}

/// The number of letters, digits, `-` and `_` at the start.
fn run_length(bytes: &[u8]) -> usize {
    let is_run = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    bytes.iter().take_while(is_run).count()
}

fn compile(format: &TokenFormat) -> Regex {
    let anchor = if format.before == 0 { r"\A" } else { "" };
    Regex::new(&format!("(?-u){anchor}(?:{})", format.pattern))
        .expect("the patterns of the table are sound; a test compiles each")
}

/// Returns true if the word is within a longer one; `my_aws_secret` is fine, `xghp_` is not.
fn continues_a_word(bytes: &[u8], word: usize, format: &TokenFormat) -> bool {
    let is_name = bytes[word].is_ascii_alphanumeric() && !format.pattern.starts_with("(?i:");
    is_name && is_within_word(bytes, word)
}

fn is_plausible(kind: &str, value: &str) -> bool {
    match kind {
        URL_PASSWORD => is_url_password(value),
        "bearer-token" | "basic-credentials" | AUTHORIZATION | PASSWORD => {
            is_password(value) && !is_template(value)
        }
        // These formats are common, but ordinary words have no digits.
        "api-key" | "crates-token" | "notion-token" | "nuget-key" => {
            is_token(value) && value.bytes().any(|byte| byte.is_ascii_digit())
        }
        _ => is_token(value),
    }
}

/// Returns true if the password of a URL is real. Any value there is a password, unless it is a
/// placeholder.
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
