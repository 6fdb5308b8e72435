//! The workspace directory, and the only access to its files.
//!
//! The directory is opened once. Every path is resolved beneath it by the kernel (`openat2`) or by
//! cap-std's emulation, so that no link, race or crafted name leads out. Reading may follow a link
//! that stays inside and does not lead to our own records; operations that change files follow
//! none. `policy` decides which names may be read or changed.

pub mod crew;
pub mod exact;
mod folded;
mod hidden;
mod ignored;
pub mod joint_walk;
mod known_names;
mod likeness;
mod look;
mod made;
mod neighbours;
mod problem;
mod reading;
mod real;
mod staged;
pub mod survey;
pub mod text;
pub mod tour;
pub mod walk;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::platform::{files, programs};
use agent_protocol::RelPath;
use survey::SurveyMemory;

pub use ignored::IgnoreLookup;
pub use known_names::{KnownDirectory, KnownNames};
pub use likeness::Ownership;
pub use made::MadeDirectories;
pub use problem::FileProblem;
pub use staged::StagingTarget;

/// Name of the directory that holds our own records.
const OUR_DIRECTORY: &str = ".agent";

/// The directory that the model works in.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
    path: PathBuf,
    /// Paths that walks skip.
    left_out: Vec<RelPath>,
    /// How many times all of it was walked.
    walks: AtomicUsize,
    /// The names that the last survey saw, and when that was.
    known_names: Mutex<Option<(Instant, KnownNames)>>,
    /// How the last survey of the whole was made, and the one that was made in the look after a
    /// command.
    survey: Mutex<SurveyMemory>,
}

/// The type of a file, without following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File {
        /// Size in bytes.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// Sets the executable bits when a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutableBit {
    /// Same as the replaced file; a new file is not executable.
    Keep,
    /// Executable for everyone who can read it.
    Executable,
    /// Not executable.
    Plain,
}

impl Workspace {
    /// Opens the directory. From here on the path is only used for display and as the working
    /// directory of commands.
    pub fn open(path: &Path) -> Result<Self> {
        let absolute = crate::fs::canonical(path).map_err(|cause| missing(path).because(cause))?;
        if !absolute.is_dir() {
            return Err(Error::mendable(format!(
                "the workspace `{}` is not a directory",
                path.display()
            ))
            .hint("name a directory with `--workspace DIR`, or set `WorkspaceDir`"));
        }
        if cfg!(windows) && !begins_with_drive(&absolute) {
            return Err(Error::mendable(format!(
                "the workspace `{}` is on a network drive, where `agent` for Windows cannot work",
                path.display()
            ))
            .hint("copy the project to a drive of this machine"));
        }
        let root = Dir::open_ambient_dir(&absolute, ambient_authority())
            .map_err(|cause| Error::file("open the workspace", path, cause))?;
        programs::distrust(&absolute);
        Ok(Self {
            root,
            path: absolute,
            left_out: Vec::new(),
            walks: AtomicUsize::new(0),
            known_names: Mutex::default(),
            survey: Mutex::default(),
        })
    }

    /// Makes listings and searches skip these files and directories.
    #[must_use]
    pub fn leaving_out(mut self, paths: Vec<RelPath>) -> Self {
        self.left_out = paths;
        self
    }

    /// How many times all of it was walked. That is most of the cost of a round in a large workspace,
    /// so tests count it.
    pub fn walks(&self) -> usize {
        self.walks.load(Ordering::Relaxed)
    }

    fn count_walk(&self) {
        self.walks.fetch_add(1, Ordering::Relaxed);
    }

    /// The absolute path, for display and as the working directory of commands.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if it is the root of a git repository or worktree.
    pub fn is_repository(&self) -> bool {
        self.root.symlink_metadata(".git").is_ok()
    }

    /// The type of the file; `None` if it does not exist.
    pub fn kind(&self, path: &RelPath) -> Result<Option<FileKind>, FileProblem> {
        match self.root.symlink_metadata(path.as_str()) {
            Ok(metadata) => Ok(Some(kind_of(&metadata))),
            Err(cause) => match FileProblem::from_io("look at", path, cause) {
                FileProblem::NotFound(_) => Ok(None),
                problem => Err(problem),
            },
        }
    }

    /// Creates or replaces a file, with missing parent directories; see `write_as`.
    pub fn write(&self, path: &RelPath, content: &[u8]) -> Result<(), FileProblem> {
        self.write_as(path, content, ExecutableBit::Keep)
    }

    /// Creates or replaces a file atomically.
    ///
    /// Keeps owner, group and permission bits of a replaced file as far as the system allows,
    /// except for the bits that `permission` sets. Does not sync: see `sync`.
    pub fn write_as(
        &self,
        path: &RelPath,
        content: &[u8],
        permission: ExecutableBit,
    ) -> Result<(), FileProblem> {
        self.check_writable(path)?;
        let like = self.kind(path)?.map(|_| path);
        let mark = Uuid::new_v4().simple().to_string();
        let place = StagingTarget {
            path,
            like,
            mark: &mark,
        };
        let (staged, _) = self.stage(place, content, permission)?;
        let made = MadeDirectories::default();
        self.put(&staged, path, &made).inspect_err(|_| {
            // The leftover is useless; report the first error.
            let _ = self.remove(&staged);
            self.remove_made(made);
        })
    }

    /// Checks that the path can be written: no link on the way, and a regular file or nothing
    /// there.
    pub fn check_writable(&self, path: &RelPath) -> Result<(), FileProblem> {
        let checked = self
            .parent(path)
            .and_then(|directory| regular(&directory, path));
        match checked {
            Ok(_) | Err(FileProblem::NotFound(_)) => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    /// The current executable bits of a regular file; never `Keep`.
    pub fn permission(&self, path: &RelPath) -> Result<ExecutableBit, FileProblem> {
        let metadata = regular(&self.parent(path)?, path)?;
        Ok(if is_executable(&metadata) {
            ExecutableBit::Executable
        } else {
            ExecutableBit::Plain
        })
    }

    /// Removes a regular file.
    pub fn remove(&self, path: &RelPath) -> Result<(), FileProblem> {
        let directory = self.parent(path)?;
        regular(&directory, path)?;
        let removed = files::patiently(|| {
            files::make_replaceable(&directory, path.file_name());
            directory.remove_file(path.file_name())
        });
        removed.map_err(|cause| FileProblem::from_io("delete", path, cause))
    }

    /// Renames a regular file, creating parent directories. Fails if the new name exists.
    pub fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FileProblem> {
        let made = MadeDirectories::default();
        self.rename_noting(from, to, &made)
            .inspect_err(|_| self.remove_made(made))
    }

    /// Like `rename`, and records the directories that it created.
    pub fn rename_noting(
        &self,
        from: &RelPath,
        to: &RelPath,
        made: &MadeDirectories,
    ) -> Result<(), FileProblem> {
        let from_directory = self.parent(from)?;
        regular(&from_directory, from)?;
        // Checked before directories are created in vain; the kernel's check is the one that
        // counts.
        let is_there = self.kind(to)?.is_some();
        let is_itself = is_there && self.is_same_name(from, to);
        if is_there && !is_itself {
            return Err(FileProblem::Exists(to.clone()));
        }
        let to_directory = self.make_parent(to, made)?;
        let (old, new) = (from.file_name(), to.file_name());
        if is_itself {
            return from_directory
                .rename(old, &to_directory, new)
                .map_err(|cause| FileProblem::from_io("move", from, cause));
        }
        match files::rename_without_replacing(&from_directory, old, &to_directory, new) {
            Err(cause) if cause.kind() == io::ErrorKind::Unsupported => {
                files::patiently(|| from_directory.rename(old, &to_directory, new))
            }
            other => other,
        }
        .map_err(|cause| match FileProblem::from_io("move", from, cause) {
            FileProblem::Exists(_) => FileProblem::Exists(to.clone()),
            problem => problem,
        })
    }

    /// Flushes written files to disk, once for a whole batch.
    pub fn sync(&self) -> io::Result<()> {
        files::sync_file_system(&self.root)
    }

    /// Opens the directory that contains the path, without following links.
    fn parent(&self, path: &RelPath) -> Result<Dir, FileProblem> {
        self.walk_parents(path, |_, _, _| Err(FileProblem::NotFound(path.clone())))
    }

    /// Opens a directory without following links.
    fn directory(&self, path: &RelPath) -> Result<Dir, FileProblem> {
        if let Ok(directory) = files::open_beneath(&self.root, path.as_str()) {
            return Ok(directory);
        }
        let parent = self.parent(path)?;
        parent.open_dir_nofollow(path.file_name()).map_err(|cause| {
            match parent.symlink_metadata(path.file_name()) {
                Ok(metadata) if !metadata.is_dir() => in_the_way(path, path.as_str(), &metadata),
                _ => FileProblem::from_io("open", path, cause),
            }
        })
    }

    /// Opens the directory that contains the path, creating it and its parents if missing.
    fn make_parent(&self, path: &RelPath, made: &MadeDirectories) -> Result<Dir, FileProblem> {
        self.walk_parents(path, |directory, name, whole| {
            match directory.create_dir(name) {
                Ok(()) => made.note(whole),
                // Somebody else created it first: whatever it is, it is opened without following
                // links.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(FileProblem::from_io("write", path, cause)),
            }
            directory
                .open_dir_nofollow(name)
                .map_err(|cause| FileProblem::from_io("write", path, cause))
        })
    }

    /// Opens the directory that contains the path, component by component. Calls `missing` for an
    /// absent directory with its parent, name and path.
    fn walk_parents(
        &self,
        path: &RelPath,
        missing: impl Fn(&Dir, &str, &str) -> Result<Dir, FileProblem>,
    ) -> Result<Dir, FileProblem> {
        let io = |cause| FileProblem::from_io("open", path, cause);
        let Some(parent) = path.parent() else {
            return self.root.try_clone().map_err(io);
        };
        if let Ok(directory) = files::open_beneath(&self.root, parent.as_str()) {
            return Ok(directory);
        }
        let mut directory = self.root.try_clone().map_err(io)?;
        let mut end = 0;
        for name in parent.components() {
            end += name.len();
            directory = match directory.open_dir_nofollow(name) {
                Ok(next) => next,
                Err(cause) => match directory.symlink_metadata(name) {
                    Err(absent) if absent.kind() == io::ErrorKind::NotFound => {
                        missing(&directory, name, &parent.as_str()[..end])?
                    }
                    Ok(metadata) if !metadata.is_dir() => {
                        return Err(in_the_way(path, &parent.as_str()[..end], &metadata));
                    }
                    _ => return Err(io(cause)),
                },
            };
            end += 1;
        }
        Ok(directory)
    }
}

/// True if a path of Windows begins with a drive. A network drive resolves to `\\?\UNC\...`, which cap-std
/// takes for a relative path (its issues 318 and 348): files would be renamed and removed elsewhere.
fn begins_with_drive(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let text = text.strip_prefix(r"\\?\").unwrap_or(&text);
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

fn missing(path: &Path) -> Error {
    Error::mendable(format!("could not open the workspace `{}`", path.display()))
        .hint("create the directory, or name another one with `--workspace`")
}

/// Reports the file or link where a directory was expected.
fn in_the_way(path: &RelPath, parent: &str, metadata: &Metadata) -> FileProblem {
    let Ok(parent) = RelPath::parse(parent) else {
        return FileProblem::NotFound(path.clone());
    };
    if metadata.is_symlink() {
        FileProblem::Link { link: parent }
    } else {
        FileProblem::NotInDirectory {
            path: path.clone(),
            parent,
        }
    }
}

fn kind_of(metadata: &Metadata) -> FileKind {
    if metadata.is_file() {
        FileKind::File {
            size: metadata.len(),
        }
    } else if metadata.is_dir() {
        FileKind::Directory
    } else if metadata.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Special
    }
}

/// The metadata of the file itself, if it is regular and not a link.
fn regular(directory: &Dir, path: &RelPath) -> Result<Metadata, FileProblem> {
    let metadata = directory
        .symlink_metadata(path.file_name())
        .map_err(|cause| FileProblem::from_io("look at", path, cause))?;
    match kind_of(&metadata) {
        FileKind::File { .. } => Ok(metadata),
        FileKind::Directory => Err(FileProblem::IsDirectory(path.clone())),
        FileKind::Link => Err(FileProblem::Link { link: path.clone() }),
        FileKind::Special => Err(FileProblem::NotRegular(path.clone())),
    }
}

/// Creates a new file. One that will replace another is private until its mode is set.
fn create_private(directory: &Dir, name: &str, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.mode(if is_new { 0o644 } else { 0o600 });
    }
    #[cfg(not(unix))]
    let _ = is_new;
    directory.open_with(name, &options)
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use cap_std::fs::MetadataExt;
    metadata.mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &Metadata) -> bool {
    false
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
