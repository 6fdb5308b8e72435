//! File operations that not every operating system supports.

#![cfg_attr(
    windows,
    allow(
        clippy::missing_const_for_thread_local,
        reason = "it is const; the lint does not see it for this target"
    )
)]

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

/// Renames a file, and fails if the new name exists.
///
/// Returns `Unsupported` if the kernel or the file system cannot guarantee this; then the caller
/// must check first.
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

/// Renaming without replacing is not supported on this system.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn rename_without_replacing(
    _from_directory: &Dir,
    _from: impl AsRef<Path>,
    _to_directory: &Dir,
    _to: impl AsRef<Path>,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The permission bit without which a file is read-only.
#[cfg(not(unix))]
pub const OWNER_WRITES: u32 = 0o200;

/// Sets or clears the read-only attribute of an open file.
#[cfg(not(unix))]
pub fn set_read_only(file: &cap_std::fs::File, is_read_only: bool) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    if permissions.readonly() == is_read_only {
        return Ok(());
    }
    permissions.set_readonly(is_read_only);
    file.set_permissions(permissions)
}

/// Clears the read-only attribute of a file, without which not every Windows replaces or removes it.
#[cfg(not(unix))]
pub fn make_replaceable(directory: &Dir, name: impl AsRef<Path>) {
    let name = name.as_ref();
    if let Ok(found) = directory.symlink_metadata(name)
        && found.is_file()
        && found.permissions().readonly()
    {
        let mut permissions = found.permissions();
        permissions.set_readonly(false);
        // The call that follows reports what is wrong.
        let _ = directory.set_permissions(name, permissions);
    }
}

/// Does nothing: here the permissions of the directory decide.
#[cfg(unix)]
pub fn make_replaceable(_directory: &Dir, _name: impl AsRef<Path>) {}

/// Tries again for a while if another program has a file open, as editors and virus scanners do for
/// a moment on Windows. Nothing tells when they close it.
pub fn patiently<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    const PAUSES: [u64; 9] = [5, 10, 20, 40, 80, 160, 320, 640, 1280];
    for pause in PAUSES {
        match work() {
            Err(cause) if is_in_use(&cause) => {
                std::thread::sleep(std::time::Duration::from_millis(pause));
            }
            done => return done,
        }
    }
    work()
}

/// True if another program may have the file open: a rename onto such a file is denied on Windows.
fn is_in_use(cause: &io::Error) -> bool {
    const ACCESS_DENIED: i32 = 5;
    is_shared_by_nobody(cause) || cfg!(windows) && cause.raw_os_error() == Some(ACCESS_DENIED)
}

/// True for the errors of Windows that say that another program has the file open.
pub fn is_shared_by_nobody(cause: &io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    cfg!(windows)
        && matches!(
            cause.raw_os_error(),
            Some(SHARING_VIOLATION | LOCK_VIOLATION)
        )
}

/// Sets the modification time of a file to now, by the clock of its file system.
#[cfg(unix)]
pub fn touch(file: &std::fs::File) -> io::Result<()> {
    use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};

    let at = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    let times = Timestamps {
        last_access: at(UTIME_OMIT),
        last_modification: at(UTIME_NOW),
    };
    Ok(futimens(file, &times)?)
}

/// Sets the modification time of a file to now.
#[cfg(not(unix))]
pub fn touch(file: &std::fs::File) -> io::Result<()> {
    file.set_modified(std::time::SystemTime::now())
}

/// Swaps the names of two files atomically.
///
/// Returns `Unsupported` if the kernel or the file system cannot do this.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub fn exchange_names(
    one_directory: &Dir,
    one: impl AsRef<Path>,
    other_directory: &Dir,
    other: impl AsRef<Path>,
) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(
        one_directory,
        one.as_ref(),
        other_directory,
        other.as_ref(),
        RenameFlags::EXCHANGE,
    ) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        other => Ok(other?),
    }
}

/// Swapping names is not supported on this system.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn exchange_names(
    _one_directory: &Dir,
    _one: impl AsRef<Path>,
    _other_directory: &Dir,
    _other: impl AsRef<Path>,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Copies owner and extended attributes of a file to the one that will replace it, as far as
/// possible: only root can change the owner.
#[cfg(unix)]
pub fn copy_attributes(directory: &Dir, name: impl AsRef<Path>, new: &cap_std::fs::File) {
    use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid, fchown, fstat, openat, statat};

    let name = name.as_ref();
    let (Ok(old), Ok(made)) = (
        statat(directory, name, AtFlags::SYMLINK_NOFOLLOW),
        fstat(new),
    ) else {
        return;
    };
    if FileType::from_raw_mode(old.st_mode) != FileType::RegularFile {
        return;
    }
    if (old.st_uid, old.st_gid) != (made.st_uid, made.st_gid) {
        let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        if fchown(new, Some(user), Some(group)).is_err() {
            let _ = fchown(new, None, Some(group));
        }
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if let Ok(old) = openat(directory, name, flags, Mode::empty()) {
        copy_extended(&old, new);
    }
}

/// There are no attributes to copy on this system.
#[cfg(not(unix))]
pub fn copy_attributes(_directory: &Dir, _name: impl AsRef<Path>, _new: &cap_std::fs::File) {}

/// Copies the attributes that fit into a buffer larger than most file systems allow.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn copy_extended(old: &std::os::fd::OwnedFd, new: &cap_std::fs::File) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

    const LONGEST: usize = 64 * 1024;
    let mut names = vec![0; LONGEST];
    let length = flistxattr(old, &mut names[..]).unwrap_or_default();
    let mut value = vec![0; LONGEST];
    for name in names[..length].split(|byte| *byte == 0) {
        // A file capability grants rights, as setuid does, so it is not copied.
        if name.is_empty() || name == b"security.capability" {
            continue;
        }
        if let Ok(length) = fgetxattr(old, name, &mut value[..]) {
            let _ = fsetxattr(new, name, &value[..length], XattrFlags::empty());
        }
    }
}

/// Extended attributes are not supported on this system.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "macos"))))]
fn copy_extended(_old: &std::os::fd::OwnedFd, _new: &cap_std::fs::File) {}

/// Paths in the one spelling that a walk gives them, so that their bytes can be compared.
pub fn as_walked(paths: &[PathBuf]) -> Vec<OsString> {
    let spelt = |path: &PathBuf| path.components().collect::<PathBuf>().into();
    paths.iter().map(spelt).collect()
}

/// A path beneath a directory, relative to it, as `Path::strip_prefix` gives it: that compares
/// component by component, which is slow for every directory of a walk.
pub fn relative_to<'p>(directory: &Path, path: &'p Path) -> &'p Path {
    #[cfg(unix)]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let above = directory.as_os_str().as_bytes();
        match path.as_os_str().as_bytes().strip_prefix(above) {
            Some([]) => return Path::new(""),
            Some([b'/', beneath @ ..]) => return Path::new(OsStr::from_bytes(beneath)),
            _ => {}
        }
    }
    path.strip_prefix(directory).unwrap_or(path)
}

/// Opens a directory beneath the root if no component of the path is a symbolic link.
///
/// Resolves the whole path with one system call. On any error the caller falls back to opening
/// component by component.
#[cfg(target_os = "linux")]
pub fn open_beneath(root: &Dir, path: impl AsRef<Path>) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = openat2(root, path.as_ref(), flags, Mode::empty(), resolve)?;
    Ok(Dir::from_std_file(opened.into()))
}

/// Opening beneath the root in one call is not supported on this system.
#[cfg(not(target_os = "linux"))]
pub fn open_beneath(_root: &Dir, _path: impl AsRef<Path>) -> io::Result<Dir> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens a file beneath the root for reading if no component of the path is a symbolic link. Does
/// not block on a pipe without a writer.
///
/// As with `open_beneath`, on any error the caller falls back to the slower way.
#[cfg(target_os = "linux")]
pub fn open_file_beneath(root: &Dir, path: &str) -> io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(root, path, flags, Mode::empty(), resolve)?.into())
}

/// Opening beneath the root in one call is not supported on this system.
#[cfg(not(target_os = "linux"))]
pub fn open_file_beneath(_root: &Dir, _path: &str) -> io::Result<std::fs::File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Flushes all writes to the file system of this directory to disk.
///
/// One call for any number of files is cheaper than an fsync for each of them and their
/// directories.
#[cfg(target_os = "linux")]
pub fn sync_file_system(directory: &Dir) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, openat, syncfs};

    // cap-std opens directories with `O_PATH`, and such descriptors cannot be synced.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(directory, ".", flags, Mode::empty())?;
    Ok(syncfs(opened)?)
}

/// Flushes all writes to disk.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn sync_file_system(_directory: &Dir) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Does nothing: renames are journaled here, and there is no call for a whole file system.
#[cfg(not(unix))]
pub fn sync_file_system(_directory: &Dir) -> io::Result<()> {
    Ok(())
}

/// True if `sync_file_system` for a directory also covers another path.
///
/// Only systems that are known to sync a whole file system return true; elsewhere the caller syncs
/// separately.
#[cfg(target_os = "linux")]
pub fn one_sync_covers(directory: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let device = |path: &Path| path.metadata().ok().map(|metadata| metadata.dev());
    device(directory).is_some_and(|here| device(other) == Some(here))
}

/// Not known on this system, so the caller syncs separately.
#[cfg(not(target_os = "linux"))]
pub fn one_sync_covers(_directory: &Path, _other: &Path) -> bool {
    false
}

/// Creates directories with this mode, less what the process takes off.
#[cfg(unix)]
pub fn directory_builder(mode: u32) -> cap_std::fs::DirBuilder {
    let mut builder = cap_std::fs::DirBuilder::new();
    cap_std::fs::DirBuilderExt::mode(&mut builder, mode);
    builder
}

/// Creates directories; there are no modes on this system.
#[cfg(not(unix))]
pub fn directory_builder(_mode: u32) -> cap_std::fs::DirBuilder {
    cap_std::fs::DirBuilder::new()
}

/// Creates a dangling symbolic link.
#[cfg(unix)]
pub fn dangling_link(place: &std::path::Path) -> io::Result<()> {
    std::os::unix::fs::symlink("nowhere", place)
}

/// Dangling links are not supported on this system.
#[cfg(not(unix))]
pub fn dangling_link(_place: &std::path::Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A file name as bytes that convert back to the same name later; `None` if that is impossible.
#[cfg(unix)]
pub fn bytes_of_name(name: &OsStr) -> Option<&[u8]> {
    Some(std::os::unix::ffi::OsStrExt::as_bytes(name))
}

/// A file name as bytes that convert back to the same name later; `None` if that is impossible.
#[cfg(not(unix))]
pub fn bytes_of_name(name: &OsStr) -> Option<&[u8]> {
    name.to_str().map(str::as_bytes)
}

/// The file name for bytes from `bytes_of_name`.
#[cfg(unix)]
pub fn name_of_bytes(bytes: &[u8]) -> Option<OsString> {
    let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    Some(name.to_owned())
}

/// The file name for bytes from `bytes_of_name`.
#[cfg(not(unix))]
pub fn name_of_bytes(bytes: &[u8]) -> Option<OsString> {
    std::str::from_utf8(bytes).ok().map(OsString::from)
}

/// The names in a directory, unsorted.
#[cfg(unix)]
pub fn names_in(directory: &Dir) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    use std::os::unix::ffi::OsStringExt;

    use rustix::fs::{Mode, OFlags, openat};

    // cap-std's own listing opens the directory twice more and takes a lock for every name.
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

/// The names in a directory, unsorted.
#[cfg(not(unix))]
pub fn names_in(directory: &Dir) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    let entries = directory.entries()?;
    Ok(entries.map(|entry| Ok(entry?.file_name())))
}

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// Tells a listing to continue or to stop.
pub type Flow = std::ops::ControlFlow<()>;

thread_local! {
    static LISTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many directories this thread has listed with [`list_beneath`]. Tests count them: that is most
/// of what a walk costs beside its files.
pub fn listed_by_this_thread() -> usize {
    LISTED.get()
}

/// Opens a directory beneath the root, without following a link at its end, and reports its entries
/// unsorted. An empty path is the root.
#[cfg(target_os = "linux")]
pub fn list_beneath(
    root: &Dir,
    path: &Path,
    mut tell: impl FnMut(&OsStr, EntryKind) -> Flow,
) -> io::Result<Dir> {
    use std::cell::Cell;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{Mode, OFlags, RawDir, ResolveFlags, openat2};

    const BUFFER: usize = 32 * 1024;
    thread_local! {
        // Threads that walk in parallel contend for the allocator when large buffers come and go.
        static LAST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    LISTED.set(LISTED.get() + 1);
    let is_root = path.as_os_str().is_empty();
    let place = if is_root { Path::new(".") } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let Ok(opened) = openat2(root, place, flags, Mode::empty(), resolve) else {
        // An old kernel, or a directory was renamed at this moment: the slower way handles both.
        return list_with_cap_std(root, path, tell);
    };
    let mut buffer = LAST.take();
    buffer.reserve(BUFFER);
    let mut entries = RawDir::new(&opened, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match kind_of_type(entry.file_type()) {
            Some(kind) => kind,
            // Some file systems do not report the type in the listing.
            None => {
                match rustix::fs::statat(&opened, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind_of_type(rustix::fs::FileType::from_raw_mode(stat.st_mode))
                        .unwrap_or(EntryKind::Special),
                    Err(_) => continue,
                }
            }
        };
        if tell(OsStr::from_bytes(name.to_bytes()), kind).is_break() {
            break;
        }
    }
    LAST.set(buffer);
    Ok(Dir::from_std_file(opened.into()))
}

#[cfg(target_os = "linux")]
fn kind_of_type(file_type: rustix::fs::FileType) -> Option<EntryKind> {
    use rustix::fs::FileType;
    match file_type {
        FileType::RegularFile => Some(EntryKind::File),
        FileType::Directory => Some(EntryKind::Directory),
        FileType::Symlink => Some(EntryKind::Link),
        FileType::Unknown => None,
        _ => Some(EntryKind::Special),
    }
}

/// Opens a directory beneath the root, without following a link at its end, and reports its entries
/// unsorted. An empty path is the root.
#[cfg(not(target_os = "linux"))]
pub fn list_beneath(
    root: &Dir,
    path: &Path,
    tell: impl FnMut(&OsStr, EntryKind) -> Flow,
) -> io::Result<Dir> {
    LISTED.set(LISTED.get() + 1);
    list_with_cap_std(root, path, tell)
}

fn list_with_cap_std(
    root: &Dir,
    path: &Path,
    mut tell: impl FnMut(&OsStr, EntryKind) -> Flow,
) -> io::Result<Dir> {
    let opened = if path.as_os_str().is_empty() {
        root.try_clone()?
    } else {
        cap_fs_ext::DirExt::open_dir_nofollow(root, path)?
    };
    for entry in opened.entries()? {
        let entry = entry?;
        let Ok(file_type) = entry.file_type() else {
            continue;
        };
        let kind = if file_type.is_dir() {
            EntryKind::Directory
        } else if file_type.is_symlink() {
            EntryKind::Link
        } else if file_type.is_file() {
            EntryKind::File
        } else {
            EntryKind::Special
        };
        if tell(&entry.file_name(), kind).is_break() {
            break;
        }
    }
    Ok(opened)
}

/// Inode and change time in nanoseconds since 1970 of a directory beneath the root; an empty path is
/// the root. Does not open it, so a link in the place of one of its parents is followed: only a known
/// inode says that it is the one that was meant.
#[cfg(unix)]
pub fn inode_and_change(root: &Dir, path: &Path) -> io::Result<(u64, i64)> {
    let is_root = path.as_os_str().is_empty();
    let place = if is_root { Path::new(".") } else { path };
    let stat = rustix::fs::statat(root, place, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((stat.st_ino, nanoseconds(stat.st_ctime, stat.st_ctime_nsec)))
}

/// True if the file system is known to give a directory a new change time whenever an entry comes, goes
/// or is renamed. Network file systems and those in user space may keep an old one for a while.
#[cfg(target_os = "linux")]
pub fn keeps_change_times(directory: &Dir) -> bool {
    const EXT: u64 = 0xef53;
    const BTRFS: u64 = 0x9123_683e;
    const F2FS: u64 = 0xf2f5_2010;
    const OVERLAY: u64 = 0x794c_7630;
    const TMPFS: u64 = 0x0102_1994;
    const XFS: u64 = 0x5846_5342;
    const ZFS: u64 = 0x2fc1_2fc1;
    let kind = rustix::fs::fstatfs(directory).map(|found| u64::try_from(found.f_type));
    matches!(
        kind,
        Ok(Ok(EXT | BTRFS | F2FS | OVERLAY | TMPFS | XFS | ZFS))
    )
}

/// True on systems that keep them; there is no sandbox whose look would depend on it.
#[cfg(not(target_os = "linux"))]
pub fn keeps_change_times(_directory: &Dir) -> bool {
    cfg!(unix)
}

/// This system tells neither.
#[cfg(not(unix))]
pub fn inode_and_change(_root: &Dir, _path: &Path) -> io::Result<(u64, i64)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Size in bytes and modification time in nanoseconds since 1970 of a file in a directory, without
/// following links.
#[cfg(unix)]
pub fn size_and_time(directory: &Dir, name: &str) -> io::Result<(u64, i64)> {
    let stat = rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    Ok((size, nanoseconds(stat.st_mtime, stat.st_mtime_nsec)))
}

/// A time in nanoseconds. The type of the part below a second differs between systems.
#[cfg(unix)]
fn nanoseconds(seconds: i64, rest: impl TryInto<i64>) -> i64 {
    let rest = rest.try_into().unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// Size in bytes and modification time in nanoseconds since 1970 of a file in a directory, without
/// following links.
#[cfg(not(unix))]
pub fn size_and_time(directory: &Dir, name: &str) -> io::Result<(u64, i64)> {
    let metadata = directory.symlink_metadata(name)?;
    let time = metadata.modified().ok().and_then(|time| {
        let since = time.into_std().duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_nanos()).ok()
    });
    Ok((metadata.len(), time.unwrap_or_default()))
}

/// Opens a file in a directory for reading. Does not follow a link and does not block on a pipe.
#[cfg(unix)]
pub fn open_in(directory: &Dir, name: &str) -> io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags, openat};

    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    debug_assert!(!name.contains('/'), "a name, not a path");
    Ok(openat(directory, name, flags, Mode::empty())?.into())
}

/// Opens a file in a directory for reading. Does not follow a link.
#[cfg(not(unix))]
pub fn open_in(directory: &Dir, name: &str) -> io::Result<std::fs::File> {
    use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};

    let mut options = cap_std::fs::OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    Ok(directory.open_with(name, &options)?.into_std())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beneath_is_told_by_bytes_as_by_components() {
        let pairs = [
            ("/w", "/w", ""),
            ("/w", "/w/a/b", "a/b"),
            ("/w/", "/w/a", "a"),
            ("/", "/a/b", "a/b"),
            // Elsewhere: the path stays as it is.
            ("/w", "/wide/a", "/wide/a"),
            ("/w/x", "/w", "/w"),
        ];
        for (directory, path, expected) in pairs {
            let (directory, path) = (Path::new(directory), Path::new(path));
            let relative = relative_to(directory, path);
            assert_eq!(relative, Path::new(expected));
            let slowly = path.strip_prefix(directory).unwrap_or(path);
            assert_eq!(relative.as_os_str(), slowly.as_os_str());
        }
    }

    #[test]
    fn any_spelling_of_a_path_is_the_one_of_a_walk() {
        let paths = ["/w/a", "/w//a/", "/w/./a"].map(PathBuf::from);
        let walked = Path::new("/w").join("a").into_os_string();
        assert_eq!(as_walked(&paths), [walked.clone(), walked.clone(), walked]);
    }
}
