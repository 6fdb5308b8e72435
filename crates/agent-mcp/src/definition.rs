//! The description of a tool, as a client lists it.

use serde_json::{Map, Value, json};

/// A tool.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Tells the model when to use it.
    pub description: String,
    /// Its parameters.
    pub properties: Vec<ToolProperty>,
    /// Hints for the client.
    pub hints: ToolHints,
}

/// A parameter of a tool.
#[derive(Debug, Clone)]
pub struct ToolProperty {
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub value: ToolValue,
    /// True if no call goes without it.
    pub is_required: bool,
    /// A few words about it.
    pub description: String,
}

/// The type of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolValue {
    /// Text.
    Text,
    /// A whole number, 0 or more.
    Number,
    /// True or false.
    Flag,
}

/// Hints by which a client decides when to ask the person itself. They permit nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolHints {
    /// It changes nothing.
    pub is_read_only: bool,
    /// It may overwrite or remove something.
    pub is_destructive: bool,
    /// It may reach something outside of the workspace.
    pub is_open_world: bool,
}

impl ToolDefinition {
    /// The definition as `tools/list` tells it.
    pub fn to_json(&self) -> Value {
        let properties: Map<String, Value> = (self.properties.iter())
            .map(|property| (property.name.clone(), property.schema()))
            .collect();
        let required = self.properties.iter().filter(|one| one.is_required);
        let required: Vec<&str> = required.map(|one| one.name.as_str()).collect();
        let hints = self.hints;
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "annotations": {
                "title": self.title,
                "readOnlyHint": hints.is_read_only,
                "destructiveHint": hints.is_destructive,
                "idempotentHint": hints.is_read_only,
                "openWorldHint": hints.is_open_world,
            },
        })
    }

    /// Refuses arguments that the schema does not allow, in words for the model.
    pub fn validate(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        for (name, value) in arguments {
            let Some(property) = self.properties.iter().find(|one| one.name == *name) else {
                let known: Vec<&str> = self.properties.iter().map(|one| &*one.name).collect();
                let shown: String = name.chars().take(60).collect();
                return Err(format!(
                    "`{}` has no parameter `{shown}`; it has: {}",
                    self.name,
                    known.join(", ")
                ));
            };
            if !property.value.takes(value) && (property.is_required || !value.is_null()) {
                return Err(format!("`{name}` must be {}", property.value.words()));
            }
        }
        let is_missing =
            |one: &&ToolProperty| one.is_required && !arguments.contains_key(&one.name);
        match self.properties.iter().find(is_missing) {
            Some(missing) => Err(format!("`{}` is missing", missing.name)),
            None => Ok(()),
        }
    }
}

impl ToolProperty {
    fn schema(&self) -> Value {
        match self.value {
            ToolValue::Text => json!({ "type": "string", "description": self.description }),
            ToolValue::Number => {
                json!({ "type": "integer", "minimum": 0, "description": self.description })
            }
            ToolValue::Flag => json!({ "type": "boolean", "description": self.description }),
        }
    }
}

impl ToolValue {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            // Some models write numbers and truth values as texts; the command reads them.
            Self::Number => value.is_u64() || value.as_str().is_some_and(is_number),
            Self::Flag => value.is_boolean() || matches!(value.as_str(), Some("true" | "false")),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a whole number, 0 or more",
            Self::Flag => "true or false",
        }
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> ToolDefinition {
        let property = |name: &str, value, is_required| ToolProperty {
            name: name.to_owned(),
            value,
            is_required,
            description: String::new(),
        };
        ToolDefinition {
            name: "read_file".to_owned(),
            title: "Read".to_owned(),
            description: "Show files.".to_owned(),
            properties: vec![
                property("path", ToolValue::Text, true),
                property("start_line", ToolValue::Number, false),
                property("numbered", ToolValue::Flag, false),
            ],
            hints: ToolHints::default(),
        }
    }

    #[track_caller]
    fn case(arguments: &Value, expected: Result<(), &str>) {
        let arguments = arguments.as_object().unwrap();
        let validated = tool().validate(arguments);
        match (&validated, expected) {
            (Ok(()), Ok(())) => {}
            (Err(why), Err(words)) if why.contains(words) => {}
            _ => panic!("{arguments:?}: {validated:?}"),
        }
    }

    #[test]
    fn arguments_that_the_schema_does_not_allow_are_refused() {
        case(&json!({ "path": "a", "start_line": 3 }), Ok(()));
        case(
            &json!({ "path": "a", "start_line": "3", "numbered": "true" }),
            Ok(()),
        );
        case(&json!({ "path": "a", "start_line": null }), Ok(()));
        case(&json!({}), Err("`path` is missing"));
        case(&json!({ "path": null }), Err("must be a string"));
        case(&json!({ "path": ["a"] }), Err("must be a string"));
        case(
            &json!({ "path": "a", "start_line": -1 }),
            Err("whole number"),
        );
        case(
            &json!({ "path": "a", "other": 1 }),
            Err("no parameter `other`"),
        );
    }

    #[test]
    fn the_schema_names_what_is_required() {
        let json = tool().to_json();
        assert_eq!(json["inputSchema"]["required"], json!(["path"]));
        assert_eq!(
            json["inputSchema"]["properties"]["start_line"]["type"],
            "integer"
        );
    }
}
