//! System calls that wait until somebody else has decided about them.
//!
//! The process that made one stands still meanwhile. What its arguments point to can change under
//! the eyes of whoever looks, so a call must be carried out by the one who decides, on what they
//! have looked at, and never be let go on.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Where the calls arrive.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A call that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingCall {
    id: u64,
    /// The thread that made it.
    pub thread: u32,
    /// Its number.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

impl Listener {
    /// The listener behind a descriptor that a filter gave.
    pub fn new(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Waits for the next call; none when nobody is left to make one.
    #[expect(unsafe_code, reason = "calls are received by ioctl")]
    pub fn next(&self) -> Option<WaitingCall> {
        loop {
            // Without this, receiving would wait for ever once the last process has ended.
            let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) if ready[0].revents().contains(PollFlags::IN) => {}
                Err(Errno::INTR) => continue,
                Ok(_) | Err(_) => return None,
            }
            // SAFETY: all bytes zero is a valid notification, and the kernel wants it so.
            let mut received: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel fills the structure that this ioctl is about.
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
                // The process ended, or a signal came, before it was received.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether the call still waits: if so, what was opened of its thread before is its own.
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

    /// Has the call return without being carried out by the kernel: 0, or an error.
    #[expect(unsafe_code, reason = "calls are answered by ioctl")]
    pub fn answer(&self, call: &WaitingCall, result: Result<(), Errno>) {
        let answer = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: result.err().map_or(0, |errno| -errno.raw_os_error()),
            flags: 0,
        };
        // SAFETY: the kernel reads the structure that this ioctl is about. A call whose process
        // was killed meanwhile needs no answer.
        let _ = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw const answer,
            )
        };
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl WaitingCall {
    /// An argument that is a number of 32 bits with a sign, like a descriptor.
    pub fn signed(&self, argument: usize) -> i32 {
        self.low_half(argument).cast_signed()
    }

    /// An argument that is a number of 32 bits.
    pub fn low_half(&self, argument: usize) -> u32 {
        let [a, b, c, d, ..] = self.arguments[argument].to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// The memory of the process that made the call.
    pub fn memory(&self) -> io::Result<CallerMemory> {
        Ok(CallerMemory(File::open(format!(
            "/proc/{}/mem",
            self.thread
        ))?))
    }
}

/// The memory of a process, to be read.
#[derive(Debug)]
pub struct CallerMemory(File);

impl CallerMemory {
    /// Fills the buffer from an address.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        self.0
            .read_exact_at(buffer, address)
            .map_err(|_| Errno::FAULT)
    }

    /// The text at an address, up to its NUL.
    pub fn text(&self, address: u64) -> Result<Vec<u8>, Errno> {
        const MAX_BYTES: usize = libc::PATH_MAX.cast_unsigned() as usize;
        let mut text = vec![0; MAX_BYTES];
        let mut length = 0;
        while length < MAX_BYTES {
            let at = address.wrapping_add(length as u64);
            // As far as it is there: what follows the text may be no memory at all.
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
