// SPDX-License-Identifier: Apache-2.0
//! A socket of AF_XDP at one queue of an interface, with memory of its own that it shares with the kernel.
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use xdp::nic::NicIndex;
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, Umem, UmemCfgBuilder};
use xdp::{CompletionRing, FillRing, RingConfigBuilder, RxRing, TxRing};

use super::program::{tag_of, TOLD_BYTES};
use super::TakesFrame;
use crate::batch::BATCH;
use crate::checked;

/// Frames of a ring; the memory has so many to receive and so many to send.
const RING: u32 = 2048;
/// Of a call that sends: the kernel takes some of what it is given, or has no memory just now.
const MOST_TRIES: u32 = 16;

/// The longest frame that a socket takes, without FCS.
pub const MOST_XDP_BYTES: usize = 4096 - 256 - TOLD_BYTES;

pub(super) struct QueueSocket {
    receives: RxRing,
    sends: TxRing,
    fills: FillRing,
    completes: CompletionRing,
    socket: XdpSocket,
    batch: HeapSlab,
    /// Goes after the rings and the socket, which know it.
    memory: Umem,
}

fn io_error(error: SocketError) -> io::Error {
    match error {
        SocketError::SocketCreation(inner) | SocketError::Bind(inner) => inner,
        SocketError::SetSockOpt { inner, .. }
        | SocketError::GetSockOpt { inner, .. }
        | SocketError::RingMap { inner, .. } => inner,
    }
}

impl QueueSocket {
    /// For frames of so many bytes; without a copy only if the device's driver can do it.
    pub(super) fn open(interface: u32, queue: u32, longest: usize, without_copy: bool) -> io::Result<Self> {
        let short = longest <= MOST_XDP_BYTES - 2048;
        let memory = UmemCfgBuilder {
            frame_size: if short { FrameSize::TwoK } else { FrameSize::FourK },
            head_room: TOLD_BYTES as u32,
            frame_count: 2 * RING,
            ..UmemCfgBuilder::default()
        };
        let mut memory = Umem::map(memory.build().map_err(io::Error::other)?)?;
        let rings = RingConfigBuilder { rx_count: RING, tx_count: RING, fill_count: RING, completion_count: RING };
        let mut builder = XdpSocketBuilder::new().map_err(io_error)?;
        let (mut rings, mut flags) =
            builder.build_rings(&memory, rings.build().map_err(io::Error::other)?).map_err(io_error)?;
        if without_copy {
            flags.force_zerocopy();
        } else {
            flags.force_copy();
        }
        // SAFETY: the memory lives as long as the socket: they are dropped together.
        unsafe { rings.fill_ring.enqueue(&mut memory, RING as usize) };
        let socket = builder.bind(NicIndex::new(interface), queue, flags).map_err(io_error)?;
        let (Some(receives), Some(sends)) = (rings.rx_ring, rings.tx_ring) else {
            return Err(io::Error::other("a socket without rings"));
        };
        let (fills, completes) = (rings.fill_ring, rings.completion_ring);
        Ok(Self { receives, sends, fills, completes, socket, batch: HeapSlab::with_capacity(BATCH), memory })
    }

    /// Gives what there is, [`BATCH`] frames at most, with the tag that stands ahead of one if the program tells of tags.
    pub(super) fn receive(&mut self, told: bool, take: &mut TakesFrame) -> usize {
        // SAFETY: the frames go back to the memory below.
        let count = unsafe { self.receives.recv(&self.memory, &mut self.batch) };
        while let Some(mut frame) = self.batch.pop_back() {
            let length = frame.len();
            let head = if told { frame.adjust_head(-(TOLD_BYTES as i32)).map_or(0, |()| TOLD_BYTES) } else { 0 };
            let whole = frame.slice_at_offset(0, head + length).unwrap_or(&[]);
            let (ahead, bytes) = whole.split_at(head.min(whole.len()));
            take(bytes, ahead.try_into().ok().and_then(tag_of));
            self.memory.free_packet(frame);
        }
        // SAFETY: the memory lives as long as the socket.
        unsafe { self.fills.enqueue(&mut self.memory, count) };
        count
    }

    /// Sends frames in their order, [`BATCH`] at most; gives how many, of which there is one at least unless that failed.
    pub(super) fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        self.completes.dequeue(&mut self.memory, RING as usize);
        for frame in frames.take(BATCH) {
            // SAFETY: what is not sent goes back to the memory below.
            let Some(mut room) = (unsafe { self.memory.alloc() }) else { break };
            if room.append(frame).is_err() {
                self.memory.free_packet(room);
                break;
            }
            self.batch.push_front(room);
        }
        // SAFETY: the memory lives as long as the socket.
        let count = unsafe { self.sends.send(&mut self.batch) };
        while let Some(left) = self.batch.pop_back() {
            self.memory.free_packet(left);
        }
        if count == 0 {
            self.wake()?;
            return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
        }
        self.wake().map(|()| count)
    }

    /// Lets the kernel send what is in the ring.
    fn wake(&self) -> io::Result<()> {
        for _ in 0..MOST_TRIES {
            let (socket, none) = (self.socket.as_raw_fd(), std::ptr::null());
            // SAFETY: nothing is given but the descriptor.
            let sent = unsafe { libc::sendto(socket, none, 0, libc::MSG_DONTWAIT, none.cast(), 0) };
            let Err(error) = checked(sent as libc::c_int) else { return Ok(()) };
            match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => {}
                _ => return Err(error),
            }
        }
        // It is in the ring, and leaves with what comes next.
        Ok(())
    }

    /// Frames that found no room in the memory, or were longer than any.
    pub(super) fn overruns(&self) -> u64 {
        self.socket.statistics().map_or(0, |told| told.rx_dropped + told.rx_ring_full)
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the socket's, which lives as long as what is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}
