//! The identity of a process: user, user namespace and capabilities.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{DumpableBehavior, Gid, Signal, Uid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

/// A range of IDs in a user namespace and the IDs outside that they map to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRange {
    /// First ID inside.
    pub inside: u32,
    /// First ID outside.
    pub outside: u32,
    /// Number of IDs.
    pub count: u32,
}

impl IdRange {
    /// A single ID that stays the same.
    pub fn own(id: u32) -> Self {
        Self {
            inside: id,
            outside: id,
            count: 1,
        }
    }
}

fn lines(ranges: &[IdRange]) -> String {
    let lines = ranges
        .iter()
        .map(|range| format!("{} {} {}", range.inside, range.outside, range.count));
    lines.collect::<Vec<_>>().join("\n")
}

/// Switches from root to an unprivileged user. A later user namespace brings its own capabilities.
pub fn become_user(id: u32) -> io::Result<()> {
    rustix::thread::set_thread_groups(&[])?;
    let group = Gid::from_raw(id);
    rustix::thread::set_thread_res_gid(group, group, group)?;
    let user = Uid::from_raw(id);
    rustix::thread::set_thread_res_uid(user, user, user)?;
    // After a change of user the kernel hides `/proc/self` from the new user.
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Maps the process's own user and group in the user namespace that it has just entered.
///
/// `proc` is a writable `/proc`.
pub fn map_own_ids(proc: BorrowedFd<'_>, user: IdRange, group: IdRange) -> io::Result<()> {
    write_at(proc, "self/setgroups", b"deny")?;
    write_at(proc, "self/uid_map", lines(&[user]).as_bytes())?;
    write_at(proc, "self/gid_map", lines(&[group]).as_bytes())
}

/// Forbids nested user namespaces.
pub fn forbid_user_namespaces(proc: BorrowedFd<'_>) -> io::Result<()> {
    write_at(proc, "sys/user/max_user_namespaces", b"0")
}

/// Limits the process IDs in this process's PID namespace, and with them the number of processes
/// and threads. Needs Linux 6.14.
///
/// Unlike the per-user limit, it applies to root too.
pub fn limit_process_numbers(proc: BorrowedFd<'_>, limit: u64) -> io::Result<()> {
    /// IDs up to this one are assigned only once, to the first processes.
    const RESERVED: u64 = 300;
    let last = RESERVED.saturating_add(limit);
    write_at(
        proc,
        "sys/kernel/ns_last_pid",
        RESERVED.to_string().as_bytes(),
    )?;
    write_at(proc, "sys/kernel/pid_max", last.to_string().as_bytes())
}

/// True if process IDs can be limited per namespace; on older kernels the limit is global.
pub fn has_process_numbers_of_its_own() -> bool {
    const SINCE: (u32, u32) = (6, 14);
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || parts.next()?.parse::<u32>().ok();
    (next(), next()) >= (Some(SINCE.0), Some(SINCE.1))
}

/// Creates an empty user namespace for mapping the owners of a mount; leaves a child to reap.
///
/// `proc` is a `/proc` that shows processes under the IDs that they have here.
pub fn namespace_for_owners(proc: BorrowedFd<'_>, ranges: &[IdRange]) -> io::Result<OwnedFd> {
    let child = super::hold_user_namespace()?;
    let map = lines(ranges);
    let file = |name: &str| format!("{}/{name}", child.as_raw_nonzero());
    let opened = write_at(proc, &file("uid_map"), map.as_bytes())
        .and_then(|()| write_at(proc, &file("gid_map"), map.as_bytes()))
        .and_then(|()| {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            Ok(openat(proc, file("ns/user"), flags, Mode::empty())?)
        });
    // This process is the init of its namespace and reaps the child later.
    rustix::process::kill_process(child, Signal::KILL)?;
    opened
}

/// Enters a new user namespace.
pub fn enter_user_namespace() -> io::Result<()> {
    super::unshare(UnshareFlags::NEWUSER)
}

/// Drops every capability, for this program and for everything that it starts.
pub fn drop_capabilities() -> io::Result<()> {
    use rustix::thread as own;
    for number in 0..64_u32 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        // The kernel rejects unknown capabilities, which ends the list.
        if own::remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    // Kernels without ambient capabilities have none to clear.
    let _ = own::clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    own::set_capabilities(None, none)?;
    own::set_no_new_privs(true)?;
    let left = own::capabilities(None)?;
    if left != none || !own::no_new_privs()? {
        return Err(io::Error::other("capabilities are left"));
    }
    Ok(())
}

fn write_at(directory: impl AsFd, path: &str, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(directory, path, flags, Mode::empty())?;
    File::from(file).write_all(content)
}
