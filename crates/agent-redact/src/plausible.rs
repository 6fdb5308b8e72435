//! Tells secrets from samples, words and identifiers by the value alone.

use super::open::is_open;

/// Words in samples and templates, in lower case.
const SAMPLE_WORDS: [&str; 24] = [
    "example",
    "sample",
    "dummy",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "your_",
    "your-",
    "yourp",
    "yours",
    "yourt",
    "yourk",
    "xxxx",
    "****",
    "....",
    "1234567890",
    "0123456789",
    "abcdefgh",
    "00000000",
    "deadbeef",
    "[secret-",
    "insert",
];

/// Returns true if a text is a placeholder that somebody wrote instead of a secret.
pub(super) fn is_sample(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    SAMPLE_WORDS.iter().any(|word| lower.contains(word))
}

/// Returns true if a program fills in the text: a variable, a template, a format string.
pub(super) fn is_template(value: &str) -> bool {
    value.contains(['{', '}', '<', '>', '(', ')', '\\', '`'])
        || value.starts_with(['$', '%', '@', '&'])
        || value.contains("$(")
        || value.contains("%s")
}

/// The number of distinct bytes in a text.
pub(super) fn distinct(value: &str) -> usize {
    let mut seen = [false; 256];
    for byte in value.bytes() {
        seen[usize::from(byte)] = true;
    }
    seen.iter().filter(|seen| **seen).count()
}

/// The entropy per byte, in bits: 0 for one repeated byte, 4 for long random hex.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / length;
            -share * share.log2()
        })
        .sum()
}

/// Returns true if the random part of a well-known token is random.
///
/// Sixteen random hex digits have ten different ones on average, and fewer than five almost never.
pub(super) fn is_token(value: &str) -> bool {
    distinct(value) >= 5 && !is_sample(value)
}

/// Returns true if the value of a telling name looks generated, or chosen by a careful person.
///
/// In these values letters and digits, and small and capital letters, alternate often; in words,
/// identifiers and versions they rarely do. A character that identifiers do not have counts as
/// well.
pub(super) fn is_password(value: &str) -> bool {
    const LONG: usize = 20;
    let is_filled_in = is_template(value) && !is_dense(value);
    if is_sample(value) || is_filled_in || is_location(value) || is_uuid(value) {
        return false;
    }
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    let has_sign = has_sign(value);
    let is_mixed = has(u8::is_ascii_digit) || has_sign || value.len() >= LONG;
    let digits = turns(value, u8::is_ascii_digit);
    let capitals = turns(value, u8::is_ascii_uppercase) / 2;
    let is_restless =
        digits + 2 * usize::from(has_sign) >= 3 || (digits + capitals) * 4 >= value.len();
    has(u8::is_ascii_alphabetic) && is_mixed && is_restless && entropy(value) >= 2.75
}

/// Returns true if a person may have chosen the value as a password: it is no word, identifier or
/// version, but need not look generated.
pub(super) fn is_chosen(value: &str) -> bool {
    const IN_NAMES: [&str; 6] = ["password", "secret", "token", "key", "credential", "passwd"];
    let lower = value.to_ascii_lowercase();
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    let is_excluded = is_sample(value)
        || is_template(value)
        || is_location(value)
        || is_uuid(value)
        || is_word(value)
        || is_version(value)
        || is_open(value)
        || IN_NAMES.iter().any(|word| lower.contains(word));
    let pieces = value.split(['-', '_', '.']).count();
    let is_rich = has_sign(value) || (pieces > 2 && has(u8::is_ascii_digit));
    has(u8::is_ascii_alphabetic) && !is_excluded && is_rich && distinct(value) >= 6
}

/// Returns true if a text begins like a version or a date.
fn is_version(value: &str) -> bool {
    let rest = value.strip_prefix('v').unwrap_or(value);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && rest[digits..].starts_with(['.', '-'])
}

/// Returns true if a text has a character that identifiers do not have.
fn has_sign(value: &str) -> bool {
    value.contains(['!', '#', '$', '%', '^', '&', '*', '?', '~', '@'])
}

/// Returns true if a text is certainly a password, even if its name and position say little.
///
/// Identifiers have digits and capital letters as well, but not at every other position.
pub(super) fn is_random(value: &str) -> bool {
    const SHORTEST: usize = 10;
    const SHORTEST_PIECE: usize = 8;
    const IN_NAMES: [&str; 4] = ["password", "secret", "token", "key"];
    let lower = value.to_ascii_lowercase();
    if IN_NAMES.iter().any(|word| lower.contains(word)) && !is_dense(value) {
        return false;
    }
    let pieces = value.split(|c: char| !c.is_alphanumeric());
    let piece = pieces.max_by_key(|piece| piece.len()).unwrap_or_default();
    let is_drawn = turns(piece, u8::is_ascii_digit) >= 3 || changes(piece) * 2 + 1 >= piece.len();
    let is_made_up =
        is_drawn && piece.len() >= SHORTEST_PIECE && distinct(piece) >= 6 && is_password(piece);
    value.len() >= SHORTEST && (is_dense(value) || is_made_up) && is_password(value)
}

/// Returns true if letters, digits and punctuation are mixed as in nothing that a person writes, so
/// that brackets in it are random. Templates and patterns have words and ranges in them.
fn is_dense(value: &str) -> bool {
    const SHORTEST: usize = 32;
    const FILLED_IN: [&str; 9] = ["\\", "${", "{{", "%(", "(?", "a-z", "A-Z", "0-9", "()"];
    if value.len() < SHORTEST || FILLED_IN.iter().any(|mark| value.contains(mark)) {
        return false;
    }
    let count = |which: u8| value.bytes().filter(|byte| class(*byte) == which).count();
    count(DIGIT) >= 3
        && count(SIGN) >= 3
        && changes(value) * 5 >= value.len() * 2
        && entropy(value) >= 4.3
}

const DIGIT: u8 = 2;
const SIGN: u8 = 3;

/// The class of a byte: small letter, capital letter, digit, other.
fn class(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => DIGIT,
        _ => SIGN,
    }
}

/// The number of bytes with another class than the byte before.
fn changes(value: &str) -> usize {
    let pairs = value.as_bytes().windows(2);
    pairs
        .filter(|pair| class(pair[0]) != class(pair[1]))
        .count()
}

/// Returns true if a text consists of a few ordinary words.
pub(super) fn is_word(value: &str) -> bool {
    const LONG: usize = 20;
    let mut pieces = value.split(|c: char| c.is_whitespace() || "-_./,".contains(c));
    value.len() < LONG
        && pieces.all(|piece| {
            let mut letters = piece.chars().skip(1);
            piece.len() != 1
                && piece.chars().all(char::is_alphabetic)
                && (letters.clone().all(char::is_lowercase) || letters.all(char::is_uppercase))
        })
}

/// The number of changes between bytes of this kind and other letters and digits.
fn turns(value: &str, is_kind: fn(&u8) -> bool) -> usize {
    let pairs = value.as_bytes().windows(2);
    pairs
        .filter(|pair| pair.iter().all(u8::is_ascii_alphanumeric))
        .filter(|pair| is_kind(&pair[0]) != is_kind(&pair[1]))
        .count()
}

/// Returns true if a text is a path, a URL, a number with a unit, a version or a digest.
fn is_location(value: &str) -> bool {
    let starts = ["/", "./", "../", "~/", "0x", "sha1", "sha2", "sha5", "md5"];
    value.contains("://")
        || value.contains("::")
        || starts.iter().any(|start| value.starts_with(start))
}

fn is_uuid(value: &str) -> bool {
    let groups: Vec<&str> = value.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12]
        && groups
            .iter()
            .all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(value: &str, expected: bool) {
        assert_eq!(is_password(value), expected, "{value}");
    }

    #[test]
    fn passwords_are_told_from_names_and_templates() {
        for value in [
            "Xk29dkfj39dk",
            "Sup3rS3cret!",
            "correct!horse7",
            "a8f5f167f44f4964e6c9",
        ] {
            case(value, true);
        }
        for value in [
            "oauth2-client",
            "utf8-string",
            "ed25519",
            "access_token",
            "{password}",
            "$SECRET_KEY1a2b",
            "your-password-1a2b3c",
            "/etc/pass1/w0rd2",
            "https://h0st1.exam2",
            "550e8400-e29b-41d4-a716-446655440000",
            "hunter",
            "#include",
        ] {
            case(value, false);
        }
    }

    #[test]
    fn words_are_told_from_what_was_made_up() {
        for value in ["passed", "Jane Doe", "build/certs", "LDAP", "größe", ""] {
            assert!(is_word(value), "{value}");
        }
        for value in ["hunter2", "p@ss", "kQzPxW", "correct horse battery staple"] {
            assert!(!is_word(value), "{value}");
        }
    }

    #[test]
    fn what_names_could_be_is_not_random() {
        for value in [
            "Lc29dkfj39dkX",
            "Sup3rS3cret!9",
            "fadde07682d7d40ab83e3c3a30f47c12",
        ] {
            assert!(is_random(value), "{value}");
        }
        for value in [
            "X509PrivateKeyUsageFlags",
            "oauth2ClientSecretSha256",
            "sha256_hmac_v2",
            "hunter2",
            "utf8-string-2a",
            "x86_64-linux-gnu2",
            "a1b2c3",
        ] {
            assert!(!is_random(value), "{value}");
        }
    }

    #[test]
    fn what_a_person_chose_is_told_from_names() {
        for value in ["winter-is-coming-99x", "Winter#2023", "Sommer2024!"] {
            assert!(is_chosen(value), "{value}");
        }
        for value in [
            "winter",
            "winter-is-coming",
            "my-secret-v2",
            "v1.2.3-rc1",
            "2024-01-31-a",
            "oauth2-client",
            "jane2@corp.com",
            "${PASSWORD}",
            "certs/server-1-a.pem",
        ] {
            assert!(!is_chosen(value), "{value}");
        }
    }

    #[test]
    fn brackets_in_a_random_text_make_no_template() {
        case("x#k2(v!0&p9=z%w7)q3_m@5^t8*b-1+c4(d6$e0h", true);
        case("^(?:[A-Za-z0-9_]{8,20}){2}(?P<x>[0-9]+)$", false);
        case("prefix-{user_id_1}-{group_id_2}-{name_3}", false);
    }

    #[test]
    fn entropy_is_told_in_bits() {
        assert!(entropy("aaaa").abs() < 0.001);
        assert!((entropy("abcd") - 2.0).abs() < 0.001);
    }
}
