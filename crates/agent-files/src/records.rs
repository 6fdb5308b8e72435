//! Recognises the records of a base directory by their content, whatever their names.
//!
//! The base directory of one project may be in the workspace of another. Its journals hold what was
//! redacted, a file in its inbox is a reply, and its settings say what a reply may do. Only a base
//! with records counts: a settings file alone has no session that could obey it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use agent_protocol::SessionId;
use serde_json::Value;

use crate::fs::resolve_dots;

/// The name of a settings file.
pub const SETTINGS: &str = "appsettings.json";

/// The usual name of the directory of sessions.
pub const SESSIONS: &str = "sessions";

/// A larger settings file is not read.
pub const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;

/// The section of the settings file that is ours.
const SECTION: &str = "Agent";

/// The locks in a directory of sessions.
const LOCKS: [&str; 2] = ["loop.lock", "round.lock"];

/// The suffix that turns a session's ID into the name of its journal.
const JOURNAL: &str = ".journal.jsonl";

/// The names seen in a directory that make it one of sessions.
#[derive(Debug, Default, Clone, Copy)]
pub struct RecordMarks {
    locks: [bool; LOCKS.len()],
    has_journal: bool,
}

impl RecordMarks {
    /// True for a name that matters.
    pub fn is_mark(name: &str) -> bool {
        name.ends_with(JOURNAL) || LOCKS.contains(&name)
    }

    /// Takes note of a name in the directory.
    pub fn note(&mut self, name: &OsStr) {
        // A walk notes all names, and the last letter of most says that they are no marks.
        match name.as_encoded_bytes().last() {
            Some(b'l') => {
                let id = name.to_str().and_then(|name| name.strip_suffix(JOURNAL));
                self.has_journal |= id.is_some_and(|id| SessionId::parse(id).is_ok());
            }
            Some(b'k') => {
                if let Some(lock) = LOCKS.iter().position(|lock| name == *lock) {
                    self.locks[lock] = true;
                }
            }
            _ => {}
        }
    }

    /// True if the directory holds sessions.
    pub fn are_complete(&self) -> bool {
        self.has_journal || self.locks == [true; LOCKS.len()]
    }
}

/// The directories of a base that belong to `agent`, as its settings name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDirectories {
    /// Journals and states.
    pub sessions: PathBuf,
    /// Replies.
    pub inbox: PathBuf,
    /// Messages.
    pub outbox: PathBuf,
}

impl NamedDirectories {
    /// The names that hold without settings.
    pub fn usual() -> Self {
        Self {
            sessions: SESSIONS.into(),
            inbox: "inbox".into(),
            outbox: "outbox".into(),
        }
    }

    /// The names in a settings file, if it is one of ours.
    pub fn in_settings(content: &[u8]) -> Option<Self> {
        let (text, _, _) = encoding_rs::UTF_8.decode(content);
        let json: Value = serde_json::from_str(&text).ok()?;
        let section = json.get(SECTION)?.as_object()?;
        let named = |key: &str, usual: PathBuf| {
            let text = section.get(key).and_then(Value::as_str);
            text.map_or(usual, PathBuf::from)
        };
        let usual = Self::usual();
        Some(Self {
            sessions: named("SessionsDir", usual.sessions),
            inbox: named("InboxDir", usual.inbox),
            outbox: named("OutboxDir", usual.outbox),
        })
    }

    /// Resolves these directories against `base`; `.` and `..` are resolved by name.
    #[must_use]
    pub fn from_base(&self, base: &Path) -> Self {
        let place = |directory: &Path| resolve_dots(&base.join(directory));
        Self {
            sessions: place(&self.sessions),
            inbox: place(&self.inbox),
            outbox: place(&self.outbox),
        }
    }

    /// All of them.
    pub fn all(self) -> [PathBuf; 3] {
        [self.sessions, self.inbox, self.outbox]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_records(names: &[&str]) -> bool {
        let mut marks = RecordMarks::default();
        for name in names {
            marks.note(name.as_ref());
        }
        marks.are_complete()
    }

    #[test]
    fn sessions_are_known_by_a_journal_or_both_locks() {
        assert!(are_records(&["ab12cd34.json", "ab12cd34.journal.jsonl"]));
        assert!(are_records(&["round.lock", "objects", "loop.lock"]));
        for names in [
            &["loop.lock"][..],
            &["round.lock", "Cargo.lock"],
            &["notes.journal.jsonl"],
            &["journal.jsonl"],
            &[],
        ] {
            assert!(!are_records(names), "{names:?}");
        }
    }

    #[test]
    fn a_settings_file_names_the_directories_of_its_base() {
        let usual = NamedDirectories::usual();
        let named = NamedDirectories::in_settings;
        assert_eq!(named(b"{\"Agent\": {}}"), Some(usual.clone()));
        for foreign in ["{}", "", "{\"Agent\": 3}", "{\"Logging\": {}}"] {
            assert_eq!(named(foreign.as_bytes()), None, "{foreign}");
        }
        let settings =
            b"\xef\xbb\xbf{\"Agent\": {\"InboxDir\": \"./a/../mail\", \"SessionsDir\": \"/s\"}}";
        let placed = named(settings).unwrap().from_base(Path::new("/w/base"));
        let paths = placed.all().map(|path| path.display().to_string());
        assert_eq!(paths, ["/s", "/w/base/mail", "/w/base/outbox"]);
    }
}
