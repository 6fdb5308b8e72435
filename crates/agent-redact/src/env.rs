//! The values of `.env` files, also where their lines stand in a diff, in search results or in what
//! a command printed.
//!
//! In such a file a telling name is enough, and so is a value that looks made up under any name;
//! what is plainly harmless stays readable. A file that is a template by its name is no such file.
//! A line that only looks like one of it (a Makefile has such) needs more: a name that cannot be
//! anything else, and a value that is no ordinary word.

use super::names::{Certainty, is_open_name, kind, telling};
use super::open::{is_address, is_digest, is_list, is_path};
use super::plausible::{entropy, is_password, is_sample, is_word};
use super::{Finding, Source};

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// In a file with values.
    EnvFile,
    /// Somewhere else, or nobody knows.
    Elsewhere,
}

/// Finds the secrets of `.env` lines.
pub(super) fn scan(text: &str, source: Source<'_>) -> Vec<Finding> {
    if let Source::File(path) = source
        && !is_env_file(path)
    {
        return Vec::new();
    }
    let mut diff = Diff::default();
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let here = start;
        start += line.len();
        let origin = if source != Source::Text || diff.is_of_env_file(line) || is_hit(line) {
            Origin::EnvFile
        } else if is_printed(line) {
            Origin::Elsewhere
        } else {
            continue;
        };
        found.extend(value(line, origin).map(|mut finding| {
            for part in &mut finding.parts {
                *part = here + part.start..here + part.end;
            }
            finding
        }));
    }
    found
}

/// Where in a diff the lines of a text stand, as far as it has one.
#[derive(Debug, Default)]
struct Diff {
    /// Whether the file is one with values, by its old or its new name.
    is_env: bool,
    /// How many old and new lines the hunk still has; none outside of one.
    left: Option<(usize, usize)>,
}

impl Diff {
    /// Whether this line, which follows the last one, is one of such a file in a hunk.
    fn is_of_env_file(&mut self, line: &str) -> bool {
        let is_within = match (self.left, line.as_bytes().first()) {
            (Some((0, 0)) | None, _) => false,
            // What was cut out of a hunk can be anything: its lines are no longer counted.
            (Some(_), Some(b'[')) if line.starts_with("[TRUNCATED") => {
                self.left = Some((usize::MAX, usize::MAX));
                return false;
            }
            (Some((old, new)), Some(b'+')) => self.count(old, new.saturating_sub(1)),
            (Some((old, new)), Some(b'-')) => self.count(old.saturating_sub(1), new),
            (Some((old, new)), Some(b' ' | b'\n' | b'\r')) => {
                self.count(old.saturating_sub(1), new.saturating_sub(1))
            }
            (Some(_), Some(b'\\')) => true,
            (Some(_), _) => false,
        };
        if is_within {
            return self.is_env;
        }
        self.left = None;
        if let Some(path) = line.strip_prefix("--- ") {
            self.is_env = is_env_file(path.trim());
        } else if let Some(path) = line.strip_prefix("+++ ") {
            self.is_env |= is_env_file(path.trim());
        } else if line.starts_with("@@") {
            self.left = Some(hunk_lengths(line).unwrap_or((usize::MAX, usize::MAX)));
        } else if !line.starts_with('\\') {
            self.is_env = false;
        }
        false
    }

    fn count(&mut self, old: usize, new: usize) -> bool {
        self.left = Some((old, new));
        true
    }
}

/// How many old and new lines a hunk has: `@@ -1,2 +1,3 @@`.
fn hunk_lengths(line: &str) -> Option<(usize, usize)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length(old)?, length(new)?))
}

/// Whether a path is that of a file with values, and not of a template for one.
fn is_env_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_template = ["example", "sample", "template", "dist", "schema"]
        .iter()
        .any(|word| name.contains(word));
    let is_env = name == ".env"
        || name == ".envrc"
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

/// Whether a line is an assignment to a telling name as `cat` and `env` print them, also with what
/// `cat -n` and `grep` put before it.
fn is_printed(line: &str) -> bool {
    let line = without_number(line);
    let line = line.strip_prefix("export ").unwrap_or(line);
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    line.split_once('=')
        .is_some_and(|(name, _)| name.bytes().all(is_name) && telling(name).is_some())
}

/// A line without its number, and the path before it: `12:`, `a/b:12:`, `a/b:`, `  12<tab>`.
fn without_number(line: &str) -> &str {
    let name = line.split('=').next().unwrap_or_default();
    if let Some((before, _)) = name.rsplit_once(':') {
        let is_path = !before.contains([' ', '\t', '"', '\'']);
        return if is_path {
            &line[before.len() + 1..]
        } else {
            line
        };
    }
    match name.trim_start().split_once('\t') {
        Some((number, _)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            let number_end = line.len() - line.trim_start().len() + number.len();
            &line[number_end + 1..]
        }
        _ => line,
    }
}

/// The value of a line, if it is a secret.
fn value(line: &str, origin: Origin) -> Option<Finding> {
    let sign = line.find('=')?;
    let words = line[..sign].trim_end();
    let mut words = words.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = words.next().unwrap_or_default();
    if name.is_empty() || line[..sign].contains('#') {
        return None;
    }
    let rest = line[sign + 1..].trim_end();
    let rest = match origin {
        Origin::EnvFile => rest.split(" #").next().unwrap_or_default(),
        // A command can follow, and its output.
        Origin::Elsewhere => first_word(rest),
    };
    let value = rest.trim().trim_matches(['"', '\'']);
    let start = sign + 1 + rest.find(value).unwrap_or_default();
    let is_secret = !is_harmless(name, value)
        && match origin {
            Origin::EnvFile => is_secret_in_file(name, value),
            Origin::Elsewhere => is_secret_anywhere(name, value),
        };
    let place = start..start + value.len();
    is_secret.then(|| Finding {
        is_doubtful: is_doubtful(name, value),
        ..Finding::new(kind(name), vec![place])
    })
}

/// A text up to a space that stands in no quotes.
fn first_word(text: &str) -> &str {
    let quote = text
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''));
    let closed = quote.and_then(|quote| text[1..].find(quote));
    let end = match closed {
        Some(length) => Some(length + 2),
        None => text.find(char::is_whitespace),
    };
    &text[..end.unwrap_or(text.len())]
}

fn is_harmless(name: &str, value: &str) -> bool {
    const SHORTEST: usize = 4;
    const HARMLESS: [&str; 8] = ["true", "false", "none", "null", "yes", "no", "on", "off"];
    value.len() < SHORTEST
        || HARMLESS.iter().any(|word| word.eq_ignore_ascii_case(value))
        || (value.parse::<f64>().is_ok() && !is_number_password(name, value))
        || is_variable(value)
        || (value.starts_with('<') && value.ends_with('>'))
        || (value.starts_with('/') && !is_password(&value[1..]))
        // Of a URL the password alone is secret, and found by its form.
        || value.contains("://")
        || is_sample(value)
        // A password can be anything, other secrets are made by machines.
        || (kind(name) != "password" && (is_path(value) || is_address(value)))
}

fn is_secret_in_file(name: &str, value: &str) -> bool {
    let is_long = || value.len() >= 24 && !value.contains(' ') && entropy(value) >= 4.0;
    let is_made_up = || is_password(value) || (is_long() && !is_list(value));
    telling(name).is_some() || (!is_open_name(name) && is_made_up())
}

/// Whether neither the name nor the value says for sure that it is a secret.
fn is_doubtful(name: &str, value: &str) -> bool {
    let is_sure = |certainty| certainty == Certainty::Sure;
    let is_made_up = is_password(value) && !is_digest(value);
    telling(name).is_some_and(|telling| !is_sure(telling.certainty)) && !is_made_up
}

fn is_secret_anywhere(name: &str, value: &str) -> bool {
    telling(name).is_some_and(|telling| match telling.certainty {
        Certainty::Sure => !is_word(value),
        Certainty::Doubtful => is_password(value),
    })
}

/// Whether a value is a variable of the shell: `$NAME`, `$name`, `${...}`, `$(...)`.
fn is_variable(value: &str) -> bool {
    value.strip_prefix('$').is_some_and(|rest| {
        let is_name = |test: fn(u8) -> bool| rest.bytes().all(|byte| test(byte) || byte == b'_');
        rest.starts_with(['{', '('])
            || is_name(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            || is_name(|byte| byte.is_ascii_lowercase())
    })
}

/// Whether a number was given a name that numbers have only if they are secret.
fn is_number_password(name: &str, value: &str) -> bool {
    const SHORTEST: usize = 6;
    let is_pin = name.to_ascii_lowercase().ends_with("pin");
    let is_password = matches!(kind(name), "password" | "secret") || is_pin;
    value.len() >= SHORTEST && is_password && telling(name).is_some()
}
