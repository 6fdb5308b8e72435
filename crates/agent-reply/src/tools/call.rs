//! One tool call: its name and its parameters, wherever they stand.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{is_same, table, tool_of};

/// Where a call stands, and so how sure it is that it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallShape {
    /// By itself: any object with a `name` looks a little like a call.
    Alone,
    /// Under `actions`, which other formats have too.
    Listed,
    /// Under `actions` beside a `thought` or a `plan`, or in a list with a certain call.
    InPlan,
}

/// Signs that tell a call of an unknown tool from data about tools.
const PARAMETERS: &str = "path file_path content command pattern patch diff text query url";

/// How much an object looks like a call, from a little to very.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallEvidence {
    /// It has a `name` or an `action`, as much data has.
    Name,
    /// It has a `tool`.
    Tool,
    /// It has a `tool` and a parameter beside it, or a key for its parameters.
    Parameters,
}

/// A call as it was written.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(super) tool: Cow<'a, str>,
    parameters: Cow<'a, Map<String, Value>>,
    evidence: CallEvidence,
    /// True if keys stand beside the name that no tool has as a parameter.
    has_foreign_keys: bool,
    /// True if the tool has effects and keys stand beside its name that say nothing about a call of
    /// it: `"output": "2 passed"`, `"executed": true`.
    may_be_record: bool,
    /// True if it tells of a call that was made: when, by whom, with which result.
    is_record: bool,
}

impl Call<'static> {
    /// A call in a format that has nothing but calls.
    pub(crate) fn certain(tool: &str, parameters: Map<String, Value>) -> Self {
        Self {
            tool: Cow::Owned(plain_name(tool).to_owned()),
            parameters: Cow::Owned(parameters),
            evidence: CallEvidence::Parameters,
            has_foreign_keys: false,
            may_be_record: false,
            is_record: false,
        }
    }
}

impl<'a> Call<'a> {
    /// Reads a value that is an object which names a tool.
    pub(crate) fn in_value(value: &'a Value) -> Option<Self> {
        Self::read(value.as_object()?)
    }

    /// Reads an object that names a tool.
    pub(crate) fn read(object: &'a Map<String, Value>) -> Option<Self> {
        for key in ["function", "function_call", "functionCall"] {
            if let Some(Value::Object(function)) = object.get(key) {
                return Self::read(function);
            }
        }
        let mut keys = table::TOOL_KEYS.split(' ');
        let key = keys.find(|key| object.get(*key).is_some_and(Value::is_string))?;
        let tool = plain_name(object.get(key)?.as_str()?);
        let is_known = tool_of(tool).is_some();
        let nested = table::NESTED
            .split(' ')
            .find_map(|key| Some((key, object.get(key).and_then(nested)?)));
        let describes =
            |nested: &Map<String, Value>| nested.get("properties").is_some_and(Value::is_object);
        if nested.as_ref().is_some_and(|(_, nested)| describes(nested)) {
            // The schema of a tool, which no call has.
            return None;
        }
        // Data has a name and an `input`, and what describes a tool has `parameters`.
        let is_data = matches!(nested, Some(("input" | "parameters" | "params", _)))
            && matches!(key, "name" | "action")
            && object.get("type").is_none_or(|kind| kind != "tool_use")
            && !is_known;
        let has_parameter = object.keys().any(|key| is_among(PARAMETERS, key));
        let names_tool = key.starts_with("tool") || key == "recipient_name";
        let evidence = match names_tool {
            _ if nested.is_some() && !is_data => CallEvidence::Parameters,
            true if has_parameter => CallEvidence::Parameters,
            true => CallEvidence::Tool,
            false => CallEvidence::Name,
        };
        let others = || object.keys().filter(|other| *other != key);
        Some(Self {
            tool: Cow::Borrowed(tool),
            evidence,
            has_foreign_keys: others().any(|other| is_foreign(other)),
            may_be_record: super::has_effects(tool) && others().any(|other| is_unknown(other)),
            is_record: others().any(|other| is_among(table::RECORD, other)),
            parameters: nested.map_or(Cow::Borrowed(object), |(_, nested)| nested),
        })
    }

    /// Returns true if it is a call rather than data that looks like one.
    pub(crate) fn is_certain(&self, shape: CallShape) -> bool {
        let tool = tool_of(&self.tool);
        match shape {
            CallShape::InPlan => true,
            _ if self.is_record || self.may_be_record => false,
            CallShape::Listed => {
                self.evidence >= CallEvidence::Tool || tool.is_some_and(|tool| !tool.runs())
            }
            CallShape::Alone if tool.is_some() => {
                self.evidence >= CallEvidence::Tool
                    || (!self.has_foreign_keys
                        && tool.is_some_and(|tool| !tool.runs())
                        && super::is_complete(self))
            }
            CallShape::Alone => {
                self.evidence == CallEvidence::Parameters
                    && !self.tool.contains(char::is_whitespace)
            }
        }
    }

    /// Returns true if it would be a certain call but for keys that no call has.
    pub(crate) fn may_be_record(&self) -> bool {
        self.may_be_record && !self.is_record && self.evidence >= CallEvidence::Tool
    }

    /// Returns true if it says all that a call to run something needs, as a task of an editor does
    /// too.
    pub(crate) fn is_doubtful(&self) -> bool {
        tool_of(&self.tool).is_some_and(super::table::Tool::runs)
            && self.evidence < CallEvidence::Tool
            && !self.has_foreign_keys
            && super::is_complete(self)
    }

    /// Returns true if a tool of its name is in the table.
    pub(crate) fn is_known(&self) -> bool {
        tool_of(&self.tool).is_some()
    }

    /// The call as it arrived, cut after so many characters.
    pub(super) fn quoted(&self) -> String {
        const MAX_CHARS: usize = 200;
        let parameters = Value::Object(self.parameters.clone().into_owned()).to_string();
        let shown: String = parameters.chars().take(MAX_CHARS).collect();
        let rest = if shown.len() < parameters.len() {
            " ..."
        } else {
            ""
        };
        format!("{shown}{rest}")
    }

    /// The parameter under the first of these names that is there, in whatever spelling.
    pub(super) fn get(&self, names: &str) -> Option<&Value> {
        let value = names.split(' ').find_map(|name| {
            let exact = self.parameters.get(name);
            exact.or_else(|| {
                let mut all = self.parameters.iter();
                all.find_map(|(key, value)| is_same(key, name).then_some(value))
            })
        });
        value.filter(|value| !value.is_null())
    }

    /// The parameter as text: numbers are written out, lines that stand one by one are joined.
    pub(super) fn text(&self, names: &str) -> Option<Cow<'_, str>> {
        match self.get(names)? {
            Value::String(text) => Some(Cow::Borrowed(text)),
            Value::Number(number) => Some(Cow::Owned(number.to_string())),
            Value::Array(lines) => {
                let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
                lines.map(|lines| Cow::Owned(lines.join("\n")))
            }
            _ => None,
        }
    }

    /// Returns true if a parameter is true, which may be written as a string.
    pub(super) fn is_true(&self, names: &str) -> bool {
        match self.get(names) {
            Some(Value::Bool(value)) => *value,
            Some(Value::String(text)) => text.trim().eq_ignore_ascii_case("true"),
            _ => false,
        }
    }
}

/// The name of a tool without the room that it stands in: `functions.read_file:0`.
fn plain_name(name: &str) -> &str {
    let name = name.trim();
    let name = ["functions.", "default_api.", "tools.", "tool."]
        .iter()
        .find_map(|room| name.strip_prefix(room))
        .unwrap_or(name);
    match name.rsplit_once(':') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Returns true if a key is of data rather than of a call.
fn is_foreign(key: &str) -> bool {
    const OTHERS: &str = "line from to replacement output question summary timeout old_string \
        new_string start_line end_line search replace old_str new_str file_text";
    !is_among(PARAMETERS, key) && !is_among(OTHERS, key) && !is_among(table::REMARKS, key)
}

/// Returns true if no call of a tool with effects has such a key.
fn is_unknown(key: &str) -> bool {
    !table::KNOWN.iter().any(|names| is_among(names, key))
}

/// Returns true if a key is one of these names, in whatever spelling.
pub(crate) fn is_among(names: &str, key: &str) -> bool {
    names.split_whitespace().any(|name| is_same(name, key))
}

fn nested(value: &Value) -> Option<Cow<'_, Map<String, Value>>> {
    match value {
        Value::Object(object) => Some(Cow::Borrowed(object)),
        Value::String(text) if text.trim_start().starts_with('{') => {
            match crate::json::read_value(text) {
                Some(Value::Object(object)) => Some(Cow::Owned(object)),
                _ => None,
            }
        }
        _ => None,
    }
}
