//! Values that are public by their form, unless their names say otherwise: file names and paths,
//! e-mail addresses, digests, lists of words.

/// Extensions of files that are named in settings.
const ENDINGS: [&str; 42] = [
    "pem",
    "crt",
    "cer",
    "der",
    "csr",
    "key",
    "pub",
    "p12",
    "pfx",
    "jks",
    "keystore",
    "json",
    "jsonc",
    "yml",
    "yaml",
    "toml",
    "xml",
    "txt",
    "env",
    "conf",
    "cfg",
    "ini",
    "properties",
    "sqlite",
    "sqlite3",
    "sql",
    "log",
    "csv",
    "png",
    "jpg",
    "jpeg",
    "svg",
    "gif",
    "pdf",
    "html",
    "css",
    "md",
    "sh",
    "py",
    "zip",
    "tar",
    "gz",
];

/// Returns true if a value is a file name or a path.
pub(super) fn is_path(value: &str) -> bool {
    is_file(value) || (value.contains('/') && has_only_names(value))
}

/// Returns true if a value ends like a file name.
fn is_file(value: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/~ @".contains(&byte);
    let name = value.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && ENDINGS.iter().any(|one| one.eq_ignore_ascii_case(ending))
            && value.bytes().all(is_sign)
    })
}

/// Returns true if all pieces of a path are words, at most followed by a number. Base64 has no such
/// pieces.
fn has_only_names(value: &str) -> bool {
    const SHORTEST_WORD: usize = 3;
    let rest = value.trim_start_matches(['.', '~', '/']);
    let is_word = |piece: &&str| {
        let letters = piece.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut small = letters.chars().skip(1);
        letters.chars().all(|c| c.is_ascii_alphabetic()) && small.all(|c| c.is_ascii_lowercase())
    };
    let mut pieces = rest.split(['/', '-', '_', '.']);
    let has_word = |mut pieces: std::str::Split<'_, [char; 4]>| {
        pieces.any(|piece| {
            let letters = piece.bytes().filter(u8::is_ascii_alphabetic);
            letters.count() >= SHORTEST_WORD
        })
    };
    !rest.is_empty() && has_word(pieces.clone()) && pieces.all(|piece| is_word(&piece))
}

/// Returns true if a value is an e-mail address.
pub(super) fn is_address(value: &str) -> bool {
    let Some((person, host)) = value.split_once('@') else {
        return false;
    };
    let is_person = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let mut labels = host.split('.');
    let last = labels.next_back().unwrap_or_default();
    !person.is_empty()
        && person.bytes().all(is_person)
        && host.contains('.')
        && labels.all(|label| !label.is_empty() && label.bytes().all(is_host))
        && last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns true if a value has the length and digits of a digest: MD5, SHA-1, SHA-2.
pub(super) fn is_digest(value: &str) -> bool {
    matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128)
        && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if a value consists of words separated by punctuation.
pub(super) fn is_list(value: &str) -> bool {
    const LONGEST_WORD: usize = 16;
    let mut words = value.split([',', ';', '|', ':', '-', '_', '.', '/', ' ']);
    words.all(|word| {
        let mut small = word.chars().skip(1);
        word.len() <= LONGEST_WORD
            && word.chars().all(char::is_alphabetic)
            && (small.clone().all(char::is_lowercase) || small.all(char::is_uppercase))
    })
}

/// Returns true if a value has the form of something public.
pub(super) fn is_open(value: &str) -> bool {
    is_path(value) || is_address(value) || is_digest(value) || is_list(value)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(is_path(value), "{value}");
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
            assert!(!is_path(value), "{value}");
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
            assert!(is_open(value), "{value}");
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
            assert!(!is_open(value), "{value}");
        }
    }
}
