//! Findings about a reply besides its commands: unusable parts, repairs, a missing end.
//!
//! Plain data: finding them is left to `agent-reply`.

use serde::{Deserialize, Serialize};

use super::outcome::with_hint;

/// A part of a reply that could not be used, described for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// The line of the reply, from 1.
    pub line: u32,
    /// The number among the steps, if it is a malformed command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The name of the command, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The problem.
    pub message: String,
    /// The remedy: how to write it instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

impl Issue {
    /// Comes before a quotation from the reply, in a message or a hint. The log keeps nothing after it.
    pub const ARRIVED: &str = "this arrived:";

    /// The line for the model: the problem and its remedy.
    pub fn line_for_model(&self) -> String {
        with_hint(self.message.clone(), &self.hint)
    }
}

/// The way in which a person copied a reply, as far as its damage shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CopiedFrom {
    /// The text of the page was selected.
    Page,
    /// The text was selected in a terminal, which indents and wraps it.
    Terminal,
}

/// A kind of damage that was repaired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// The repair, described for the person: "removed the quote mark before every line".
    pub what: String,
    /// The number of times.
    pub count: u32,
    /// True if the body of a command was changed; the model is told then.
    pub in_body: bool,
    /// Where it was copied from, if the damage shows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<CopiedFrom>,
}

/// The point where an incomplete reply ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncatedReply {
    /// The line of the reply, from 1, on which the unfinished command begins.
    pub line: u32,
    /// The unfinished command, as in `CREATE_FILE src/main.rs`; `its text` if none was.
    pub what: String,
}

impl TruncatedReply {
    const TEXT: &'static str = "its text";

    /// A reply that broke off outside of its commands, on this line.
    pub fn in_text(line: u32) -> Self {
        Self {
            line,
            what: Self::TEXT.to_owned(),
        }
    }

    /// Returns true if a command is unfinished.
    pub fn is_in_command(&self) -> bool {
        self.what != Self::TEXT
    }
}

impl Repair {
    /// A repair of the text as a whole, made once.
    pub fn once(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            count: 1,
            in_body: false,
            copied_from: None,
        }
    }
}
