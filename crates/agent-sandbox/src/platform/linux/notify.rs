//! System calls that wait for a decision by another process.
//!
//! The calling process is suspended meanwhile. The memory that its arguments point to can change at
//! any time. So the deciding process must carry out the call itself, on the copy that it has
//! checked, and must never let the original call continue.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Receives the waiting calls.
#[derive(Debug)]
pub struct SyscallListener(OwnedFd);

/// A call that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingCall {
    id: u64,
    /// ID of the calling thread.
    pub thread: u32,
    /// Number of the system call.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

impl SyscallListener {
    /// Wraps the descriptor that a filter returned.
    pub fn new(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Waits for the next call; `None` when no process is left to make one.
    #[expect(unsafe_code, reason = "calls are received by ioctl")]
    pub fn next(&self) -> Option<WaitingCall> {
        loop {
            // Without this, receiving would block forever once the last process has ended.
            let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) if ready[0].revents().contains(PollFlags::IN) => {}
                Err(Errno::INTR) => continue,
                Ok(_) | Err(_) => return None,
            }
            // SAFETY: all bytes zero is a valid notification, and the kernel requires it.
            let mut received: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel fills in the structure of this ioctl.
            let result = unsafe {
                libc::ioctl(
                    self.0.as_raw_fd(),
                    libc::SECCOMP_IOCTL_NOTIF_RECV,
                    &raw mut received,
                )
            };
            match super::check(i64::from(result)) {
                Ok(()) => {
                    return Some(WaitingCall {
                        id: received.id,
                        thread: received.pid,
                        number: i64::from(received.data.nr),
                        arguments: received.data.args,
                    });
                }
                // The process ended, or a signal came, before the call was received.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
                Err(_) => return None,
            }
        }
    }

    /// True if the call still waits. Then anything opened through its thread ID before belongs to
    /// it.
    #[expect(unsafe_code, reason = "calls are asked about by ioctl")]
    pub fn is_waiting(&self, call: &WaitingCall) -> bool {
        // SAFETY: the kernel reads the number that is pointed to.
        let result = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
                &raw const call.id,
            )
        };
        result == 0
    }

    /// Makes the call return 0 or an error, without the kernel carrying it out.
    #[expect(unsafe_code, reason = "calls are answered by ioctl")]
    pub fn answer(&self, call: &WaitingCall, result: Result<(), Errno>) {
        let answer = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: result.err().map_or(0, |errno| -errno.raw_os_error()),
            flags: 0,
        };
        // SAFETY: the kernel reads the structure of this ioctl. A call whose process was killed
        // meanwhile needs no answer.
        let _ = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw const answer,
            )
        };
    }
}

impl AsFd for SyscallListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl WaitingCall {
    /// A signed 32-bit argument, such as a descriptor.
    pub fn signed(&self, argument: usize) -> i32 {
        self.low_half(argument).cast_signed()
    }

    /// An unsigned 32-bit argument.
    pub fn low_half(&self, argument: usize) -> u32 {
        let [a, b, c, d, ..] = self.arguments[argument].to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Opens the memory of the calling process.
    pub fn memory(&self) -> io::Result<CallerMemory> {
        Ok(CallerMemory(File::open(format!(
            "/proc/{}/mem",
            self.thread
        ))?))
    }
}

/// Readable memory of a process.
#[derive(Debug)]
pub struct CallerMemory(File);

impl CallerMemory {
    /// Reads from an address into the buffer.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        self.0
            .read_exact_at(buffer, address)
            .map_err(|_| Errno::FAULT)
    }

    /// Reads a NUL-terminated string at an address.
    pub fn text(&self, address: u64) -> Result<Vec<u8>, Errno> {
        const MAX_BYTES: usize = libc::PATH_MAX.cast_unsigned() as usize;
        let mut text = vec![0; MAX_BYTES];
        let mut length = 0;
        while length < MAX_BYTES {
            let at = address.wrapping_add(length as u64);
            // Short reads are fine: the memory after the string may be unmapped.
            let read = self.0.read_at(&mut text[length..], at).unwrap_or(0);
            if read == 0 {
                return Err(Errno::FAULT);
            }
            let new = &text[length..length + read];
            if let Some(end) = new.iter().position(|byte| *byte == 0) {
                text.truncate(length + end);
                return Ok(text);
            }
            length += read;
        }
        Err(Errno::NAMETOOLONG)
    }
}
