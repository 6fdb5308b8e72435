//! `agent export`: a transcript to read, to keep or to show to others.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::Common;
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
use crate::services::{choices, export, find, open};
use crate::transcript::{self, Transcript};
use crate::ui::{Ui, count};

const EXAMPLES: &str = "\
Examples:
  agent export latest > session.md
  agent export ab12 --format html -o session.html
  agent export ab12 --format json | jq .rounds[0].results";

/// Write a transcript of a session: one self-contained file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Export {
    /// The session: its ID, the first few digits of it, or `latest`; by default the latest one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Markdown, a single HTML page, or JSON
    #[arg(long, value_name = "FORMAT", default_value = "md")]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Md,
    Html,
    Json,
}

impl Export {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.caller(ui)?;
        let mut files = open::files(&caller)?;
        let session = find::find_any(&files.store, ui, self.id.as_deref())?;
        choices::recall_files(&mut files, &caller, &session)?;
        let transcript = export::transcript(&files, &session)?;
        if transcript.unreadable_lines > 0 {
            ui.say(&format!(
                "{} of the journal could not be read and are left out.",
                count(transcript.unreadable_lines, "line")
            ));
        }
        let text = match self.format {
            Format::Md => transcript::markdown(&transcript),
            Format::Html => transcript::html(&transcript),
            Format::Json => json(&transcript)?,
        };
        match &self.output {
            Some(path) => {
                write_atomic(path, text.as_bytes(), Durability::Atomic)?;
                ui.say(&format!("Written to `{}`.", path.display()));
            }
            None => ui.text(&text),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn json(transcript: &Transcript) -> Result<String> {
    crate::json::to_lines(transcript)
        .map(|text| text + "\n")
        .map_err(|cause| {
            Error::mendable("could not write the transcript")
                .because(cause)
                .hint("name another file: `-o FILE`")
        })
}
