//! Builds a separate root for a confined command, from mounts.
//!
//! First everything in the layout is opened by descriptor, then the process moves into an empty
//! root, then each piece is attached. After the move nothing outside can be named any more, so no
//! link and no race leads out.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::thread::UnshareFlags;

use super::layout::{Layout, LayoutEntry};
use super::{Confinement, FileIdentity};
use crate::platform::linux;
use crate::platform::linux::identity::{self, IdRange, namespace_for_owners};
use crate::platform::linux::mounts::{self, Access, Links, MountTree};

/// The privileges of the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    /// Root: it can map the owners of files.
    Root,
    /// An ordinary user in a separate user namespace.
    User,
}

/// A user ID that owns nothing on any machine: root's commands run as this user.
const NOBODY_AT_ALL: u32 = 0x7000_0000;

/// The number of users that a mapped mount knows besides the owner of the workspace.
const OTHER_USERS: u32 = 65_536;

/// Our own directories in the new root.
const EMPTY_DIRECTORY: &str = "/run/.empty/directory";
const EMPTY_FILE: &str = "/run/.empty/file";

/// Results of building a root.
pub(super) struct BuiltRoot {
    /// A writable `/proc`, which is unmounted when this is dropped.
    pub(super) proc: MountTree,
    /// The user and group ID for the command, if not the current ones.
    pub(super) user: Option<u32>,
}

/// Builds the root and moves into it. `reserved` waits until the reserved names exist.
pub(super) fn build(
    layout: &Layout,
    confinement: &Confinement,
    power: Power,
    reserved: impl FnOnce() -> io::Result<()>,
) -> Result<BuiltRoot, String> {
    // The cgroup namespace is entered here, because the supervisor may have entered a group.
    linux::unshare(UnshareFlags::NEWNS | UnshareFlags::NEWCGROUP)
        .and_then(|()| mounts::make_private())
        .map_err(|error| format!("could not part the mounts: {error}"))?;
    let proc = new_proc()?;
    let (workspace, owner) = take_workspace(confinement, power, proc.as_fd())?;
    let mut trees = take(layout, &owner);
    trees.insert(&confinement.workspace, workspace);
    enter_empty_root(confinement.limits.scratch)?;
    let root = Root {
        trees,
        proc,
        chown: owner.user,
    };
    reserved().map_err(|error| format!("could not reserve names: {error}"))?;
    for (path, what) in layout {
        root.put(path, what)
            .map_err(|error| format!("could not show `{}` inside: {error}", path.display()))?;
    }
    mounts::restrict_in_place(Path::new("/"), Access::Read)
        .map_err(|error| format!("could not close the root: {error}"))?;
    Ok(BuiltRoot {
        proc: root.proc,
        user: owner.user,
    })
}

/// Makes the devices of the system read-only in a mount namespace of this process, for a program that
/// can only show them as they are.
pub(super) fn close_devices(layout: &Layout) -> io::Result<()> {
    if linux::unshare(UnshareFlags::NEWNS).is_err() {
        // Root without its privileges, as in a container.
        let user = IdRange::own(rustix::process::geteuid().as_raw());
        let group = IdRange::own(rustix::process::getegid().as_raw());
        linux::unshare(UnshareFlags::NEWNS | UnshareFlags::NEWUSER)?;
        identity::map_own_ids(fs::File::open("/proc")?.as_fd(), user, group)?;
    }
    mounts::make_private()?;
    let devices = (layout.iter()).filter(|(_, what)| **what == LayoutEntry::Device);
    for (path, _) in devices {
        take_one(path, Links::Follow, Access::Device, None)?.attach(path)?;
    }
    Ok(())
}

/// Opens the workspace and checks its identity.
pub(super) fn workspace(confinement: &Confinement) -> Result<OwnedFd, String> {
    let path = &confinement.workspace;
    if path.parent().is_none() {
        return Err("the root directory cannot be a workspace".to_owned());
    }
    let cannot = |error: io::Error| format!("could not open `{}`: {error}", path.display());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| cannot(e.into()))?;
    let found = rustix::fs::fstat(&opened).map_err(|e| cannot(e.into()))?;
    let identity = FileIdentity {
        device: found.st_dev,
        inode: found.st_ino,
    };
    match confinement.identity {
        Some(expected) if expected != identity => Err(format!(
            "`{}` is not the directory that it was; start again",
            path.display()
        )),
        _ => Ok(opened),
    }
}

/// Clones the workspace, with its owner mapped to an unprivileged user if possible.
fn take_workspace(
    confinement: &Confinement,
    power: Power,
    proc: BorrowedFd<'_>,
) -> Result<(MountTree, MappedOwner), String> {
    let opened = workspace(confinement)?;
    let take = || -> io::Result<(MountTree, MappedOwner)> {
        let tree = MountTree::clone_of_descriptor(opened.as_fd())?;
        let user = rustix::fs::fstat(&opened)?.st_uid;
        let owner = match power {
            Power::User => MappedOwner::as_it_is(None),
            Power::Root => MappedOwner::mapped(&tree, user, proc)
                .unwrap_or_else(|_| MappedOwner::as_it_is(Some(user).filter(|user| *user != 0))),
        };
        if owner.namespace.is_none() {
            tree.restrict(Access::Write)?;
        }
        Ok((tree, owner))
    };
    take().map_err(|error| {
        format!(
            "could not take `{}`: {error}",
            confinement.workspace.display()
        )
    })
}

/// The owner of the person's files, as the command sees it.
struct MappedOwner {
    namespace: Option<OwnedFd>,
    user: Option<u32>,
}

impl MappedOwner {
    /// Files keep their owners, and the command runs as this user, or as the current one if `None`.
    fn as_it_is(user: Option<u32>) -> Self {
        Self {
            namespace: None,
            user,
        }
    }

    /// The owner of the tree is mapped to an unprivileged user, which the command runs as.
    fn mapped(tree: &MountTree, user: u32, proc: BorrowedFd<'_>) -> io::Result<Self> {
        let namespace = namespace_for_owners(proc, &mapping_of(user))?;
        tree.restrict_and_map(Access::Write, namespace.as_fd())?;
        Ok(Self {
            namespace: Some(namespace),
            user: Some(NOBODY_AT_ALL),
        })
    }
}

/// Maps the owner to the unprivileged user, and keeps all others distinct.
fn mapping_of(owner: u32) -> Vec<IdRange> {
    let range = |inside: u32, outside: u32, count: u32| IdRange {
        inside,
        outside,
        count,
    };
    let before = owner.min(OTHER_USERS);
    let after = OTHER_USERS.saturating_sub(owner.saturating_add(1));
    let mut mapping = vec![
        range(owner, NOBODY_AT_ALL, 1),
        range(0, NOBODY_AT_ALL + 1, before),
        range(owner.saturating_add(1), NOBODY_AT_ALL + 1 + before, after),
    ];
    mapping.retain(|range| range.count > 0);
    mapping
}

/// Clones everything else that comes from outside.
///
/// Paths that the person cannot read, or that have just disappeared, do not exist for the command.
fn take<'a>(layout: &'a Layout, owner: &MappedOwner) -> BTreeMap<&'a Path, MountTree> {
    let mut trees = BTreeMap::new();
    for (path, what) in layout {
        let taken = match what {
            LayoutEntry::System => take_one(path, Links::Follow, Access::Read, None),
            LayoutEntry::Device => take_one(path, Links::Follow, Access::Device, None),
            LayoutEntry::Shown(source) => {
                take_one(source, Links::Follow, Access::Read, Some(owner))
            }
            LayoutEntry::Open(source) => take_one(source, Links::Keep, Access::Write, Some(owner)),
            _ => continue,
        };
        if let Ok(tree) = taken {
            trees.insert(path.as_path(), tree);
        }
    }
    trees
}

fn take_one(
    source: &Path,
    links: Links,
    access: Access,
    owner: Option<&MappedOwner>,
) -> io::Result<MountTree> {
    let tree = MountTree::clone_of(source, links)?;
    let users = owner.and_then(|owner| owner.namespace.as_ref());
    if let Some(users) = users
        && tree.restrict_and_map(access, users.as_fd()).is_ok()
    {
        return Ok(tree);
    }
    // A file system without ID mapping shows its files with their own owners.
    tree.restrict(access)?;
    Ok(tree)
}

fn new_proc() -> Result<MountTree, String> {
    MountTree::new_file_system("proc", &[], Access::Write)
        .map_err(|error| format!("could not make a `/proc`: {error}"))
}

fn enter_empty_root(size: u64) -> Result<(), String> {
    let place = ["/tmp", "/mnt", "/var", "/usr"]
        .into_iter()
        .find(|place| Path::new(place).is_dir())
        .ok_or("there is no directory to build a root in")?;
    let build = || -> io::Result<()> {
        let size = size.to_string();
        let options = [
            ("mode", "0755"),
            ("size", size.as_str()),
            ("nr_inodes", "1000000"),
        ];
        MountTree::new_file_system("tmpfs", &options, Access::Write)?.attach(Path::new(place))?;
        std::env::set_current_dir(place)?;
        mounts::pivot_to_here()?;
        fs::create_dir_all(EMPTY_DIRECTORY)?;
        fs::File::create(EMPTY_FILE)?;
        Ok(())
    };
    build().map_err(|error| format!("could not make an empty root: {error}"))
}

/// The new root while it is being filled.
struct Root<'a> {
    trees: BTreeMap<&'a Path, MountTree>,
    proc: MountTree,
    /// The new owner of directories.
    chown: Option<u32>,
}

impl Root<'_> {
    fn put(&self, path: &Path, what: &LayoutEntry) -> io::Result<()> {
        match what {
            LayoutEntry::System
            | LayoutEntry::Shown(_)
            | LayoutEntry::Open(_)
            | LayoutEntry::Workspace
            | LayoutEntry::Device => match self.trees.get(path) {
                Some(tree) => self.attach(tree, path),
                None => Ok(()),
            },
            LayoutEntry::Protected => cover(path, Access::Read),
            LayoutEntry::Pinned => cover(path, Access::Write),
            LayoutEntry::Masked => hide(path, |mode| !self.is_closed(mode)),
            LayoutEntry::Hidden => hide(path, |_| true),
            LayoutEntry::Scratch(mode) => self.scratch(path, *mode),
            LayoutEntry::Empty => self.directory(path),
            LayoutEntry::Link(target) => {
                self.in_parent(path, || std::os::unix::fs::symlink(target, path))
            }
            LayoutEntry::Processes => self.processes(path),
            LayoutEntry::Terminals => {
                let options = [("mode", "0620"), ("ptmxmode", "0666")];
                let tree = MountTree::new_file_system("devpts", &options, Access::Terminals)?;
                self.attach(&tree, path)
            }
        }
    }

    /// True if the command cannot use a file with this mode anyway, because it will be an
    /// unprivileged user.
    fn is_closed(&self, mode: u32) -> bool {
        const FOR_OTHERS: u32 = 0o007;
        self.chown.is_some() && mode & FOR_OTHERS == 0
    }

    /// Attaches a tree at a path, creating the mount point if it is missing.
    fn attach(&self, tree: &MountTree, path: &Path) -> io::Result<()> {
        match tree.attach(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            attached => return attached,
        }
        let found = rustix::fs::statat(tree, "", AtFlags::EMPTY_PATH)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            self.directory(path)?;
        } else {
            self.in_parent(path, || fs::File::create(path).map(drop))?;
        }
        tree.attach(path)
    }

    /// A writable directory in the root, which itself is read-only.
    fn scratch(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.directory(path)?;
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        cover(path, Access::Write)
    }

    fn processes(&self, path: &Path) -> io::Result<()> {
        self.directory(path)?;
        self.proc.attach(path)?;
        cover(path, Access::Read)
    }

    /// Creates something at the path, after its missing parents.
    fn in_parent(&self, path: &Path, make: impl Fn() -> io::Result<()>) -> io::Result<()> {
        match (make(), path.parent()) {
            (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
                self.directory(parent)?;
                make()
            }
            (result, _) => result,
        }
    }

    fn directory(&self, path: &Path) -> io::Result<()> {
        match self.in_parent(path, || fs::create_dir(path)) {
            Ok(()) => {}
            Err(_) if path.is_dir() => return Ok(()),
            Err(error) => return Err(error),
        }
        match self.chown {
            Some(user) => std::os::unix::fs::lchown(path, Some(user), Some(user)),
            None => Ok(()),
        }
    }
}

/// Mounts an existing path over itself with this access, unless it is a link.
fn cover(path: &Path, access: Access) -> io::Result<()> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match path.symlink_metadata() {
        Ok(found) if !found.is_symlink() => {}
        Err(error) if !matches!(error.kind(), NotFound | NotADirectory | PermissionDenied) => {
            return Err(error);
        }
        _ => return Ok(()),
    }
    let tree = MountTree::clone_of(path, Links::Keep)?;
    tree.restrict(access)?;
    tree.attach(path)
}

/// Covers an existing path with something empty, unless it is a link or its permissions do not
/// matter.
fn hide(path: &Path, matters: impl Fn(u32) -> bool) -> io::Result<()> {
    let empty = match path.symlink_metadata() {
        Ok(found) if !matters(found.permissions().mode()) => return Ok(()),
        Ok(found) if found.is_dir() => EMPTY_DIRECTORY,
        Ok(found) if !found.is_symlink() => EMPTY_FILE,
        _ => return Ok(()),
    };
    let tree = MountTree::clone_of(Path::new(empty), Links::Keep)?;
    tree.restrict(Access::Read)?;
    tree.attach(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(owner: u32, expected: &[(u32, u32, u32)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(inside, outside, count)| (*inside, NOBODY_AT_ALL + outside, *count))
            .collect();
        let mapping: Vec<_> = mapping_of(owner)
            .iter()
            .map(|range| (range.inside, range.outside, range.count))
            .collect();
        assert_eq!(mapping, expected);
    }

    #[test]
    fn the_owner_is_the_powerless_user_and_nobody_else_is() {
        case(0, &[(0, 0, 1), (1, 1, 65_535)]);
        case(1000, &[(1000, 0, 1), (0, 1, 1000), (1001, 1001, 64_535)]);
        case(65_535, &[(65_535, 0, 1), (0, 1, 65_535)]);
        case(100_000, &[(100_000, 0, 1), (0, 1, 65_536)]);
        case(u32::MAX, &[(u32::MAX, 0, 1), (0, 1, 65_536)]);
    }
}
