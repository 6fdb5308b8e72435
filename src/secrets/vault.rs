//! What the placeholders of a session stand for.
//!
//! The same secret has the same placeholder for the whole session: `[SECRET-1 github-token]`, and
//! `[SECRET-2.7 private-key]` for the seventh line of a key. A secret that was found once is known
//! wherever it stands again, unless it is so short that it could be an ordinary word. The number of
//! secrets is bounded; beyond it they are still taken out, by a placeholder that stands for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Deserialize, Serialize};

use super::plausible::distinct;
use super::{Scanner, Source};

/// How many secrets a session remembers.
const MAX_SECRETS: usize = 500;
/// In how many files a secret is remembered to stand.
const MAX_FILES: usize = 50;
/// From which length on a secret is known wherever it stands.
const KNOWN_EVERYWHERE: usize = 12;
/// How every placeholder begins.
const MARK: &str = "[SECRET-";

/// The secrets of a session, in the order in which they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Kept", into = "Kept")]
pub struct Vault {
    secrets: Vec<Secret>,
    /// Which secret a value belongs to, and which line of it it is.
    index: BTreeMap<String, (usize, usize)>,
}

/// A secret and where it stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// What it is.
    pub kind: String,
    /// Its value; several are the lines of a key.
    pub lines: Vec<String>,
    /// The files in which it was seen.
    #[serde(default)]
    pub files: BTreeSet<String>,
}

/// How a vault is written down.
#[derive(Serialize, Deserialize)]
struct Kept {
    secrets: Vec<Secret>,
}

impl From<Kept> for Vault {
    fn from(kept: Kept) -> Self {
        let mut vault = Self::default();
        for secret in kept.secrets {
            vault.add(secret);
        }
        vault
    }
}

impl From<Vault> for Kept {
    fn from(vault: Vault) -> Self {
        Self {
            secrets: vault.secrets,
        }
    }
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text with placeholders.
    pub text: String,
    /// The numbers of the secrets that stood in it; 0 is one too many to remember.
    pub numbers: BTreeSet<usize>,
}

/// A placeholder in a place where it must not stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// The placeholder.
    pub placeholder: String,
    /// The files in which its secret was seen.
    pub files: Vec<String>,
}

impl Vault {
    /// Whether there is no secret in it.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// How many secrets it holds.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// The secret of this number, counted from 1.
    pub fn secret(&self, number: usize) -> Option<&Secret> {
        self.secrets.get(number.checked_sub(1)?)
    }

    /// Learns the secrets of a text and puts placeholders in their place.
    pub fn redact(&mut self, scanner: &Scanner, text: &str, source: Source<'_>) -> Redacted {
        let mut places = self.learn(scanner, text, source);
        places.extend(self.known_in(text, source));
        places.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut redacted = Redacted {
            text: String::with_capacity(text.len()),
            numbers: BTreeSet::new(),
        };
        let mut written = 0;
        for (range, kind) in places {
            if range.start < written {
                continue;
            }
            redacted.text.push_str(&text[written..range.start]);
            let number = self.write_placeholder(&mut redacted.text, &text[range.clone()], &kind);
            redacted.numbers.insert(number);
            written = range.end;
        }
        redacted.text.push_str(&text[written..]);
        redacted
    }

    /// Learns the secrets of a text; gives their places and kinds.
    pub fn learn(
        &mut self,
        scanner: &Scanner,
        text: &str,
        source: Source<'_>,
    ) -> Vec<(Range<usize>, String)> {
        let mut places = Vec::new();
        for finding in scanner.scan(text, source) {
            let value = |part: &Range<usize>| text[part.clone()].to_owned();
            let new = finding.parts.iter().map(value);
            let new: Vec<String> = new.filter(|line| !self.index.contains_key(line)).collect();
            if !new.is_empty() && self.secrets.len() < MAX_SECRETS {
                self.add(Secret {
                    kind: finding.kind.to_owned(),
                    lines: new,
                    files: BTreeSet::new(),
                });
            }
            if let Source::File(path) = source {
                self.note_file(&text[finding.parts[0].clone()], path);
            }
            let kind = finding.kind.to_owned();
            places.extend(finding.parts.into_iter().map(|part| (part, kind.clone())));
        }
        places
    }

    /// Puts the secrets back where placeholders stand, if `may` says so of each.
    ///
    /// `quoted` writes a secret as the place needs it. Nothing if there is no placeholder of ours in the text. One that this vault does not know is
    /// text like any other.
    pub fn reveal(
        &self,
        text: &str,
        may: &mut dyn FnMut(&Secret) -> bool,
        quoted: &dyn Fn(&str) -> String,
    ) -> Result<Option<String>, Misplaced> {
        let mut revealed = String::new();
        let mut written = 0;
        let mut from = 0;
        while let Some(at) = text[from..].find(MARK) {
            let start = from + at;
            from = start + MARK.len();
            let Some((length, secret, line)) = self.read_placeholder(&text[start..]) else {
                continue;
            };
            if !may(secret) {
                return Err(Misplaced {
                    placeholder: text[start..start + length].to_owned(),
                    files: secret.files.iter().cloned().collect(),
                });
            }
            revealed.push_str(&text[written..start]);
            revealed.push_str(&quoted(&secret.lines[line]));
            written = start + length;
            from = written;
        }
        if written == 0 {
            return Ok(None);
        }
        revealed.push_str(&text[written..]);
        Ok(Some(revealed))
    }

    fn add(&mut self, secret: Secret) {
        let number = self.secrets.len();
        for (line, value) in secret.lines.iter().enumerate() {
            self.index.entry(value.clone()).or_insert((number, line));
        }
        self.secrets.push(secret);
    }

    fn note_file(&mut self, value: &str, path: &str) {
        if let Some((number, _)) = self.index.get(value) {
            let files = &mut self.secrets[*number].files;
            if files.len() < MAX_FILES {
                files.insert(path.to_owned());
            }
        }
    }

    /// Where secrets stand again that were found before.
    fn known_in(&self, text: &str, source: Source<'_>) -> Vec<(Range<usize>, String)> {
        let is_here = |secret: &Secret| match source {
            Source::File(path) => secret.files.contains(path),
            Source::Text => false,
        };
        let mut values = Vec::new();
        let mut kinds = Vec::new();
        for secret in &self.secrets {
            for line in &secret.lines {
                let is_unlike_a_word = line.len() >= KNOWN_EVERYWHERE && distinct(line) >= 6;
                if is_unlike_a_word || is_here(secret) {
                    values.push(line.as_str());
                    kinds.push(&secret.kind);
                }
            }
        }
        if values.is_empty() {
            return Vec::new();
        }
        let built = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values);
        let Ok(automaton) = built else {
            return Vec::new();
        };
        automaton
            .find_iter(text)
            .map(|found| (found.range(), kinds[found.pattern().as_usize()].clone()))
            .collect()
    }

    fn write_placeholder(&self, text: &mut String, value: &str, kind: &str) -> usize {
        let Some((number, line)) = self.index.get(value) else {
            let _ = write!(text, "{MARK}X {kind}]");
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

    /// Reads a placeholder of ours at the beginning of a text: its length, its secret, its line.
    ///
    /// The number decides: models shorten, and what they write instead of the kind is no reason to
    /// overwrite a secret with its placeholder.
    fn read_placeholder(&self, text: &str) -> Option<(usize, &Secret, usize)> {
        const LONGEST: usize = 64;
        let text = &text[..text.floor_char_boundary(LONGEST)];
        let inner = text.strip_prefix(MARK)?;
        // What another one begins in is none: only half of it was there before.
        let end = inner
            .find([']', '[', '\n'])
            .filter(|end| inner[*end..].starts_with(']'))?;
        let (number, _) = inner[..end].split_once(' ').unwrap_or((&inner[..end], ""));
        let (number, line) = match number.split_once('.') {
            Some((number, line)) => (number, line.parse::<usize>().ok()?),
            None => (number, 1),
        };
        let secret = self.secret(number.parse().ok()?)?;
        let line = line.checked_sub(1)?;
        (line < secret.lines.len()).then_some((MARK.len() + end + 1, secret, line))
    }
}
