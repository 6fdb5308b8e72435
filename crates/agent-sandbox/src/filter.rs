//! The system calls that a confined command cannot make.
//!
//! Refused are calls that change namespaces and mounts, that reach into other processes or the
//! kernel, or that have a history of kernel bugs. Calls whose arguments are in memory, where a
//! filter cannot look, do not exist (`ENOSYS`): programs then use the older call, which is checked.

use libc::{EAFNOSUPPORT, ENOSYS, ENOTSUP, EPERM};

use crate::platform::linux::seccomp::{Filter, Operand, SyscallCheck, SyscallRule};

/// The newest call that was reviewed: `removexattrat`. The numbers are the same on all
/// architectures.
const LAST_KNOWN: u32 = 466;

const NEW_NAMESPACES: u32 = 0x7E02_0080;
pub(super) const SET_ID_BITS: u32 = 0o6000;

/// Always refused.
const REFUSED: &[i64] = &[
    // Namespaces and mounts.
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    428, // open_tree
    429, // move_mount
    430, // fsopen
    431, // fsconfig
    432, // fsmount
    433, // fspick
    442, // mount_setattr
    457, // statmount
    458, // listmount
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    443, // quotactl_fd
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    438, // pidfd_getfd
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // The kernel.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[i64] = &[
    294, // kexec_file_load
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REFUSED_HERE: &[i64] = &[];

/// Reported as missing in the kernel.
const MISSING: &[i64] = &[
    425, // io_uring_setup
    426, // io_uring_enter
    427, // io_uring_register
    435, // clone3
    437, // openat2
];

/// Calls with a file mode, and the index of that argument.
const WITH_MODE: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (452, 2), // fchmodat2
    (libc::SYS_mknodat, 2),
];

#[cfg(target_arch = "x86_64")]
const WITH_MODE_HERE: &[(i64, u8)] = &[
    (libc::SYS_chmod, 1),
    (libc::SYS_mknod, 1),
    (libc::SYS_creat, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const WITH_MODE_HERE: &[(i64, u8)] = &[];

/// Calls that create a file only with certain flags, and the indexes of the flags and the mode;
/// without these flags the mode argument is undefined.
const WITH_FLAGS: &[(i64, u8, u8)] = &[(libc::SYS_openat, 2, 3)];
#[cfg(target_arch = "x86_64")]
const WITH_FLAGS_HERE: &[(i64, u8, u8)] = &[(libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const WITH_FLAGS_HERE: &[(i64, u8, u8)] = &[];

/// `O_CREAT` and the bit that distinguishes `O_TMPFILE` from `O_DIRECTORY`.
const CREATING: u32 = 0o20_000_100;

/// The isolation of a command from the rest of the machine, besides the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Isolation {
    /// Namespaces: the command has its own processes, sockets, files and shared memory.
    Namespaces,
    /// Landlock alone, which restricts only which files are opened. The filter must block every
    /// other way to reach other programs.
    Landlock {
        /// True if Internet sockets are allowed.
        network: bool,
    },
}

/// Local sockets, IPv4 and IPv6, and of netlink only network devices and routes: the other
/// protocols lead to the firewall, to audit and to rarely tested kernel code.
const SOCKETS: &[&[Operand]] = &[
    &[Operand::is(0, AF_UNIX)],
    &[Operand::is(0, AF_INET)],
    &[Operand::is(0, AF_INET6)],
    ROUTES,
];

/// Internet sockets only, for a sandbox that does not hide the local sockets of other programs.
const INTERNET_SOCKETS: &[&[Operand]] = &[
    &[Operand::is(0, AF_INET)],
    &[Operand::is(0, AF_INET6)],
    ROUTES,
];

const ROUTES: &[Operand] = &[Operand::is(0, AF_NETLINK), Operand::is(2, NETLINK_ROUTE)];

const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;
const NETLINK_ROUTE: u32 = 0;

/// Injecting input into a terminal, with `TIOCSTI` and `TIOCLINUX`.
const TYPING: SyscallCheck = SyscallCheck::RefuseValues {
    argument: 1,
    values: &[0x5412, 0x541C],
};

/// With Landlock, reported as missing: shared memory, semaphores and message queues without a file,
/// which all programs of a user share.
const SHARED_BY_KEY: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];

/// With Landlock, refused: calls on the memory of another process.
const TO_OTHERS: &[i64] = &[
    440, // process_madvise
    448, // process_mrelease
];

/// With Landlock, reported as unsupported by the file system: few tools need them, and all work
/// without.
const EXTENDED_ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463, // setxattrat
    466, // removexattrat
];

/// With Landlock, allowed only for the calling thread: limits, priorities and CPU affinity of other
/// processes could stop or kill them.
const OF_ITSELF: &[(i64, &[&[Operand]])] = &[
    (libc::SYS_prlimit64, &[&[Operand::is(0, 0)]]),
    (libc::SYS_sched_setaffinity, &[&[Operand::is(0, 0)]]),
    (libc::SYS_sched_setscheduler, &[&[Operand::is(0, 0)]]),
    (libc::SYS_sched_setparam, &[&[Operand::is(0, 0)]]),
    (libc::SYS_sched_setattr, &[&[Operand::is(0, 0)]]),
    // The first argument says that the second is a process, not a group or a user.
    (
        libc::SYS_setpriority,
        &[&[Operand::is(0, 0), Operand::is(1, 0)]],
    ),
    (
        libc::SYS_ioprio_set,
        &[&[Operand::is(0, 1), Operand::is(1, 0)]],
    ),
];

/// With Landlock, carried out by the supervisor on writable paths: the kernel requires no access
/// right to change these attributes (see [`super::attributes`]).
pub(super) const ATTRIBUTES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    452, // fchmodat2
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];
#[cfg(target_arch = "x86_64")]
pub(super) const ATTRIBUTES_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const ATTRIBUTES_HERE: &[i64] = &[];

/// With Landlock, the only allowed `ioctl` requests. Others can change flags of a file or seal it
/// with only read access, and on btrfs create and remove directories.
const CONTROLS: &[&[Operand]] = &[
    // Terminal requests, except `TYPING`, and requests on any descriptor.
    &[masked(0xFFF0, 0x5400)],
    &[masked(0xFFF0, 0x5420)],
    &[masked(0xFFF0, 0x5450)],
    &[Operand::is(1, 0x5410)], // TIOCSPGRP
    &[Operand::is(1, 0x5411)], // TIOCOUTQ
    &[Operand::is(1, 0x5413)], // TIOCGWINSZ
    &[Operand::is(1, 0x5414)], // TIOCSWINSZ
    &[Operand::is(1, 0x541B)], // FIONREAD
    // Sockets.
    &[masked(0xFF00, 0x8900)],
    &[Operand::is(1, 0x8008_6601)], // FS_IOC_GETFLAGS
    &[Operand::is(1, 0x801C_581F)], // FS_IOC_FSGETXATTR
    &[Operand::is(1, 0xC020_660B)], // FS_IOC_FIEMAP
    &[Operand::is(1, 2)],           // FIGETBSZ
    // They write to a file that is open for writing.
    &[Operand::is(1, 0x4004_9409)], // FICLONE
    &[Operand::is(1, 0x4020_940D)], // FICLONERANGE
];

const fn masked(mask: u32, value: u32) -> Operand {
    Operand {
        argument: 1,
        mask,
        value,
    }
}

/// The filter, or `None` on an architecture whose call numbers are not known here.
pub(super) fn filter(isolation: Isolation) -> Option<Filter> {
    Filter::new(&rules(isolation), LAST_KNOWN)
}

fn rules(isolation: Isolation) -> Vec<SyscallRule> {
    let mut rules = common_rules();
    match isolation {
        Isolation::Namespaces => {
            rules.push(rule(
                libc::SYS_socket,
                SyscallCheck::AllowOneOf(SOCKETS),
                EAFNOSUPPORT,
            ));
            rules.push(rule(libc::SYS_ioctl, TYPING, EPERM));
        }
        Isolation::Landlock { network } => {
            let own = landlock_rules(network);
            rules.retain(|rule| own.iter().all(|own| own.call != rule.call));
            rules.extend(own);
        }
    }
    rules
}

fn rule(call: i64, check: SyscallCheck, errno: i32) -> SyscallRule {
    SyscallRule { call, check, errno }
}

/// Rules for every isolation.
fn common_rules() -> Vec<SyscallRule> {
    let bits = |argument, bits| SyscallCheck::RefuseBits { argument, bits };
    let mut rules: Vec<SyscallRule> = Vec::new();
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        rules.push(rule(*call, SyscallCheck::Refuse, EPERM));
    }
    for call in MISSING {
        rules.push(rule(*call, SyscallCheck::Refuse, ENOSYS));
    }
    for (call, argument) in WITH_MODE.iter().chain(WITH_MODE_HERE) {
        rules.push(rule(*call, bits(*argument, SET_ID_BITS), EPERM));
    }
    for (call, flags, mode) in WITH_FLAGS.iter().chain(WITH_FLAGS_HERE) {
        let check = SyscallCheck::RefuseBitsWith {
            first: (*flags, CREATING),
            second: (*mode, SET_ID_BITS),
        };
        rules.push(rule(*call, check, EPERM));
    }
    // The lowest bit of the namespace flags is part of the signal in `clone`.
    rules.push(rule(
        libc::SYS_clone,
        bits(0, NEW_NAMESPACES & !0xFF),
        EPERM,
    ));
    rules.push(rule(libc::SYS_unshare, bits(0, NEW_NAMESPACES), EPERM));
    let local = SyscallCheck::AllowValues {
        argument: 0,
        values: &[AF_UNIX],
    };
    rules.push(rule(libc::SYS_socketpair, local, EAFNOSUPPORT));
    rules
}

/// Rules for what Landlock does not restrict.
fn landlock_rules(network: bool) -> Vec<SyscallRule> {
    let refused = |calls: &'static [i64], errno| {
        let rules = calls.iter();
        rules.map(move |call| rule(*call, SyscallCheck::Refuse, errno))
    };
    let sockets = if network {
        SyscallCheck::AllowOneOf(INTERNET_SOCKETS)
    } else {
        SyscallCheck::Refuse
    };
    let mut rules: Vec<SyscallRule> = refused(SHARED_BY_KEY, ENOSYS)
        .chain(refused(TO_OTHERS, EPERM))
        .chain(refused(EXTENDED_ATTRIBUTES, ENOTSUP))
        .collect();
    for (call, allowed) in OF_ITSELF {
        rules.push(rule(*call, SyscallCheck::AllowOneOf(allowed), EPERM));
    }
    for call in ATTRIBUTES.iter().chain(ATTRIBUTES_HERE) {
        rules.push(rule(*call, SyscallCheck::Notify, EPERM));
    }
    rules.push(rule(
        libc::SYS_ioctl,
        SyscallCheck::AllowOneOf(CONTROLS),
        EPERM,
    ));
    rules.push(rule(libc::SYS_socket, sockets, EAFNOSUPPORT));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Isolation; 3] = [
        Isolation::Namespaces,
        Isolation::Landlock { network: false },
        Isolation::Landlock { network: true },
    ];

    #[test]
    fn no_call_has_two_rules() {
        for isolation in ALL {
            let mut calls: Vec<i64> = rules(isolation).iter().map(|rule| rule.call).collect();
            let count = calls.len();
            calls.sort_unstable();
            calls.dedup();
            assert_eq!(calls.len(), count, "{isolation:?}");
        }
    }

    #[test]
    fn fits_into_the_kernel() {
        for isolation in ALL {
            assert!(filter(isolation).is_none_or(|filter| filter.to_bytes().len() / 8 < 4096));
        }
    }

    #[test]
    fn landlock_is_given_no_fewer_rules() {
        let calls = |isolation| -> Vec<i64> {
            let rules = rules(isolation);
            rules.iter().map(|rule| rule.call).collect()
        };
        let own = calls(Isolation::Landlock { network: true });
        for call in calls(Isolation::Namespaces) {
            assert!(own.contains(&call), "{call}");
        }
    }
}
