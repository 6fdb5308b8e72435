//! Which system calls a confined command cannot make.
//!
//! Refused is what changes namespaces and mounts, what reaches into other processes or the
//! kernel, and what the kernel's own history of defects makes a poor idea. Calls whose arguments
//! lie in memory, where a filter cannot look, do not exist (`ENOSYS`): programs then use the
//! older call, which is looked at.

use libc::{EAFNOSUPPORT, ENOSYS, EPERM};

use crate::platform::linux::seccomp::{Check, Filter, Rule};

/// The newest call that was looked at: `removexattrat`. The numbers are the same on all machines.
const LAST_KNOWN: u32 = 466;

const NEW_NAMESPACES: u32 = 0x7E02_0080;
const SET_ID_BITS: u32 = 0o6000;

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
    libc::SYS_kexec_file_load,
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
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// As if the kernel did not have them.
const MISSING: &[i64] = &[
    425, // io_uring_setup
    426, // io_uring_enter
    427, // io_uring_register
    435, // clone3
    437, // openat2
];

/// Calls that take the permissions of a file, and which argument they are.
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

/// Calls that make a file only with certain flags, which argument these are, and which the
/// permissions; without the flags the permissions are what happened to be in a register.
const WITH_FLAGS: &[(i64, u8, u8)] = &[(libc::SYS_openat, 2, 3)];
#[cfg(target_arch = "x86_64")]
const WITH_FLAGS_HERE: &[(i64, u8, u8)] = &[(libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const WITH_FLAGS_HERE: &[(i64, u8, u8)] = &[];

/// `O_CREAT` and the bit that tells `O_TMPFILE` from `O_DIRECTORY`.
const CREATING: u32 = 0o20_000_100;

/// Which sockets there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Local ones, those of both Internets, and the kernel's list of network devices.
    All,
    /// The same without local ones: where nothing hides those of other programs.
    Internet,
    /// None but pairs that a program makes for itself.
    Pairs,
}

impl Sockets {
    fn check(self) -> Check {
        let values: &[u32] = match self {
            Self::All => &[1, 2, 10, 16],
            Self::Internet => &[2, 10, 16],
            Self::Pairs => return Check::Refuse,
        };
        Check::AllowValues {
            argument: 0,
            values,
        }
    }
}

/// Typing into somebody's terminal, by `TIOCSTI` and by `TIOCLINUX`.
const TYPING: Check = Check::RefuseValues {
    argument: 1,
    values: &[0x5412, 0x541C],
};

/// The filter, or none on a machine whose calls are not known here.
pub(super) fn filter(sockets: Sockets) -> Option<Filter> {
    Filter::new(&rules(sockets), LAST_KNOWN)
}

fn rules(sockets: Sockets) -> Vec<Rule> {
    let rule = |call: i64, check, errno| Rule { call, check, errno };
    let bits = |argument, bits| Check::RefuseBits { argument, bits };
    let mut rules: Vec<Rule> = Vec::new();
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        rules.push(rule(*call, Check::Refuse, EPERM));
    }
    for call in MISSING {
        rules.push(rule(*call, Check::Refuse, ENOSYS));
    }
    for (call, argument) in WITH_MODE.iter().chain(WITH_MODE_HERE) {
        rules.push(rule(*call, bits(*argument, SET_ID_BITS), EPERM));
    }
    for (call, flags, mode) in WITH_FLAGS.iter().chain(WITH_FLAGS_HERE) {
        let check = Check::RefuseBitsWith {
            first: (*flags, CREATING),
            second: (*mode, SET_ID_BITS),
        };
        rules.push(rule(*call, check, EPERM));
    }
    // The lowest bit of the namespaces is part of the signal in `clone`.
    rules.push(rule(
        libc::SYS_clone,
        bits(0, NEW_NAMESPACES & !0xFF),
        EPERM,
    ));
    rules.push(rule(libc::SYS_unshare, bits(0, NEW_NAMESPACES), EPERM));
    rules.push(rule(libc::SYS_socket, sockets.check(), EAFNOSUPPORT));
    let local = Check::AllowValues {
        argument: 0,
        values: &[1],
    };
    rules.push(rule(libc::SYS_socketpair, local, EAFNOSUPPORT));
    rules.push(rule(libc::SYS_ioctl, TYPING, EPERM));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_has_two_rules() {
        let mut calls: Vec<i64> = rules(Sockets::Pairs).iter().map(|rule| rule.call).collect();
        let count = calls.len();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), count);
    }

    #[test]
    fn fits_into_the_kernel() {
        assert!(filter(Sockets::All).is_none_or(|filter| filter.to_bytes().len() / 8 < 4096));
    }
}
