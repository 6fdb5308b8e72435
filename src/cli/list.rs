//! `agent list`: the sessions of this base directory.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::common::Common;
use crate::error::Result;
use crate::services::api::dollars;
use crate::services::list::{self, ListedSession, SessionList, Summary, UsageTotals};
use crate::services::open;
use crate::ui::{Ui, escape_line, shortened};

const EXAMPLES: &str = "\
Examples:
  agent list
  agent list --search parser
  agent list --json

Name a session by its ID, the first few digits of it, its name (`agent rename`), or `latest`.";

/// List the sessions, latest first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {
    /// Only sessions with this word in their name, task, replies or changed files
    #[arg(long, value_name = "WORD")]
    search: Option<String>,
}

/// A session as a script sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionRow<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    task: &'a str,
    state: &'static str,
    is_running: bool,
    round: u32,
    rounds: u32,
    changed_files: usize,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a UsageTotals>,
}

impl List {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let files = open::files(&common.caller(ui)?)?;
        let found = match &self.search {
            Some(word) => list::search(&files, word)?,
            None => list::list(&files)?,
        };
        show(found, self.search.as_deref(), common, ui);
        Ok(ExitCode::SUCCESS)
    }
}

fn show(found: SessionList, word: Option<&str>, common: &Common, ui: &Ui) {
    let SessionList { sessions, troubles } = found;
    for trouble in &troubles {
        ui.error(trouble);
    }
    if common.json {
        for session in &sessions {
            ui.data(&row(session));
        }
        return;
    }
    if let Some(word) = word.filter(|_| sessions.is_empty()) {
        ui.say(&format!(
            "No session here has `{}` in it.",
            escape_line(word)
        ));
        return;
    }
    if sessions.is_empty() {
        ui.say("There are no sessions here yet. `agent new \"<task>\"` starts one.");
        return;
    }
    let now = list::now();
    let columns = ui.columns().unwrap_or(usize::MAX);
    let has_costs = sessions.iter().any(|session| session.usage.is_some());
    let costs = if has_costs {
        CostColumn::Shown
    } else {
        CostColumn::None
    };
    let mut table = heading(costs);
    for session in &sessions {
        table.push('\n');
        table.push_str(&line(session, costs, now, columns));
    }
    ui.line(table.trim_end());
}

/// Says if a column tells what APIs took: only where some session used one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CostColumn {
    None,
    Shown,
}

fn heading(costs: CostColumn) -> String {
    let cost = match costs {
        CostColumn::None => "",
        CostColumn::Shown => "      COST  ",
    };
    format!("ID        STATE      ROUND  FILES      AGE  {cost}TASK")
}

fn line(session: &ListedSession, costs: CostColumn, now: Timestamp, columns: usize) -> String {
    let summary = &session.summary;
    let mut start = format!(
        "{}  {:<8}  {:>6}  {:>5}  {:>7}  ",
        summary.session_id,
        word(summary, session.is_running),
        summary.current_round(),
        summary.changed_files.words(),
        age(now, summary.updated_at),
    );
    if costs == CostColumn::Shown {
        let cost = session.usage.as_ref().map(cost).unwrap_or_default();
        let _ = write!(start, "{cost:>10}  ");
    }
    let room = columns.saturating_sub(start.len());
    let title = match &session.name {
        Some(name) => format!("{name}: {}", summary.title()),
        None => summary.title().to_owned(),
    };
    format!("{start}{}", shortened(&escape_line(&title), room))
}

/// A cost in dollars, or in tokens where no price is known: `~` if it is estimated, `+` if there were
/// answers without a price.
fn cost(usage: &UsageTotals) -> String {
    let about = if usage.usage.is_estimated { "~" } else { "" };
    let more = if usage.unpriced > 0 { "+" } else { "" };
    match (usage.cost_micros, usage.usage.total()) {
        (Some(micros), _) => format!("{about}{}{more}", dollars(micros)),
        (None, tokens @ 0..10_000) => format!("{about}{tokens} tok"),
        (None, tokens) => format!("{about}{}k tok", tokens / 1000),
    }
}

/// Where a session stands, for a person.
pub(super) fn word(session: &Summary, is_running: bool) -> &'static str {
    match session.state().word() {
        "waiting" if is_running => "running",
        word => word,
    }
}

fn row(listed: &ListedSession) -> SessionRow<'_> {
    let session = &listed.summary;
    SessionRow {
        id: session.session_id.as_str(),
        name: listed.name.as_deref(),
        task: &session.task,
        state: session.state().word(),
        is_running: listed.is_running,
        round: session.sequence_number,
        rounds: session.rounds(),
        changed_files: session.changed_files.0,
        created_at: session.created_at,
        updated_at: session.updated_at,
        usage: listed.usage.as_ref(),
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
        let mut listed = ListedSession {
            summary: Summary::of(&session),
            name: None,
            is_running: true,
            usage: None,
        };
        let line = |listed: &ListedSession, costs| line(listed, costs, Timestamp::UNIX_EPOCH, 80);
        listed.usage = Some(UsageTotals {
            cost_micros: Some(1_230_000),
            ..UsageTotals::default()
        });
        let with_cost = line(&listed, CostColumn::Shown);
        assert!(with_cost.contains("0 s       $1.23  "), "{with_cost}");
        assert_eq!(with_cost.chars().count(), 80);
        let line = line(&listed, CostColumn::None);
        assert!(
            line.starts_with("ab12cd34  running        1      0      0 s  \\u{1b}"),
            "{line}"
        );
        assert_eq!(line.chars().count(), 80);
    }
}
