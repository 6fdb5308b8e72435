//! `agent apply`: one reply, applied to a workspace.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::common::Common;
use super::step;
use crate::error::{ExitKind, Result};
use crate::protocol::{Event, Level, PersonAct, Status, Step, StepResult};
use crate::reply::{Issue, Repair, Reply, TruncatedReply};
use crate::services::apply::{self, AppliedReply, ApplyMode, announce};
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
struct AppliedStep<'a> {
    step: u32,
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    status: Status,
    message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    hint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_person: Option<PersonAct>,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    level: Option<Level>,
}

/// The last line for a script.
#[derive(Debug, Serialize)]
struct Rest<'a> {
    summary: AppliedSummary,
    repairs: &'a [Repair],
    issues: &'a [Issue],
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<&'a TruncatedReply>,
}

#[derive(Debug, Default, Serialize)]
struct AppliedSummary {
    ok: usize,
    failed: usize,
    refused: usize,
    skipped: usize,
}

impl Apply {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let mut caller = common.acting_caller(ui)?;
        if common.json {
            // A script gets the results, and no events.
            caller.person = Arc::new(ui.muted());
        }
        let prepared = apply::prepare(&caller, &step::read(&self.reply, ui)?)?;
        let teller = Teller {
            ui,
            json: common.json,
        };
        teller.begin(&prepared.reply);
        let mode = if self.dry_run {
            ApplyMode::DryRun
        } else {
            ApplyMode::Real
        };
        if mode == ApplyMode::DryRun && !common.json {
            ui.say("Dry run: nothing changed.");
        }
        let applied = prepared.apply(mode, &mut |step, result| teller.step(step, result))?;
        teller.end(&prepared.reply, &applied);
        Ok(if caller.interrupt.is_raised() {
            ExitKind::Interrupted.exit_code().into()
        } else if applied.is_complete {
            ExitCode::SUCCESS
        } else {
            ExitKind::NotApplied.exit_code().into()
        })
    }
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
            self.ui.data(&AppliedStep {
                step: result.number,
                command: &result.command,
                path: step.command.path().map(crate::protocol::RelPath::as_str),
                status: result.outcome.status,
                message: result.outcome.message_and_remarks(),
                hint: &result.outcome.hint,
                by_person: result.outcome.by_person,
                detail: &result.outcome.detail.text,
                level: result.outcome.level,
            });
            return;
        }
        let shows_output = result.outcome.status == Status::Ok && !step.command.changes_files();
        let mut told = result.clone();
        if shows_output {
            // All of it follows.
            told.outcome.detail.text.clear();
        }
        self.ui.tell(&Event::Step {
            result: told,
            differences: Vec::new(),
        });
        if shows_output && !result.outcome.detail.is_empty() {
            self.ui.text(&result.outcome.detail.text);
        }
    }

    fn end(&self, reply: &Reply, applied: &AppliedReply) {
        if self.json {
            let mut summary = AppliedSummary::default();
            for result in &applied.results {
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
        for difference in &applied.differences {
            self.ui.difference(
                difference.path.as_str(),
                difference.before.as_deref(),
                difference.after.as_deref(),
            );
        }
        for content in &applied.contents {
            self.ui
                .text(&format!("{}\n{}", content.heading(), content.body()));
        }
    }
}
