//! The values of `.env` files, also where their lines stand in a diff, in search results or in what
//! a command printed.
//!
//! In such a file a telling name is enough, and so is a value that looks made up under any name;
//! what is plainly harmless stays readable. A file that is a template by its name is no such file.

use std::ops::Range;

use super::assigned::{is_telling, kind};
use super::plausible::{entropy, is_password, is_sample};
use super::{Finding, Source};

/// Finds the secrets of `.env` lines.
pub(super) fn scan(text: &str, source: Source<'_>) -> Vec<Finding> {
    let mut is_env = match source {
        Source::File(path) => is_env_file(path),
        Source::Text => false,
    };
    if source != Source::Text && !is_env {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let here = start;
        start += line.len();
        if source == Source::Text {
            if let Some(path) = line
                .strip_prefix("+++ ")
                .or_else(|| line.strip_prefix("diff --git "))
            {
                is_env = is_env_file(path.trim());
                continue;
            }
            if !is_env && !is_hit(line) && !is_printed(line) {
                continue;
            }
        }
        found.extend(value(line).map(|(kind, part)| {
            let part = here + part.start..here + part.end;
            Finding {
                kind,
                parts: vec![part],
            }
        }));
    }
    found
}

/// Whether a path is that of a file with values, and not of a template for one.
fn is_env_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_template = ["example", "sample", "template", "dist", "schema"]
        .iter()
        .any(|word| name.contains(word));
    let is_env = name == ".env"
        || name.starts_with(".env.")
        || name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending == "env");
    is_env && !is_template
}

/// Whether a line is a hit in such a file: `path/.env:3: KEY=value`.
fn is_hit(line: &str) -> bool {
    let mut pieces = line.splitn(3, ':');
    let (path, number) = (
        pieces.next().unwrap_or_default(),
        pieces.next().unwrap_or_default(),
    );
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && is_env_file(path)
}

/// Whether a line is an assignment to a telling name as `cat` and `env` print them.
fn is_printed(line: &str) -> bool {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    line.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(is_name) && is_telling(name))
}

/// The kind and the place of the value of a line, if it is a secret.
fn value(line: &str) -> Option<(&'static str, Range<usize>)> {
    let sign = line.find('=')?;
    let words = line[..sign].trim_end();
    let mut words = words.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = words.next().unwrap_or_default();
    if name.is_empty() || line[..sign].contains('#') {
        return None;
    }
    let rest = line[sign + 1..].trim_end();
    let rest = rest.split(" #").next().unwrap_or_default();
    let value = rest.trim().trim_matches(['"', '\'']);
    let start = sign + 1 + rest.find(value).unwrap_or_default();
    is_secret(name, value).then(|| (kind(name), start..start + value.len()))
}

fn is_secret(name: &str, value: &str) -> bool {
    const SHORTEST: usize = 4;
    const HARMLESS: [&str; 8] = ["true", "false", "none", "null", "yes", "no", "on", "off"];
    let is_harmless = HARMLESS.iter().any(|word| word.eq_ignore_ascii_case(value))
        || value.parse::<f64>().is_ok()
        || value.starts_with(['$', '<', '/'])
        // Of a URL the password alone is secret, and found by its form.
        || value.contains("://")
        || is_sample(value);
    if value.len() < SHORTEST || is_harmless {
        return false;
    }
    is_telling(name)
        || is_password(value)
        || (value.len() >= 24 && !value.contains(' ') && entropy(value) >= 4.0)
}
