//! The values of `.env` files, also if their lines are in a diff, in search results or in the
//! output of a command.
//!
//! In such a file a telling name is enough, and so is a value that looks random under any name.
//! Obviously harmless values stay readable, and files that are templates by their name are skipped.
//! A line elsewhere that only looks like one (Makefiles have them) needs more: an unmistakable
//! name, and a value that is not an ordinary word.

use super::names::{Certainty, is_open_name, kind, telling};
use super::open::{is_address, is_digest, is_list, is_path};
use super::plausible::{entropy, is_password, is_sample, is_word};
use super::{SecretFinding, TextSource};

/// The origin of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineOrigin {
    /// A `.env` file.
    EnvFile,
    /// Another file, or unknown.
    Elsewhere,
}

/// Finds the secrets in `.env` lines.
pub(super) fn scan(text: &str, source: TextSource<'_>) -> Vec<SecretFinding> {
    if let TextSource::File(path) = source
        && !is_env_file(path)
    {
        return Vec::new();
    }
    let mut diff = DiffPosition::default();
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let here = start;
        start += line.len();
        let origin = if source != TextSource::Text || diff.is_of_env_file(line) || is_hit(line) {
            LineOrigin::EnvFile
        } else if is_printed(line) {
            LineOrigin::Elsewhere
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

/// The current position in a diff, if the text has one.
#[derive(Debug, Default)]
struct DiffPosition {
    /// True if the file is a `.env` file by its old or new name.
    is_env: bool,
    /// The numbers of old and new lines left in the hunk; `None` outside of hunks.
    left: Option<(usize, usize)>,
}

impl DiffPosition {
    /// Returns true if this line, which follows the last one, is in a hunk of a `.env` file.
    fn is_of_env_file(&mut self, line: &str) -> bool {
        let is_within = match (self.left, line.as_bytes().first()) {
            (Some((0, 0)) | None, _) => false,
            // The truncated part of a hunk can be anything, so its lines are no longer counted.
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

/// The numbers of old and new lines of a hunk: `@@ -1,2 +1,3 @@`.
fn hunk_lengths(line: &str) -> Option<(usize, usize)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length(old)?, length(new)?))
}

/// Returns true if a path is that of a `.env` file, and not of a template for one.
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

/// Returns true if a line is a search hit in a `.env` file: `path/.env:3: KEY=value`.
fn is_hit(line: &str) -> bool {
    let mut pieces = line.splitn(3, ':');
    let (path, number) = (
        pieces.next().unwrap_or_default(),
        pieces.next().unwrap_or_default(),
    );
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && is_env_file(path)
}

/// Returns true if a line is an assignment to a telling name as `cat` and `env` print it, also with
/// the prefixes of `cat -n` and `grep`.
fn is_printed(line: &str) -> bool {
    let line = without_number(line);
    let line = line.strip_prefix("export ").unwrap_or(line);
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    line.split_once('=')
        .is_some_and(|(name, _)| name.bytes().all(is_name) && telling(name).is_some())
}

/// Removes the line number and the path in front of a line: `12:`, `a/b:12:`, `a/b:`, `  12<tab>`.
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
fn value(line: &str, origin: LineOrigin) -> Option<SecretFinding> {
    let sign = line.find('=')?;
    let words = line[..sign].trim_end();
    let mut words = words.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = words.next().unwrap_or_default();
    if name.is_empty() || line[..sign].contains('#') {
        return None;
    }
    let rest = line[sign + 1..].trim_end();
    let rest = match origin {
        LineOrigin::EnvFile => rest.split(" #").next().unwrap_or_default(),
        // A command and its arguments can follow.
        LineOrigin::Elsewhere => first_word(rest),
    };
    let value = rest.trim().trim_matches(['"', '\'']);
    let start = sign + 1 + rest.find(value).unwrap_or_default();
    let is_secret = !is_harmless(name, value)
        && match origin {
            LineOrigin::EnvFile => is_secret_in_file(name, value),
            LineOrigin::Elsewhere => is_secret_anywhere(name, value),
        };
    let place = start..start + value.len();
    is_secret.then(|| SecretFinding {
        is_doubtful: is_doubtful(name, value),
        ..SecretFinding::new(kind(name), vec![place])
    })
}

/// The text up to the first space outside of quotes.
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
        // In a URL only the password is secret, and `formats` finds it.
        || value.contains("://")
        || is_sample(value)
        // A password can be anything; other secrets are generated.
        || (kind(name) != "password" && (is_path(value) || is_address(value)))
}

fn is_secret_in_file(name: &str, value: &str) -> bool {
    let is_long = || value.len() >= 24 && !value.contains(' ') && entropy(value) >= 4.0;
    let is_made_up = || is_password(value) || (is_long() && !is_list(value));
    telling(name).is_some() || (!is_open_name(name) && is_made_up())
}

/// Returns true if neither the name nor the value proves that it is a secret.
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

/// Returns true if a value is a shell variable: `$NAME`, `$name`, `${...}`, `$(...)`.
fn is_variable(value: &str) -> bool {
    value.strip_prefix('$').is_some_and(|rest| {
        let is_name = |test: fn(u8) -> bool| rest.bytes().all(|byte| test(byte) || byte == b'_');
        rest.starts_with(['{', '('])
            || is_name(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            || is_name(|byte| byte.is_ascii_lowercase())
    })
}

/// Returns true if the value is a number and its name is one that numbers have only if they are
/// secret.
fn is_number_password(name: &str, value: &str) -> bool {
    const SHORTEST: usize = 6;
    let is_pin = name.to_ascii_lowercase().ends_with("pin");
    let is_password = matches!(kind(name), "password" | "secret") || is_pin;
    value.len() >= SHORTEST && is_password && telling(name).is_some()
}
