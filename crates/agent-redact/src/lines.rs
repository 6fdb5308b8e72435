//! Values that are found line by line: `.env` files, also in diffs, in search results and in the
//! output of commands, and the data of Kubernetes secrets.
//!
//! In a `.env` file a telling name is enough, and so is a value that looks random under any name.
//! Obviously harmless values stay readable, and files that are templates by their name are skipped.
//! A line elsewhere that only looks like one (Makefiles have them) needs more: an unmistakable
//! name, and a value that is not an ordinary word.

use std::ops::Range;

use super::names::{is_open_name, kind, telling};
use super::pem::{line_at, lines_behind};
use super::place::before;
use super::rules::pattern;
use super::rules::table::{self, ENVIRONMENT, EXAMPLES};
use super::shape::{entropy, is_address, is_digest, is_password, is_public, is_sample, is_word};
use super::{SecretFinding, TextSource, shifted};

/// The maximum number of lines of a quoted value.
const MAX_LINES: usize = 100;
/// The shortest value; shorter ones would match parts of ordinary words.
const SHORTEST: usize = 4;

/// The origin of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineOrigin {
    /// A `.env` file.
    EnvFile,
    /// Another file, or unknown.
    Elsewhere,
}

/// Finds the secrets of a `.env` file, or of lines of one in another text if that mentions any.
pub(super) fn scan(text: &str, source: TextSource<'_>, mentions_any: bool) -> Vec<SecretFinding> {
    let is_file = source.path().is_some_and(is_env_file);
    let mut found = Vec::new();
    if !is_file && (source != TextSource::Text || !mentions_any) {
        return found;
    }
    let (mut start, mut is_in_diff) = (0, false);
    for line in text.split_inclusive('\n') {
        let here = start..start + line.len();
        start = here.end;
        // A quoted value may have reached beyond its line.
        let last = found.last().map_or(0, SecretFinding::end);
        if last > here.start {
            continue;
        }
        if is_file || is_of_env_file(line, &mut is_in_diff) || is_hit(line) {
            found.extend(value(text, here, LineOrigin::EnvFile));
        }
    }
    found
}

/// Returns true if a line is one of a `.env` file in a diff; remembers if the next one may be.
fn is_of_env_file(line: &str, is_in_diff: &mut bool) -> bool {
    let path = |line: &str| is_env_file(line[4..].trim());
    if line.starts_with("--- ") {
        *is_in_diff = path(line);
    } else if line.starts_with("+++ ") {
        *is_in_diff |= path(line);
    } else if line.starts_with(['+', '-', ' ']) {
        return *is_in_diff;
    } else if !line.starts_with(['@', '\\', '\n', '\r']) && !line.starts_with("[TRUNCATED") {
        *is_in_diff = false;
    }
    false
}

/// Returns true if a path is that of a `.env` file, and not of a template for one.
fn is_env_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    pattern!(ENVIRONMENT).is_match(name) && !pattern!(EXAMPLES).is_match(name)
}

/// Returns true if a line is a search hit in a `.env` file: `path/.env:3: KEY=value`.
fn is_hit(line: &str) -> bool {
    pattern!(r"\A([^:\n]*):[0-9]+:")
        .captures(line)
        .is_some_and(|hit| is_env_file(&hit[1]))
}

/// The value of an assignment as `cat` and `env` print it, if its name contains this word; also
/// with the prefixes of `cat -n` and `grep`.
pub(super) fn printed(
    text: &str,
    word: Range<usize>,
    source: TextSource<'_>,
) -> Option<SecretFinding> {
    const LONGEST_NAME: usize = 60;
    let is_name = |byte: &u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_');
    let behind = text[word.start..].bytes().take(LONGEST_NAME);
    let sign = word.start + behind.take_while(is_name).count();
    let is_assigned = sign >= word.end && text[sign..].starts_with('=');
    if source != TextSource::Text || !is_assigned {
        return None;
    }
    let before = before(text, word.start);
    let is_whole = before.len() == word.start || before.contains('\n');
    let mark = pattern!(r#"(?:\A|\n)((?:[^\s"'=]*:)?(?:[ \t]*[0-9]+\t)?(?:export )?[A-Z0-9_]*)\z"#);
    let mark = mark.captures(before).filter(|_| is_whole)?;
    let line = word.start - mark[1].len()..line_at(text, sign).end;
    value(text, line, LineOrigin::Elsewhere)
}

/// The value of a line, if it is a secret.
fn value(text: &str, place: Range<usize>, origin: LineOrigin) -> Option<SecretFinding> {
    let line = &text[place.clone()];
    let assigned = pattern!(r"\A[^#=]*?([A-Za-z0-9_]+)\s*=").captures(line)?;
    let name = assigned.get(1)?.as_str();
    let rest = line[assigned[0].len()..].trim_end();
    let start = place.start + assigned[0].len();
    if let Some(parts) = quoted_lines(text, start..start + rest.len()) {
        let is_made_up = parts.iter().any(|part| is_password(&text[part.clone()]));
        let is_sure = telling(name).is_some_and(|rule| !rule.is_doubtful);
        let is_secret = is_sure || (origin == LineOrigin::EnvFile && is_made_up);
        return is_secret.then(|| SecretFinding::new(kind(name), parts));
    }
    let rest = match origin {
        LineOrigin::EnvFile => rest.split(" #").next().unwrap_or_default(),
        // A command and its arguments can follow.
        LineOrigin::Elsewhere => first_word(rest),
    };
    let value = rest.trim().trim_matches(['"', '\'']);
    let start = start + rest.find(value).unwrap_or_default();
    let is_doubtful = judged(name, value, origin)?;
    let place = start..start + value.len();
    Some(SecretFinding {
        is_doubtful,
        ..SecretFinding::new(kind(name), vec![place])
    })
}

/// The lines of a value whose quote is closed on a later line. Private keys are left to `pem`.
fn quoted_lines(text: &str, first: Range<usize>) -> Option<Vec<Range<usize>>> {
    let line = text[first.clone()].trim_start();
    let quote = line.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let content = first.end - line.len() + 1..first.end;
    if line[1..].contains(quote) || line.contains("-----BEGIN") {
        return None;
    }
    let mut parts = vec![content];
    let end = line_at(text, first.end).end;
    for line in lines_behind(text, end).take(MAX_LINES) {
        let content = &text[line.clone()];
        let end = content.find(quote);
        let length = end.unwrap_or_else(|| content.trim_end().len());
        parts.push(line.start..line.start + length);
        if end.is_some() {
            parts.retain(|part| !part.is_empty());
            return Some(parts).filter(|parts| !parts.is_empty());
        }
    }
    None
}

/// The text up to the first space outside of quotes.
fn first_word(text: &str) -> &str {
    pattern!(r#"\A(?:"[^"]*"|'[^']*'|\S*)"#)
        .find(text)
        .map_or("", |word| word.as_str())
}

/// Decides if a value is a secret: `Some(true)` for one that neither its name nor the value proves.
fn judged(name: &str, value: &str, origin: LineOrigin) -> Option<bool> {
    const SHORTEST_NUMBER: usize = 6;
    const LONG: usize = 24;
    let rule = telling(name);
    let kind = kind(name);
    let is_made_up = is_password(value);
    // Only the name says that a number is a secret.
    let is_named = rule.is_some()
        && (matches!(kind, "password" | "secret") || name.to_ascii_lowercase().ends_with("pin"));
    let is_number = value.parse::<f64>().is_ok();
    let is_harmless = value.len() < SHORTEST
        || pattern!(table::HARMLESS).is_match(value)
        || (is_number && !(is_named && value.len() >= SHORTEST_NUMBER))
        || (value.starts_with('/') && !is_password(&value[1..]))
        || is_sample(value)
        // A password can be anything; other secrets are generated.
        || (kind != "password" && is_address(value));
    let is_long = || value.len() >= LONG && !value.contains(' ') && entropy(value) >= 4.0;
    let is_secret = match (rule, origin) {
        (Some(_), LineOrigin::EnvFile) => true,
        (None, LineOrigin::EnvFile) => {
            !is_open_name(name) && (is_made_up || (is_long() && !is_public(value)))
        }
        (Some(rule), LineOrigin::Elsewhere) if rule.is_doubtful => is_made_up,
        (rule, LineOrigin::Elsewhere) => rule.is_some() && !is_word(value),
    };
    let is_proven = is_made_up && !is_digest(value);
    let is_doubtful = rule.is_some_and(|rule| rule.is_doubtful) && !is_proven;
    (is_secret && !is_harmless).then_some(is_doubtful)
}

/// The lines that mark a document as a Kubernetes secret.
pub(super) const MANIFESTS: [&str; 4] = [
    "kind: secret",
    "kind: \"secret\"",
    "\"kind\": \"secret\"",
    "\"kind\":\"secret\"",
];

/// Adds the values of the Kubernetes secret whose kind is at this position; returns the end of its
/// document.
pub(super) fn manifest(text: &str, kind: Range<usize>, found: &mut Vec<SecretFinding>) -> usize {
    const LONGEST: usize = 64 * 1024;
    let bytes = text.as_bytes();
    if bytes.get(kind.end).is_some_and(u8::is_ascii_alphanumeric) {
        return kind.end;
    }
    let from = text.ceil_char_boundary(kind.start.saturating_sub(LONGEST));
    let from = text[from..kind.start]
        .rfind("\n---")
        .map_or(from, |at| from + at);
    let to = text.floor_char_boundary(kind.end.saturating_add(LONGEST));
    let to = text[kind.end..to]
        .find("\n---")
        .map_or(to, |at| kind.end + at);
    let document = &text[from..to];
    for (blocks, values) in [
        (
            pattern!(
                r"(?m)^(?:[ +-]*)(?:data|stringData):[ \t]*\r?$((?:\r?\n[+-]?(?:[ \t]+.*|[ \t]*))*)"
            ),
            pattern!(
                r#"(?m)^[+-]?[ \t]+(?:["']?[\w.-]+["']?:[ \t]+["']?([^\s"'|>{$\[<][^\r\n"']{2,}?)["']?|([^\s"'|>{$\[<][^\r\n"':]{2,}?))[ \t]*\r?$"#
            ),
        ),
        (
            pattern!(r#""(?:data|stringData)"\s*:\s*\{([^{}]*)\}"#),
            pattern!(r#":\s*"([^"\n]{3,})""#),
        ),
    ] {
        let blocks = blocks.captures_iter(document);
        for block in blocks.filter_map(|block| block.get(1)) {
            let values = values.captures_iter(block.as_str());
            let values = values.filter_map(|value| value.get(1).or_else(|| value.get(2)));
            let values = values.filter(|value| !is_sample(value.as_str()));
            let places = values.map(|value| shifted(value.range(), from + block.start()));
            found.extend(places.map(|place| SecretFinding::new("secret", vec![place])));
        }
    }
    to
}
