//! File operations that not every operating system has.

use std::io;

use cap_std::fs::Dir;

/// Gives a file another name, unless that name is taken.
///
/// `Unsupported` where kernel or file system cannot promise it: then the caller has to look first.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub fn rename_without_replacing(
    from_directory: &Dir,
    from: &str,
    to_directory: &Dir,
    to: &str,
) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(
        from_directory,
        from,
        to_directory,
        to,
        RenameFlags::NOREPLACE,
    ) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        other => Ok(other?),
    }
}

/// Gives a file another name, unless that name is taken: not supported here.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn rename_without_replacing(
    _from_directory: &Dir,
    _from: &str,
    _to_directory: &Dir,
    _to: &str,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Brings all that was written to the file system of this directory onto the disk.
///
/// One call for any number of files: cheaper than an fsync for each of them and their directories.
#[cfg(target_os = "linux")]
pub fn sync_file_system(directory: &Dir) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, openat, syncfs};

    // cap-std holds directories as bare paths (`O_PATH`), which cannot be synced.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(directory, ".", flags, Mode::empty())?;
    Ok(syncfs(opened)?)
}

/// Brings all that was written onto the disk.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn sync_file_system(_directory: &Dir) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Nothing to do: renames are journaled here, and there is no call for a whole file system.
#[cfg(not(unix))]
pub fn sync_file_system(_directory: &Dir) -> io::Result<()> {
    Ok(())
}

/// Makes a link that leads nowhere.
#[cfg(unix)]
pub fn dangling_link(place: &std::path::Path) -> io::Result<()> {
    std::os::unix::fs::symlink("nowhere", place)
}

/// Makes a link that leads nowhere: not supported here.
#[cfg(not(unix))]
pub fn dangling_link(_place: &std::path::Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
