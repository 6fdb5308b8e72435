//! Copies owner, group and permission bits to a file that replaces another.
//!
//! A new file belongs to the user who creates it. That is nearly always the owner of the old one,
//! and then nothing needs to be done. Extended attributes and access lists are not kept: finding
//! them would cost a system call per file.

use std::io;

use cap_std::fs::{File, Metadata};

use super::ExecutableBit;

/// Tells if a replaced file kept its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The owner is the same.
    Kept,
    /// The system does not let us change the owner.
    Lost,
}

/// Gives a new file owner and mode of the old one, except for the bits that `permission` sets.
#[cfg(unix)]
pub(super) fn make_alike(
    file: &File,
    old: Option<&Metadata>,
    permission: ExecutableBit,
) -> io::Result<Ownership> {
    use cap_std::fs::{MetadataExt, Permissions, PermissionsExt};

    let ownership = old.map_or(Ownership::Kept, |old| give_away(file, old));
    // A new file keeps the mode that the umask gives. Setuid and setgid are dropped if the owner
    // changed: they would grant the rights of the new owner.
    let before = match (old, ownership) {
        (Some(metadata), Ownership::Kept) => metadata.mode() & 0o7777,
        (Some(metadata), Ownership::Lost) => metadata.mode() & 0o777,
        (None, _) if permission == ExecutableBit::Keep => return Ok(ownership),
        (None, _) => file.metadata()?.mode() & 0o777,
    };
    let mode = match permission {
        ExecutableBit::Keep => before,
        ExecutableBit::Executable => before | ((before & 0o444) >> 2),
        ExecutableBit::Plain => before & !0o6111,
    };
    // After the owner: changing it clears these bits.
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(ownership)
}

#[cfg(unix)]
fn give_away(file: &File, old: &Metadata) -> Ownership {
    use std::os::unix::fs::fchown;
    use std::sync::OnceLock;

    use cap_std::fs::MetadataExt;
    use rustix::process::{getegid, geteuid};

    static OURS: OnceLock<(u32, u32)> = OnceLock::new();
    let ours = OURS.get_or_init(|| (geteuid().as_raw(), getegid().as_raw()));
    let (owner, group) = (old.uid(), old.gid());
    if (owner, group) == *ours || fchown(file, Some(owner), Some(group)).is_ok() {
        return Ownership::Kept;
    }
    // Only root can change the owner, but a group that we belong to can be kept.
    let _ = fchown(file, None, Some(group));
    Ownership::Lost
}

/// Gives a new file the read-only attribute of the old one.
#[cfg(not(unix))]
pub(super) fn make_alike(
    file: &File,
    old: Option<&Metadata>,
    _permission: ExecutableBit,
) -> io::Result<Ownership> {
    if old.is_some_and(|old| old.permissions().readonly()) {
        crate::platform::files::set_read_only(file, true)?;
    }
    Ok(Ownership::Kept)
}
