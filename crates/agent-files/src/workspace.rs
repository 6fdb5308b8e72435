//! The confined root: the only door to the files of the workspace.
//!
//! One directory is opened once, and every path is resolved beneath it by the kernel (`openat2`) or
//! by cap-std's emulation, so that no link, race or trick name leads out. Reading may follow a link
//! that stays inside and does not lead to our own records; whatever changes files follows none.
//! Which names may be read or changed is decided by `policy`, not here.

pub mod crew;
pub mod exact;
mod folded;
mod hidden;
mod ignored;
mod likeness;
mod look;
mod made;
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

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::platform::{files, programs};
use agent_protocol::RelPath;

pub use likeness::Ownership;
pub use made::MadeDirectories;
pub use problem::FileProblem;
pub use staged::Place;

/// Where our own records are, in whichever directory.
const OUR_DIRECTORY: &str = ".agent";

/// The directory that the model works on.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
    path: PathBuf,
    /// What walks pass by as if it were not there.
    left_out: Vec<RelPath>,
}

/// What a name in the workspace stands for, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File {
        /// In bytes.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// Who may execute a file after it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// As the file that is replaced; a new one is not executable.
    Keep,
    /// Whoever may read it may execute it.
    Executable,
    /// Nobody.
    Plain,
}

impl Workspace {
    /// Opens the directory; from here on its path is only shown and handed to commands.
    pub fn open(path: &Path) -> Result<Self> {
        let absolute = path
            .canonicalize()
            .map_err(|cause| missing(path).because(cause))?;
        if !absolute.is_dir() {
            return Err(Error::mendable(format!(
                "the workspace `{}` is not a directory",
                path.display()
            ))
            .hint("name a directory with `--workspace DIR`, or set `WorkspaceDir`"));
        }
        let root = Dir::open_ambient_dir(&absolute, ambient_authority())
            .map_err(|cause| Error::file("open the workspace", path, cause))?;
        programs::distrust(&absolute);
        Ok(Self {
            root,
            path: absolute,
            left_out: Vec::new(),
        })
    }

    /// The same, where listings and searches pass by these files and directories.
    #[must_use]
    pub fn leaving_out(mut self, paths: Vec<RelPath>) -> Self {
        self.left_out = paths;
        self
    }

    /// The absolute path, for display and as the working directory of commands.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is the root of a git repository, or of a worktree of one.
    pub fn is_repository(&self) -> bool {
        self.root.symlink_metadata(".git").is_ok()
    }

    /// What the name stands for; `None` if nothing has it.
    pub fn kind(&self, path: &RelPath) -> Result<Option<Kind>, FileProblem> {
        match self.root.symlink_metadata(path.as_str()) {
            Ok(metadata) => Ok(Some(kind_of(&metadata))),
            Err(cause) => match FileProblem::from_io("look at", path, cause) {
                FileProblem::NotFound(_) => Ok(None),
                problem => Err(problem),
            },
        }
    }

    /// Replaces or makes a file, with the directories that it needs; see `write_as`.
    pub fn write(&self, path: &RelPath, content: &[u8]) -> Result<(), FileProblem> {
        self.write_as(path, content, Permission::Keep)
    }

    /// Replaces or makes a file: it is the old one or the whole new one.
    ///
    /// Owner, group and permission bits of a replaced file are kept, as far as the system lets us and
    /// but for what `permission` names. It is not synced: see `sync`.
    pub fn write_as(
        &self,
        path: &RelPath,
        content: &[u8],
        permission: Permission,
    ) -> Result<(), FileProblem> {
        self.check_writable(path)?;
        let like = self.kind(path)?.map(|_| path);
        let mark = Uuid::new_v4().simple().to_string();
        let place = Place {
            path,
            like,
            mark: &mark,
        };
        let (staged, _) = self.stage(place, content, permission)?;
        let made = MadeDirectories::default();
        self.put(&staged, path, &made).inspect_err(|_| {
            // What is left of it helps nobody; the first error is the one to tell.
            let _ = self.remove(&staged);
            self.remove_made(made);
        })
    }

    /// Whether the path could be written: no link on the way, and a regular file or nothing there.
    pub fn check_writable(&self, path: &RelPath) -> Result<(), FileProblem> {
        let checked = self
            .parent(path)
            .and_then(|directory| regular(&directory, path));
        match checked {
            Ok(_) | Err(FileProblem::NotFound(_)) => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    /// Who may execute a regular file now; never `Keep`.
    pub fn permission(&self, path: &RelPath) -> Result<Permission, FileProblem> {
        let metadata = regular(&self.parent(path)?, path)?;
        Ok(if is_executable(&metadata) {
            Permission::Executable
        } else {
            Permission::Plain
        })
    }

    /// Removes a regular file.
    pub fn remove(&self, path: &RelPath) -> Result<(), FileProblem> {
        let directory = self.parent(path)?;
        regular(&directory, path)?;
        directory
            .remove_file(path.file_name())
            .map_err(|cause| FileProblem::from_io("delete", path, cause))
    }

    /// Gives a regular file another name, never one that is taken, making directories.
    pub fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FileProblem> {
        let made = MadeDirectories::default();
        self.rename_noting(from, to, &made)
            .inspect_err(|_| self.remove_made(made))
    }

    /// The same, and notes the directories that it made.
    pub fn rename_noting(
        &self,
        from: &RelPath,
        to: &RelPath,
        made: &MadeDirectories,
    ) -> Result<(), FileProblem> {
        let from_directory = self.parent(from)?;
        regular(&from_directory, from)?;
        // Looked at before directories are made for nothing; what counts is the kernel's word.
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
                from_directory.rename(old, &to_directory, new)
            }
            other => other,
        }
        .map_err(|cause| match FileProblem::from_io("move", from, cause) {
            FileProblem::Exists(_) => FileProblem::Exists(to.clone()),
            problem => problem,
        })
    }

    /// Brings what was written onto the disk: once for a batch of files.
    pub fn sync(&self) -> io::Result<()> {
        files::sync_file_system(&self.root)
    }

    /// The directory that holds the path, reached without following a link.
    fn parent(&self, path: &RelPath) -> Result<Dir, FileProblem> {
        self.walk_parents(path, |_, _, _| Err(FileProblem::NotFound(path.clone())))
    }

    /// A directory itself, reached without following a link.
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

    /// The directory that holds the path, made with those above it where it is missing.
    fn make_parent(&self, path: &RelPath, made: &MadeDirectories) -> Result<Dir, FileProblem> {
        self.walk_parents(path, |directory, name, whole| {
            match directory.create_dir(name) {
                Ok(()) => made.note(whole),
                // Somebody else was faster: whatever it is, it is opened without following links.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(FileProblem::from_io("write", path, cause)),
            }
            directory
                .open_dir_nofollow(name)
                .map_err(|cause| FileProblem::from_io("write", path, cause))
        })
    }

    /// Opens the directory that holds the path, one after the other; what is missing is asked for by
    /// the directory that should have it, its name, and its path.
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

fn missing(path: &Path) -> Error {
    Error::mendable(format!("could not open the workspace `{}`", path.display()))
        .hint("make the directory, or name another one with `--workspace`")
}

/// Says what stands where a directory was needed.
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

fn kind_of(metadata: &Metadata) -> Kind {
    if metadata.is_file() {
        Kind::File {
            size: metadata.len(),
        }
    } else if metadata.is_dir() {
        Kind::Directory
    } else if metadata.is_symlink() {
        Kind::Link
    } else {
        Kind::Special
    }
}

/// The metadata of the path's last component, if it is a regular file and no link to one.
fn regular(directory: &Dir, path: &RelPath) -> Result<Metadata, FileProblem> {
    let metadata = directory
        .symlink_metadata(path.file_name())
        .map_err(|cause| FileProblem::from_io("look at", path, cause))?;
    match kind_of(&metadata) {
        Kind::File { .. } => Ok(metadata),
        Kind::Directory => Err(FileProblem::IsDirectory(path.clone())),
        Kind::Link => Err(FileProblem::Link { link: path.clone() }),
        Kind::Special => Err(FileProblem::NotRegular(path.clone())),
    }
}

/// Makes a file that did not exist; one that will replace another is private until it has its mode.
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
