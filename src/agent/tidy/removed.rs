//! Files that undo removed, kept for a while in the folders of the sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::agent::undo::{REMOVED, ROUND};
use crate::error::Result;
use crate::fs::refuse_link;
use crate::session::Store;

/// For how long what an undo removed is kept.
const KEPT_FOR: Duration = Duration::from_hours(30 * 24);

/// The files that one undo removed.
struct KeptFiles {
    since: SystemTime,
    bytes: u64,
    directory: PathBuf,
}

/// Deletes the files that were kept long enough, and the oldest beyond the limit. Returns how many
/// undos lost their files early.
///
/// The files of the latest undo stay, no matter how large they are.
pub(super) fn prune(store: &Store, max_bytes: u64, now: SystemTime) -> Result<usize> {
    let mut kept = Vec::new();
    for id in store.ids()? {
        let folder = store.folder(&id);
        let removed = folder.join(REMOVED);
        // A project could ship a link here, and have files elsewhere removed.
        if refuse_link(&folder).and(refuse_link(&removed)).is_err() {
            continue;
        }
        for undo in fs::read_dir(removed).into_iter().flatten().flatten() {
            if !is_kept_by_undo(&undo) {
                continue;
            }
            let since = undo.metadata().and_then(|metadata| metadata.modified());
            kept.push(KeptFiles {
                since: since.unwrap_or(now),
                bytes: size_of(&undo.path()),
                directory: undo.path(),
            });
        }
    }
    kept.sort_by_key(|one| std::cmp::Reverse(one.since));
    let (mut bytes, mut lost) = (0_u64, 0);
    for (index, one) in kept.iter().enumerate() {
        let is_over = now.duration_since(one.since).unwrap_or_default() > KEPT_FOR;
        bytes = bytes.saturating_add(one.bytes);
        let is_too_much = index > 0 && bytes > max_bytes;
        if is_over || is_too_much {
            crate::fs::remove(&one.directory)?;
            lost += usize::from(!is_over);
        }
    }
    Ok(lost)
}

/// Returns true for a directory that an undo made.
fn is_kept_by_undo(entry: &fs::DirEntry) -> bool {
    let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
    is_directory && entry.file_name().to_string_lossy().starts_with(ROUND)
}

/// The size of all files beneath a directory, in bytes; links are not followed.
fn size_of(directory: &Path) -> u64 {
    let mut bytes = 0_u64;
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => open.push(entry.path()),
                Ok(metadata) => bytes = bytes.saturating_add(metadata.len()),
                Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Durability, own_directory, write_atomic};
    use crate::session::Session;
    use jiff::Timestamp;

    #[test]
    fn the_oldest_goes_first_and_the_latest_stays() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        let id = crate::protocol::SessionId::parse("ab12cd34").unwrap();
        let session = Session::new(id.clone(), "task".to_owned(), 20, Timestamp::UNIX_EPOCH);
        store.save(&session).unwrap();
        let now = SystemTime::now();
        let removed = store.folder(&id).join(REMOVED);
        for (name, days) in [("round-0001", 40), ("round-0002", 20), ("round-0003", 1)] {
            let place = removed.join(name);
            own_directory(&place).unwrap();
            write_atomic(&place.join("a"), &[0; 100], Durability::Atomic).unwrap();
            let opened = fs::File::open(&place).unwrap();
            let age = Duration::from_hours(24 * days);
            opened.set_modified(now - age).unwrap();
        }
        let names = || {
            let mut names: Vec<_> = fs::read_dir(&removed)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(prune(&store, 250, now).unwrap(), 0);
        assert_eq!(names(), ["round-0002", "round-0003"]);
        assert_eq!(prune(&store, 150, now).unwrap(), 1);
        assert_eq!(names(), ["round-0003"]);
        assert_eq!(prune(&store, 50, now).unwrap(), 0);
        assert_eq!(names(), ["round-0003"]);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_removed_through_a_link_or_under_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        let elsewhere = directory.path().join("photos");
        let old = SystemTime::now() - KEPT_FOR * 2;
        for name in ["round-0001", "summer"] {
            let place = elsewhere.join(name);
            own_directory(&place).unwrap();
            fs::File::open(&place).unwrap().set_modified(old).unwrap();
        }
        for (id, name) in [("ab12cd34", REMOVED), ("ab12cd35", "removed/round-0001")] {
            let id = crate::protocol::SessionId::parse(id).unwrap();
            let session = Session::new(id.clone(), "task".to_owned(), 20, Timestamp::UNIX_EPOCH);
            store.save(&session).unwrap();
            let link = store.folder(&id).join(name);
            own_directory(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(&elsewhere, link).unwrap();
        }
        prune(&store, 0, SystemTime::now()).unwrap();
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 2);
    }
}
