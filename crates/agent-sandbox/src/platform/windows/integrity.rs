//! Low integrity: processes that can write only to what is labelled for them.
//!
//! Windows lets a process change only objects of its own integrity level or a lower one. A file without
//! a label counts as medium, and so do the programs of a person. A command is started suspended and
//! lowered before its first instruction; it can then write to directories that [`label`] prepared. Its
//! children inherit the level, and nothing raises it again. Reading and the network are not restricted.
//!
//! [`lower`] changes the token that the child was started with. To start it with another token,
//! everything that `Command` does for a child would have to be written again.

#![expect(unsafe_code, reason = "the calls of the system have no safe form")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::Path;
use std::process::Child;
use std::ptr;

use windows_sys::Win32::Foundation::{GENERIC_READ, LUID, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    GetSecurityInfo, SE_FILE_OBJECT, SE_KERNEL_OBJECT, SE_OBJECT_TYPE, SetSecurityInfo,
};
use windows_sys::Win32::Security::{
    ACE_HEADER, ACL, ACL_REVISION, AdjustTokenPrivileges, CONTAINER_INHERIT_ACE,
    GetTokenInformation, INHERIT_ONLY_ACE, LABEL_SECURITY_INFORMATION, LUID_AND_ATTRIBUTES,
    LookupPrivilegeValueW, OBJECT_INHERIT_ACE, SE_CHANGE_NOTIFY_NAME, SE_PRIVILEGE_REMOVED,
    SECURITY_MANDATORY_LABEL_AUTHORITY, SID, SID_AND_ATTRIBUTES, SetTokenInformation,
    TOKEN_ADJUST_DEFAULT, TOKEN_ADJUST_PRIVILEGES, TOKEN_MANDATORY_LABEL, TOKEN_QUERY,
    TokenIntegrityLevel, TokenPrivileges,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, GetVolumeInformationByHandleW, WRITE_OWNER,
};
use windows_sys::Win32::System::SystemServices::{
    FILE_PERSISTENT_ACLS, SE_GROUP_INTEGRITY, SECURITY_MANDATORY_LOW_RID,
    SYSTEM_MANDATORY_LABEL_ACE_TYPE, SYSTEM_MANDATORY_LABEL_NO_WRITE_UP,
};
use windows_sys::Win32::System::Threading::OpenProcessToken;

use super::job::{checked, owned};

/// The flags of a label that new files and directories inherit.
const INHERITED_BY_ALL: u32 = OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE;

/// An access control list whose only entry is the label of the low level.
#[repr(C)]
#[derive(Clone, Copy)]
struct LowLabel {
    list: ACL,
    entry: ACE_HEADER,
    mask: u32,
    level: SID,
}

impl LowLabel {
    fn new(flags: u32) -> Self {
        let narrow = |size: usize| u16::try_from(size).unwrap_or_default();
        let byte = |number: u32| u8::try_from(number).unwrap_or_default();
        Self {
            list: ACL {
                AclRevision: byte(ACL_REVISION),
                AclSize: narrow(size_of::<Self>()),
                AceCount: 1,
                ..ACL::default()
            },
            entry: ACE_HEADER {
                AceType: byte(SYSTEM_MANDATORY_LABEL_ACE_TYPE),
                AceFlags: byte(flags),
                AceSize: narrow(size_of::<Self>() - size_of::<ACL>()),
            },
            mask: SYSTEM_MANDATORY_LABEL_NO_WRITE_UP,
            level: low(),
        }
    }

    /// True if the entry is a label of the low level that files in the directory inherit.
    fn opens_directory(&self) -> bool {
        let flags = u32::from(self.entry.AceFlags);
        let low = low();
        u32::from(self.entry.AceType) == SYSTEM_MANDATORY_LABEL_ACE_TYPE
            && flags & (INHERITED_BY_ALL | INHERIT_ONLY_ACE) == INHERITED_BY_ALL
            && self.level.SubAuthorityCount == low.SubAuthorityCount
            && self.level.IdentifierAuthority.Value == low.IdentifierAuthority.Value
            && self.level.SubAuthority == low.SubAuthority
    }
}

/// The low level, as the system writes it.
fn low() -> SID {
    SID {
        Revision: 1,
        SubAuthorityCount: 1,
        IdentifierAuthority: SECURITY_MANDATORY_LABEL_AUTHORITY,
        SubAuthority: [SECURITY_MANDATORY_LOW_RID.unsigned_abs()],
    }
}

/// Lets processes of low integrity write to a directory and everything in it, now and later. The label
/// stays when the command has ended.
pub(super) fn label(directory: &Path) -> io::Result<()> {
    let opened = open_for_label(directory)?;
    // Windows passes a new label on to everything in the directory; once is enough.
    if is_labelled(&opened)? {
        return Ok(());
    }
    set_label(&opened, SE_FILE_OBJECT, INHERITED_BY_ALL)
}

/// Fails if the file system of the directory has no labels, or if this person may not set one: the right
/// to change what is in the directory is not enough.
pub(super) fn can_label(directory: &Path) -> io::Result<()> {
    let opened = open_for_label(directory)?;
    let mut flags = 0;
    // SAFETY: the handle is open, one pointer is to a number, and the others may be null.
    checked(unsafe {
        GetVolumeInformationByHandleW(
            opened.as_raw_handle(),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut flags,
            ptr::null_mut(),
            0,
        )
    })?;
    if flags & FILE_PERSISTENT_ACLS == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(())
}

fn open_for_label(directory: &Path) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(GENERIC_READ | WRITE_OWNER)
        // A directory can be opened in no other way.
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(directory)
}

fn is_labelled(directory: &File) -> io::Result<bool> {
    let mut list: *mut ACL = ptr::null_mut();
    let mut descriptor = ptr::null_mut();
    // SAFETY: the handle is open, and the pointers that are not null are to places for pointers.
    succeeded(unsafe {
        GetSecurityInfo(
            directory.as_raw_handle(),
            SE_FILE_OBJECT,
            LABEL_SECURITY_INFORMATION,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut list,
            &raw mut descriptor,
        )
    })?;
    // SAFETY: the list is null, or lies in the descriptor and is as long as it says.
    let found = unsafe {
        list.as_ref()
            .filter(|list| usize::from(list.AclSize) >= size_of::<LowLabel>() && list.AceCount > 0)
            .map(|_| list.cast::<LowLabel>().read_unaligned())
    };
    // SAFETY: the call allocated it for us, and nothing refers to it any more.
    unsafe { LocalFree(descriptor) };
    Ok(found.is_some_and(|label| label.opens_directory()))
}

fn set_label(object: &impl AsRawHandle, kind: SE_OBJECT_TYPE, flags: u32) -> io::Result<()> {
    let label = LowLabel::new(flags);
    // SAFETY: the handle is open, the list is whole, and the others may be null.
    succeeded(unsafe {
        SetSecurityInfo(
            object.as_raw_handle(),
            kind,
            LABEL_SECURITY_INFORMATION,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null(),
            (&raw const label).cast(),
        )
    })
}

/// Brings a child that was started suspended to the low level, and takes its privileges.
pub(super) fn lower(child: &Child) -> io::Result<()> {
    let access = TOKEN_QUERY | TOKEN_ADJUST_DEFAULT | TOKEN_ADJUST_PRIVILEGES;
    let mut token = ptr::null_mut();
    // SAFETY: the handle is open, and the pointer is to a place for another one.
    checked(unsafe { OpenProcessToken(child.as_raw_handle(), access, &raw mut token) })?;
    let token = owned(token)?;
    remove_privileges(&token)?;
    let mut level = low();
    let label = TOKEN_MANDATORY_LABEL {
        Label: SID_AND_ATTRIBUTES {
            Sid: (&raw mut level).cast(),
            Attributes: SE_GROUP_INTEGRITY.unsigned_abs(),
        },
    };
    let size = u32::try_from(size_of_val(&label)).unwrap_or_default();
    // SAFETY: the pointer is to a whole value of the type that belongs to the class, and the level that
    // it points to is there until the call returns.
    checked(unsafe {
        SetTokenInformation(
            token.as_raw_handle(),
            TokenIntegrityLevel,
            (&raw const label).cast(),
            size,
        )
    })?;
    // The process itself got the label of this one when it was created; it must be able to open itself.
    set_label(child, SE_KERNEL_OBJECT, 0)
}

/// The privileges of a token, with room for more than Windows has.
#[repr(C)]
struct Privileges {
    count: u32,
    all: [LUID_AND_ATTRIBUTES; 64],
}

/// Removes all privileges but the one to pass through directories: those of an administrator would lift
/// the barrier.
fn remove_privileges(token: &OwnedHandle) -> io::Result<()> {
    let mut kept = LUID::default();
    // SAFETY: the name ends with a zero, and the pointer is to a whole value.
    checked(unsafe { LookupPrivilegeValueW(ptr::null(), SE_CHANGE_NOTIFY_NAME, &raw mut kept) })?;
    let mut found = Privileges {
        count: 0,
        all: [LUID_AND_ATTRIBUTES::default(); 64],
    };
    let size = u32::try_from(size_of_val(&found)).unwrap_or_default();
    let mut written = 0;
    // SAFETY: the pointers are to a whole value, as long as the size says, and to a number.
    checked(unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenPrivileges,
            (&raw mut found).cast(),
            size,
            &raw mut written,
        )
    })?;
    for privilege in &mut found.all {
        let is_kept =
            privilege.Luid.LowPart == kept.LowPart && privilege.Luid.HighPart == kept.HighPart;
        if !is_kept {
            privilege.Attributes = SE_PRIVILEGE_REMOVED;
        }
    }
    // SAFETY: the pointer is to as many privileges as it says, and the others may be null.
    checked(unsafe {
        AdjustTokenPrivileges(
            token.as_raw_handle(),
            0,
            (&raw const found).cast(),
            size,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    })
}

fn succeeded(status: u32) -> io::Result<()> {
    match status {
        0 => Ok(()),
        status => Err(io::Error::from_raw_os_error(status.cast_signed())),
    }
}
