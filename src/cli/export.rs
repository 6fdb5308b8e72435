//! `agent export`: a transcript to read, to keep or to show to others.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::{Common, choices, open, resume};
use crate::agent::{credentials, kept_secrets};
use crate::checkpoint::DiffLimits;
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
use crate::secrets::{Scanner, TextSource};
use crate::transcript::{self, Transcript};
use crate::ui::{Ui, count};
use crate::workspace::Workspace;

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
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let mut files = open::files(common, ui)?;
        let session = resume::find_any(&files.store, &files.ui, self.id.as_deref())?;
        choices::recall_files(&mut files, common, &session)?;
        let transcript = Transcript::gather(&session, &files.store, &files.mailbox, None)?
            .with_diffs(&files.store.objects(), &DiffLimits::default());
        // What leaves the machine with a transcript is what leaves it with a message.
        let vault = RefCell::new(kept_secrets(&files.store, &session.session_id));
        let scanner = Scanner::default();
        let workspace = Workspace::open(&files.workspace).ok();
        let credentials = workspace.map(|workspace| credentials(&workspace, &scanner));
        let credentials = credentials.unwrap_or_default();
        vault.borrow_mut().spare(credentials.plain());
        let redact = |text: &str| {
            let mut vault = vault.borrow_mut();
            vault.foresee(&credentials, text);
            vault.redact(&scanner, text, TextSource::Text).text
        };
        let transcript = transcript.redacted(&redact);
        if transcript.unreadable_lines > 0 {
            files.ui.say(&format!(
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
                files.ui.say(&format!("Written to `{}`.", path.display()));
            }
            None => files.ui.text(&text),
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
