//! Writes the program's own files atomically: readers see the old file or the complete new one.
//!
//! No other module renames files. Paths here come from the settings or from the program; a path
//! that a model wrote goes through `workspace` instead.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};
use crate::platform::files;

/// Prefix of the names of incomplete files.
pub const TEMPORARY: &str = ".agent-";
/// Buffer size of an [`AtomicFile`], in bytes.
const DRAFT_BUFFER: usize = 256 * 1024;

/// How much must be on disk before a write returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Survives a crash of the program. After a power failure the old file may be back.
    Atomic,
    /// The content is on disk. After a power failure the name may still point to the old file.
    Synced,
    /// Content and name are on disk and survive a power failure.
    Durable,
}

/// The path that a link leads to, also if nothing is there yet.
///
/// A write to it keeps the link, which would otherwise be replaced. A link to a device or a pipe, an
/// old way to say that nothing is kept, is an error.
pub fn behind_links(file: &Path) -> Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut target = file.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(next) = fs::read_link(&target) {
            target = target.parent().unwrap_or(Path::new("")).join(next);
            continue;
        }
        let found = target.symlink_metadata();
        if found.is_ok_and(|found| !found.is_file()) {
            return Err(Error::mendable(format!(
                "`{}` is no regular file",
                target.display()
            )));
        }
        return Ok(target);
    }
    Err(Error::mendable(format!(
        "`{}` is a link that leads nowhere",
        file.display()
    )))
}

/// Replaces a file atomically. The new file is readable by its owner only.
///
/// Writes a temporary file in the same directory and renames it: another directory could be on
/// another file system, where a rename is a copy.
pub fn write_atomic(path: &Path, content: &[u8], durability: Durability) -> Result<()> {
    let directory = directory_of(path);
    // tempfile creates it with mode 0600, which is right for private state.
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(directory)?;
        file.write_all(content)?;
        if durability != Durability::Atomic {
            file.as_file().sync_all()?;
        }
        rename_into_place(file, path)?;
        if durability == Durability::Durable {
            sync_directory(directory)?;
        }
        Ok(())
    };
    write().map_err(|cause| Error::file("write", path, cause))
}

/// Replaces a file of somebody else atomically: it keeps its permissions.
pub fn write_atomic_in_place(path: &Path, content: &[u8]) -> Result<()> {
    let directory = directory_of(path);
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(directory)?;
        file.write_all(content)?;
        match fs::metadata(path) {
            Ok(before) => file.as_file().set_permissions(before.permissions())?,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(cause),
        }
        file.as_file().sync_all()?;
        rename_into_place(file, path)?;
        sync_directory(directory)
    };
    write().map_err(|cause| Error::file("write", path, cause))
}

/// Refuses a file whose directory takes no temporary file, which [`write_atomic`] needs there.
pub fn ensure_temporary_file(path: &Path) -> Result<()> {
    let tried = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory_of(path));
    tried
        .map(drop)
        .map_err(|cause| Error::file("write", path, cause))
}

/// Refuses a device that takes no writes, such as `/dev/full`. A pipe is left alone: its reader would
/// take the end of a trial for the end of everything.
pub fn ensure_writable_device(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let tried = path.metadata().and_then(|found| {
            if !found.file_type().is_char_device() {
                return Ok(());
            }
            // A write of nothing reaches the device's driver.
            let mut device = File::options().append(true).open(path)?;
            device.write(&[]).map(drop)
        });
        tried.map_err(|cause| Error::file("write", path, cause))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Writes to a device, to a pipe or at the end of an open file, which stay what they are.
pub fn write_through(path: &Path, content: &[u8]) -> Result<()> {
    let written = File::options()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(content));
    written.map_err(|cause| Error::file("write", path, cause))
}

/// Replaces whatever is there, except for a device: a link to `/dev/null` is an old way to say that
/// nothing is kept, and root could replace it for the whole machine.
fn rename_into_place(file: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let found = path.symlink_metadata().map(|found| found.file_type());
        if found.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device()) {
            return Err(io::Error::other("it is a device"));
        }
    }
    let mut file = Some(file);
    files::patiently(|| {
        let Some(unnamed) = file.take() else {
            return Ok(());
        };
        unnamed.persist(path).map(drop).map_err(|failed| {
            file = Some(failed.file);
            failed.error
        })
    })
}

/// Creates a file atomically. Returns false, and changes nothing, if it already exists.
pub fn write_new(path: &Path, content: &[u8]) -> Result<bool> {
    let write = || -> io::Result<bool> {
        let mut file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(directory_of(path))?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Ok(_) => Ok(true),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(failed) => Err(failed.error),
        }
    };
    write().map_err(|cause| Error::file("write", path, cause))
}

/// Reads a regular file of at most `max_bytes` that others may have put here. Does not block on a
/// pipe.
pub fn read_plain(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// A file that is written piece by piece and appears under its name only when it is complete.
///
/// Dropping it removes the temporary file. A killed process leaves the temporary file behind.
#[derive(Debug)]
pub struct AtomicFile {
    file: io::BufWriter<tempfile::NamedTempFile>,
}

impl AtomicFile {
    /// Creates the temporary file in the target directory, readable by its owner only.
    pub fn begin(directory: &Path) -> Result<Self> {
        let file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(directory)
            .map_err(|cause| Error::file("write into", directory, cause))?;
        Ok(Self {
            file: io::BufWriter::with_capacity(DRAFT_BUFFER, file),
        })
    }

    /// Renames the file into place, replacing an existing one.
    pub fn finish(self, path: &Path, durability: Durability) -> Result<()> {
        let finish = || -> io::Result<()> {
            let file = self
                .file
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            if durability != Durability::Atomic {
                file.as_file().sync_all()?;
            }
            rename_into_place(file, path)?;
            if durability == Durability::Durable {
                sync_directory(directory_of(path))?;
            }
            Ok(())
        };
        finish().map_err(|cause| Error::file("write", path, cause))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Moves a file within the same file system and never replaces an existing one.
///
/// Returns the new path: if `reply.txt` exists, the file becomes `reply-2.txt`.
pub fn move_aside(from: &Path, directory: &Path, name: &str) -> Result<PathBuf> {
    own_directory(directory)?;
    rename_aside(from, directory, name).map_err(|cause| Error::file("move", from, cause))
}

/// Like `move_aside`, but returns `None` if the file is gone, for example because another process
/// moved it.
pub fn take_aside(from: &Path, directory: &Path, name: &str) -> Result<Option<PathBuf>> {
    own_directory(directory)?;
    match rename_aside(from, directory, name) {
        Ok(target) => Ok(Some(target)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Error::file("move", from, cause)),
    }
}

fn rename_aside(from: &Path, directory: &Path, name: &str) -> io::Result<PathBuf> {
    let target = free_name(directory, name);
    #[expect(clippy::disallowed_methods, reason = "this is the place that renames")]
    files::patiently(|| fs::rename(from, &target))?;
    Ok(target)
}

/// An unused path in the directory: `name`, or `name-2`, `name-3` before the extension.
pub fn free_name(directory: &Path, name: &str) -> PathBuf {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    let mut target = directory.join(name);
    let mut count = 1;
    while target.symlink_metadata().is_ok() {
        count += 1;
        target = directory.join(format!("{stem}-{count}{extension}"));
    }
    target
}

/// Creates a directory and its parents.
pub fn create_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|cause| {
        let is_file = |path: &&Path| path.symlink_metadata().is_ok_and(|found| !found.is_dir());
        match path.ancestors().find(is_file) {
            Some(file) => in_the_way(file),
            None => Error::file("create", path, cause),
        }
    })
}

/// Ensures that a private directory of the program exists and is not a symbolic link.
///
/// A project could ship a link at this path and redirect our files. Parents are created as needed
/// and may be links; the caller has checked those that matter.
pub fn own_directory(path: &Path) -> Result<()> {
    let made = if path.symlink_metadata().is_ok() {
        Ok(())
    } else {
        create_directory(directory_of(path))?;
        crate::platform::create_private(path)
    };
    // Another process may have created it in the meantime.
    refuse_link(path)?;
    match (path.symlink_metadata(), made) {
        (Ok(found), _) if found.is_dir() => Ok(()),
        (Ok(_), _) => Err(in_the_way(path)),
        (Err(_), Err(cause)) | (Err(cause), Ok(())) => Err(Error::file("create", path, cause)),
    }
}

/// Ensures the same of every directory from `top` down to this one.
pub fn own_directories(top: &Path, directory: &Path) -> Result<()> {
    let mut levels: Vec<&Path> = directory
        .ancestors()
        .take_while(|level| level.starts_with(top))
        .collect();
    levels.reverse();
    levels.into_iter().try_for_each(own_directory)
}

/// Creates a private temporary directory, which is removed when the value is dropped.
pub fn temporary_directory(prefix: &str) -> Result<tempfile::TempDir> {
    crate::platform::temporary_directory(prefix)
        .map_err(|cause| Error::mendable("could not create a temporary directory").because(cause))
}

/// Fails if the path of one of our directories is a symbolic link.
pub fn refuse_link(path: &Path) -> Result<()> {
    if !path.is_symlink() {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "`{}` is a link, where `agent` needs a directory of its own",
        path.display()
    ))
    .hint("remove the link; `agent` creates the directory again"))
}

/// A name in a directory, as `Path::join` gives it with two allocations.
pub fn joined(directory: &Path, name: &OsStr) -> PathBuf {
    let mut path = PathBuf::with_capacity(directory.as_os_str().len() + 1 + name.len());
    path.push(directory);
    path.push(name);
    path
}

/// Resolves `.` and `..` by name; the path is absolute and its beginning free of links.
pub fn resolve_dots(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    resolved
}

/// The absolute path without links of a file that exists, as people write it: on Windows without the
/// `\\?\` in front, unless nothing else names the file.
pub fn canonical(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// The path without links, also of a file that does not exist yet; `None` if a link in it leads to
/// nothing, because a process that writes through the link decides what is there.
pub fn real_path(path: &Path) -> Option<PathBuf> {
    /// No system opens a longer path.
    const MAX_PATH: usize = 32 * 1024;
    if path.as_os_str().len() > MAX_PATH {
        return Some(path.to_owned());
    }
    let mut real = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            real.pop();
            continue;
        }
        real.push(part);
        match canonical(&real) {
            Ok(found) => real = found,
            Err(_) if real.is_symlink() => return None,
            Err(_) => {}
        }
    }
    Some(real)
}

fn in_the_way(file: &Path) -> Error {
    Error::mendable(format!(
        "`{}` is a file, where a directory is needed",
        file.display()
    ))
    .hint("move it away; `agent` creates the directory again")
}

/// Removes a file or a directory tree. Succeeds if there is nothing to remove.
pub fn remove(path: &Path) -> Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => files::patiently(|| fs::remove_dir_all(path)),
        Ok(_) => files::patiently(|| fs::remove_file(path)),
        Err(cause) => Err(cause),
    };
    match removed {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("remove", path, cause))
        }
        _ => Ok(()),
    }
}

/// Creates a dangling symbolic link.
pub fn make_dead_link(place: &Path) -> io::Result<()> {
    crate::platform::files::dangling_link(place)
}

/// Makes renames in the directory survive a power failure.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    // Windows cannot open a directory as a file; its file system journals the rename.
    if cfg!(unix) {
        File::open(directory)?.sync_all()
    } else {
        Ok(())
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_real_path_has_no_links_and_need_not_exist() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/sub")).unwrap();
        fs::create_dir_all(root.join("other/deep")).unwrap();
        symlink(root.join("other/deep"), root.join("work/out")).unwrap();
        symlink("sub", root.join("work/in")).unwrap();
        symlink("../other/missing", root.join("work/dangling")).unwrap();
        symlink("loop", root.join("work/loop")).unwrap();
        let real = |path: &str| real_path(&root.join("work").join(path));
        for (path, expected) in [
            ("", "work"),
            ("sub/new/file", "work/sub/new/file"),
            ("in/new", "work/sub/new"),
            ("out/x", "other/deep/x"),
            ("out/../x", "other/x"),
            ("new/../out", "other/deep"),
        ] {
            assert_eq!(real(path), Some(root.join(expected)), "{path}");
        }
        assert_eq!(real("dangling"), None);
        assert_eq!(real("loop/x"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_not_replaced() {
        use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
        let place = tempfile::tempdir().unwrap();
        let null = place.path().join("null");
        let mode = Mode::from_raw_mode(0o666);
        if mknodat(CWD, &null, FileType::CharacterDevice, mode, makedev(1, 3)).is_err() {
            eprintln!("skipped: only root makes devices, and not everywhere");
            return;
        }
        for written in [
            write_atomic(&null, b"x", Durability::Atomic),
            write_atomic_in_place(&null, b"x"),
            AtomicFile::begin(place.path()).and_then(|file| file.finish(&null, Durability::Atomic)),
        ] {
            let error = format!("{:?}", written.unwrap_err());
            assert!(error.contains("it is a device"), "{error}");
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        write_atomic(&path, b"one", Durability::Durable).unwrap();
        write_atomic(&path, b"two", Durability::Atomic).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_first_who_writes_a_new_file_wins() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        assert!(write_new(&path, b"one").unwrap());
        assert!(!write_new(&path, b"two").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn state_is_private_to_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        write_atomic(&path, b"one", Durability::Atomic).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_write_that_fails_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/a.json");
        let error = write_atomic(&path, b"", Durability::Atomic).unwrap_err();
        assert!(
            error.to_string().starts_with("could not write `"),
            "{error}"
        );
    }

    #[test]
    fn a_file_in_the_way_of_a_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("inbox");
        write_atomic(&file, b"", Durability::Atomic).unwrap();
        let error = create_directory(&file.join("processed")).unwrap_err();
        assert!(error.to_string().contains("inbox` is a file"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_temporary_directory_is_private_and_goes_with_its_value() {
        use std::os::unix::fs::PermissionsExt;
        let directory = temporary_directory("agent-test-").unwrap();
        let path = directory.path().to_owned();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(directory);
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_of_our_own_is_private_and_no_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("sessions/cache");
        own_directory(&own).unwrap();
        own_directory(&own).unwrap();
        let mode = fs::metadata(&own).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let elsewhere = directory.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let file = directory.path().join("reply.txt");
        for (name, target) in [("link", "elsewhere"), ("dead", "nothing")] {
            let link = directory.path().join(name);
            symlink(target, &link).unwrap();
            let error = own_directory(&link).unwrap_err();
            assert!(error.to_string().contains("is a link"), "{error}");
            fs::File::create(&file).unwrap();
            assert!(move_aside(&file, &link, "x").is_err());
            assert!(take_aside(&file, &link, "x").is_err());
        }
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        let error = own_directory(&file).unwrap_err();
        assert!(error.to_string().contains("is a file"), "{error}");
    }

    #[test]
    fn moving_aside_never_replaces() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("done");
        for expected in ["r.txt", "r-2.txt", "r-3.txt"] {
            let from = directory.path().join("in.txt");
            fs::File::create(&from).unwrap();
            assert_eq!(
                move_aside(&from, &target, "r.txt").unwrap(),
                target.join(expected)
            );
        }
    }
}
