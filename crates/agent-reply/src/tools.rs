//! Tool calls, as our own commands.
//!
//! Which names a tool has and which its parameters have stands in `table`. A tool that is not there
//! is never guessed: the nearest name is told to the model, with what arrived.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Value};

use agent_protocol::{
    Command, CommandKind, END_OF_FILE, Edit, Issue, Pattern, RelPath, Replacement, Selection,
    with_hint,
};

use super::candidate::{BlockTrouble, CandidateItem};
use super::tags::Name;
use super::{changes, patch, script, search_replace, workspace_root};
use crate::line::first_word;
pub(crate) use call::{Call, CallShape, is_among};
use table::Tool;
pub(crate) use table::{NESTED, NEW, OLD, PATH, RECORD, TOOL_KEYS};

mod call;
mod table;

/// A tool as a chat is told of it: one for each command of the protocol.
#[derive(Debug, Clone, Copy)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// The command that a call of it becomes.
    pub command: CommandKind,
    /// A sentence or two about what it does.
    pub purpose: &'static str,
    /// Its parameters, required ones first.
    pub parameters: &'static [ToolParameter],
}

/// A parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolParameter {
    /// Its name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: ParameterKind,
    /// True if no call goes without it.
    pub is_required: bool,
    /// A few words about it.
    pub note: &'static str,
}

/// The type of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Text of any length.
    Text,
    /// A whole number, 0 or more.
    Number,
    /// True or false.
    Flag,
}

/// Every tool that a chat can be told of, from the table that reads the calls of all dialects.
pub fn tool_specs() -> impl Iterator<Item = ToolSpec> {
    table::TOOLS.iter().filter_map(|tool| match tool.kind {
        ToolKind::Command(name) => Some(ToolSpec {
            name: tool.name(),
            command: name.as_str().parse().ok()?,
            purpose: tool.purpose,
            parameters: tool.parameters,
        }),
        ToolKind::Editor | ToolKind::Unavailable => None,
    })
}

/// The command that a tool call is, where an absolute path that lies in the workspace is that path;
/// or the reason why it is none, with a hint how to write it.
pub fn command_of_call(
    workspace: &Path,
    tool: &str,
    parameters: Map<String, Value>,
) -> Result<Command, String> {
    let call = Call::certain(tool, parameters);
    let Some(tool) = tool_of(&call.tool) else {
        return Err(format!("there is no tool `{}`", call.tool));
    };
    // A client that makes calls has no use for how to write one in a reply.
    workspace_root::with_root(workspace, || made(tool.kind, &call))
        .map_err(|trouble| with_hint(trouble.message, &trouble.hint))
}

/// The purpose of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolKind {
    Command(Name),
    /// An editor whose `command` says which command it is.
    Editor,
    /// Something that no command of ours does.
    Unavailable,
}

impl ToolKind {
    /// The command that a message about it names.
    fn command(self) -> Option<&'static str> {
        match self {
            Self::Command(name) => Some(name.as_str()),
            Self::Editor => Some(Name::EditFile.as_str()),
            Self::Unavailable => None,
        }
    }
}

impl Tool {
    /// Returns true if it runs a command.
    ///
    /// Tasks of editors and builds have a `name` and a `command` too: that alone runs nothing.
    fn runs(&self) -> bool {
        self.kind == ToolKind::Command(Name::RunCommand)
    }

    fn name(&self) -> &'static str {
        first_word(self.names)
    }
}

/// The command that a tool of this name is.
pub(crate) fn command_of(name: &str) -> Option<Name> {
    match tool_of(name)?.kind {
        ToolKind::Command(name) => Some(name),
        ToolKind::Editor | ToolKind::Unavailable => None,
    }
}

/// The command that a message about a tool of this name names.
pub(crate) fn command_name(name: &str) -> Option<&'static str> {
    tool_of(name)?.kind.command()
}

/// Returns true if a tool of this name is in the table and does more than to look or to tell.
pub(crate) fn has_effects(name: &str) -> bool {
    tool_of(name).is_some_and(|tool| match tool.kind {
        ToolKind::Command(name) => name.has_effects() && name != Name::Done,
        ToolKind::Editor => true,
        ToolKind::Unavailable => false,
    })
}

/// Returns true if a tool of this name is in the table.
pub(crate) fn is_known(name: &str) -> bool {
    tool_of(name).is_some()
}

/// Returns true if the call has all that its tool needs.
fn is_complete(call: &Call<'_>) -> bool {
    // Without parameters there is nothing to tell a call from data by.
    let needs_nothing = |name| {
        use Name::{Done, GitDiff, GitStatus, ListFiles};
        matches!(name, GitStatus | GitDiff | ListFiles | Done)
    };
    tool_of(&call.tool).is_some_and(|tool| {
        !command_of(&call.tool).is_some_and(needs_nothing) && made(tool.kind, call).is_ok()
    })
}

/// The command that a call is, or what is wrong with it.
pub(crate) fn item(call: &Call<'_>) -> CandidateItem {
    let Some(tool) = tool_of(&call.tool) else {
        return unknown(call);
    };
    match made(tool.kind, call) {
        Ok(command) => CandidateItem::Command(command),
        Err(mut trouble) => {
            if trouble.hint.is_empty() {
                let (example, arrived) = (tool.example, call.quoted());
                trouble.hint = format!("write {example}; {} {arrived}", Issue::ARRIVED);
            }
            CandidateItem::Problem(trouble.of(tool.kind.command()))
        }
    }
}

/// The command that a call in a format which has nothing but calls is, or what is wrong with it.
pub(crate) fn certain(tool: &str, parameters: Map<String, Value>) -> CandidateItem {
    item(&Call::certain(tool, parameters))
}

/// A call that may be data: what to write if it was meant.
pub(crate) fn doubtful(call: &Call<'_>) -> CandidateItem {
    let known = tool_of(&call.tool);
    let meant = known.map(|tool| format!("If it was meant, write {}", tool.example));
    let message = format!(
        "`{}` stands in JSON that may be data, so it was not done",
        call.tool
    );
    let trouble = BlockTrouble::new(message, meant.unwrap_or_default());
    CandidateItem::Problem(trouble.of(known.and_then(|tool| tool.kind.command())))
}

fn tool_of(name: &str) -> Option<&'static Tool> {
    let is_named = |tool: &&Tool| tool.names.split(' ').any(|known| is_same(known, name));
    table::TOOLS.iter().find(is_named)
}

/// Returns true if two names are the same in different spellings.
fn is_same(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// A name without what its spellings differ in.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    let bytes = name
        .bytes()
        .filter(|byte| !matches!(byte, b'_' | b'-' | b'.'));
    bytes.map(|byte| byte.to_ascii_lowercase())
}

fn made(kind: ToolKind, call: &Call<'_>) -> Result<Command, BlockTrouble> {
    let name = match kind {
        ToolKind::Command(name) => Some(name),
        ToolKind::Unavailable => None,
        ToolKind::Editor => match &*text(call, table::SUBCOMMAND)? {
            "view" => Some(Name::ReadFile),
            "create" => Some(Name::CreateFile),
            "str_replace" => Some(Name::EditFile),
            "insert" => Some(Name::InsertText),
            _ => None,
        },
    };
    let unavailable = || {
        BlockTrouble::new(
            format!("`{}` is a tool that there is not here", call.tool),
            "use the commands of the protocol",
        )
    };
    command(name.ok_or_else(unavailable)?, call)
}

/// The line below which a call inserts text.
///
/// Roo's `insert_content` names the line above which it inserts, and 0 for the end of the file.
/// Serena's `insert_at_line` does so too but counts from 0, so its number is ours.
fn inserted_below(call: &Call<'_>) -> Result<u32, BlockTrouble> {
    let line = number(call, table::LINE)?.ok_or_else(|| missing(call, "line"))?;
    Ok(match line.checked_sub(1) {
        _ if !is_same(&call.tool, "insert_content") => line,
        Some(above) => above,
        None => END_OF_FILE,
    })
}

fn command(name: Name, call: &Call<'_>) -> Result<Command, BlockTrouble> {
    Ok(match name {
        Name::ReadFile => read(call)?,
        Name::CreateFile => Command::create_file(path(call)?, content(call, table::CONTENT)?),
        Name::InsertText => Command::InsertText {
            path: path(call)?,
            line: inserted_below(call)?,
            text: content(call, table::INSERTED)?,
        },
        Name::EditFile => edit(call)?,
        Name::ApplyPatch => patched(call)?,
        Name::DeleteFile => Command::DeleteFile { path: path(call)? },
        Name::MoveFile => Command::MoveFile {
            from: path_in(call, table::FROM)?,
            to: path_in(call, table::TO)?,
        },
        Name::ListFiles => Command::ListFiles {
            path: places(call, table::PLACES)?,
            glob: [table::GLOB, table::PATTERN, table::QUERY]
                .iter()
                .find_map(|names| call.text(names))
                .map(Cow::into_owned),
        },
        Name::SearchText => search(call)?,
        Name::Outline => Command::Outline {
            path: places(call, table::PLACES)?,
        },
        Name::RunCommand => run(call)?,
        Name::GitStatus => Command::GitStatus {
            path: directory(call)?,
        },
        Name::GitDiff => Command::GitDiff {
            path: directory(call)?,
        },
        Name::Plan => Command::Plan {
            text: words(call, table::WORDS)?,
        },
        Name::Message => Command::Message {
            text: words(call, table::WORDS)?,
        },
        Name::AskUser => match words(call, table::QUESTION)? {
            question if question.trim().is_empty() => return Err(missing(call, "question")),
            question => Command::AskUser { question },
        },
        Name::Done => Command::Done {
            summary: words(call, table::SUMMARY).unwrap_or_default(),
        },
    })
}

fn read(call: &Call<'_>) -> Result<Command, BlockTrouble> {
    let names = [table::PATH, table::PATHS].join(" ");
    let mut start_line = number(call, table::START)?;
    let mut end_line = number(call, table::END)?;
    if let Some(Value::Array(range)) = call.get(table::RANGE) {
        let line = |at: usize| small_number(range.get(at)?);
        (start_line, end_line) = (line(0), line(1));
    }
    if let Some(limit) = number(call, table::LIMIT)? {
        let first = number(call, table::OFFSET)?.unwrap_or(1).max(1);
        start_line = Some(first);
        end_line = Some(first.saturating_add(limit.max(1) - 1));
    }
    Ok(Command::ReadFile {
        path: Selection::parse(&workspace_root::relative(&text(call, &names)?))
            .map_err(|refused| refused_path(call, &refused))?,
        start_line,
        end_line,
        numbered: call.is_true("numbered"),
    })
}

fn search(call: &Call<'_>) -> Result<Command, BlockTrouble> {
    // Elsewhere what is searched for is a regular expression, unless something else is said.
    let is_ours = is_same(&call.tool, "search_text");
    let says = call.get("is_regex regex").is_some_and(Value::is_boolean);
    Ok(Command::SearchText {
        pattern: text(call, table::QUERY)?,
        path: places(call, table::PLACES)?,
        glob: call.text(table::GLOB).map(Cow::into_owned),
        regex: call.is_true("is_regex regex") || (!is_ours && !says),
        case_sensitive: call.is_true("case_sensitive"),
        context: number(call, table::CONTEXT)?.unwrap_or_default(),
    })
}

/// An edit: a list of replacements, one by text or by regular expression, a diff, or lines by number.
fn edit(call: &Call<'_>) -> Result<Command, BlockTrouble> {
    let edits = match call.get(table::EDITS) {
        Some(Value::Array(edits)) => {
            let each = edits.iter().map(|edit| {
                let edit = edit.as_object().ok_or_else(|| missing(call, "edits"))?;
                replacement(&Call::certain(&call.tool, edit.clone()))
            });
            each.collect::<Result<Vec<_>, _>>()?
        }
        _ if call.get(table::OLD).is_some() || call.get(table::PATTERN).is_some() => {
            vec![replacement(call)?]
        }
        _ if call.get(table::CHANGES).is_some() => return patched(call),
        _ => {
            let start = number(call, table::START)?;
            let start_line = start.ok_or_else(|| missing(call, "oldString` and `newString"))?;
            return Ok(Command::EditFile {
                path: path(call)?,
                edit: Edit::Lines {
                    start_line,
                    end_line: number(call, table::END)?.unwrap_or(start_line),
                    text: ended(text(call, table::CONTENT)?),
                },
            });
        }
    };
    let edit = Edit::Replace { edits };
    let path = match (path(call), call.get(table::EDITS)) {
        (Err(_), Some(Value::Array(edits))) => common_path(call, edits)?,
        (path, _) => path?,
    };
    Ok(Command::EditFile { path, edit })
}

/// The one file that each of several edits names.
fn common_path(call: &Call<'_>, edits: &[Value]) -> Result<RelPath, BlockTrouble> {
    let mut paths = edits.iter().map(|edit| {
        let edit = edit.as_object().cloned().unwrap_or_default();
        path(&Call::certain(&call.tool, edit))
    });
    let first = paths.next().ok_or_else(|| missing(call, "path"))??;
    for path in paths {
        if path? != first {
            return Err(BlockTrouble::new(
                format!("`{}` changes several files in one call", call.tool),
                "send one call for each file",
            ));
        }
    }
    Ok(first)
}

/// By text if it has the strings of one, else by regular expression.
fn replacement(call: &Call<'_>) -> Result<Replacement, BlockTrouble> {
    let (old, new, pattern) = if call.get(table::OLD).is_none() {
        let old = text(call, table::PATTERN)?;
        (old, text(call, table::REPLACEMENT)?, Pattern::Regex)
    } else {
        let pattern = if call.is_true("use_regex is_regex regex") {
            Pattern::Regex
        } else {
            Pattern::Text
        };
        (text(call, table::OLD)?, text(call, table::NEW)?, pattern)
    };
    Ok(Replacement {
        pattern,
        all: call.is_true(table::REPLACE_ALL),
        ..Replacement::lines(old, new)
    })
}

/// A patch of any dialect.
fn patched(call: &Call<'_>) -> Result<Command, BlockTrouble> {
    let body = text(call, table::CHANGES)?;
    let path = match call.get(table::PATH) {
        Some(_) => Some(path(call)?),
        None => None,
    };
    if let (Some(path), Some(edits)) = (&path, search_replace::parse_body(&body)) {
        return Ok(Command::EditFile {
            path: path.clone(),
            edit: Edit::Replace { edits: edits? },
        });
    }
    let changes = changes::patch(&body, path.as_ref())?;
    Ok(Command::ApplyPatch { changes })
}

fn run(call: &Call<'_>) -> Result<Command, BlockTrouble> {
    let script = match call.get(table::SCRIPT) {
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
        _ => text(call, table::SCRIPT)?,
    };
    let script = script::straightened(&script).unwrap_or(script);
    let script = script.trim_end().to_owned();
    if script.is_empty() {
        return Err(missing(call, "command"));
    }
    if script::has_only_curly_quotes(&script) {
        return Err(BlockTrouble::new(
            "its quotes are curly, which a shell does not take for quotes, so it was not run",
            "send it again with straight quotes, in a code block",
        ));
    }
    let script = match call.text(table::DIRECTORY) {
        Some(directory) => script::in_directory(&directory, script),
        None => script,
    };
    // Nobody waits so many seconds: elsewhere they are milliseconds.
    let timeout = number(call, table::TIMEOUT)?;
    Ok(Command::RunCommand {
        script,
        timeout: timeout.map(|it| if it >= 10_000 { it / 1000 } else { it }),
    })
}

fn path(call: &Call<'_>) -> Result<RelPath, BlockTrouble> {
    path_in(call, table::PATH)
}

fn path_in(call: &Call<'_>, names: &str) -> Result<RelPath, BlockTrouble> {
    workspace_root::path(text(call, names)?.trim()).map_err(|refused| refused_path(call, &refused))
}

fn directory(call: &Call<'_>) -> Result<Option<RelPath>, BlockTrouble> {
    let Some(text) = call.text(table::PATH) else {
        return Ok(None);
    };
    RelPath::parse_directory(&workspace_root::relative(&text))
        .map_err(|refused| refused_path(call, &refused))
}

fn places(call: &Call<'_>, names: &str) -> Result<Option<Selection>, BlockTrouble> {
    let Some(text) = call.text(names) else {
        return Ok(None);
    };
    Selection::parse_directory(&workspace_root::relative(&text))
        .map_err(|refused| refused_path(call, &refused))
}

fn refused_path(call: &Call<'_>, refused: &agent_protocol::PathProblem) -> BlockTrouble {
    BlockTrouble::new(
        format!("`{}` cannot be used: {refused}", call.tool),
        "give a path relative to the workspace",
    )
}

fn text(call: &Call<'_>, names: &str) -> Result<String, BlockTrouble> {
    let text = call.text(names);
    let text = text.ok_or_else(|| missing(call, first_word(names)))?;
    // Which line ends a file has, the file knows.
    Ok(text.replace("\r\n", "\n"))
}

/// The lines of a file. A text without a line end that has several `\n` outside of quotes was escaped twice;
/// fewer may be those of a format or of `\newpage`, so the model is asked.
fn content(call: &Call<'_>, names: &str) -> Result<String, BlockTrouble> {
    const SEVERAL: usize = 3;
    let text = text(call, names)?;
    if text.contains('\n') {
        return Ok(text);
    }
    let breaks_outside = |quotes: &[char]| -> usize {
        let outside = text.split(quotes).step_by(2);
        outside.map(|part| part.matches("\\n").count()).sum()
    };
    let breaks = breaks_outside(&['"']);
    let are_several = || {
        let most = if text.ends_with("\\n") {
            SEVERAL - 1
        } else {
            SEVERAL
        };
        breaks_outside(&['"', '\'']) >= most
    };
    let is_sure = text.contains("\\\"") || are_several();
    let is_whole = !(breaks > 1 || text.ends_with("\\n"));
    let plain = || serde_json::from_str::<String>(&format!("\"{text}\"")).ok();
    match (is_whole, breaks) {
        (true, _) | (_, 0) => Ok(text),
        _ => plain().filter(|_| is_sure).ok_or_else(|| {
            BlockTrouble::new(
                format!("`{}` has `\\n` where lines should end", call.tool),
                "escape line ends in JSON once, or send the file as a command of the protocol",
            )
        }),
    }
}

/// Words for a person, without white space around them.
fn words(call: &Call<'_>, names: &str) -> Result<String, BlockTrouble> {
    text(call, names).map(|text| text.trim().to_owned())
}

/// A text whose last line ends, as those of a file do.
pub(crate) fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The parameter as a number, which may be written as a string.
fn number(call: &Call<'_>, names: &str) -> Result<Option<u32>, BlockTrouble> {
    let number = match call.get(names) {
        None => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => small_number(value),
    };
    let name = first_word(names);
    let message = || format!("`{name}` of `{}` is not a line number or count", call.tool);
    let trouble = || BlockTrouble::new(message(), String::new());
    number.map(Some).ok_or_else(trouble)
}

fn small_number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn missing(call: &Call<'_>, name: &str) -> BlockTrouble {
    BlockTrouble::new(format!("`{}` needs `{name}`", call.tool), String::new())
}

fn unknown(call: &Call<'_>) -> CandidateItem {
    let shown: String = call.tool.chars().take(60).collect();
    // What changes a part of a file is no reason to write all of it.
    let is_edit = call.get(table::OLD).is_some() || call.get(table::NEW).is_some();
    let may_be_meant =
        |tool: &&Tool| !(is_edit && tool.kind == ToolKind::Command(Name::CreateFile));
    let nearest = table::TOOLS
        .iter()
        .filter(may_be_meant)
        .flat_map(|tool| tool.names.split(' '))
        .map(|known| (distance(&squashed(&shown), &squashed(known)), known))
        .min();
    let hint = match nearest {
        Some((distance, known)) if distance * 3 < shown.len() => {
            format!("did you mean `{known}`? ")
        }
        _ => String::new(),
    };
    let known: Vec<&str> = table::TOOLS
        .iter()
        .filter(|tool| matches!(tool.kind, ToolKind::Command(_)))
        .map(Tool::name)
        .collect();
    CandidateItem::Problem(BlockTrouble::new(
        format!(
            "there is no tool `{shown}`; {} {}",
            Issue::ARRIVED,
            call.quoted()
        ),
        format!("{hint}known tools: {}", known.join(", ")),
    ))
}

fn squashed(name: &str) -> String {
    letters(name).map(char::from).collect()
}

/// How many letters must change to turn one word into the other.
pub(crate) fn distance(left: &str, right: &str) -> usize {
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
