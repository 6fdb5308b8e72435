//! The form of a rule, and the single table of them, `rules.txt`.
//!
//! A rule is data: keywords that lead to it, a pattern, what the value must look like, stop words
//! that make it a sample, and the names of files in which it counts. To add a form, add a row to
//! the table and a sample to `tests::forms`. Nothing here reads a text; that is `scan`.

pub(super) mod table;

use std::sync::LazyLock;

use regex::Regex;

use super::shape::{self, is_public, is_sample, is_stand_in, is_template, is_variable};

/// The number of bytes from its keyword that a pattern sees, unless the rule says otherwise.
pub(super) const REACH: usize = 2048;

/// How the pattern of a rule relates to its keywords and to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A token that begins with the keyword, or a few bytes before it, and is a word of its own.
    Word,
    /// The keyword may be anywhere, also at the end of a longer word.
    Anywhere,
    /// The pattern is that of a name that contains the keyword, in the form of
    /// [`place::normal_name`](super::place::normal_name); the secret is the value of the name.
    Name,
    /// There is no keyword: the pattern is looked for in the whole text of a file with this name.
    File(&'static str),
}

/// The requirements that a value must meet.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueCheck {
    /// The least entropy per byte, in bits.
    pub(super) entropy: f64,
    /// Returns true if a value has the characters that it must have.
    looks: fn(&str) -> bool,
    /// The reasons to take the value for a sample, a template or something public.
    stops: &'static [fn(&str) -> bool],
}

impl ValueCheck {
    /// The checks that the table names.
    fn named(name: &str) -> Self {
        type Look = fn(&str) -> bool;
        const WRITTEN: &[Look] = &[is_sample, is_variable, is_stand_in];
        const READABLE: &[Look] = &[is_sample, is_template, is_stand_in, is_public];
        let (entropy, looks, stops): (_, Look, &[Look]) = match name {
            // The random part of a token. Sixteen random hex digits have 3 bits each on average.
            "token" => (2.0, |_| true, &[is_sample]),
            // A token of a common form; ordinary words have no digits.
            "digit" => (2.0, shape::has_digit, &[is_sample]),
            // A value at a place that says that it is a secret: generated, or chosen by a careful
            // person.
            "password" => (
                0.0,
                |value| shape::is_password(value) || shape::is_uuid(value),
                &[is_sample, is_template],
            ),
            // Any value, at a place where only passwords occur.
            "chosen" => (0.0, |_| true, WRITTEN),
            // A password at a place where words and paths stand too: it has a digit or a character
            // that identifiers do not have.
            "odd" => (
                1.5,
                |value| {
                    shape::has_digit(value)
                        || value.contains(['!', '#', '$', '%', '^', '&', '*', '?', '~'])
                },
                READABLE,
            ),
            // A value that a server issued, at a place that names a secret: also hex and UUIDs.
            "issued" => (
                2.75,
                |value| {
                    shape::is_digest(value) || shape::is_uuid(value) || shape::is_generated(value)
                },
                WRITTEN,
            ),
            // The base64 of `user:password`.
            "login" => (0.0, shape::is_login, &[is_sample]),
            // A value at a place that says little: certainly generated.
            _ => (2.75, shape::is_generated, READABLE),
        };
        Self {
            entropy,
            looks,
            stops,
        }
    }

    /// Returns true if a value is as the rule wants it.
    pub(super) fn accepts(&self, value: &str) -> bool {
        (self.looks)(value)
            && shape::entropy(value) >= self.entropy
            && !self.stops.iter().any(|stop| stop(value))
    }
}

/// A form of secrets.
#[derive(Debug)]
pub(super) struct SecretRule {
    pub(super) kind: &'static str,
    /// Words in lower case of which each secret of this form has one in it or before it.
    pub(super) keywords: Vec<&'static str>,
    /// The secret is the group that matches, or the whole match.
    pub(super) pattern: &'static str,
    pub(super) anchor: Anchor,
    /// The number of bytes before the keyword where the pattern may begin.
    pub(super) before: usize,
    /// The number of bytes from the start of the keyword that the pattern sees.
    pub(super) reach: usize,
    /// The pattern of each secret within the match, if there can be several.
    pub(super) each: Option<&'static str>,
    pub(super) check: ValueCheck,
    /// True if the form alone does not prove a secret.
    pub(super) is_doubtful: bool,
}

/// The rules.
pub(super) static RULES: LazyLock<Vec<SecretRule>> = LazyLock::new(|| {
    let mut rules: Vec<SecretRule> = Vec::new();
    for row in include_str!("rules.txt").lines() {
        match (row.strip_prefix("    "), rules.last_mut()) {
            (Some(pattern), Some(rule)) => match pattern.strip_prefix("each ") {
                Some(each) => rule.each = Some(each),
                None => rule.pattern = pattern,
            },
            _ if row.is_empty() || row.starts_with('#') => {}
            _ => rules.push(SecretRule::parse(row)),
        }
    }
    rules
});

impl SecretRule {
    /// Parses the first line of a rule.
    fn parse(row: &'static str) -> Self {
        let (head, _) = row.split_once('`').unwrap_or((row, ""));
        let mut words = head.split_whitespace();
        let (about, kind) = (words.next(), words.next().unwrap_or_default());
        let mut keywords: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let (anchor, check) = match about {
            Some("token") => (Anchor::Word, "token"),
            Some("name") => (Anchor::Name, "password"),
            Some("file") => (Anchor::File(keywords.pop().unwrap_or_default()), "chosen"),
            _ => (Anchor::Anywhere, "password"),
        };
        let mut rule = Self {
            kind,
            keywords,
            pattern: "",
            anchor,
            before: 0,
            reach: REACH,
            each: None,
            check: ValueCheck::named(check),
            is_doubtful: false,
        };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("check", name) => rule.check = ValueCheck::named(name),
                ("entropy", bits) => rule.check.entropy = bits.parse().unwrap_or(f64::MAX),
                ("around", bytes) => {
                    let (before, reach) = bytes.split_once(',').unwrap_or_default();
                    rule.before = before.parse().unwrap_or_default();
                    rule.reach = reach.parse().unwrap_or(REACH);
                }
                _ => rule.is_doubtful = true,
            }
        }
        rule
    }
}

/// A pattern, compiled on its first use.
macro_rules! pattern {
    ($pattern:expr) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| $crate::rules::compile($pattern));
        &*PATTERN
    }};
}
pub(super) use pattern;

/// Compiles a pattern of the tables.
pub(super) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of the tables are sound; a test compiles each")
}
