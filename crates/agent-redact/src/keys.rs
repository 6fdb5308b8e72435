//! Private keys in other forms than PEM: PEM encoded as base64, as kubeconfigs and `base64` write
//! it, the base64 of a key without its begin and end lines, and `PuTTY` keys.
//!
//! Lines may be indented, numbered or marked by a diff, as in `pem`. A line with anything besides
//! its base64 ends a key, so each byte between two markers is examined only a few times, however
//! many markers there are.

use std::ops::Range;

use super::SecretFinding;
use super::pem::{KIND, line_at, lines_behind, run};
use super::rules::pattern;
use super::shape::decode_base64;

/// The start of the base64 of `-----BEGIN `.
pub(super) const ENCODED: &str = "LS0tLS1CRUdJTi";
/// Parts of the base64 of keys in DER and of OpenSSH keys: their first fields are the same in all
/// keys of a kind. In order: RSA, P-256, P-384, P-521 and Ed25519 in PKCS#8, RSA in PKCS#1 with
/// 1024 to 4096 bits, P-256 and P-384 in SEC 1, OpenSSH.
pub(super) const BARE: [&str; 12] = [
    "IBADANBgkqhkiG9w0BAQEFAASC",
    "MIGHAgEAMBMGByqGSM49",
    "MIG2AgEAMBAGByqGSM49",
    "MIHuAgEAMBAGByqGSM49",
    "MC4CAQAwBQYDK2V",
    "IBAAKBgQ",
    "IBAAKCAQEA",
    "IBAAKCAYEA",
    "IBAAKCAgEA",
    "MHcCAQEEI",
    "MIGkAgEBBD",
    "b3BlbnNzaC1rZXktdjE",
];
/// The line before the private half of a `PuTTY` key.
pub(super) const PUTTY: &str = "Private-Lines:";
/// The longest key on one line, as base64 of base64; the longest keys in use have half of that.
const LONGEST: usize = 20_000;
/// The maximum number of lines of a key.
const MAX_LINES: usize = 500;
/// A line shorter than this was not wrapped.
const SHORTEST_LINE: usize = 40;

/// The private key at one of these marks, whatever the case of its letters.
pub(super) fn at(text: &str, mark: Range<usize>) -> Option<SecretFinding> {
    if text[mark.clone()].eq_ignore_ascii_case(PUTTY) {
        putty_at(text, mark.end)
    } else if begins_private_key(&text.as_bytes()[mark.start..]) {
        Some(base64_from(text, mark.start))
    } else {
        bare_at(text, mark.start)
    }
}

/// The private key without begin and end lines around this position.
fn bare_at(text: &str, word: usize) -> Option<SecretFinding> {
    /// The header of a DER sequence before its first field.
    const HEADER: usize = 8;
    /// The shortest key, Ed25519, has 64 digits.
    const SHORTEST: usize = 60;
    let is_exact = BARE.iter().any(|mark| text[word..].starts_with(mark));
    let before = text.as_bytes()[..word].iter().rev().take(HEADER);
    let length = before.take_while(|byte| is_digit(**byte)).count();
    let start = word - length;
    let is_start = length < HEADER && (length == 0 || text[start..].starts_with("MI"));
    if !is_exact || !is_start {
        return None;
    }
    let finding = base64_from(text, start);
    let size: usize = finding.parts.iter().map(Range::len).sum();
    (size >= SHORTEST).then_some(finding)
}

/// Returns true if a byte is a digit of base64.
fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/".contains(&byte)
}

/// The base64 from this position on, with the lines that follow it.
fn base64_from(text: &str, start: usize) -> SecretFinding {
    let run = text.as_bytes()[start..].iter().take(LONGEST);
    let is_run = |byte: &&u8| is_digit(**byte) || **byte == b'=';
    let length = run.take_while(is_run).count();
    let first = start..start + length;
    let rest = base64_behind(text, first.end, MAX_LINES);
    let rest = rest.take_while(|part| part.len() >= SHORTEST_LINE);
    SecretFinding::new(KIND, std::iter::once(first).chain(rest).collect())
}

/// Returns true if a text begins with the base64 of the first line of a private key.
fn begins_private_key(bytes: &[u8]) -> bool {
    /// Enough for `-----BEGIN ENCRYPTED PRIVATE KEY`, in whole groups of four.
    const HEADER: usize = 44;
    let header = bytes.get(..HEADER).and_then(decode_base64);
    let header = header.unwrap_or_default();
    let label = b"PRIVATE KEY";
    header.starts_with(b"-----BEGIN ") && header.windows(label.len()).any(|window| window == label)
}

/// The `PuTTY` key whose number of lines follows this position.
fn putty_at(text: &str, mark_end: usize) -> Option<SecretFinding> {
    const LONGEST_NUMBER: usize = 4;
    let line = line_at(text, mark_end);
    let number = text[line.clone()].trim();
    if number.len() > LONGEST_NUMBER {
        return None;
    }
    let count = number.parse::<usize>().ok()?.min(MAX_LINES);
    let parts: Vec<Range<usize>> = base64_behind(text, line.end, count).collect();
    let first = parts.first().map_or(0, Range::len);
    (first >= SHORTEST_LINE).then(|| SecretFinding::new(KIND, parts))
}

/// The base64 of the next `count` lines, up to one with anything else.
fn base64_behind(text: &str, end: usize, count: usize) -> impl Iterator<Item = Range<usize>> {
    // In code, each line may be a string: `"..." +`.
    let closing = pattern!(r#"\A(?:["'][ \t]{0,8}[+.,&_]?[ \t]{0,8}\\?)?\r?"#);
    let closing = closing.find(&text[end..]).map_or(0, |found| found.len());
    let lines = lines_behind(text, end + closing).take(count);
    lines.map_while(|line| alone(text, line))
}

/// The base64 of a line, if there is nothing else but a number, a diff marker or a quote.
fn alone(text: &str, line: Range<usize>) -> Option<Range<usize>> {
    let part = run(text, line.clone(), true)?;
    let dress = pattern!(r#"\A[\d\s:+|"',;)&.\\>-]*\z"#);
    let beside = [line.start..part.start, part.end..line.end];
    let is_alone = beside.into_iter().all(|range| dress.is_match(&text[range]));
    is_alone.then_some(part)
}
