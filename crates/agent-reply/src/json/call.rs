//! One tool call: its name and its parameters, wherever they stand.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::tools;

/// Where a call stands, and so how sure it is that it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// By itself: any object with a `name` looks a little like a call.
    Alone,
    /// Under `actions`, which other formats have too.
    Listed,
    /// Under `actions` beside a `thought` or a `plan`, or in a list with a certain call.
    InPlan,
}

/// What tells a call of a tool that is not known from data about tools.
const PARAMETERS: [&str; 11] = [
    "path",
    "file_path",
    "filePath",
    "content",
    "command",
    "pattern",
    "patch",
    "diff",
    "text",
    "query",
    "url",
];

/// How much an object looks like a call, from a little to very.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evidence {
    /// It has a `name` or an `action`, as much data has.
    Name,
    /// It has a `tool`.
    Tool,
    /// It has a `tool` and a parameter beside it, or a key for its parameters.
    Parameters,
}

/// A call as it was written.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) tool: &'a str,
    parameters: Cow<'a, Map<String, Value>>,
    evidence: Evidence,
    /// Whether keys stand beside the name that no tool has as a parameter.
    has_foreign_keys: bool,
}

impl<'a> Call<'a> {
    /// Reads an object that names a tool.
    pub(super) fn read(object: &'a Map<String, Value>) -> Option<Self> {
        if let Some(Value::Object(function)) = object.get("function") {
            return Self::read(function);
        }
        let key = [
            "tool",
            "tool_name",
            "toolName",
            "name",
            "action",
            "function",
        ]
        .into_iter()
        .find(|key| object.get(*key).is_some_and(Value::is_string))?;
        let tool = object.get(key)?.as_str()?;
        let nested = ["arguments", "args", "parameters", "params", "input"]
            .iter()
            .find_map(|key| Some((*key, object.get(*key).and_then(nested)?)));
        // Data has a name and an `input`, and what describes a tool has `parameters`.
        let is_data = matches!(nested, Some(("input" | "parameters" | "params", _)))
            && matches!(key, "name" | "action")
            && object.get("type").is_none_or(|kind| kind != "tool_use")
            && !tools::is_known(tool);
        let has_parameter = PARAMETERS.iter().any(|key| object.contains_key(*key));
        let evidence = match key.starts_with("tool") {
            _ if nested.is_some() && !is_data => Evidence::Parameters,
            true if has_parameter => Evidence::Parameters,
            true => Evidence::Tool,
            false => Evidence::Name,
        };
        Some(Self {
            tool,
            parameters: nested.map_or(Cow::Borrowed(object), |(_, nested)| nested),
            evidence,
            has_foreign_keys: object.keys().any(|other| other != key && is_foreign(other)),
        })
    }

    /// Whether it is a call rather than data that looks like one.
    pub(super) fn is_certain(&self, shape: Shape) -> bool {
        match shape {
            Shape::InPlan => true,
            Shape::Listed => {
                self.evidence >= Evidence::Tool
                    || (tools::is_known(self.tool) && !tools::runs(self.tool))
            }
            Shape::Alone if tools::is_known(self.tool) => {
                self.evidence >= Evidence::Tool
                    || (!self.has_foreign_keys
                        && !tools::runs(self.tool)
                        && tools::is_complete(self))
            }
            Shape::Alone => {
                self.evidence == Evidence::Parameters && !self.tool.contains(char::is_whitespace)
            }
        }
    }

    /// Whether it says all that a call to run something needs, as a task of an editor does too.
    pub(super) fn is_doubtful(&self) -> bool {
        tools::runs(self.tool)
            && self.evidence < Evidence::Tool
            && !self.has_foreign_keys
            && tools::is_complete(self)
    }

    /// The parameter under the first of these names that is there, in either spelling.
    pub(super) fn get(&self, names: &[&str]) -> Option<&Value> {
        names
            .iter()
            .find_map(|name| {
                self.parameters
                    .get(*name)
                    .or_else(|| self.parameters.get(&camel_case(name)))
            })
            .filter(|value| !value.is_null())
    }

    /// The same as text; numbers are written out.
    pub(super) fn text(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        match self.get(names)? {
            Value::String(text) => Some(Cow::Borrowed(text)),
            Value::Number(number) => Some(Cow::Owned(number.to_string())),
            // Some models give a file line by line.
            Value::Array(lines) => {
                let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
                lines.map(|lines| Cow::Owned(lines.join("\n")))
            }
            _ => None,
        }
    }

    /// The same as a number, which may be written as a string.
    pub(super) fn number(&self, names: &[&str]) -> Result<Option<u32>, String> {
        let number = match self.get(names) {
            None => return Ok(None),
            Some(Value::Number(number)) => number
                .as_u64()
                .and_then(|number| u32::try_from(number).ok()),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        number.map(Some).ok_or_else(|| names[0].to_owned())
    }

    /// Whether a parameter is true, which may be written as a string.
    pub(super) fn is_true(&self, names: &[&str]) -> bool {
        match self.get(names) {
            Some(Value::Bool(value)) => *value,
            Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
            _ => false,
        }
    }
}

/// Whether a key is of data rather than of a call.
fn is_foreign(key: &str) -> bool {
    let others = [
        "type",
        "id",
        "line",
        "from",
        "to",
        "replacement",
        "output",
        "question",
        "summary",
        "timeout",
        "old_string",
        "oldString",
        "new_string",
        "newString",
        "start_line",
        "startLine",
        "end_line",
        "endLine",
    ];
    !PARAMETERS.contains(&key) && !others.contains(&key)
}

fn nested(value: &Value) -> Option<Cow<'_, Map<String, Value>>> {
    match value {
        Value::Object(object) => Some(Cow::Borrowed(object)),
        Value::String(text) if text.trim_start().starts_with('{') => match super::read(text) {
            Some(Value::Object(object)) => Some(Cow::Owned(object)),
            _ => None,
        },
        _ => None,
    }
}

fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut raise = false;
    for character in name.chars() {
        if character == '_' {
            raise = true;
        } else if raise {
            camel.push(character.to_ascii_uppercase());
            raise = false;
        } else {
            camel.push(character);
        }
    }
    camel
}
