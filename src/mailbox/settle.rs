//! Decides when a file in the inbox is a whole reply.
//!
//! Editors and browsers save in many ways: in one write, in chunks over seconds, into a
//! temporary name that is then renamed, or by truncating the old file first. An event from the
//! kernel says only that something happened, so it is used as an alarm clock; whether a file is
//! whole is decided by looking at it. This module neither reads replies nor moves them, and it
//! knows no clock: how long a file held still is handed to it.

use std::fs::Metadata;
use std::time::{Duration, SystemTime};

/// How long a file must stay the same before it counts as whole, when it is likely to be.
///
/// Long enough for a browser that writes in bursts, short enough that a person does not notice.
pub(super) const SETTLE: Duration = Duration::from_millis(500);

/// How long a file without an end mark must stay the same that was written in place.
///
/// A program that appends to it piece by piece may close it after each; a reply that lacks its mark
/// is rare, so that this slows few.
pub(super) const UNMARKED: Duration = Duration::from_secs(2);

/// How long a file without an end mark must stay the same that is known to be written piece by
/// piece: a program still has it open, or it grew after it had held still.
///
/// A person may be pasting into `cat > reply.txt`, or a chat may be thinking.
pub(super) const STAYS_OPEN: Duration = Duration::from_secs(10);

/// How long a file must stay empty before the person hears of it.
///
/// Browsers put an empty file in place of a download that has yet to come.
pub(super) const STAYS_EMPTY: Duration = Duration::from_secs(1);

/// Metadata that distinguishes two states of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat {
    /// In bytes.
    pub(super) size: u64,
    /// When its content was last changed, where the file system knows.
    pub(super) modified: Option<SystemTime>,
    /// Which file the name leads to; 0 where the platform does not say.
    pub(super) inode: u64,
}

impl Stat {
    /// Reads it from the file's metadata.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            inode: inode(metadata),
        }
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// Evidence, apart from time, that a file is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Its writer is done with it and it ends with the mark of this round.
    Complete,
    /// It ends with a mark, or was renamed into place, as what is whole is.
    Likely,
    /// Nothing.
    Missing,
    /// Less than nothing: it has no end mark, and its writer still has it open or comes back to it.
    Contrary,
}

/// The result of looking at a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettleLook {
    /// It has content, and nobody is still writing it.
    Whole,
    /// It has just changed; look again after this long.
    Wait(Duration),
    /// It is empty and stays so.
    Empty,
}

/// Judges a file that has been as it is for as long as `still`.
///
/// A file without evidence waits even if its writer closed it: an editor that saves twice would
/// bring a reply back that was taken already.
pub(super) fn look(now: &Stat, still: Duration, evidence: Evidence) -> SettleLook {
    let (needed, verdict) = match evidence {
        _ if now.size == 0 => (STAYS_EMPTY, SettleLook::Empty),
        Evidence::Complete => (Duration::ZERO, SettleLook::Whole),
        Evidence::Likely => (SETTLE, SettleLook::Whole),
        Evidence::Missing => (UNMARKED, SettleLook::Whole),
        Evidence::Contrary => (STAYS_OPEN, SettleLook::Whole),
    };
    match needed.saturating_sub(still) {
        Duration::ZERO => verdict,
        rest => SettleLook::Wait(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(size: u64) -> Stat {
        Stat {
            size,
            modified: None,
            inode: 1,
        }
    }

    #[track_caller]
    fn case(size: u64, still: u64, evidence: Evidence, expected: SettleLook) {
        let still = Duration::from_millis(still);
        assert_eq!(look(&stat(size), still, evidence), expected);
    }

    #[test]
    fn a_file_that_held_still_is_whole() {
        let rest = Duration::from_millis;
        case(5, 0, Evidence::Likely, SettleLook::Wait(rest(500)));
        case(5, 499, Evidence::Likely, SettleLook::Wait(rest(1)));
        case(5, 500, Evidence::Likely, SettleLook::Whole);
        case(5, 500, Evidence::Missing, SettleLook::Wait(rest(1_500)));
        case(5, 2_000, Evidence::Missing, SettleLook::Whole);
        case(5, 9_000, Evidence::Missing, SettleLook::Whole);
    }

    #[test]
    fn a_complete_reply_need_not_wait() {
        case(5, 0, Evidence::Complete, SettleLook::Whole);
    }

    #[test]
    fn a_file_that_is_open_waits_longer_but_not_for_ever() {
        let rest = Duration::from_millis;
        case(5, 500, Evidence::Contrary, SettleLook::Wait(rest(9_500)));
        case(5, 10_000, Evidence::Contrary, SettleLook::Whole);
    }

    #[test]
    fn an_empty_file_is_never_whole() {
        case(0, 0, Evidence::Missing, SettleLook::Wait(STAYS_EMPTY));
        case(0, 0, Evidence::Complete, SettleLook::Wait(STAYS_EMPTY));
        case(0, 9_000, Evidence::Missing, SettleLook::Empty);
    }
}
