//! The keys of APIs that this process knows, and the one filter for all text that is kept or told: what
//! a person typed or gave (tasks, notes, answers, reasons, entered lines), what steps show, messages and
//! events, and what a model answers. It is on in every session, with any API or none, whatever `Secrets` says.
//!
//! Known are the keys in the variables of all providers, and those that a command printed for this
//! process. A session also has the fingerprints of the keys that carried it, for processes that do not
//! know them.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::{ApiKey, KeyFilter, KeyFilters, KeyFingerprint, Provider};
use crate::error::{Error, Result};
use crate::fs::{Durability, read_plain, write_atomic};

/// The file in the folder of a session with the fingerprints of its keys.
const FINGERPRINTS: &str = "api-keys.json";
/// The largest such file that is read, in bytes.
const MAX_FINGERPRINTS: u64 = 1 << 20;

/// The keys that commands printed for this process.
static PRINTED: Mutex<Vec<ApiKey>> = Mutex::new(Vec::new());

fn printed() -> MutexGuard<'static, Vec<ApiKey>> {
    PRINTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a key that a command printed out of texts from now on.
pub fn learn(key: &ApiKey) {
    let mut printed = printed();
    if !printed.contains(key) {
        printed.push(key.clone());
    }
}

/// The keys that a text may have in it.
#[derive(Debug, Clone, Default)]
pub struct KnownKeys {
    /// The longest first: one may begin with another.
    keys: Vec<ApiKey>,
    fingerprints: Vec<KeyFingerprint>,
}

impl KnownKeys {
    /// Those that this process knows. No command is run for one: it may ask the person for something.
    pub fn of_this_process() -> Self {
        let variables = Provider::all().iter().map(|one| one.key_variable.as_str());
        let values = variables.filter_map(|name| std::env::var(name).ok());
        let mut keys: Vec<ApiKey> = values.filter_map(|value| ApiKey::new(&value)).collect();
        keys.extend(printed().iter().cloned());
        keys = keys.iter().flat_map(ApiKey::forms).collect();
        keys.sort_by_key(|key| Reverse(key.len()));
        keys.dedup();
        Self {
            keys,
            fingerprints: Vec::new(),
        }
    }

    /// Those that this process knows, and those that carried the session of this folder.
    pub fn of_session(folder: &Path) -> Self {
        let known = Self::of_this_process();
        let mut fingerprints = fingerprints(folder);
        fingerprints.retain(|print| !known.keys.iter().any(|key| print.is_of(key)));
        Self {
            fingerprints,
            ..known
        }
    }

    /// Returns true if there is no key to look for.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.fingerprints.is_empty()
    }

    /// The filters for a text that comes in pieces.
    pub fn filters(&self) -> KeyFilters {
        let known = self.keys.iter().cloned().map(KeyFilter::new);
        let recognised = self.fingerprints.iter().cloned();
        known
            .chain(recognised.map(KeyFilter::of_fingerprint))
            .collect()
    }

    /// The text without the keys.
    pub fn scrub(&self, text: &str) -> String {
        let text = (self.keys.iter()).fold(text.to_owned(), |text, key| key.scrub(text));
        (self.fingerprints.iter()).fold(text, |text, print| print.scrub(text))
    }

    /// Returns true if the text has a key in it.
    pub fn is_in(&self, text: &str) -> bool {
        self.scrub(text) != text
    }
}

/// Refuses a text that is kept or run as it is, because it has a key in it. Without the key it would be
/// another one.
pub fn refused(what: &str) -> Error {
    Error::usage(format!(
        "{what} has the key of an API in it, and would be kept with it"
    ))
    .hint("put the key into a variable or a file, and name that")
}

/// Keeps the fingerprint of a key with the session of this folder.
pub fn keep_fingerprint(folder: &Path, key: &ApiKey) -> Result<()> {
    let mut kept = fingerprints(folder);
    if kept.iter().any(|one| one.is_of(key)) {
        return Ok(());
    }
    let salt = uuid::Uuid::new_v4().simple().to_string();
    if KeyFingerprint::new(key, &salt).is_some() {
        let forms = key.forms();
        kept.extend((forms.iter()).filter_map(|form| KeyFingerprint::new(form, &salt)));
    }
    let path = folder.join(FINGERPRINTS);
    let json = crate::json::to_line(&kept).map_err(|cause| Error::file("write", &path, cause))?;
    write_atomic(&path, json.as_bytes(), Durability::Atomic)
}

fn fingerprints(folder: &Path) -> Vec<KeyFingerprint> {
    let bytes = read_plain(&folder.join(FINGERPRINTS), MAX_FINGERPRINTS).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_once_it_was_printed_and_later_by_its_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let text = "it is sk-known-keys-0123456789";
        let key = ApiKey::new("sk-known-keys-0123456789").unwrap();
        assert!(!KnownKeys::of_session(folder.path()).is_in(text));
        keep_fingerprint(folder.path(), &key).unwrap();
        keep_fingerprint(folder.path(), &key).unwrap();
        assert_eq!(fingerprints(folder.path()).len(), 1);
        assert!(!KnownKeys::of_this_process().is_in(text));
        assert_eq!(
            KnownKeys::of_session(folder.path()).scrub(text),
            "it is <API key>"
        );
        learn(&key);
        assert_eq!(KnownKeys::of_this_process().scrub(text), "it is <API key>");
    }

    #[test]
    fn a_key_is_known_as_json_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let key = ApiKey::new(r#"sk-json-"quoted"\0123456789"#).unwrap();
        let file = r#"{"key": "sk-json-\"quoted\"\\0123456789"}"#;
        let expected = r#"{"key": "<API key>"}"#;
        keep_fingerprint(folder.path(), &key).unwrap();
        assert_eq!(KnownKeys::of_session(folder.path()).scrub(file), expected);
        assert!(!KnownKeys::of_this_process().is_in(file));
        learn(&key);
        assert_eq!(KnownKeys::of_this_process().scrub(file), expected);
    }
}
