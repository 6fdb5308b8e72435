//! The secrets of a session and their placeholders.
//!
//! A secret has the same placeholder for the whole session: `[SECRET-1 github-token]`, and
//! `[SECRET-2.7 private-key]` for the seventh line of a key. Once found, a secret is recognised
//! wherever it appears again (`known`), unless it is ordinary text there (`plain`). The number of
//! secrets with a placeholder of their own is limited; further ones are still redacted, with a
//! placeholder that cannot be resolved. A placeholder that this vault cannot resolve must never be
//! written to a file: it would overwrite the secret that it stands for elsewhere.

mod known;
mod plain;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use self::known::Everywhere;
pub use self::plain::Plain;
use super::rules::{pattern, table};
use super::{Scanner, SecretFinding, TextSource, pem, without_overlaps};

/// The places of secrets in a text.
pub type FoundPlaces = Vec<SecretPlace>;

/// The maximum number of secrets that have a placeholder of their own and are kept.
const MAX_SECRETS: usize = 500;
/// The maximum number of secrets that are recognised.
pub const MAX_KNOWN: usize = 10_000;
/// The maximum number of files that are remembered for a secret.
const MAX_FILES: usize = 50;
/// The start of every placeholder.
const MARK: &str = "[SECRET-";

/// The secrets of a session, in the order in which they were found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "VaultJson", into = "VaultJson")]
pub struct Vault {
    /// The first `MAX_SECRETS` have placeholders of their own, by number.
    secrets: Vec<Secret>,
    /// The secret that a value belongs to, and the line of it.
    index: BTreeMap<String, (usize, usize)>,
    /// Text that every message contains.
    plain: Plain,
    /// The values that occur in `plain`.
    plain_values: BTreeSet<String>,
    /// Derived from the known values, and reset when they change.
    everywhere: Everywhere,
}

/// Only the secrets are compared; everything else is derived from them or from where they are
/// looked for.
impl PartialEq for Vault {
    fn eq(&self, other: &Self) -> bool {
        self.secrets == other.secrets
    }
}

impl Eq for Vault {}

/// A secret and the files it was seen in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// The kind.
    pub kind: String,
    /// The value; several values are the lines of a key.
    pub lines: Vec<String>,
    /// The files in which it was seen.
    #[serde(default)]
    pub files: BTreeSet<String>,
    /// True if it may not be a secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_doubtful: bool,
    /// The person's answer if they were asked about it: true if it is sent as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_sent: Option<bool>,
}

impl Secret {
    /// A secret that was found in a text from this source.
    fn found<'t>(
        kind: &str,
        lines: impl IntoIterator<Item = &'t str>,
        source: TextSource<'_>,
    ) -> Self {
        Self {
            kind: kind.to_owned(),
            lines: lines.into_iter().map(str::to_owned).collect(),
            files: source.path().map(str::to_owned).into_iter().collect(),
            is_doubtful: false,
            is_sent: None,
        }
    }

    /// Returns true if it may be a sample or no secret at all: it has a doubtful name, or was seen
    /// only in tests and documentation.
    pub fn may_be_harmless(&self) -> bool {
        let is_of_tests = |file: &String| pattern!(table::TESTS).is_match(file);
        self.is_doubtful || (!self.files.is_empty() && self.files.iter().all(is_of_tests))
    }
}

/// The serialised form of a vault.
#[derive(Serialize, Deserialize)]
struct VaultJson {
    secrets: Vec<Secret>,
}

impl From<VaultJson> for Vault {
    fn from(kept: VaultJson) -> Self {
        let mut vault = Self::default();
        for secret in kept.secrets {
            vault.add(secret);
        }
        vault
    }
}

impl From<Vault> for VaultJson {
    fn from(vault: Vault) -> Self {
        let mut secrets = vault.secrets;
        secrets.truncate(MAX_SECRETS);
        Self { secrets }
    }
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text with placeholders.
    pub text: String,
    /// The numbers of the secrets in it; 0 is one that is not kept.
    pub numbers: BTreeSet<usize>,
}

/// A part of a text that is a secret or a line of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretPlace {
    /// The range in the text.
    pub range: Range<usize>,
    /// The kind of secret.
    pub kind: String,
    /// True if it is the whole secret, not one line of a key.
    pub is_alone: bool,
}

impl SecretPlace {
    /// The places of what was found.
    fn of(found: SecretFinding) -> impl Iterator<Item = Self> {
        let is_alone = found.parts.len() == 1 && found.kind != pem::KIND;
        found.parts.into_iter().map(move |range| Self {
            range,
            kind: found.kind.to_owned(),
            is_alone,
        })
    }
}

/// A placeholder where it must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// The placeholder.
    pub placeholder: String,
    /// The files in which its secret was seen; `None` if it stands for no secret of this vault.
    pub files: Option<BTreeSet<String>>,
}

impl Vault {
    /// Returns true if there are no secrets in it.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The secrets, in the order in which they were found.
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// The secret with this number, from 1.
    pub fn secret(&self, number: usize) -> Option<&Secret> {
        self.secrets.get(number.checked_sub(1)?)
    }

    /// Learns the secrets of a text and replaces them by placeholders.
    pub fn redact(&mut self, scanner: &Scanner, text: &str, source: TextSource<'_>) -> Redacted {
        let places = self.learn(scanner, text, source, MAX_KNOWN);
        self.replace(text, source, places)
    }

    /// Replaces the secrets in these places of a text, and all that are known, by placeholders.
    pub fn replace(&mut self, text: &str, source: TextSource<'_>, places: FoundPlaces) -> Redacted {
        let mut redacted = Redacted {
            text: String::with_capacity(text.len()),
            numbers: BTreeSet::new(),
        };
        let mut written = 0;
        for SecretPlace { range, kind, .. } in self.with_known(text, source, places) {
            redacted.text.push_str(&text[written..range.start]);
            let value = &text[range.clone()];
            // A part of a known secret has a placeholder that stands for that part.
            if !self.index.contains_key(value) {
                self.adopt([&Secret::found(&kind, [value], source)]);
            }
            let number = self.write_placeholder(&mut redacted.text, value, &kind);
            redacted.numbers.insert(number);
            written = range.end;
        }
        redacted.text.push_str(&text[written..]);
        redacted
    }

    /// The numbers among these of the secrets that the person should be asked about: they may be
    /// harmless, and nobody was asked yet.
    pub fn open_doubts(&self, numbers: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let is_open = |number: &usize| {
            let secret = self.secret(*number).filter(|_| *number <= MAX_SECRETS);
            secret.is_some_and(|secret| secret.is_sent.is_none() && secret.may_be_harmless())
        };
        numbers.into_iter().filter(is_open).collect()
    }

    /// Notes the person's answer about the secret with this number.
    pub fn answer(&mut self, number: usize, is_sent: bool) {
        let at = number.checked_sub(1);
        if let Some(secret) = at.and_then(|at| self.secrets.get_mut(at)) {
            secret.is_sent = Some(is_sent);
            self.everywhere = Everywhere::default();
        }
    }

    /// Puts secrets that are sent back in the place of their placeholders. `None` if there are none
    /// in the text.
    pub fn restore_sent(&self, text: &str) -> Option<String> {
        self.substitute(text, |secret, line| {
            (secret.is_sent == Some(true)).then(|| line.to_owned())
        })
    }

    /// Replaces the placeholders for which there is a value; `None` if there are none in the text.
    fn substitute(
        &self,
        text: &str,
        value: impl Fn(&Secret, &str) -> Option<String>,
    ) -> Option<String> {
        let (mut substituted, mut written) = (String::new(), 0);
        for range in placeholders(text) {
            let found = self.stands_for(&text[range.clone()]);
            if let Some(value) = found.and_then(|(_, secret, line)| value(secret, line)) {
                substituted.push_str(&text[written..range.start]);
                substituted.push_str(&value);
                written = range.end;
            }
        }
        (written > 0).then(|| substituted + &text[written..])
    }

    /// Returns true if the person lets this value be sent as it is.
    fn is_sent(&self, value: &str) -> bool {
        let number = self.index.get(value);
        number.is_some_and(|(number, _)| self.secrets[*number].is_sent == Some(true))
    }

    /// Learns at most `most` new secrets of a text; returns their places.
    pub fn learn(
        &mut self,
        scanner: &Scanner,
        text: &str,
        source: TextSource<'_>,
        most: usize,
    ) -> FoundPlaces {
        let mut places = Vec::new();
        let before = self.secrets.len();
        for finding in scanner.scan(text, source) {
            let lines = finding.parts.iter().map(|part| &text[part.clone()]);
            let mut secret = Secret::found(finding.kind, lines, source);
            secret.is_doubtful = finding.is_doubtful;
            self.take_over(&secret, before.saturating_add(most));
            places.extend(SecretPlace::of(finding));
        }
        self.note_plain(before);
        places
    }

    /// Leaves values unredacted that are also ordinary text, unless a name says that they are
    /// secret.
    pub fn spare(&mut self, plain: Plain) {
        let before = std::mem::take(&mut self.plain_values);
        self.plain = plain;
        self.note_plain(0);
        if self.plain_values != before {
            self.everywhere = Everywhere::default();
        }
    }

    /// The ordinary text of messages.
    pub fn plain(&self) -> Plain {
        self.plain.clone()
    }

    /// Marks the secrets from this index on that are also ordinary text.
    fn note_plain(&mut self, first: usize) {
        let new = self.secrets[first..].iter();
        let alone = new.filter_map(|secret| match secret.lines.as_slice() {
            [value] => Some(value.as_str()),
            _ => None,
        });
        let plain = self.plain.among(alone);
        self.plain_values.extend(plain);
    }

    /// The places of the secrets in a text, in order, without learning new ones.
    pub fn places(&self, scanner: &Scanner, text: &str, source: TextSource<'_>) -> FoundPlaces {
        let found = scanner.scan(text, source).into_iter();
        self.with_known(text, source, found.flat_map(SecretPlace::of).collect())
    }

    /// These places and those of all known secrets, in order, except where the secret is sent.
    fn with_known(
        &self,
        text: &str,
        source: TextSource<'_>,
        mut places: FoundPlaces,
    ) -> FoundPlaces {
        places.extend(self.known_in(text, source));
        places.retain(|place| !self.is_sent(&text[place.range.clone()]));
        without_overlaps(places, |place| (place.range.start, place.range.end))
    }

    /// The numbers of the secrets whose placeholders are in a text; 0 is one that is not kept.
    pub fn numbers_in(&self, text: &str) -> BTreeSet<usize> {
        let number = |placeholder: &str| match self.stands_for(placeholder) {
            Some((number, ..)) => Some(number),
            None => placeholder[MARK.len()..].starts_with('X').then_some(0),
        };
        placeholders(text)
            .filter_map(|range| number(&text[range]))
            .collect()
    }

    /// Replaces placeholders by their secrets, each if `may` allows it.
    ///
    /// `quoted` escapes a secret as its position requires. `None` if there is no placeholder of
    /// this vault in the text. A placeholder that cannot be resolved stays, if `may` allows it.
    pub fn reveal(
        &self,
        text: &str,
        may: &mut dyn FnMut(&str, Option<&Secret>) -> bool,
        quoted: &dyn Fn(&str) -> String,
    ) -> Result<Option<String>, Misplaced> {
        for range in placeholders(text) {
            let placeholder = &text[range];
            let secret = self.stands_for(placeholder).map(|(_, secret, _)| secret);
            if !may(placeholder, secret) {
                return Err(Misplaced {
                    placeholder: placeholder.to_owned(),
                    files: secret.map(|secret| secret.files.clone()),
                });
            }
        }
        Ok(self.substitute(text, |_, line| Some(quoted(line))))
    }

    /// Adds secrets of another vault that are not known yet.
    pub fn adopt<'s>(&mut self, secrets: impl IntoIterator<Item = &'s Secret>) {
        let before = self.secrets.len();
        for secret in secrets {
            self.take_over(secret, MAX_KNOWN);
        }
        self.note_plain(before);
    }

    /// Adds the unknown parts of a secret, if fewer than `most` are known; remembers its files.
    fn take_over(&mut self, secret: &Secret, most: usize) {
        let is_new = |line: &&String| !self.index.contains_key(*line);
        let new: Vec<String> = secret.lines.iter().filter(is_new).cloned().collect();
        if !new.is_empty() && self.secrets.len() < most.min(MAX_KNOWN) {
            self.add(Secret {
                lines: new,
                ..secret.clone()
            });
        }
        let first = secret.lines.first();
        let known = first.and_then(|line| self.index.get(line));
        let Some(known) = known.map(|(number, _)| &mut self.secrets[*number]) else {
            return;
        };
        let room = MAX_FILES.saturating_sub(known.files.len());
        let files = secret.files.difference(&known.files);
        let files: Vec<String> = files.take(room).cloned().collect();
        known.files.extend(files);
        if known.is_doubtful && !secret.is_doubtful {
            known.is_doubtful = false;
            self.everywhere = Everywhere::default();
        }
    }

    fn add(&mut self, secret: Secret) {
        self.everywhere = Everywhere::default();
        let number = self.secrets.len();
        for (line, value) in secret.lines.iter().enumerate() {
            self.index.entry(value.clone()).or_insert((number, line));
        }
        self.secrets.push(secret);
    }

    fn write_placeholder(&self, text: &mut String, value: &str, kind: &str) -> usize {
        let named = self.index.get(value);
        let Some((number, line)) = named.filter(|(number, _)| *number < MAX_SECRETS) else {
            text.push_str(&nameless(kind));
            return 0;
        };
        let secret = &self.secrets[*number];
        let _ = write!(text, "{MARK}{}", number + 1);
        if secret.lines.len() > 1 {
            let _ = write!(text, ".{}", line + 1);
        }
        let _ = write!(text, " {}]", secret.kind);
        number + 1
    }

    /// The secret that a placeholder stands for, its number and the line of it.
    ///
    /// Only the number counts: models shorten placeholders, and a wrong kind is no reason to
    /// overwrite a secret with its placeholder.
    fn stands_for(&self, placeholder: &str) -> Option<(usize, &Secret, &str)> {
        let inner = placeholder.strip_prefix(MARK)?.strip_suffix(']')?;
        let number = inner.split(' ').next().unwrap_or_default();
        let (number, line) = match number.split_once('.') {
            Some((number, line)) => (number, line.parse::<usize>().ok()?),
            None => (number, 1),
        };
        let number = number
            .parse()
            .ok()
            .filter(|number| *number <= MAX_SECRETS)?;
        let secret = self.secret(number)?;
        Some((number, secret, secret.lines.get(line.checked_sub(1)?)?))
    }
}

/// The placeholder of a secret that is not kept.
pub fn nameless(kind: &str) -> String {
    format!("{MARK}X {kind}]")
}

/// Returns true if a text may have a placeholder in it.
pub fn may_have_placeholders(text: &str) -> bool {
    text.contains(MARK)
}

/// The first placeholder in a text, of any vault.
pub fn placeholder_in(text: &str) -> Option<&str> {
    placeholders(text).next().map(|range| &text[range])
}

/// The ranges of the placeholders in a text, of any vault: `[SECRET-`, a number or `X`, a few words
/// and `]`. One that contains the start of another one is incomplete, so it is none.
fn placeholders(text: &str) -> impl Iterator<Item = Range<usize>> {
    const LONGEST: usize = 64;
    let form = pattern!(r"\[SECRET-(?:X(?: [^\[\]\n]*)?|[0-9][^\[\]\n]*)\]");
    let found = form.find_iter(text).map(|found| found.range());
    found.filter(|range| range.len() <= LONGEST)
}
