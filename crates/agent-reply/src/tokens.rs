//! Tool calls between the special tokens of a model, which a page shows when nobody takes them, and
//! the calls of functions in a `tool_code` block.
//!
//! ```text
//! DeepSeek  <｜tool▁call▁begin｜> ["function" <｜tool▁sep｜>] name <｜tool▁sep｜> json <｜tool▁call▁end｜>
//! Kimi      <|tool_call_begin|> "functions." name ":" n <|tool_call_argument_begin|> json <|tool_call_end|>
//! Mistral   [TOOL_CALLS] json-list            [TOOL_CALLS] name [ARGS] json
//! Llama     <|python_tag|> json
//! harmony   to=functions.name ... <|message|> json [<|call|>]
//! Gemini    ```tool_code: [print(] [default_api.] name(key=value, ...) [)]
//! ```
//!
//! A token stands in no other text, so a call after one is certain. What cannot be read is a problem.

use serde_json::{Map, Value};

use super::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use super::json::{LenientReader, LiteralSyntax};
use super::tools::{self, Call};
use super::{code_fence, json};
use crate::trim::{is_blank, trim};

/// How a token that leads to a call begins: the line is worth a look.
const LEADS: [&str; 7] = [
    "<\u{ff5c}tool\u{2581}call",
    "<|tool\u{2581}call",
    "<|tool_call",
    "<|python_tag|>",
    "<|channel|>",
    "<|start|>",
    "[TOOL_CALLS]",
];

/// The calls that begin on the line `at`.
pub(super) fn find(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    let line = trim(lines[at]);
    if line.starts_with(['<', '[']) && LEADS.iter().any(|lead| line.starts_with(lead)) {
        return between_tokens(lines, at);
    }
    tool_code(lines, at)
}

fn between_tokens(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    let end = block_end(lines, at);
    let text = plain_tokens(&lines[at..end].join("\n"));
    let items = if let Some(rest) = text.trim_start().strip_prefix("[TOOL_CALLS]") {
        mistral(rest)
    } else if let Some(rest) = text.trim_start().strip_prefix("<|python_tag|>") {
        vec![json_call(None, rest)]
    } else if text.contains("to=functions.") {
        harmony(&text)
    } else {
        delimited(&text)
    };
    (!items.is_empty()).then(|| BlockCandidate::whole(at..end, items))
}

/// The line below the calls: their end, a blank line or a tag.
fn block_end(lines: &[&str], at: usize) -> usize {
    let is_end = |line: &str| {
        ["calls\u{2581}end", "calls_section_end", "<|call|>"]
            .iter()
            .any(|end| line.contains(end))
    };
    for (index, line) in lines.iter().enumerate().skip(at) {
        if is_end(line) {
            return index + 1;
        }
        if index > at && (code_fence::is_tag(line) || is_blank(line)) {
            return index;
        }
    }
    lines.len()
}

/// The tokens with plain bars, however a page shows them.
fn plain_tokens(text: &str) -> String {
    text.replace('\u{ff5c}', "|").replace('\u{2581}', "_")
}

/// Calls that each stand between a begin and an end.
fn delimited(text: &str) -> Vec<CandidateItem> {
    let mut items = Vec::new();
    for part in text.split("<|tool_call_begin|>").skip(1) {
        let call = part.split("<|tool_call_end|>").next().unwrap_or(part);
        let divider = ["<|tool_call_argument_begin|>", "<|tool_sep|>"]
            .into_iter()
            .find(|divider| call.contains(divider));
        let Some((name, arguments)) = divider.and_then(|divider| {
            // The first version says `function` before the name.
            let call = call.strip_prefix("function<|tool_sep|>").unwrap_or(call);
            call.split_once(divider).or_else(|| call.split_once('\n'))
        }) else {
            items.push(problem());
            continue;
        };
        items.push(json_call(Some(name), arguments));
    }
    items
}

fn mistral(text: &str) -> Vec<CandidateItem> {
    if let Some((name, arguments)) = text.split_once("[ARGS]") {
        return vec![json_call(Some(name), arguments)];
    }
    match json::read_value(text.trim()) {
        Some(Value::Array(calls)) => {
            let calls = calls.iter().map(Call::in_value);
            let items = calls.map(|call| call.map_or_else(problem, |call| tools::item(&call)));
            items.collect()
        }
        _ => vec![json_call(None, text)],
    }
}

fn harmony(text: &str) -> Vec<CandidateItem> {
    let mut items = Vec::new();
    for part in text.split("to=functions.").skip(1) {
        let name: &str = part.split([' ', '<', '\n']).next().unwrap_or_default();
        let arguments = part.split_once("<|message|>").map(|(_, rest)| rest);
        items.push(arguments.map_or_else(problem, |rest| json_call(Some(name), rest)));
    }
    items
}

/// A call with its arguments as JSON; without a name it stands in them.
fn json_call(name: Option<&str>, arguments: &str) -> CandidateItem {
    let text = arguments.split("<|").next().unwrap_or_default();
    let text = text
        .trim()
        .trim_start_matches("```json")
        .trim_matches('`')
        .trim();
    let value = json::read_value(text);
    match (name, value) {
        (Some(name), Some(Value::Object(arguments))) => tools::certain(name, arguments),
        (None, Some(Value::Object(call))) => {
            Call::read(&call).map_or_else(problem, |call| tools::item(&call))
        }
        _ => problem(),
    }
}

/// The calls of a block that says `tool_code`.
fn tool_code(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    let fence = code_fence::Fence::read(lines[at])?;
    if fence.info != "tool_code" {
        return None;
    }
    let close = (at + 1..lines.len()).find(|line| fence.is_closed_by(lines[*line]));
    let text = lines[at + 1..close.unwrap_or(lines.len())].join("\n");
    let items = python_calls(&text).unwrap_or_else(|| vec![problem()]);
    Some(BlockCandidate {
        span: at..close.map_or(lines.len(), |close| close + 1),
        items,
        certainty: BlockCertainty::open_if(close.is_none()),
    })
}

/// Reads calls of functions with literal values by name.
fn python_calls(text: &str) -> Option<Vec<CandidateItem>> {
    let mut reader = LenientReader::new(text, LiteralSyntax::Python);
    let mut items = Vec::new();
    loop {
        reader.skip_space();
        if reader.is_at_end() {
            return (!items.is_empty()).then_some(items);
        }
        let is_printed = reader.eat("print(");
        let name = reader.word();
        reader.take(b'(')?;
        let arguments = python_arguments(&mut reader)?;
        items.push(tools::certain(name, arguments));
        if is_printed {
            reader.skip_space();
            reader.take(b')')?;
        }
    }
}

/// The arguments up to the bracket that closes them.
fn python_arguments(reader: &mut LenientReader<'_>) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    loop {
        reader.skip_space();
        if reader.eat(")") {
            return Some(arguments);
        }
        let key = reader.word();
        reader.skip_space();
        reader.take(b'=')?;
        arguments.insert(key.to_owned(), reader.value(0)?);
        reader.skip_space();
        reader.eat(",");
    }
}

fn problem() -> CandidateItem {
    CandidateItem::Problem(BlockTrouble::new(
        "a tool call in the format of another program cannot be read",
        "send it as a command of the protocol, as in `[READ_FILE path=\"...\"]`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, count: usize) {
        let lines: Vec<&str> = text.lines().collect();
        let found = find(&lines, 0).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(found.span, 0..lines.len(), "{text}");
        let read = |item: &CandidateItem| match item {
            CandidateItem::Command(command) => command.path().map(ToString::to_string),
            CandidateItem::Problem { .. } => None,
        };
        let paths: Vec<_> = found.items.iter().map(read).collect();
        assert_eq!(
            paths,
            vec![Some("a".to_owned()); count],
            "{text}: {:?}",
            found.items
        );
    }

    #[test]
    fn the_tokens_of_each_model_lead_to_calls() {
        case(
            "<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}><\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>function<\u{ff5c}tool\u{2581}sep\u{ff5c}>delete_file\n```json\n{\"path\": \"a\"}\n```<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}><\u{ff5c}tool\u{2581}calls\u{2581}end\u{ff5c}>",
            1,
        );
        case(
            "<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}><\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>delete_file<\u{ff5c}tool\u{2581}sep\u{ff5c}>{\"path\": \"a\"}<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}>\n<\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>delete_file<\u{ff5c}tool\u{2581}sep\u{ff5c}>{\"path\": \"a\"}<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}><\u{ff5c}tool\u{2581}calls\u{2581}end\u{ff5c}>",
            2,
        );
        case(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.delete_file:0<|tool_call_argument_begin|>{\"path\": \"a\"}<|tool_call_end|><|tool_calls_section_end|>",
            1,
        );
        case(
            "[TOOL_CALLS][{\"name\": \"delete_file\", \"arguments\": {\"path\": \"a\"}}]",
            1,
        );
        case("[TOOL_CALLS]delete_file[ARGS]{\"path\": \"a\"}", 1);
        case(
            "<|python_tag|>{\"name\": \"delete_file\", \"parameters\": {\"path\": \"a\"}}",
            1,
        );
        case(
            "<|channel|>commentary to=functions.delete_file <|constrain|>json<|message|>{\"path\": \"a\"}<|call|>",
            1,
        );
    }

    #[test]
    fn calls_of_functions_are_read() {
        case(
            "```tool_code\nprint(default_api.delete_file(path=\"a\"))\n```",
            1,
        );
        case(
            "```tool_code\ndelete_file(path='a')\ncreate_file(path = \"a\", content=\"\"\"x\n\\\"y\\\"\n\"\"\")\n```",
            2,
        );
        let lines = ["```tool_code", "delete_file(path=name)", "```"];
        assert!(matches!(
            find(&lines, 0).unwrap().items[..],
            [CandidateItem::Problem { .. }]
        ));
        assert!(find(&["delete_file(path=\"a\")"], 0).is_none());
    }
}
