//! OpenAI's Responses.
//!
//! A stream is a sequence of events that name themselves in `type`. The text comes in
//! `response.output_text.delta`; what comes whole in `*.done` events was in the deltas before. The
//! last event is `response.completed`, `response.incomplete` or `response.failed`, with `usage`.

use serde_json::{Map, Value, json};

use super::{FinishReason, ServerComplaint, StreamDelta, complaint_in, number, push_text, string};
use crate::request::ModelRequest;
use crate::usage::TokenUsage;

pub(super) fn encode(request: &ModelRequest) -> Value {
    let turns = request.turns.iter();
    let input: Vec<Value> = turns
        // OpenAI knows an item without a type for a message; llama.cpp does not, if the model said it.
        .map(|turn| json!({"type": "message", "role": turn.role, "content": turn.text}))
        .collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("input".to_owned(), Value::Array(input));
    body.insert("stream".to_owned(), json!(true));
    // The conversation is ours: the server need not keep it.
    body.insert("store".to_owned(), json!(false));
    if let Some(limit) = request.max_output {
        body.insert("max_output_tokens".to_owned(), json!(limit));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(effort) = request.reasoning {
        let reasoning = match effort.word() {
            Some(word) => json!({"effort": word, "summary": "auto"}),
            None => json!({"effort": "none"}),
        };
        body.insert("reasoning".to_owned(), reasoning);
    }
    Value::Object(body)
}

pub(super) fn decode_event(json: &Value) -> Vec<StreamDelta> {
    let mut deltas = Vec::new();
    let delta = string(json, "/delta");
    match string(json, "/type") {
        "response.output_text.delta" => push_text(&mut deltas, delta, StreamDelta::Text),
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            push_text(&mut deltas, delta, StreamDelta::Reasoning);
        }
        "response.refusal.delta" => push_text(&mut deltas, delta, StreamDelta::Refusal),
        "response.completed" | "response.incomplete" | "response.failed" => {
            read_end(json.get("response").unwrap_or(&Value::Null), &mut deltas);
        }
        "error" => deltas.push(StreamDelta::Failed(ServerComplaint {
            code: string(json, "/code").to_owned(),
            message: string(json, "/message").to_owned(),
        })),
        _ => {}
    }
    deltas
}

pub(super) fn decode_body(json: &Value) -> Option<Vec<StreamDelta>> {
    let output = json.get("output")?.as_array()?;
    let mut deltas = Vec::new();
    for item in output {
        let parts = match string(item, "/type") {
            "reasoning" => item.get("summary"),
            _ => item.get("content"),
        };
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            match string(part, "/type") {
                "output_text" => push_text(&mut deltas, string(part, "/text"), StreamDelta::Text),
                "refusal" => push_text(&mut deltas, string(part, "/refusal"), StreamDelta::Refusal),
                "summary_text" | "reasoning_text" => {
                    push_text(&mut deltas, string(part, "/text"), StreamDelta::Reasoning);
                }
                _ => {}
            }
        }
    }
    read_end(json, &mut deltas);
    Some(deltas)
}

fn read_end(response: &Value, deltas: &mut Vec<StreamDelta>) {
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        deltas.push(StreamDelta::Usage(TokenUsage {
            input: number(usage, "/input_tokens"),
            cached: number(usage, "/input_tokens_details/cached_tokens"),
            cache_written: 0,
            output: number(usage, "/output_tokens"),
            reasoning: number(usage, "/output_tokens_details/reasoning_tokens"),
            billed_micros: None,
            is_estimated: false,
        }));
    }
    if string(response, "/status") == "failed" {
        deltas.push(StreamDelta::Failed(
            complaint_in(response).unwrap_or_default(),
        ));
    } else {
        deltas.push(StreamDelta::Finish(
            match string(response, "/incomplete_details/reason") {
                "" => FinishReason::Complete,
                "content_filter" => FinishReason::Refused,
                _ => FinishReason::Length,
            },
        ));
    }
    deltas.push(StreamDelta::End);
}

#[cfg(test)]
mod tests {
    use super::super::Wire;
    use super::super::tests::play;
    use super::*;
    use crate::provider::Provider;
    use crate::request::{ChatTurn, ReasoningEffort};

    const WIRE: Wire = Wire::Responses;

    #[test]
    fn a_stream_of_llama_cpp() {
        let played = play(WIRE, include_str!("recorded/llamacpp_responses.sse"));
        assert_eq!(
            played.text,
            "Hello there. Welcome to my chat about baking! I'm"
        );
        assert_eq!(played.finish, Some(FinishReason::Complete));
        let usage = played.usage;
        assert_eq!((usage.input, usage.cached, usage.output), (32, 31, 12));
        assert_eq!(played.ends, 1);
    }

    #[test]
    fn reasoning_refusals_limits_and_errors() {
        let event = |json: &str| format!("event: x\ndata: {json}\n\n");
        let played = play(
            WIRE,
            &[
                event(r#"{"type":"response.reasoning_summary_text.delta","delta":"Hm"}"#),
                event(r#"{"type":"response.refusal.delta","delta":"No"}"#),
                event(r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":2}}}}"#),
            ]
            .concat(),
        );
        assert_eq!(
            (played.reasoning.as_str(), played.refusal.as_str()),
            ("Hm", "No")
        );
        assert_eq!(played.finish, Some(FinishReason::Length));
        assert_eq!(played.usage.reasoning, 2);
        let failed = play(
            WIRE,
            &event(
                r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}"#,
            ),
        );
        assert_eq!(failed.failed.unwrap().code, "rate_limit_exceeded");
        let error = play(
            WIRE,
            &event(r#"{"type":"error","code":"server_error","message":"oops"}"#),
        );
        assert_eq!(error.failed.unwrap().message, "oops");
    }

    #[test]
    fn an_answer_that_came_whole_is_read_too() {
        let body = r#"{"status":"completed","error":null,"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]},{"type":"message","content":[{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":3,"output_tokens":1}}"#;
        let deltas = WIRE.decode_body(body).unwrap();
        assert_eq!(deltas[0], StreamDelta::Reasoning("Hm".to_owned()));
        assert_eq!(deltas[1], StreamDelta::Text("Hi".to_owned()));
        assert!(WIRE.decode_body(r#"{"choices":[]}"#).is_err());
    }

    #[test]
    fn the_server_is_asked_to_keep_nothing() {
        let turns = vec![ChatTurn::user("hi"), ChatTurn::assistant("ho")];
        let mut request = ModelRequest::new("m", turns);
        request.reasoning = Some(ReasoningEffort::High);
        request.max_output = Some(7);
        let provider = Provider::named("openai").unwrap();
        assert_eq!(
            WIRE.encode(&request, provider),
            json!({
                "model": "m",
                "input": [
                    {"type": "message", "role": "user", "content": "hi"},
                    {"type": "message", "role": "assistant", "content": "ho"},
                ],
                "stream": true,
                "store": false,
                "max_output_tokens": 7,
                "reasoning": {"effort": "high", "summary": "auto"},
            })
        );
    }
}
