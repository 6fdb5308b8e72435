//! Decides by the name of a value if the value is secret.
//!
//! A name is split into words: `COMPASS` and `AUTHOR` contain no `pass` and no `auth`, and
//! `CERT_DIR` says where a certificate is. All detectors that look at names use this file.

use std::sync::LazyLock;

use regex::Regex;

use super::rules::table::{ABOUT, OPEN};
use super::rules::{Anchor, RULES, SecretRule, compile, pattern};

static NAMES: LazyLock<Vec<(Regex, &'static SecretRule)>> = LazyLock::new(|| {
    let rules = RULES.iter().filter(|rule| rule.anchor == Anchor::Name);
    rules.map(|rule| (compile(rule.pattern), rule)).collect()
});

/// The rule of the last telling word of a name. `None` if the name does not say that its value is
/// secret.
pub(super) fn telling(name: &str) -> Option<&'static SecretRule> {
    let name = normal_name(name);
    let may_match = |rule: &SecretRule| {
        rule.keywords.is_empty() || rule.keywords.iter().any(|word| name.contains(word))
    };
    let last = |pattern: &Regex| pattern.find_iter(&name).last().map(|found| found.end());
    let rules = NAMES.iter().filter(|(_, rule)| may_match(rule));
    let found = rules.filter_map(|(pattern, rule)| Some((last(pattern)?, *rule)));
    // Of those that end at the same word, the first row counts.
    let (end, rule) = found.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let is_secret = !is_about(&name[end - 1..]) && !pattern!(OPEN).is_match(&name);
    is_secret.then_some(rule)
}

/// The kind of a value with this name.
pub(super) fn kind(name: &str) -> &'static str {
    telling(name).map_or("secret", |rule| rule.kind)
}

/// Returns true if the last word of a name says that the value is public.
pub(super) fn is_open_name(name: &str) -> bool {
    let name = normal_name(name);
    let last = name.trim_end_matches('_').rfind('_').unwrap_or_default();
    is_about(&name[last..])
}

/// Returns true if a part of a normal name says that the value is about a secret.
fn is_about(part: &str) -> bool {
    pattern!(ABOUT).is_match(part)
}

/// The words of a name in lower case, without plural and number, each between `_`:
/// `_azure_open_ai_key_` for `AzureOpenAIKeys2`.
pub(super) fn normal_name(name: &str) -> String {
    let mut normal = String::with_capacity(name.len() + 8);
    normal.push('_');
    for piece in name.split(|c: char| !c.is_alphanumeric()) {
        let mut rest = piece;
        while !rest.is_empty() {
            let (word, behind) = rest.split_at(word_length(rest));
            normal.push_str(&stem(word).to_ascii_lowercase());
            normal.push('_');
            rest = behind;
        }
    }
    normal
}

/// The length of the first word: `Open` in `OpenAIKey`, `AI` in `AIKey`.
fn word_length(piece: &str) -> usize {
    let bytes = piece.as_bytes();
    let is_upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    // Only split before a capital ASCII letter, which is always a character boundary.
    (1..bytes.len())
        .find(|at| is_upper(*at) && (!is_upper(at - 1) || is_lower(at + 1)))
        .unwrap_or(bytes.len())
}

/// A word without its number and plural: `token` for `tokens2`, but all of `s3`.
fn stem(word: &str) -> &str {
    const SHORTEST: usize = 2;
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let word = if stem.len() < SHORTEST { word } else { stem };
    match word.strip_suffix(['s', 'S']) {
        Some(one) if !one.ends_with(['s', 'S']) => one,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(name: &str, expected: Option<(&str, bool)>) {
        let told = telling(name).map(|rule| (rule.kind, rule.is_doubtful));
        assert_eq!(told, expected, "{name}");
    }

    #[test]
    fn names_are_read_word_by_word() {
        for (name, kind) in [
            ("password", "password"),
            ("PGPASSWORD", "password"),
            ("DB_PASSWORD2", "password"),
            ("db_pass", "password"),
            ("--user-pwd", "password"),
            ("clientSecret", "secret"),
            ("npassphrase", "password"),
            ("accessTokens", "token"),
            ("X-Api-Key", "key"),
            ("SECRET_KEY_BASE", "key"),
            ("AWS_SECRET_ACCESS_KEY", "key"),
            ("APIKey", "key"),
            ("signing_key", "key"),
            ("SALT", "secret"),
            ("AzureOpenAIKey", "key"),
            ("STRIPE_KEY", "key"),
        ] {
            case(name, Some((kind, false)));
        }
        for (name, kind) in [
            ("PASS", "password"),
            ("ACME_KEY", "key"),
            ("AUTH", "secret"),
        ] {
            case(name, Some((kind, true)));
        }
        for name in [
            "AUTHOR",
            "COMPASS",
            "CERT_DIR",
            "key",
            "PUBLIC_KEY",
            "hostPubkey",
            "cache_key",
            "--recv-keys",
            "next_page_token",
            "next_token",
            "s3Key",
            "s3_key",
            "etag-key",
            "build_key",
            "ssh-key-fingerprint",
            "PASSWORD_HASH",
            "FOO_PASSWORD_SHA",
            "token_sha256",
            "AUTH_MODE",
            "tokenizer",
            "tokenId",
            "token_type",
            "passwordField",
            "password_expires_at",
            "SECRET_NAME",
            "monkey",
            "secretary",
            "bypass",
            "",
            "-",
            "é",
        ] {
            case(name, None);
        }
    }
}
