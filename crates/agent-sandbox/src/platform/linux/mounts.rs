//! Mounts by descriptor: cloned, restricted and attached.
//!
//! A tree is cloned from the current target of a path or descriptor and stays the same, whatever is
//! renamed afterwards. Needs Linux 5.12.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, move_mount, open_tree, unmount,
};

/// Permissions of everything seen through a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read-only.
    Read,
    /// Writable, as far as the owner may.
    Write,
    /// Read-only, for a device file: its mode, owner and times stay as they are. The device itself
    /// can be written to.
    Device,
    /// Writable, for terminals.
    Terminals,
}

impl Access {
    fn attributes(self) -> u64 {
        let flags = match self {
            Self::Read => {
                MountAttrFlags::MOUNT_ATTR_RDONLY
                    | MountAttrFlags::MOUNT_ATTR_NOSUID
                    | MountAttrFlags::MOUNT_ATTR_NODEV
            }
            Self::Write => MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
            Self::Device => {
                MountAttrFlags::MOUNT_ATTR_RDONLY
                    | MountAttrFlags::MOUNT_ATTR_NOSUID
                    | MountAttrFlags::MOUNT_ATTR_NOEXEC
            }
            Self::Terminals => {
                MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC
            }
        };
        u64::from(flags.bits())
    }
}

/// A detached tree of mounts.
#[derive(Debug)]
pub struct MountTree(OwnedFd);

/// How to treat a path that is a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Use its target.
    Follow,
    /// Use the link itself.
    Keep,
}

impl MountTree {
    /// Clones the mount at a path, with everything mounted below it.
    pub fn clone_of(path: &Path, links: Links) -> io::Result<Self> {
        let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        if links == Links::Keep {
            flags |= OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        }
        Ok(Self(open_tree(CWD, path, flags)?))
    }

    /// Clones the mount of a descriptor, with everything mounted below it.
    pub fn clone_of_descriptor(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        Ok(Self(open_tree(descriptor, "", flags)?))
    }

    /// A new file system of this type, with its options.
    pub fn new_file_system(
        kind: &str,
        options: &[(&str, &str)],
        access: Access,
    ) -> io::Result<Self> {
        let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (name, value) in options {
            fsconfig_set_string(&context, *name, *value)?;
        }
        fsconfig_create(&context)?;
        let attributes = u32::try_from(access.attributes()).unwrap_or_default();
        let tree = fsmount(
            &context,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::from_bits_retain(attributes),
        )?;
        Ok(Self(tree))
    }

    /// Restricts the tree and everything mounted below it.
    pub fn restrict(&self, access: Access) -> io::Result<()> {
        set_attributes(self.0.as_fd(), access.attributes(), None)
    }

    /// Restricts the tree and maps the owners of its files through this user namespace.
    pub fn restrict_and_map(&self, access: Access, users: BorrowedFd<'_>) -> io::Result<()> {
        let attributes = access.attributes() | MOUNT_ATTR_IDMAP;
        set_attributes(self.0.as_fd(), attributes, Some(users.as_raw_fd()))
    }

    /// Attaches the tree to a file or directory; a link is not followed.
    pub fn attach(&self, target: &Path) -> io::Result<()> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        Ok(move_mount(&self.0, "", CWD, target, flags)?)
    }
}

impl AsFd for MountTree {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Stops mount events from propagating in either direction.
pub fn make_private() -> io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", flags)?)
}

/// Makes the current directory, which must be a mount, the root, and detaches the old root.
pub fn pivot_to_here() -> io::Result<()> {
    // With the same path for both, the old root is stacked on top of the new one and can be
    // detached.
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}

/// Restricts the mount at this path, but none mounted below it.
pub fn restrict_in_place(path: &Path, access: Access) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let place = open_tree(CWD, path, flags)?;
    set_attributes_with(
        place.as_fd(),
        libc::AT_EMPTY_PATH,
        access.attributes(),
        None,
    )
}

const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
const AT_RECURSIVE: i32 = 0x8000;

fn set_attributes(tree: BorrowedFd<'_>, attributes: u64, users: Option<RawFd>) -> io::Result<()> {
    set_attributes_with(tree, libc::AT_EMPTY_PATH | AT_RECURSIVE, attributes, users)
}

/// The kernel's `struct mount_attr`.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    users: u64,
}

#[expect(unsafe_code, reason = "neither rustix nor libc has `mount_setattr`")]
fn set_attributes_with(
    tree: BorrowedFd<'_>,
    flags: i32,
    attributes: u64,
    users: Option<RawFd>,
) -> io::Result<()> {
    let attributes = MountAttr {
        set: attributes,
        clear: 0,
        propagation: 0,
        users: users
            .and_then(|users| u64::try_from(users).ok())
            .unwrap_or(0),
    };
    // SAFETY: the path is a C string, the structure is the kernel's and its size is passed.
    super::check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttr>(),
        )
    })
}
