#![doc = include_str!("../README.md")]
//!
//! # How it is made
//!
//! Total: any text gives a `Reply`, and what could not be understood is an `Issue` in it, for the
//! model. Nothing here touches files, so a reply can be looked at without consequences.
//!
//! The text as a whole is repaired first (`repair`). Then come two phases. `scan` walks over the
//! lines and asks the recognisers, one per dialect, each a pure function from lines to a candidate
//! (`recognise`, `patch`, `diff`, `json`, `xml`, `tokens`, `search_replace`, `whole_file`). `arbiter`
//! decides what the candidates come to, by an order of precedence that its head states.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use agent_protocol::{Command, Edit, EndMark, RelPath, Step};

pub use agent_protocol::{Issue, Repair, TruncatedReply};
use repair::WrapVerdict;

mod arbiter;
mod candidate;
mod carried_out;
mod changes;
mod code_fence;
mod decode;
mod diff;
mod enclosed;
mod example;
mod file_label;
mod file_name;
mod invented;
mod json;
mod keyed_text;
mod known_name;
mod line;
mod link;
mod own_message;
mod patch;
mod program;
mod prose;
mod quoted_file;
mod recognise;
mod repair;
mod scan;
mod script;
mod search_replace;
mod shown_edit;
mod tags;
mod thinking;
mod tokens;
mod tools;
mod trim;
mod undone;
mod whole_file;
mod words_against;
mod work;
mod workspace_root;
mod xml;

pub use decode::decode;
pub use tools::{ParameterKind, ToolParameter, ToolSpec, command_of_call, tool_specs};

/// All that a reply says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The commands, in their order.
    pub steps: Vec<Step>,
    /// Everything that looked like a command or a format of ours and could not be used.
    pub issues: Vec<Issue>,
    /// Damage by chat page and copying that was undone.
    pub repairs: Vec<Repair>,
    /// The text around the commands, for the person.
    pub prose: String,
    /// The end mark, if there is one.
    pub end: Option<EndMark>,
    /// Where the reply was cut off, if it was.
    pub cut: Option<TruncatedReply>,
}

/// The workspace that a reply is for.
#[derive(Clone, Copy)]
pub struct ReplyWorkspace<'w> {
    /// An absolute path that lies in it is the path below it.
    pub root: &'w Path,
    /// The text of one of its files, as it is before the reply. A block that quotes one does not ask
    /// for anything.
    pub file: WorkspaceFileReader<'w>,
}

/// Reads a file of the workspace, if there is one of that path.
pub type WorkspaceFileReader<'w> = &'w dyn Fn(&RelPath) -> Option<String>;

/// Decodes and parses a reply as it was saved; the text comes along.
pub fn read(bytes: &[u8]) -> (String, Reply) {
    read_beside(&|_| None, bytes)
}

/// Reads as `read` does, where the workspace is known.
pub fn read_in(workspace: ReplyWorkspace<'_>, bytes: &[u8]) -> (String, Reply) {
    workspace_root::with_root(workspace.root, || read_beside(workspace.file, bytes))
}

fn read_beside(file: WorkspaceFileReader<'_>, bytes: &[u8]) -> (String, Reply) {
    let (text, decoded) = decode(bytes);
    let mut reply = parse_beside(file, &text);
    reply.repairs.splice(0..0, decoded);
    (text, reply)
}

/// Reads a reply: undoes the damage, then takes every command in whatever dialect it comes.
///
/// Linear in the size of the text.
pub fn parse(text: &str) -> Reply {
    parse_beside(&|_| None, text)
}

fn parse_beside(file: WorkspaceFileReader<'_>, text: &str) -> Reply {
    if is_outbox(text) {
        return Reply {
            issues: vec![Issue {
                line: 1,
                number: None,
                command: None,
                message: "this is a prompt of ours, not a reply to it".to_owned(),
                hint: "Paste it into the chat, and save what the chat answers.".to_owned(),
            }],
            ..Reply::default()
        };
    }
    let (mut text, mut done) = repair::repair(text);
    let mut lines = trim::lines(&text);
    if let Some((single, what)) = repair::without_copies(&text, &lines) {
        text = single.into();
        lines = trim::lines(&text);
        done.push(what);
    }
    let _names = known_name::look_up(file, &lines);
    let mut reply = read_repaired(file, &text, lines, &done);
    let mut steps = reply.steps.iter();
    let is_proved = repair::has_wrapped_tags(&done)
        || steps.any(|step| quotes_wrapped_lines(&step.command, file));
    match repair::judge_texts(&trim::lines(&text), &reply, is_proved) {
        WrapVerdict::Wrapped(width) => return wrapped(&text, width),
        WrapVerdict::Doubtful { line, command } => {
            let later = |issue: &Issue| issue.line <= command;
            let at = reply.issues.partition_point(later);
            reply.issues.insert(at, may_be_wrapped(&line, command));
        }
        WrapVerdict::Sound => {}
    }
    reply
}

/// Asks about a line that may be the rest of the one above it.
fn may_be_wrapped(line: &str, command: u32) -> Issue {
    let shown: String = trim::trim(line).chars().take(60).collect();
    Issue {
        line: command,
        number: None,
        command: None,
        message: format!(
            "`{shown}` may be the rest of the line above it, if the reply was wrapped"
        ),
        hint: "If it is, send it again, and let it be copied with the chat's own copy button."
            .to_owned(),
    }
}

/// Returns true if the file of an edit shows that what it looks for was wrapped.
fn quotes_wrapped_lines(command: &Command, file: WorkspaceFileReader<'_>) -> bool {
    let Command::EditFile {
        path,
        edit: Edit::Replace { edits },
    } = command
    else {
        return false;
    };
    (edits.iter()).any(|edit| repair::breaks_line_of(|| file(path), &edit.search))
}

/// Reads a text and its lines after its repair; `done` is what the repair did.
fn read_repaired<'t>(
    file: WorkspaceFileReader<'_>,
    text: &'t str,
    mut lines: Vec<&'t str>,
    done: &[repair::Done],
) -> Reply {
    let messages = own_message::remove(text, &mut lines);
    let thoughts = thinking::remove(text, &mut lines);
    let tags = tags::Tags::of(&lines);
    let last_line = if text.ends_with('\n') {
        scan::TextEnd::Terminated
    } else {
        scan::TextEnd::Unterminated
    };
    let scanned = scan::scan(lines, &tags, last_line);
    let arbiter::JudgedReply {
        mut reply,
        lines,
        mut blocks,
    } = arbiter::judge(scanned, file);
    let own = &mut reply.repairs;
    add_repair(own, "left out the model's thinking", thoughts.len(), false);
    add_repair(own, scan::OWN_MESSAGE, messages.len(), false);
    let repairs: Vec<Repair> = done
        .iter()
        .map(|done| Repair {
            what: done.what.to_owned(),
            count: u32::try_from(done.count).unwrap_or(u32::MAX),
            in_body: reaches_body(&done.changed, &reply.steps, &blocks),
            copied_from: repair::copied::copied_from(done.what),
        })
        .collect();
    reply.repairs.splice(0..0, repairs);
    blocks.extend(messages);
    reply.prose = prose::around(&lines, &mut blocks);
    reply
}

/// Returns true if a repair of the whole text reached into the body of a command.
fn reaches_body(changed: &repair::RepairedLines, steps: &[Step], blocks: &[Range<usize>]) -> bool {
    match changed {
        repair::RepairedLines::Nothing => false,
        repair::RepairedLines::Everything => steps.iter().any(|step| has_body(&step.command)),
        repair::RepairedLines::Lines(lines) => blocks.iter().any(|block| {
            // The tags themselves are no body.
            let first = lines.partition_point(|line| *line <= block.start);
            lines.get(first).is_some_and(|line| *line + 1 < block.end)
        }),
    }
}

fn has_body(command: &Command) -> bool {
    command.changes_files() || matches!(command, Command::RunCommand { .. })
}

/// Returns true if a command does more than to look or to tell.
fn has_effects(command: &Command) -> bool {
    has_body(command) || matches!(command, Command::Done { .. })
}

/// A few words that tell a command from its neighbours.
fn subject(command: &Command) -> String {
    match command.path() {
        Some(path) => format!("{} {path}", command.name()),
        None => command.name().to_owned(),
    }
}

/// A line as people count them, from 1.
fn line_number(line: usize) -> u32 {
    u32::try_from(line).map_or(u32::MAX, |line| line.saturating_add(1))
}

/// The line that people count like this, from 0.
fn line_index(number: u32) -> usize {
    usize::try_from(number.saturating_sub(1)).unwrap_or_default()
}

/// A reply of which nothing is done: nobody can tell where its lines went on.
fn wrapped(text: &str, width: usize) -> Reply {
    Reply {
        issues: vec![Issue {
            line: 1,
            number: Some(1),
            command: None,
            message: format!(
                "this reply was wrapped at {width} columns; copy it from the chat's own copy button"
            ),
            // What only looks wrapped has a way too.
            hint: "Send it again in one code block. If its lines do end there, send it as JSON, with `\\n` in its strings.".to_owned(),
        }],
        end: end_mark(text),
        prose: text.to_owned(),
        ..Reply::default()
    }
}

/// The end mark with which a text ends, decoration, fences and white space aside.
///
/// Looks at the last lines only, so the tail of a reply is enough.
pub fn end_mark(tail: &str) -> Option<EndMark> {
    let line = tail
        .rsplit(['\n', '\r'])
        .find(|line| !line::is_blank_or_fence(line))?;
    match tags::read(0, line)?.kind {
        tags::Kind::End(mark) => Some(mark),
        _ => None,
    }
}

/// Returns true if a text is one of our own prompts, carried back instead of the answer: nothing
/// stands below it.
pub fn is_outbox(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.trim_matches(is_decoration));
    let Some(first) = lines.find(|line| !line.is_empty()) else {
        return false;
    };
    if !own_message::begins(first) {
        return false;
    }
    let lines: Vec<&str> = std::iter::once(first).chain(lines).collect();
    let is_section = |line: &&str| matches!(*line, "=== PROTOCOL ===" | own_message::LAST_SECTION);
    let is_ours = own_message::is_part(first) || lines.iter().any(is_section);
    is_ours && !own_message::is_answered(&lines, 0)
}

/// Which part of a prompt a text acknowledges, and of how many: `OK 1/3`.
///
/// Chats add a word or two; a text that says more is something else.
pub fn acknowledged_part(text: &str) -> Option<(u32, u32)> {
    const LONGEST: usize = 400;
    if text.len() > LONGEST {
        return None;
    }
    let mut lines = text.lines().map(|line| line.trim_matches(is_decoration));
    let line = lines.find(|line| !line.is_empty())?;
    let line = line.trim_matches(|c: char| matches!(c, '*' | '.' | '!'));
    let numbers = line.get(..3).filter(|ok| ok.eq_ignore_ascii_case("ok "))?;
    let (number, rest) = line[numbers.len()..].split_once('/')?;
    let total: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((number.trim().parse().ok()?, total.parse().ok()?))
}

/// Returns true if a text only says that it waits for more of a message that goes in parts, in
/// whatever words.
pub fn awaits_part(text: &str) -> bool {
    const LONGEST: usize = 400;
    const SIGNS: [&str; 7] = [
        "wait",
        "ready",
        "next",
        "send",
        "receiv",
        "got it",
        "remaining",
    ];
    if text.len() > LONGEST {
        return false;
    }
    let text = text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word == "part" || word == "parts") && SIGNS.iter().any(|it| text.contains(it))
}

fn is_decoration(c: char) -> bool {
    line::is_space(c) || c == '>' || c == '`'
}

/// Counts a repair with others of its kind.
fn add_repair(repairs: &mut Vec<Repair>, what: &str, count: usize, in_body: bool) {
    if count == 0 {
        return;
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    match repairs.iter_mut().find(|repair| repair.what == what) {
        Some(repair) => {
            repair.count = repair.count.saturating_add(count);
            repair.in_body |= in_body;
        }
        None => repairs.push(Repair {
            what: what.to_owned(),
            count,
            in_body,
            copied_from: repair::copied::copied_from(what),
        }),
    }
}

#[cfg(test)]
mod tests;
