//! `agent export`: a transcript to read, to keep or to show to others.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::common::Common;
use crate::error::{Error, Result};
use crate::services::export::{self, TranscriptFormat};
use crate::services::{choices, find, open};
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
    /// Write to this file instead of standard output, which `-` means too
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Md,
    Html,
    Json,
}

impl From<Format> for TranscriptFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Md => Self::Markdown,
            Format::Html => Self::Html,
            Format::Json => Self::Json,
        }
    }
}

impl Export {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let output = self.output.as_ref().filter(|path| path.as_os_str() != "-");
        if let Some(path) = output.filter(|_| !self.force)
            && path.symlink_metadata().is_ok()
        {
            return Err(Error::mendable(format!("`{}` exists", path.display()))
                .hint("`--force` replaces it"));
        }
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
        let text = export::written(&transcript, self.format.into())?;
        match output {
            Some(path) => {
                export::save(path, &text)?;
                ui.say(&format!("Written to `{}`.", path.display()));
            }
            None => ui.text(&text),
        }
        Ok(ExitCode::SUCCESS)
    }
}
