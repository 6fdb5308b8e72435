//! Makes a new file like the one that it replaces: owner, group and permission bits.
//!
//! A file that replaces another belongs to whoever makes it. Where that is whom the old one belongs
//! to, as nearly everywhere, nothing has to be done, nor asked of the system. Extended attributes and
//! access lists are not kept: to know of them costs a call for every file.

use std::io;

use cap_std::fs::{File, Metadata};

use super::Permission;

/// Whether the new file belongs to whom the old one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// It does.
    Kept,
    /// The system does not let us give it away.
    Lost,
}

/// Gives a new file what the old one has, but for what `permission` says.
#[cfg(unix)]
pub(super) fn make_alike(
    file: &File,
    old: Option<&Metadata>,
    permission: Permission,
) -> io::Result<Ownership> {
    use cap_std::fs::{MetadataExt, Permissions, PermissionsExt};

    let ownership = old.map_or(Ownership::Kept, |old| give_away(file, old));
    // Where there was none, the mode that the umask left. To run as somebody else is a promise of
    // the old owner, which no other file inherits.
    let before = match (old, ownership) {
        (Some(metadata), Ownership::Kept) => metadata.mode() & 0o7777,
        (Some(metadata), Ownership::Lost) => metadata.mode() & 0o777,
        (None, _) if permission == Permission::Keep => return Ok(ownership),
        (None, _) => file.metadata()?.mode() & 0o777,
    };
    let mode = match permission {
        Permission::Keep => before,
        Permission::Executable => before | ((before & 0o444) >> 2),
        Permission::Plain => before & !0o6111,
    };
    // After the owner: to give a file away takes these bits from it.
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
    // Only root gives files to others; a group that we are in can be kept all the same.
    let _ = fchown(file, None, Some(group));
    Ownership::Lost
}

/// Gives a new file what the old one has: nothing that could be set here.
#[cfg(not(unix))]
pub(super) fn make_alike(
    _file: &File,
    _old: Option<&Metadata>,
    _permission: Permission,
) -> io::Result<Ownership> {
    Ok(Ownership::Kept)
}
