//! Renders a question for the person's decision: whole, escaped, with its length.

use std::fmt::Write as _;

use super::palette::{BOLD, DIM, GREEN, MAGENTA, RED, either};
use super::wrap::{columns_of, cut, folded};
use super::{diff, escape_line, escape_text, news};
use crate::approve::verb;
use crate::number::count;
use crate::protocol::{CommandKind, Event, QuestionKind};

/// How much of a difference is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffExtent {
    /// All of it.
    Whole,
    /// The beginning of one that takes more rows than this; a key shows the rest.
    Folded(usize),
}

impl DiffExtent {
    /// As much of a question's difference as stays on a terminal of this height with its head and keys.
    pub(super) fn of_question(rows: usize) -> Self {
        Self::Folded(rows.saturating_sub(9).clamp(5, 30))
    }

    /// As much of a change before a question as stays on a terminal of this height with its head and a
    /// short question.
    pub(super) fn ahead_of_question(rows: usize) -> Self {
        Self::Folded(rows.saturating_sub(15).clamp(5, 30))
    }
}

/// The permissions of a command where nothing is unusual, which need no words.
const USUAL: &str = "in the sandbox: change files in the workspace";

/// Returns true for a reason that holds for a whole round, which the dialog says once.
pub(super) fn is_of_mode(why: &str) -> bool {
    why.starts_with("because `Approval` is") && !why.contains(';')
}

/// Several steps that wait for one answer, a row each. A script is shown whole, because an answer may
/// run it; of a difference the size is shown. A reason that all of them have is said once.
pub(super) fn listed(questions: &[Event], columns: Option<usize>) -> String {
    let reasons: Vec<&str> = questions.iter().map(reason).collect();
    let mode = reasons.iter().find(|why| is_of_mode(why));
    let shared = match reasons.as_slice() {
        [first, others @ ..] if others.iter().all(|why| why == first) => *first,
        _ => "",
    };
    let mut text = format!(
        "\n{BOLD}The model wants to do {}{BOLD:#}",
        count(questions.len(), "thing")
    );
    if let Some(mode) = mode {
        let _ = write!(text, "  {DIM}(asked {}){DIM:#}", escape_line(mode));
    }
    text.push('\n');
    let verbs = questions.iter().map(|question| verb_of(question).len());
    let width = verbs.max().unwrap_or_default().max(7);
    let mut told = shared;
    for question in questions {
        text.push_str(&listed_row(question, width, columns));
        let why = reason(question);
        if why != told && !is_of_mode(why) {
            text.push_str(&beneath(&format!("why: {}", escape_line(why)), columns));
        }
        told = why;
    }
    if !shared.is_empty() && !is_of_mode(shared) {
        let why = format!("  why: {}\n", escape_line(shared));
        text.push_str(&columns.map_or(why.clone(), |columns| folded(&why, columns)));
    }
    text
}

/// Words of ours about the row above.
fn beneath(words: &str, columns: Option<usize>) -> String {
    let line = format!("             {words}\n");
    columns.map_or(line.clone(), |columns| folded(&line, columns))
}

fn reason(question: &Event) -> &str {
    match question {
        Event::Approval { why, .. } => why,
        _ => "",
    }
}

fn verb_of(question: &Event) -> &str {
    match question {
        Event::Approval { command, shown, .. } | Event::Ahead { command, shown, .. } => {
            verb(command, shown).unwrap_or(command)
        }
        _ => "",
    }
}

/// `  2  create  hello.py  +8`, or a script; the verb takes so many columns.
fn listed_row(question: &Event, width: usize, columns: Option<usize>) -> String {
    let Event::Approval {
        number,
        command,
        title,
        shown,
        may,
        ..
    } = question
    else {
        return String::new();
    };
    let verb = escape_line(verb_of(question));
    let head = format!("  {BOLD}{number:>2}{BOLD:#}  {verb:<width$} ");
    if command != CommandKind::RunCommand.word() {
        let (added, removed) = sizes(shown);
        let mut text = format!("{head}{}", escape_line(title));
        if added > 0 || removed == 0 {
            let _ = write!(text, "  {GREEN}+{added}{GREEN:#}");
        }
        if removed > 0 {
            let _ = write!(text, "  {RED}-{removed}{RED:#}");
        }
        return text + "\n";
    }
    let script = escape_text(shown.trim_end());
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(width + 8));
    let mut text = if script.lines().count() == 1 && columns_of(&script) <= room {
        format!("{head}{script}\n")
    } else {
        let size = count(script.lines().count(), "line");
        format!(
            "{head}{size}\n{}",
            lines(&script, columns, DiffExtent::Whole)
        )
    };
    if !may.is_empty() && may != USUAL {
        let may = format!("what it may do: {}", escape_line(may));
        text.push_str(&beneath(&may, columns));
    }
    text
}

/// How many lines a unified diff adds and removes.
fn sizes(diff: &str) -> (usize, usize) {
    let mut is_header = true;
    let (mut added, mut removed) = (0, 0);
    for line in diff.lines() {
        is_header = line.starts_with("diff ") || (is_header && !line.starts_with("@@"));
        match line.as_bytes().first() {
            Some(b'+') if !is_header => added += 1,
            Some(b'-') if !is_header => removed += 1,
            _ => {}
        }
    }
    (added, removed)
}

/// The difference that a file step will make before the next thing that is asked about.
pub(super) fn ahead(event: &Event, columns: Option<usize>, extent: DiffExtent) -> String {
    let Event::Ahead {
        number,
        title,
        shown,
        before,
        ..
    } = event
    else {
        return String::new();
    };
    let place = match before {
        0 => String::new(),
        before => format!("; it comes before step {before}"),
    };
    let mut text = match number {
        // Of an earlier round.
        0 => {
            let named = match before {
                0 => String::new(),
                before => format!("; step {before} names it"),
            };
            format!(
                "\n{BOLD}{}{BOLD:#} {DIM}(from an earlier round{named}){DIM:#}\n",
                escape_line(title)
            )
        }
        number => format!(
            "\n{BOLD}{number}. {}{BOLD:#} {} {DIM}(not asked about{place}){DIM:#}\n",
            escape_line(verb_of(event)),
            escape_line(title)
        ),
    };
    text.push_str(&lines(&diff::colored(shown), columns, extent));
    text
}

/// Lines of others with a mark before each; what goes on in the next row is marked too.
fn lines(body: &str, columns: Option<usize>, extent: DiffExtent) -> String {
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(5).max(10));
    let mut rows = Vec::new();
    for (number, line) in body.split_terminator('\n').enumerate() {
        for (row, piece) in cut(line, room).iter().enumerate() {
            let sign = if row == 0 { "|" } else { either("…", ":") };
            rows.push((number, format!("  {DIM}{sign}{DIM:#} {piece}\n")));
        }
    }
    let shown = match extent {
        // A few more are not worth a key.
        DiffExtent::Folded(most) if rows.len() > most + 3 => most,
        _ => rows.len(),
    };
    let hidden = rows.split_off(shown);
    let mut text: String = rows.into_iter().map(|(_, row)| row).collect();
    if let (Some((first, _)), Some((last, _))) = (hidden.first(), hidden.last()) {
        let more = count(last - first + 1, "more line");
        let _ = writeln!(
            text,
            "  {DIM}({more}; {DIM:#}{BOLD}d{BOLD:#}{DIM} shows all){DIM:#}"
        );
    }
    text
}

/// A step that waits for a decision; on a terminal what goes on in the next row is marked, so that
/// no part of a script looks like a word of ours.
pub(super) fn asked(
    event: &Event,
    columns: Option<usize>,
    is_interactive: bool,
    extent: DiffExtent,
) -> String {
    let Event::Approval {
        kind,
        key,
        number,
        round,
        command,
        title,
        shown,
        why,
        may,
        ..
    } = event
    else {
        return String::new();
    };
    if command.is_empty() {
        return asked_elsewhere(*kind, key, title, shown, (*number, *round), is_interactive);
    }
    let is_script = command == CommandKind::RunCommand.word();
    let size = if is_script {
        format!(
            " ({}, {})",
            count(shown.lines().count(), "line"),
            count(shown.chars().count(), "character")
        )
    } else {
        String::new()
    };
    let fitting = |text: String| match columns {
        Some(columns) => folded(&text, columns),
        None => text,
    };
    let head = match kind {
        QuestionKind::Plan | QuestionKind::Secrets => {
            format!("{BOLD}{}{BOLD:#}", news::capital(&escape_line(title)))
        }
        _ => format!(
            "{BOLD}{number}. {}{BOLD:#} {}{size}",
            escape_line(verb_of(event)),
            escape_line(title)
        ),
    };
    let mut text = fitting(format!("\n{head}\n"));
    // What a command runs is never folded.
    let (body, extent) = if is_script || *kind == QuestionKind::Plan {
        (escape_text(shown), DiffExtent::Whole)
    } else if is_interactive {
        (diff::colored(shown), extent)
    } else {
        (diff::colored(shown), DiffExtent::Whole)
    };
    text.push_str(&lines(&body, columns, extent));
    let mut words = String::new();
    if is_interactive && !kind.is_step() {
        // The prompt says what a yes means, and of a plan nobody asks why.
        if *kind != QuestionKind::Plan {
            let _ = writeln!(words, "  {}.", news::capital(&escape_line(why)));
        }
        return text + &fitting(words);
    }
    let is_told = is_interactive && is_of_mode(why);
    if !why.is_empty() && !is_told {
        let _ = writeln!(words, "  why: {}", escape_line(why));
    }
    // Of a file step the difference says it.
    let is_said = is_interactive && (may == USUAL || !is_script);
    if !may.is_empty() && !is_said {
        let _ = writeln!(words, "  what it may do: {}", escape_line(may));
    }
    if !is_interactive {
        let _ = writeln!(words, "  {}", how(*kind, *number));
    }
    text + &fitting(words)
}

/// A question that one line answers. The terminal that asks it shows it at its prompt.
fn asked_elsewhere(
    kind: QuestionKind,
    key: &str,
    title: &str,
    shown: &str,
    rounds: (u32, u32),
    is_interactive: bool,
) -> String {
    if is_interactive {
        return String::new();
    }
    let title = escape_line(title);
    let text = escape_text(&news::asked(kind, &title, shown, rounds));
    let shown = if kind == QuestionKind::Undo {
        format!("{}\n", escape_text(shown))
    } else {
        String::new()
    };
    format!(
        "\n{shown}{text}\n  Decide with `agent approve {key}` or `agent decline {key}` in this directory.\n"
    )
}

/// How to decide from elsewhere.
fn how(kind: QuestionKind, number: u32) -> String {
    match kind {
        _ if kind.is_step() => format!(
            "Decide with `agent approve {number}` or `agent decline {number} --reason \"...\"` in this directory."
        ),
        QuestionKind::Plan => {
            "Decide with `agent approve` or `agent decline --reason \"...\"` in this directory."
                .to_owned()
        }
        QuestionKind::Network => format!(
            "Run it again with the network: `agent approve {number}`, for the whole session `agent approve {number} --always`; else `agent decline {number}`."
        ),
        _ => "Decide with `agent approve` or `agent decline` in this directory.".to_owned(),
    }
}

/// Renders the person's decision.
pub(super) fn decided(event: &Event) -> String {
    let Event::Decided {
        number,
        command,
        title,
        decision,
        reason,
        ..
    } = event
    else {
        return String::new();
    };
    // Of a question that one line answers, what comes of it tells enough; of the model's, the answer.
    if command.is_empty() {
        let answer = reason.as_ref().filter(|_| decision == "say");
        return answer.map_or_else(String::new, |answer| {
            format!("  {GREEN}answered{GREEN:#}: {}\n", escape_line(answer))
        });
    }
    let style = match decision.as_str() {
        "yes" | "all" | "always" | "edit" | "once" | "session" => GREEN,
        _ => MAGENTA,
    };
    let word = match decision.as_str() {
        "yes" | "all" => "approved",
        "always" => "approved, now and always",
        "once" => "again with the network:",
        "session" => "again with the network, like all commands of this session:",
        "edit" => "approved with your changes",
        "no" => "declined",
        "skip" => "skipped",
        "stop" => "stopped",
        other => other,
    };
    let reason = reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| format!(": {}", escape_line(reason)));
    // A plan, or values that may be secrets: the title says it.
    let step = match verb(command, "") {
        None => String::new(),
        Some(verb) => format!("{number}. {verb} "),
    };
    format!(
        "  {style}{word}{style:#} {step}{}{reason}\n",
        escape_line(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(command: &str, shown: &str) -> String {
        on(None, command, shown)
    }

    fn on(columns: Option<usize>, command: &str, shown: &str) -> String {
        let event = Event::Approval {
            kind: QuestionKind::Step,
            key: "3".to_owned(),
            number: 3,
            round: 2,
            command: command.to_owned(),
            title: "cargo add serde".to_owned(),
            shown: shown.to_owned(),
            why: "it uses the network".to_owned(),
            may: "use the network".to_owned(),
            proposal: None,
            hash: String::new(),
        };
        let text = asked(&event, columns, true, DiffExtent::of_question(24));
        anstream::adapter::strip_str(&text).to_string()
    }

    fn waiting(number: u32, command: &str, title: &str, shown: &str, why: &str) -> Event {
        Event::Approval {
            kind: QuestionKind::Step,
            key: number.to_string(),
            number,
            round: 2,
            command: command.to_owned(),
            title: title.to_owned(),
            shown: shown.to_owned(),
            why: why.to_owned(),
            may: USUAL.to_owned(),
            proposal: None,
            hash: String::new(),
        }
    }

    fn list(columns: usize, network: &str) -> String {
        let mode = "because `Approval` is `ask`";
        let new = "--- /dev/null\n+++ b/hello.py\n@@ -0,0 +1,2 @@\n+one\n+two\n";
        let long = format!("echo {}\n", "a-long-word ".repeat(9));
        let questions = [
            waiting(2, "CREATE_FILE", "`hello.py`", new, mode),
            waiting(
                3,
                "RUN_COMMAND",
                "`python3 hello.py`",
                "python3 hello.py\n",
                mode,
            ),
            waiting(
                4,
                "RUN_COMMAND",
                "`set -e ...`",
                "set -e\npython3 hello.py Bob\n",
                mode,
            ),
            waiting(5, "RUN_COMMAND", "`echo ...`", &long, mode),
            waiting(
                6,
                "RUN_COMMAND",
                "`curl example`",
                "curl example\n",
                network,
            ),
        ];
        let text = listed(&questions, Some(columns));
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn several_steps_are_a_list_at_80_and_at_120_columns() {
        const BEGINNING: &str = concat!(
            "\n",
            "The model wants to do 5 things  (asked because `Approval` is `ask`)\n",
            "   2  create  `hello.py`  +2\n",
            "   3  run     python3 hello.py\n",
            "   4  run     2 lines\n",
            "  | set -e\n",
            "  | python3 hello.py Bob\n",
            "   5  run     1 line\n",
        );
        let narrow = [
            BEGINNING,
            "  | echo a-long-word a-long-word a-long-word a-long-word a-long-word \n",
            "  … a-long-word a-long-word a-long-word a-long-word\n",
            "   6  run     curl example\n",
            "             why: it uses the network\n",
        ];
        let text = list(80, "it uses the network");
        assert_eq!(text, narrow.concat(), "{text}");
        // A reason that all of them have is said once.
        let wide = [
            BEGINNING,
            "  | echo a-long-word a-long-word a-long-word a-long-word a-long-word a-long-word a-long-word a-long-word a-long-word\n",
            "   6  run     curl example\n",
        ];
        let text = list(120, "because `Approval` is `ask`");
        assert_eq!(text, wide.concat(), "{text}");
    }

    #[test]
    fn nothing_of_a_list_reaches_the_terminal_raw() {
        let hostile = "a\rb\x1b[2J\u{202e}c\n  7  create  x";
        for command in ["RUN_COMMAND", "CREATE_FILE"] {
            let question = waiting(1, command, hostile, hostile, hostile);
            let text = listed(&[question.clone(), question], Some(80));
            let text = anstream::adapter::strip_str(&text).to_string();
            assert!(!text.contains(['\r', '\x1b', '\u{202e}']), "{text:?}");
            assert!(!text.contains("\n  7  create"), "{text}");
        }
    }

    #[test]
    fn a_script_is_shown_whole_with_its_length() {
        assert_eq!(
            plain("RUN_COMMAND", "cargo add serde\ncargo build\n"),
            "\n3. run cargo add serde (2 lines, 28 characters)\n  | cargo add serde\n  | cargo build\n  why: it uses the network\n  what it may do: use the network\n"
        );
        let long = "x\n".repeat(500);
        assert_eq!(plain("RUN_COMMAND", &long).matches("| x").count(), 500);
    }

    #[test]
    fn a_long_line_is_marked_where_it_goes_on() {
        let text = on(Some(25), "RUN_COMMAND", "echo one two three  four\n");
        assert!(
            text.contains("\n  | echo one two three  \n  … four\n"),
            "{text}"
        );
        assert!(text.contains("\n  why: it uses the\n  network\n"), "{text}");
    }

    #[test]
    fn a_long_difference_is_folded_and_a_script_never() {
        let long = "+x\n".repeat(500);
        let folded = plain("CREATE_FILE", &long);
        assert_eq!(folded.matches("| +x").count(), 15);
        assert!(
            folded.ends_with("  (485 more lines; d shows all)\n  why: it uses the network\n"),
            "{folded}"
        );
        assert_eq!(plain("RUN_COMMAND", &long).matches("| +x").count(), 500);
    }

    #[test]
    fn nothing_of_a_script_or_a_diff_reaches_the_terminal_raw() {
        for command in ["RUN_COMMAND", "CREATE_FILE"] {
            let text = plain(command, "+a\rb\x1b[2J\u{202e}c\n");
            assert!(text.contains("| +a\\rb\\u{1b}[2J\\u{202e}c\n"), "{text:?}");
        }
    }
}
