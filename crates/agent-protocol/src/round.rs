//! Session ids and the end mark, which tie a reply to a session and a round.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a session: 8 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// A text that is not a session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a session: a session is named by 8 hex digits, such as `ab12cd34`")]
pub struct SessionIdProblem(String);

impl SessionId {
    /// Makes an id of 32 random bits.
    pub fn from_random(bits: u32) -> Self {
        Self(format!("{bits:08x}"))
    }

    /// Reads an id in any letter case.
    pub fn parse(text: &str) -> Result<Self, SessionIdProblem> {
        let text = text.trim();
        if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(SessionIdProblem(text.to_owned()))
        }
    }

    /// The 8 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = SessionIdProblem;

    fn try_from(text: String) -> Result<Self, SessionIdProblem> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

/// `[END <id>#<sequence>]`: shows that a reply is complete and which round it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndMark {
    /// The session.
    pub session: SessionId,
    /// The round.
    pub sequence: u32,
}

impl fmt::Display for EndMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[END {}#{}]", self.session, self.sequence)
    }
}
