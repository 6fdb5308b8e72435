//! One running loop for each base directory, and nobody who takes a round back while it runs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
use crate::protocol::SessionId;

/// The lock of a running loop, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct LoopLock {
    _file: File,
}

/// Who runs the loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The number of the process.
    pub process: u32,
    /// The session that it works on.
    pub session: Option<SessionId>,
    /// True if a client makes calls in the place of replies.
    #[serde(default)]
    pub takes_calls: bool,
}

impl Holder {
    fn this_process(session: Option<&SessionId>) -> Self {
        Self {
            process: std::process::id(),
            session: session.cloned(),
            takes_calls: false,
        }
    }
}

impl LoopLock {
    /// Takes the lock, or says which process holds it.
    ///
    /// Who holds it stands in a file of its own: on Windows a locked file cannot be read.
    pub fn take(directory: &Path) -> Result<Self> {
        let path = directory.join("loop.lock");
        let file = open_lock(&path)?;
        match lock_soon(|| file.try_lock()) {
            Ok(()) => {
                let lock = Self { _file: file };
                lock.works_on(directory, None)?;
                Ok(lock)
            }
            Err(TryLockError::WouldBlock) => {
                let process = read_holder(directory)
                    .map_or("unknown".to_owned(), |holder| holder.process.to_string());
                Err(Error::mendable(format!(
                    "another `agent` works on this base directory: process {process}"
                ))
                .hint(if cfg!(unix) {
                    "continue there, or end it with Ctrl-C first; `fg` brings back one that was suspended with Ctrl-Z"
                } else {
                    "continue there, or end it with Ctrl-C first"
                })
                .hint("`agent status` shows where it stands")
                .hint("`--base DIR` uses another base directory"))
            }
            Err(TryLockError::Error(cause)) => Err(Error::file("lock", &path, cause)),
        }
    }

    /// Says which session the loop works on, for those who look from outside.
    pub fn works_on(&self, directory: &Path, session: Option<&SessionId>) -> Result<()> {
        Self::tell_holder(directory, &Holder::this_process(session))
    }

    /// Says that a client makes calls for this session.
    pub fn takes_calls(&self, directory: &Path, session: &SessionId) -> Result<()> {
        let holder = Holder {
            takes_calls: true,
            ..Holder::this_process(Some(session))
        };
        Self::tell_holder(directory, &holder)
    }

    fn tell_holder(directory: &Path, holder: &Holder) -> Result<()> {
        let path = directory.join("loop.json");
        let json =
            serde_json::to_vec(holder).map_err(|cause| Error::file("write", &path, cause))?;
        write_atomic(&path, &json, Durability::Atomic)
    }

    /// Who runs a loop now, if anybody does; changes nothing.
    pub fn holder(directory: &Path) -> Option<Holder> {
        let file = OpenOptions::new()
            .write(true)
            .open(directory.join("loop.lock"))
            .ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => read_holder(directory),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }
}

impl LoopLock {
    /// True if a loop works on this session, or may: one that has just started does not tell.
    pub fn is_at_work_on(directory: &Path, session: &SessionId) -> bool {
        Self::holder(directory)
            .is_some_and(|holder| holder.session.is_none_or(|at_work| at_work == *session))
    }
}

/// How long a lock is waited for that somebody holds.
///
/// The system gives back the locks of a process that was killed when the last of its threads and
/// children is gone, a moment after the process itself is.
const DYING: Duration = Duration::from_millis(700);

/// Takes a lock, waiting a moment for a process that is just going.
pub fn lock_soon(
    try_lock: impl Fn() -> std::result::Result<(), TryLockError>,
) -> std::result::Result<(), TryLockError> {
    let since = Instant::now();
    loop {
        match try_lock() {
            Err(TryLockError::WouldBlock) if since.elapsed() < DYING => {
                // Nothing tells that a lock is given back but the lock itself, for which one cannot
                // wait with a limit.
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

/// Opens the file of a lock, which is made if it is missing.
pub fn open_lock(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    crate::platform::ours(&mut options);
    options
        .open(path)
        .map_err(|cause| Error::file("open", path, cause))
}

fn read_holder(directory: &Path) -> Option<Holder> {
    serde_json::from_slice(&fs::read(directory.join("loop.json")).ok()?).ok()
}

/// The file that says that somebody waits for the round to end.
const WANTED: &str = "round.wanted";

/// Held while a round is executed, while rounds are undone, and while a journal is appended to.
///
/// An undo works beside a loop that waits for a reply; so it does not need the lock of the loop, but
/// must not come between two steps.
#[derive(Debug)]
pub struct RoundLock {
    _file: File,
}

impl RoundLock {
    /// Waits until nobody else holds it; an undo takes no longer than its files need.
    pub fn wait(directory: &Path) -> Result<Self> {
        let (path, file) = Self::open(directory)?;
        match file.lock() {
            // Some network file systems know no locks: there only one program at a time is safe.
            Err(cause) if cause.kind() != io::ErrorKind::Unsupported => {
                Err(Error::file("lock", &path, cause))
            }
            _ => Ok(Self { _file: file }),
        }
    }

    /// Takes it, or says that a round is under way.
    pub fn take(directory: &Path) -> Result<Self> {
        let (path, file) = Self::open(directory)?;
        let locked = match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                // A round of calls may be open only because another call could come.
                let _ = write_atomic(&directory.join(WANTED), b"", Durability::Atomic);
                lock_soon(|| file.try_lock())
            }
            other => other,
        };
        match locked {
            Err(TryLockError::WouldBlock) => {
                Err(Error::mendable("a reply is being carried out right now")
                    .hint("try again when it is done; `agent status` shows where it stands"))
            }
            Err(TryLockError::Error(cause)) if cause.kind() != io::ErrorKind::Unsupported => {
                Err(Error::file("lock", &path, cause))
            }
            _ => Ok(Self { _file: file }),
        }
    }

    /// Returns true if somebody was refused since this was last asked: they want the round to end.
    pub fn take_wish(directory: &Path) -> bool {
        fs::remove_file(directory.join(WANTED)).is_ok()
    }

    fn open(directory: &Path) -> Result<(PathBuf, File)> {
        let path = directory.join("round.lock");
        let file = open_lock(&path)?;
        Ok((path, file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_does_not_come_between_two_steps() {
        let directory = tempfile::tempdir().unwrap();
        let round = RoundLock::wait(directory.path()).unwrap();
        let error = RoundLock::take(directory.path()).unwrap_err();
        assert!(error.to_string().contains("being carried out"), "{error}");
        drop(round);
        RoundLock::take(directory.path()).unwrap();
    }

    #[test]
    fn a_lock_that_is_about_to_be_given_back_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let dying = LoopLock::take(directory.path()).unwrap();
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| LoopLock::take(directory.path()).map(drop));
            std::thread::sleep(DYING / 10);
            drop(dying);
            taken.join().unwrap().unwrap();
        });
    }

    #[test]
    fn the_second_is_told_who_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(LoopLock::holder(directory.path()), None);
        let first = LoopLock::take(directory.path()).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        first.works_on(directory.path(), Some(&id)).unwrap();
        let error = LoopLock::take(directory.path()).unwrap_err();
        assert!(
            error.to_string().ends_with(&std::process::id().to_string()),
            "{error}"
        );
        assert_eq!(
            LoopLock::holder(directory.path()).unwrap().session,
            Some(id)
        );
        drop(first);
        assert_eq!(LoopLock::holder(directory.path()), None);
        LoopLock::take(directory.path()).unwrap();
    }
}
