//! What each tool is in our own commands.
//!
//! Names are known in `snake_case` and `camelCase`, and so are parameters. A tool that is not in
//! the table is never guessed: the nearest name is told to the model.

use serde_json::Value;

use agent_protocol::{Command, Edit, Pattern, RelPath, Replacement, Selection};

use super::super::found::Item;
use super::super::{diff, patch, script, search_replace};
use super::call::Call;

/// What is wrong, and what to write instead.
type Trouble = (String, String);

/// The tools: their names in one spelling, our command, how to write a call.
const TOOLS: &[(&str, &str, &str)] = &[
    (
        "read_file",
        "READ_FILE",
        r#"{"tool": "read_file", "path": "..."}"#,
    ),
    (
        "view_file",
        "READ_FILE",
        r#"{"tool": "view_file", "path": "...", "from": 1, "to": 20}"#,
    ),
    (
        "write_file",
        "CREATE_FILE",
        r#"{"tool": "write_file", "path": "...", "content": "..."}"#,
    ),
    (
        "create_file",
        "CREATE_FILE",
        r#"{"tool": "create_file", "path": "...", "content": "..."}"#,
    ),
    (
        "insert_text",
        "INSERT_TEXT",
        r#"{"tool": "insert_text", "path": "...", "line": 0, "text": "..."}"#,
    ),
    (
        "replace_text",
        "EDIT_FILE",
        r#"{"tool": "replaceText", "path": "...", "oldString": "...", "newString": "..."}"#,
    ),
    (
        "apply_diff",
        "APPLY_PATCH",
        r#"{"tool": "apply_diff", "path": "...", "diff": "..."}"#,
    ),
    (
        "apply_patch",
        "APPLY_PATCH",
        r#"{"tool": "apply_patch", "patch": "..."}"#,
    ),
    (
        "delete_file",
        "DELETE_FILE",
        r#"{"tool": "delete_file", "path": "..."}"#,
    ),
    (
        "move_file",
        "MOVE_FILE",
        r#"{"tool": "move_file", "from": "...", "to": "..."}"#,
    ),
    (
        "list_files",
        "LIST_FILES",
        r#"{"tool": "listFiles", "path": "..."}"#,
    ),
    (
        "search_text",
        "SEARCH_TEXT",
        r#"{"tool": "searchText", "pattern": "..."}"#,
    ),
    (
        "outline",
        "OUTLINE",
        r#"{"tool": "outline", "path": "..."}"#,
    ),
    ("run", "RUN_COMMAND", r#"{"tool": "run", "command": "..."}"#),
    (
        "shell",
        "RUN_COMMAND",
        r#"{"tool": "shell", "command": "..."}"#,
    ),
    (
        "run_command",
        "RUN_COMMAND",
        r#"{"tool": "run_command", "command": "..."}"#,
    ),
    ("git_status", "GIT_STATUS", r#"{"tool": "git_status"}"#),
    ("git_diff", "GIT_DIFF", r#"{"tool": "git_diff"}"#),
    (
        "message",
        "MESSAGE",
        r#"{"tool": "message", "text": "..."}"#,
    ),
    (
        "ask_user",
        "ASK_USER",
        r#"{"tool": "ask_user", "question": "..."}"#,
    ),
    (
        "final_output",
        "DONE",
        r#"{"tool": "final_output", "output": "..."}"#,
    ),
    ("done", "DONE", r#"{"tool": "done", "summary": "..."}"#),
];

/// Whether a tool of this name is in the table.
pub(super) fn is_known(name: &str) -> bool {
    entry(name).is_some()
}

/// Whether a tool of this name runs a command.
///
/// Tasks of editors and builds have a `name` and a `command` too: that alone runs nothing.
pub(super) fn runs(name: &str) -> bool {
    entry(name).is_some_and(|(_, our_name, _)| *our_name == "RUN_COMMAND")
}

/// Whether the call has all that its tool needs.
pub(super) fn is_complete(call: &Call<'_>) -> bool {
    entry(call.tool).is_some_and(|(name, ..)| {
        // Without parameters there is nothing to tell a call from data by.
        let needs_nothing = [
            "git_status",
            "git_diff",
            "list_files",
            "done",
            "final_output",
        ];
        !needs_nothing.contains(name) && command(name, call).is_ok()
    })
}

/// The command that a call is, or what is wrong with it.
pub(super) fn item(call: &Call<'_>) -> Item {
    let Some((name, our_name, example)) = entry(call.tool) else {
        return unknown(call.tool);
    };
    match command(name, call) {
        Ok(command) => Item::Command(command),
        Err((message, hint)) => Item::Problem {
            command: Some(our_name),
            message,
            hint: if hint.is_empty() {
                format!("write {example}")
            } else {
                hint
            },
        },
    }
}

/// A call that may be data: what to write if it was meant.
pub(super) fn doubtful(call: &Call<'_>) -> Item {
    let known = entry(call.tool);
    Item::Problem {
        command: known.map(|(_, our_name, _)| *our_name),
        message: format!(
            "`{}` stands in JSON that may be data, so it was not done",
            call.tool
        ),
        hint: known.map_or_else(String::new, |(.., example)| {
            format!("If it was meant, write {example}")
        }),
    }
}

fn entry(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let plain = squash(name);
    TOOLS.iter().find(|(known, ..)| squash(known) == plain)
}

/// A name without what its spellings differ in.
fn squash(name: &str) -> String {
    name.chars()
        .filter(|character| !matches!(character, '_' | '-'))
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

fn command(name: &str, call: &Call<'_>) -> Result<Command, Trouble> {
    Ok(match name {
        "read_file" | "view_file" => Command::ReadFile {
            path: files(call)?,
            start_line: number(call, &["start_line", "from"])?,
            end_line: number(call, &["end_line", "to"])?,
            numbered: call.is_true(&["numbered"]),
        },
        "write_file" | "create_file" => Command::CreateFile {
            path: path(call)?,
            content: text(call, &["content", "contents", "text"])?,
        },
        "insert_text" => Command::InsertText {
            path: path(call)?,
            line: number(call, &["line", "insert_line"])?.ok_or_else(|| missing(call, "line"))?,
            text: text(call, &["text", "content"])?,
        },
        "replace_text" => Command::EditFile {
            path: path(call)?,
            edit: Edit::Replace {
                edits: vec![replacement(call)?],
            },
        },
        "apply_diff" | "apply_patch" => changes(call)?,
        "delete_file" => Command::DeleteFile { path: path(call)? },
        "move_file" => Command::MoveFile {
            from: path_in(call, &["from", "source", "path"])?,
            to: path_in(call, &["to", "destination"])?,
        },
        "list_files" => Command::ListFiles {
            path: places(call, &["path", "paths", "directory", "dir_path"])?,
            glob: call.text(&["glob"]).map(std::borrow::Cow::into_owned),
        },
        "search_text" => Command::SearchText {
            pattern: text(call, &["pattern", "query"])?,
            path: places(call, &["search_path", "path", "paths"])?,
            glob: (call.text(&["glob", "include"])).map(std::borrow::Cow::into_owned),
            regex: call.is_true(&["is_regex", "regex"]),
            case_sensitive: call.is_true(&["case_sensitive"]),
            context: number(call, &["context", "context_lines"])?.unwrap_or_default(),
        },
        "outline" => Command::Outline {
            path: places(call, FILES)?,
        },
        "run" | "shell" | "run_command" => run(call)?,
        "git_status" => Command::GitStatus {
            path: directory(call, &["path"])?,
        },
        "git_diff" => Command::GitDiff {
            path: directory(call, &["path"])?,
        },
        "message" => Command::Message {
            text: text(call, &["text", "message"])?,
        },
        "ask_user" => Command::AskUser {
            question: text(call, &["question", "text"])?,
        },
        _ => Command::Done {
            summary: call
                .text(&["output", "summary", "text"])
                .map(std::borrow::Cow::into_owned)
                .unwrap_or_default(),
        },
    })
}

/// By text if it has the strings of one, else by regular expression.
fn replacement(call: &Call<'_>) -> Result<Replacement, Trouble> {
    if call.get(&["old_string", "old_text"]).is_some() {
        return Ok(Replacement {
            pattern: Pattern::Text,
            all: call.is_true(&["replace_all"]),
            ..Replacement::lines(
                text(call, &["old_string", "old_text"])?,
                text(call, &["new_string", "new_text"])?,
            )
        });
    }
    if call.get(&["pattern"]).is_none() {
        return Err(missing(call, "oldString` or `pattern"));
    }
    Ok(Replacement {
        pattern: Pattern::Regex,
        ..Replacement::lines(text(call, &["pattern"])?, text(call, &["replacement"])?)
    })
}

/// A patch of any dialect.
fn changes(call: &Call<'_>) -> Result<Command, Trouble> {
    let body = text(call, &["patch", "diff", "input"])?;
    let path = match call.get(&["path", "file_path"]) {
        Some(_) => Some(path(call)?),
        None => None,
    };
    if patch::is_envelope(&body) {
        return patch::parse_body(&body).map(|changes| Command::ApplyPatch { changes });
    }
    if let (Some(path), Some(edits)) = (&path, search_replace::parse_body(&body)) {
        return Ok(Command::EditFile {
            path: path.clone(),
            edit: Edit::Replace { edits: edits? },
        });
    }
    diff::parse_body(&body, path.as_ref()).map(|changes| Command::ApplyPatch { changes })
}

fn run(call: &Call<'_>) -> Result<Command, Trouble> {
    let names = ["command", "cmd", "script"];
    let script = match call.get(&names) {
        Some(Value::Array(words)) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let words = words.ok_or_else(|| missing(call, "command"))?;
            match words[..] {
                ["apply_patch", body] => {
                    return patch::parse_body(body).map(|changes| Command::ApplyPatch { changes });
                }
                [
                    "bash" | "sh" | "zsh" | "/bin/bash" | "/bin/sh",
                    "-c" | "-lc",
                    script,
                ] => script.to_owned(),
                _ => words
                    .iter()
                    .map(|word| script::quote(word))
                    .collect::<Vec<_>>()
                    .join(" "),
            }
        }
        _ => text(call, &names)?,
    };
    if script.trim().is_empty() {
        return Err(missing(call, "command"));
    }
    let script = match call.text(&["workdir", "cwd", "working_directory"]) {
        Some(directory) => script::in_directory(&directory, script),
        None => script,
    };
    Ok(Command::RunCommand {
        script,
        timeout: number(call, &["timeout", "timeout_seconds"])?,
    })
}

const FILES: &[&str] = &[
    "path",
    "paths",
    "file_path",
    "files",
    "filename",
    "file",
    "glob",
];

fn path(call: &Call<'_>) -> Result<RelPath, Trouble> {
    path_in(call, &["path", "file_path", "filename", "file"])
}

fn path_in(call: &Call<'_>, names: &[&str]) -> Result<RelPath, Trouble> {
    RelPath::parse(&text(call, names)?).map_err(|refused| refused_path(call, &refused))
}

fn directory(call: &Call<'_>, names: &[&str]) -> Result<Option<RelPath>, Trouble> {
    let Some(text) = call.text(names) else {
        return Ok(None);
    };
    RelPath::parse_directory(&text).map_err(|refused| refused_path(call, &refused))
}

fn files(call: &Call<'_>) -> Result<Selection, Trouble> {
    Selection::parse(&text(call, FILES)?).map_err(|refused| refused_path(call, &refused))
}

fn places(call: &Call<'_>, names: &[&str]) -> Result<Option<Selection>, Trouble> {
    let Some(text) = call.text(names) else {
        return Ok(None);
    };
    Selection::parse_directory(&text).map_err(|refused| refused_path(call, &refused))
}

fn refused_path(call: &Call<'_>, refused: &agent_protocol::PathProblem) -> Trouble {
    (
        format!("`{}` cannot be used: {refused}", call.tool),
        "give a path relative to the workspace".to_owned(),
    )
}

fn text(call: &Call<'_>, names: &[&str]) -> Result<String, Trouble> {
    call.text(names)
        .map(std::borrow::Cow::into_owned)
        .ok_or_else(|| missing(call, names[0]))
}

fn number(call: &Call<'_>, names: &[&str]) -> Result<Option<u32>, Trouble> {
    call.number(names).map_err(|name| {
        (
            format!("`{name}` of `{}` is not a line number or count", call.tool),
            String::new(),
        )
    })
}

fn missing(call: &Call<'_>, name: &str) -> Trouble {
    (format!("`{}` needs `{name}`", call.tool), String::new())
}

fn unknown(name: &str) -> Item {
    let shown: String = name.chars().take(60).collect();
    let nearest = TOOLS
        .iter()
        .map(|(known, ..)| (distance(&squash(&shown), &squash(known)), *known))
        .min();
    let hint = match nearest {
        Some((distance, known)) if distance <= 4 && distance * 2 < shown.len() => {
            format!("did you mean `{known}`? ")
        }
        _ => String::new(),
    };
    let known: Vec<&str> = TOOLS.iter().map(|(known, ..)| *known).collect();
    Item::Problem {
        command: None,
        message: format!("there is no tool `{shown}`"),
        hint: format!("{hint}known tools: {}", known.join(", ")),
    }
}

/// How many letters must change to turn one word into the other.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, letter) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, other) in right.bytes().enumerate() {
            let change = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}
