//! Takes the setuid and setgid bits of files away that a command in a container set.
//!
//! A mount without such files is nothing that the engines offer. If `agent` is root, and the engine
//! too, a command could leave a program on this machine that makes everybody root.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Takes the bits away from the files in these directories that changed since then; tells which.
///
/// Links are not followed. A directory that cannot be read is not searched: nobody else can enter it.
#[cfg(unix)]
pub(super) fn clear_set_id_bits(directories: &[&Path], since: SystemTime) -> Vec<PathBuf> {
    let since = since.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.map_or(0, |since| since.as_secs().cast_signed());
    let mut cleared = Vec::new();
    for directory in directories {
        let mut walk = ignore::WalkBuilder::new(directory);
        let walk = walk.standard_filters(false).follow_links(false);
        for entry in walk.build().flatten() {
            let found = entry.metadata();
            if found.is_ok_and(|found| is_marked(&found, since)) && clear(entry.path(), since) {
                cleared.push(entry.into_path());
            }
        }
    }
    cleared
}

#[cfg(not(unix))]
pub(super) fn clear_set_id_bits(_directories: &[&Path], _since: SystemTime) -> Vec<PathBuf> {
    Vec::new()
}

/// The bits by which a program runs as its owner or its group.
#[cfg(unix)]
const SET_ID: u32 = 0o6000;

/// True for a file with such a bit whose status changed since then. The kernel's clock for files may
/// be a moment behind.
#[cfg(unix)]
fn is_marked(found: &std::fs::Metadata, since: i64) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.is_file() && found.mode() & SET_ID != 0 && found.ctime() >= since - 1
}

/// Takes the bits away; false if that was not possible or needed.
#[cfg(target_os = "linux")]
fn clear(path: &Path, since: i64) -> bool {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    // One file is looked at and changed, even if its name changes hands; it need not be readable.
    let mut options = std::fs::OpenOptions::new();
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let Ok(file) = options.read(true).custom_flags(flags).open(path) else {
        return false;
    };
    let found = file.metadata().ok();
    let Some(found) = found.filter(|found| is_marked(found, since)) else {
        return false;
    };
    let mode = found.permissions().mode() & !SET_ID;
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::set_permissions(name, PermissionsExt::from_mode(mode)).is_ok()
}

/// Takes the bits away; false if that was not possible.
#[cfg(all(unix, not(target_os = "linux")))]
fn clear(path: &Path, _since: i64) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = path
        .symlink_metadata()
        .map(|found| found.permissions().mode());
    let without =
        |mode: u32| std::fs::set_permissions(path, PermissionsExt::from_mode(mode & !SET_ID));
    mode.and_then(without).is_ok()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Duration;

    use super::*;

    #[test]
    fn bits_that_a_command_set_go_and_others_stay() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("work/deep/.hidden")).unwrap();
        let outside = at("outside");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        let make = |path: &Path, mode: u32| {
            std::fs::File::create(path).unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        let (as_owner, as_group, plain) = (
            at("work/deep/.hidden/as_owner"),
            at("work/as_group"),
            at("work/plain"),
        );
        make(&as_owner, 0o4311);
        make(&as_group, 0o2755);
        make(&plain, 0o755);
        make(&outside, 0o4755);
        symlink(&outside, at("work/link")).unwrap();
        let work = at("work");
        let later = SystemTime::now() + Duration::from_hours(1);
        assert!(clear_set_id_bits(&[&work], later).is_empty());
        assert_eq!(mode(&as_owner), 0o4311);
        let mut cleared = clear_set_id_bits(&[&work], SystemTime::now());
        cleared.sort();
        assert_eq!(cleared, [as_group.clone(), as_owner.clone()]);
        let modes = [&as_owner, &as_group, &plain, &outside].map(|path| mode(path));
        assert_eq!(modes, [0o311, 0o755, 0o755, 0o4755]);
    }
}
