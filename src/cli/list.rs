//! `agent list`: the sessions of this base directory.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::{Common, open};
use crate::error::Result;
use crate::session::Session;
use crate::ui::{Ui, escape_line};

/// List the sessions, the latest first
#[derive(Debug, Args)]
pub(super) struct List {}

/// A session as a script sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    id: &'a str,
    task: &'a str,
    state: &'static str,
    round: u32,
    updated_at: Timestamp,
}

pub(super) fn run(common: &Common, ui: Ui) -> Result<ExitCode> {
    let agent = open::files(common, ui)?;
    let (sessions, troubles) = agent.store.all()?;
    for trouble in &troubles {
        agent.ui.error(trouble);
    }
    if sessions.is_empty() {
        agent
            .ui
            .say("There are no sessions here yet. `agent new \"<task>\"` begins one.");
    }
    for session in &sessions {
        let row = row(session);
        if common.json {
            agent.ui.data(&row);
        } else {
            let task = row.task.lines().next().unwrap_or_default();
            let task: String = task.chars().take(60).collect();
            let age = age(Timestamp::now(), row.updated_at);
            agent.ui.line(&format!(
                "{}  {:<8}  round {:<3}  {age:>8}  {}",
                row.id,
                row.state,
                row.round,
                escape_line(&task)
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(session: &Session) -> Row<'_> {
    Row {
        id: session.session_id.as_str(),
        task: &session.task,
        state: state(session),
        round: session.sequence_number,
        updated_at: session.updated_at,
    }
}

/// One word for where a session stands.
pub(super) fn state(session: &Session) -> &'static str {
    if session.is_complete {
        "done"
    } else if session.is_at_limit() {
        "at limit"
    } else if session
        .questions
        .iter()
        .any(|question| question.answer.is_none())
    {
        "asks"
    } else {
        "waiting"
    }
}

/// How long ago, in the largest fitting unit.
fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_largest_fitting_unit() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        for (seconds, expected) in [
            (5, "5 s"),
            (300, "5 min"),
            (7_300, "2 h"),
            (200_000, "2 d"),
            (-50, "0 s"),
        ] {
            let then = Timestamp::from_second(1_000_000 - seconds).unwrap();
            assert_eq!(age(now, then), expected);
        }
    }
}
