//! `agent parse`: what a reply asks for.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::step;
use crate::error::Result;
use crate::protocol::EndMark;
use crate::reply::{self, Issue, Repair, TruncatedReply};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent parse reply.md
  agent parse - < reply.md";

/// Show what a reply asks for: commands as JSON, one per line; touches nothing
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Parse {
    /// The reply, `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    reply: PathBuf,
}

/// The last line: what is not a command.
#[derive(Debug, Serialize)]
struct UnreadLines<'a> {
    summary: ParsedSummary,
    repairs: &'a [Repair],
    issues: &'a [Issue],
    prose: &'a str,
    end: Option<&'a EndMark>,
    cut: Option<&'a TruncatedReply>,
}

#[derive(Debug, Serialize)]
struct ParsedSummary {
    commands: usize,
}

impl Parse {
    pub(super) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let bytes = step::read(&self.reply, ui)?;
        let (_, reply) = reply::read(&bytes);
        for step in &reply.steps {
            ui.data(step);
        }
        ui.data(&UnreadLines {
            summary: ParsedSummary {
                commands: reply.steps.len(),
            },
            repairs: &reply.repairs,
            issues: &reply.issues,
            prose: &reply.prose,
            end: reply.end.as_ref(),
            cut: reply.cut.as_ref(),
        });
        Ok(ExitCode::SUCCESS)
    }
}
