//! Recognises secrets that were found before.
//!
//! A long secret is recognised everywhere. A short one could be part of a word, so it must stand
//! alone. One that is an ordinary word, a file name or perhaps no secret is recognised only where
//! it is assigned to a telling name: `password: passed` is one, `status: passed` is not. In the
//! file where it was found, a secret is always recognised.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};

use super::super::TextSource;
use super::super::boundary::is_within_word;
use super::super::names::telling;
use super::super::shape::{distinct, is_word};
use super::{FoundPlaces, Secret, SecretPlace, Vault};

/// From this length on, a secret is no ordinary word, whatever it consists of.
const LONG: usize = 8;
/// From this length on, a secret is recognised outside its file.
const SHORT: usize = 6;
/// From this length on, a secret is recognised in its file.
const SHORTEST: usize = 4;

/// The number of bytes of a value that go into the automaton: more than a line of a key.
const BEGINNING: usize = 128;

/// Where a secret is recognised.
#[derive(Debug, Clone, Copy)]
enum RecognitionScope {
    Anywhere,
    /// Where there is no letter or digit next to it.
    Apart,
    /// Standing alone, and assigned to a telling name.
    Assigned,
}

impl RecognitionScope {
    fn of(value: &str, is_here: bool, is_weak: bool) -> Option<Self> {
        let is_word = is_word(value);
        match value.len() {
            SHORTEST.. if is_word && is_here => Some(Self::Apart),
            SHORT.. if is_word || (is_weak && !is_here) => Some(Self::Assigned),
            LONG.. if distinct(value) >= 6 => Some(Self::Anywhere),
            SHORTEST.. if is_here => Some(Self::Anywhere),
            SHORT.. if distinct(value) >= 4 => Some(Self::Apart),
            SHORT.. => Some(Self::Assigned),
            _ => None,
        }
    }

    fn includes(self, text: &str, range: &Range<usize>) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Apart => is_apart(text.as_bytes(), range),
            Self::Assigned => is_apart(text.as_bytes(), range) && is_assigned(text, range.start),
        }
    }
}

/// One value of a vault.
#[derive(Debug, Clone, Copy)]
struct KnownValue {
    reach: RecognitionScope,
    /// The indices of its secret and of the line in it.
    secret: usize,
    line: usize,
}

/// The beginnings of the values of a vault, in one automaton.
///
/// Building an automaton for a value that repeats itself takes quadratic time, and a key can be
/// long. So a long value is found by its beginning, and from there on compared with the text. A
/// truncated value is found that way too.
#[derive(Debug)]
struct Values {
    automaton: AhoCorasick,
    /// The values for each beginning.
    known: Vec<Vec<KnownValue>>,
}

impl Values {
    /// The values to look for, given which secrets are from this file; `None` if there are none.
    fn of(vault: &Vault, is_here: impl Fn(&Secret) -> bool) -> Option<Self> {
        let mut beginnings: BTreeMap<&str, BTreeMap<&str, KnownValue>> = BTreeMap::new();
        let kept = vault.secrets.iter().enumerate();
        for (secret, content) in kept.filter(|(_, secret)| secret.is_sent != Some(true)) {
            for (line, value) in content.lines.iter().enumerate() {
                let is_weak = content.is_doubtful || vault.plain_values.contains(value);
                let Some(reach) = RecognitionScope::of(value, is_here(content), is_weak) else {
                    continue;
                };
                let beginning = &value[..value.floor_char_boundary(BEGINNING)];
                let values = beginnings.entry(beginning).or_default();
                values.entry(value).or_insert(KnownValue {
                    reach,
                    secret,
                    line,
                });
            }
        }
        if beginnings.is_empty() {
            return None;
        }
        let mut builder = AhoCorasick::builder();
        let builder = builder.match_kind(MatchKind::LeftmostLongest);
        let automaton = builder.build(beginnings.keys()).ok()?;
        let known = beginnings.into_values();
        let known = known.map(|values| values.into_values().collect()).collect();
        Some(Self { automaton, known })
    }

    /// The ranges of the values in a text, with the indices of their secrets.
    fn find(&self, secrets: &[Secret], text: &str) -> Vec<(Range<usize>, usize)> {
        let (mut found, mut end) = (Vec::new(), 0);
        for hit in self.automaton.find_iter(text) {
            if hit.start() < end {
                continue;
            }
            let known = self.known[hit.pattern().as_usize()].iter();
            let known = known.map(|one| {
                let value = &secrets[one.secret].lines[one.line];
                (common_length(&text[hit.start()..], value), one)
            });
            let longest = known.max_by_key(|(length, _)| *length);
            if let Some((length, one)) = longest {
                let range = hit.start()..hit.start() + length;
                if one.reach.includes(text, &range) {
                    end = range.end;
                    found.push((range, one.secret));
                }
            }
        }
        found
    }
}

/// The length of the common prefix of a text and a value.
fn common_length(text: &str, value: &str) -> usize {
    let pairs = text.bytes().zip(value.bytes());
    let length = pairs.take_while(|(one, other)| one == other).count();
    value.floor_char_boundary(length)
}

/// The values to look for in texts that are not from their files, built on first use.
#[derive(Debug, Clone, Default)]
pub(super) struct Everywhere(OnceLock<Option<Arc<Values>>>);

impl Vault {
    /// The places of secrets in a text that were found before.
    pub(super) fn known_in(&self, text: &str, source: TextSource<'_>) -> FoundPlaces {
        let found = self.values_in(text, source).into_iter();
        let place = |(range, number): (Range<usize>, usize)| SecretPlace {
            range,
            kind: self.secrets[number].kind.clone(),
            is_alone: false,
        };
        found.map(place).collect()
    }

    /// Adds the secrets of another vault that occur in a text.
    pub fn foresee(&mut self, other: &Self, text: &str) {
        let found = other.values_in(text, TextSource::Text).into_iter();
        self.adopt(found.map(|(_, number)| &other.secrets[number]));
    }

    fn values_in(&self, text: &str, source: TextSource<'_>) -> Vec<(Range<usize>, usize)> {
        let path = source.path();
        let is_here = |secret: &Secret| path.is_some_and(|path| secret.files.contains(path));
        let build = || Values::of(self, is_here).map(Arc::new);
        let values = if self.secrets.iter().any(is_here) {
            build()
        } else {
            self.everywhere.0.get_or_init(build).clone()
        };
        values.map_or_else(Vec::new, |values| values.find(&self.secrets, text))
    }
}

/// Returns true if no letter or digit continues a value that begins or ends with one.
pub(super) fn is_apart(bytes: &[u8], range: &Range<usize>) -> bool {
    let is_alphanumeric = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let continues = is_alphanumeric(range.start) && is_within_word(bytes, range.start);
    let goes_on = is_alphanumeric(range.end - 1) && is_alphanumeric(range.end);
    !continues && !goes_on
}

/// Returns true if a telling name and `=` or `:` precede a position, with at most a few spaces and
/// quotes between.
fn is_assigned(text: &str, start: usize) -> bool {
    const FEW: usize = 8;
    const LONGEST_NAME: usize = 60;
    const BETWEEN: [char; 6] = [' ', '\t', '"', '\'', '`', '\\'];
    let from = text.ceil_char_boundary(start.saturating_sub(LONGEST_NAME + FEW));
    let before = text[from..start].trim_end_matches(BETWEEN);
    let Some(name) = before.strip_suffix(['=', ':']) else {
        return false;
    };
    let name = name.trim_end_matches(BETWEEN);
    let is_sign = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
    let name = name.rsplit(is_sign).next().unwrap_or_default();
    telling(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::super::Scanner;
    use super::*;

    #[track_caller]
    fn case(value: &str, text: &str, is_known: bool) {
        let (scanner, mut vault) = (Scanner::default(), Vault::default());
        let file = TextSource::File(".env");
        vault.redact(&scanner, &format!("DB_PASSWORD={value}\n"), file);
        assert_eq!(vault.secrets().len(), 1, "{value}");
        let redacted = vault.redact(&scanner, text, TextSource::Text).text;
        assert_eq!(!redacted.contains(value), is_known, "{redacted}");
    }

    #[test]
    fn a_short_secret_is_known_elsewhere_if_it_is_no_word() {
        case("hunter2", "it is hunter2.", true);
        case("hunter2", "see hunter21 and xhunter2", false);
        case("hunter22", "see xhunter22x", true);
        case("p-ssword", "(p-ssword)", true);
        case("swordfish", "the swordfish", false);
        case("swordfish", "x: \"swordfish\"", false);
        case("swordfish", "DB_PASSWORD=swordfish", true);
        case("swordfish", "{\"password\": \"swordfish\"}", true);
        case("northwesterly", "due northwesterly", false);
        case("passed", "status: passed", false);
        case("hunter2", "\"a\\nhunter2\"", true);
        case("swordfish", "fish::swordfish", false);
        case("a-1b", "x=a-1b", false);
        case("Tr0ub4dor&3xyz", "xTr0ub4dor&3xyzx", true);
    }

    #[test]
    fn a_long_secret_is_known_as_far_as_it_goes() {
        let (scanner, mut vault) = (Scanner::default(), Vault::default());
        let (key, other) = ("aB3kQ2mZ".repeat(40), "aB3kQ2mZ".repeat(22) + "x");
        for value in [&key, &other] {
            let line = format!("DB_PASSWORD={value}\n");
            vault.redact(&scanner, &line, TextSource::File(".env"));
        }
        let mut case = |text: &str, expected: &str| {
            let redacted = vault.redact(&scanner, text, TextSource::Text).text;
            assert_eq!(redacted, expected);
        };
        case(&format!("-{key}-"), "-[SECRET-1 password]-");
        case(&format!("-{other}-"), "-[SECRET-2 password]-");
        case(&format!("-{}-", &key[..200]), "-[SECRET-3 password]-");
        case(&format!("-{}-", &key[..100]), &format!("-{}-", &key[..100]));
    }
}
