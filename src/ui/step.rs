//! A step and what became of it, as lines: what, where, how many lines, how long.

use std::fmt::Write as _;

use super::diff;
use super::plain::{self, DIM, GREEN, Look, RED, Sign, YELLOW};
use super::{escape_line, shortened};
use crate::protocol::{ShownDifference, Status, StepResult};

/// How many lines of a failed step's detail are shown.
pub(super) const FAILURE_LINES: usize = 8;
/// How many lines of a command's output are shown if it succeeded.
const OUTPUT_LINES: usize = 3;
/// How many lines of a difference are shown without being asked for.
const DIFFERENCE_LINES: usize = 12;
/// From which time on it is told.
const WORTH_TELLING: u64 = 100;

/// A step and what became of it, as the loop tells it.
pub fn step_lines(result: &StepResult) -> String {
    step(result, &[], Look::Plain)
}

pub(super) fn step(result: &StepResult, differences: &[ShownDifference], look: Look) -> String {
    let outcome = &result.outcome;
    // These have been told in full already, or will be.
    let is_told = matches!(
        result.command.as_str(),
        "PLAN" | "MESSAGE" | "ASK_USER" | "DONE"
    );
    if is_told && outcome.status == Status::Ok {
        return String::new();
    }
    let (style, word, sign) = match outcome.status {
        Status::Ok => (GREEN, "ok", plain::sign(look, Sign::Good)),
        Status::Failed => (RED, "failed", plain::sign(look, Sign::Bad)),
        Status::Refused => (YELLOW, "refused", ""),
        Status::Skipped => (DIM, "skipped", plain::sign(look, Sign::Skipped)),
    };
    // A sign says it where the terminal has one.
    let word = match sign.trim() {
        "" => word,
        sign => sign,
    };
    let message = escape_line(&for_person(&outcome.message));
    let mut text = format!(
        "  {:>2}. {style}{word}{style:#} {}: {}{message}{}{}\n",
        result.number,
        escape_line(&result.command),
        subject(result, look, message.chars().count()),
        counted(differences),
        time(result),
    );
    text.push_str(&match (outcome.status, result.command.as_str()) {
        (Status::Failed, "RUN_COMMAND") => tail(&outcome.detail.text, FAILURE_LINES),
        // Why it failed stands first, then what the model needs to mend it.
        (Status::Failed, _) => head(&outcome.detail.text, FAILURE_LINES),
        (Status::Ok, "RUN_COMMAND") => tail(&outcome.detail.text, OUTPUT_LINES),
        _ => String::new(),
    });
    if let (Status::Ok, Look::Rich { columns }) = (outcome.status, look) {
        text.push_str(&short_difference(differences, columns));
    }
    text
}

/// The script or search pattern of a step; on a terminal no more than fits beside its message.
fn subject(result: &StepResult, look: Look, message: usize) -> String {
    if !matches!(result.command.as_str(), "RUN_COMMAND" | "SEARCH_TEXT") {
        return String::new();
    }
    let subject = escape_line(&result.subject);
    let subject = match look {
        Look::Plain => subject,
        // What does not fit the line is folded, up to a few lines.
        Look::Rich { columns } => shortened(
            &subject,
            columns
                .saturating_mul(3)
                .saturating_sub(message + 33)
                .max(20),
        ),
    };
    format!("`{subject}`: ")
}

/// ` +12 -3`, over all files of the step.
fn counted(differences: &[ShownDifference]) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let added: usize = differences.iter().map(|one| one.added).sum();
    let removed: usize = differences.iter().map(|one| one.removed).sum();
    let mut text = String::new();
    if added > 0 || removed == 0 {
        let _ = write!(text, " {GREEN}+{added}{GREEN:#}");
    }
    if removed > 0 {
        let _ = write!(text, " {RED}-{removed}{RED:#}");
    }
    text
}

/// How long it took, if that is worth telling; a command tells it itself.
fn time(result: &StepResult) -> String {
    if result.millis < WORTH_TELLING || result.command == "RUN_COMMAND" {
        return String::new();
    }
    let tenths = result.millis / 100;
    format!(" {DIM}{}.{} s{DIM:#}", tenths / 10, tenths % 10)
}

/// The changes to files that existed before, if they are short.
fn short_difference(differences: &[ShownDifference], columns: usize) -> String {
    let lines: Vec<&str> = differences
        .iter()
        .filter(|one| one.is_edit)
        .flat_map(|one| one.hunks.lines())
        .collect();
    if lines.len() > DIFFERENCE_LINES {
        return String::new();
    }
    let room = columns.saturating_sub(7);
    let short: Vec<String> = (lines.iter())
        .map(|line| shortened(&line.replace('\t', "    "), room))
        .collect();
    let colored = diff::colored(&short.join("\n"));
    colored.lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "      {line}");
        text
    })
}

/// `7 s`, `2 min 5 s`, `3 h 20 min`.
pub fn elapsed(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A message about a step without what only the model can follow: what it is to do next, and where
/// in the message something stands.
pub fn for_person(message: &str) -> String {
    message
        .replace("not applied, send only these again: ", "not applied: ")
        .replace(" are below", " are read")
        .replace(
            "; its current lines are read: send the edit again with their numbers",
            "",
        )
        .replace("; correct it and send this command again", "")
}

/// The first lines of a text, indented beneath their step.
fn head(text: &str, lines: usize) -> String {
    let mut all = text.lines();
    let mut head: String = all.by_ref().take(lines).map(detail_line).collect();
    if all.next().is_some() {
        let _ = writeln!(head, "      {DIM}...{DIM:#}");
    }
    head
}

fn detail_line(line: &str) -> String {
    format!(
        "      {DIM}{}{DIM:#}\n",
        escape_line(&shortened(&line.replace('\t', "    "), 160))
    )
}

/// The last lines of a text, indented beneath their step.
pub(super) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    let mut tail = String::new();
    if lines > 0 && all.len() > lines {
        let _ = writeln!(tail, "      {DIM}...{DIM:#}");
    }
    let last = &all[all.len().saturating_sub(lines)..];
    tail.extend(last.iter().map(|line| detail_line(line)));
    tail
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::{Command, Outcome, RelPath, Step};

    fn shown(differences: &[ShownDifference], look: Look) -> String {
        let step = Step {
            number: 2,
            line: 1,
            command: Command::DeleteFile {
                path: RelPath::parse("a.txt").unwrap(),
            },
        };
        let result = StepResult::new(
            &step,
            Outcome::ok("edited a.txt"),
            Duration::from_millis(1_250),
        );
        // Where the terminal has signs, they stand for words.
        let text = super::step(&result, differences, look).replace('✓', "ok");
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_step_tells_what_where_how_much_and_how_long() {
        let edit = ShownDifference {
            added: 2,
            removed: 1,
            is_edit: true,
            hunks: "@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n".to_owned(),
        };
        assert_eq!(
            shown(&[edit], Look::Rich { columns: 80 }),
            "   2. ok DELETE_FILE: edited a.txt +2 -1 1.2 s\n      @@ -1,2 +1,3 @@\n       one\n      -two\n      +2\n      +3\n"
        );
        assert_eq!(
            shown(&[], Look::Plain),
            "   2. ok DELETE_FILE: edited a.txt 1.2 s\n"
        );
    }

    #[test]
    fn a_long_difference_and_a_new_file_are_only_counted() {
        let long = ShownDifference {
            added: 50,
            removed: 0,
            is_edit: true,
            hunks: "+x\n".repeat(20),
        };
        let new = ShownDifference {
            added: 1,
            removed: 0,
            is_edit: false,
            hunks: String::new(),
        };
        let shown = shown(&[long, new], Look::Rich { columns: 80 });
        assert_eq!(shown, "   2. ok DELETE_FILE: edited a.txt +51 1.2 s\n");
    }

    #[test]
    fn of_a_failed_edit_the_reason_is_shown_and_of_a_command_the_end() {
        let edit = Command::DeleteFile {
            path: RelPath::parse("a.txt").unwrap(),
        };
        let run = Command::RunCommand {
            script: "make".to_owned(),
            timeout: None,
        };
        let shown = |command: Command| {
            let step = Step {
                number: 1,
                line: 1,
                command,
            };
            let lines: Vec<String> = (1..=20).map(|number| format!("line {number}")).collect();
            let outcome = Outcome::failed(
                "1 of 2 blocks applied to a; not applied, send only these again: block 2",
            )
            .with_detail(lines.join("\n"));
            let result = StepResult::new(&step, outcome, Duration::ZERO);
            anstream::adapter::strip_str(&super::step(&result, &[], Look::Plain)).to_string()
        };
        let shown_edit = shown(edit);
        assert!(
            shown_edit.contains("applied to a; not applied: block 2\n      line 1\n"),
            "{shown_edit}"
        );
        assert!(shown_edit.ends_with("line 8\n      ...\n"), "{shown_edit}");
        assert!(shown(run).ends_with("line 20\n"));
    }

    #[test]
    fn time_is_told_in_words() {
        assert_eq!(elapsed(7), "7 s");
        assert_eq!(elapsed(125), "2 min 5 s");
        assert_eq!(elapsed(12_000), "3 h 20 min");
    }
}
