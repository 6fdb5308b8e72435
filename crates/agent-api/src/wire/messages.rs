//! Anthropic's messages.
//!
//! A stream is `message_start` (with the tokens that were sent), blocks of `content_block_start`,
//! `content_block_delta` and `content_block_stop`, `message_delta` (with `stop_reason` and the
//! tokens that came) and `message_stop`; `ping` and `error` may come at any time.
//!
//! The server caches what stands before a mark. The last two messages to the model are marked: the
//! first of them was the last one in the request before, so that its cache entry is found again.

use serde_json::{Map, Value, json};

use super::{FinishReason, StreamDelta, number, push_text, string};
use crate::request::{ChatRole, ModelRequest};
use crate::usage::TokenUsage;

/// The wire demands a limit. Models with a lower one say so.
const DEFAULT_MAX_OUTPUT: u32 = 32_000;
/// How many messages to the model get a cache mark.
const CACHE_MARKS: usize = 2;

pub(super) fn encode(request: &ModelRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    let limit = request.max_output.unwrap_or(DEFAULT_MAX_OUTPUT);
    body.insert("max_tokens".to_owned(), json!(limit));
    body.insert("messages".to_owned(), messages(request));
    body.insert("stream".to_owned(), json!(true));
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(effort) = request.reasoning {
        match effort.word() {
            Some(word) => {
                body.insert("thinking".to_owned(), json!({"type": "adaptive"}));
                body.insert("output_config".to_owned(), json!({"effort": word}));
            }
            None => {
                body.insert("thinking".to_owned(), json!({"type": "disabled"}));
            }
        }
    }
    Value::Object(body)
}

fn messages(request: &ModelRequest) -> Value {
    let is_user = |at: &usize| request.turns[*at].role == ChatRole::User;
    let users = (0..request.turns.len()).rev().filter(is_user);
    let marked: Vec<usize> = users.take(CACHE_MARKS).collect();
    let turns = request.turns.iter().enumerate();
    turns
        .map(|(at, turn)| {
            let mut part = json!({"type": "text", "text": turn.text});
            if marked.contains(&at) {
                part["cache_control"] = json!({"type": "ephemeral"});
            }
            json!({"role": turn.role, "content": [part]})
        })
        .collect()
}

pub(super) fn decode_event(json: &Value) -> Vec<StreamDelta> {
    let mut deltas = Vec::new();
    match string(json, "/type") {
        "message_start" => deltas.extend(usage(json.pointer("/message/usage"))),
        "content_block_start" => read_block(json.get("content_block"), &mut deltas),
        "content_block_delta" => read_block(json.get("delta"), &mut deltas),
        "message_delta" => {
            deltas.extend(usage(json.get("usage")));
            deltas.extend(finish(string(json, "/delta/stop_reason")));
        }
        "message_stop" => deltas.push(StreamDelta::End),
        _ => {}
    }
    deltas
}

pub(super) fn decode_body(json: &Value) -> Option<Vec<StreamDelta>> {
    let blocks = json.get("content")?.as_array()?;
    let mut deltas = Vec::new();
    for block in blocks {
        read_block(Some(block), &mut deltas);
    }
    deltas.extend(usage(json.get("usage")));
    let end = finish(string(json, "/stop_reason"));
    deltas.push(end.unwrap_or(StreamDelta::Finish(FinishReason::Complete)));
    deltas.push(StreamDelta::End);
    Some(deltas)
}

fn read_block(block: Option<&Value>, deltas: &mut Vec<StreamDelta>) {
    let Some(block) = block else { return };
    match string(block, "/type") {
        "text" | "text_delta" => push_text(deltas, string(block, "/text"), StreamDelta::Text),
        "thinking" | "thinking_delta" => {
            push_text(deltas, string(block, "/thinking"), StreamDelta::Reasoning);
        }
        _ => {}
    }
}

fn finish(reason: &str) -> Option<StreamDelta> {
    let reason = match reason {
        "" => return None,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::Refused,
        _ => FinishReason::Complete,
    };
    Some(StreamDelta::Finish(reason))
}

/// `input_tokens` are those that neither came from the cache nor went into it.
fn usage(usage: Option<&Value>) -> Option<StreamDelta> {
    let usage = usage.filter(|usage| usage.is_object())?;
    let cached = number(usage, "/cache_read_input_tokens");
    let cache_written = number(usage, "/cache_creation_input_tokens");
    let fresh = number(usage, "/input_tokens");
    Some(StreamDelta::Usage(TokenUsage {
        input: fresh.saturating_add(cached).saturating_add(cache_written),
        cached,
        cache_written,
        output: number(usage, "/output_tokens"),
        reasoning: number(usage, "/output_tokens_details/thinking_tokens"),
        billed_micros: None,
        is_estimated: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::Wire;
    use super::super::tests::play;
    use super::*;
    use crate::provider::Provider;
    use crate::request::{ChatTurn, ReasoningEffort};

    const WIRE: Wire = Wire::Messages;

    #[test]
    fn a_stream_of_llama_cpp() {
        let played = play(WIRE, include_str!("recorded/llamacpp_messages.sse"));
        assert_eq!(played.text, "What's up, buddy? How can I assist you today");
        assert_eq!(played.finish, Some(FinishReason::Length));
        let usage = played.usage;
        assert_eq!((usage.input, usage.cached, usage.output), (32, 31, 12));
        assert_eq!(played.ends, 1);
    }

    #[test]
    fn thinking_pings_errors_and_refusals() {
        let stream = concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_creation_input_tokens\":10,\"cache_read_input_tokens\":100,\"output_tokens\":1}}}\n\n",
            "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"xyz\"}}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"},\"usage\":{\"output_tokens\":20}}\n\n",
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        );
        let played = play(WIRE, stream);
        assert_eq!(
            (played.text.as_str(), played.reasoning.as_str()),
            ("", "Hm")
        );
        assert_eq!(played.finish, Some(FinishReason::Refused));
        let usage = played.usage;
        assert_eq!(
            (usage.input, usage.cached, usage.cache_written),
            (115, 100, 10)
        );
        assert_eq!(usage.output, 20);
        assert_eq!(played.failed.unwrap().code, "overloaded_error");
    }

    #[test]
    fn an_answer_that_came_whole_is_read_too() {
        let body = r#"{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}"#;
        let deltas = WIRE.decode_body(body).unwrap();
        assert_eq!(deltas[0], StreamDelta::Text("Hi".to_owned()));
        assert!(WIRE.decode_body("{}").is_err());
    }

    #[test]
    fn the_last_two_messages_to_the_model_are_marked() {
        let turns = vec![
            ChatTurn::user("1"),
            ChatTurn::assistant("a"),
            ChatTurn::user("2"),
            ChatTurn::assistant("b"),
            ChatTurn::user("3"),
        ];
        let mut request = ModelRequest::new("m", turns);
        request.reasoning = Some(ReasoningEffort::Low);
        let body = WIRE.encode(&request, Provider::named("anthropic").unwrap());
        let is_marked: Vec<bool> = (0..5)
            .map(|at| {
                body["messages"][at]["content"][0]
                    .get("cache_control")
                    .is_some()
            })
            .collect();
        assert_eq!(is_marked, [false, false, true, false, true]);
        assert_eq!(body["max_tokens"], DEFAULT_MAX_OUTPUT);
        assert_eq!(body["output_config"]["effort"], "low");
    }
}
