//! `agent show`: the conversation of a session.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use jiff::tz::TimeZone;

use super::common::Common;
use super::list;
use crate::approve::Input;
use crate::error::{Error, ExitKind, Result};
use crate::protocol::Envelope;
use crate::services::export::{self, Letter, Round, Transcript};
use crate::services::find::Session;
use crate::services::follow::{self, FollowEnd};
use crate::services::list::{Summary, now};
use crate::services::open::{self, SessionFiles};
use crate::services::{Caller, find};
use crate::ui::{Ui, count, escape_line, escape_text, heading, quoted};

const EXAMPLES: &str = "\
Examples:
  agent show latest
  agent show ab12 --round 3
  agent show ab12 --json | jq .results
  agent show --follow

Without `--round` each round is summarised; with it you see the full message, reply and results of \
that round.";

/// Show the conversation of a session: messages, replies, results
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    /// The session: its ID, the first few digits of it, or `latest`; by default the latest one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only this round, in full
    #[arg(long, value_name = "N")]
    round: Option<u32>,
    /// Watch the session from another terminal: what happened in this round, and then what happens,
    /// until the session ends
    #[arg(long, conflicts_with = "round")]
    follow: bool,
    /// With `--follow`, begin with the event of this number
    #[arg(long, value_name = "SEQ", requires = "follow")]
    from: Option<u64>,
}

impl Show {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = if self.follow {
            common.acting_caller(ui)?
        } else {
            common.caller(ui)?
        };
        let files = open::files(&caller)?;
        let session = find::find_any(&files.store, ui, self.id.as_deref())?;
        if self.follow {
            return follow(&caller, &files, ui, &session, self.from);
        }
        let transcript = export::rounds(&files, &session, self.round)?;
        if transcript.unreadable_lines > 0 {
            ui.say(&format!(
                "{} of the journal could not be read and are left out.",
                count(transcript.unreadable_lines, "line")
            ));
        }
        if common.json {
            for round in &transcript.rounds {
                ui.data(round);
            }
            return Ok(ExitCode::SUCCESS);
        }
        let text = match (self.round, transcript.rounds.first()) {
            (Some(_), Some(round)) => whole(ui, &session, round),
            _ => overview(ui, &session, &transcript),
        };
        ui.folded_page(&text);
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows events as they come, until the session ends or the person stops.
fn follow(
    caller: &Caller,
    files: &SessionFiles,
    ui: &Ui,
    session: &Session,
    from: Option<u64>,
) -> Result<ExitCode> {
    if ui.has_prompt() {
        return Err(Error::usage("this terminal already shows what happens")
            .hint("`agent show --follow` watches a session from another one"));
    }
    // Nobody is asked here: how to decide elsewhere is told instead.
    let ui = ui.clone().with_input(Input::Refuse).on_output();
    let mut show = |envelope: &Envelope| ui.show(envelope);
    let is_heard = || ui.is_heard();
    match follow::follow(caller, files, session, from, &is_heard, &mut show) {
        FollowEnd::Ended | FollowEnd::Unheard => Ok(ExitCode::SUCCESS),
        FollowEnd::Interrupted => Ok(ExitKind::Interrupted.exit_code().into()),
        FollowEnd::Removed => {
            let id = &session.session_id;
            Err(Error::mendable(format!("session {id} was removed")))
        }
    }
}

/// All rounds in short.
fn overview(ui: &Ui, session: &Session, transcript: &Transcript) -> String {
    let summary = Summary::of(session);
    let is_open = transcript.rounds.last().is_some_and(Round::is_under_way);
    let under_way = if is_open {
        ", the last one under way"
    } else {
        ""
    };
    let mut text = format!(
        "{} ({}), {}{under_way}, {} changed, last saved {} ago\n",
        heading(&format!("Session {}", session.session_id)),
        summary.state().word(),
        count(summary.rounds() as usize + usize::from(is_open), "round"),
        super::status::files_changed(summary.changed_files),
        list::age(now(), session.updated_at),
    );
    if let Some(origin) = &transcript.forked_from {
        let _ = writeln!(
            text,
            "Forked from session {} after round {}",
            origin.session, origin.round
        );
    }
    if let Some(usage) = &transcript.usage {
        let _ = writeln!(text, "By an API: {usage}");
    }
    text.push_str(&quoted("Task", &session.task));
    for round in &transcript.rounds {
        for further in transcript
            .further
            .iter()
            .filter(|one| one.sequence == round.number)
        {
            text.push_str(&quoted("You", &further.text));
        }
        text.push_str(&in_short(ui, round));
    }
    if let Some(last) = transcript.rounds.last() {
        let (id, last) = (&session.session_id, last.number);
        let _ = writeln!(
            text,
            "\n`agent show {id} --round {last}` shows round {last} with all of its texts."
        );
    }
    text
}

fn title(round: &Round) -> String {
    let mut title = format!("\n{}", heading(&format!("Round {}", round.number)));
    if let Some(at) = round.ended_at {
        let at = at.to_zoned(TimeZone::system());
        let _ = write!(title, ", {}", at.strftime("%Y-%m-%d %H:%M"));
    }
    if round.is_undone {
        title.push_str(", undone");
    }
    title.push('\n');
    title
}

fn in_short(ui: &Ui, round: &Round) -> String {
    let mut text = title(round);
    text.push_str(&letter("Message", round.message.as_ref()));
    let Some(reply) = &round.reply else {
        let word = if round.ended_at.is_some() {
            "  Reply: not kept any more\n"
        } else {
            "  Reply: none yet\n"
        };
        text.push_str(word);
        text.push_str(&done(ui, round));
        return text;
    };
    text.push_str(&letter("Reply", Some(reply)));
    text.push_str(&quoted("Model", &round.prose));
    text.push_str(&done(ui, round));
    text
}

fn letter(name: &str, letter: Option<&Letter>) -> String {
    match letter {
        Some(letter) => format!(
            "  {name}: {} ({})\n",
            escape_line(&letter.file),
            count(letter.text.chars().count(), "character")
        ),
        None => format!("  {name}: not kept any more\n"),
    }
}

/// The results of a round, and the words of both sides.
fn done(ui: &Ui, round: &Round) -> String {
    let mut text = String::new();
    for result in &round.results {
        let said = round.said.iter().find(|said| said.number == result.number);
        if let Some(said) = said {
            text.push_str(&quoted(said.heading(), &said.text));
        }
        text.push_str(&ui.step_lines(result, round.number));
    }
    for issue in round.issues.iter().filter(|issue| issue.number.is_some()) {
        let _ = writeln!(
            text,
            "  not used (line {}): {}",
            issue.line,
            escape_line(&issue.message)
        );
    }
    for answer in round
        .questions
        .iter()
        .filter_map(|question| question.answer.as_ref())
    {
        text.push_str(&quoted("You", answer));
    }
    for note in round.own_notes() {
        text.push_str(&quoted("You", note));
    }
    text
}

/// A round with all of its texts.
fn whole(ui: &Ui, session: &Session, round: &Round) -> String {
    let id = &session.session_id;
    let mut text = String::new();
    let mut section = |name: &str, letter: Option<&Letter>| {
        let file = letter.map(|letter| format!(" ({})", escape_line(&letter.file)));
        let title = format!("Round {} of session {id}: {name}", round.number);
        let _ = writeln!(text, "{}{}", heading(&title), file.unwrap_or_default());
        let body = letter.map_or("(nothing, or it is not kept any more)\n", |letter| {
            &letter.text
        });
        let _ = writeln!(text, "{}\n", escape_text(body.trim_end()));
    };
    section("message", round.message.as_ref());
    section("reply", round.reply.as_ref());
    let title = format!("Round {} of session {id}: steps", round.number);
    let back = if round.is_undone { " (undone)" } else { "" };
    let _ = writeln!(text, "{}{back}", heading(&title));
    if let Some(usage) = &round.usage {
        let _ = writeln!(text, "By an API: {usage}");
    }
    for result in &round.results {
        // All of the output follows.
        let mut told = result.clone();
        told.outcome.detail.text.clear();
        text.push_str(&ui.step_lines(&told, round.number));
        for line in result.outcome.detail.text.lines() {
            let _ = writeln!(text, "      {}", escape_text(line));
        }
    }
    if round.changed_files() {
        let _ = writeln!(
            text,
            "\n`agent diff {id} --round {}` shows what it changed.",
            round.number
        );
    }
    text
}
