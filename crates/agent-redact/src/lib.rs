#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! One table of rules (`rules`): tokens of vendors, values at telling places, values of telling
//! names, and files that are there to keep secrets. The text is read once for all keywords
//! together (`scan`), and only what they lead to is examined, so ordinary text costs little. `place` finds the
//! value of a name, `shape` judges values, `lines` reads `.env` files and manifests, `pem` and
//! `keys` find private keys. Nothing is compiled before the first scan.
//!
//! A placeholder never spans lines and never adds or removes one, so line numbers stay valid. The
//! [`Vault`] keeps the secrets behind the placeholders. Reading files, storing the vault and
//! telling the person are left to the callers.

mod allow;
mod boundary;
mod keys;
mod lines;
mod names;
mod pem;
mod place;
mod rules;
mod scan;
mod shape;
#[cfg(test)]
mod tests;
mod vault;

use std::ops::Range;

pub use self::allow::Allow;
pub use self::place::keeps_settings;
pub use self::scan::kinds;
pub use self::vault::{
    FoundPlaces, MAX_KNOWN, Misplaced, Plain, Redacted, Secret, SecretPlace, Vault,
    may_have_placeholders, nameless, placeholder_in,
};

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFinding {
    /// The kind, such as `github-token`.
    pub kind: &'static str,
    /// The ranges in the text; several are the lines of one key.
    pub parts: Vec<Range<usize>>,
    /// True if it may not be a secret. Such a value is recognised again only where something else
    /// indicates a secret.
    pub is_doubtful: bool,
}

impl SecretFinding {
    /// A secret in these ranges.
    fn new(kind: &'static str, parts: Vec<Range<usize>>) -> Self {
        Self {
            kind,
            parts,
            is_doubtful: false,
        }
    }

    /// The end of its last part.
    fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.end)
    }
}

/// A range in a part of a text, as one in the text; the part begins at this position.
fn shifted(range: Range<usize>, begins: usize) -> Range<usize> {
    begins + range.start..begins + range.end
}

/// The origin of a text, which decides how its lines are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource<'a> {
    /// A file or lines of it, with the path.
    File(&'a str),
    /// Anything else: output, diffs, search results, messages.
    Text,
}

impl<'a> TextSource<'a> {
    /// The path, if it is a file.
    fn path(self) -> Option<&'a str> {
        match self {
            Self::File(path) => Some(path),
            Self::Text => None,
        }
    }
}

/// Finds secrets, except for those that the person allows.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    allow: Allow,
}

impl Scanner {
    /// A scanner that skips allowed values.
    pub fn new(allow: Allow) -> Self {
        Self { allow }
    }

    /// Finds the secrets of a text, in order, without overlaps.
    pub fn scan(&self, text: &str, source: TextSource<'_>) -> Vec<SecretFinding> {
        let mut found = scan::scan(text, source);
        found.retain(|finding| {
            let values = finding.parts.iter().map(|part| &text[part.clone()]);
            !finding.parts.is_empty() && !self.allow.permits(finding.kind, values)
        });
        let start = |finding: &SecretFinding| finding.parts.first().map_or(0, |part| part.start);
        without_overlaps(found, |finding| (start(finding), finding.end()))
    }
}

/// Replaces every secret by a placeholder, numbered from 1, and does not keep the secrets.
pub fn redact(text: &str) -> String {
    Vault::default()
        .redact(&Scanner::default(), text, TextSource::Text)
        .text
}

/// Keeps the earliest of overlapping findings. Of those with the same start it keeps the longest,
/// and of equal ones the first, which is the most specific.
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
