//! The tools: one for each command, from the table that reads the calls of all dialects, and `begin`.
//!
//! No text of a project stands in a description: what a chat is told about its tools is the same
//! everywhere.

use std::path::Path;

use agent_mcp::{ToolDefinition, ToolHints, ToolProperty, ToolValue};
use serde_json::{Map, Value};

use crate::protocol::{Command, CommandKind};
use crate::reply::{ParameterKind, ToolSpec, command_of_call, tool_specs};
use crate::services::run::AnswerRoom;

/// The tool with which a task begins.
const BEGIN: &str = "begin";

/// The parameter by which a client raises the limit of an answer.
const MAX_CHARACTERS: &str = "max_characters";

/// The most characters of an answer, unless the call says otherwise.
const USUAL_CHARACTERS: usize = 40_000;

/// The bounds of what a call can say.
const LEAST_CHARACTERS: usize = 1_000;
const MOST_CHARACTERS: usize = 400_000;

/// All tools.
#[derive(Debug)]
pub(super) struct Catalogue {
    tools: Vec<ToolDefinition>,
}

/// A call that its schema allows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    tool: String,
    arguments: Map<String, Value>,
    pub(super) room: AnswerRoom,
}

impl Catalogue {
    pub(super) fn new() -> Self {
        let commands = tool_specs().map(definition);
        Self {
            tools: std::iter::once(begin()).chain(commands).collect(),
        }
    }

    /// The tools as `tools/list` tells them.
    pub(super) fn to_json(&self) -> Vec<Value> {
        self.tools.iter().map(ToolDefinition::to_json).collect()
    }

    /// The call that a client makes; says what is wrong with it if it is none. `None` if there is no
    /// such tool.
    pub(super) fn call(
        &self,
        name: &str,
        mut arguments: Map<String, Value>,
    ) -> Option<Result<ToolCall, String>> {
        let tool = self.tools.iter().find(|tool| tool.name == name)?;
        if let Err(why) = tool.validate(&arguments) {
            return Some(Err(why));
        }
        let room = arguments.remove(MAX_CHARACTERS).and_then(|room| {
            let number = room.as_u64();
            number.or_else(|| room.as_str()?.parse().ok())
        });
        let room = room.and_then(|room| usize::try_from(room).ok());
        Some(Ok(ToolCall {
            tool: tool.name.clone(),
            arguments,
            room: AnswerRoom {
                characters: room.map_or(USUAL_CHARACTERS, |room| {
                    room.clamp(LEAST_CHARACTERS, MOST_CHARACTERS)
                }),
                is_wanted: room.is_some(),
            },
        }))
    }
}

impl ToolCall {
    /// The task, if the call begins one.
    pub(super) fn task(&self) -> Option<&str> {
        (self.tool == BEGIN).then(|| self.arguments["task"].as_str().unwrap_or_default())
    }

    /// The command that the call is.
    pub(super) fn command(self, workspace: &Path) -> Result<Command, String> {
        command_of_call(workspace, &self.tool, self.arguments)
    }
}

fn begin() -> ToolDefinition {
    ToolDefinition {
        name: BEGIN.to_owned(),
        title: title(BEGIN),
        description: "Begin a task. Call this first, with the task in the user's words. Shows the files of the project, its rules and its check. Without it, calls go on with the task that is not finished.".to_owned(),
        properties: vec![property("task", ToolValue::Text, true, "The task"), room()],
        hints: ToolHints::default(),
    }
}

fn definition(spec: ToolSpec) -> ToolDefinition {
    let properties = spec.parameters.iter().map(|parameter| {
        let value = match parameter.kind {
            ParameterKind::Text => ToolValue::Text,
            ParameterKind::Number => ToolValue::Number,
            ParameterKind::Flag => ToolValue::Flag,
        };
        property(parameter.name, value, parameter.is_required, parameter.note)
    });
    ToolDefinition {
        name: spec.name.to_owned(),
        title: title(spec.name),
        description: spec.purpose.to_owned(),
        properties: properties.chain([room()]).collect(),
        hints: hints(spec.command),
    }
}

fn property(name: &str, value: ToolValue, is_required: bool, words: &str) -> ToolProperty {
    ToolProperty {
        name: name.to_owned(),
        value,
        is_required,
        description: words.to_owned(),
    }
}

fn room() -> ToolProperty {
    let words = format!("The most characters of the answer; {USUAL_CHARACTERS} by default");
    property(MAX_CHARACTERS, ToolValue::Number, false, &words)
}

/// A name for people: `read_file` is "Read file".
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Hints for the client. An edit can be undone, but a client that asks nobody should know that it
/// changes what is there.
fn hints(command: CommandKind) -> ToolHints {
    let is_read_only = match command {
        CommandKind::ReadFile
        | CommandKind::ListFiles
        | CommandKind::SearchText
        | CommandKind::Outline
        | CommandKind::GitStatus
        | CommandKind::GitDiff
        | CommandKind::Plan
        | CommandKind::Message
        | CommandKind::AskUser => true,
        CommandKind::CreateFile
        | CommandKind::EditFile
        | CommandKind::InsertText
        | CommandKind::ApplyPatch
        | CommandKind::DeleteFile
        | CommandKind::MoveFile
        | CommandKind::RunCommand
        | CommandKind::Done => false,
    };
    ToolHints {
        is_read_only,
        is_destructive: command == CommandKind::RunCommand
            || (command.changes_files() && command != CommandKind::InsertText),
        is_open_world: command == CommandKind::RunCommand,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(name: &str, arguments: &Value) -> Option<Result<ToolCall, String>> {
        Catalogue::new().call(name, arguments.as_object().unwrap().clone())
    }

    #[test]
    fn every_command_is_a_tool_and_says_if_it_changes_something() {
        let tools = Catalogue::new().to_json();
        assert_eq!(tools.len(), 18);
        for tool in &tools {
            let words = tool["description"].as_str().unwrap();
            assert!((10..300).contains(&words.len()), "{tool}");
        }
        let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(of("read_file")["annotations"]["readOnlyHint"], true);
        assert_eq!(of("run")["annotations"]["destructiveHint"], true);
        assert_eq!(of("run")["annotations"]["title"], "Run");
        assert_eq!(of("delete_file")["annotations"]["destructiveHint"], true);
    }

    #[test]
    fn a_call_is_the_command_that_it_names() {
        let read = json!({ "path": "/project/a.txt", "max_characters": 9 });
        let read = call("read_file", &read).unwrap().unwrap();
        assert_eq!(read.room.characters, LEAST_CHARACTERS);
        let command = read.command(Path::new("/project")).unwrap();
        assert_eq!(command.kind(), CommandKind::ReadFile);
        assert!(call("rm_rf", &json!({})).is_none());
        assert!(call("read_file", &json!({})).unwrap().is_err());
        let outside = call("read_file", &json!({ "path": "../x" }))
            .unwrap()
            .unwrap();
        assert!(outside.command(Path::new("/project")).is_err());
        let begin = call("begin", &json!({ "task": "add tests" })).unwrap();
        assert_eq!(begin.unwrap().task(), Some("add tests"));
    }
}
