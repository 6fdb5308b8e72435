//! File operations for undo, by exact name.
//!
//! A `RelPath` is a path that a model can write; undo must also restore names that no model can.
//! Confinement is the same: every component is opened beneath the root without following a link.
//! Paths into `.git` and `.agent` are refused.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::survey::{FileStat, is_passed_by, read_regular};
use super::{FileKind, Workspace, create_private};
use crate::fs::TEMPORARY;
use crate::platform::files;

/// Suffix of kept copies.
const KEPT: &str = ".kept";

impl Workspace {
    /// The metadata of the path; `None` if it does not exist or one of its parents is not a
    /// directory.
    pub fn stat_exact(&self, path: &Path) -> io::Result<Option<FileStat>> {
        let found = (self.at(path)).and_then(|(directory, name)| directory.symlink_metadata(name));
        match found {
            Ok(metadata) => Ok(Some(FileStat::of(&metadata))),
            Err(cause) if is_absence(&cause) => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    /// Reads a regular file; `None` if it is not regular or larger than `max_bytes`.
    pub fn read_exact(&self, path: &Path, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let (directory, name) = self.at(path)?;
        let file = read_regular(&directory, name, max_bytes)?;
        Ok(file.map(|(bytes, _)| bytes))
    }

    /// The target of a link.
    pub fn read_link_exact(&self, path: &Path) -> io::Result<OsString> {
        let (directory, name) = self.at(path)?;
        Ok(directory.read_link_contents(name)?.into_os_string())
    }

    /// The names in a directory; an empty path is the root.
    pub fn names_exact(&self, path: &Path) -> io::Result<Vec<OsString>> {
        files::names_in(&self.walk_exact(path)?)?.collect()
    }

    /// Creates or replaces a file atomically, with these permission bits.
    ///
    /// Keeps owner and extended attributes of the replaced file as far as the system allows.
    /// Replaces a link instead of following it.
    pub fn write_exact(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        let (directory, name) = self.at(path)?;
        replace(&directory, name, |temporary| {
            let mut file = create_private(&directory, temporary, false)?;
            file.write_all(content)?;
            files::copy_attributes(&directory, name, &file);
            // After the owner: changing it clears special bits.
            set_file_mode(&file, mode)
        })
    }

    /// Creates a hard link, replacing an existing entry.
    pub fn hard_link_exact(&self, file: &Path, path: &Path) -> io::Result<()> {
        let (from, from_name) = self.at(file)?;
        let (directory, name) = self.at(path)?;
        replace(&directory, name, |temporary| {
            from.hard_link(from_name, &directory, temporary)
        })
    }

    /// Moves a file out of the workspace, to an unused path of the program.
    ///
    /// Fails if that is on another file system.
    pub fn move_out_exact(&self, path: &Path, to: &Path) -> io::Result<()> {
        let (directory, name) = self.at(path)?;
        let parent = to.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let to_name = to.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let target = Dir::open_ambient_dir(parent, cap_std::ambient_authority())?;
        match files::rename_without_replacing(&directory, name, &target, to_name) {
            Err(cause) if cause.kind() == io::ErrorKind::Unsupported => {
                files::patiently(|| directory.rename(name, &target, to_name))
            }
            other => other,
        }
    }

    /// Creates or replaces a symbolic link.
    pub fn link_exact(&self, path: &Path, target: &OsStr) -> io::Result<()> {
        let (directory, name) = self.at(path)?;
        replace(&directory, name, |temporary| {
            make_link(&directory, target, temporary)
        })
    }

    /// Creates a directory; its parent must exist.
    pub fn make_directory_exact(&self, path: &Path) -> io::Result<()> {
        self.make_directory_with_mode(path, 0o777)
    }

    /// Creates a directory that is at no time more open than this mode; its parent must exist.
    pub fn make_directory_with_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let (directory, name) = self.at(path)?;
        directory.create_dir_with(name, &files::directory_builder(mode))
    }

    /// Removes a file or a link.
    pub fn remove_exact(&self, path: &Path) -> io::Result<()> {
        let (directory, name) = self.at(path)?;
        files::patiently(|| {
            files::make_replaceable(&directory, name);
            directory.remove_file_or_symlink(name)
        })
    }

    /// Removes an empty directory.
    pub fn remove_directory_exact(&self, path: &Path) -> io::Result<()> {
        let (directory, name) = self.at(path)?;
        directory.remove_dir(name)
    }

    /// Sets the permission bits of a file or directory; does not follow a link.
    #[cfg(unix)]
    pub fn set_mode_exact(&self, path: &Path, mode: u32) -> io::Result<()> {
        use cap_std::fs::{Permissions, PermissionsExt};

        let (directory, name) = self.at(path)?;
        if directory.symlink_metadata(name)?.is_symlink() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Older kernels can only follow the link; one created in between still stays inside.
        directory.set_permissions(name, Permissions::from_mode(mode))
    }

    /// Sets or clears the read-only attribute of a file; does not follow a link.
    #[cfg(not(unix))]
    pub fn set_mode_exact(&self, path: &Path, mode: u32) -> io::Result<()> {
        let (directory, name) = self.at(path)?;
        let found = directory.symlink_metadata(name)?;
        if found.is_symlink() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if !found.is_file() {
            return Ok(());
        }
        let mut permissions = found.permissions();
        permissions.set_readonly(mode & files::OWNER_WRITES == 0);
        directory.set_permissions(name, permissions)
    }

    /// Renames the entry to an unused name beside it, and returns that path.
    pub fn set_aside_exact(&self, path: &Path) -> io::Result<PathBuf> {
        let (directory, name) = self.at(path)?;
        for count in 1..1_000 {
            let mut kept = name.to_owned();
            kept.push(KEPT);
            if count > 1 {
                kept.push(format!("-{count}"));
            }
            match rename_to_free(&directory, name, &kept) {
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done.map(|()| path.with_file_name(kept)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Opens the parent directory; returns it with the file name.
    fn at<'a>(&self, path: &'a Path) -> io::Result<(Dir, &'a OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        if is_passed_by(name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.walk_exact(parent)?, name))
    }

    /// Opens a directory; an empty path is the root.
    pub(super) fn open_exact(&self, path: &Path) -> io::Result<Dir> {
        let opened = path.to_str().filter(|path| !path.is_empty());
        match opened.map(|path| files::open_beneath(&self.root, path)) {
            Some(Ok(opened)) => Ok(opened),
            _ => self.walk_exact(path),
        }
    }

    fn walk_exact(&self, path: &Path) -> io::Result<Dir> {
        let mut directory = self.root.try_clone()?;
        for component in path.components() {
            let Component::Normal(name) = component else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            if is_passed_by(name) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            directory = match directory.open_dir_nofollow(name) {
                Ok(next) => next,
                // Systems report a link in different ways.
                Err(cause) => match directory.symlink_metadata(name) {
                    Ok(metadata) if !metadata.is_dir() => {
                        return Err(io::ErrorKind::NotADirectory.into());
                    }
                    _ => return Err(cause),
                },
            };
        }
        Ok(directory)
    }
}

/// True if the error says that the file does not exist.
pub(super) fn is_absence(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn replace(
    directory: &Dir,
    name: &OsStr,
    make: impl FnOnce(&str) -> io::Result<()>,
) -> io::Result<()> {
    // The same name for the same file, so that leftovers of a killed process are replaced.
    let mark = blake3::hash(name.as_encoded_bytes()).to_hex();
    let temporary = format!("{TEMPORARY}{}.tmp", &mark[..32]);
    let _ = directory.remove_file_or_symlink(&temporary);
    make(&temporary)
        .and_then(|()| {
            files::patiently(|| {
                files::make_replaceable(directory, name);
                directory.rename(&temporary, directory, name)
            })
        })
        .inspect_err(|_| {
            // The leftover is useless; report the first error.
            let _ = directory.remove_file_or_symlink(&temporary);
        })
}

fn rename_to_free(directory: &Dir, from: &OsStr, to: &OsStr) -> io::Result<()> {
    match files::rename_without_replacing(directory, from, directory, to) {
        Err(cause) if cause.kind() == io::ErrorKind::Unsupported => {
            if directory.symlink_metadata(to).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            files::patiently(|| directory.rename(from, directory, to))
        }
        other => other,
    }
}

#[cfg(unix)]
fn set_file_mode(file: &cap_std::fs::File, mode: u32) -> io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt};
    file.set_permissions(Permissions::from_mode(mode & 0o7777))
}

#[cfg(not(unix))]
fn set_file_mode(file: &cap_std::fs::File, mode: u32) -> io::Result<()> {
    files::set_read_only(file, mode & files::OWNER_WRITES == 0)
}

#[cfg(unix)]
fn make_link(directory: &Dir, target: &OsStr, name: &str) -> io::Result<()> {
    directory.symlink_contents(target, name)
}

#[cfg(not(unix))]
fn make_link(_directory: &Dir, _target: &OsStr, _name: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl FileStat {
    /// True for a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        (directory, workspace)
    }

    #[test]
    fn any_name_can_be_written_and_read() {
        let (_directory, workspace) = workspace();
        let path = Path::new(OsStr::from_bytes(b" caf\xe9\n\\"));
        workspace.write_exact(path, b"content", 0o640).unwrap();
        let stat = workspace.stat_exact(path).unwrap().unwrap();
        assert_eq!((stat.size, stat.mode), (7, 0o640));
        assert_eq!(workspace.read_exact(path, 7).unwrap().unwrap(), b"content");
        assert_eq!(workspace.read_exact(path, 6).unwrap(), None);
        assert_eq!(workspace.names_exact(Path::new("")).unwrap(), [path]);
    }

    #[test]
    fn neither_the_repository_nor_the_outside_can_be_named() {
        let (directory, workspace) = workspace();
        std::fs::create_dir(directory.path().join(".git")).unwrap();
        std::os::unix::fs::symlink("/tmp", directory.path().join("out")).unwrap();
        for path in [
            ".git",
            ".git/x",
            "a/.GIT/x",
            "../x",
            "/etc/passwd",
            ".",
            "",
            "out/x",
        ] {
            let path = Path::new(path);
            assert!(workspace.write_exact(path, b"", 0o600).is_err(), "{path:?}");
            assert!(workspace.remove_exact(path).is_err(), "{path:?}");
            assert!(workspace.set_mode_exact(path, 0o600).is_err(), "{path:?}");
        }
        assert!(workspace.set_mode_exact(Path::new("out"), 0o600).is_err());
        assert_eq!(workspace.stat_exact(Path::new("out/x")).unwrap(), None);
    }
}
