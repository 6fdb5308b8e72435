//! Resources, which a client reads without a call: the task, the files, the latest changes, the project's rules;
//! and the person's templates as prompts.
//!
//! Secrets are replaced in all of it, as in messages. A template of the project is offered only once the
//! person has seen it.

use std::sync::mpsc::Receiver;

use agent_mcp::{ErrorCode, RequestId, prompt_result, resource, resource_contents};
use serde_json::{Map, Value, json};

use super::connection::{Connection, RequestAnswer, in_words};
use crate::error::Error;
use crate::services::Caller;
use crate::services::outward::{self, OutwardText};
use crate::services::prompts;

const TEXT: &str = "text/plain";

/// The resources: address, name, description, kind of text, text.
const RESOURCES: [(&str, &str, &str, &str, OutwardText); 4] = [
    (
        "agent://task",
        "task",
        "The task of the session",
        TEXT,
        OutwardText::Task,
    ),
    (
        "agent://files",
        "files",
        "The files of the workspace",
        TEXT,
        OutwardText::Files,
    ),
    (
        "agent://changes",
        "changes",
        "The changes of the latest round",
        "text/x-diff",
        OutwardText::Changes,
    ),
    (
        "agent://rules",
        "rules",
        "The project's instructions for agents",
        "text/markdown",
        OutwardText::Rules,
    ),
];

/// The list of resources.
pub(super) fn listed() -> Vec<Value> {
    let rows = RESOURCES.iter();
    rows.map(|(uri, name, words, kind, _)| resource(uri, name, words, kind))
        .collect()
}

/// A request that looks at files.
#[derive(Debug)]
pub(super) enum ResourceRequest {
    /// A resource.
    Read { id: RequestId, uri: String },
    /// The list of templates.
    Prompts { id: RequestId },
    /// A template, filled in.
    Prompt {
        id: RequestId,
        name: String,
        params: Map<String, Value>,
    },
}

/// Answers requests one after the other, until nobody can make any more.
pub(super) fn answer_all(
    connection: &Connection,
    caller: &Caller,
    requests: &Receiver<ResourceRequest>,
) {
    for request in requests {
        let (id, answered) = match request {
            ResourceRequest::Read { id, uri } => (id, read(caller, &uri)),
            ResourceRequest::Prompts { id } => {
                let listed = prompts(caller);
                (id, listed.map(|prompts| json!({ "prompts": prompts })))
            }
            ResourceRequest::Prompt { id, name, params } => (id, prompt(caller, &name, &params)),
        };
        connection.reply(&id, answered);
    }
}

/// A resource.
fn read(caller: &Caller, uri: &str) -> RequestAnswer {
    let found = RESOURCES.iter().find(|(known, ..)| *known == uri);
    let Some((uri, _, _, kind, which)) = found else {
        let shown: String = uri.chars().take(100).collect();
        let why = format!("there is no resource `{shown}`");
        return Err((ErrorCode::ResourceNotFound, why));
    };
    let text = outward::text(caller, *which).map_err(failed)?;
    Ok(resource_contents(uri, kind, &text))
}

/// The templates that the person has seen.
fn prompts(caller: &Caller) -> Result<Vec<Value>, (ErrorCode, String)> {
    let list = prompts::list(caller).map_err(failed)?;
    let seen = list.prompts.iter().filter(|(_, is_trusted)| *is_trusted);
    let told = seen.map(|(prompt, _)| {
        let words = "The words that follow the name of the template";
        let argument = ("args", prompt.fill("").is_err());
        agent_mcp::prompt(&prompt.name, &prompt.description, argument, words)
    });
    Ok(told.collect())
}

/// A template as the person's words.
fn prompt(caller: &Caller, name: &str, params: &Map<String, Value>) -> RequestAnswer {
    let wrong = |why: String| (ErrorCode::InvalidParams, why);
    let list = prompts::list(caller).map_err(failed)?;
    let mut seen = list.prompts.iter().filter(|(_, is_trusted)| *is_trusted);
    let Some((prompt, _)) = seen.find(|(prompt, _)| prompt.name == name) else {
        let shown: String = name.chars().take(60).collect();
        return Err(wrong(format!("there is no template `{shown}`")));
    };
    let words = params.get("arguments").and_then(|given| given.get("args"));
    let words = words.and_then(Value::as_str).unwrap_or_default();
    let task = prompt
        .fill(words)
        .map_err(|error| wrong(in_words(&error)))?;
    Ok(prompt_result(&prompt.description, &task))
}

#[expect(clippy::needless_pass_by_value, reason = "it is called by map_err")]
fn failed(error: Error) -> (ErrorCode, String) {
    (ErrorCode::Internal, in_words(&error))
}
