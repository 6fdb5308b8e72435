//! A transcript to read, to keep or to show to others.

use std::cell::RefCell;

use super::open::SessionFiles;
use crate::agent::{credentials, kept_secrets};
use crate::checkpoint::DiffLimits;
use crate::error::Result;
use crate::secrets::{Scanner, TextSource};
use crate::session::Session;
use crate::transcript::Transcript;
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
