// SPDX-License-Identifier: Apache-2.0
//! Many frames by one system call, from and to packet sockets; and waiting for them.
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::ancillary::{Control, Message};
use super::checked;
use super::socket::Socket;

/// Frames of one call.
pub const BATCH: usize = 32;

/// Room for a batch of received frames.
pub struct Arrivals {
    bytes: Vec<u8>,
    room: usize,
    control: Vec<Control>,
    found: Vec<Message>,
}

impl Arrivals {
    /// For frames of so many bytes each, with what stands ahead of them.
    pub fn new(room: usize) -> Self {
        let control = (0..BATCH).map(|_| Control::new()).collect();
        Self { bytes: vec![0; room * BATCH], room, control, found: Vec::with_capacity(BATCH) }
    }

    /// The frames of the last call: as much of each as there was room for, and what is known of it.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Message)> {
        self.bytes.chunks_exact(self.room).zip(&self.found).map(|(bytes, found)| {
            let length = found.length.min(bytes.len());
            (&bytes[..length], *found)
        })
    }
}

impl Socket {
    /// Reads what there is, [`BATCH`] frames at most; gives how many.
    pub fn receive_many(&self, arrivals: &mut Arrivals) -> io::Result<usize> {
        arrivals.found.clear();
        let Arrivals { bytes, room, control, found } = arrivals;
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: all zeros is a valid iovec and mmsghdr; all that they point to lives until it has been read below, and
        // each piece of `bytes` and `control` is given to one message.
        unsafe {
            let mut parts: [libc::iovec; BATCH] = mem::zeroed();
            let mut messages: [libc::mmsghdr; BATCH] = mem::zeroed();
            let places = bytes.chunks_exact_mut(*room).zip(control);
            for ((message, part), (place, control)) in messages.iter_mut().zip(&mut parts).zip(places) {
                *part = libc::iovec { iov_base: place.as_mut_ptr().cast(), iov_len: place.len() };
                message.msg_hdr.msg_iov = part;
                message.msg_hdr.msg_iovlen = 1;
                control.offer(&mut message.msg_hdr);
            }
            let descriptor = self.descriptor();
            let none = std::ptr::null_mut();
            match checked(libc::recvmmsg(descriptor, messages.as_mut_ptr(), BATCH as u32, flags as _, none)) {
                Ok(count) => {
                    let read = messages.iter().take(count as usize);
                    found.extend(read.map(|message| Message::read(&message.msg_hdr, message.msg_len as usize)));
                    Ok(found.len())
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
                Err(error) => Err(error),
            }
        }
    }

    /// Sends frames in their order, [`BATCH`] at most; gives how many, of which there is one at least unless the first failed.
    pub fn send_many<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        // SAFETY: all zeros is a valid iovec and mmsghdr; all that they point to lives as long as the call and is only read.
        unsafe {
            let mut parts: [libc::iovec; BATCH] = mem::zeroed();
            let mut messages: [libc::mmsghdr; BATCH] = mem::zeroed();
            let mut count = 0;
            for ((message, part), frame) in messages.iter_mut().zip(&mut parts).zip(frames) {
                *part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
                message.msg_hdr.msg_iov = part;
                message.msg_hdr.msg_iovlen = 1;
                count += 1;
            }
            let flags = libc::MSG_DONTWAIT;
            checked(libc::sendmmsg(self.descriptor(), messages.as_mut_ptr(), count, flags as _))
                .map(|sent| sent as usize)
        }
    }
}

/// Waits until there is something to read at one of these, for so long at most; an interruption ends it early.
pub fn wait(readable: &[BorrowedFd<'_>], most_ns: u64) -> io::Result<()> {
    let mut polled: Vec<libc::pollfd> = readable
        .iter()
        .map(|descriptor| libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let most = libc::timespec { tv_sec: (most_ns / 1_000_000_000) as _, tv_nsec: (most_ns % 1_000_000_000) as _ };
    // SAFETY: the array and the time live as long as the call, and the length is told; no mask of signals.
    let result = unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as _, &most, std::ptr::null()) };
    match checked(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}
