//! What is assigned to a telling name: `password = "..."`, `"apiKey": "..."`, `API_TOKEN=...`.
//!
//! Source text is full of passwords that are none: names of fields, samples, templates. So a value
//! counts only if it is a string of its own and looks made up (`plausible`). Without quotes it
//! counts in files of settings, and after a name in capitals, as `env` and `.env` write them.

use std::ops::Range;

use super::plausible::is_password;
use super::{Finding, Source};

/// Words in a name that tell that its value is secret, in lower case.
pub(super) const NAMES: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "accesskey",
    "access-key",
    "private_key",
    "privatekey",
    "credential",
    "auth_key",
    "encryption_key",
];
/// What a name goes on with that is about a secret and not one.
const ABOUT: [&str; 28] = [
    "type",
    "name",
    "url",
    "uri",
    "path",
    "file",
    "field",
    "len",
    "size",
    "count",
    "expire",
    "expiry",
    "ttl",
    "header",
    "prefix",
    "regex",
    "pattern",
    "label",
    "title",
    "message",
    "hint",
    "placeholder",
    "alg",
    "policy",
    "ize",
    "endpoint",
    "reset",
    "help",
];
/// The longest name that is looked at, on each side of the telling word.
const LONGEST_NAME: usize = 40;
/// How long a value is.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=200;

/// What is assigned to the name that has this word in it.
pub(super) fn at(text: &str, word: Range<usize>, source: Source<'_>) -> Option<Finding> {
    let bytes = text.as_bytes();
    let before = bytes[..word.start].iter().rev();
    let before = before
        .take(LONGEST_NAME)
        .take_while(|byte| is_name(**byte))
        .count();
    let after = bytes[word.end..].iter();
    let after = after
        .take(LONGEST_NAME)
        .take_while(|byte| is_name(**byte))
        .count();
    let name = text.get(word.start - before..word.end + after)?;
    if is_about(&text[word.end..word.end + after]) {
        return None;
    }
    let rest = word.end + after;
    let rest = rest + spaces(bytes, rest, b"\"']");
    let value = operator(bytes, rest)?;
    let part = quoted(text, value).or_else(|| {
        let is_fitting = is_settings(source) || is_capitals(name);
        let part = is_fitting.then(|| unquoted(text, value))?;
        part.filter(|part| text[part.clone()].bytes().any(|byte| byte.is_ascii_digit()))
    })?;
    let fits = LENGTHS.contains(&part.len()) && is_password(&text[part.clone()]);
    fits.then(|| Finding {
        kind: kind(name),
        parts: vec![part],
    })
}

/// What a value is called that was given this name.
pub(super) fn kind(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    if name.contains("pass") || name.contains("pwd") {
        "password"
    } else if name.contains("token") {
        "token"
    } else if name.contains("key") {
        "key"
    } else {
        "secret"
    }
}

/// Whether a name tells that its value is secret.
pub(super) fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let word = NAMES
        .iter()
        .chain(&["pass", "pwd", "_key", "auth", "salt", "dsn", "cert"])
        .filter_map(|word| name.rfind(word).map(|at| at + word.len()))
        .max();
    word.is_some_and(|end| !is_about(&name[end..]))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_about(rest: &str) -> bool {
    let rest = rest.to_ascii_lowercase();
    ABOUT.iter().any(|word| rest.contains(word)) || rest.ends_with("id")
}

/// How many of these bytes, and spaces, stand at a place; at most 8.
fn spaces(bytes: &[u8], start: usize, others: &[u8]) -> usize {
    let rest = bytes.get(start..).unwrap_or_default().iter().take(8);
    rest.take_while(|byte| matches!(byte, b' ' | b'\t') || others.contains(byte))
        .count()
}

/// Where the value begins, behind `=`, `:`, `:=`, `=>` or `: Type =`.
fn operator(bytes: &[u8], start: usize) -> Option<usize> {
    let at = |index: usize| bytes.get(index).copied().unwrap_or(b'\n');
    let behind = match (at(start), at(start + 1)) {
        (b':', b':') | (b'=', b'=' | b'~') => return None,
        (b':', b'=') | (b'=', b'>') => start + 2,
        (b':', _) => typed(bytes, start + 1).unwrap_or(start + 1),
        (b'=', _) => start + 1,
        _ => return None,
    };
    Some(behind + spaces(bytes, behind, b""))
}

/// Behind the `=` that follows a type: ` &'static str = `.
fn typed(bytes: &[u8], start: usize) -> Option<usize> {
    const LONGEST_TYPE: usize = 24;
    let rest = bytes.get(start..)?;
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b" &'_:<>".contains(byte);
    let length = rest
        .iter()
        .take(LONGEST_TYPE)
        .take_while(|byte| is_type(byte))
        .count();
    (length > 0 && rest.get(length) == Some(&b'=') && rest.get(length + 1) != Some(&b'='))
        .then_some(start + length + 1)
}

/// The text between quotes, if it has no white space.
fn quoted(text: &str, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // Python and C++ write a letter before the quote, Rust a `b`.
    let start = start + usize::from(bytes.get(start).is_some_and(|byte| b"bruf@".contains(byte)));
    let quote = *bytes.get(start).filter(|byte| b"\"'`".contains(byte))?;
    let rest = &bytes[start + 1..];
    let length = rest
        .iter()
        .take(*LENGTHS.end() + 1)
        .take_while(|byte| **byte != quote && !byte.is_ascii_whitespace())
        .count();
    (rest.get(length) == Some(&quote)).then(|| start + 1..start + 1 + length)
}

/// The text up to the end of the line, if it is one word.
fn unquoted(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[start..];
    let is_value = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+/=.~!@#$%^&*?:".contains(byte);
    let length = rest
        .iter()
        .take(*LENGTHS.end() + 1)
        .take_while(|byte| is_value(byte))
        .count();
    let ends =
        matches!(rest.get(length), None | Some(b'\n' | b'\r')) || rest[length..].starts_with(b" #");
    ends.then(|| start..start + length)
}

fn is_capitals(name: &str) -> bool {
    let mut letters = name.bytes().filter(u8::is_ascii_alphabetic);
    letters.all(|byte| byte.is_ascii_uppercase())
}

/// Whether a text is a file in which values stand without quotes.
fn is_settings(source: Source<'_>) -> bool {
    const ENDINGS: [&str; 11] = [
        ".ini",
        ".cfg",
        ".conf",
        ".properties",
        ".env",
        ".yml",
        ".yaml",
        ".tfvars",
        ".npmrc",
        ".pypirc",
        "/credentials",
    ];
    match source {
        Source::File(path) => ENDINGS.iter().any(|ending| path.ends_with(ending)),
        Source::Text => false,
    }
}
