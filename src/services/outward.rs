//! Texts about a session for a reader outside of this machine: secrets are replaced as in messages.

use std::cell::RefCell;
use std::fmt::Write as _;

use super::diff::{self, WhichRounds};
use super::open::{self, SessionFiles};
use super::{Caller, find};
use crate::agent::{PROJECT_NAMES, credentials, kept_secrets};
use crate::error::{Error, Result};
use crate::known_keys::KnownKeys;
use crate::protocol::RelPath;
use crate::secrets::{Scanner, TextSource, Vault};
use crate::session::Session;
use crate::workspace::Workspace;
use crate::workspace::text::TextFile;

/// The most characters of such a text.
const LONGEST: usize = 200_000;
/// The most files that are listed.
const MOST_FILES: usize = 5_000;
/// The largest file of instructions that is shown, in bytes.
const LARGEST_RULES: u64 = 256 * 1024;

/// A text that can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutwardText {
    /// The task of the session.
    Task,
    /// The files of the workspace.
    Files,
    /// The changes of the latest round, as a diff.
    Changes,
    /// The project's instructions.
    Rules,
}

/// Replaces the secrets of a session and of its workspace by placeholders.
#[derive(Debug)]
pub(super) struct OutwardRedactor {
    vault: RefCell<Vault>,
    credentials: Vault,
    scanner: Scanner,
    keys: KnownKeys,
}

impl OutwardRedactor {
    /// Knows the secrets of the workspace, and those that the session has met.
    pub(super) fn new(files: &SessionFiles, session: Option<&Session>) -> Self {
        let keys = session.map_or_else(KnownKeys::of_this_process, |session| {
            KnownKeys::of_session(&files.store.folder(&session.session_id))
        });
        let kept = session.map(|session| kept_secrets(&files.store, &session.session_id));
        let vault = RefCell::new(kept.unwrap_or_default());
        let scanner = Scanner::default();
        let workspace = Workspace::open(&files.workspace).ok();
        let credentials = workspace.map(|workspace| credentials(&workspace, &scanner));
        let credentials = credentials.unwrap_or_default();
        vault.borrow_mut().spare(credentials.plain());
        Self {
            vault,
            credentials,
            scanner,
            keys,
        }
    }

    pub(super) fn redact(&self, text: &str) -> String {
        let text = self.keys.scrub(text);
        let mut vault = self.vault.borrow_mut();
        vault.foresee(&self.credentials, &text);
        vault.redact(&self.scanner, &text, TextSource::Text).text
    }
}

/// A text about the session that is meant if none is named.
pub fn text(caller: &Caller, which: OutwardText) -> Result<String> {
    let files = open::files(caller)?;
    let session = find::find_any(&files.store, &*caller.person, None);
    let redactor = OutwardRedactor::new(&files, session.as_ref().ok());
    let text = match which {
        OutwardText::Task => session?.task,
        OutwardText::Files => listing(&files)?,
        OutwardText::Rules => rules(&files)?,
        OutwardText::Changes => {
            let id = session?.session_id.to_string();
            let mut changes = diff::changes(caller, Some(&id), WhichRounds::Fitting)?;
            changes.text_without(|_| false)?
        }
    };
    let mut text = redactor.redact(&text);
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push_str("\n[TRUNCATED]\n");
    }
    Ok(text)
}

fn listing(files: &SessionFiles) -> Result<String> {
    let workspace = Workspace::open(&files.workspace)?;
    let walked = workspace
        .walk(None)
        .map_err(|problem| Error::mendable(format!("the files cannot be listed: {problem}")))?;
    let mut text = String::new();
    for file in walked.files.iter().take(MOST_FILES) {
        let _ = writeln!(text, "{} ({} bytes)", file.path, file.size);
    }
    let more = walked.files.len().saturating_sub(MOST_FILES);
    if more > 0 {
        let _ = writeln!(text, "[TRUNCATED: {more} more files]");
    }
    Ok(text)
}

fn rules(files: &SessionFiles) -> Result<String> {
    let workspace = Workspace::open(&files.workspace)?;
    let read = |name: &&str| {
        let path = RelPath::parse(name).ok()?;
        let bytes = workspace.read(&path, LARGEST_RULES).ok()?;
        Some(TextFile::decode(bytes).ok()?.text)
    };
    let found = PROJECT_NAMES.iter().find_map(read);
    found.ok_or_else(|| Error::mendable("the project has no instructions, such as `AGENTS.md`"))
}
