//! The program under a tracer of our own, which sees the system calls of all its threads.
//!
//! `strace` counts the calls of each thread for itself, so that a call of a thread beside the main
//! one cannot be named. Here a call is named by what it does to which file, and by how often that
//! was done before, whichever thread does it. Threads are followed; processes that the program
//! starts are not: what a command does is not the program's doing.

#![expect(
    unsafe_code,
    reason = "there is no safe way to trace; each call is given memory that outlives it"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::ptr;

use libc::{c_int, c_long, pid_t};

use crate::injector::{Boundary, Effect, Fault};

/// Where a call names a file.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// By the descriptor in this argument.
    Open(usize),
    /// By the path in this argument.
    Path(usize),
    /// By the path in the second argument, beneath the directory in the first.
    At(usize, usize),
}

/// When a call counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// If the flags in this argument make or empty a file.
    Creates(usize),
    /// If those at the address in this argument do.
    CreatesBy(usize),
}

type Call = (c_long, &'static str, When, &'static [Place]);

/// Calls that write, rename, sync, remove, watch or start something, or speak to a server.
const CALLS: &[Call] = {
    use Place::{At, Open, Path};
    use When::{Always, Creates, CreatesBy};
    &[
        (libc::SYS_write, "write", Always, &[Open(0)]),
        (libc::SYS_pwrite64, "pwrite64", Always, &[Open(0)]),
        (libc::SYS_writev, "writev", Always, &[Open(0)]),
        (libc::SYS_pwritev, "pwritev", Always, &[Open(0)]),
        (libc::SYS_sendfile, "sendfile", Always, &[Open(0)]),
        (
            libc::SYS_copy_file_range,
            "copy_file_range",
            Always,
            &[Open(2)],
        ),
        (libc::SYS_ftruncate, "ftruncate", Always, &[Open(0)]),
        (libc::SYS_fallocate, "fallocate", Always, &[Open(0)]),
        (libc::SYS_fsync, "fsync", Always, &[Open(0)]),
        (libc::SYS_fdatasync, "fdatasync", Always, &[Open(0)]),
        (libc::SYS_syncfs, "syncfs", Always, &[Open(0)]),
        (libc::SYS_fchmod, "fchmod", Always, &[Open(0)]),
        (libc::SYS_chmod, "chmod", Always, &[Path(0)]),
        (libc::SYS_fchmodat, "fchmodat", Always, &[At(0, 1)]),
        (libc::SYS_open, "open", Creates(1), &[Path(0)]),
        (libc::SYS_creat, "creat", Always, &[Path(0)]),
        (libc::SYS_openat, "openat", Creates(2), &[At(0, 1)]),
        (libc::SYS_openat2, "openat2", CreatesBy(2), &[At(0, 1)]),
        (libc::SYS_truncate, "truncate", Always, &[Path(0)]),
        (libc::SYS_rename, "rename", Always, &[Path(0), Path(1)]),
        (
            libc::SYS_renameat,
            "renameat",
            Always,
            &[At(0, 1), At(2, 3)],
        ),
        (
            libc::SYS_renameat2,
            "renameat2",
            Always,
            &[At(0, 1), At(2, 3)],
        ),
        (libc::SYS_link, "link", Always, &[Path(0), Path(1)]),
        (libc::SYS_linkat, "linkat", Always, &[At(0, 1), At(2, 3)]),
        (libc::SYS_symlink, "symlink", Always, &[Path(1)]),
        (libc::SYS_symlinkat, "symlinkat", Always, &[At(1, 2)]),
        (libc::SYS_unlink, "unlink", Always, &[Path(0)]),
        (libc::SYS_unlinkat, "unlinkat", Always, &[At(0, 1)]),
        (libc::SYS_rmdir, "rmdir", Always, &[Path(0)]),
        (libc::SYS_mkdir, "mkdir", Always, &[Path(0)]),
        (libc::SYS_mkdirat, "mkdirat", Always, &[At(0, 1)]),
        (
            libc::SYS_inotify_add_watch,
            "inotify_add_watch",
            Always,
            &[Path(1)],
        ),
        (libc::SYS_inotify_init1, "inotify_init1", Always, &[]),
        (libc::SYS_connect, "connect", Always, &[]),
        (libc::SYS_sendto, "sendto", Always, &[]),
        (libc::SYS_recvfrom, "recvfrom", Always, &[]),
        (libc::SYS_clone, "clone", Always, &[]),
        (libc::SYS_clone3, "clone3", Always, &[]),
        (libc::SYS_fork, "fork", Always, &[]),
        (libc::SYS_vfork, "vfork", Always, &[]),
        (libc::SYS_execve, "execve", Always, &[Path(0)]),
        (libc::SYS_exit_group, "exit_group", Always, &[]),
    ]
};

/// Where x86-64 keeps the number of a call, and what it returns, in the registers of a thread.
const NUMBER: usize = 15 * 8;
const RETURNED: usize = 10 * 8;
/// Where it keeps the third argument: how many bytes are written.
const COUNT: usize = 12 * 8;

/// The result of a traced run.
pub struct Traced {
    pub status: ExitStatus,
    pub boundaries: Vec<Boundary>,
    pub is_met: bool,
}

/// Runs a program to its end, with a fault if there is one; `begun` hears the number of the process.
pub fn trace(
    mut command: Command,
    root: &Path,
    fault: Option<&Fault>,
    begun: impl FnOnce(pid_t),
) -> io::Result<Traced> {
    // SAFETY: `ptrace` is safe to call between fork and exec, and is given no memory.
    unsafe {
        command.pre_exec(|| request(libc::PTRACE_TRACEME, 0, 0, 0).map(drop));
    }
    let child = command.spawn()?;
    let process = pid_t::try_from(child.id()).expect("the system gave it");
    begun(process);
    let mut tracer = Tracer {
        process,
        memory: File::open(format!("/proc/{process}/mem"))?,
        root: root.to_owned(),
        fault: fault.cloned(),
        counts: BTreeMap::new(),
        boundaries: Vec::new(),
        known: BTreeSet::new(),
        failing: None,
        tearing: None,
        is_met: false,
    };
    let status = tracer.run()?;
    Ok(Traced {
        status,
        boundaries: tracer.boundaries,
        is_met: tracer.is_met,
    })
}

struct Tracer {
    process: pid_t,
    memory: File,
    root: PathBuf,
    fault: Option<Fault>,
    /// How often each call was met.
    counts: BTreeMap<String, usize>,
    boundaries: Vec<Boundary>,
    /// The threads that have stopped once, as they do when they begin.
    known: BTreeSet<pid_t>,
    /// The thread whose call is replaced by an error.
    failing: Option<(pid_t, c_int)>,
    /// The thread whose write is cut short, after which the program is killed.
    tearing: Option<pid_t>,
    is_met: bool,
}

impl Tracer {
    fn run(&mut self) -> io::Result<ExitStatus> {
        loop {
            let mut status = 0;
            // SAFETY: `status` outlives the call. Only what this thread traces is waited for: other
            // threads have programs of their own.
            let thread =
                unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
            if thread < 0 {
                return Err(io::Error::last_os_error());
            }
            if !libc::WIFSTOPPED(status) {
                if thread == self.process {
                    return Ok(ExitStatus::from_raw(status));
                }
                continue;
            }
            let signal = self.stopped(thread, status)?;
            let how = if self.is_met && self.failing.is_none() && self.tearing.is_none() {
                libc::PTRACE_CONT
            } else {
                libc::PTRACE_SYSCALL
            };
            // A thread that is being killed cannot be let go on; it is told as ended next.
            let _ = request(how, thread, 0, signal);
        }
    }

    /// A thread has stopped; tells the signal that it gets.
    fn stopped(&mut self, thread: pid_t, status: c_int) -> io::Result<usize> {
        let signal = libc::WSTOPSIG(status);
        let is_first = self.known.insert(thread);
        if signal == libc::SIGTRAP | 0x80 {
            self.at_call(thread)?;
            Ok(0)
        } else if is_first && thread == self.process {
            let options = libc::PTRACE_O_TRACESYSGOOD
                | libc::PTRACE_O_TRACECLONE
                | libc::PTRACE_O_TRACEEXEC
                | libc::PTRACE_O_EXITKILL;
            let options = usize::try_from(options).expect("flags are not negative");
            request(libc::PTRACE_SETOPTIONS, thread, 0, options)?;
            Ok(0)
        } else if is_first || status >> 16 != 0 {
            Ok(0)
        } else {
            Ok(usize::try_from(signal).expect("signals are not negative"))
        }
    }

    fn at_call(&mut self, thread: pid_t) -> io::Result<()> {
        // SAFETY: all zeros are a valid value of this plain structure.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        let size = size_of_val(&info);
        let place = (&raw mut info).expose_provenance();
        if request(libc::PTRACE_GET_SYSCALL_INFO, thread, size, place).is_err() {
            // It is being killed.
            return Ok(());
        }
        if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY {
            // SAFETY: at the entry of a call this is what was filled in.
            let entry = unsafe { info.u.entry };
            let number = c_long::try_from(entry.nr).unwrap_or(-1);
            let known = CALLS.iter().find(|(call, ..)| *call == number);
            if let Some(boundary) = known.and_then(|call| self.boundary(thread, call, &entry.args))
            {
                self.meet(thread, &boundary, entry.args[2])?;
                self.boundaries.push(boundary);
            }
        } else if self.tearing == Some(thread) {
            self.tearing = None;
            send(self.process, libc::SIGKILL);
        } else if let Some((failing, error)) = self.failing
            && failing == thread
        {
            self.failing = None;
            let returned = usize::MAX - usize::try_from(error).unwrap_or_default() + 1;
            request(libc::PTRACE_POKEUSER, thread, RETURNED, returned)?;
        }
        Ok(())
    }

    fn meet(&mut self, thread: pid_t, boundary: &Boundary, length: u64) -> io::Result<()> {
        let Some(fault) = self.fault.as_ref() else {
            return Ok(());
        };
        if self.is_met || fault.boundary != *boundary {
            return Ok(());
        }
        self.is_met = true;
        match fault.effect {
            Effect::Kill => send(self.process, libc::SIGKILL),
            Effect::Interrupt => send(self.process, libc::SIGINT),
            Effect::Error(_, error) => {
                self.failing = Some((thread, error));
                // There is no such call: nothing is done.
                request(libc::PTRACE_POKEUSER, thread, NUMBER, usize::MAX)?;
            }
            Effect::Torn(torn) => {
                self.tearing = Some(thread);
                let part = usize::try_from(torn.part_of(length)).expect("64 bits");
                request(libc::PTRACE_POKEUSER, thread, COUNT, part)?;
            }
        }
        Ok(())
    }

    /// The call, if it counts.
    fn boundary(&mut self, thread: pid_t, call: &Call, arguments: &[u64; 6]) -> Option<Boundary> {
        let (_, name, when, places) = call;
        let flags = match when {
            When::Always => None,
            When::Creates(at) => Some(arguments[*at]),
            When::CreatesBy(at) => Some(self.number_at(arguments[*at])),
        };
        let makes = u64::from((libc::O_CREAT | libc::O_TRUNC).unsigned_abs());
        if flags.is_some_and(|flags| flags & makes == 0) {
            return None;
        }
        let places: Vec<String> = places
            .iter()
            .map(|place| self.file(*place, arguments))
            .collect();
        let what = format!("{name} {}", places.join(" -> "));
        let number = self.counts.entry(what.clone()).or_default();
        *number += 1;
        Some(Boundary {
            number: *number,
            what,
            is_beside: thread != self.process,
        })
    }

    /// The file, without what differs between two runs.
    fn file(&self, place: Place, arguments: &[u64; 6]) -> String {
        let open = |at: usize| {
            let low = u32::try_from(arguments[at] & 0xffff_ffff).expect("32 bits");
            let descriptor = low.cast_signed();
            let link = if descriptor == libc::AT_FDCWD {
                format!("/proc/{}/cwd", self.process)
            } else {
                format!("/proc/{}/fd/{descriptor}", self.process)
            };
            fs::read_link(link).unwrap_or_default()
        };
        let file = match place {
            Place::Open(at) => open(at),
            Place::Path(at) => PathBuf::from(self.text_at(arguments[at])),
            Place::At(directory, at) => open(directory).join(self.text_at(arguments[at])),
        };
        let shown = match file.strip_prefix(&self.root) {
            Ok(inside) => format!("~/{}", inside.display()),
            Err(_) => file.display().to_string(),
        };
        normal(&shown)
    }

    fn text_at(&self, address: u64) -> String {
        let mut bytes = [0; 1024];
        let length = self.memory.read_at(&mut bytes, address).unwrap_or_default();
        let text = bytes[..length].split(|byte| *byte == 0).next();
        String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
    }

    fn number_at(&self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        let _ = self.memory.read_at(&mut bytes, address);
        u64::from_ne_bytes(bytes)
    }
}

/// A name without ids, times and what is random in temporary names.
fn normal(name: &str) -> String {
    let mut shown = String::new();
    for word in name.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let plain = word.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let is_id = plain.len() >= 8 && plain.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_temporary = [".agent-", ".agent-test-", "agent-rehearsal-"]
            .iter()
            .any(|start| shown.ends_with(start));
        let is_random = (is_temporary && plain.len() == 6)
            || (shown.ends_with('.') && plain.starts_with("tmp") && plain.len() == 9);
        if is_id || is_random {
            shown.push('#');
            shown.push_str(&word[plain.len()..]);
        } else {
            shown.push_str(word);
        }
    }
    shown
}

/// Sends a signal to a process; one that has ended does not get it.
pub fn send(process: pid_t, signal: c_int) {
    // SAFETY: no memory is given.
    unsafe {
        libc::kill(process, signal);
    }
}

fn request(what: libc::c_uint, thread: pid_t, address: usize, data: usize) -> io::Result<c_long> {
    let (address, data) = (
        ptr::with_exposed_provenance_mut::<libc::c_void>(address),
        ptr::with_exposed_provenance_mut::<libc::c_void>(data),
    );
    // SAFETY: what the callers give is a number, or memory that outlives the call.
    let answer = unsafe { libc::ptrace(what, thread, address, data) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer)
}
