//! The server's half of the Model Context Protocol on standard input and output.
//!
//! A client writes one JSON-RPC message on each line, and so does the server. Everything that arrives
//! is bounded and checked here: the length of a line ([`BoundedLines`]), the form of a message
//! ([`Incoming`]), ids and names. What a message leads to is left to others; nothing here knows what
//! a tool does.

mod definition;
mod elicit;
mod handshake;
mod lines;
mod rpc;

pub use definition::{ToolDefinition, ToolHints, ToolProperty, ToolValue};
pub use elicit::{ElicitAnswer, ElicitChoice, elicitation};
pub use handshake::{ClientProfile, ServerProfile, VERSIONS, initialize_result};
pub use lines::{BoundedLines, ReadLine};
pub use rpc::{
    ErrorCode, Incoming, ProgressToken, RequestId, error_line, notification_line, request_line,
    result_line,
};

use serde_json::{Value, json};

/// The result of a tool call: text for the model.
pub fn tool_result(text: &str, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

/// A resource as the list shows it.
pub fn resource(uri: &str, name: &str, description: &str, mime_type: &str) -> Value {
    json!({ "uri": uri, "name": name, "description": description, "mimeType": mime_type })
}

/// The content of a resource.
pub fn resource_contents(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "contents": [{ "uri": uri, "mimeType": mime_type, "text": text }] })
}

/// A prompt that the person can choose, with one argument.
pub fn prompt(
    name: &str,
    description: &str,
    (argument, is_required): (&str, bool),
    note: &str,
) -> Value {
    let argument = json!({ "name": argument, "description": note, "required": is_required });
    json!({ "name": name, "description": description, "arguments": [argument] })
}

/// The text of a prompt, as a message of the person.
pub fn prompt_result(description: &str, text: &str) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    json!({ "description": description, "messages": [message] })
}

/// The parameters of a log notification that the person should see.
pub fn log_notice(logger: &str, message: &str) -> Value {
    json!({ "level": "notice", "logger": logger, "data": message })
}

/// The parameters of a progress notification.
pub fn progress(token: &ProgressToken, step: u64, message: &str) -> Value {
    json!({ "progressToken": token.to_json(), "progress": step, "message": message })
}
