use std::collections::BTreeMap;

use agent::sandbox::Backend;

use crate::place::Plain::{Always, ForRoot};
use crate::place::{Place, Plain, backend, command, is_on_overlay, is_root, skipped};

/// Makes system calls with arguments that do nothing, and prints what each gave.
///
/// With arguments as wrong as these the kernel refuses the call by another error than that of the
/// filter, if it gets to see it at all: so the counterpart harms nobody.
const CALLS: &str = r#"/usr/bin/python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
bad = -1
calls = dict(
    unshare_user=(272, 0x10000000), unshare_mounts=(272, 0x20000), unshare_net=(272, 0x40000000),
    unshare_pid=(272, 0x20000000), setns=(308, bad, 0),
    mount=(165, 0, 0, 0, 0, 0), umount2=(166, b"/no/such", 0), pivot_root=(155, 0, 0),
    chroot=(161, b"/no/such"), open_tree=(428, bad, b"no", 0), move_mount=(429, bad, b"", bad, b"", 0x200),
    fsopen=(430, 0, 0), fsconfig=(431, bad, 0, 0, 0, 0), fsmount=(432, bad, 0, 0), fspick=(433, bad, b"no", 0),
    mount_setattr=(442, bad, b"no", 0, 0, 0), open_by_handle_at=(304, bad, 0, 0),
    ptrace=(101, 16, 0, 0, 0), process_vm_readv=(310, os.getpid(), 0, 0, 0, 0, 0),
    process_vm_writev=(311, os.getpid(), 0, 0, 0, 0, 0), pidfd_getfd=(438, bad, 0, 0),
    keyctl=(250, 0, -4, 0), add_key=(248, 0, 0, 0, 0, 0), request_key=(249, 0, 0, 0, 0),
    bpf=(321, 0xffff, 0, 0), perf_event_open=(298, 0, 0, bad, bad, 0),
    userfaultfd=(323, 0x7fffffff), io_uring_setup=(425, 0, 0), io_uring_enter=(426, bad, 0, 0, 0, 0, 0),
    init_module=(175, 0, 0, 0), finit_module=(313, bad, 0, 0), delete_module=(176, b"no such module", 0),
    kexec_load=(246, 0, 99, 0, 0x7fff0000), reboot=(169, 0, 0, 0, 0), swapon=(167, 0, 0), acct=(163, b"/no/such"),
    settimeofday=(164, 1, 0), sethostname=(170, 0, -1), quotactl=(179, -1, 0, 0, 0),
    fanotify_init=(300, 0x7fffffff, 0), iopl=(172, 9), ioperm=(173, -1, 99, 1), modify_ldt=(154, 99, 0, 0),
    clone3=(435, 0, 0), openat2=(437, bad, b"x", 0, 0),
)
for name, (number, *arguments) in calls.items():
    child = os.fork()
    if child == 0:
        ctypes.set_errno(0)
        words = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
        result = libc.syscall(ctypes.c_long(number), *words)
        os._exit(ctypes.get_errno() if result < 0 else 0)
    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END"#;

const EPERM: i32 = 1;
const ENOSYS: i32 = 38;

fn calls(output: &str) -> BTreeMap<String, i32> {
    output
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, number)| (name.to_owned(), number.parse().unwrap()))
        .collect()
}

#[test]
fn dangerous_calls_do_not_get_to_the_kernel() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("system calls", "their numbers here are those of x86-64");
    }
    let place = Place::new();
    let applied = place.apply(&command(CALLS));
    applied.all(1, "ok");
    let inside = calls(applied.rows[0]["detail"].as_str().unwrap());
    assert!(inside.len() >= 44, "{inside:?}");
    for (name, errno) in &inside {
        assert!([EPERM, ENOSYS].contains(errno), "{name}: {errno}");
    }
    let plain = calls(&place.plain(CALLS).output.text);
    for name in [
        "setns",
        "ptrace",
        "clone3",
        "openat2",
        "pidfd_getfd",
        "chroot",
    ] {
        assert!(![EPERM, ENOSYS].contains(&plain[name]), "{plain:?}");
    }
    // The others only for root, whose run shows that the filter is what forbids them.
    let through = plain
        .values()
        .filter(|errno| ![EPERM, ENOSYS].contains(errno));
    let expected = if is_root() { 36 } else { 15 };
    assert!(through.count() >= expected, "{plain:?}");
}

#[test]
fn the_kernel_is_not_configured() {
    let place = Place::new();
    place.withstands(&[
        (ForRoot, "exec 3>> /proc/sys/kernel/core_pattern"),
        (ForRoot, "exec 3>> /proc/sys/kernel/hostname"),
        (ForRoot, "exec 3>> /proc/sys/kernel/printk"),
        (ForRoot, "exec 3>> /proc/sys/vm/overcommit_memory"),
        (
            ForRoot,
            "sysctl -w kernel.core_pattern=\"$(cat /proc/sys/kernel/core_pattern)\" | grep -q =",
        ),
        (Always, "exec 3>> /proc/self/oom_score_adj"),
        (Always, "exec 3>> /proc/self/coredump_filter"),
        (
            ForRoot,
            "for f in /sys/kernel/*; do test -w $f && exit 0; done; exit 1",
        ),
        (ForRoot, "exec 3< /dev/kmsg"),
    ]);
}

#[test]
fn namespaces_and_mounts_are_not_to_be_had() {
    let place = Place::new();
    place.withstands(&[
        (Always, "unshare -Ur true"),
        (Always, "unshare -Urm sh -c 'mount -t tmpfs x /tmp'"),
        (Always, "unshare -Urn true"),
        (ForRoot, "unshare -m mount -t tmpfs x /mnt"),
        (ForRoot, "unshare -m mount --bind /etc /mnt"),
        (ForRoot, "unshare -m sh -c 'mount -t proc x /mnt'"),
        (ForRoot, "chroot / true"),
        (ForRoot, "nsenter -t $$ -m true"),
        (Always, "unshare -Ur chroot / true"),
    ]);
    let applied = place.apply(&command(
        "umount -l /proc || umount -l . || mount -o remount,rw /usr",
    ));
    applied.all(1, "failed");
}

#[test]
fn privileges_are_gone_for_good() {
    let place = Place::new();
    // Which capabilities a program could be given is not for an ordinary user to limit, outside of
    // a namespace; without new privileges it is given none.
    let sets = match backend() {
        Backend::Landlock => "Cap(Inh|Prm|Eff|Amb)",
        Backend::Namespaces | Backend::Bubblewrap => "Cap",
    };
    let applied = place.apply(&command(&format!(
        "awk '/^({sets}|NoNewPrivs|Seccomp:)/ {{print $2}}' /proc/self/status | uniq | tr '\\n' ' '",
    )));
    assert_eq!(
        applied.rows[0]["detail"], "0000000000000000 1 2 ",
        "{}",
        applied.text
    );
    place.withstands(&[
        (Always, "cp /bin/true t && chmod u+s t"),
        (Always, "cp /bin/true t && chmod 2755 t"),
        (Always, "PYTHON 'import os; os.open(\"u%d\" % os.getpid(), os.O_CREAT | os.O_WRONLY, 0o4755)'"),
        (ForRoot, "PYTHON 'import os; os.setuid(0); os.setuid(1)'"),
        (ForRoot, "touch o && chown 1 o"),
        (ForRoot, "mknod device c 1 1 && rm device"),
        (ForRoot, "setcap cap_net_raw+ep t 2>/dev/null || PYTHON 'import os; os.setxattr(\"t\", \"trusted.x\", b\"x\")'"),
        (ForRoot, "grep -q . /etc/shadow"),
    ]);
}

#[test]
fn the_person_is_told_whether_commands_run_as_root() {
    let place = Place::new();
    let output = place.agent(&["doctor", "--json"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let is_said = |words: &str, health: &str| {
        let mut lines = told.lines();
        lines.any(|line| line.contains(words) && line.contains(health))
    };
    let runs_as_root = is_root() && (backend() != Backend::Namespaces || is_on_overlay());
    assert_eq!(
        is_said("commands run as root", "warning"),
        runs_as_root,
        "{told}"
    );
    assert_eq!(
        is_said("commands do not run as root", "ok"),
        !runs_as_root,
        "{told}"
    );
    let names = ["are limited", "outlives its command", "cannot be reached"];
    assert!(names.iter().all(|name| is_said(name, "ok")), "{told}");
    if is_root() {
        // The counterpart: what a command sees of itself.
        let script = "cut -c11-21 /proc/self/uid_map | tr -d ' \\n'";
        let applied = place.apply(&command(script));
        let is_seen = applied.rows[0]["detail"] == "0";
        assert_eq!(is_seen, runs_as_root, "{}", applied.text);
    }
}

#[test]
fn files_that_only_root_may_read_are_masked_whatever_their_name() {
    let Some(directory) = std::env::var_os("ATTACKED_SYSTEM") else {
        return skipped("a key of the system", "only root can put one there");
    };
    let directory = directory.to_str().unwrap();
    let place = Place::new();
    let attack = |script: &str| script.replace("SYSTEM", directory);
    place.withstands(&[
        (ForRoot, &attack("grep -q . SYSTEM/key")),
        (ForRoot, &attack("grep -rq . SYSTEM/closed")),
    ]);
    let applied = place.apply(&command(&attack("cat SYSTEM/open")));
    assert_eq!(applied.rows[0]["detail"], "open\n", "{}", applied.text);
}

#[test]
fn a_terminal_is_not_typed_into() {
    let place = Place::new();
    // Newer kernels let only root do it.
    let attack = "PYTHON 'import fcntl, os; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b\"x\")'";
    place.withstands(&[(ForRoot, attack)]);
    let applied = place.apply(&command(": > /dev/tty"));
    applied.all(1, "failed");
}

#[test]
fn devices_keep_their_mode_owner_and_times() {
    let place = Place::new();
    let devices = ["null", "zero", "full", "random", "urandom"];
    let mut attacks: Vec<(Plain, String)> = Vec::new();
    for device in devices {
        // As it is already, so that the counterpart changes nothing.
        attacks.push((
            ForRoot,
            format!("chmod $(stat -c %a /dev/{device}) /dev/{device}"),
        ));
        attacks.push((
            ForRoot,
            format!("chown $(stat -c %u /dev/{device}) /dev/{device}"),
        ));
        if is_root() || backend() != Backend::Bubblewrap {
            attacks.push((Always, format!("touch -c /dev/{device}")));
        }
    }
    let attacks: Vec<(Plain, &str)> = (attacks.iter())
        .map(|(plain, script)| (*plain, script.as_str()))
        .collect();
    place.withstands(&attacks);
    let used = "echo x > /dev/null && echo x >> /dev/zero && head -c 1 /dev/urandom | wc -c && ! echo x > /dev/full";
    place.apply(&command(used)).all(1, "ok");
}
