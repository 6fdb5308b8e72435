//! Passes descriptors between processes.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Sends a copy of the descriptor to the process at the other end.
pub fn hand_over(other: &UnixStream, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    if !message.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let content = [IoSlice::new(&[0])];
    sendmsg(other, &content, &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for a descriptor from the process at the other end.
pub fn take_over(other: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut content = [0];
    recvmsg(
        other,
        &mut [IoSliceMut::new(&mut content)],
        &mut message,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut handed = message.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    handed
        .next()
        .and_then(|mut descriptors| descriptors.next())
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
