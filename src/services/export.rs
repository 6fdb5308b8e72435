//! A transcript to read, to keep or to show to others.

use std::path::Path;

use super::open::SessionFiles;
use super::outward::OutwardRedactor;
use crate::checkpoint::DiffLimits;
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
use crate::session::Session;
use crate::transcript;
pub use crate::transcript::{Letter, Round, Transcript};

/// Gathers all rounds of a session with their changes; secrets are replaced as in messages.
pub fn transcript(files: &SessionFiles, session: &Session) -> Result<Transcript> {
    let transcript = Transcript::gather(session, &files.store, &files.mailbox, None)?
        .with_diffs(&files.store.objects(), &DiffLimits::default());
    // What leaves the machine with a transcript is what leaves it with a message.
    let redactor = OutwardRedactor::new(files, Some(session));
    Ok(transcript.redacted(&|text| redactor.redact(text)))
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
