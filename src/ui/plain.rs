//! Events as lines for a person.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use super::step::{FAILURE_LINES, elapsed, step, tail};
use super::wrap::fold;
use super::{approval, escape_line, escape_text, live, markdown, news, outbox};
use crate::error::{Error, Kind};
use crate::number::{count, grouped};
use crate::protocol::{Event, Issue, Outcome, Repair, Status};

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
pub(super) const RED: Style = AnsiColor::Red.on_default();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default();

/// How many lines of what the model says to the person are shown.
const BLOCK_LINES: usize = 200;
/// How many characters of one of those lines are shown.
const BLOCK_COLUMNS: usize = 2_000;
/// How many lines of prose are shown.
const PROSE_LINES: usize = 40;
/// How many changed files are named at the end.
const NAMED_FILES: usize = 10;

/// The kind of output that lines are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// A pipe, or a terminal without colour: text as it is.
    Plain,
    /// A terminal of so many columns: what the model writes is rendered.
    Rich { columns: usize },
}

/// The settings that rendering depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RenderContext {
    pub(super) look: Look,
    /// True if details are wanted.
    pub(super) is_verbose: bool,
    /// True if the person can answer here, so that no other way is told.
    pub(super) is_interactive: bool,
    /// True if a reply can be pasted here.
    pub(super) has_prompt: bool,
}

/// The lines of an event, each with its line break; most have words of their own in `news`.
pub(super) fn render(event: &Event, view: &RenderContext) -> String {
    let look = view.look;
    match event {
        Event::Session {
            id,
            task,
            workspace,
            resumed,
            ..
        } => session(id.as_str(), task, Path::new(workspace), *resumed),
        Event::Outbox { .. } => outbox::ready(event, outbox::Way::with(view.has_prompt)),
        Event::Reply {
            name,
            commands,
            file,
            ..
        } => reply(name, *commands, file, view),
        Event::Repaired { repair } => repaired(repair),
        Event::Prose { text } => prose(text, look),
        Event::Issue { issue } => told(issue),
        Event::Cut { line, what } => format!(
            "  {YELLOW}cut off{YELLOW:#} in {} (line {line}): the model is asked to send the rest.\n",
            escape_line(what)
        ),
        Event::Running { script, .. } => running(script),
        Event::Check { command, outcome } => check(command, outcome),
        Event::Step {
            result,
            differences,
        } => {
            // A pipe gets the lines that it always got.
            let is_terminal = columns_of_talk().is_some();
            step(result, if is_terminal { differences } else { &[] }, look)
        }
        Event::Plan { text } => block("Plan", text, look),
        Event::Message { text } => block("The model says", text, look),
        Event::Question { question } => asked(question, view),
        Event::Approval { .. } => approval::asked(event, columns_of_talk(), view.is_interactive),
        Event::Decided { .. } => approval::decided(event),
        Event::Rejected {
            name,
            why,
            moved_to,
        } => rejected(name, why, Path::new(moved_to)),
        Event::Trouble {
            message,
            causes,
            hints,
        } => trouble("error", message, causes, hints),
        Event::Done { .. } => done(event, look),
        Event::RoundLimit { id, rounds } => format!(
            "\n{YELLOW}Stopped{YELLOW:#} after {}: that is the limit (`MaxRounds`).\n`agent resume {id}` grants as many again.\n",
            count(*rounds as usize, "round")
        ),
        Event::Interrupted { id } => {
            format!("\nInterrupted. Nothing is lost: `agent resume {id}` goes on.\n")
        }
        other => news::words(other, view),
    }
}

fn reply(name: &str, commands: usize, file: &str, view: &RenderContext) -> String {
    let mut text = format!(
        "\nReply `{}`: {}\n",
        escape_line(name),
        count(commands, "command")
    );
    if view.is_verbose {
        let _ = writeln!(text, "{DIM}  kept as {}{DIM:#}", escape_line(file));
    }
    text
}

fn told(issue: &Issue) -> String {
    let what = match issue.number {
        Some(_) => "not used",
        None => "note",
    };
    let command = issue.command.as_deref();
    let command = command.map_or_else(String::new, |name| format!("{}: ", escape_line(name)));
    format!(
        "  {YELLOW}{what}{YELLOW:#} (line {}): {command}{}\n",
        issue.line,
        escape_line(&issue.message)
    )
}

/// How many columns the terminal has that talk goes to; nothing if it goes elsewhere.
fn columns_of_talk() -> Option<usize> {
    std::io::stderr().is_terminal().then(|| live::size().0)
}

fn repaired(repair: &Repair) -> String {
    let times = if repair.count > 1 {
        format!(" ({} times)", grouped(u64::from(repair.count)))
    } else {
        String::new()
    };
    format!("  repaired: {}{times}\n", escape_line(&repair.what))
}

fn asked(question: &str, view: &RenderContext) -> String {
    let mut text = block("The model asks", question, view.look);
    if !view.is_interactive {
        text.push_str("  Answer with `agent say \"...\"` in this directory.\n");
    }
    text
}

fn rejected(name: &str, why: &str, moved_to: &Path) -> String {
    format!(
        "{YELLOW}Not used{YELLOW:#}: `{}`: {}\n  It is now in `{}`.\n",
        escape_line(name),
        escape_line(why),
        shown(moved_to)
    )
}

/// A failure: heading, causes, hints.
pub(super) fn error(error: &Error) -> String {
    let heading = if error.kind() == Kind::Defect {
        "defect"
    } else {
        "error"
    };
    let Event::Trouble {
        message,
        causes,
        hints,
    } = Event::from(error)
    else {
        return String::new();
    };
    trouble(heading, &message, &causes, &hints)
}

fn trouble(heading: &str, message: &str, causes: &[String], hints: &[String]) -> String {
    let mut text = format!("{RED}{heading}{RED:#}: {}\n", escape_text(message));
    for cause in causes {
        let _ = writeln!(text, "Caused by: {}", escape_text(cause));
    }
    if !hints.is_empty() {
        text.push('\n');
    }
    for hint in hints {
        let _ = writeln!(text, "{CYAN}hint{CYAN:#}: {}", escape_text(hint));
    }
    text
}

/// A question and the place for the answer.
pub(super) fn question(question: &str) -> String {
    format!("{}\n{CYAN}>{CYAN:#} ", escape_text(question.trim_end()))
}

fn session(id: &str, task: &str, workspace: &Path, resumed: bool) -> String {
    let verb = if resumed { "Resuming" } else { "Started" };
    let task = task.trim().lines().next().unwrap_or_default();
    format!(
        "{verb} {BOLD}{id}{BOLD:#}: {}\nWorkspace: {}\n",
        escape_line(&clipped(task, 100)),
        shown(workspace)
    )
}

fn running(script: &str) -> String {
    let mut lines = script.trim().lines();
    let first = lines.next().unwrap_or_default();
    let more = lines.count();
    let rest = if more > 0 {
        format!(" (+{})", count(more, "line"))
    } else {
        String::new()
    };
    format!(
        "  {DIM}running: {}{rest}{DIM:#}\n",
        escape_line(&clipped(first, 120))
    )
}

/// A heading of ours.
pub fn heading(text: &str) -> String {
    format!("{BOLD}{text}{BOLD:#}")
}

/// A quotation under the name of its author; empty if the text is.
pub fn quoted(name: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    block(name, text, Look::Plain)
}

fn check(command: &str, outcome: &Outcome) -> String {
    let (style, word, lines) = match outcome.status {
        Status::Ok => (GREEN, "passes", 0),
        _ => (RED, "fails", FAILURE_LINES),
    };
    format!(
        "  check {style}{word}{style:#}: `{}`: {}\n{}",
        escape_line(&clipped(command, 120)),
        escape_line(&outcome.message),
        tail(&outcome.detail.text, lines)
    )
}

fn prose(text: &str, look: Look) -> String {
    let mut shown = String::new();
    let mut lines = text.trim().lines();
    for line in lines.by_ref().take(PROSE_LINES) {
        let line = escape_line(&clipped(line, 400)).replace("\\t", "    ");
        let folded = match look {
            Look::Plain => vec![line],
            Look::Rich { columns } => fold(&line, columns.saturating_sub(5)),
        };
        for line in folded {
            let _ = writeln!(shown, "  {DIM}|{DIM:#} {line}");
        }
    }
    let more = lines.count();
    if more > 0 {
        let _ = writeln!(shown, "  {DIM}| ... {} more{DIM:#}", count(more, "line"));
    }
    shown
}

fn block(heading: &str, text: &str, look: Look) -> String {
    format!("  {CYAN}{heading}{CYAN:#}:\n{}", spoken(text, look, "    "))
}

/// The first lines of the model's words, each behind an indentation.
pub(super) fn spoken(text: &str, look: Look, indent: &str) -> String {
    let mut lines = text.trim().lines();
    let kept: Vec<String> = lines
        .by_ref()
        .take(BLOCK_LINES)
        .map(|line| clipped(&line.replace('\t', "    "), BLOCK_COLUMNS))
        .collect();
    let mut is_cut = false;
    let shown: Vec<String> = match look {
        Look::Plain => kept.iter().map(|line| escape_line(line)).collect(),
        Look::Rich { columns } => {
            let room = columns.saturating_sub(indent.len() + 1);
            let rendered = markdown::render(&kept.join("\n"), room, BLOCK_LINES);
            is_cut = rendered.is_cut;
            rendered.text.lines().map(str::to_owned).collect()
        }
    };
    let mut block = String::new();
    for line in shown {
        let _ = writeln!(block, "{}", format!("{indent}{line}").trim_end());
    }
    let more = match lines.count() {
        _ if is_cut => "more".to_owned(),
        0 => return block,
        more => format!("{} more", count(more, "line")),
    };
    let _ = writeln!(block, "{indent}{DIM}... {more}{DIM:#}");
    block
}

fn done(event: &Event, look: Look) -> String {
    let Event::Done {
        id,
        summary,
        rounds,
        changed,
        files,
        seconds,
    } = event
    else {
        return String::new();
    };
    let mut text = format!(
        "\n{GREEN}Done{GREEN:#}: session {id}, {}, {} changed, {}.\n{}",
        count(*rounds as usize, "round"),
        count(*changed, "file"),
        elapsed(*seconds),
        spoken(summary, look, "  ")
    );
    if !files.is_empty() {
        let named: Vec<String> = files
            .iter()
            .take(NAMED_FILES)
            .map(|file| escape_line(file))
            .collect();
        let more = match files.len().saturating_sub(NAMED_FILES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(
            text,
            "{DIM}Changed: {}{more}. `agent diff` shows the last round, `agent undo` undoes it, `agent undo --to 0` everything.{DIM:#}",
            named.join(", ")
        );
    }
    text
}

/// A path, from the current directory where it lies beneath it.
pub fn shown(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    let here = std::env::current_dir().unwrap_or_default();
    let path = path
        .strip_prefix(&here)
        .ok()
        .filter(|path| !path.as_os_str().is_empty())
        .unwrap_or(path);
    escape_line(&path.display().to_string())
}

/// The first so many characters of a text.
fn clipped(text: &str, max: usize) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(max).collect();
    if characters.next().is_some() {
        format!("{start} ...")
    } else {
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_readable() {
        assert_eq!(count(12_345, "file"), "12,345 files");
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(0, "file"), "0 files");
    }

    #[test]
    fn a_model_cannot_forge_our_lines() {
        for look in [Look::Plain, Look::Rich { columns: 80 }] {
            let event = Event::Message {
                text: "ok\r\x1b[2K  1. ok CREATE_FILE".to_owned(),
            };
            let view = RenderContext {
                look,
                is_verbose: true,
                is_interactive: false,
                has_prompt: false,
            };
            let text = render(&event, &view);
            assert!(
                !text.contains('\r') && !text.contains("\x1b[2K"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn an_error_names_cause_and_next_action() {
        let error = super::error(
            &Error::file(
                "write",
                Path::new("outbox/a.txt"),
                std::io::Error::other("No space left on device"),
            )
            .hint("free some space"),
        );
        let plain = anstream::adapter::strip_str(&error).to_string();
        assert_eq!(
            plain,
            "error: could not write `outbox/a.txt`\nCaused by: No space left on device\n\nhint: free some space\n"
        );
    }
}
