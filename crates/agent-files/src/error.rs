//! What goes wrong for the person: a kind, a cause and hints.
//!
//! Trouble with a reply is never an `Error`; it is news for the model, an `Issue` or an `Outcome`.
//! One place, `main`, turns an `Error` into words and an exit code.

use std::fmt;
use std::path::Path;

/// The result of whatever can fail for the person.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How a failure ends the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A problem that the person can mend: exit code 1.
    Mendable,
    /// The command line was wrong: exit code 2.
    Usage,
    /// The round limit was met: exit code 3.
    RoundLimit,
    /// A reply, or a part of it, was not carried out: exit code 4.
    NotApplied,
    /// A defect of ours: exit code 70.
    Defect,
    /// The person interrupted: exit code 130.
    Interrupted,
}

impl Kind {
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

/// A failure, in words for the person.
///
/// The message names the thing in backticks and does not repeat its cause; a hint names the next
/// action.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    hints: Vec<String>,
}

impl Error {
    /// A failure of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
            hints: Vec::new(),
        }
    }

    /// A problem that the person can mend.
    pub fn mendable(message: impl Into<String>) -> Self {
        Self::new(Kind::Mendable, message)
    }

    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Something could not be done to a file: ``could not write `outbox/x.txt` ``.
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

    /// A file that a newer version of this program wrote, and that this one must not touch.
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

    /// The same with its cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(cause.into());
        self
    }

    /// The same with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// How it ends the program.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What the person can do next.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

/// What helps against a failure that has nothing to do with what was tried.
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
