//! A file as it was found, with what shows whether it was changed after that.

use std::time::{Duration, SystemTime};

use super::super::seen::hash;
use crate::protocol::RelPath;
use crate::workspace::survey::FileStat;
use crate::workspace::{FileProblem, Workspace};

/// A file that was changed less than this before it was read may be changed again within the same
/// tick of the clock. No kernel ticks slower; but some file systems keep only every second second.
const TICK: Duration = Duration::from_millis(20);
const COARSE_TICK: Duration = Duration::from_secs(2);

/// A file as it was found.
pub(super) struct FoundFile {
    pub(super) content: Vec<u8>,
    pub(super) hash: String,
    /// Its metadata, if a later change would show in it.
    pub(super) stat: Option<FileStat>,
}

impl FoundFile {
    /// Reads a file that could be written. What a link leads to cannot, and is not even looked at:
    /// a refusal would show parts of it under another name than its own.
    pub(super) fn read(
        workspace: &Workspace,
        path: &RelPath,
        max_bytes: u64,
    ) -> Result<Self, FileProblem> {
        let now = SystemTime::now();
        let (content, stat) = workspace.read_writable(path, max_bytes)?;
        Ok(Self::new(content, stat, now))
    }

    fn new(content: Vec<u8>, stat: FileStat, now: SystemTime) -> Self {
        Self {
            hash: hash(&content),
            content,
            stat: shows_changes(&stat, now).then_some(stat),
        }
    }
}

/// Returns true if every change of a file from now on shows in its metadata.
fn shows_changes(stat: &FileStat, now: SystemTime) -> bool {
    let is_coarse = stat.modified % 1_000_000_000 == 0;
    let tick = if is_coarse { COARSE_TICK } else { TICK };
    let settled = now
        .checked_sub(tick)
        .and_then(|settled| settled.duration_since(SystemTime::UNIX_EPOCH).ok())
        .and_then(|settled| i64::try_from(settled.as_nanos()).ok());
    // Without an inode the times are all there is, and anybody can set those.
    stat.inode != 0 && settled.is_some_and(|settled| stat.changed < settled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::FileKind;

    #[test]
    fn a_file_that_was_changed_just_now_is_read_again() {
        let second = 1_000_000_000;
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let shows = |modified: i64, changed: i64| {
            let stat = FileStat {
                born: None,
                kind: FileKind::File { size: 1 },
                mode: 0o644,
                size: 1,
                modified,
                changed,
                inode: 1,
                links: 1,
            };
            shows_changes(&stat, now)
        };
        assert!(shows(99 * second + 1, 99 * second + 1));
        assert!(!shows(100 * second - 1, 100 * second - 1), "the same tick");
        assert!(
            !shows(5 * second + 1, 100 * second - 1),
            "somebody set the time"
        );
        assert!(!shows(99 * second, 99 * second), "every second second");
        assert!(shows(97 * second, 97 * second));
        assert!(!shows(5 * second, 101 * second), "the clock was set back");
    }
}
