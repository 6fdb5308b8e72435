//! `agent status`: where things stand and what to do now.

pub(super) mod waiting;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Common, approve, choices, list, open, resume};
use crate::agent::message_of;
use crate::compose::{Meter, measure};
use crate::error::Result;
use crate::mailbox::Posted;
use crate::protocol::{Status as Became, StepResult};
use crate::session::{Count, LoopLock, Session, Summary};
use crate::ui::{Ui, count, escape_line, heading, length, shown, space};

const EXAMPLES: &str = "\
Examples:
  agent status
  agent status ab12
  agent status --json latest";

/// Show where the session stands and what to do next
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatusArgs {
    /// The session: its ID, the first few digits of it, or `latest`; by default the latest
    /// unfinished one
    #[arg(value_name = "ID")]
    id: Option<String>,
}

impl StatusArgs {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let mut agent = open::files(common, ui)?;
        let mut session = resume::find(&agent.store, &agent.ui, self.id.as_deref())?;
        choices::recall_files(&mut agent, common, &session)?;
        let id = session.session_id.clone();
        let posted = agent.mailbox.posted(&id, session.sequence_number);
        let message = posted.as_ref().map(|posted| Message::of(&agent, posted));
        if common.json {
            agent.ui.data(&Report {
                session: &session,
                message,
            });
            return Ok(ExitCode::SUCCESS);
        }
        agent
            .ui
            .folded_page(&standing(&agent, &session, message.as_ref()));
        let pending = approve::show_pending(&agent, &id);
        let next = next(&agent, &mut session, posted.as_ref(), pending);
        let mut text = format!("\n{}\n", heading("What to do now"));
        for line in next {
            let _ = writeln!(text, "  {line}");
        }
        agent.ui.folded_page(&text);
        Ok(ExitCode::SUCCESS)
    }
}

/// Where the session stands, in a few lines.
fn standing(agent: &open::Files, session: &Session, message: Option<&Message<'_>>) -> String {
    let summary = Summary::of(session);
    let task = session.task.lines().next().unwrap_or_default();
    let mut text = format!(
        "{} ({}): {}\n",
        heading(&format!("Session {}", session.session_id)),
        summary.state().word(),
        escape_line(task)
    );
    let _ = writeln!(
        text,
        "Round {} of at most {}, {} changed, last saved {} ago",
        session.sequence_number,
        session.round_limit,
        files_changed(summary.changed_files),
        list::age(crate::session::now(), summary.updated_at),
    );
    let _ = writeln!(text, "Workspace {}", shown(&agent.workspace));
    let is_taken = !session.is_complete && waiting::is_taken(agent, session);
    if is_taken {
        let _ = writeln!(
            text,
            "The reply to it is taken, and not carried out to its end"
        );
    } else if !session.last_results.is_empty() {
        let _ = writeln!(text, "The last reply: {}", tally(&session.last_results));
    }
    if let Some(line) = choices::check_line(&agent.store, &agent.check, session) {
        let _ = writeln!(text, "{line}");
    }
    if let Some(message) = message {
        let _ = writeln!(text, "{message}");
    }
    let notes = agent.store.notes(&session.session_id).all().len();
    if notes > 0 {
        let _ = writeln!(
            text,
            "The message after it tells the model {}",
            count(notes, "note")
        );
    }
    text
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

/// What the person does next, a line each.
fn next(
    agent: &open::Files,
    session: &mut Session,
    posted: Option<&Posted>,
    pending: usize,
) -> Vec<String> {
    let id = session.session_id.clone();
    let running = LoopLock::holder(agent.store.directory()).and_then(|holder| holder.session);
    let is_running = running.as_ref() == Some(&id);
    if session.is_complete {
        return vec![
            format!(
                "It has ended. `agent resume {id} \"...\"` goes on with a further instruction."
            ),
            "`agent diff` shows what the last round changed, `agent undo` undoes it.".to_owned(),
        ];
    }
    let mut next = Vec::new();
    let is_taken = waiting::is_taken(agent, session);
    if pending > 0 {
        next.push(
            "Decide with: agent approve [N|all], or agent decline [N|all] --reason \"...\""
                .to_owned(),
        );
    } else if let Some(question) = session.open_question() {
        next.push(format!(
            "The model asks: {}",
            escape_line(&question.question)
        ));
        next.push("Answer with: agent say \"...\"".to_owned());
    } else if is_taken && is_running {
        next.push("Wait: the reply is being carried out.".to_owned());
    } else if is_taken {
        next.push(format!(
            "Nothing is to be pasted: `agent resume {id}` carries the reply out to its end."
        ));
    } else if let Some(name) = waiting::in_inbox(agent, session).filter(|_| !is_running) {
        let name = escape_line(&name);
        next.push(format!(
            "A reply is waiting in the inbox, `{name}`: `agent resume {id}` takes it."
        ));
    } else {
        next.extend(paste(posted, agent.mailbox.inbox()));
    }
    let is_told = next.iter().any(|line| line.contains("agent resume"));
    if !is_running && !is_told {
        next.push(format!(
            "`agent` is not running: `agent resume {id}` continues."
        ));
    }
    next.extend(waiting::others(&agent.store, session));
    next
}

pub(super) fn files_changed(count: Count) -> String {
    let plural = if count.0 == 1 { "" } else { "s" };
    format!("{} file{plural}", count.words())
}

/// What `--json` tells.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    session: &'a Session,
    message: Option<Message<'a>>,
}

/// The message that is to be pasted.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(flatten)]
    posted: &'a Posted,
    #[serde(flatten)]
    meter: Meter,
    chat: &'a str,
    percent: usize,
}

impl<'a> Message<'a> {
    fn of(agent: &open::Files, posted: &'a Posted) -> Self {
        let meter = measure(&message_of(posted));
        Self {
            posted,
            percent: agent
                .carriage
                .limit_of(posted.attachment.as_deref())
                .percent(&meter),
            chat: &agent.chat.name,
            meter,
        }
    }
}

impl std::fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let takes = self.meter.takes.iter();
        write!(
            f,
            "Its message: {}, {} % of what `{}` takes ({})",
            length(self.meter.characters, self.meter.tokens),
            self.percent,
            self.chat,
            space(
                &takes
                    .map(|takes| (takes.what.to_owned(), takes.characters))
                    .collect()
            )
        )
    }
}

/// What to do with a message that waits.
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
