//! A transcript to read, to keep or to show to others.

use std::cell::RefCell;
use std::path::Path;

use super::open::SessionFiles;
use crate::agent::{credentials, kept_secrets};
use crate::checkpoint::DiffLimits;
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
use crate::secrets::{Scanner, TextSource};
use crate::session::Session;
use crate::transcript;
pub use crate::transcript::{Letter, Round, Transcript};
use crate::workspace::Workspace;

/// Gathers all rounds of a session with their changes; secrets are replaced as in messages.
pub fn transcript(files: &SessionFiles, session: &Session) -> Result<Transcript> {
    let transcript = Transcript::gather(session, &files.store, &files.mailbox, None)?
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
    Ok(transcript.redacted(&redact))
}

/// The form of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// Markdown.
    Markdown,
    /// A single HTML page.
    Html,
    /// JSON.
    Json,
}

/// The text of a transcript.
pub fn written(transcript: &Transcript, format: TranscriptFormat) -> Result<String> {
    match format {
        TranscriptFormat::Markdown => Ok(transcript::markdown(transcript)),
        TranscriptFormat::Html => Ok(transcript::html(transcript)),
        TranscriptFormat::Json => {
            let text = crate::json::to_lines(transcript).map_err(|cause| {
                Error::mendable("could not write the transcript")
                    .because(cause)
                    .hint("name another file: `-o FILE`")
            })?;
            Ok(text + "\n")
        }
    }
}

/// Writes a text to a file, as a whole or not at all.
pub fn save(path: &Path, text: &str) -> Result<()> {
    write_atomic(path, text.as_bytes(), Durability::Atomic)
}

/// The rounds of a session as they are, or only one of them.
pub fn rounds(files: &SessionFiles, session: &Session, round: Option<u32>) -> Result<Transcript> {
    let transcript = Transcript::gather(session, &files.store, &files.mailbox, round)?;
    match round {
        Some(number) if transcript.rounds.is_empty() => Err(no_round(session, number)),
        _ => Ok(transcript),
    }
}

fn no_round(session: &Session, number: u32) -> Error {
    let id = &session.session_id;
    let last = if session.is_complete {
        let rounds = session.sequence_number.saturating_sub(1);
        format!("it ended after round {rounds}")
    } else {
        format!("its current round is {}", session.sequence_number)
    };
    Error::mendable(format!("session {id} has no round {number}"))
        .hint(format!("{last}; `agent show {id}` summarises them all"))
}
