//! Classifies entries of the inbox.
//!
//! Names decide first, then what they lead to: a link counts as the file behind it. Nothing is
//! opened here, so that a pipe cannot hold anyone up.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::name::{self, NameKind};
use super::settle::Stat;

/// The kind of an entry of the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InboxEntryKind {
    /// A regular file with the name of a reply.
    Reply(Stat),
    /// Something that the person should hear of.
    Odd(Oddity),
}

impl InboxEntryKind {
    /// True if it cannot be taken as it is.
    pub(super) fn is_odd(&self) -> bool {
        matches!(self, Self::Odd(_)) || self.is_empty()
    }

    /// True for a reply without content.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Reply(stat) if stat.size == 0)
    }
}

/// Why a file is named to the person instead of being taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    /// A reply without content.
    Empty,
    /// Neither `.txt` nor `.md`.
    OtherType,
    /// A pipe, a socket or a device.
    NotAFile,
    /// A link that leads nowhere.
    DanglingLink,
}

/// An examined directory entry.
#[derive(Debug)]
pub(super) struct Examined {
    /// Its kind.
    pub(super) found: InboxEntryKind,
    /// How long ago it was written, renamed or given other attributes; zero if that is in doubt.
    pub(super) age: Duration,
    /// Differs when anything of it was changed, also who may read it; 0 where the platform does not
    /// say.
    pub(super) changed: i128,
}

/// Examines a directory entry; `None` for directories and unrelated files.
pub(super) fn examine(path: &Path, file_name: &str) -> Option<Examined> {
    let kind = name::kind(file_name);
    if kind == NameKind::Bystander {
        return None;
    }
    // Through a link: the person made it, and means what it leads to.
    let Ok(metadata) = fs::metadata(path) else {
        let is_there = path.symlink_metadata().is_ok();
        return is_there.then_some(Examined {
            found: InboxEntryKind::Odd(Oddity::DanglingLink),
            age: Duration::ZERO,
            changed: 0,
        });
    };
    if metadata.is_dir() {
        return None;
    }
    let found = if !metadata.is_file() {
        InboxEntryKind::Odd(Oddity::NotAFile)
    } else if kind == NameKind::Other {
        InboxEntryKind::Odd(Oddity::OtherType)
    } else {
        InboxEntryKind::Reply(Stat::of(&metadata))
    };
    Some(Examined {
        found,
        age: age(&metadata),
        changed: changed(&metadata),
    })
}

#[cfg(unix)]
fn changed(metadata: &fs::Metadata) -> i128 {
    use std::os::unix::fs::MetadataExt;
    i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(_: &fs::Metadata) -> i128 {
    0
}

/// How long ago a file was written, renamed or given other attributes; zero if that is in doubt.
fn age(metadata: &fs::Metadata) -> Duration {
    let modified = metadata.modified().ok();
    let since = |time: SystemTime| SystemTime::now().duration_since(time).ok();
    let written = modified.and_then(since);
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt;
        u64::try_from(metadata.ctime())
            .ok()
            .and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)))
            .and_then(since)
    };
    #[cfg(not(unix))]
    let changed = written;
    written.min(changed).unwrap_or_default()
}
