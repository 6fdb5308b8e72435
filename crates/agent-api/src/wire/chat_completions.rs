//! OpenAI's chat completions, as OpenAI, Azure, Gemini, OpenRouter, Mistral, DeepSeek, Ollama,
//! llama.cpp, vLLM and LM Studio speak them.
//!
//! A stream is a chunk for each piece, one with `finish_reason`, one with `usage` and no choices,
//! and `[DONE]`. Reasoning is `reasoning_content` (DeepSeek, llama.cpp) or `reasoning` (OpenRouter,
//! Ollama, vLLM); Mistral sends content as a list of parts.

use serde_json::{Map, Value, json};

use super::{FinishReason, StreamDelta, number, push_text, string};
use crate::provider::Provider;
use crate::request::ModelRequest;
use crate::usage::TokenUsage;

pub(super) fn encode(request: &ModelRequest, provider: &Provider) -> Value {
    let turns = request.turns.iter();
    let messages: Vec<Value> = turns
        .map(|turn| json!({"role": turn.role, "content": turn.text}))
        .collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("messages".to_owned(), Value::Array(messages));
    body.insert("stream".to_owned(), json!(true));
    if provider.asks_for_usage {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if let Some(limit) = request.max_output {
        body.insert(provider.output_limit_field.clone(), json!(limit));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(effort) = request.reasoning {
        let word = effort.word().unwrap_or("none");
        body.insert("reasoning_effort".to_owned(), json!(word));
    }
    Value::Object(body)
}

pub(super) fn decode_event(json: &Value) -> Vec<StreamDelta> {
    let mut deltas = Vec::new();
    if let Some(choice) = json.pointer("/choices/0") {
        read_content(choice.get("delta").unwrap_or(&Value::Null), &mut deltas);
        deltas.extend(finish(choice));
    }
    deltas.extend(usage(json));
    deltas
}

pub(super) fn decode_body(json: &Value) -> Option<Vec<StreamDelta>> {
    let choice = json.pointer("/choices/0")?;
    let mut deltas = Vec::new();
    read_content(choice.get("message")?, &mut deltas);
    deltas.extend(usage(json));
    deltas.push(finish(choice).unwrap_or(StreamDelta::Finish(FinishReason::Complete)));
    deltas.push(StreamDelta::End);
    Some(deltas)
}

fn read_content(message: &Value, deltas: &mut Vec<StreamDelta>) {
    for name in ["reasoning_content", "reasoning"] {
        let reasoning = message.get(name).and_then(Value::as_str);
        if let Some(reasoning) = reasoning.filter(|text| !text.is_empty()) {
            deltas.push(StreamDelta::Reasoning(reasoning.to_owned()));
            break;
        }
    }
    push_text(deltas, string(message, "/refusal"), StreamDelta::Refusal);
    match message.get("content") {
        Some(Value::String(text)) => push_text(deltas, text, StreamDelta::Text),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| read_part(part, deltas)),
        _ => {}
    }
}

fn read_part(part: &Value, deltas: &mut Vec<StreamDelta>) {
    if string(part, "/type") == "thinking" {
        let thoughts = part.get("thinking").and_then(Value::as_array);
        for thought in thoughts.into_iter().flatten() {
            push_text(deltas, string(thought, "/text"), StreamDelta::Reasoning);
        }
    } else {
        push_text(deltas, string(part, "/text"), StreamDelta::Text);
    }
}

fn finish(choice: &Value) -> Option<StreamDelta> {
    let reason = match string(choice, "/finish_reason") {
        "" => return None,
        "length" | "max_tokens" | "model_length" | "MAX_TOKENS" => FinishReason::Length,
        "content_filter" | "refusal" | "SAFETY" => FinishReason::Refused,
        _ => FinishReason::Complete,
    };
    Some(StreamDelta::Finish(reason))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`billed` has no cost that is negative or huge"
)]
fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

/// The cost that OpenRouter tells, in dollars. Who brings a key of the model's maker pays there too.
fn billed(usage: &Value) -> Option<f64> {
    let cost = |path: &str| {
        let cost = usage.pointer(path)?.as_f64()?;
        (0.0..1e6).contains(&cost).then_some(cost)
    };
    let upstream = match usage.get("is_byok").and_then(Value::as_bool) {
        Some(true) => cost("/cost_details/upstream_inference_cost")?,
        _ => 0.0,
    };
    Some(cost("/cost")? + upstream)
}

fn usage(json: &Value) -> Option<StreamDelta> {
    let usage = json.get("usage").filter(|usage| usage.is_object())?;
    let cached = number(usage, "/prompt_tokens_details/cached_tokens")
        .max(number(usage, "/prompt_cache_hit_tokens"));
    Some(StreamDelta::Usage(TokenUsage {
        input: number(usage, "/prompt_tokens"),
        cached,
        cache_written: 0,
        output: number(usage, "/completion_tokens"),
        reasoning: number(usage, "/completion_tokens_details/reasoning_tokens"),
        billed_micros: billed(usage).map(micros),
        is_estimated: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::Wire;
    use super::super::tests::play;
    use super::*;
    use crate::request::{ChatTurn, ReasoningEffort};

    const WIRE: Wire = Wire::ChatCompletions;

    #[test]
    fn a_stream_of_llama_cpp() {
        let played = play(WIRE, include_str!("recorded/llamacpp_chat.sse"));
        assert_eq!(
            played.text,
            "Welcome to our virtual team chat! What can I help you"
        );
        assert_eq!(played.finish, Some(FinishReason::Length));
        assert_eq!((played.usage.input, played.usage.output), (32, 12));
        assert_eq!(played.ends, 1);
    }

    #[test]
    fn reasoning_comes_apart_from_the_text() {
        let stream = concat!(
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"Let me\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"\",\"reasoning\":\" see.\",\"reasoning_details\":[]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\" Yes.\"}]},{\"type\":\"text\",\"text\":\"Hi\"}]}}]}\n\n",
            ": OPENROUTER PROCESSING\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"!\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":7,\"cost\":0.00012,\"completion_tokens_details\":{\"reasoning_tokens\":5},\"prompt_cache_hit_tokens\":4}}\n\n",
            "data: [DONE]\n\n",
        );
        let played = play(WIRE, stream);
        assert_eq!(
            (played.text.as_str(), played.reasoning.as_str()),
            ("Hi!", "Let me see. Yes.")
        );
        assert_eq!(played.finish, Some(FinishReason::Complete));
        assert_eq!((played.usage.reasoning, played.usage.cached), (5, 4));
        assert_eq!(played.usage.billed_micros, Some(120));
    }

    #[test]
    fn only_a_cost_that_can_be_one_is_believed() {
        let case = |usage: &str, expected: Option<f64>| {
            let usage = serde_json::from_str(usage).unwrap();
            assert_eq!(billed(&usage), expected, "{usage}");
        };
        case(r#"{"cost":0.5,"is_byok":false}"#, Some(0.5));
        case(
            r#"{"cost":0.5,"cost_details":{"upstream_inference_cost":0.25}}"#,
            Some(0.5),
        );
        case(
            r#"{"cost":0,"is_byok":true,"cost_details":{"upstream_inference_cost":0.25}}"#,
            Some(0.25),
        );
        for usage in [
            r#"{"cost":-5}"#,
            r#"{"cost":1e300}"#,
            r#"{"cost":"0.5"}"#,
            r#"{"cost":0,"is_byok":true}"#,
            r#"{"cost":0,"is_byok":true,"cost_details":{"upstream_inference_cost":-1}}"#,
        ] {
            case(usage, None);
        }
    }

    #[test]
    fn a_refusal_is_no_text() {
        let stream = concat!(
            "data: {\"choices\":[{\"delta\":{\"refusal\":\"I can't help\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n",
        );
        let played = play(WIRE, stream);
        assert_eq!(
            (played.text.as_str(), played.refusal.as_str()),
            ("", "I can't help")
        );
        assert_eq!(played.finish, Some(FinishReason::Refused));
    }

    #[test]
    fn an_error_in_the_middle_of_a_stream_is_read() {
        let stream = concat!(
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            "data: {\"error\":{\"code\":\"server_error\",\"message\":\"Provider disconnected\"},\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n",
        );
        let played = play(WIRE, stream);
        assert_eq!(played.failed.unwrap().message, "Provider disconnected");
    }

    #[test]
    fn an_answer_that_came_whole_is_read_too() {
        let body = r#"{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
        let deltas = WIRE.decode_body(body).unwrap();
        assert!(
            deltas.contains(&StreamDelta::Text("Hi".to_owned())),
            "{deltas:?}"
        );
        assert!(deltas.contains(&StreamDelta::Finish(FinishReason::Complete)));
        assert!(WIRE.decode_body("{}").is_err() && WIRE.decode_body("[1]").is_err());
    }

    #[test]
    fn only_what_is_set_is_sent() {
        let mut request =
            ModelRequest::new("m", vec![ChatTurn::user("hi"), ChatTurn::assistant("ho")]);
        let provider = Provider::named("ollama").unwrap();
        let plain = json!({
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        assert_eq!(WIRE.encode(&request, provider), plain);
        request.max_output = Some(5);
        request.temperature = Some(0.5);
        request.reasoning = Some(ReasoningEffort::Off);
        let full = WIRE.encode(&request, Provider::named("azure").unwrap());
        assert_eq!(full["max_completion_tokens"], 5);
        assert_eq!(
            (&full["temperature"], &full["reasoning_effort"]),
            (&json!(0.5), &json!("none"))
        );
        let mistral = WIRE.encode(&request, Provider::named("mistral").unwrap());
        assert_eq!(
            (mistral.get("stream_options"), &mistral["max_tokens"]),
            (None, &json!(5))
        );
    }
}
