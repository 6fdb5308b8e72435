//! Linux system calls for the sandbox, each as a small function.
//!
//! Mechanism only: `sandbox` decides what is mounted where, which calls are refused, and in which
//! order. Everything here is meant for a fresh single-threaded process.

pub mod cgroups;
pub mod descriptors;
pub mod identity;
pub mod mounts;
pub mod network;
pub mod notify;
pub mod seccomp;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// The result of a fork.
#[derive(Debug)]
pub enum ForkResult {
    /// This is the new process.
    Child,
    /// This is the old process, with the ID of the new one.
    Parent(Pid),
}

/// Forks this process, which must be single-threaded.
#[expect(unsafe_code, reason = "a process without threads forks into its roles")]
pub fn fork() -> io::Result<ForkResult> {
    // SAFETY: with one thread, no lock can be held by a thread that is missing in the copy.
    let number = unsafe { libc::fork() };
    forked(number)
}

/// Starts a process that only holds a user namespace of its own until it is killed.
///
/// It shares our memory: copying memory that it never reads would take longer than everything else.
#[expect(unsafe_code, reason = "fork has no flags")]
pub(crate) fn hold_user_namespace() -> io::Result<Pid> {
    extern "C" fn hold(_: *mut libc::c_void) -> libc::c_int {
        loop {
            // SAFETY: without signal handlers it never returns, so it does not even touch `errno`
            // of the other process.
            unsafe { libc::pause() };
        }
    }
    const STACK_WORDS: usize = 1024;
    // Leaked to the process, which may use it until it is killed and reaped.
    let stack: &'static mut [u128] = Vec::leak(vec![0; STACK_WORDS]);
    let flags = libc::CLONE_NEWUSER | libc::CLONE_VM | libc::SIGCHLD;
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the stack is aligned, is never freed, and has no other user.
    let number = unsafe { libc::clone(hold, top.cast(), flags, std::ptr::null_mut()) };
    match forked(number)? {
        ForkResult::Parent(process) => Ok(process),
        ForkResult::Child => unreachable!("a clone with a stack of its own does not return"),
    }
}

fn forked(number: i32) -> io::Result<ForkResult> {
    match number {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(ForkResult::Child),
        number => Pid::from_raw(number)
            .map(ForkResult::Parent)
            .ok_or_else(|| io::ErrorKind::Other.into()),
    }
}

/// Exits at once, without running exit handlers.
#[expect(
    unsafe_code,
    reason = "a copy of a process must not run its parent's exit handlers"
)]
pub fn exit_at_once(code: i32) -> ! {
    // SAFETY: `_exit` does not return and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Ignores SIGTERM and similar requests to end.
pub fn ignore_termination() {
    set_disposition(libc::SIGTERM, libc::SIG_IGN);
}

/// Undoes [`ignore_termination`].
pub fn heed_termination() {
    set_disposition(libc::SIGTERM, libc::SIG_DFL);
}

#[expect(unsafe_code, reason = "signals are dispositions of the C library")]
fn set_disposition(signal: i32, disposition: libc::sighandler_t) {
    // SAFETY: only the two dispositions without a handler are ever passed.
    unsafe {
        libc::signal(signal, disposition);
    }
}

/// Becomes readable when a child of this process has ended.
#[derive(Debug)]
pub struct ChildSignals(OwnedFd);

impl ChildSignals {
    /// Blocks SIGCHLD, so that it is kept for the descriptor. Children that ended before are not
    /// reported.
    #[expect(unsafe_code, reason = "rustix has no descriptors for signals")]
    pub fn new() -> io::Result<Self> {
        // SAFETY: the set is local and initialised by `sigemptyset`; the new descriptor has no other
        // owner.
        unsafe {
            let mut signals = std::mem::zeroed();
            libc::sigemptyset(&raw mut signals);
            libc::sigaddset(&raw mut signals, libc::SIGCHLD);
            check(
                libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut()).into(),
            )?;
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let number = libc::signalfd(-1, &raw const signals, flags);
            check(number.into())?;
            Ok(Self(OwnedFd::from_raw_fd(number)))
        }
    }

    /// Makes it unreadable until the next child ends.
    pub fn clear(&self) {
        let mut signal = [0; size_of::<libc::signalfd_siginfo>()];
        let _ = rustix::io::read(&self.0, &mut signal);
    }
}

impl AsFd for ChildSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Closes all descriptors from this number on.
#[expect(
    unsafe_code,
    reason = "descriptors that were inherited have no owner here"
)]
pub fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: called first in a fresh process, which has opened none of its own.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) })
}

/// Moves this process into new namespaces.
#[expect(
    unsafe_code,
    reason = "rustix calls it unsafe because of `CLONE_FILES`"
)]
pub fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    debug_assert!(!namespaces.contains(UnshareFlags::FILES));
    // SAFETY: the descriptor table stays shared.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(io::Error::from)
}

/// Makes this process and its children the first candidates of the out-of-memory killer.
pub fn end_first_where_memory_is_short() {
    const FIRST: &[u8] = b"1000";
    // Kernels without this file choose in another way.
    let file = std::fs::File::options()
        .write(true)
        .open("/proc/self/oom_score_adj");
    let _ = file.and_then(|mut file| io::Write::write_all(&mut file, FIRST));
}

/// True if the other end of this pipe or socket is closed.
pub fn is_deserted(descriptor: BorrowedFd<'_>) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut ready = [PollFd::from_borrowed_fd(descriptor, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut ready, Some(&now)).is_ok()
        && ready[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP)
}

fn check(result: i64) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
