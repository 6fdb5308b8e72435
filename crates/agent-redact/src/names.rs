//! Decides by the name of a value if the value is secret, and of which kind.
//!
//! A name is split into words: `COMPASS` and `AUTHOR` contain no `pass` and no `auth`, and
//! `CERT_DIR` says where a certificate is. Unmistakable words may also end a longer one
//! (`PGPASSWORD`). All detectors that look at names use this file.

/// Parts of which every telling name contains one; `telling` decides.
pub(super) const LEADS: [&str; 7] = ["pass", "pw", "secret", "token", "key", "credential", "auth"];
/// Endings of words that name a secret, with its kind.
const ENDINGS: [(&str, &str); 17] = [
    ("password", "password"),
    ("passwd", "password"),
    ("passwort", "password"),
    ("passphrase", "password"),
    ("passcode", "password"),
    ("pwd", "password"),
    ("secret", "secret"),
    ("token", "token"),
    ("credential", "secret"),
    ("salt", "secret"),
    ("apikey", "key"),
    ("accesskey", "key"),
    ("secretkey", "key"),
    ("privatekey", "key"),
    ("signingkey", "key"),
    ("encryptionkey", "key"),
    ("masterkey", "key"),
];
/// Whole words that name a password after another word, and perhaps alone.
const SHORT_PASSWORDS: [&str; 6] = ["pass", "pw", "dbpass", "userpass", "rootpass", "smtppass"];
/// Whole words that may name a secret.
const DOUBTFUL: [&str; 4] = ["auth", "dsn", "cert", "pin"];
/// Words before `key` that make it secret.
const SECRET_KEYS: [&str; 33] = [
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "signing",
    "sign",
    "signature",
    "encryption",
    "encrypt",
    "master",
    "subscription",
    "jwt",
    "hmac",
    // Vendors that issue API keys.
    "ai",
    "anthropic",
    "aws",
    "azure",
    "cohere",
    "datadog",
    "gemini",
    "github",
    "gitlab",
    "heroku",
    "mailgun",
    "mistral",
    "openai",
    "paypal",
    "relic",
    "sendgrid",
    "sentry",
    "slack",
    "stripe",
];
/// Words before `key` that make it public or an index.
const OPEN_KEYS: [&str; 38] = [
    "public",
    "pub",
    "publishable",
    "verifying",
    "verification",
    "verify",
    "host",
    "primary",
    "foreign",
    "unique",
    "cache",
    "sort",
    "partition",
    "row",
    "group",
    "index",
    "map",
    "object",
    "s3",
    "bucket",
    "etag",
    "build",
    "artifact",
    "idempotency",
    "storage",
    "lookup",
    "registry",
    "routing",
    "sitekey",
    "site",
    "search",
    "translation",
    "hot",
    "shortcut",
    "recv",
    "gpg",
    "pgp",
    "trusted",
];
/// Words before `token` that make it a position in a list.
const OPEN_TOKENS: [&str; 5] = ["page", "next", "continuation", "sync", "cursor"];
/// Words after a telling one that make the name about a secret, not the name of one. Those of four
/// letters and more may start a longer word.
const ABOUT: [&str; 58] = [
    "type",
    "kind",
    "name",
    "url",
    "uri",
    "path",
    "dir",
    "folder",
    "file",
    "store",
    "field",
    "len",
    "length",
    "size",
    "count",
    "limit",
    "max",
    "min",
    "expir",
    "ttl",
    "lifetime",
    "timeout",
    "header",
    "prefix",
    "suffix",
    "regex",
    "re",
    "pattern",
    "format",
    "label",
    "title",
    "message",
    "msg",
    "hint",
    "placeholder",
    "prompt",
    "alg",
    "algo",
    "mode",
    "fingerprint",
    "hash",
    "sha",
    "digest",
    "checksum",
    "policy",
    "scope",
    "issuer",
    "audience",
    "provider",
    "version",
    "endpoint",
    "reset",
    "help",
    "env",
    "var",
    "arn",
    "id",
    "ids",
];

/// Endings of names whose values are public, even next to names of secrets.
const OPEN_NAMES: [&str; 28] = [
    "tag",
    "version",
    "commit",
    "revision",
    "rev",
    "sha",
    "hash",
    "digest",
    "checksum",
    "fingerprint",
    "build",
    "release",
    "image",
    "email",
    "mail",
    "mode",
    "level",
    "format",
    "region",
    "zone",
    "bucket",
    "host",
    "hostname",
    "domain",
    "locale",
    "timezone",
    "feature",
    "branch",
];

/// How certain it is that a name has a secret value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    Sure,
    Doubtful,
}

/// The information in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Telling {
    pub(super) kind: &'static str,
    pub(super) certainty: Certainty,
}

/// The information about a value in one word of its name.
enum WordMeaning {
    Secret(Telling),
    /// The value is public, whatever earlier words say.
    Open,
    Nothing,
}

/// Examines a name. `None` if it does not say that its value is secret.
pub(super) fn telling(name: &str) -> Option<Telling> {
    let (mut told, mut before) = (None, None);
    for word in words(name) {
        let word = stem(word);
        match said(word, before) {
            WordMeaning::Secret(telling) => told = Some(telling),
            WordMeaning::Open => told = None,
            WordMeaning::Nothing if is_about(word) => told = None,
            WordMeaning::Nothing => {}
        }
        before = Some(word);
    }
    told
}

/// The kind of a value with this name.
pub(super) fn kind(name: &str) -> &'static str {
    telling(name).map_or("secret", |telling| telling.kind)
}

/// Returns true if a name says that its value is public.
pub(super) fn is_open_name(name: &str) -> bool {
    let last = words(name).last().map(stem);
    last.is_some_and(|last| any(&OPEN_NAMES, last))
}

/// Returns true if this is the only word of a name.
pub(super) fn is_only_word(name: &str, word: &str) -> bool {
    let mut words = words(name);
    words.next().is_some_and(|one| is(one, word)) && words.next().is_none()
}

fn said(word: &str, before: Option<&str>) -> WordMeaning {
    let secret = |kind, certainty| WordMeaning::Secret(Telling { kind, certainty });
    if before.is_some_and(|before| is(word, "token") && any(&OPEN_TOKENS, before)) {
        return WordMeaning::Open;
    }
    let ending = ENDINGS.iter().find(|(ending, _)| ends_with(word, ending));
    if let Some((_, kind)) = ending {
        return secret(kind, Certainty::Sure);
    }
    if any(&SHORT_PASSWORDS, word) {
        return match before {
            Some(_) => secret("password", Certainty::Sure),
            None => secret("password", Certainty::Doubtful),
        };
    }
    if any(&DOUBTFUL, word) {
        return secret("secret", Certainty::Doubtful);
    }
    match before {
        _ if is(word, "pubkey") || is(word, "publickey") => WordMeaning::Open,
        Some(before) if is(word, "key") && any(&OPEN_KEYS, before) => WordMeaning::Open,
        Some(before) if is(word, "key") && any(&SECRET_KEYS, before) => {
            secret("key", Certainty::Sure)
        }
        Some(_) if is(word, "key") => secret("key", Certainty::Doubtful),
        _ => WordMeaning::Nothing,
    }
}

/// The words of a name: split at punctuation and before capital letters.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let pieces = name.split(|c: char| !c.is_alphanumeric());
    pieces.flat_map(|piece| {
        let mut rest = piece;
        std::iter::from_fn(move || {
            let (word, behind) = rest.split_at(word_length(rest));
            rest = behind;
            (!word.is_empty()).then_some(word)
        })
    })
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

fn is_about(word: &str) -> bool {
    const SHORTEST_BEGINNING: usize = 4;
    ABOUT.iter().any(|about| {
        is(word, about)
            || (about.len() >= SHORTEST_BEGINNING
                && word
                    .get(..about.len())
                    .is_some_and(|start| is(start, about)))
    })
}

fn is(word: &str, other: &str) -> bool {
    word.eq_ignore_ascii_case(other)
}

fn any(words: &[&str], word: &str) -> bool {
    words.iter().any(|one| is(one, word))
}

fn ends_with(word: &str, ending: &str) -> bool {
    let start = word.len().checked_sub(ending.len());
    start
        .and_then(|start| word.get(start..))
        .is_some_and(|end| is(end, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(name: &str, expected: Option<(&str, Certainty)>) {
        let told = telling(name).map(|telling| (telling.kind, telling.certainty));
        assert_eq!(told, expected, "{name}");
    }

    #[test]
    fn names_are_read_word_by_word() {
        use Certainty::{Doubtful, Sure};
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
            case(name, Some((kind, Sure)));
        }
        for (name, kind) in [
            ("PASS", "password"),
            ("ACME_KEY", "key"),
            ("AUTH", "secret"),
        ] {
            case(name, Some((kind, Doubtful)));
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
