//! A transcript as Markdown, for a wiki or an issue.

use std::fmt::Write as _;

use jiff::tz::TimeZone;

use super::{Round, Transcript};
use crate::protocol::{Status, StepResult};

/// How many characters of an output are shown.
const MAX_DETAIL: usize = 2_000;

/// Writes the transcript.
pub fn markdown(transcript: &Transcript) -> String {
    let mut text = format!("# {}\n\n", line(first_line(&transcript.task)));
    let state = if transcript.is_complete {
        "done"
    } else {
        "not finished"
    };
    let _ = writeln!(
        text,
        "Session `{}`, {state}, {} to {}.",
        transcript.id,
        day(transcript.created_at),
        day(transcript.updated_at)
    );
    if let Some(origin) = &transcript.forked_from {
        let _ = writeln!(
            text,
            "Forked from session `{}` after round {}.",
            origin.session, origin.round
        );
    }
    let _ = writeln!(text, "\n## Task\n\n{}", quote(&transcript.task));
    for round in &transcript.rounds {
        for further in transcript
            .further
            .iter()
            .filter(|one| one.sequence == round.number)
        {
            let _ = writeln!(text, "## The user\n\n{}", quote(&further.text));
        }
        write_round(&mut text, round);
    }
    if let Some(summary) = &transcript.summary {
        let _ = writeln!(text, "## Summary\n\n{}", quote(summary));
    }
    text
}

fn write_round(text: &mut String, round: &Round) {
    let back = if round.is_undone { " (undone)" } else { "" };
    let _ = writeln!(text, "## Round {}{back}\n", round.number);
    if round.reply.is_none() && round.results.is_empty() {
        text.push_str("No reply yet.\n\n");
    }
    if !round.prose.trim().is_empty() {
        let _ = writeln!(text, "{}", quote(&round.prose));
    }
    for said in round.said.iter().filter(|said| said.command != "DONE") {
        let name = super::name_of(said.command);
        let _ = writeln!(text, "**{name}**\n\n{}", quote(&said.text));
    }
    for result in round.done() {
        write_result(text, result);
    }
    for issue in &round.issues {
        let _ = writeln!(text, "- **not understood** {}", line(&issue.message));
    }
    if !round.results.is_empty() || !round.issues.is_empty() {
        text.push('\n');
    }
    for answer in round.answers() {
        let _ = writeln!(text, "**The user answers**\n\n{}", quote(answer));
    }
    for note in &round.notes {
        let _ = writeln!(text, "**The user says**\n\n{}", quote(note));
    }
    if let Some(diff) = &round.diff {
        let _ = writeln!(text, "{}\n", fenced(diff, "diff"));
    }
}

fn write_result(text: &mut String, result: &StepResult) {
    let outcome = &result.outcome;
    let subject = if result.subject.is_empty() {
        String::new()
    } else {
        format!(" {}", code(&result.subject))
    };
    let _ = writeln!(
        text,
        "- **{}** {}{subject}: {}",
        outcome.status.label().to_lowercase(),
        result.command,
        line(&outcome.message)
    );
    let is_shown = outcome.status == Status::Failed || result.command == "RUN_COMMAND";
    if is_shown && !outcome.detail.text.trim().is_empty() {
        let detail = super::middle_out(&outcome.detail.text, MAX_DETAIL);
        let block = fenced(&detail, "text");
        for row in block.lines() {
            let _ = writeln!(text, "  {row}");
        }
    }
}

/// A text of others as a quotation, so that its headings are not ours, and in which nothing is
/// fetched from elsewhere.
fn quote(text: &str) -> String {
    let mut quoted = String::new();
    for row in visible(text.trim()).lines() {
        let row = row.replace('<', "\\<").replace("![", "!\\[");
        let space = if row.is_empty() { "" } else { " " };
        let _ = writeln!(quoted, ">{space}{row}");
    }
    quoted
}

/// A text without what a terminal would obey.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => visible.push(character),
            '\r' => {}
            control if control.is_control() => visible.extend(control.escape_default()),
            other => visible.push(other),
        }
    }
    visible
}

/// A text on one line in which nothing is markup.
fn line(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' => {
                plain.push('\\');
                plain.push(character);
            }
            '\n' | '\r' => plain.push(' '),
            control if control.is_control() => plain.extend(control.escape_default()),
            other => plain.push(other),
        }
    }
    plain
}

fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let text = visible(&text.replace(['\n', '\r'], " "));
    if fence.len() > 1 {
        format!("{fence} {text} {fence}")
    } else {
        format!("{fence}{text}{fence}")
    }
}

fn fenced(text: &str, language: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}", visible(text.trim_end()))
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut current) = (0, 0);
    for byte in text.bytes() {
        current = if byte == b'`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

fn day(at: jiff::Timestamp) -> String {
    let at = at.to_zoned(TimeZone::system());
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_no_markup_of_ours() {
        assert_eq!(line("a*b*\n# c"), "a\\*b\\* \\# c");
        assert_eq!(quote("# Heading\n\n- x"), "> # Heading\n>\n> - x\n");
        assert_eq!(
            quote("see <img src=http://x> and ![x](http://y)\u{1b}]8;;z\u{7}"),
            "> see \\<img src=http://x> and !\\[x](http://y)\\u{1b}]8;;z\\u{7}\n"
        );
        assert_eq!(fenced("a\u{1b}[2Jb", "text"), "```text\na\\u{1b}[2Jb\n```");
        assert_eq!(line("\u{1b}c") + &code("\u{9b}c"), "\\u{1b}c`\\u{9b}c`");
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(fenced("```\nx", "text"), "````text\n```\nx\n````");
    }
}
