//! File operations that not every operating system has.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use cap_std::fs::Dir;

/// Gives a file another name, unless that name is taken.
///
/// `Unsupported` where kernel or file system cannot promise it: then the caller has to look first.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub fn rename_without_replacing(
    from_directory: &Dir,
    from: impl AsRef<Path>,
    to_directory: &Dir,
    to: impl AsRef<Path>,
) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(
        from_directory,
        from.as_ref(),
        to_directory,
        to.as_ref(),
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
    _from: impl AsRef<Path>,
    _to_directory: &Dir,
    _to: impl AsRef<Path>,
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

/// The name of a file as bytes that give it back, also on another day; `None` if there are none.
#[cfg(unix)]
pub fn bytes_of_name(name: &OsStr) -> Option<&[u8]> {
    Some(std::os::unix::ffi::OsStrExt::as_bytes(name))
}

/// The name of a file as bytes that give it back, also on another day; `None` if there are none.
#[cfg(not(unix))]
pub fn bytes_of_name(name: &OsStr) -> Option<&[u8]> {
    name.to_str().map(str::as_bytes)
}

/// The name that such bytes stand for.
#[cfg(unix)]
pub fn name_of_bytes(bytes: &[u8]) -> Option<OsString> {
    let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    Some(name.to_owned())
}

/// The name that such bytes stand for.
#[cfg(not(unix))]
pub fn name_of_bytes(bytes: &[u8]) -> Option<OsString> {
    std::str::from_utf8(bytes).ok().map(OsString::from)
}

/// The names in a directory, in no order.
#[cfg(unix)]
pub fn names_in(directory: &Dir) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    use std::os::unix::ffi::OsStringExt;

    use rustix::fs::{Mode, OFlags, openat};

    // cap-std's own listing opens the directory twice more and locks at every name.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(directory, ".", flags, Mode::empty())?;
    Ok(
        rustix::fs::Dir::new(opened)?.filter_map(|entry| match entry {
            Ok(entry) => {
                let name = entry.file_name().to_bytes();
                let is_real = name != b"." && name != b"..";
                is_real.then(|| Ok(OsString::from_vec(name.to_vec())))
            }
            Err(errno) => Some(Err(errno.into())),
        }),
    )
}

/// The names in a directory, in no order.
#[cfg(not(unix))]
pub fn names_in(directory: &Dir) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    let entries = directory.entries()?;
    Ok(entries.map(|entry| Ok(entry?.file_name())))
}
