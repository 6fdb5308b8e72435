//! Errors for the person: a kind, a cause and hints.
//!
//! Problems with a reply are never an `Error`: they go to the model as an `Issue` or an `Outcome`.
//! Only `main` turns an `Error` into a message and an exit code.

use std::fmt;
use std::path::Path;

use agent_protocol::Event;

/// A result whose error is shown to the person.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Determines the exit code of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// A problem that the person can fix: exit code 1.
    Mendable,
    /// The command line was wrong: exit code 2.
    Usage,
    /// The round limit was reached: exit code 3.
    RoundLimit,
    /// A reply, or part of it, was not applied: exit code 4.
    NotApplied,
    /// A bug in `agent`: exit code 70.
    Defect,
    /// The person interrupted: exit code 130.
    Interrupted,
}

impl ExitKind {
    /// The exit code of the program.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Mendable => 1,
            Self::Usage => 2,
            Self::RoundLimit => 3,
            Self::NotApplied => 4,
            Self::Defect => 70,
            Self::Interrupted => 130,
        }
    }
}

/// An error to show to the person.
///
/// The message names the thing in backticks and does not repeat the cause. A hint names the next
/// action.
#[derive(Debug)]
pub struct Error {
    kind: ExitKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    hints: Vec<String>,
}

impl Error {
    /// An error of this kind, without cause or hints.
    pub fn new(kind: ExitKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
            hints: Vec::new(),
        }
    }

    /// A problem that the person can fix.
    pub fn mendable(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Mendable, message)
    }

    /// A usage error on the command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Usage, message)
    }

    /// A failed file operation: ``could not write `outbox/x.txt` ``, with a hint for common causes.
    pub fn file(
        action: &str,
        path: &Path,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let cause = cause.into();
        let remedy = cause
            .downcast_ref::<std::io::Error>()
            .and_then(|cause| remedy(cause.kind()));
        let error =
            Self::mendable(format!("could not {action} `{}`", path.display())).because(cause);
        remedy.into_iter().fold(error, Self::hint)
    }

    /// Refuses a file that was written by a newer version of `agent`.
    pub fn newer(path: &Path) -> Self {
        Self::mendable(format!(
            "`{}` was written by a newer `agent`",
            path.display()
        ))
        .hint(concat!(
            "update `agent`: this is version ",
            env!("CARGO_PKG_VERSION"),
            ", and it leaves the file as it is"
        ))
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(cause.into());
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The kind, which decides the exit code.
    pub fn kind(&self) -> ExitKind {
        self.kind
    }

    /// Suggestions for the next action.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

/// A hint for causes that do not depend on the operation: permissions, a full disk, a read-only
/// disk.
fn remedy(kind: std::io::ErrorKind) -> Option<&'static str> {
    use std::io::ErrorKind;
    match kind {
        ErrorKind::PermissionDenied => Some("look at the owner and the permissions: `ls -ld`"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("make room on the disk, then run the same command again")
        }
        ErrorKind::ReadOnlyFilesystem => {
            Some("that disk cannot be written; `--base DIR` names a place that can")
        }
        _ => None,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Trouble that does not stop the work: the message, its causes and the hints.
impl From<&Error> for Event {
    fn from(error: &Error) -> Self {
        let first = std::error::Error::source(error);
        let causes = std::iter::successors(first, |cause| cause.source());
        Self::Trouble {
            message: error.to_string(),
            causes: causes.map(ToString::to_string).collect(),
            hints: error.hints.clone(),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_closed_door_have_a_remedy() {
        let case = |kind: std::io::ErrorKind, expected: usize| {
            let error = Error::file("write", Path::new("a"), std::io::Error::from(kind));
            assert_eq!(error.hints().len(), expected, "{error:?}");
            assert_eq!(error.to_string(), "could not write `a`");
        };
        case(std::io::ErrorKind::StorageFull, 1);
        case(std::io::ErrorKind::PermissionDenied, 1);
        case(std::io::ErrorKind::ReadOnlyFilesystem, 1);
        case(std::io::ErrorKind::InvalidData, 0);
        let error = Error::file("write", Path::new("a"), "no reason of the system");
        assert_eq!(error.hints().len(), 0);
    }
}
