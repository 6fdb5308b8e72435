//! A network namespace for a process, created by another process in parallel.
//!
//! Of all namespaces, a network namespace takes the kernel longest to create.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;

use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::descriptors;

/// Enters a new network namespace with only the loopback device, and passes it to the other end.
pub fn part_for(other: &UnixStream) -> io::Result<()> {
    super::unshare(UnshareFlags::NEWNET)?;
    loopback_up()?;
    let network = File::open("/proc/self/ns/net")?;
    descriptors::hand_over(other, network.as_fd())
}

/// Waits for the network namespace from the other end, and enters it.
pub fn join(other: &UnixStream) -> io::Result<()> {
    let network = descriptors::take_over(other)?;
    Ok(move_into_link_name_space(
        network.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

/// Brings up the loopback device of this network namespace.
#[expect(unsafe_code, reason = "network devices are configured by ioctl")]
fn loopback_up() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all bytes zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        // It is signed on some processors.
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags =
        i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).map_err(io::Error::other)?;
    // SAFETY: the request is a valid `ifreq`, which is what this ioctl reads.
    super::check(i64::from(unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )
    }))
}
