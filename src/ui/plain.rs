//! Events as lines for a person.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;

use super::approval::DiffExtent;
use super::palette::{BOLD, CYAN, DIM, GREEN, MAGENTA, RED, has_unicode};
use super::step::{FAILURE_LINES, StepLayout, elapsed, step, tail};
use super::wrap::fold;
use super::{approval, escape_line, escape_text, live, markdown, news, outbox};
use crate::error::{Error, ExitKind};
use crate::number::{count, grouped};
use crate::protocol::{CopiedFrom, Event, Issue, LineTotals, Outcome, Repair, Status};

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
pub(super) enum OutputStyle {
    /// A pipe: text as it is.
    Plain,
    /// A terminal without colour: text as it is, with signs.
    Uncoloured,
    /// A terminal of so many columns: what the model writes is rendered.
    Rich { columns: usize },
}

impl OutputStyle {
    /// Returns true where colours and links are shown.
    pub(super) fn is_rich(self) -> bool {
        matches!(self, Self::Rich { .. })
    }
}

/// The settings that rendering depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch")]
pub(super) struct RenderContext {
    pub(super) look: OutputStyle,
    /// True if details are wanted.
    pub(super) is_verbose: bool,
    /// True if the person can answer here, so that no other way is told.
    pub(super) is_interactive: bool,
    /// True if a reply can be pasted here.
    pub(super) has_prompt: bool,
    /// The round whose reply is carried out, if there is a session.
    pub(super) round: Option<u32>,
    /// The last round that the session may have, if that is known.
    pub(super) last_round: Option<u32>,
    /// True if a reply is taken from the clipboard.
    pub(super) takes_clipboard: bool,
    /// True if each message is put on the clipboard.
    pub(super) is_copied: bool,
    /// True if the folder of the session is gone when it ends.
    pub(super) is_demo: bool,
}

impl RenderContext {
    /// The context of a front end that is no terminal.
    pub(super) fn plain() -> Self {
        Self {
            look: OutputStyle::Plain,
            is_verbose: false,
            is_interactive: true,
            has_prompt: true,
            round: None,
            last_round: None,
            takes_clipboard: false,
            is_copied: false,
            is_demo: false,
        }
    }
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
        } => session(id.as_str(), task, workspace, *resumed),
        Event::Outbox { .. } => outbox::ready(event, view),
        Event::Reply {
            name,
            commands,
            file,
            sequence,
            ..
        } => reply(name, *sequence, *commands, file, view),
        Event::Repaired { repair } => repaired(repair),
        Event::Prose { text } => prose(text, look),
        Event::Issue { issue } => told(issue),
        Event::Cut { line, what } => format!(
            "  {MAGENTA}cut off{MAGENTA:#} in {} (line {line}): the model is asked to send the rest.\n",
            escape_line(what)
        ),
        Event::Running { script, .. } => running(script),
        Event::Check { command, outcome } => check(command, outcome),
        Event::Step {
            result,
            differences,
        } => {
            let columns = columns_of_talk();
            let layout = StepLayout { columns, look };
            step(result, differences, layout, view.round)
        }
        Event::Plan { text } => block("Plan", text, look),
        Event::Message { text } => block("The model says", text, look),
        Event::Question { question } => asked(question, view),
        Event::Approval { .. } => approval::asked(
            event,
            columns_of_talk(),
            view.is_interactive,
            DiffExtent::of_question(live::size().1),
        ),
        Event::Ahead { .. } => ahead(event),
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
        Event::Done { .. } => done(event, view),
        Event::RoundLimit { id, rounds } => format!(
            "\n{MAGENTA}Stopped{MAGENTA:#} after {}: that is the limit (`MaxRounds`).\n`agent resume {id}` allows more.\n",
            count(*rounds as usize, "round")
        ),
        Event::Interrupted { id } => {
            format!("\nPaused. Nothing is lost: `agent resume {id}` continues.\n")
        }
        other => news::words(other, view),
    }
}

fn ahead(event: &Event) -> String {
    match (event, columns_of_talk()) {
        // The terminal that asks counts these.
        (
            Event::Ahead {
                number: 0,
                before: 0,
                title,
                ..
            },
            _,
        ) => format!(
            "  changed in an earlier round: `{}`; `agent diff --since 0` shows it\n",
            escape_line(title)
        ),
        (_, None) => approval::ahead(event, None, DiffExtent::Whole),
        (_, columns) => {
            let extent = DiffExtent::ahead_of_question(live::size().1);
            approval::ahead(event, columns, extent)
        }
    }
}

fn reply(name: &str, round: u32, commands: usize, file: &str, view: &RenderContext) -> String {
    // A name that was made up here tells nobody anything.
    let named = if is_made_up(name) {
        String::new()
    } else {
        format!(" `{}`", escape_line(name))
    };
    let steps = count(commands, "step");
    let mut text = format!("\n{BOLD}Reply {round}{BOLD:#}{named}: {steps}\n");
    if view.is_verbose {
        let _ = writeln!(text, "{DIM}  kept as {}{DIM:#}", escape_line(file));
    }
    text
}

/// Returns true for the name of a reply that was pasted, or taken from the clipboard.
fn is_made_up(name: &str) -> bool {
    let rest = name
        .strip_prefix("reply-")
        .or_else(|| name.strip_prefix("clipboard-"));
    let digits = rest.and_then(|rest| rest.strip_suffix(".txt"));
    digits.is_some_and(|digits| {
        digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

fn told(issue: &Issue) -> String {
    let what = match issue.number {
        Some(_) => "not used",
        None => "note",
    };
    let command = issue.command.as_deref();
    let command = command.map_or_else(String::new, |name| format!("{}: ", escape_line(name)));
    format!(
        "  {MAGENTA}{what}{MAGENTA:#} (line {}): {command}{}\n",
        issue.line,
        escape_line(&issue.message)
    )
}

/// A question about a step, or a step before one, with nothing folded.
pub(super) fn whole(event: &Event, view: &RenderContext) -> String {
    let columns = columns_of_talk();
    match event {
        Event::Ahead { .. } => approval::ahead(event, columns, DiffExtent::Whole),
        _ => approval::asked(event, columns, view.is_interactive, DiffExtent::Whole),
    }
}

/// How many columns the terminal has that talk goes to; nothing if it goes elsewhere.
pub(super) fn columns_of_talk() -> Option<usize> {
    std::io::stderr().is_terminal().then(|| live::size().0)
}

fn repaired(repair: &Repair) -> String {
    let times = if repair.count > 1 {
        format!(" ({} times)", grouped(u64::from(repair.count)))
    } else {
        String::new()
    };
    format!("  in the reply: {}{times}\n", escape_line(&repair.what))
}

/// The better way to copy a reply, where the damage shows how it was copied.
pub(super) fn tip(repair: &Repair) -> Option<String> {
    let text = match repair.copied_from? {
        CopiedFrom::Terminal => {
            "It looks as if the text was selected in a terminal: use the chat's own copy button in the browser, or save the reply as a file."
        }
        CopiedFrom::Page => {
            "It looks as if the page was selected: the chat's own copy button below the reply keeps the text as it is."
        }
    };
    Some(format!("  {CYAN}tip{CYAN:#}: {text}\n"))
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
        "{MAGENTA}Not used{MAGENTA:#}: `{}`: {}\n  It is now in `{}`.\n",
        escape_line(name),
        escape_line(why),
        shown(moved_to)
    )
}

/// A failure: heading, causes, hints.
pub(super) fn error(error: &Error) -> String {
    let heading = if error.kind() == ExitKind::Defect {
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
    // Who stops knows it, and it is no error. The `^C` of a terminal stands in the same row.
    if error.kind() == ExitKind::Interrupted && causes.is_empty() && hints.is_empty() {
        return format!("\n{}.\n", news::capital(&escape_text(&message)));
    }
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

fn session(id: &str, task: &str, workspace: &str, resumed: bool) -> String {
    let workspace = match columns_of_talk() {
        Some(_) => shown_home(workspace),
        None => shown(workspace),
    };
    let verb = if resumed { "Resuming" } else { "Started" };
    let task = task.trim().lines().next().unwrap_or_default();
    format!(
        "{verb} {BOLD}{id}{BOLD:#}: {}\nWorkspace: {}\n",
        escape_line(&clipped(task, 100)),
        workspace
    )
}

fn running(script: &str) -> String {
    format!("  {DIM}running: {}{DIM:#}\n", first_line(script))
}

/// The first line of a text, escaped, and how many more it has.
pub fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = escape_line(&clipped(lines.next().unwrap_or_default(), 120));
    match lines.count() {
        0 => first,
        more => format!("{first} (+{})", count(more, "line")),
    }
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
    block(name, text, OutputStyle::Plain)
}

fn check(command: &str, outcome: &Outcome) -> String {
    let (style, word, lines) = match outcome.status {
        Status::Ok => (GREEN, "passes", 0),
        _ => (RED, "fails", FAILURE_LINES),
    };
    format!(
        "  check {style}{word}{style:#}: `{}`: {}\n{}",
        escape_line(&clipped(command, 120)),
        escape_line(&outcome.line("you")),
        tail(&outcome.detail.text, lines, None)
    )
}

fn prose(text: &str, look: OutputStyle) -> String {
    let mut shown = String::new();
    let mut lines = text.trim().lines();
    for line in lines.by_ref().take(PROSE_LINES) {
        let line = escape_line(&clipped(line, 400)).replace("\\t", "    ");
        let folded = match look {
            OutputStyle::Plain | OutputStyle::Uncoloured => vec![line],
            OutputStyle::Rich { columns } => fold(&line, columns.saturating_sub(5)),
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

fn block(heading: &str, text: &str, look: OutputStyle) -> String {
    format!("  {CYAN}{heading}{CYAN:#}:\n{}", spoken(text, look, "    "))
}

/// The first lines of the model's words, each behind an indentation.
pub(super) fn spoken(text: &str, look: OutputStyle, indent: &str) -> String {
    let mut lines = text.trim().lines();
    let kept: Vec<String> = lines
        .by_ref()
        .take(BLOCK_LINES)
        .map(|line| clipped(&line.replace('\t', "    "), BLOCK_COLUMNS))
        .collect();
    let mut is_cut = false;
    let shown: Vec<String> = match look {
        OutputStyle::Plain | OutputStyle::Uncoloured => {
            kept.iter().map(|line| escape_line(line)).collect()
        }
        OutputStyle::Rich { columns } => {
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

fn done(event: &Event, view: &RenderContext) -> String {
    let look = view.look;
    let Event::Done {
        id,
        summary,
        rounds,
        changed,
        files,
        lines,
        seconds,
        workspace,
    } = event
    else {
        return String::new();
    };
    let mark = sign(look, Sign::Good);
    let mut text = format!(
        "\n{GREEN}{BOLD}{mark}Done{BOLD:#}{GREEN:#} after {}, {}\n{}",
        count(*rounds as usize, "round"),
        elapsed(*seconds),
        spoken(summary, look, "  ")
    );
    let _ = writeln!(
        text,
        "\n  {BOLD}{}{BOLD:#}: {}",
        shown_home(workspace),
        named_files(files, lines, *changed)
    );
    if !view.is_demo {
        let changed = (!files.is_empty()).then(|| Path::new(workspace));
        text.push_str(&what_next(changed, id.as_str()));
    }
    text
}

/// The changed files in a line, each with the lines that were added and removed.
fn named_files(files: &[String], lines: &BTreeMap<String, LineTotals>, changed: usize) -> String {
    let size = |file: &String| match lines.get(file) {
        None => String::new(),
        Some(LineTotals { added, removed: 0 }) => format!(" {GREEN}+{added}{GREEN:#}"),
        Some(LineTotals { added: 0, removed }) => format!(" {RED}-{removed}{RED:#}"),
        Some(LineTotals { added, removed }) => {
            format!(" {GREEN}+{added}{GREEN:#} {RED}-{removed}{RED:#}")
        }
    };
    let named: Vec<String> = files
        .iter()
        .take(NAMED_FILES)
        .map(|file| format!("{}{}", escape_line(file), size(file)))
        .collect();
    match changed.saturating_sub(NAMED_FILES) {
        _ if named.is_empty() => "no files changed".to_owned(),
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Lists what a person can do with a session that has ended, a line each; `changed` is its workspace, if
/// it changed something there.
pub fn what_next(changed: Option<&Path>, id: &str) -> String {
    let is_in_repository = |workspace: &Path| {
        let mut above = workspace.ancestors();
        workspace.is_absolute() && above.any(|directory| directory.join(".git").exists())
    };
    let line = |name: &str, command: &str, about: &str| {
        format!("  {name:<7} {BOLD}{command}{BOLD:#} {DIM}({about}){DIM:#}\n")
    };
    let more = format!("  more    {BOLD}agent resume {id} \"<what to do next>\"{BOLD:#}\n");
    let Some(workspace) = changed else {
        return more;
    };
    let mut text = line("review", "agent diff", "the whole session");
    if is_in_repository(workspace) {
        text += &line(
            "commit",
            "agent commit",
            "what the session changed, nothing of yours",
        );
    }
    text + &more + &line("undo", "agent undo", "the last round; --all for everything")
}

/// A sign before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Good,
    Bad,
    Skipped,
    Next,
}

/// The sign where the terminal has it, with a space after it; words do elsewhere.
pub(super) fn sign(look: OutputStyle, sign: Sign) -> &'static str {
    if look == OutputStyle::Plain || !has_unicode() {
        return "";
    }
    match sign {
        Sign::Good => "✓ ",
        Sign::Bad => "✗ ",
        Sign::Skipped => "- ",
        Sign::Next => "→ ",
    }
}

/// A path, with `~` for the home directory.
pub(super) fn shown_home(path: &str) -> String {
    let home = std::env::home_dir();
    let below = home.and_then(|home| Path::new(path).strip_prefix(home).ok().map(Path::to_owned));
    match below {
        Some(below) if !below.as_os_str().is_empty() => {
            escape_line(&Path::new("~").join(below).display().to_string())
        }
        _ => escape_line(path),
    }
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
    fn a_text_of_several_lines_is_told_by_its_first() {
        assert_eq!(first_line("one"), "one");
        assert_eq!(first_line("one\ntwo\nthree\n"), "one (+2 lines)");
    }

    #[test]
    fn amounts_are_readable() {
        assert_eq!(count(12_345, "file"), "12,345 files");
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(0, "file"), "0 files");
    }

    #[test]
    fn a_model_cannot_forge_our_lines() {
        for look in [OutputStyle::Plain, OutputStyle::Rich { columns: 80 }] {
            let event = Event::Message {
                text: "ok\r\x1b[2K  1. ok CREATE_FILE".to_owned(),
            };
            let view = RenderContext {
                look,
                is_verbose: true,
                is_interactive: false,
                has_prompt: false,
                ..RenderContext::plain()
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
