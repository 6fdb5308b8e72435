//! Changes permissions, owners and times of files for commands that only Landlock confines.
//!
//! Landlock restricts which files can be opened and created, but not whose permissions can be
//! changed. So the filter stops these calls, and the supervisor carries them out instead: it finds
//! the file, checks that it is inside a path that the command can write to, and changes that very
//! file. Paths are read once and files are held by descriptor, so a concurrent rename or link leads
//! nowhere: the file is reached from the workspace itself, without a link on the way. Everything
//! else is refused with `EPERM`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::filter;
use crate::platform::linux::identity;
use crate::platform::linux::notify::{CallerMemory, SyscallListener, WaitingCall};

/// Files and directories that a command can write to, with everything below them.
#[derive(Debug)]
pub(super) struct Writable(Vec<OwnedFd>);

/// The file argument of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileArgument {
    /// A descriptor of the caller.
    Descriptor(i32),
    /// The path at an address, relative to a directory.
    Path {
        directory: i32,
        address: u64,
        flags: AtFlags,
    },
}

/// The requested change.
#[derive(Debug, Clone)]
enum AttributeChange {
    Mode(u32),
    Owner(u32, u32),
    Times(Timestamps),
}

/// Carries out the calls that arrive, in a thread that ends with the process.
///
/// It drops its capabilities first: it must not do for root's commands what they could not do
/// themselves.
pub(super) fn serve(listener: SyscallListener, writable: Writable) {
    std::thread::spawn(move || {
        // Without a listener the calls fail, which is safe.
        if identity::drop_capabilities().is_err() {
            return;
        }
        while let Some(call) = listener.next() {
            let result = carry_out(&listener, &call, &writable);
            listener.answer(&call, result);
        }
    });
}

fn carry_out(
    listener: &SyscallListener,
    call: &WaitingCall,
    writable: &Writable,
) -> Result<(), Errno> {
    let memory = call.memory().map_err(|_| Errno::PERM)?;
    let (named, change) = request(call, &memory)?;
    let found = find(call, &memory, named)?;
    // Otherwise the thread may have ended, and its ID may belong to another process.
    if !listener.is_waiting(call) {
        return Err(Errno::SRCH);
    }
    change.apply_to(&writable.admit(found)?)
}

/// The file and the change that a call asks for.
fn request(
    call: &WaitingCall,
    memory: &CallerMemory,
) -> Result<(FileArgument, AttributeChange), Errno> {
    const FCHMODAT2: i64 = 452;
    let descriptor = || FileArgument::Descriptor(call.signed(0));
    #[cfg(target_arch = "x86_64")]
    let path = |flags: AtFlags| FileArgument::Path {
        directory: libc::AT_FDCWD,
        address: call.arguments[0],
        flags,
    };
    let path_at = |flags: AtFlags| FileArgument::Path {
        directory: call.signed(0),
        address: call.arguments[1],
        flags,
    };
    let flags = |argument: usize| AtFlags::from_bits_retain(call.low_half(argument));
    let mode = |argument: usize| AttributeChange::Mode(call.low_half(argument));
    let owner = |user: usize| AttributeChange::Owner(call.low_half(user), call.low_half(user + 1));
    let times = |argument: usize, kind: Clock| {
        let address = call.arguments[argument];
        kind.read(memory, address).map(AttributeChange::Times)
    };
    let is = |name: libc::c_long| call.number == name;

    Ok(if is(libc::SYS_fchmod) {
        (descriptor(), mode(1))
    } else if is(libc::SYS_fchmodat) {
        (path_at(AtFlags::empty()), mode(2))
    } else if is(FCHMODAT2) {
        (path_at(flags(3)), mode(2))
    } else if is(libc::SYS_fchown) {
        (descriptor(), owner(1))
    } else if is(libc::SYS_fchownat) {
        (path_at(flags(4)), owner(2))
    } else if is(libc::SYS_utimensat) {
        let named = if call.arguments[1] == 0 {
            descriptor()
        } else {
            path_at(flags(3))
        };
        (named, times(2, Clock::Nanoseconds)?)
    } else {
        #[cfg(target_arch = "x86_64")]
        match call.number {
            libc::SYS_chmod => (path(AtFlags::empty()), mode(1)),
            libc::SYS_chown => (path(AtFlags::empty()), owner(1)),
            libc::SYS_lchown => (path(AtFlags::SYMLINK_NOFOLLOW), owner(1)),
            libc::SYS_utime => (path(AtFlags::empty()), times(1, Clock::Seconds)?),
            libc::SYS_utimes => (path(AtFlags::empty()), times(1, Clock::Microseconds)?),
            libc::SYS_futimesat if call.arguments[1] == 0 => {
                (descriptor(), times(2, Clock::Microseconds)?)
            }
            libc::SYS_futimesat => (path_at(AtFlags::empty()), times(2, Clock::Microseconds)?),
            _ => return Err(Errno::NOSYS),
        }
        #[cfg(not(target_arch = "x86_64"))]
        return Err(Errno::NOSYS);
    })
}

/// How a call encodes its two times.
#[derive(Debug, Clone, Copy)]
enum Clock {
    Nanoseconds,
    #[cfg(target_arch = "x86_64")]
    Microseconds,
    #[cfg(target_arch = "x86_64")]
    Seconds,
}

impl Clock {
    fn read(self, memory: &CallerMemory, address: u64) -> Result<Timestamps, Errno> {
        if address == 0 {
            let now = Timespec {
                tv_sec: 0,
                tv_nsec: rustix::fs::UTIME_NOW,
            };
            return Ok(Timestamps {
                last_access: now,
                last_modification: now,
            });
        }
        let number = |at: u64| -> Result<i64, Errno> {
            let mut bytes = [0; 8];
            memory.read(address.wrapping_add(at * 8), &mut bytes)?;
            Ok(i64::from_ne_bytes(bytes))
        };
        let time = |seconds, nanoseconds| Timespec {
            tv_sec: seconds,
            tv_nsec: nanoseconds,
        };
        let (last_access, last_modification) = match self {
            Self::Nanoseconds => (time(number(0)?, number(1)?), time(number(2)?, number(3)?)),
            #[cfg(target_arch = "x86_64")]
            Self::Microseconds => {
                // Values out of range stay so: they must not be taken for "now".
                let nanoseconds = |microseconds: i64| match microseconds {
                    0..1_000_000 => Ok(microseconds * 1000),
                    _ => Err(Errno::INVAL),
                };
                (
                    time(number(0)?, nanoseconds(number(1)?)?),
                    time(number(2)?, nanoseconds(number(3)?)?),
                )
            }
            #[cfg(target_arch = "x86_64")]
            Self::Seconds => (time(number(0)?, 0), time(number(1)?, 0)),
        };
        Ok(Timestamps {
            last_access,
            last_modification,
        })
    }
}

/// Opens the file that a call names, wherever it is, without side effects.
fn find(call: &WaitingCall, memory: &CallerMemory, named: FileArgument) -> Result<OwnedFd, Errno> {
    match named {
        FileArgument::Descriptor(number) => open_of_caller(call, number),
        FileArgument::Path {
            directory,
            address,
            flags,
        } => {
            let text = memory.text(address)?;
            let path = Path::new(OsStr::from_bytes(&text));
            if text.is_empty() {
                return if flags.contains(AtFlags::EMPTY_PATH) {
                    open_of_caller(call, directory)
                } else {
                    Err(Errno::NOENT)
                };
            }
            // The C library uses such a path for a descriptor if there is no call for it. Resolved
            // by this process, `self` would be the wrong process.
            if let Some(number) = own_descriptor(path)
                && !flags.contains(AtFlags::SYMLINK_NOFOLLOW)
            {
                return open_of_caller(call, number);
            }
            let mut how = OFlags::PATH | OFlags::CLOEXEC;
            if flags.contains(AtFlags::SYMLINK_NOFOLLOW) {
                how |= OFlags::NOFOLLOW;
            }
            let no_magic = ResolveFlags::NO_MAGICLINKS;
            if path.is_absolute() {
                rustix::fs::openat2(CWD, path, how, Mode::empty(), no_magic)
            } else {
                let directory = open_of_caller(call, directory)?;
                rustix::fs::openat2(directory, path, how, Mode::empty(), no_magic)
            }
        }
    }
}

/// The descriptor that a path like `/proc/self/fd/3` stands for.
fn own_descriptor(path: &Path) -> Option<i32> {
    let places = ["/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"];
    let mut rest = places
        .iter()
        .filter_map(|place| path.strip_prefix(place).ok());
    rest.next()?.to_str()?.parse().ok()
}

/// The file behind a descriptor of the caller, or its working directory.
fn open_of_caller(call: &WaitingCall, number: i32) -> Result<OwnedFd, Errno> {
    let thread = call.thread;
    let (path, missing) = if number == libc::AT_FDCWD {
        (format!("/proc/{thread}/cwd"), Errno::NOENT)
    } else {
        (format!("/proc/{thread}/fd/{number}"), Errno::BADF)
    };
    let how = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, how, Mode::empty()).map_err(|_| missing)
}

impl Writable {
    /// The opened workspace, and the files that are at these paths now.
    pub(super) fn new<'a>(workspace: OwnedFd, others: impl Iterator<Item = &'a Path>) -> Self {
        let how = OFlags::PATH | OFlags::CLOEXEC;
        let opened = others.filter_map(|path| rustix::fs::open(path, how, Mode::empty()).ok());
        Self(std::iter::once(workspace).chain(opened).collect())
    }

    /// Reaches the same file from one of these directories, which proves that it is inside.
    fn admit(&self, found: OwnedFd) -> Result<OwnedFd, Errno> {
        /// It may be renamed during the search.
        const TRIES: usize = 3;
        let status = rustix::fs::fstat(&found)?;
        for _ in 0..TRIES {
            let path = path_of(&found).map_err(|_| Errno::PERM)?;
            if is_nameless(&path, &status) {
                return Ok(found);
            }
            for root in &self.0 {
                let Ok(reached) = reach(root, &path) else {
                    continue;
                };
                let same = rustix::fs::fstat(&reached)?;
                if (same.st_dev, same.st_ino) == (status.st_dev, status.st_ino) {
                    return Ok(reached);
                }
            }
        }
        Err(Errno::PERM)
    }
}

/// Opens a path below one of the writable directories.
fn reach(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let above = path_of(root)?;
    let beneath = path
        .strip_prefix(above)
        .map_err(|_| io::ErrorKind::NotFound)?;
    if beneath.as_os_str().is_empty() {
        return root.try_clone();
    }
    let opened = rustix::fs::openat2(
        root,
        beneath,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    );
    Ok(opened?)
}

/// The current path of an open file, according to the kernel.
fn path_of(file: &OwnedFd) -> io::Result<PathBuf> {
    fs::read_link(name_of(file))
}

/// A path that leads to an open file, whatever its name.
fn name_of(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// True if a file has no name any more, or never had one: nobody else can reach it.
fn is_nameless(path: &Path, status: &rustix::fs::Stat) -> bool {
    let path = path.as_os_str().as_bytes();
    let kind = FileType::from_raw_mode(status.st_mode);
    kind == FileType::RegularFile && status.st_nlink == 0 && path.ends_with(b" (deleted)")
}

impl AttributeChange {
    fn apply_to(self, file: &OwnedFd) -> Result<(), Errno> {
        match self {
            Self::Mode(mode) if mode & filter::SET_ID_BITS != 0 => Err(Errno::PERM),
            Self::Mode(mode) => {
                let status = rustix::fs::fstat(file)?;
                // This name would follow the link.
                if FileType::from_raw_mode(status.st_mode) == FileType::Symlink {
                    return Err(Errno::OPNOTSUPP);
                }
                rustix::fs::chmod(name_of(file), Mode::from_raw_mode(mode))
            }
            Self::Owner(user, group) => {
                let user = (user != u32::MAX).then(|| Uid::from_raw(user));
                let group = (group != u32::MAX).then(|| Gid::from_raw(group));
                rustix::fs::chownat(file, "", user, group, AtFlags::EMPTY_PATH)
            }
            Self::Times(times) => rustix::fs::utimensat(file, "", &times, AtFlags::EMPTY_PATH),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn open(path: &Path) -> OwnedFd {
        let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(path, how, Mode::empty()).unwrap()
    }

    #[test]
    fn only_what_lies_in_the_workspace_is_admitted() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["work", "work/sub", "work-too"] {
            fs::create_dir(at(name)).unwrap();
        }
        for name in ["work/file", "work/sub/file", "work-too/file", "shown"] {
            fs::File::create(at(name)).unwrap();
        }
        symlink(at("work-too"), at("work/link")).unwrap();
        let writable = Writable::new(
            open(&at("work")),
            [at("shown")].iter().map(PathBuf::as_path),
        );
        for (name, is_admitted) in [
            ("work", true),
            ("work/file", true),
            ("work/sub/file", true),
            ("work/link", true),
            ("shown", true),
            ("work-too", false),
            ("work-too/file", false),
            ("", false),
        ] {
            let admitted = writable.admit(open(&at(name)));
            assert_eq!(admitted.is_ok(), is_admitted, "{name}: {admitted:?}");
        }
    }

    #[test]
    fn a_file_without_a_name_is_admitted_and_one_that_only_looks_so_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("work")).unwrap();
        let writable = Writable::new(open(&at("work")), std::iter::empty());
        fs::File::create(at("x (deleted)")).unwrap();
        assert!(writable.admit(open(&at("x (deleted)"))).is_err());
        fs::File::create(at("gone")).unwrap();
        let gone = open(&at("gone"));
        fs::remove_file(at("gone")).unwrap();
        assert!(writable.admit(gone).is_ok());
    }

    #[test]
    fn a_path_that_stands_for_a_descriptor_is_known() {
        assert_eq!(own_descriptor(Path::new("/proc/self/fd/3")), Some(3));
        assert_eq!(own_descriptor(Path::new("/dev/fd/12")), Some(12));
        assert_eq!(own_descriptor(Path::new("/proc/self/fd/3/x")), None);
        assert_eq!(own_descriptor(Path::new("/proc/self/fdinfo/3")), None);
    }

    #[test]
    fn a_file_gets_no_set_user_bit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::File::create(&path).unwrap();
        let file = open(&path);
        assert_eq!(
            AttributeChange::Mode(0o4755).apply_to(&file),
            Err(Errno::PERM)
        );
        assert_eq!(AttributeChange::Mode(0o751).apply_to(&file), Ok(()));
        let status = rustix::fs::fstat(&file).unwrap();
        assert_eq!(status.st_mode & 0o7777, 0o751);
    }
}
