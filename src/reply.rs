//! A reply as the chat gave it, turned into typed steps.
//!
//! Total: any text gives a `Reply`, and what could not be understood is an `Issue` in it, for the
//! model. Nothing here touches files, so a reply can be looked at without consequences.

use serde::{Deserialize, Serialize};

use crate::protocol::{EndMark, Step};

/// All that a reply says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The commands, in their order.
    pub steps: Vec<Step>,
    /// What looked like a command or a format of ours and could not be used.
    pub issues: Vec<Issue>,
    /// What was undone of the damage by chat page and copying.
    pub repairs: Vec<Repair>,
    /// The text around the commands, for the person.
    pub prose: String,
    /// The end mark, if there is one.
    pub end: Option<EndMark>,
    /// Where the reply was cut off, if it was.
    pub cut: Option<Cut>,
}

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
