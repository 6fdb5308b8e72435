//! The key of an API: sent in one header, and shown nowhere.
//!
//! The type has neither `Display` nor `Serialize`, and its `Debug` shows nothing, so that a key can
//! only get out by [`ApiKey::expose`], which the client alone calls. Its memory is overwritten when
//! it is dropped, as far as safe Rust can promise that.

use std::cmp::Reverse;
use std::{fmt, mem};

use serde::{Deserialize, Serialize};

/// Shorter values are not searched for in texts: they would match by chance.
const SHORTEST_SEARCHED: usize = 6;
/// Words of a stand-in are no longer than this: a longer one may be a key without a digit.
const LONGEST_WORD: usize = 15;
/// Shorter keys have no fingerprint: a reader of it could guess the key.
const SHORTEST_FINGERPRINTED: usize = 20;
/// Stands where a key was.
const PLACEHOLDER: &str = "<API key>";

/// A key that never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Vec<u8>);

impl ApiKey {
    /// Takes a key as a person or a program wrote it: white space around it is dropped.
    ///
    /// `None` if nothing is left, or if it cannot be sent in a header.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_fit = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_fit.then(|| Self(text.as_bytes().to_vec()))
    }

    /// The key itself, for the header of a request.
    pub(crate) fn expose(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a key is made of graphic ASCII characters")
    }

    /// How many characters it has.
    #[expect(clippy::len_without_is_empty, reason = "no key is empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The key as texts may have it: as it is, and as a JSON text has it if that differs.
    pub fn forms(&self) -> Vec<Self> {
        let escaped = self.expose().replace('\\', r"\\").replace('"', r#"\""#);
        let mut forms = vec![self.clone()];
        if self.is_secret() && escaped != self.expose() {
            forms.push(Self(escaped.into_bytes()));
        }
        forms
    }

    /// Returns true if the text has the key in it, and the key is a secret.
    pub fn is_in(&self, text: &str) -> bool {
        self.is_secret() && text.contains(self.expose())
    }

    /// Returns false for a stand-in: clients that want a key for a server without one get plain words,
    /// as `ollama`, `not-needed` or `sk-no-key-required`. Where these are in a text they mean something
    /// else. Anything with a digit, a sign or capitals inside of a word is a secret.
    fn is_secret(&self) -> bool {
        let is_word = |word: &str| {
            let is_lower = |byte: u8| byte.is_ascii_lowercase();
            (1..=LONGEST_WORD).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_alphabetic())
                && (word.bytes().skip(1).all(is_lower) || !word.bytes().any(is_lower))
        };
        self.0.len() >= SHORTEST_SEARCHED && !self.expose().split(['-', '_', '.']).all(is_word)
    }

    /// The text without the key: some servers repeat it in their errors.
    pub fn scrub(&self, text: String) -> String {
        if self.is_in(&text) {
            text.replace(self.expose(), PLACEHOLDER)
        } else {
            text
        }
    }
}

/// Finds a key in texts where the key itself is not known: it says whether something is the key, and
/// not what the key is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyFingerprint {
    /// Any text, so that equal keys have different fingerprints.
    salt: String,
    length: usize,
    /// The sum of the key's bytes: most of a text is passed over without a digest.
    sum: u8,
    digest: String,
}

impl KeyFingerprint {
    /// The fingerprint of a key; `None` for a stand-in, and for a key that could be guessed from it.
    pub fn new(key: &ApiKey, salt: &str) -> Option<Self> {
        let is_kept = key.is_secret() && key.0.len() >= SHORTEST_FINGERPRINTED;
        is_kept.then(|| Self {
            salt: salt.to_owned(),
            length: key.0.len(),
            sum: sum(&key.0),
            digest: digest(salt, &key.0),
        })
    }

    /// Returns true if this is the fingerprint of the key.
    pub fn is_of(&self, key: &ApiKey) -> bool {
        self.is_match(&key.0)
    }

    /// The text without the key.
    pub fn scrub(&self, text: String) -> String {
        let mut scrubbed = String::new();
        let mut kept = 0;
        while let Some(at) = self.find(&text.as_bytes()[kept..]) {
            scrubbed.push_str(&text[kept..kept + at]);
            scrubbed.push_str(PLACEHOLDER);
            kept += at + self.length;
        }
        if kept == 0 {
            return text;
        }
        scrubbed + &text[kept..]
    }

    fn find(&self, bytes: &[u8]) -> Option<usize> {
        if self.length < SHORTEST_FINGERPRINTED || bytes.len() < self.length {
            return None;
        }
        let mut rolling = sum(&bytes[..self.length]);
        for at in 0..=bytes.len() - self.length {
            if at > 0 {
                rolling = rolling
                    .wrapping_sub(bytes[at - 1])
                    .wrapping_add(bytes[at + self.length - 1]);
            }
            let window = &bytes[at..at + self.length];
            let is_key_like = || window.iter().all(u8::is_ascii_graphic);
            if rolling == self.sum && is_key_like() && self.is_match(window) {
                return Some(at);
            }
        }
        None
    }

    fn is_match(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.length && digest(&self.salt, bytes) == self.digest
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes
        .iter()
        .fold(0, |sum: u8, byte| sum.wrapping_add(*byte))
}

fn digest(salt: &str, bytes: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("agent fingerprint of an API key");
    hasher.update(salt.as_bytes()).update(b"\0").update(bytes);
    hasher.finalize().to_hex().to_string()
}

/// Removes a key from a text that comes in pieces, wherever the pieces are cut.
#[derive(Debug, Clone)]
pub struct KeyFilter {
    sought: SoughtKey,
    /// The end of the text so far, if the key may begin with it.
    held: String,
}

/// A key that a filter looks for.
#[derive(Debug, Clone)]
enum SoughtKey {
    Known(ApiKey),
    /// One that can only be recognised.
    Fingerprinted(KeyFingerprint),
}

impl SoughtKey {
    fn scrub(&self, text: String) -> String {
        match self {
            Self::Known(key) => key.scrub(text),
            Self::Fingerprinted(print) => print.scrub(text),
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Known(key) => key.0.len(),
            Self::Fingerprinted(print) => print.length,
        }
    }

    /// How many bytes at the end of a text the key may begin with.
    fn begun(&self, text: &str) -> usize {
        let longest = text.len().min(self.length().saturating_sub(1));
        match self {
            Self::Known(key) if !key.is_secret() => 0,
            Self::Known(key) => {
                let is_beginning = |length: &usize| text.ends_with(&key.expose()[..*length]);
                (1..=longest).rev().find(is_beginning).unwrap_or(0)
            }
            // Any word may be the beginning: no key has a space in it.
            Self::Fingerprinted(_) => {
                let bytes = text.bytes().rev().take(longest);
                bytes.take_while(u8::is_ascii_graphic).count()
            }
        }
    }
}

impl KeyFilter {
    /// A filter at the beginning of a text.
    pub fn new(key: ApiKey) -> Self {
        Self::seeking(SoughtKey::Known(key))
    }

    /// A filter for a key of which only the fingerprint is known.
    pub fn of_fingerprint(print: KeyFingerprint) -> Self {
        Self::seeking(SoughtKey::Fingerprinted(print))
    }

    fn seeking(sought: SoughtKey) -> Self {
        Self {
            sought,
            held: String::new(),
        }
    }

    /// Takes the next piece, and returns what is known to be without the key.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut text = self.sought.scrub(mem::take(&mut self.held));
        self.held = text.split_off(text.len() - self.sought.begun(&text));
        text
    }

    /// Returns the rest, at the end of the text.
    pub fn finish(self) -> String {
        self.held
    }

    /// Returns the rest where a text broke off or pauses: most of a key is as good as the key.
    pub(crate) fn break_off(&mut self) -> String {
        let held = mem::take(&mut self.held);
        // A fingerprint holds back any word, and says nothing about a part of a key.
        let is_part = matches!(self.sought, SoughtKey::Known(_));
        if is_part && held.len() * 2 > self.sought.length() {
            PLACEHOLDER.to_owned()
        } else {
            held
        }
    }
}

/// Removes several keys from one text that comes in pieces: each filter takes what the one before lets
/// through.
#[derive(Debug, Clone, Default)]
pub struct KeyFilters(Vec<KeyFilter>);

impl FromIterator<KeyFilter> for KeyFilters {
    fn from_iter<T: IntoIterator<Item = KeyFilter>>(filters: T) -> Self {
        let mut filters: Vec<KeyFilter> = filters.into_iter().collect();
        // One key may begin with another.
        filters.sort_by_key(|filter| Reverse(filter.sought.length()));
        Self(filters)
    }
}

impl KeyFilters {
    /// These and others, at the beginning of a text.
    pub(crate) fn and(self, others: Self) -> Self {
        self.0.into_iter().chain(others.0).collect()
    }

    /// Takes the next piece, and returns what is known to be without the keys.
    pub fn push(&mut self, piece: &str) -> String {
        let filters = self.0.iter_mut();
        filters.fold(piece.to_owned(), |text, filter| filter.push(&text))
    }

    /// Returns the rest, at the end of the text.
    pub fn finish(self) -> String {
        self.0.into_iter().fold(String::new(), |rest, mut filter| {
            filter.push(&rest) + &filter.finish()
        })
    }

    /// Returns the rest where a text broke off or pauses, without most of a key.
    pub(crate) fn break_off(&mut self) -> String {
        let filters = self.0.iter_mut();
        filters.fold(String::new(), |rest, filter| {
            filter.push(&rest) + &filter.break_off()
        })
    }

    /// A whole text without the keys.
    pub(crate) fn scrub(&self, text: String) -> String {
        (self.0.iter()).fold(text, |text, filter| filter.sought.scrub(text))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PLACEHOLDER)
    }
}

impl Drop for ApiKey {
    fn drop(&mut self) {
        self.0.fill(0);
        // Keeps the compiler from dropping the writes above as dead.
        std::hint::black_box(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_and_never_printed() {
        let key = ApiKey::new("  sk-secret-123\n").unwrap();
        assert_eq!(key.expose(), "sk-secret-123");
        assert!(!format!("{key:?} {:#?}", Some(&key)).contains("secret"));
    }

    #[test]
    fn what_fits_no_header_is_no_key() {
        for text in ["", "  \n", "two words", "line\nbreak", "ключ"] {
            assert!(ApiKey::new(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn plain_words_are_stand_ins_and_no_secrets() {
        let scrubbed = |text: &str| ApiKey::new(text).unwrap().scrub(format!("{text}!"));
        for stand_in in [
            "ollama",
            "not-needed",
            "NOT_NEEDED",
            "Placeholder",
            "sk-no-key-required",
            "no.key.is.needed.for.this.server",
            "sk-1",
        ] {
            assert_eq!(scrubbed(stand_in), format!("{stand_in}!"));
            let key = ApiKey::new(stand_in).unwrap();
            assert_eq!(KeyFingerprint::new(&key, ""), None, "{stand_in}");
            assert_eq!(KeyFilter::new(key).push(stand_in), stand_in);
        }
        for key in [
            "team-7",
            "hunter2",
            "qX-secret",
            "a+plain/word",
            "-words-",
            "qwertyuiopasdfgh",
        ] {
            assert_eq!(scrubbed(key), "<API key>!");
        }
    }

    #[test]
    fn a_text_in_pieces_is_scrubbed_wherever_it_is_cut() {
        let key = ApiKey::new("sk-sk-secret-123").unwrap();
        let text = "sk-sk-sk-secret-123 größe sk-sk-secret-12 sk-sk-secret-123sk-";
        let expected = key.scrub(text.to_owned());
        assert_eq!(expected, "sk-<API key> größe sk-sk-secret-12 <API key>sk-");
        let characters: Vec<char> = text.chars().collect();
        for size in 1..=characters.len() {
            let mut filter = KeyFilter::new(key.clone());
            let mut passed = String::new();
            for piece in characters.chunks(size) {
                passed.push_str(&filter.push(&piece.iter().collect::<String>()));
            }
            passed.push_str(&filter.finish());
            assert_eq!(passed, expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_fingerprint_finds_the_key_and_does_not_show_it() {
        let key = ApiKey::new("sk-secret-0123456789abcdef").unwrap();
        let print = KeyFingerprint::new(&key, "salt").unwrap();
        let text = format!("größe={};{0}{0} sk-secret", key.expose());
        assert_eq!(
            print.scrub(text),
            "größe=<API key>;<API key><API key> sk-secret"
        );
        assert_eq!(print.scrub("größe".repeat(99)), "größe".repeat(99));
        assert!(!serde_json::to_string(&print).unwrap().contains("secret"));
        assert!(print.is_of(&key) && KeyFingerprint::new(&key, "other") != Some(print));
        assert_eq!(
            KeyFingerprint::new(&ApiKey::new("sk-123456").unwrap(), ""),
            None
        );
    }

    #[test]
    fn a_key_of_which_only_the_fingerprint_is_known_is_removed_from_pieces() {
        let key = ApiKey::new("sk-secret-0123456789abcdef").unwrap();
        let print = KeyFingerprint::new(&key, "salt").unwrap();
        let text = "ä x=sk-secret-0123456789abcdef;y sk-secret-0123456789abcde\nend";
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let mut filter = KeyFilter::of_fingerprint(print.clone());
            let told = filter.push(&text[..at]) + &filter.push(&text[at..]) + &filter.finish();
            assert_eq!(
                told, "ä x=<API key>;y sk-secret-0123456789abcde\nend",
                "{at}"
            );
        }
        let mut filter = KeyFilter::of_fingerprint(print);
        assert_eq!(filter.push("a line\n"), "a line\n");
    }

    #[test]
    fn several_keys_are_removed_from_pieces_and_what_breaks_off_stays_a_text() {
        let short = ApiKey::new("sk-secret-0123456789abc").unwrap();
        let long = ApiKey::new("sk-secret-0123456789abcdef").unwrap();
        let print = KeyFingerprint::new(&long, "salt").unwrap();
        let both = [KeyFilter::new(short), KeyFilter::of_fingerprint(print)];
        let both: KeyFilters = both.into_iter().collect();
        let text = "x sk-secret-0123456789abcdef sk-secret-0123456789abc! sk-secret-of-nobody";
        let expected = "x <API key> <API key>! sk-secret-of-nobody";
        assert_eq!(both.scrub(text.to_owned()), expected);
        for at in 0..text.len() {
            let mut filters = both.clone();
            let told = filters.push(&text[..at]) + &filters.push(&text[at..]);
            assert_eq!(told.clone() + &filters.clone().finish(), expected, "{at}");
            assert_eq!(told + &filters.break_off(), expected, "{at}");
        }
    }

    #[test]
    fn a_key_is_also_removed_as_json_has_it() {
        for text in [r#"sk-"quoted"\123"#, r"sk-ends-in-1\"] {
            let filters = || -> KeyFilters {
                let forms = ApiKey::new(text).unwrap().forms();
                forms.into_iter().map(KeyFilter::new).collect()
            };
            let json = serde_json::json!({ "key": text }).to_string();
            let expected = r#"{"key":"<API key>"}"#;
            assert_eq!(filters().scrub(json.clone()), expected);
            assert_eq!(filters().scrub(text.to_owned()), "<API key>");
            let mut pieces = filters();
            let told: String = json
                .chars()
                .map(|one| pieces.push(&one.to_string()))
                .collect();
            assert!(!told.contains(text), "{told}");
            assert!((told + &pieces.finish()).starts_with(r#"{"key":"<API key>"#));
        }
        assert_eq!(ApiKey::new("sk-secret-123").unwrap().forms().len(), 1);
        assert_eq!(ApiKey::new(r#"a"b"c"#).unwrap().forms().len(), 1);
    }

    #[test]
    fn most_of_a_key_at_a_break_is_not_passed_on() {
        let key = ApiKey::new("sk-secret-123").unwrap();
        let broken = |text: &str| {
            let mut filter = KeyFilter::new(key.clone());
            filter.push(text) + &filter.break_off()
        };
        assert_eq!(broken("it is sk-secret-12"), "it is <API key>");
        assert_eq!(broken("it is sk-s"), "it is sk-s");
    }

    #[test]
    fn a_text_is_scrubbed_of_it() {
        let key = ApiKey::new("sk-secret-123").unwrap();
        let scrubbed = key.scrub("no such key: sk-secret-123!".to_owned());
        assert_eq!(scrubbed, "no such key: <API key>!");
        // Too short to be searched for.
        let short = ApiKey::new("test").unwrap();
        assert_eq!(short.scrub("a test".to_owned()), "a test");
    }
}
