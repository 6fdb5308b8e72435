//! What reading a reply brings to light beside its commands.

use serde::{Deserialize, Serialize};

/// A part of a reply that could not be used, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// The line of the reply, from 1.
    pub line: u32,
    /// The number it takes among the steps, if it is a malformed command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The command's name, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

/// A kind of damage that was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// What was done, in words for the person: "removed the quote mark before every line".
    pub what: String,
    /// How often.
    pub count: u32,
    /// Whether the body of a command was changed by it: then the model is told too.
    pub in_body: bool,
}

/// Where a reply ends too early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The line of the reply, from 1, on which the unfinished command begins.
    pub line: u32,
    /// The unfinished command, as in `CREATE_FILE src/main.rs`.
    pub what: String,
}

impl Repair {
    /// A repair of the text as a whole, done once.
    pub fn once(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            count: 1,
            in_body: false,
        }
    }
}
