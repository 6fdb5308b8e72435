//! `agent status`: where things stand and what to do now.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::common::Common;
use super::list;
use crate::error::Result;
use crate::protocol::{SessionId, Status as Became, StepResult};
use crate::services::find::Session;
use crate::services::list::{Summary, UsageTotals, now};
use crate::services::status::{
    self, CheckStanding, Count, MessageStanding, Posted, SessionStanding,
};
use crate::services::undo::named;
use crate::ui::{Ui, count, escape_line, heading, length, quoted, shown, space, what_next};

/// How many other sessions are named.
const NAMED: usize = 3;

const EXAMPLES: &str = "\
Examples:
  agent status
  agent status ab12
  agent status --json latest";

/// Show where the session stands and what to do next
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatusArgs {
    /// The session: its ID, the first few digits of it, or `latest`; by default the latest one,
    /// or an earlier one that asks
    #[arg(value_name = "ID")]
    id: Option<String>,
}

impl StatusArgs {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let standing = status::status(&common.caller(ui)?, self.id.as_deref())?;
        if common.json {
            ui.data(&StatusReport {
                session: &standing.session,
                usage: standing.usage.as_ref(),
                message: standing.message.as_ref(),
            });
            return Ok(ExitCode::SUCCESS);
        }
        if standing.session.is_complete && standing.questions.is_empty() {
            ui.folded_page(&ended(&standing));
            return Ok(ExitCode::SUCCESS);
        }
        ui.folded_page(&in_short(&standing, ui));
        for question in &standing.questions {
            // No key shows the rest here.
            ui.show_unfolded(&question.changes_ahead());
            ui.show_unfolded([&question.event()]);
        }
        let mut text = format!("\n{}\n", heading("What to do now"));
        for line in next(&standing) {
            let _ = writeln!(text, "  {line}");
        }
        ui.folded_page(&text);
        Ok(ExitCode::SUCCESS)
    }
}

/// Tells what was done in a session that has ended, where the files are, and how to continue.
fn ended(standing: &SessionStanding) -> String {
    let session = &standing.session;
    let summary = Summary::of(session);
    let mut text = format!(
        "{} (done): {}\n{}, {} changed, ended {} ago\nThe files are in {}\n",
        heading(&format!("Session {}", session.session_id)),
        escape_line(summary.title()),
        count(summary.rounds() as usize, "round"),
        files_changed(summary.changed_files),
        list::age(now(), summary.updated_at),
        shown(&standing.files.workspace),
    );
    if let Some(check) = &standing.check {
        let _ = writeln!(text, "{}", check_line(check));
    }
    if let Some(usage) = &standing.usage {
        let _ = writeln!(text, "By an API: {usage}");
    }
    if let Some(said) = session
        .summary
        .as_ref()
        .filter(|said| !said.trim().is_empty())
    {
        let _ = writeln!(text, "{}", quoted("The model says", said).trim_end());
    }
    let _ = writeln!(text, "\n{}", heading("What to do now"));
    let changed = (!session.changed_files.is_empty()).then_some(&*standing.files.workspace);
    text.push_str(&what_next(changed, session.session_id.as_str()));
    if !standing.redoable.is_empty() {
        let _ = writeln!(
            text,
            "  redo    agent redo (brings back {})",
            named(&standing.redoable)
        );
    }
    if let Some(others) = others_line(&standing.others) {
        let _ = writeln!(text, "{others}");
    }
    text
}

/// Where the session stands, in a few lines.
fn in_short(standing: &SessionStanding, ui: &Ui) -> String {
    let session = &standing.session;
    let summary = Summary::of(session);
    let mut text = format!(
        "{} ({}): {}\n",
        heading(&format!("Session {}", session.session_id)),
        list::word(&summary, standing.is_running),
        escape_line(summary.title())
    );
    let _ = writeln!(
        text,
        "{}, {} changed, last saved {} ago",
        round_of(session),
        files_changed(summary.changed_files),
        list::age(now(), summary.updated_at),
    );
    let _ = writeln!(text, "Workspace {}", shown(&standing.files.workspace));
    if let Some(calls) = standing.calls {
        let _ = writeln!(text, "{}", calls_line(calls, standing.is_running));
    } else if standing.is_taken {
        let _ = writeln!(
            text,
            "The reply to its message is taken, and not carried out to its end"
        );
    } else if !session.last_results.is_empty() {
        let _ = writeln!(text, "The last reply: {}", tally(&session.last_results));
    }
    if let Some(check) = &standing.check {
        let _ = writeln!(text, "{}", check_line(check));
    }
    if let Some(usage) = &standing.usage {
        let _ = writeln!(text, "By an API: {usage}");
    }
    if let Some(message) = (standing.message.as_ref()).filter(|it| ui.tells_size(it.percent)) {
        let _ = writeln!(text, "{}", message_line(message));
    }
    if standing.notes > 0 {
        let notes = count(standing.notes, "note");
        let _ = writeln!(text, "{notes} for the model, with the next message");
    }
    text
}

/// How far a client has come that makes calls, in a line.
fn calls_line(calls: usize, is_running: bool) -> String {
    let calls = count(calls, "call");
    if is_running {
        format!("A client is connected: {calls} in this round so far")
    } else {
        format!("The client is gone: {calls} in this round, which has not ended")
    }
}

/// `Round 3 of at most 20`; a session at its limit has no further round.
fn round_of(session: &Session) -> String {
    let (round, limit) = (session.sequence_number, session.round_limit);
    if round > limit {
        format!("All {} are used", count(limit as usize, "round"))
    } else {
        format!("Round {round} of at most {limit}")
    }
}

/// How the check stands, in a line.
pub(super) fn check_line(check: &CheckStanding) -> String {
    let outcome = check.outcome.as_ref();
    let state = match outcome.map(|outcome| (outcome.status, outcome.line("you"))) {
        Some((Became::Ok, message)) => format!("passes ({message})"),
        Some((Became::Failed, message)) => format!("fails ({message})"),
        Some((Became::Refused, message)) => format!("is refused ({message})"),
        Some((Became::Skipped, _))
            if outcome.is_some_and(|outcome| outcome.exit_code.is_some()) =>
        {
            "cannot run here".to_owned()
        }
        Some((Became::Skipped, _)) | None => "has not run yet".to_owned(),
    };
    let since = if check.is_outdated {
        "; it has not run since rounds were undone or redone"
    } else {
        ""
    };
    escape_line(&format!("The check `{}` {state}{since}", check.command))
}

/// A line about the other sessions that are not finished; nothing if there are none.
pub(super) fn others_line(others: &[Summary]) -> Option<String> {
    let named = others.iter().take(NAMED).map(|one| {
        let title: String = one.title().chars().take(40).collect();
        format!("{} ({})", one.session_id, escape_line(&title))
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return None;
    }
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    Some(format!(
        "Not finished: {}{more}; `agent resume ID` continues one.",
        named.join(", ")
    ))
}

/// `3 ok, 1 failed`.
fn tally(results: &[StepResult]) -> String {
    let words = [Became::Ok, Became::Failed, Became::Refused, Became::Skipped].map(|status| {
        let has = |result: &&StepResult| result.outcome.status == status;
        let number = results.iter().filter(has).count();
        (number > 0).then(|| format!("{number} {}", status.label().to_ascii_lowercase()))
    });
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The next actions of the person, a line each.
fn next(standing: &SessionStanding) -> Vec<String> {
    let id = &standing.session.session_id;
    let (is_running, is_taken) = (standing.is_running, standing.is_taken);
    let waiting = standing.reply_in_inbox.as_ref().filter(|_| !is_running);
    let (mut next, names_resume) = if !standing.questions.is_empty() {
        // `all` means steps; another question has a name.
        let which = match standing.questions.as_slice() {
            [only] if only.name.is_empty() => String::new(),
            [only] => format!(" {}", only.key()),
            _ => " [N|all]".to_owned(),
        };
        let decide =
            format!("Decide with: agent approve{which}, or agent decline{which} \"<why>\"");
        (vec![decide], false)
    } else if let Some(question) = &standing.model_question {
        let asks = format!("The model asks: {}", escape_line(question));
        (
            vec![asks, "Answer with: agent say \"...\"".to_owned()],
            false,
        )
    } else if standing.calls.is_some() && is_running {
        let wait =
            "Wait: the chat works by itself. `agent diff` shows what this round has changed.";
        (vec![wait.to_owned()], false)
    } else if standing.calls.is_some() {
        let resume = format!(
            "`agent resume {id}` ends the round and continues by pasting; the client can also connect again."
        );
        (vec![resume], true)
    } else if is_taken && is_running {
        let wait = "Wait: the reply is being carried out.";
        (vec![wait.to_owned()], false)
    } else if is_taken {
        let resume = format!(
            "Nothing is to be pasted: `agent resume {id}` goes on. A command that was stopped halfway is not run again, nor is what follows it: the model is told."
        );
        (vec![resume], true)
    } else if let Some(name) = waiting {
        let name = escape_line(name);
        let resume =
            format!("A reply is waiting in the inbox, `{name}`: `agent resume {id}` takes it.");
        (vec![resume], true)
    } else if let Some(api) = &standing.files.api {
        (ask_api(standing, &escape_line(api)), true)
    } else {
        let inbox = standing.files.mailbox.inbox();
        let mut lines = paste(standing.posted(), inbox);
        if standing.has_held_answer {
            lines.push(held_answer_line(id));
        }
        (lines, false)
    };
    if !is_running && !names_resume && !standing.session.is_complete {
        next.push(format!(
            "`agent` is not running: `agent resume {id}` continues."
        ));
    }
    if !standing.redoable.is_empty() {
        next.push(format!(
            "`agent redo` brings back {}.",
            named(&standing.redoable)
        ));
    }
    next.extend(others_line(&standing.others));
    next
}

/// Tells of an answer that only the API's courier would use.
pub(super) fn held_answer_line(id: &SessionId) -> String {
    format!(
        "An answer of the API to this round is kept: `agent resume {id} --api NAME` uses it, pasting does not."
    )
}

/// The next actions where an API carries the messages.
fn ask_api(standing: &SessionStanding, api: &str) -> Vec<String> {
    let id = &standing.session.session_id;
    if standing.is_running {
        return vec![format!("Wait: `{api}` is asked for the reply.")];
    }
    let mut lines = vec![if standing.has_held_answer {
        format!("An answer of the API to this round is kept: `agent resume {id}` uses it.")
    } else {
        format!("`agent resume {id}` asks `{api}` for the reply.")
    }];
    let why = standing.api_stop.as_deref();
    lines.extend(why.map(|why| format!("It stopped because {}.", escape_line(why))));
    lines.push(format!(
        "`agent resume {id} --api off` continues by pasting instead."
    ));
    lines
}

pub(super) fn files_changed(count: Count) -> String {
    let plural = if count.0 == 1 { "" } else { "s" };
    format!("{} file{plural}", count.words())
}

/// The report of `--json`.
#[derive(Serialize)]
struct StatusReport<'a> {
    #[serde(flatten)]
    session: &'a Session,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a UsageTotals>,
    message: Option<&'a MessageStanding>,
}

fn message_line(message: &MessageStanding) -> String {
    let takes = message.meter.takes.iter();
    let takes = takes.map(|takes| (takes.what.to_owned(), takes.characters));
    let limit = match message.chat {
        "generic" => "the limit of a message".to_owned(),
        chat => format!("the limit of `{chat}`"),
    };
    format!(
        "Its message: {}, {}% of {limit} ({})",
        length(message.meter.characters, message.meter.tokens),
        message.percent,
        space(&takes.collect())
    )
}

/// Tells the person how to send the waiting message.
pub(super) fn paste(posted: Option<&Posted>, inbox: &Path) -> Vec<String> {
    let Some(posted) = posted else {
        return Vec::new();
    };
    let inbox = shown(inbox);
    let mut lines = Vec::new();
    match (&posted.attachment, posted.pastes.as_slice()) {
        (None, [paste]) => lines.push(format!(
            "Paste {} into the chat; `agent copy` puts it on the clipboard.",
            shown(paste)
        )),
        (None, parts) => {
            lines.push(
                "Paste these into the chat, one after the other (`agent copy --part N`):"
                    .to_owned(),
            );
            lines.extend(parts.iter().map(|part| format!("  {}", shown(part))));
        }
        (Some(file), pastes) => {
            for paste in pastes {
                lines.push(format!(
                    "Paste {} into the chat and drag {} into it.",
                    shown(paste),
                    shown(file)
                ));
            }
        }
    }
    lines.push(format!(
        "Copy its reply, then: `agent paste`, or paste it where `agent` waits, or save it in {inbox}"
    ));
    lines
}
