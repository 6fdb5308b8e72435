//! `agent apply`: one reply, applied to a workspace.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Common, step};
use crate::agent::announce;
use crate::agent::apply::{Applying, Difference, Rehearsal, is_complete};
use crate::error::{Error, Kind, Result};
use crate::interrupt::Interrupt;
use crate::protocol::{Command, Event, Level, Status, Step, StepResult};
use crate::reply::{self, Issue, Repair, Reply, TruncatedReply};
use crate::services::guard::Testing;
use crate::services::open;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent apply --dry-run reply.md
  agent apply reply.md
  agent apply --json - < reply.md";

/// Apply one chat reply to a workspace, without a session
///
/// Works on the workspace of this base directory, or on the current directory if there is none.
/// Writes nothing but files of the workspace.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Apply {
    /// The reply, `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    reply: PathBuf,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// A step as a script sees it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    step: u32,
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    status: Status,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    level: Option<Level>,
}

/// The last line for a script.
#[derive(Debug, Serialize)]
struct Rest<'a> {
    summary: Summary,
    repairs: &'a [Repair],
    issues: &'a [Issue],
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<&'a TruncatedReply>,
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    ok: usize,
    failed: usize,
    refused: usize,
    skipped: usize,
}

impl Apply {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let bytes = step::read(&self.reply)?;
        let testing = if runs_programs(&checked(reply::read(&bytes))?.1) {
            Testing::Unremembered
        } else {
            Testing::Unneeded
        };
        let place = open::place(&common.caller(ui), testing)?;
        let (mark, reply) = checked(reply::read_in(place.workspace.path(), &bytes))?;
        let interrupt = Interrupt::from_signals()?;
        // A script gets the results, and no events.
        let person = if common.json { ui.muted() } else { ui.clone() };
        let applying = Applying {
            base: &place.base,
            workspace: &place.workspace,
            limits: &place.limits,
            permit: &place.permit,
            person: &person,
            on_failure: place.on_failure,
            interrupt: &interrupt,
            mark,
        };
        let teller = Teller {
            ui,
            json: common.json,
        };
        teller.begin(&reply);
        if self.dry_run && !common.json {
            ui.say("Dry run: nothing changed.");
        }
        let results = if self.dry_run {
            rehearse(&applying, &reply, &teller)?
        } else {
            applying.run(&reply, &mut |step, result| teller.step(step, result))?
        };
        teller.end(&applying, &reply, &results);
        Ok(if interrupt.is_raised() {
            Kind::Interrupted.exit_code().into()
        } else if is_complete(&reply, &results) {
            ExitCode::SUCCESS
        } else {
            Kind::NotApplied.exit_code().into()
        })
    }
}

/// What tells the reply from others, and the reply, if it asks for something.
fn checked((text, reply): (String, Reply)) -> Result<(String, Reply)> {
    if reply::is_outbox(&text) {
        return Err(Error::new(
            Kind::NotApplied,
            "this is a message of ours, not the chat's reply to it",
        )
        .hint("paste it into the chat, and give the reply to `agent apply`"));
    }
    if reply.steps.is_empty() && reply.issues.is_empty() && reply.cut.is_none() {
        return Err(Error::new(
            Kind::NotApplied,
            "the reply asks for nothing that could be applied",
        )
        .hint("`agent parse FILE` shows what was understood"));
    }
    let mark = blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
    Ok((mark, reply))
}

/// Whether a program is going to be started.
fn runs_programs(reply: &Reply) -> bool {
    let is_one = |step: &Step| {
        matches!(
            step.command,
            Command::RunCommand { .. } | Command::GitStatus { .. } | Command::GitDiff { .. }
        )
    };
    reply.steps.iter().any(is_one)
}

/// Tries the reply on a copy and shows the difference; commands are not run.
fn rehearse(
    applying: &Applying<'_>,
    reply: &Reply,
    teller: &Teller<'_>,
) -> Result<Vec<StepResult>> {
    let rehearsal = Rehearsal::prepare(
        applying.workspace,
        &reply.steps,
        applying.limits.max_file_bytes,
    )?;
    let results = applying.rehearse(&rehearsal, reply, &mut |step, result| {
        teller.step(step, result);
    })?;
    for difference in rehearsal.differences(applying.workspace) {
        teller.difference(&difference);
    }
    Ok(results)
}

/// Tells what happens, to a person or to a script.
struct Teller<'a> {
    ui: &'a Ui,
    json: bool,
}

impl Teller<'_> {
    fn begin(&self, reply: &Reply) {
        if self.json {
            return;
        }
        for repair in reply.repairs.iter().cloned() {
            self.ui.tell(&Event::Repaired { repair });
        }
        for issue in reply.issues.iter().cloned() {
            self.ui.tell(&Event::Issue { issue });
        }
        if let Some(cut) = &reply.cut {
            let text = format!(
                "  cut off in {} (line {}): it was not applied. Ask the chat for the rest.",
                cut.what, cut.line
            );
            self.ui.say(&text);
        }
    }

    fn step(&self, step: &Step, result: Option<&StepResult>) {
        let Some(result) = result else {
            if !self.json {
                announce(self.ui, step);
            }
            return;
        };
        if self.json {
            self.ui.data(&Row {
                step: result.number,
                command: &result.command,
                path: step.command.path().map(crate::protocol::RelPath::as_str),
                status: result.outcome.status,
                message: &result.outcome.message,
                detail: &result.outcome.detail.text,
                level: result.outcome.level,
            });
            return;
        }
        self.ui.tell(&Event::Step {
            result: result.clone(),
            differences: Vec::new(),
        });
        let shows_output = result.outcome.status == Status::Ok && !step.command.changes_files();
        if shows_output && !result.outcome.detail.is_empty() {
            self.ui.text(&result.outcome.detail.text);
        }
    }

    fn difference(&self, difference: &Difference) {
        if !self.json {
            self.ui.difference(
                difference.path.as_str(),
                difference.before.as_deref(),
                difference.after.as_deref(),
            );
        }
    }

    fn end(&self, applying: &Applying<'_>, reply: &Reply, results: &[StepResult]) {
        if self.json {
            let mut summary = Summary::default();
            for result in results {
                match result.outcome.status {
                    Status::Ok => summary.ok += 1,
                    Status::Failed => summary.failed += 1,
                    Status::Refused => summary.refused += 1,
                    Status::Skipped => summary.skipped += 1,
                }
            }
            self.ui.data(&Rest {
                summary,
                repairs: &reply.repairs,
                issues: &reply.issues,
                cut: reply.cut.as_ref(),
            });
            return;
        }
        for content in applying.contents(reply, results) {
            self.ui
                .text(&format!("{}\n{}", content.heading(), content.body()));
        }
    }
}
