//! Who a process is: its user, its namespace of users, its capabilities.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{DumpableBehavior, Gid, Signal, Uid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

/// A number inside of a user namespace, the number outside that it stands for, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRange {
    /// The first number inside.
    pub inside: u32,
    /// The first number outside.
    pub outside: u32,
    /// How many follow one another.
    pub count: u32,
}

fn lines(ranges: &[IdRange]) -> String {
    let lines = ranges
        .iter()
        .map(|range| format!("{} {} {}", range.inside, range.outside, range.count));
    lines.collect::<Vec<_>>().join("\n")
}

/// Gives up being root for a user without any power; capabilities in later user namespaces
/// come with those.
pub fn become_user(id: u32) -> io::Result<()> {
    rustix::thread::set_thread_groups(&[])?;
    let group = Gid::from_raw(id);
    rustix::thread::set_thread_res_gid(group, group, group)?;
    let user = Uid::from_raw(id);
    rustix::thread::set_thread_res_uid(user, user, user)?;
    // The kernel takes a change of user as a reason to hide `/proc/self` from the new one.
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Maps the process's own user and group in the user namespace that it has just entered.
///
/// `proc` is a directory where a `/proc` can be written to.
pub fn map_own_ids(proc: BorrowedFd<'_>, user: IdRange, group: IdRange) -> io::Result<()> {
    write_at(proc, "self/setgroups", b"deny")?;
    write_at(proc, "self/uid_map", lines(&[user]).as_bytes())?;
    write_at(proc, "self/gid_map", lines(&[group]).as_bytes())
}

/// Forbids user namespaces below this one.
pub fn forbid_user_namespaces(proc: BorrowedFd<'_>) -> io::Result<()> {
    write_at(proc, "sys/user/max_user_namespaces", b"0")
}

/// Limits how many processes and threads there can be in this process's namespace, by the numbers
/// that there are for them. Needs Linux 6.14.
///
/// Unlike the limit that every process has, it holds for root too.
pub fn limit_process_numbers(proc: BorrowedFd<'_>, limit: u64) -> io::Result<()> {
    /// Numbers up to this one are given only once, to the first processes.
    const RESERVED: u64 = 300;
    let last = RESERVED.saturating_add(limit);
    write_at(
        proc,
        "sys/kernel/ns_last_pid",
        RESERVED.to_string().as_bytes(),
    )?;
    write_at(proc, "sys/kernel/pid_max", last.to_string().as_bytes())
}

/// Whether the numbers of processes can be limited for a namespace alone: on older kernels that is
/// a setting of the whole machine.
pub fn has_process_numbers_of_its_own() -> bool {
    const SINCE: (u32, u32) = (6, 14);
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || parts.next()?.parse::<u32>().ok();
    (next(), next()) >= (Some(SINCE.0), Some(SINCE.1))
}

/// A user namespace that nobody lives in, to map the owners of a mount; leaves a child to reap.
///
/// `proc` is a `/proc` in which processes have the numbers that they have for this one.
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
    // It is reaped with whatever else this process, as the first of its namespace, reaps.
    rustix::process::kill_process(child, Signal::KILL)?;
    opened
}

/// Enters a new user namespace.
pub fn enter_user_namespace() -> io::Result<()> {
    super::unshare(UnshareFlags::NEWUSER)
}

/// Drops every capability, for this program and for all that it will ever start.
pub fn drop_capabilities() -> io::Result<()> {
    use rustix::thread as own;
    for number in 0..64_u32 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        // Numbers that the kernel does not know end the list.
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
