#![doc = include_str!("../README.md")]
//!
//! # How it is made
//!
//! Finds secrets in text that is about to leave this machine, and puts placeholders in their place.
//!
//! Three ways of looking: formats that vendors gave their tokens (`formats`), private keys (`pem`,
//! `keys`), and what is assigned to a telling name (`assigned` and `names`, `env` for `.env` files,
//! `logins` for other files that keep passwords). One automaton of
//! all the words that can begin a secret reads the text once; only where one stands is looked
//! closer, so ordinary text costs little. Nothing is compiled before the first text is scanned.
//!
//! A placeholder never spans lines and never adds or removes one, so line numbers hold. What it
//! stands for is kept by the [`Vault`]. Where texts come from, where the vault is kept and who is
//! told is left to others.

mod allow;
mod assigned;
mod base64;
mod boundary;
mod env;
mod formats;
mod keys;
mod logins;
mod names;
mod open;
mod pem;
mod plausible;
#[cfg(test)]
mod tests;
mod vault;

use std::ops::Range;

pub use self::allow::Allow;
pub use self::assigned::keeps_settings;
pub use self::formats::kinds;
pub use self::vault::{
    MAX_KNOWN, Misplaced, Place, Plain, Redacted, Secret, Vault, may_have_placeholders, nameless,
    placeholder_in,
};

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is, such as `github-token`.
    pub kind: &'static str,
    /// Where it stands; several ranges are the lines of one key.
    pub parts: Vec<Range<usize>>,
    /// Whether it may as well be none: where nothing tells that it is secret, it is not known again.
    pub is_doubtful: bool,
}

impl Finding {
    /// A secret that stands in these places.
    fn new(kind: &'static str, parts: Vec<Range<usize>>) -> Self {
        Self {
            kind,
            parts,
            is_doubtful: false,
        }
    }
}

/// Where a text comes from: it decides how lines are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// A file, or lines of it, by its path.
    File(&'a str),
    /// Anything else: output, differences, search results, words.
    Text,
}

/// Looks for secrets, except for what the person allows.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    allow: Allow,
}

impl Scanner {
    /// A scanner that passes over what is allowed.
    pub fn new(allow: Allow) -> Self {
        Self { allow }
    }

    /// Finds the secrets of a text, in their order; no two overlap.
    pub fn scan(&self, text: &str, source: Source<'_>) -> Vec<Finding> {
        let mut found = formats::scan(text, source);
        found.extend(env::scan(text, source));
        found.extend(logins::scan(text, source));
        found.retain(|finding| {
            let values = finding.parts.iter().map(|part| &text[part.clone()]);
            !self.allow.permits(finding.kind, values)
        });
        found.retain(|finding| !finding.parts.is_empty());
        without_overlaps(found, |finding| {
            let start = finding.parts.first().map_or(0, |part| part.start);
            let end = finding.parts.last().map_or(0, |part| part.end);
            (start, end)
        })
    }
}

/// Puts a placeholder in the place of every secret, numbered from 1, and forgets what they stood for.
pub fn redact(text: &str) -> String {
    Vault::default()
        .redact(&Scanner::default(), text, Source::Text)
        .text
}

/// Keeps the earliest of those that overlap; of those that begin together the longest, and of equal
/// ones the first, which is the most specific.
fn without_overlaps<T>(mut found: Vec<T>, span: impl Fn(&T) -> (usize, usize)) -> Vec<T> {
    found.sort_by_key(|one| {
        let (start, end) = span(one);
        (start, std::cmp::Reverse(end))
    });
    let mut end_of_last = 0;
    found.retain(|one| {
        let (start, end) = span(one);
        let stays = start >= end_of_last;
        if stays {
            end_of_last = end;
        }
        stays
    });
    found
}
