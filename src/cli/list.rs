//! `agent list`: the sessions of this base directory.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::common::Common;
use crate::error::Result;
use crate::services::list::{self, SessionList, Summary};
use crate::services::open;
use crate::ui::{Ui, escape_line, shortened};

const EXAMPLES: &str = "\
Examples:
  agent list
  agent list --json

Name a session by its ID, the first few digits of it, or `latest`.";

/// List the sessions, latest first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {}

/// A session as a script sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    id: &'a str,
    task: &'a str,
    state: &'static str,
    is_running: bool,
    round: u32,
    rounds: u32,
    changed_files: usize,
    created_at: Timestamp,
    updated_at: Timestamp,
}

pub(super) fn run(common: &Common, ui: &Ui) -> Result<ExitCode> {
    let files = open::files(&common.caller(ui)?)?;
    let SessionList { sessions, troubles } = list::list(&files)?;
    for trouble in &troubles {
        ui.error(trouble);
    }
    if common.json {
        for (session, is_running) in &sessions {
            ui.data(&row(session, *is_running));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if sessions.is_empty() {
        ui.say("There are no sessions here yet. `agent new \"<task>\"` begins one.");
        return Ok(ExitCode::SUCCESS);
    }
    let now = list::now();
    let mut table = format!("{HEADING}\n");
    for (session, is_running) in &sessions {
        let columns = ui.columns().unwrap_or(usize::MAX);
        table.push_str(&line(session, *is_running, now, columns));
        table.push('\n');
    }
    ui.line(table.trim_end());
    Ok(ExitCode::SUCCESS)
}

const HEADING: &str = "ID        STATE     ROUNDS  FILES      AGE  TASK";

fn line(session: &Summary, is_running: bool, now: Timestamp, columns: usize) -> String {
    let start = format!(
        "{}  {:<8}  {:>6}  {:>5}  {:>7}  ",
        session.session_id,
        word(session, is_running),
        session.rounds(),
        session.changed_files.words(),
        age(now, session.updated_at),
    );
    let room = columns.saturating_sub(start.len());
    format!("{start}{}", shortened(&escape_line(session.title()), room))
}

/// Where a session stands, for a person.
fn word(session: &Summary, is_running: bool) -> &'static str {
    match session.state().word() {
        "waiting" if is_running => "running",
        word => word,
    }
}

fn row(session: &Summary, is_running: bool) -> Row<'_> {
    Row {
        id: session.session_id.as_str(),
        task: &session.task,
        state: session.state().word(),
        is_running,
        round: session.sequence_number,
        rounds: session.rounds(),
        changed_files: session.changed_files.0,
        created_at: session.created_at,
        updated_at: session.updated_at,
    }
}

/// How long ago, in the largest fitting unit.
pub(super) fn age(now: Timestamp, then: Timestamp) -> String {
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

    #[test]
    fn a_line_fits_the_terminal_and_cannot_forge_another() {
        let mut session = crate::session::tests::session("ab12cd34");
        session.task = format!("\x1b[2J{}\nsecond line", "long ".repeat(40));
        let line = line(&Summary::of(&session), true, Timestamp::UNIX_EPOCH, 80);
        assert!(
            line.starts_with("ab12cd34  running        0      0      0 s  \\u{1b}"),
            "{line}"
        );
        assert_eq!(line.chars().count(), 80);
    }
}
