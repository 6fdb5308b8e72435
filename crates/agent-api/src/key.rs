//! The key of an API: sent in one header, and shown nowhere.
//!
//! The type has neither `Display` nor `Serialize`, and its `Debug` shows nothing, so that a key can
//! only get out by [`ApiKey::expose`], which the client alone calls. Its memory is overwritten when
//! it is dropped, as far as safe Rust can promise that.

use std::fmt;

/// Shorter values are not searched for in texts: they would match by chance.
const SHORTEST_SEARCHED: usize = 6;
/// Stands where a key was.
const PLACEHOLDER: &str = "<API key>";

/// A key that never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Vec<u8>);

impl ApiKey {
    /// Takes a key as a person or a program wrote it: white space around it is dropped.
    ///
    /// `None` if nothing is left, or if it cannot be sent in a header.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_fit = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_fit.then(|| Self(text.as_bytes().to_vec()))
    }

    /// The key itself, for the header of a request.
    pub(crate) fn expose(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a key is made of graphic ASCII characters")
    }

    /// Returns true if the text has the key in it.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.len() >= SHORTEST_SEARCHED && text.contains(self.expose())
    }

    /// The text without the key: some servers repeat it in their errors.
    pub fn scrub(&self, text: String) -> String {
        if self.is_in(&text) {
            text.replace(self.expose(), PLACEHOLDER)
        } else {
            text
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PLACEHOLDER)
    }
}

impl Drop for ApiKey {
    fn drop(&mut self) {
        self.0.fill(0);
        // Keeps the compiler from dropping the writes above as dead.
        std::hint::black_box(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_and_never_printed() {
        let key = ApiKey::new("  sk-secret-123\n").unwrap();
        assert_eq!(key.expose(), "sk-secret-123");
        assert!(!format!("{key:?} {:#?}", Some(&key)).contains("secret"));
    }

    #[test]
    fn what_fits_no_header_is_no_key() {
        for text in ["", "  \n", "two words", "line\nbreak", "ключ"] {
            assert!(ApiKey::new(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_text_is_scrubbed_of_it() {
        let key = ApiKey::new("sk-secret-123").unwrap();
        let scrubbed = key.scrub("no such key: sk-secret-123!".to_owned());
        assert_eq!(scrubbed, "no such key: <API key>!");
        // Too short to be searched for.
        let short = ApiKey::new("test").unwrap();
        assert_eq!(short.scrub("a test".to_owned()), "a test");
    }
}
