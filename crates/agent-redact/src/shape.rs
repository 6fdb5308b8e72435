//! Tells secrets from samples, words and identifiers by the value alone.

use super::rules::{pattern, table};

/// Returns true if a value is a placeholder that somebody wrote instead of a secret.
pub(super) fn is_sample(value: &str) -> bool {
    pattern!(table::SAMPLES).is_match(value)
}

/// Returns true if a program fills the value in: a variable, a template, a format string.
pub(super) fn is_template(value: &str) -> bool {
    pattern!(table::TEMPLATES).is_match(value) && !is_dense(value) && !is_scrambled(value)
}

/// Returns true if a value is a variable or a conversion, as far as no bracket alone shows one.
pub(super) fn is_variable(value: &str) -> bool {
    pattern!(table::VARIABLES).is_match(value)
}

/// Returns true if a value is a word that stands for a password: `secret`, `admin`, `string`.
pub(super) fn is_stand_in(value: &str) -> bool {
    pattern!(table::STAND_INS).is_match(value)
}

/// Returns true if a value has the form of something public: a path, an address, a digest or a list
/// of words.
pub(super) fn is_public(value: &str) -> bool {
    is_address(value) || is_digest(value) || pattern!(table::LISTS).is_match(value)
}

/// Returns true if a value is the name of a file, a path of ordinary words or an e-mail address.
pub(super) fn is_address(value: &str) -> bool {
    pattern!(table::FILES).is_match(value)
        || (value.contains('/') && pattern!(table::PATHS).is_match(value))
}

/// Returns true if a value is a path, a URL, a number with a unit or a UUID.
fn is_location(value: &str) -> bool {
    pattern!(table::LOCATIONS).is_match(value) || is_uuid(value)
}

/// Returns true if a value is a UUID.
pub(super) fn is_uuid(value: &str) -> bool {
    pattern!(table::UUID).is_match(value)
}

/// Returns true if a value has the length and digits of a digest: MD5, SHA-1, SHA-2.
pub(super) fn is_digest(value: &str) -> bool {
    pattern!(table::DIGEST).is_match(value)
}

/// Returns true if a text consists of a few ordinary words.
pub(super) fn is_word(value: &str) -> bool {
    const LONG: usize = 20;
    value.len() < LONG && pattern!(table::WORDS).is_match(value)
}

/// The number of distinct bytes in a text.
pub(super) fn distinct(value: &str) -> usize {
    counts(value).iter().filter(|count| **count > 0).count()
}

fn counts(value: &str) -> [u32; 256] {
    let mut counts = [0; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    counts
}

/// The entropy per byte, in bits: 0 for one repeated byte, 4 for long random hex.
pub(super) fn entropy(value: &str) -> f64 {
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let shares = counts(value).map(|count| f64::from(count) / length);
    let bits = shares.iter().filter(|share| **share > 0.0);
    bits.map(|share| -share * share.log2()).sum()
}

/// Returns true if the value of a telling name looks generated, or chosen by a careful person.
///
/// In these values letters and digits, and small and capital letters, alternate often; in words,
/// identifiers and versions they rarely do. A character that identifiers do not have counts as
/// well.
pub(super) fn is_password(value: &str) -> bool {
    const LONG: usize = 20;
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    let has_sign = has_sign(value);
    let is_mixed = has(u8::is_ascii_digit) || has_sign || value.len() >= LONG;
    let digits = turns(value, u8::is_ascii_digit);
    let capitals = turns(value, u8::is_ascii_uppercase) / 2;
    let is_restless =
        digits + 2 * usize::from(has_sign) >= 3 || (digits + capitals) * 4 >= value.len();
    has(u8::is_ascii_alphabetic)
        && is_mixed
        && is_restless
        && entropy(value) >= 2.75
        && !is_sample(value)
        && !is_location(value)
        && !is_template(value)
}

/// Returns true if a person may have chosen the value as a password: it is no word, identifier or
/// version, but need not look generated.
pub(super) fn is_chosen(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    let pieces = value.split(['-', '_', '.']).count();
    let is_rich = has_sign(value) || (pieces > 2 && has(u8::is_ascii_digit));
    has(u8::is_ascii_alphabetic)
        && is_rich
        && distinct(value) >= 6
        && !names_a_secret(value)
        && !is_sample(value)
        && !is_template(value)
        && !is_location(value)
        && !is_word(value)
        && !is_public(value)
}

/// Returns true if a value has a word in it that names of secrets have.
fn names_a_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let words = ["password", "secret", "token", "key", "credential", "passwd"];
    words.iter().any(|word| lower.contains(word))
}

/// Returns true if a text is certainly a password and nothing public.
pub(super) fn is_generated(value: &str) -> bool {
    is_random(value) && !is_public(value)
}

/// Returns true if a text has a digit.
pub(super) fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns true if a text has a character that identifiers do not have.
pub(super) fn has_sign(value: &str) -> bool {
    value.contains(['!', '#', '$', '%', '^', '&', '*', '?', '~', '@'])
}

/// Returns true if a text is certainly a password, even if its name and position say little.
///
/// Identifiers have digits and capital letters as well, but not at every other position.
pub(super) fn is_random(value: &str) -> bool {
    const SHORTEST: usize = 10;
    const SHORTEST_PIECE: usize = 8;
    if value.len() < SHORTEST || (names_a_secret(value) && !is_dense(value)) {
        return false;
    }
    let pieces = value.split(|c: char| !c.is_alphanumeric());
    let piece = pieces.max_by_key(|piece| piece.len()).unwrap_or_default();
    let is_drawn = turns(piece, u8::is_ascii_digit) >= 3 || changes(piece) * 2 + 1 >= piece.len();
    let is_made_up =
        is_drawn && piece.len() >= SHORTEST_PIECE && distinct(piece) >= 6 && is_password(piece);
    (is_dense(value) || is_made_up) && is_password(value)
}

/// Returns true if a value is so long and mixed that no identifier looks like it.
pub(super) fn is_strong(value: &str) -> bool {
    const SHORTEST: usize = 20;
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    value.len() >= SHORTEST
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
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

/// Returns true if a short value is so mixed that brackets in it are random: templates, patterns
/// and code have words, escapes and pairs of brackets around a name.
fn is_scrambled(value: &str) -> bool {
    const SHORTEST: usize = 10;
    let count = |which: u8| value.bytes().filter(|byte| class(*byte) == which).count();
    value.len() >= SHORTEST
        && !pattern!(table::WRITTEN_MARKS).is_match(value)
        && (0..DIGIT).all(|letters| count(letters) > 0)
        && (count(DIGIT) > 0 || count(SIGN) > 3)
        && count(DIGIT) + count(SIGN) >= 3
        && changes(value) * 2 >= value.len()
        && entropy(value) >= 3.0
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

/// The number of changes between bytes of this kind and other letters and digits.
fn turns(value: &str, is_kind: fn(&u8) -> bool) -> usize {
    let pairs = value.as_bytes().windows(2);
    pairs
        .filter(|pair| pair.iter().all(u8::is_ascii_alphanumeric))
        .filter(|pair| is_kind(&pair[0]) != is_kind(&pair[1]))
        .count()
}

/// Returns true if a text is the base64 of a user name and a password: `bob:...`.
pub(super) fn is_login(text: &str) -> bool {
    let login = decode_base64(text.as_bytes()).unwrap_or_default();
    let is_text = login.iter().all(u8::is_ascii_graphic);
    let colon = login.iter().position(|byte| *byte == b':');
    is_text && colon.is_some_and(|at| at > 0 && at + 1 < login.len())
}

/// Decodes base64; padding is optional. `None` if the text is not base64.
pub(super) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let filled = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let text = &text[..text.len() - filled];
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for four in text.chunks(4) {
        let mut bits = 0_u32;
        for byte in four {
            let sextet = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(sextet);
        }
        let missing = 4 - four.len();
        let bytes = (bits << (6 * missing)).to_be_bytes();
        decoded.extend(&bytes[1..4 - missing.min(3)]);
    }
    Some(decoded)
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
        for value in [
            "Ab12(x9Qz7",
            "$kQ7>vR2m<Zp9wT4",
            "@hT5{qL8nVb3%Yc1",
            "%9Wd}4kZr(8Xm2Pf",
        ] {
            case(value, true);
        }
        for value in [
            "{userId1}-A2b3",
            "$Env1Name2",
            "<Abc1Def2>",
            "%02X%02X%02X%02X",
            "f1(A2, b3)",
            "${aB1}xY2zW",
            "@Value1Name2",
            "%(aB1)s-xY2",
            "(?P<a1>B2)c3",
            "[A-Z]{2}[0-9]{4}",
            "A1<b2>C3</b2>",
        ] {
            case(value, false);
        }
        case("^(?:[A-Za-z0-9_]{8,20}){2}(?P<x>[0-9]+)$", false);
        case("prefix-{user_id_1}-{group_id_2}-{name_3}", false);
    }

    #[test]
    fn entropy_is_told_in_bits() {
        assert!(entropy("aaaa").abs() < 0.001);
        assert!((entropy("abcd") - 2.0).abs() < 0.001);
    }
    #[test]
    fn paths_are_told_from_base64() {
        for value in [
            "keys/jwt-rs256.pem",
            "keys/jwt-rs256",
            "server1.crt",
            "./gcp-billing-2024.json",
            "uploads/2024/a1b2c3d4e5.png",
            "~/certs/prod1",
        ] {
            assert!(is_address(value), "{value}");
        }
        for value in [
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzKEYY",
            "/Ab19xZ/qq0",
            "a1b2/c3d4",
            "hunter2",
            "12/14",
            ".key",
            "x#k2/v.pem",
            "",
            "/",
        ] {
            assert!(!is_address(value), "{value}");
        }
    }

    #[test]
    fn addresses_digests_and_lists_are_known_by_their_form() {
        for value in [
            "jane2@corp.com",
            "a.b+c@x1.example.org",
            "8f14e45fceea167a5a36dedd4bea2543",
            "login,search,payments,export-csv",
        ] {
            assert!(is_public(value), "{value}");
        }
        for value in [
            "p@ssw0rd",
            "Tr0ub4dor@3",
            "jane@corp",
            "@corp.com",
            "8f14e45fceea167a5a36dedd4bea254",
            "kqzpxwvjtrmnbsdfghlcqwert",
            "login,s3arch",
        ] {
            assert!(!is_public(value), "{value}");
        }
    }
    #[track_caller]
    fn decoded(text: &str, expected: Option<&str>) {
        let decoded = decode_base64(text.as_bytes());
        assert_eq!(decoded.as_deref(), expected.map(str::as_bytes), "{text}");
    }

    #[test]
    fn base64_is_read() {
        decoded("", Some(""));
        decoded("YQ==", Some("a"));
        decoded("YWI=", Some("ab"));
        decoded("YWI", Some("ab"));
        decoded("YWJj", Some("abc"));
        decoded("YWJjZA==", Some("abcd"));
        decoded("YW-j", None);
        decoded("é", None);
    }

    #[test]
    fn a_login_is_told_from_other_base64() {
        assert!(is_login("dXNlcjE6cEA1NXcwckQ5"));
        assert!(!is_login("YWJjZGVmZ2g="));
        assert!(!is_login("a8f5f167f44f4964"));
        assert!(!is_login("OnBhc3M="));
    }
}
