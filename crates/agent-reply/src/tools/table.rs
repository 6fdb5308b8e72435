//! The tools that models know, and what each is in our own commands: the one place that says so.
//!
//! Names and parameters are compared without letter case, `_` and `-`, so that `readFile`,
//! `read_file` and `ReadFile` are one. A name may be of ours, of Claude Code, Cline, Roo, Cursor,
//! Codex, Copilot, Gemini CLI, `OpenHands`, aider, Continue or of an MCP server for files. The table
//! in `docs/protocol.md` says the same in words.

use super::ParameterKind::{self, Flag, Number, Text};
use super::ToolKind::{self, Command, Editor, Unavailable};
use super::ToolParameter;
use crate::tags::Name;

/// A tool: what it is for us, the names it goes by, and how a call of it is written.
pub(super) struct Tool {
    pub(super) kind: ToolKind,
    /// The first is ours.
    pub(super) names: &'static str,
    pub(super) example: &'static str,
    /// A sentence about it, for a chat that is told which tools there are.
    pub(super) purpose: &'static str,
    /// The parameters that such a chat is told of, the ones it must give first.
    pub(super) parameters: &'static [ToolParameter],
}

const fn required(name: &'static str, kind: ParameterKind, note: &'static str) -> ToolParameter {
    ToolParameter {
        name,
        kind,
        is_required: true,
        note,
    }
}

const fn optional(name: &'static str, kind: ParameterKind, note: &'static str) -> ToolParameter {
    ToolParameter {
        is_required: false,
        ..required(name, kind, note)
    }
}

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        kind: Command(Name::ReadFile),
        names: "\
            read_file view_file read view open_file read_files cat_file get_file_contents \
            read_text_file read_many_files show_file fs_read file_read",
        example: r#"{"tool": "read_file", "path": "..."}"#,
        purpose: "Show files, with line numbers if `numbered` is true. Paths are relative to the workspace.",
        parameters: &[
            required(
                "path",
                Text,
                "A path or a pattern such as src/*.rs; several on lines of their own",
            ),
            optional("start_line", Number, "The first line to show, from 1"),
            optional("end_line", Number, "The last line to show"),
            optional("numbered", Flag, "Put the line number before each line"),
        ],
    },
    Tool {
        kind: Command(Name::CreateFile),
        names: "\
            write_file create_file write create write_to_file save_file new_file \
            create_new_file create_or_update_file add_file fs_write file_write",
        example: r#"{"tool": "write_file", "path": "...", "content": "..."}"#,
        purpose: "Create a file or overwrite it with new content, making its directories.",
        parameters: &[
            required("path", Text, "The file"),
            required("content", Text, "All of its content"),
        ],
    },
    Tool {
        kind: Command(Name::InsertText),
        names: "insert_text insert insert_content insert_lines insert_at_line",
        example: r#"{"tool": "insert_text", "path": "...", "line": 0, "text": "..."}"#,
        purpose: "Insert lines into a file.",
        parameters: &[
            required("path", Text, "The file"),
            required(
                "line",
                Number,
                "Insert after this line; 0 is the top of the file",
            ),
            required("text", Text, "The lines"),
        ],
    },
    Tool {
        kind: Command(Name::EditFile),
        names: "\
            replace_text edit edit_file str_replace replace replace_in_file search_replace \
            search_and_replace multi_edit multi_edit_file replace_string_in_file \
            multi_replace_string_in_file string_replace edit_existing_file find_and_replace \
            update_file modify_file change_file file_edit",
        example: r#"{"tool": "replaceText", "path": "...", "oldString": "...", "newString": "..."}"#,
        purpose: "Change a file: replace `old_string`, which must occur exactly once, with `new_string`; or replace the lines `start_line` to `end_line` with `text`.",
        parameters: &[
            required("path", Text, "The file"),
            optional(
                "old_string",
                Text,
                "The text to replace, exactly as it stands in the file",
            ),
            optional("new_string", Text, "The text that replaces it"),
            optional("replace_all", Flag, "Replace every occurrence"),
            optional("start_line", Number, "The first line to replace, from 1"),
            optional("end_line", Number, "The last line to replace"),
            optional("text", Text, "The new lines; empty deletes them"),
        ],
    },
    Tool {
        kind: Command(Name::ApplyPatch),
        names: "apply_patch apply_diff patch patch_file apply_unified_diff",
        example: r#"{"tool": "apply_patch", "patch": "..."}"#,
        purpose: "Apply a unified diff to any number of files: all of it or nothing.",
        parameters: &[required("patch", Text, "The diff")],
    },
    Tool {
        kind: Command(Name::DeleteFile),
        names: "delete_file remove_file",
        example: r#"{"tool": "delete_file", "path": "..."}"#,
        purpose: "Delete a file.",
        parameters: &[required("path", Text, "The file")],
    },
    Tool {
        kind: Command(Name::MoveFile),
        names: "move_file rename_file",
        example: r#"{"tool": "move_file", "from": "...", "to": "..."}"#,
        purpose: "Rename a file, never onto an existing one.",
        parameters: &[
            required("from", Text, "The file"),
            required("to", Text, "Its new path"),
        ],
    },
    Tool {
        kind: Command(Name::ListFiles),
        names: "\
            list_files list_dir list_directory ls glob glob_files file_search glob_file_search \
            find_files directory_tree",
        example: r#"{"tool": "listFiles", "path": "..."}"#,
        purpose: "List the files below a directory.",
        parameters: &[
            optional(
                "path",
                Text,
                "The directory; by default the whole workspace",
            ),
            optional("glob", Text, "List only files that match, such as *.rs"),
        ],
    },
    Tool {
        kind: Command(Name::SearchText),
        names: "\
            search_text grep grep_search search_files search_file_content ripgrep text_search \
            find_in_files",
        example: r#"{"tool": "searchText", "pattern": "..."}"#,
        purpose: "Search the text of files.",
        parameters: &[
            required(
                "pattern",
                Text,
                "The text to find, or a regular expression if `regex` is true",
            ),
            optional("path", Text, "Search only below this path"),
            optional("glob", Text, "Search only files that match, such as *.rs"),
            optional("regex", Flag, "The pattern is a regular expression"),
            optional("case_sensitive", Flag, "Tell upper from lower case"),
            optional("context", Number, "Lines to show around each match"),
        ],
    },
    Tool {
        kind: Command(Name::Outline),
        names: "outline list_code_definition_names",
        example: r#"{"tool": "outline", "path": "..."}"#,
        purpose: "List the symbols of source files with their lines.",
        parameters: &[optional(
            "path",
            Text,
            "A file or a directory; by default the whole workspace",
        )],
    },
    Tool {
        kind: Command(Name::RunCommand),
        names: "\
            run shell run_command bash execute_command run_shell_command execute_bash \
            run_terminal_cmd run_terminal_command run_in_terminal terminal exec_command \
            local_shell local_shell_call container_exec execute_shell sh bash_command",
        example: r#"{"tool": "run", "command": "..."}"#,
        purpose: "Run a shell script in the workspace, inside the sandbox of the user. It has no terminal and no input.",
        parameters: &[
            required("command", Text, "The script"),
            optional("timeout", Number, "Seconds after which it is stopped"),
        ],
    },
    Tool {
        kind: Command(Name::GitStatus),
        names: "git_status",
        example: r#"{"tool": "git_status"}"#,
        purpose: "Show git status.",
        parameters: &[optional("path", Text, "Only this path")],
    },
    Tool {
        kind: Command(Name::GitDiff),
        names: "git_diff",
        example: r#"{"tool": "git_diff"}"#,
        purpose: "Show git diff of the uncommitted changes.",
        parameters: &[optional("path", Text, "Only this path")],
    },
    Tool {
        kind: Command(Name::Plan),
        names: "plan",
        example: r#"{"tool": "plan", "text": "..."}"#,
        purpose: "Tell the user the plan for the task. The user may have to approve it before anything is changed.",
        parameters: &[required("text", Text, "The plan")],
    },
    Tool {
        kind: Command(Name::Message),
        names: "message send_message say notify_user",
        example: r#"{"tool": "message", "text": "..."}"#,
        purpose: "Tell the user something that needs no answer.",
        parameters: &[required("text", Text, "The message")],
    },
    Tool {
        kind: Command(Name::AskUser),
        names: "ask_user ask_followup_question ask_question ask_user_question",
        example: r#"{"tool": "ask_user", "question": "..."}"#,
        purpose: "Ask the user a question and wait for the answer.",
        parameters: &[required("question", Text, "The question")],
    },
    Tool {
        kind: Command(Name::Done),
        names: "done final_output attempt_completion finish task_complete submit complete_task",
        example: r#"{"tool": "done", "summary": "..."}"#,
        purpose: "End the task. The check command of the user decides if it counts; if it fails, fix the work and call this again.",
        parameters: &[optional(
            "summary",
            Text,
            "Two or three sentences about the work",
        )],
    },
    Tool {
        kind: Editor,
        names: "str_replace_editor str_replace_based_edit_tool str_replace_edit_tool text_editor",
        example: r#"{"tool": "replaceText", "path": "...", "oldString": "...", "newString": "..."}"#,
        purpose: "",
        parameters: &[],
    },
    Tool {
        kind: Unavailable,
        names: "\
            browser_action use_mcp_tool access_mcp_resource web_search web_fetch fetch_url \
            google_web_search switch_mode new_task todo_write update_todo_list update_plan \
            write_todos task codebase_search notebook_edit save_memory insert_edit_into_file \
            think computer kill_shell bash_output exit_plan_mode fetch_instructions",
        example: "",
        purpose: "",
        parameters: &[],
    },
];

/// Keys for the path of a file.
pub(crate) const PATH: &str = "\
    path file_path filename file target_file absolute_path relative_path \
    relative_workspace_path file_name filepath";
pub(super) const PATHS: &str = "paths file_paths files glob";
pub(crate) const CONTENT: &str = "\
    content contents text file_text file_content new_content code data body";
pub(crate) const OLD: &str = "\
    old_string old_text old_str search old find old_content original search_string";
pub(crate) const NEW: &str = "\
    new_string new_text new_str replace new replacement new_content updated replace_with \
    replace_string";
pub(super) const EDITS: &str = "edits replacements changes operations";
pub(super) const REPLACE_ALL: &str = "replace_all allow_multiple all";
pub(super) const PATTERN: &str = "pattern";
pub(super) const REPLACEMENT: &str = "replacement replace";
pub(super) const CHANGES: &str = "patch diff input patch_text unified_diff";
pub(super) const LINE: &str = "line insert_line line_number after_line";
pub(super) const INSERTED: &str = "text content new_str insert_text";
pub(super) const START: &str = "\
    start_line from start_line_one_indexed start_line_number first_line";
pub(super) const END: &str = "\
    end_line to end_line_one_indexed_inclusive end_line_one_indexed end_line_number last_line";
pub(super) const OFFSET: &str = "offset";
pub(super) const LIMIT: &str = "limit";
pub(super) const RANGE: &str = "view_range line_range";
pub(super) const FROM: &str = "from source path old_path source_path";
pub(super) const TO: &str = "to destination new_path target_path dest";
pub(super) const PLACES: &str = "\
    path paths directory dir_path search_path dir folder relative_workspace_path \
    target_directory absolute_path";
pub(super) const GLOB: &str = "glob include file_pattern glob_pattern include_pattern";
pub(super) const QUERY: &str = "pattern query regex_pattern search_term regex";
pub(super) const CONTEXT: &str = "context context_lines";
pub(super) const SCRIPT: &str = "command cmd script commands code input";
pub(super) const DIRECTORY: &str = "workdir cwd working_directory directory dir_path";
pub(super) const TIMEOUT: &str = "timeout timeout_seconds";
pub(super) const WORDS: &str = "text message content";
pub(super) const QUESTION: &str = "question text questions";
pub(super) const SUMMARY: &str = "output summary text result message";
/// The parameter that chooses between several commands of an editor.
pub(super) const SUBCOMMAND: &str = "command";

/// Keys under which the parameters of a call stand by themselves.
pub(crate) const NESTED: &str = "arguments args parameters params input";

/// Keys that say which tool is meant, and how certain that is, the most certain first.
pub(crate) const TOOL_KEYS: &str = "tool tool_name toolName recipient_name name action function";

/// Keys that explain a call and change nothing about it.
pub(super) const REMARKS: &str = "\
    type id call_id thought reason reasoning explanation description comment note purpose \
    intent title index is_background run_in_background requires_approval task_progress \
    expected_replacements security_risk instructions instruction tool_call_id";

/// Keys that other agents put beside a call of theirs, and that change nothing about it.
const ENVELOPE: &str = "\
    language encoding justification with_escalated_permissions sandbox_permissions \
    max_output_tokens yield_time_ms safe_to_auto_run blocking timeout_ms max_timeout shell login \
    tool_summary tool_action use_regex is_regex regex glob step order thought_signature caller \
    role kind";

/// Keys that a call of a tool with effects may have beside its name.
pub(super) const KNOWN: [&str; 26] = [
    PATH,
    PATHS,
    CONTENT,
    OLD,
    NEW,
    EDITS,
    REPLACE_ALL,
    PATTERN,
    REPLACEMENT,
    CHANGES,
    LINE,
    INSERTED,
    START,
    END,
    RANGE,
    FROM,
    TO,
    PLACES,
    QUERY,
    SCRIPT,
    DIRECTORY,
    TIMEOUT,
    NESTED,
    TOOL_KEYS,
    REMARKS,
    ENVELOPE,
];

/// Keys that records of calls have and calls do not.
pub(crate) const RECORD: &str = "\
    timestamp time ts date created_at level severity logger source result stdout stderr \
    exit_code returncode duration elapsed status success error observation event user author \
    response";

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of names in `docs/protocol.md`, as it follows from the one here.
    fn documented() -> String {
        let row = |tool: &Tool| {
            let command = match tool.kind {
                Editor => "the command that its `command` names",
                kind => kind.command().unwrap_or("none: reported to the model"),
            };
            let names = tool.names.split_whitespace();
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            format!("| {command} | {} |\n", names.join(", "))
        };
        let rows: String = TOOLS.iter().map(row).collect();
        format!("| command | names of tools |\n|---|---|\n{rows}")
    }

    #[test]
    fn a_call_as_the_table_describes_it_is_that_command() {
        use serde_json::{Map, Value, json};
        let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        let specs: Vec<_> = crate::tool_specs().collect();
        assert_eq!(specs.len(), 17);
        for spec in specs {
            let value = |name: &str, kind| match (name, kind) {
                ("patch", _) => json!(patch),
                (_, ParameterKind::Text) => json!("a"),
                (_, ParameterKind::Number) => json!(3),
                (_, ParameterKind::Flag) => json!(true),
            };
            let call = |is_given: &dyn Fn(&crate::ToolParameter) -> bool| -> Map<String, Value> {
                let given = spec.parameters.iter().filter(|one| is_given(one));
                let given = given.map(|one| (one.name.to_owned(), value(one.name, one.kind)));
                given.collect()
            };
            let mut least = call(&|one| one.is_required);
            if spec.name == "replace_text" {
                least = call(&|one| matches!(one.name, "path" | "start_line" | "text"));
            }
            let workspace = std::path::Path::new("/workspace");
            for parameters in [least, call(&|_| true)] {
                let shown = format!("{} {parameters:?}", spec.name);
                let command = crate::command_of_call(workspace, spec.name, parameters);
                let command = command.unwrap_or_else(|why| panic!("{shown}: {why}"));
                assert_eq!(command.kind(), spec.command, "{shown}");
            }
            if spec.parameters.iter().any(|one| one.is_required) {
                let nothing = crate::command_of_call(workspace, spec.name, Map::new());
                assert!(nothing.is_err(), "{nothing:?}");
            }
        }
    }

    #[test]
    fn the_documents_name_every_tool() {
        let page = include_str!("../../../../docs/protocol.md");
        let table = documented();
        assert!(
            page.contains(&table),
            "docs/protocol.md should have:\n{table}"
        );
    }

    #[test]
    fn what_the_documents_promise_is_in_the_table() {
        let page = include_str!("../../../../docs/protocol.md");
        let (_, formats) = page.split_once("### Formats of other programs").unwrap();
        let row = |start: &str| {
            let row = formats.lines().find(|line| line.starts_with(start));
            row.unwrap_or_else(|| panic!("no row {start}"))
        };
        let is_none =
            |name: &str| super::super::tool_of(name).is_none_or(|it| it.kind == Unavailable);
        let names = |row: &str| -> Vec<String> {
            let format = row.split(" | ").next().unwrap();
            let quoted = format.split('`').skip(1).step_by(2);
            quoted.map(str::to_owned).collect()
        };
        for name in names(row("| JSON under the names")) {
            assert!(!is_none(&name), "{name}");
        }
        for name in names(row("| `browser_action`")) {
            assert!(is_none(&name), "{name}");
        }
    }
}
