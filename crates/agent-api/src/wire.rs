//! The three wires: how a request is written and an answer read.
//!
//! Each wire is one file of pure functions: `encode` makes the body of a request, `decode_event`
//! reads one event of a stream, `decode_body` reads an answer that came whole. None of them keeps
//! state, and none fails on fields that it does not know.

mod chat_completions;
mod messages;
mod responses;

use serde::Deserialize;
use serde_json::Value;

use crate::provider::Provider;
use crate::request::ModelRequest;
use crate::sse::SseEvent;
use crate::usage::TokenUsage;

/// A form of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// OpenAI's chat completions, which most servers speak.
    ChatCompletions,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamDelta {
    /// Text of the answer.
    Text(String),
    /// The model's reasoning before the answer.
    Reasoning(String),
    /// The model says why it refuses.
    Refusal(String),
    /// Tokens, as far as they are counted.
    Usage(TokenUsage),
    /// The answer ends, and this is why.
    Finish(FinishReason),
    /// The server gave up.
    Failed(ServerComplaint),
    /// The stream ends.
    End,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model has said all.
    Complete,
    /// The limit of tokens was met.
    Length,
    /// The model refused, or a filter of the provider stopped it.
    Refused,
}

/// An error in the words of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerComplaint {
    /// Its short name, such as `overloaded_error`; empty if there is none.
    pub code: String,
    /// A sentence.
    pub message: String,
}

/// Something that no server of the wire should send.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireProblem {
    /// An event or an answer is longer than any limit.
    #[error("the answer is too long")]
    TooLong,
    /// Neither JSON nor the end of a stream.
    #[error("the server sent something that is not JSON: `{0}`")]
    NotJson(String),
    /// JSON without an answer in it.
    #[error("the server sent JSON without an answer: `{0}`")]
    NoAnswer(String),
}

/// The beginning of a text, for an error.
pub(crate) fn beginning(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

impl Wire {
    /// The path of requests below the base URL.
    pub fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat/completions",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }

    /// The body of a request for a streamed answer.
    pub fn encode(self, request: &ModelRequest, provider: &Provider) -> Value {
        match self {
            Self::ChatCompletions => chat_completions::encode(request, provider),
            Self::Responses => responses::encode(request),
            Self::Messages => messages::encode(request),
        }
    }

    /// The pieces of an answer in one event of a stream.
    pub fn decode_event(self, event: &SseEvent) -> Result<Vec<StreamDelta>, WireProblem> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(vec![StreamDelta::End]);
        }
        if data.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(json) = serde_json::from_str::<Value>(data) else {
            return Err(WireProblem::NotJson(beginning(data)));
        };
        // OpenAI's form of an error in the middle of a stream, whatever the wire.
        if let Some(complaint) = complaint_in(&json) {
            return Ok(vec![StreamDelta::Failed(complaint)]);
        }
        Ok(match self {
            Self::ChatCompletions => chat_completions::decode_event(&json),
            Self::Responses => responses::decode_event(&json),
            Self::Messages => messages::decode_event(&json),
        })
    }

    /// The pieces of an answer that came whole, from a server that does not stream.
    pub fn decode_body(self, body: &str) -> Result<Vec<StreamDelta>, WireProblem> {
        let Ok(json) = serde_json::from_str::<Value>(body) else {
            return Err(WireProblem::NotJson(beginning(body)));
        };
        if let Some(complaint) = complaint_in(&json) {
            return Ok(vec![StreamDelta::Failed(complaint)]);
        }
        let deltas = match self {
            Self::ChatCompletions => chat_completions::decode_body(&json),
            Self::Responses => responses::decode_body(&json),
            Self::Messages => messages::decode_body(&json),
        };
        deltas.ok_or_else(|| WireProblem::NoAnswer(beginning(body)))
    }
}

/// The error in the body of an answer, in any of the forms that servers have for it.
pub(crate) fn complaint_in(json: &Value) -> Option<ServerComplaint> {
    let error = json.get("error").filter(|error| !error.is_null());
    if let Some(Value::String(message)) = error {
        return Some(ServerComplaint {
            code: String::new(),
            message: message.clone(),
        });
    }
    let fields = error.and_then(Value::as_object)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let code = [text("code"), text("type"), text("status")];
    Some(ServerComplaint {
        code: code
            .into_iter()
            .find(|code| !code.is_empty())
            .unwrap_or_default()
            .to_owned(),
        message: text("message").to_owned(),
    })
}

fn number(json: &Value, path: &str) -> u64 {
    json.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

fn string<'a>(json: &'a Value, path: &str) -> &'a str {
    json.pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A text of an answer, which is a string, or a list of parts that have one.
fn push_text(deltas: &mut Vec<StreamDelta>, text: &str, kind: fn(String) -> StreamDelta) {
    if !text.is_empty() {
        deltas.push(kind(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a recorded stream as a client does.
    #[track_caller]
    pub(super) fn play(wire: Wire, stream: &str) -> Played {
        let mut reader = crate::sse::SseReader::default();
        let mut played = Played::default();
        let mut events = reader.push(stream.as_bytes()).unwrap();
        events.extend(reader.finish());
        for event in &events {
            for delta in wire.decode_event(event).unwrap() {
                played.take(delta);
            }
        }
        played
    }

    #[derive(Debug, Default)]
    pub(super) struct Played {
        pub(super) text: String,
        pub(super) reasoning: String,
        pub(super) refusal: String,
        pub(super) usage: TokenUsage,
        pub(super) finish: Option<FinishReason>,
        pub(super) failed: Option<ServerComplaint>,
        pub(super) ends: usize,
    }

    impl Played {
        pub(super) fn take(&mut self, delta: StreamDelta) {
            match delta {
                StreamDelta::Text(text) => self.text += &text,
                StreamDelta::Reasoning(text) => self.reasoning += &text,
                StreamDelta::Refusal(text) => self.refusal += &text,
                StreamDelta::Usage(usage) => self.usage.merge(usage),
                StreamDelta::Finish(reason) => self.finish = Some(reason),
                StreamDelta::Failed(complaint) => self.failed = Some(complaint),
                StreamDelta::End => self.ends += 1,
            }
        }
    }

    #[test]
    fn errors_are_read_in_every_form() {
        let case = |json: &str, code: &str, message: &str| {
            let complaint = complaint_in(&serde_json::from_str(json).unwrap()).unwrap();
            assert_eq!(
                (complaint.code.as_str(), complaint.message.as_str()),
                (code, message)
            );
        };
        case(
            r#"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#,
            "authentication_error",
            "Invalid API Key",
        );
        case(
            r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            "context_length_exceeded",
            "too long",
        );
        case(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "overloaded_error",
            "Overloaded",
        );
        case(r#"{"error":"model not found"}"#, "", "model not found");
        assert_eq!(complaint_in(&serde_json::json!({"error": null})), None);
    }

    #[test]
    fn something_that_is_not_json_is_told_in_short() {
        let event = SseEvent {
            name: String::new(),
            data: "<html>".repeat(1000),
        };
        let problem = Wire::ChatCompletions.decode_event(&event).unwrap_err();
        assert!(problem.to_string().len() < 250, "{problem}");
    }
}
