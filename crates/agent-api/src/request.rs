//! A request to a model, in no wire's terms.

use serde::{Deserialize, Serialize};

/// Who said something in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The person, or a program for them.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatTurn {
    /// Who said it.
    pub role: ChatRole,
    /// Their words.
    pub text: String,
}

impl ChatTurn {
    /// A message to the model.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::User,
            text: text.into(),
        }
    }

    /// An answer of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::Assistant,
            text: text.into(),
        }
    }
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// Not at all, where the model allows it.
    Off,
    /// A little.
    Low,
    /// Moderately.
    Medium,
    /// Thoroughly.
    High,
}

impl ReasoningEffort {
    /// The word of the wires; none for [`ReasoningEffort::Off`].
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::Low => Some("low"),
            Self::Medium => Some("medium"),
            Self::High => Some("high"),
        }
    }
}

/// A conversation for a model, with how it should answer.
///
/// A field that is `None` is not sent, because many models refuse parameters that they do not know.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The model, by the name that the server has for it.
    pub model: String,
    /// The conversation, which ends with a message to the model.
    pub turns: Vec<ChatTurn>,
    /// The most tokens of the answer.
    pub max_output: Option<u32>,
    /// The temperature of sampling.
    pub temperature: Option<f64>,
    /// How much the model thinks.
    pub reasoning: Option<ReasoningEffort>,
}

impl ModelRequest {
    /// Asks a model with the server's defaults.
    pub fn new(model: impl Into<String>, turns: Vec<ChatTurn>) -> Self {
        Self {
            model: model.into(),
            turns,
            max_output: None,
            temperature: None,
            reasoning: None,
        }
    }
}
