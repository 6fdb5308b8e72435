//! Checks that `bwrap` mounted everything at the place that was meant.
//!
//! `bwrap` takes names. Another command in the same workspace can swap a directory for a link while
//! `bwrap` works: then it mounts what the link leads to, and shows it where the link leads. So the
//! paths in directories that commands can change are identified before, and compared inside before
//! the command starts: each must be reached without a link, be a mount, and be the same file. If one
//! mount went elsewhere, it is missing where it was meant to be.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Statx, StatxAttributes, StatxFlags,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::layout::{Layout, LayoutEntry};
use super::{Confinement, FileIdentity, paths, root};

/// The mounts to compare.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct MountChecklist(Vec<MountedTree>);

/// A directory or file that commands can change, with the mounts in it.
#[derive(Debug, Serialize, Deserialize)]
struct MountedTree {
    /// Its path inside.
    #[serde(with = "paths")]
    path: PathBuf,
    identity: FileIdentity,
    #[serde(skip)]
    opened: Option<OwnedFd>,
    mounts: Vec<MountedPath>,
}

#[derive(Debug, Serialize, Deserialize)]
struct MountedPath {
    /// Relative to the tree.
    #[serde(with = "paths")]
    path: PathBuf,
    /// `None` if something empty covers it.
    identity: Option<FileIdentity>,
}

/// The kind of an existing path that is not a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RealPath {
    Directory,
    File,
}

impl MountChecklist {
    /// The trees that commands can change, opened.
    pub(super) fn of(layout: &Layout, confinement: &Confinement) -> Result<Self, String> {
        let mut trees = Vec::new();
        for (path, what) in layout {
            let opened = match what {
                LayoutEntry::Workspace => root::workspace(confinement)?,
                LayoutEntry::Open(source) => match open_beneath(CWD, source, ResolveFlags::empty())
                {
                    Ok(opened) => opened,
                    // It does not exist for the command either.
                    Err(Errno::NOENT | Errno::NOTDIR) => continue,
                    Err(error) => {
                        return Err(format!("could not open `{}`: {error}", source.display()));
                    }
                },
                _ => continue,
            };
            let found = status(opened.as_fd()).map_err(|error| error.to_string())?;
            trees.push(MountedTree {
                path: path.clone(),
                identity: identity_of(&found),
                opened: Some(opened),
                mounts: Vec::new(),
            });
        }
        Ok(Self(trees))
    }

    /// Looks at a path that is to be shown, protected, pinned or hidden, and takes note of it if
    /// commands can change its directory. `None` if it is missing or a link.
    pub(super) fn look(
        &mut self,
        path: &Path,
        what: &LayoutEntry,
    ) -> Result<Option<RealPath>, String> {
        let mut trees = self.0.iter_mut().rev();
        let is_in = |tree: &&mut MountedTree| path.starts_with(&tree.path) && path != tree.path;
        let Some(tree) = trees.find(is_in) else {
            return Ok(match what {
                // It may be a link, and need not exist.
                LayoutEntry::Shown(_) => Some(RealPath::File),
                _ => look_outside(path),
            });
        };
        let (Some(opened), Ok(inside)) = (&tree.opened, path.strip_prefix(&tree.path)) else {
            return Ok(None);
        };
        let found = match open_beneath(opened.as_fd(), inside, ResolveFlags::BENEATH) {
            Ok(found) => status(found.as_fd()),
            Err(error) => Err(error),
        };
        let found = match found {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(format!("could not look at `{}`: {error}", path.display())),
        };
        let kind = match FileType::from_raw_mode(found.stx_mode.into()) {
            FileType::Symlink => return Ok(None),
            FileType::Directory => RealPath::Directory,
            _ => RealPath::File,
        };
        let is_covered = matches!(what, LayoutEntry::Hidden | LayoutEntry::Masked);
        tree.mounts.push(MountedPath {
            path: inside.to_owned(),
            identity: (!is_covered).then(|| identity_of(&found)),
        });
        Ok(Some(kind))
    }

    /// Inside: compares all of it.
    pub(super) fn compare(&self) -> Result<(), String> {
        for tree in &self.0 {
            let replaced = |path: &Path| {
                let path = tree.path.join(path);
                let path = path.display();
                format!("`{path}` was replaced while the sandbox was built; run the command again")
            };
            let top = open(&tree.path).map_err(|_| replaced(Path::new("")))?;
            if !is_mount_of(top.as_fd(), Some(tree.identity)) {
                return Err(replaced(Path::new("")));
            }
            for mount in &tree.mounts {
                let is_right = open_beneath(top.as_fd(), &mount.path, ResolveFlags::BENEATH)
                    .is_ok_and(|found| is_mount_of(found.as_fd(), mount.identity));
                if !is_right {
                    return Err(replaced(&mount.path));
                }
            }
        }
        Ok(())
    }
}

/// Looks at a path in a directory that no command can change.
fn look_outside(path: &Path) -> Option<RealPath> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => None,
        Ok(found) if found.is_dir() => Some(RealPath::Directory),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => None,
        // A path that cannot be examined may exist: then no command runs.
        _ => Some(RealPath::File),
    }
}

/// True if this is where something is mounted: this file, or something empty if `None`.
fn is_mount_of(opened: BorrowedFd<'_>, identity: Option<FileIdentity>) -> bool {
    let Ok(found) = status(opened) else {
        return false;
    };
    // Linux 5.8 and newer know it.
    let mount_root = StatxAttributes::MOUNT_ROOT;
    if found.stx_attributes_mask.contains(mount_root) && !found.stx_attributes.contains(mount_root)
    {
        return false;
    }
    identity.is_none_or(|identity| identity == identity_of(&found))
}

fn identity_of(found: &Statx) -> FileIdentity {
    FileIdentity {
        device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
    }
}

fn status(opened: BorrowedFd<'_>) -> rustix::io::Result<Statx> {
    rustix::fs::statx(opened, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a path without following a link; a link at its end is opened itself.
fn open_beneath(
    top: BorrowedFd<'_>,
    path: &Path,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = resolve | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(top, path, flags, Mode::empty(), resolve)
}
