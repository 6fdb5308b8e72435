//! What the name of a value tells: whether the value is secret, and of what kind.
//!
//! A name is read word by word: `COMPASS` and `AUTHOR` have no `pass` and no `auth` in them, and
//! `CERT_DIR` tells where a certificate lies. The words that cannot be anything else may also end a
//! longer one (`PGPASSWORD`). All that go by names, in files of settings and elsewhere, go by these.

/// What stands in every name that may tell something; `telling` decides.
pub(super) const LEADS: [&str; 7] = ["pass", "pw", "secret", "token", "key", "credential", "auth"];
/// What a word ends with that names a secret, and the kind of it.
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
/// Whole words that name a password behind another one, and perhaps alone.
const SHORT_PASSWORDS: [&str; 6] = ["pass", "pw", "dbpass", "userpass", "rootpass", "smtppass"];
/// Whole words that may name a secret.
const DOUBTFUL: [&str; 4] = ["auth", "dsn", "cert", "pin"];
/// Before `key`: what is kept secret.
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
    // Those who give keys away.
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
/// Before `key`: what is for everyone, or finds something.
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
/// Before `token`: what tells where a list goes on.
const OPEN_TOKENS: [&str; 5] = ["page", "next", "continuation", "sync", "cursor"];
/// What a name goes on with that is about a secret and not one. Those of four letters and more may
/// be the beginning of a word.
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

/// What a name ends with whose value is for everyone, also where other names keep secrets.
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

/// How sure it is that a name has a secret value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    Sure,
    Doubtful,
}

/// What a name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Telling {
    pub(super) kind: &'static str,
    pub(super) certainty: Certainty,
}

/// What a word says about the value of its name.
enum Said {
    Secret(Telling),
    /// That the value is none, whatever was said before.
    Open,
    Nothing,
}

/// What a name tells, if it tells that its value is secret.
pub(super) fn telling(name: &str) -> Option<Telling> {
    let (mut told, mut before) = (None, None);
    for word in words(name) {
        let word = stem(word);
        match said(word, before) {
            Said::Secret(telling) => told = Some(telling),
            Said::Open => told = None,
            Said::Nothing if is_about(word) => told = None,
            Said::Nothing => {}
        }
        before = Some(word);
    }
    told
}

/// What a value is called that was given this name.
pub(super) fn kind(name: &str) -> &'static str {
    telling(name).map_or("secret", |telling| telling.kind)
}

/// Whether a name tells that its value is for everyone.
pub(super) fn is_open_name(name: &str) -> bool {
    let last = words(name).last().map(stem);
    last.is_some_and(|last| any(&OPEN_NAMES, last))
}

/// Whether this is the only word of a name.
pub(super) fn is_only_word(name: &str, word: &str) -> bool {
    let mut words = words(name);
    words.next().is_some_and(|one| is(one, word)) && words.next().is_none()
}

fn said(word: &str, before: Option<&str>) -> Said {
    let secret = |kind, certainty| Said::Secret(Telling { kind, certainty });
    if before.is_some_and(|before| is(word, "token") && any(&OPEN_TOKENS, before)) {
        return Said::Open;
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
        _ if is(word, "pubkey") || is(word, "publickey") => Said::Open,
        Some(before) if is(word, "key") && any(&OPEN_KEYS, before) => Said::Open,
        Some(before) if is(word, "key") && any(&SECRET_KEYS, before) => {
            secret("key", Certainty::Sure)
        }
        Some(_) if is(word, "key") => secret("key", Certainty::Doubtful),
        _ => Said::Nothing,
    }
}

/// The words of a name: parted by signs, and where a capital letter begins one.
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

/// How long the first word is: `Open` of `OpenAIKey`, `AI` of `AIKey`.
fn word_length(piece: &str) -> usize {
    let bytes = piece.as_bytes();
    let is_upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    // Only before a capital ASCII letter is parted, which is the beginning of a character.
    (1..bytes.len())
        .find(|at| is_upper(*at) && (!is_upper(at - 1) || is_lower(at + 1)))
        .unwrap_or(bytes.len())
}

/// A word without its number and its plural: `token` of `tokens2`, but all of `s3`.
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
