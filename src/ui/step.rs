//! A step and what became of it, as lines: what, where, how many lines, how long.

use std::fmt::Write as _;

use anstyle::Style;

use super::diff;
use super::palette::{DIM, GREEN, MAGENTA, RED};
use super::plain::{self, OutputStyle, Sign};
use super::wrap::{columns_of, fold};
use super::{escape_line, shortened};
use crate::number::count;
use crate::protocol::{CommandKind, Level, ShownDifference, Status, StepResult};

/// How many lines of a failed step's detail are shown.
pub(super) const FAILURE_LINES: usize = 8;
/// How many lines of a difference are shown without being asked for.
const DIFFERENCE_LINES: usize = 12;
/// The room in columns beside a step for the end of its output; a shorter rest of the row stays empty.
const SHORT_OUTPUT: usize = 24;
/// The most columns of a line of output.
const DETAIL: usize = 160;
/// The width for which rows in a pipe are aligned.
const PIPE_COLUMNS: usize = 80;
/// From which time on it is told.
const WORTH_TELLING: u64 = 100;

/// How a step is laid out: a row of plain words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepLayout {
    /// Width of the terminal; in a pipe nothing is folded.
    pub(super) columns: Option<usize>,
    /// Signs and colours, or words.
    pub(super) look: OutputStyle,
}

/// A step of a round and what became of it, as the loop tells it.
pub(super) fn step(
    result: &StepResult,
    differences: &[ShownDifference],
    layout: StepLayout,
    round: Option<u32>,
) -> String {
    // These have been told in full already, or will be.
    if result.is_shown_speech() {
        return String::new();
    }
    let mut text = row(result, differences, layout);
    text.push_str(&beneath(result, differences, layout.columns, round));
    text
}

fn status_word(status: Status) -> (Style, &'static str) {
    match status {
        Status::Ok => (GREEN, "ok"),
        Status::Failed => (RED, "failed"),
        Status::Refused => (MAGENTA, "refused"),
        Status::Skipped => (MAGENTA, "skipped"),
    }
}

/// `  1 ✓ created todo.py            +43`, and below it what a person wants to see at once.
fn row(result: &StepResult, differences: &[ShownDifference], layout: StepLayout) -> String {
    let StepLayout { columns, look } = layout;
    let outcome = &result.outcome;
    let (style, word) = status_word(outcome.status);
    let sign = match outcome.status {
        Status::Ok => plain::sign(look, Sign::Good),
        Status::Failed => plain::sign(look, Sign::Bad),
        Status::Refused => "",
        Status::Skipped => plain::sign(look, Sign::Skipped),
    };
    let sign = match sign.trim() {
        "" => word,
        sign => sign,
    };
    let indent = 5 + columns_of(sign);
    let room_in = |columns: usize| columns.saturating_sub(indent + 1).max(20);
    let room = columns.map_or(usize::MAX, room_in);
    let words = phrase(result, differences);
    let facts = facts(result, differences);
    let mut line = words.clone();
    if !facts.is_empty() {
        // Where it fits, the facts of all rows stand below each other.
        let place = room_in(columns.unwrap_or(PIPE_COLUMNS)) * 2 / 5;
        let gap = place.saturating_sub(columns_of(&words)).max(2);
        line.push_str(&" ".repeat(gap));
        line.push_str(&facts);
    }
    let is_run = result.is_run();
    let output = match (outcome.status, is_run) {
        (Status::Ok, true) => Some(last_line(&outcome.detail.text)),
        _ => None,
    };
    let mut below = String::new();
    if let Some((last, more)) = output.filter(|(last, _)| !last.is_empty()) {
        let more = match more {
            0 => String::new(),
            more => format!(" (+{})", count(more, "line")),
        };
        let used = columns_of(&line) + 3 + more.len();
        let beside = room.saturating_sub(used);
        if beside >= columns_of(&last).min(SHORT_OUTPUT) {
            let _ = write!(
                line,
                "   {DIM}{}{more}{DIM:#}",
                shortened(&last, beside.min(DETAIL))
            );
        } else {
            let last = shortened(&last, room.saturating_sub(more.len()));
            let _ = writeln!(below, "{:indent$}{DIM}{last}{more}{DIM:#}", "");
        }
    }
    let mut text = String::new();
    for (number, piece) in fold(&line, room).iter().enumerate() {
        let _ = match number {
            0 => writeln!(
                text,
                " {DIM}{:>2}{DIM:#} {style}{sign}{style:#} {piece}",
                result.number
            ),
            _ => writeln!(text, "{:indent$}{piece}", ""),
        };
    }
    text.push_str(&below);
    text
}

/// The lines beneath the row of a step: why it failed, or what it changed.
fn beneath(
    result: &StepResult,
    differences: &[ShownDifference],
    columns: Option<usize>,
    round: Option<u32>,
) -> String {
    let outcome = &result.outcome;
    let mut text = String::new();
    if is_told_by_row(result, differences) {
        for remark in &outcome.remarks {
            let remark = escape_line(remark);
            let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(7).max(20));
            for line in fold(&remark, room) {
                let _ = writeln!(text, "      {line}");
            }
        }
    }
    text += &match (outcome.status, result.is_run()) {
        (Status::Failed, true) => tail(&outcome.detail.text, FAILURE_LINES, round),
        (Status::Failed, false) => head(&outcome.detail.text, FAILURE_LINES, round),
        (Status::Ok, false) => short_difference(differences, columns),
        _ => String::new(),
    };
    text
}

/// Returns true if the words of a row and the facts beside them say all that the message does.
fn is_told_by_row(result: &StepResult, differences: &[ShownDifference]) -> bool {
    let outcome = &result.outcome;
    let is_plain = match result.kind() {
        Some(CommandKind::CreateFile | CommandKind::DeleteFile | CommandKind::MoveFile) => true,
        Some(CommandKind::EditFile) => outcome.level == Some(Level::Exact),
        _ => false,
    };
    (result.is_run() && outcome.exit_code.is_some())
        || (outcome.status == Status::Ok && is_plain && !differences.is_empty())
}

/// Says in words what was done, or what was to be done and why it was not.
fn phrase(result: &StepResult, differences: &[ShownDifference]) -> String {
    let message = escape_line(&result.outcome.line("you"));
    let subject = escape_line(&result.subject);
    let is_ok = result.outcome.status == Status::Ok;
    let is_edit = differences.iter().all(|one| one.is_edit);
    let (mut done, to_do) = verbs(&result.command);
    if is_edit && result.is(CommandKind::CreateFile) {
        done = "overwrote";
    }
    if is_told_by_row(result, differences) {
        return format!("{done} {subject}");
    }
    let verb = if is_ok { done } else { to_do };
    // Many messages begin with the file, which stands before them here.
    let message = match message.strip_prefix(&format!("`{subject}`: ")) {
        Some(rest) if !subject.is_empty() => rest.to_owned(),
        _ => message,
    };
    // Words of the person may have a short name in them by chance.
    let is_theirs = result.outcome.by_person.is_some();
    let names = !subject.is_empty() && (is_theirs || !is_named(&subject, &message));
    if names {
        format!("{verb} {subject}: {message}")
    } else if is_ok {
        // The message is a sentence of its own.
        message
    } else {
        format!("{verb}: {message}")
    }
}

/// Returns true if a message names a file, and not only has its letters in another word.
fn is_named(subject: &str, message: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
    let mut found = message.match_indices(subject);
    found.any(|(at, _)| {
        !message[..at].ends_with(is_part) && !message[at + subject.len()..].starts_with(is_part)
    })
}

/// The verbs for a command: when it is done, and before. One of a newer version is named.
fn verbs(command: &str) -> (&str, &str) {
    match command.parse() {
        Ok(CommandKind::Plan | CommandKind::Message | CommandKind::AskUser) | Err(_) => {
            (command, command)
        }
        Ok(kind) => kind.verbs(),
    }
}

/// `+12 -3`, or how long a command took and its exit code.
fn facts(result: &StepResult, differences: &[ShownDifference]) -> String {
    let outcome = &result.outcome;
    let mut facts = counted(differences).trim_start().to_owned();
    let is_run = result.is_run();
    // Without an exit code the message tells how it ended, and when.
    let is_timed = if is_run {
        outcome.exit_code.is_some()
    } else {
        result.millis >= WORTH_TELLING
    };
    if is_timed {
        if !facts.is_empty() {
            facts.push_str("  ");
        }
        let tenths = result.millis.div_ceil(100);
        let _ = write!(facts, "{DIM}{}.{} s{DIM:#}", tenths / 10, tenths % 10);
    }
    if let Some(code) = outcome.exit_code.filter(|code| *code != 0) {
        let _ = write!(facts, "   exit {code}");
    }
    // A command can fail without a bad exit code; then the message says why.
    if is_run && outcome.status == Status::Failed && outcome.exit_code == Some(0) {
        let _ = write!(facts, "   {}", escape_line(&outcome.line("you")));
    }
    facts
}

/// The last line of an output that has something in it, and how many more lines there are.
fn last_line(output: &str) -> (String, usize) {
    let lines = || output.lines().filter(|line| !line.trim().is_empty());
    let last = lines().next_back().unwrap_or_default();
    let last = escape_line(&overwritten(last).trim().replace('\t', "    "));
    (last, lines().count().saturating_sub(1))
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

/// The changes to files that existed before, if they are short.
fn short_difference(differences: &[ShownDifference], columns: Option<usize>) -> String {
    let lines: Vec<&str> = differences
        .iter()
        .filter(|one| one.is_edit)
        .flat_map(|one| one.hunks.lines())
        .collect();
    if lines.len() > DIFFERENCE_LINES {
        return String::new();
    }
    let room = columns.map_or(DETAIL, |columns| columns.saturating_sub(7));
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

/// The first lines of a text, indented beneath their step.
fn head(text: &str, lines: usize, round: Option<u32>) -> String {
    let all = text.lines().count();
    let mut head: String = text.lines().take(lines).map(detail_line).collect();
    head.push_str(&folded_lines(all.saturating_sub(lines), round));
    head
}

/// Says how many lines are not shown, and where they are.
fn folded_lines(more: usize, round: Option<u32>) -> String {
    let whole = match (more, round) {
        (0, _) => return String::new(),
        (_, Some(round)) => format!("; all of it: agent show --round {round}"),
        (_, None) => String::new(),
    };
    format!("      {DIM}(+{}{whole}){DIM:#}\n", count(more, "line"))
}

/// A line as a terminal leaves it: progress bars write over themselves.
fn overwritten(line: &str) -> &str {
    let written = line.rsplit('\r').find(|part| !part.trim().is_empty());
    written.unwrap_or_default()
}

fn detail_line(line: &str) -> String {
    format!(
        "      {DIM}{}{DIM:#}\n",
        escape_line(&shortened(&overwritten(line).replace('\t', "    "), DETAIL))
    )
}

/// The last lines of a text, indented beneath their step.
pub(super) fn tail(text: &str, lines: usize, round: Option<u32>) -> String {
    let all: Vec<&str> = text.lines().collect();
    let more = match lines {
        0 => 0,
        lines => all.len().saturating_sub(lines),
    };
    let mut tail = folded_lines(more, round);
    let last = &all[all.len().saturating_sub(lines)..];
    tail.extend(last.iter().map(|line| detail_line(line)));
    tail
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::{Command, Outcome, PersonAct, RelPath, Step};

    fn result(number: u32, command: Command, outcome: Outcome, millis: u64) -> StepResult {
        let step = Step {
            number,
            line: 1,
            command,
        };
        StepResult::new(&step, outcome, Duration::from_millis(millis))
    }

    fn run(number: u32, script: &str, code: i32, output: &str) -> StepResult {
        let command = Command::RunCommand {
            script: script.to_owned(),
            timeout: None,
        };
        let message = format!("exit code {code} in 562 ms");
        let outcome = match code {
            0 => Outcome::ok(message),
            _ => Outcome::failed(message),
        };
        let outcome = outcome.with_exit_code(Some(code)).with_detail(output);
        result(number, command, outcome, 562)
    }

    #[test]
    fn remarks_stand_beneath_a_row_that_does_not_have_the_message() {
        let remark = "`core.fsmonitor` in `new/.git/config` was disabled, because git would run it";
        let mut ran = run(1, "make", 0, "");
        ran.outcome.remarks.push(remark.to_owned());
        let mut made = deleted(Outcome::ok("deleted src/a.txt"));
        made.outcome.remarks.push(remark.to_owned());
        for (result, differences) in [(ran, vec![]), (made, vec![difference(0, 1, "")])] {
            for columns in [None, Some(40)] {
                let look = OutputStyle::Plain;
                let text = step(&result, &differences, StepLayout { columns, look }, None);
                let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(told.contains(remark), "{text}");
                assert_eq!(told.matches("fsmonitor").count(), 1, "{text}");
            }
        }
    }

    fn deleted(outcome: Outcome) -> StepResult {
        let path = RelPath::parse("src/a.txt").unwrap();
        result(2, Command::DeleteFile { path }, outcome, 12)
    }

    fn difference(added: usize, removed: usize, hunks: &str) -> ShownDifference {
        ShownDifference {
            added,
            removed,
            is_edit: !hunks.is_empty(),
            hunks: hunks.to_owned(),
        }
    }

    const PIPE: StepLayout = StepLayout {
        columns: None,
        look: OutputStyle::Plain,
    };

    fn bare(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    /// The steps of a round as a terminal of this width shows them, with signs or with words.
    fn round(columns: usize, look: OutputStyle) -> String {
        let columns = Some(columns);
        let layout = StepLayout { columns, look };
        let edit = difference(1, 1, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
        let mut traceback = String::new();
        for line in 1..=12 {
            let _ = writeln!(traceback, "  File \"todo.py\", line {line}");
        }
        let long =
            "python3 todo.py add \"buy milk, bread and a very long list of other things\" && make";
        let declined = Outcome {
            message: "declined: keep it".to_owned(),
            ..Outcome::by_person(PersonAct::Declined)
        };
        let steps = [
            step(
                &deleted(Outcome::ok("deleted src/a.txt")),
                &[difference(0, 43, "")],
                layout,
                Some(3),
            ),
            step(
                &deleted(Outcome::ok("deleted src/a.txt")),
                &[edit],
                layout,
                Some(3),
            ),
            step(
                &run(3, "make all", 0, "one\n\nRan 62 tests ... OK\n"),
                &[],
                layout,
                Some(3),
            ),
            step(&run(4, long, 0, "fine\n"), &[], layout, Some(3)),
            step(
                &run(5, "python3 todo.py done 7", 1, &traceback),
                &[],
                layout,
                Some(3),
            ),
            step(&deleted(declined), &[], layout, Some(3)),
            step(
                &deleted(Outcome::skipped("the change in step 1 failed")),
                &[],
                layout,
                Some(3),
            ),
        ];
        // Where the terminal of the tests has signs, they stand for words.
        bare(&steps.concat())
            .replace('✓', "ok")
            .replace('✗', "failed")
    }

    #[test]
    fn a_round_at_80_and_at_120_columns() {
        const EDIT: &str = concat!(
            "      @@ -1,2 +1,2 @@\n",
            "       one\n",
            "      -two\n",
            "      +2\n",
        );
        const REST: &str = concat!(
            "      (+4 lines; all of it: agent show --round 3)\n",
            "        File \"todo.py\", line 5\n",
            "        File \"todo.py\", line 6\n",
            "        File \"todo.py\", line 7\n",
            "        File \"todo.py\", line 8\n",
            "        File \"todo.py\", line 9\n",
            "        File \"todo.py\", line 10\n",
            "        File \"todo.py\", line 11\n",
            "        File \"todo.py\", line 12\n",
            "  2 refused delete src/a.txt: you declined: keep it\n",
            "  2 skipped delete src/a.txt: the change in step 1 failed\n",
        );
        let narrow = [
            "  2 ok deleted src/a.txt           -43\n",
            "  2 ok deleted src/a.txt           +1 -1\n",
            EDIT,
            "  3 ok ran make all                0.6 s   Ran 62 tests ... OK (+1 line)\n",
            "  4 ok ran python3 todo.py add \"buy milk, bread and a very long list of other\n",
            "       things\" && make  0.6 s\n",
            "       fine\n",
            "  5 failed ran python3 todo.py done 7  0.6 s   exit 1\n",
            REST,
        ];
        let wide = [
            "  2 ok deleted src/a.txt                           -43\n",
            "  2 ok deleted src/a.txt                           +1 -1\n",
            EDIT,
            "  3 ok ran make all                                0.6 s   Ran 62 tests ... OK (+1 line)\n",
            "  4 ok ran python3 todo.py add \"buy milk, bread and a very long list of other things\" && make  0.6 s   fine\n",
            "  5 failed ran python3 todo.py done 7                 0.6 s   exit 1\n",
            REST,
        ];
        for (columns, expected) in [(80, narrow.concat()), (120, wide.concat())] {
            let text = round(columns, OutputStyle::Plain);
            assert!(
                text.lines().all(|line| columns_of(line) <= columns),
                "{text}"
            );
            assert_eq!(text, expected, "{text}");
        }
    }

    #[test]
    fn what_was_declined_is_named_also_if_the_reason_has_its_letters() {
        let layout = StepLayout {
            columns: Some(80),
            look: OutputStyle::Plain,
        };
        let declined = Outcome {
            message: "declined: not src/a.txt now".to_owned(),
            ..Outcome::by_person(PersonAct::Declined)
        };
        assert_eq!(
            bare(&step(&deleted(declined), &[], layout, Some(3))),
            "  2 refused delete src/a.txt: you declined: not src/a.txt now\n"
        );
    }

    #[test]
    fn without_colour_the_same_words_are_there() {
        let columns = Some(80);
        let layout = |look| StepLayout { columns, look };
        let failed = run(1, "make", 2, "");
        let plain = step(&failed, &[], layout(OutputStyle::Plain), Some(3));
        let rich = step(
            &failed,
            &[],
            layout(OutputStyle::Rich { columns: 80 }),
            Some(3),
        );
        assert!(bare(&plain).starts_with("  1 failed ran make"), "{plain}");
        assert_eq!(
            bare(&rich)
                .replace('✗', "failed")
                .split_whitespace()
                .collect::<Vec<_>>(),
            bare(&plain).split_whitespace().collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_pipe_gets_the_words_of_the_terminal_in_lines_that_are_not_folded() {
        let edited = difference(1, 1, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
        let made = deleted(Outcome::ok("deleted src/a.txt"));
        assert_eq!(
            bare(&step(&made, &[edited], PIPE, Some(3))),
            "  2 ok deleted src/a.txt           +1 -1\n      @@ -1,2 +1,2 @@\n       one\n      -two\n      +2\n"
        );
        let script = "x ".repeat(60) + "y";
        assert_eq!(
            bare(&step(&run(3, &script, 0, "fine\n"), &[], PIPE, Some(3))),
            format!("  3 ok ran {script}  0.6 s   fine\n")
        );
    }

    #[test]
    fn of_a_progress_bar_the_last_state_is_shown() {
        let failed = run(1, "curl", 6, "\r  0  0\r100  0curl: (6) no host\r\n\r\n");
        let shown = bare(&step(&failed, &[], PIPE, Some(3)));
        assert!(
            shown.contains("\n      100  0curl: (6) no host\n"),
            "{shown}"
        );
        assert!(!shown.contains("\\r"), "{shown}");
    }

    #[test]
    fn a_long_difference_is_only_counted() {
        let long = difference(50, 0, &"+x\n".repeat(20));
        let layout = StepLayout {
            columns: Some(80),
            look: OutputStyle::Plain,
        };
        let shown = bare(&step(
            &deleted(Outcome::ok("deleted src/a.txt")),
            &[long],
            layout,
            Some(3),
        ));
        assert_eq!(shown.lines().count(), 1, "{shown}");
        assert!(shown.contains("+50"), "{shown}");
    }

    #[test]
    fn of_a_failed_edit_the_reason_is_shown_and_of_a_command_the_end() {
        let lines: Vec<String> = (1..=20).map(|number| format!("line {number}")).collect();
        let outcome = Outcome::failed("1 of 2 blocks applied to a; not applied: block 2")
            .with_hint("send only these again")
            .with_detail(lines.join("\n"));
        let shown_edit = bare(&step(&deleted(outcome), &[], PIPE, Some(3)));
        assert!(
            shown_edit.contains("applied to a; not applied: block 2\n      line 1\n"),
            "{shown_edit}"
        );
        assert!(
            shown_edit.ends_with("line 8\n      (+12 lines; all of it: agent show --round 3)\n"),
            "{shown_edit}"
        );
        let shown_run = bare(&step(
            &run(1, "make", 2, &lines.join("\n")),
            &[],
            PIPE,
            Some(3),
        ));
        assert!(shown_run.ends_with("line 20\n"), "{shown_run}");
    }

    #[test]
    fn time_is_told_in_words() {
        assert_eq!(elapsed(7), "7 s");
        assert_eq!(elapsed(125), "2 min 5 s");
        assert_eq!(elapsed(12_000), "3 h 20 min");
    }
}
