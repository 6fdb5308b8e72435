//! The secrets that open the page: a token for every request, and codes that are exchanged for it once.
//!
//! They live in this process only. A code travels in the fragment of an address, which browsers send to
//! nobody, and is worth nothing after its first use.

use std::fmt::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ExitKind, Result};

/// How many unused codes are valid at a time.
const MAX_CODES: usize = 8;

/// 256 random bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct AccessKey([u8; 32]);

impl AccessKey {
    fn random() -> Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|cause| {
            Error::new(ExitKind::Mendable, "the system gave no random numbers")
                .because(cause.to_string())
        })?;
        Ok(Self(bytes))
    }

    /// The key as 64 hexadecimal digits.
    pub(super) fn to_hex(self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Compares without telling by its duration how much is right. The length is no secret.
    fn is(self, text: &str) -> bool {
        let own = self.to_hex();
        let difference = own.bytes().zip(text.bytes());
        let difference = difference.fold(0, |all, (one, other)| all | (one ^ other));
        std::hint::black_box(difference) == 0 && text.len() == own.len()
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessKey(..)")
    }
}

/// The token of this server, and the codes that were not used yet.
#[derive(Debug)]
pub(super) struct AccessKeys {
    token: AccessKey,
    codes: Mutex<Vec<AccessKey>>,
}

impl AccessKeys {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            token: AccessKey::random()?,
            codes: Mutex::default(),
        })
    }

    /// A new code; the oldest one goes where there are too many.
    pub(super) fn new_code(&self) -> Result<String> {
        let code = AccessKey::random()?;
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if codes.len() >= MAX_CODES {
            codes.remove(0);
        }
        codes.push(code);
        Ok(code.to_hex())
    }

    /// Takes a code out of use and returns the token.
    pub(super) fn exchange(&self, code: &str) -> Option<String> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let at = codes.iter().position(|one| one.is(code))?;
        codes.remove(at);
        Some(self.token.to_hex())
    }

    /// Returns true for the value of an `Authorization` header that has the token.
    pub(super) fn admits(&self, authorization: &str) -> bool {
        let token = authorization.strip_prefix("Bearer ");
        token.is_some_and(|token| self.token.is(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_once() {
        let keys = AccessKeys::new().unwrap();
        let code = keys.new_code().unwrap();
        assert_eq!(keys.exchange(""), None);
        assert_eq!(keys.exchange(&code[1..]), None);
        let token = keys.exchange(&code).unwrap();
        assert_eq!(keys.exchange(&code), None);
        assert!(keys.admits(&format!("Bearer {token}")));
        for wrong in [
            "",
            "Bearer ",
            "Bearer 0",
            &token,
            &format!("Bearer {token}0"),
        ] {
            assert!(!keys.admits(wrong), "{wrong}");
        }
        assert!(!keys.admits(&format!("Bearer {code}")));
        assert!(!format!("{keys:?}").contains(&token));
    }

    #[test]
    fn unused_codes_are_bounded() {
        let keys = AccessKeys::new().unwrap();
        let first = keys.new_code().unwrap();
        for _ in 0..MAX_CODES {
            keys.new_code().unwrap();
        }
        assert_eq!(keys.exchange(&first), None);
    }
}
