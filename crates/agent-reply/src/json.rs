//! Plans and tool calls in JSON.
//!
//! ```text
//! block = value+                          one after the other, bare or in a fence
//! value = {"thought", "plan", "actions": [call*]} | call | [call+] | wrapped
//! call  = {"tool" | "name" | "action" | "function": name, parameters...}
//! wrapped = {"tool_calls" | "tool_uses" | "content" | "parts" | "function_calls": [call+]}
//!         | {"function_call" | "functionCall": call} | {"command": ["bash", "-lc", script]}
//! ```
//!
//! The parameters stand beside the name or under `parameters`, `params`, `arguments`, `args` or
//! `input`, there also as a string of JSON. Strict JSON is tried first, then `lenient`;
//! what a chat page gave curly quotes is straightened. What does not have one of these shapes is
//! data, and so is all that stands in it: a `package.json` in a reply is nobody's command. The
//! actions of a list are judged one by one, once one of them is certain, also if others cannot be
//! read. A value whose last brackets
//! are missing counts only if something follows it: at the end of the text it is cut off.

mod lenient;

use serde_json::{Map, Value};

use agent_protocol::Command;

use super::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use super::code_fence;
use super::tools::{self, Call, CallShape};
use crate::line::begins_with;
use crate::trim::trim_start;
pub(super) use lenient::{LenientReader, LiteralSyntax};

/// Deeper than any tool call; each bracket deeper than this would be looked at once more from
/// every line that begins with one, so a line of a million brackets is given up soon.
const MAX_DEPTH: usize = 32;

/// The plan or tool call that begins on the line `at`.
pub(super) fn find(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    find_by(JsonQuotes::Straight, items_of, lines, at)
}

/// The plan or tool call whose quotes a chat page made curly, which begins on the line `at`.
///
/// A page changes every quote alike, so a value counts only if it is strict JSON once every curly
/// double quote is straight.
pub(super) fn find_curly(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    find_by(JsonQuotes::Curly, items_of, lines, at)
}

/// Calls that begin on the line `at` and may as well be data, each as a problem.
pub(super) fn find_doubtful(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    find_by(JsonQuotes::Straight, doubtful_items, lines, at)
        .filter(|found| found.certainty == BlockCertainty::Whole)
}

fn find_by(
    quotes: JsonQuotes,
    items_of: fn(&Value) -> Option<Vec<CandidateItem>>,
    lines: &[&str],
    at: usize,
) -> Option<BlockCandidate> {
    if !quotes.may_begin(lines, at) {
        return None;
    }
    let mut items = Vec::new();
    let (mut line, mut column) = (at, 0);
    let mut is_cut = false;
    loop {
        let extent = quotes.measure(lines, (line, column))?;
        let text = quotes.straight(extent.text(lines, (line, column))?);
        let found = match quotes.read(&text) {
            Some(value) => items_of(&value),
            None if extent.is_closed() => sound_calls(&text, items_of),
            None => None,
        };
        match (extent.ended_by, found) {
            (JsonEnd::Bracket, Some(found)) => items.extend(found),
            (_, Some(found)) => items.extend(found.into_iter().map(without_end)),
            (JsonEnd::Text, None) if is_ours(&text) => items.push(cut_off()),
            (_, None) if quotes == JsonQuotes::Curly && is_ours(&text) => items.push(unreadable()),
            _ => return None,
        }
        is_cut |= !extent.is_closed();
        (line, column) = extent.end;
        match rest_of(lines, line, column) {
            RestOfLine::Nothing => break,
            RestOfLine::Value(next) => column = next,
            RestOfLine::Prose => return None,
        }
    }
    let end = if column == 0 { line } else { line + 1 };
    let block = code_fence::with_fences(lines, at..end);
    Some(BlockCandidate {
        certainty: BlockCertainty::open_if(
            is_cut && code_fence::skip_blank(lines, block.end) == lines.len(),
        ),
        span: block,
        items,
    })
}

/// Returns true if a line begins with what a plan or a call begins with.
pub(super) fn begins(lines: &[&str], at: usize) -> bool {
    JsonQuotes::Straight.may_begin(lines, at)
}

/// The line on which the value that begins here is closed.
pub(super) fn last_line(lines: &[&str], at: usize) -> Option<usize> {
    let extent = JsonQuotes::Straight.measure(lines, (at, 0))?;
    extent.is_closed().then_some(extent.end.0)
}

/// A place: line and byte in it.
type JsonPlace = (usize, usize);

/// The end of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonEnd {
    /// Its last bracket.
    Bracket,
    /// The fence around it or a tag, brackets missing.
    Fence,
    /// The end of the text.
    Text,
}

/// The end of a value.
struct JsonExtent {
    ended_by: JsonEnd,
    /// The place after the value; column 0 where it ends with a line.
    end: JsonPlace,
}

impl JsonExtent {
    /// The text of the value that begins at `start`.
    fn text(&self, lines: &[&str], start: JsonPlace) -> Option<String> {
        let (end_line, end_column) = self.end;
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate().take(end_line + 1).skip(start.0) {
            let from = if index == start.0 { start.1 } else { 0 };
            let to = if index == end_line {
                end_column
            } else {
                line.len()
            };
            text.push_str(line.get(from..to)?);
            if index < end_line {
                text.push('\n');
            }
        }
        Some(text)
    }

    fn is_closed(&self) -> bool {
        self.ended_by == JsonEnd::Bracket
    }
}

/// The quotes around the strings of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonQuotes {
    Straight,
    Curly,
}

impl JsonQuotes {
    fn is_quote(self, character: char) -> bool {
        match self {
            Self::Straight => character == '"',
            Self::Curly => matches!(character, '\u{201c}'..='\u{201f}'),
        }
    }

    /// Returns true if a quote begins with this byte.
    fn is_quote_at(self, bytes: &[u8], at: usize) -> bool {
        match self {
            Self::Straight => bytes[at] == b'"',
            // U+201C to U+201F in UTF-8.
            Self::Curly => matches!(bytes[at..], [0xe2, 0x80, 0x9c..=0x9f, ..]),
        }
    }

    /// Returns true if the line begins with what a plan or a call begins with: `{"`, `[{` or a
    /// bracket alone over one of these.
    fn may_begin(self, lines: &[&str], at: usize) -> bool {
        if !trim_start(lines[at]).starts_with(['{', '[']) {
            return false;
        }
        let near = lines[at..].iter().take(4);
        let mut characters = near
            .flat_map(|line| line.chars())
            .filter(|character| !character.is_whitespace());
        let first = characters.next();
        let is_list = first == Some('[');
        if is_list && characters.next() != Some('{') {
            return false;
        }
        let key = characters.next();
        key.is_some_and(|key| self.is_quote(key) || (self == Self::Straight && key == '/'))
    }

    /// Finds the end of the value that begins at `start`, if it could be JSON.
    ///
    /// Goes by brackets and strings only, so that a value with faults is found too.
    fn measure(self, lines: &[&str], start: JsonPlace) -> Option<JsonExtent> {
        let ends = |ended_by, end| Some(JsonExtent { ended_by, end });
        let mut depth = 0_usize;
        let mut in_string = false;
        for (index, line) in lines.iter().enumerate().skip(start.0) {
            let from = if index == start.0 { start.1 } else { 0 };
            let is_outside = index > start.0 && !in_string;
            if is_outside && (code_fence::is_bare(line) || code_fence::is_tag(line)) {
                return ends(JsonEnd::Fence, (index, 0));
            }
            let bytes = line.as_bytes();
            let mut at = from;
            while let Some(byte) = bytes.get(at) {
                match byte {
                    b'\\' if in_string => at += 1,
                    _ if self.is_quote_at(bytes, at) => in_string = !in_string,
                    _ if in_string => {}
                    b'/' if bytes.get(at + 1) == Some(&b'/') => break,
                    b'{' | b'[' => {
                        depth += 1;
                        if depth > MAX_DEPTH {
                            return None;
                        }
                    }
                    b'}' | b']' => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            return ends(JsonEnd::Bracket, (index, at + 1));
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
        }
        ends(JsonEnd::Text, (lines.len(), 0))
    }

    /// A value with straight quotes.
    fn straight(self, text: String) -> String {
        match self {
            Self::Straight => text,
            Self::Curly => text.replace(|character| self.is_quote(character), "\""),
        }
    }

    fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Straight => read_value(text),
            Self::Curly => serde_json::from_str(text).ok(),
        }
    }
}

/// The rest of the line on which a value ends.
enum RestOfLine {
    Nothing,
    Value(usize),
    Prose,
}

fn rest_of(lines: &[&str], line: usize, column: usize) -> RestOfLine {
    let Some(rest) = lines.get(line).map(|text| &text[column..]) else {
        return RestOfLine::Nothing;
    };
    if column == 0 {
        return RestOfLine::Nothing;
    }
    let next = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    if next.is_empty() {
        RestOfLine::Nothing
    } else if next.starts_with(['{', '[']) {
        RestOfLine::Value(column + rest.len() - next.len())
    } else {
        RestOfLine::Prose
    }
}

/// Reads a value, strictly or with the faults that models make.
pub(super) fn read_value(text: &str) -> Option<Value> {
    let read = serde_json::from_str(text).ok();
    let mut value = read.or_else(|| lenient::read(text))?;
    if ["\\b", "\\f"].iter().any(|escape| text.contains(escape)) {
        restore_backslashes(&mut value);
    }
    Some(value)
}

/// Puts `\b` in the place of a backspace, and `\f` in the place of a form feed before a letter: a model
/// that writes `"\bword\b"` or `"\frac"` forgot to double the backslash.
fn restore_backslashes(value: &mut Value) {
    match value {
        Value::String(text) => {
            let plain = text.replace('\u{8}', "\\b");
            let mut parts = plain.split('\u{c}');
            let mut restored = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let is_word = part.starts_with(char::is_alphabetic);
                restored.push_str(if is_word { "\\f" } else { "\u{c}" });
                restored.push_str(part);
            }
            *text = restored;
        }
        Value::Array(values) => values.iter_mut().for_each(restore_backslashes),
        Value::Object(members) => members.values_mut().for_each(restore_backslashes),
        _ => {}
    }
}

/// The commands of a list of calls, some of which cannot be read: those are problems.
///
/// Each must name a tool of its own. A quote that is not escaped may also make several calls of
/// what is the content of one, but then the last of them is only the end of a text.
fn sound_calls(
    text: &str,
    items_of: fn(&Value) -> Option<Vec<CandidateItem>>,
) -> Option<Vec<CandidateItem>> {
    let keys: Vec<String> = tools::TOOL_KEYS
        .split(' ')
        .map(|key| format!("\"{key}\""))
        .collect();
    let start = text.find('[')?;
    let mut sound = String::new();
    // In the order of the list; nothing stands for a sound call.
    let mut calls = Vec::new();
    let mut at = start + 1;
    loop {
        let rest = text[at..].trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        at = text.len() - rest.len();
        if rest.starts_with(']') {
            break;
        }
        let extent = JsonQuotes::Straight.measure(&[text], (0, at))?;
        let end = extent.is_closed().then_some(extent.end.1)?;
        let call = &text[at..end];
        if !call.starts_with('{') || !keys.iter().any(|key| call.contains(key)) {
            return None;
        }
        if read_value(call).is_some() {
            sound.push_str(call);
            sound.push(',');
            calls.push(None);
        } else {
            calls.push(Some(broken_call(call)));
        }
        at = end;
    }
    let is_divided = !sound.is_empty() && calls.iter().any(Option::is_some);
    let value = is_divided.then(|| format!("{}{sound}{}", &text[..=start], &text[at..]));
    let mut items = items_of(&read_value(&value?)?)?;
    // What a plan says comes before its calls.
    let said = items
        .len()
        .saturating_sub(calls.iter().filter(|call| call.is_none()).count());
    let mut done = items.split_off(said).into_iter();
    let calls = calls
        .into_iter()
        .filter_map(|call| call.or_else(|| done.next()));
    items.extend(calls);
    Some(items)
}

/// The commands of a value, or `None` if it is not a plan or a call.
fn items_of(value: &Value) -> Option<Vec<CandidateItem>> {
    match value {
        Value::Object(object) if object.contains_key("actions") => plan(object),
        Value::Object(object) => {
            wrapped(object).or_else(|| Some(vec![item(&Call::read(object)?, CallShape::Alone)?]))
        }
        Value::Array(values) if !values.is_empty() => judged(values, CallShape::Alone),
        _ => None,
    }
}

/// The calls in a message as the interfaces of chats wrap them.
fn wrapped(object: &Map<String, Value>) -> Option<Vec<CandidateItem>> {
    const LISTS: &str = "tool_calls tool_uses function_calls functionCalls content parts";
    if let Some(Value::Array(words)) = object.get("command")
        && is_shell_call(object, words)
    {
        return Some(vec![tools::certain("shell", object.clone())]);
    }
    let mut lists = LISTS.split(' ');
    let calls = lists.find_map(|key| object.get(key)?.as_array())?;
    judged(calls, CallShape::Alone)
}

/// Returns true if `{"command": [...]}` is the call of a shell and nothing else.
fn is_shell_call(object: &Map<String, Value>, words: &[Value]) -> bool {
    let first = words.first().and_then(Value::as_str);
    let mut keys = object.keys();
    matches!(
        first,
        Some("bash" | "sh" | "zsh" | "/bin/bash" | "/bin/sh" | "apply_patch")
    ) && keys.all(|key| {
        matches!(
            key.as_str(),
            "command" | "timeout" | "workdir" | "timeout_ms"
        )
    })
}

/// The line below a value that begins on the line `at` and is neither a plan nor a call: whatever
/// stands in it is data.
pub(super) fn data_end(lines: &[&str], at: usize) -> Option<usize> {
    if !begins(lines, at) {
        return None;
    }
    let extent = JsonQuotes::Straight.measure(lines, (at, 0))?;
    if !extent.is_closed() {
        return None;
    }
    read_value(&extent.text(lines, (at, 0))?)?;
    Some(extent.end.0 + 1)
}

/// The calls of a list in which one may run something, and none is certain to be a call.
fn doubtful_items(value: &Value) -> Option<Vec<CandidateItem>> {
    let values = match value {
        Value::Object(object) => object.get("actions")?.as_array()?,
        Value::Array(values) => values,
        _ => return None,
    };
    let calls: Vec<Call<'_>> = values.iter().map(Call::in_value).collect::<Option<_>>()?;
    let may_be_meant = |call: &Call<'_>| call.is_doubtful() || call.is_certain(CallShape::Listed);
    (calls.iter().any(Call::is_doubtful) && calls.iter().all(may_be_meant))
        .then(|| calls.iter().map(tools::doubtful).collect())
}

/// The actions of a list, each for itself, if one of them is certainly a call: then those of unknown tools
/// are calls too.
fn judged(values: &[Value], shape: CallShape) -> Option<Vec<CandidateItem>> {
    let is_text = |value: &Value| {
        let has = |key| value.get(key).is_some_and(Value::is_string);
        has("text") || has("thinking")
    };
    let actions = values.iter().map(|value| (value, Call::in_value(value)));
    let actions = actions.filter(|(value, call)| call.is_some() || !is_text(value));
    let actions: Vec<(&Value, Option<Call<'_>>)> = actions.collect();
    let calls = || actions.iter().filter_map(|(_, call)| call.as_ref());
    if calls().any(Call::may_be_record) {
        // Beside one that tells of a call that was made, the others may do so too.
        return Some(calls().map(tools::doubtful).collect());
    }
    if !calls().any(|call| call.is_known() && call.is_certain(shape)) {
        let each = actions.iter().map(|(_, call)| item(call.as_ref()?, shape));
        return each
            .collect::<Option<Vec<_>>>()
            .filter(|items| !items.is_empty());
    }
    let each = actions.iter().map(|(value, call)| match call {
        Some(call) if !call.is_certain(shape) && call.is_doubtful() => tools::doubtful(call),
        Some(call) => tools::item(call),
        None => without_tool(value),
    });
    Some(each.collect())
}

fn plan(object: &Map<String, Value>) -> Option<Vec<CandidateItem>> {
    let actions = object.get("actions")?.as_array()?;
    let speaks = object.contains_key("thought") || object.contains_key("plan");
    let mut items = Vec::new();
    if let Some(text) = object.get("plan").and_then(plan_text) {
        items.push(CandidateItem::Command(Command::Plan { text }));
    }
    if actions.is_empty() {
        let summary = object
            .get("thought")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        items.push(CandidateItem::Command(Command::Done { summary }));
        return speaks.then_some(items);
    }
    if !speaks {
        return judged(actions, CallShape::Listed);
    }
    let each = actions.iter().map(|action| {
        let item = Call::in_value(action).and_then(|call| item(&call, CallShape::InPlan));
        item.unwrap_or_else(|| without_tool(action))
    });
    items.extend(each);
    Some(items)
}

fn plan_text(plan: &Value) -> Option<String> {
    let text = match plan {
        Value::String(text) => text.clone(),
        Value::Array(steps) => {
            let lines: Vec<String> = steps.iter().map(step_text).collect();
            lines.join("\n")
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

fn step_text(step: &Value) -> String {
    let described = ["step", "description", "text", "title"]
        .iter()
        .find_map(|key| step.get(key).and_then(Value::as_str));
    match (step, described) {
        (Value::String(text), _) => text.clone(),
        (_, Some(text)) => text.to_owned(),
        _ => step.to_string(),
    }
}

fn item(call: &Call<'_>, shape: CallShape) -> Option<CandidateItem> {
    if shape != CallShape::InPlan && call.may_be_record() {
        return Some(tools::doubtful(call));
    }
    call.is_certain(shape).then(|| tools::item(call))
}

/// Returns true if the beginning of an unfinished value is clearly one of ours.
fn is_ours(text: &str) -> bool {
    /// Enough to see the first key and its value.
    const LOOKED_AT: usize = 200;
    let start: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(LOOKED_AT)
        .collect();
    let start = start.trim_start_matches(['[', '{']);
    let names_tool = start
        .strip_prefix("\"name\":\"")
        .and_then(|rest| rest.split('"').next())
        .is_some_and(tools::is_known);
    names_tool || begins_with(start, r#""thought":|"actions":|"tool":"#)
}

/// An item whose value lacks its last brackets, as far as it is certain.
///
/// An empty list of actions may have been meant to go on, and it would end the session.
fn without_end(item: CandidateItem) -> CandidateItem {
    match item {
        CandidateItem::Command(Command::Done { .. }) => cut_off(),
        item => item,
    }
}

fn without_tool(action: &Value) -> CandidateItem {
    let shown: String = action.to_string().chars().take(200).collect();
    CandidateItem::Problem(BlockTrouble::new(
        format!("an action names no tool: `{shown}`"),
        r#"write each action as {"tool": "read_file", "path": "..."}"#,
    ))
}

fn broken_call(call: &str) -> CandidateItem {
    let shown: String = call.chars().take(200).collect();
    let trouble = BlockTrouble::new(
        format!("a call in a list cannot be read, so it was not done: `{shown}`"),
        r#"send it again as JSON, with `\"` for each quote within a string"#,
    );
    CandidateItem::Problem(trouble.of(named_command(call)))
}

/// The command of the tool that the first keys of a broken call name.
fn named_command(call: &str) -> Option<&'static str> {
    let names = |key: &str| {
        let behind = call.split_once(&format!("\"{key}\""))?.1;
        let name = behind.trim_start().strip_prefix(':')?.trim_start();
        tools::command_name(name.strip_prefix('"')?.split('"').next()?)
    };
    tools::TOOL_KEYS.split(' ').find_map(names)
}

fn cut_off() -> CandidateItem {
    CandidateItem::Problem(BlockTrouble::new(
        "the JSON ends in the middle",
        "send the whole object again, or the commands one by one",
    ))
}

fn unreadable() -> CandidateItem {
    CandidateItem::Problem(BlockTrouble::new(
        "the JSON has curly quotes and cannot be read",
        "send it again with straight quotes, in a code block",
    ))
}

#[cfg(test)]
mod tests;
