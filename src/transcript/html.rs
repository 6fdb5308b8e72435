//! A transcript as one HTML page: no scripts, nothing from elsewhere, diffs in colour.

use std::fmt::Write as _;

use jiff::tz::TimeZone;

use super::{Letter, Round, Transcript};
use crate::protocol::{Status, StepResult};
use crate::session::UsageTotals;

/// How many characters of an output are shown.
const MAX_DETAIL: usize = 10_000;

const STYLE: &str = include_str!("transcript.css");

/// Writes the transcript.
pub fn html(transcript: &Transcript) -> String {
    let title = escape(transcript.task.trim().lines().next().unwrap_or_default());
    let state = if transcript.is_complete {
        "done"
    } else {
        "not finished"
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p class=\"meta\">Session <code>{}</code>, {state}, {} to {}</p>\n",
        transcript.id,
        time(transcript.created_at),
        time(transcript.updated_at),
    );
    if let Some(origin) = &transcript.forked_from {
        let _ = writeln!(
            page,
            "<p class=\"meta\">Forked from session <code>{}</code> after round {}</p>",
            origin.session, origin.round
        );
    }
    page.push_str(&by_api(transcript.usage.as_ref()));
    page.push_str(&bubble("user", "Task", &transcript.task));
    for round in &transcript.rounds {
        for further in transcript
            .further
            .iter()
            .filter(|one| one.sequence == round.number)
        {
            page.push_str(&bubble("user", "The user", &further.text));
        }
        write_round(&mut page, round);
    }
    if let Some(summary) = &transcript.summary {
        page.push_str("<h2>Summary</h2>\n");
        page.push_str(&bubble("model", "Done", summary));
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn by_api(usage: Option<&UsageTotals>) -> String {
    let line = |usage: &UsageTotals| format!("<p class=\"meta\">By an API: {usage}</p>\n");
    usage.map(line).unwrap_or_default()
}

fn write_round(page: &mut String, round: &Round) {
    let back = if round.is_undone {
        " <span class=\"back\">undone</span>"
    } else {
        ""
    };
    let at = round
        .ended_at
        .map(|at| format!(" <time>{}</time>", time(at)));
    let number = round.number;
    let _ = writeln!(
        page,
        "<section id=\"round-{number}\">\n<h2>Round {number}{back}{}</h2>",
        at.unwrap_or_default()
    );
    page.push_str(&by_api(round.usage.as_ref()));
    page.push_str(&folded("Message", round.message.as_ref()));
    page.push_str(&folded("Reply", round.reply.as_ref()));
    if round.reply.is_none() && round.results.is_empty() {
        page.push_str("<p class=\"meta\">No reply yet</p>\n");
    }
    page.push_str(&bubble("model", "The model", &round.prose));
    for said in round.said_before_end() {
        page.push_str(&bubble("model", said.heading(), &said.text));
    }
    if !round.results.is_empty() || !round.issues.is_empty() {
        page.push_str("<ul class=\"steps\">\n");
        for result in round.done() {
            write_result(page, result);
        }
        for issue in &round.issues {
            let _ = writeln!(
                page,
                "<li class=\"failed\"><b>not understood</b> {}</li>",
                escape(&issue.message)
            );
        }
        page.push_str("</ul>\n");
    }
    for answer in round.answers() {
        page.push_str(&bubble("user", "The user answers", answer));
    }
    for note in round.own_notes() {
        page.push_str(&bubble("user", "The user says", note));
    }
    if let Some(diff) = &round.diff {
        page.push_str("<pre class=\"diff\">");
        page.push_str(&colored(diff));
        page.push_str("</pre>\n");
    }
    page.push_str("</section>\n");
}

fn write_result(page: &mut String, result: &StepResult) {
    let outcome = &result.outcome;
    let class = match outcome.status {
        Status::Ok => "ok",
        Status::Failed => "failed",
        Status::Refused => "refused",
        Status::Skipped => "skipped",
    };
    let subject = if result.subject.is_empty() {
        String::new()
    } else {
        format!(" <code>{}</code>", escape(&result.subject))
    };
    let _ = write!(
        page,
        "<li class=\"{class}\"><b>{class}</b> {}{subject}: {}",
        escape(result.verb()),
        escape(&outcome.line("the user"))
    );
    if !outcome.detail.text.trim().is_empty() {
        let open = if outcome.status == Status::Failed {
            " open"
        } else {
            ""
        };
        let detail = super::middle_out(&outcome.detail.text, MAX_DETAIL);
        let _ = write!(
            page,
            "<details{open}><summary>output</summary><pre>{}</pre></details>",
            escape(detail.trim_end())
        );
    }
    page.push_str("</li>\n");
}

fn folded(name: &str, letter: Option<&Letter>) -> String {
    let Some(letter) = letter else {
        return String::new();
    };
    format!(
        "<details class=\"letter\"><summary>{name} <span class=\"meta\">{}</span></summary><pre>{}</pre></details>\n",
        escape(&letter.file),
        escape(letter.text.trim_end())
    )
}

fn bubble(class: &str, name: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    format!(
        "<div class=\"{class}\"><b>{name}</b><div class=\"text\">{}</div></div>\n",
        escape(text.trim())
    )
}

/// A unified diff, each line in its colour.
fn colored(diff: &str) -> String {
    let mut page = String::with_capacity(diff.len() * 2);
    for line in diff.lines() {
        let class = match line.as_bytes() {
            [b'd', b'i', b'f', b'f', b' ', ..]
            | [b'-', b'-', b'-', b' ', ..]
            | [b'+', b'+', b'+', b' ', ..] => "head",
            [b'@', b'@', ..] => "place",
            [b'+', ..] => "added",
            [b'-', ..] => "removed",
            _ => "same",
        };
        let _ = write!(page, "<span class=\"{class}\">{}</span>", escape(line));
    }
    page
}

/// Text in which nothing is markup, and nothing is hidden.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            hidden if super::is_hidden(hidden) => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

fn time(at: jiff::Timestamp) -> String {
    let at = at.to_zoned(TimeZone::system());
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_model_writes_is_markup() {
        assert_eq!(
            escape("<script>&\"'\u{1b}\u{202e}"),
            "&lt;script&gt;&amp;&quot;&#39;\u{fffd}\u{fffd}"
        );
        assert_eq!(
            colored("+<b>\n-x\n y"),
            "<span class=\"added\">+&lt;b&gt;</span><span class=\"removed\">-x</span><span class=\"same\"> y</span>"
        );
    }
}
