// SPDX-License-Identifier: Apache-2.0
//! Frames by AF_XDP: past most of the kernel, by a program that leads them from the interface to a socket.
mod bpf;
mod btf;
mod program;
mod socket;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use serde::{Deserialize, Serialize};
use xdp::nic::NicIndex;

use crate::interface::{driver, index, takes_tags_off};
use program::LICENSE;
use socket::QueueSocket;

pub use socket::MOST_XDP_BYTES;

/// More queues cost more memory than they are worth.
const MOST_QUEUES: u32 = 16;

/// Where the program runs, and whether frames are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XdpMode {
    /// In the driver, which writes into the socket's memory.
    ZeroCopy,
    /// In the driver; the kernel copies.
    Native,
    /// Ahead of the network stack, with any driver; the kernel copies.
    Generic,
}

impl XdpMode {
    /// XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE.
    fn attach_flags(self) -> u32 {
        if self == Self::Generic {
            1 << 1
        } else {
            1 << 2
        }
    }
}

/// Gets a frame, and EtherType and control information of a tag that stands apart from it.
pub type TakesFrame<'a> = dyn FnMut(&[u8], Option<(u16, u16)>) + 'a;

/// An interface whose frames all come to sockets. The program goes with it, however its owner ends.
pub struct XdpPort {
    /// One for each queue.
    sockets: Vec<QueueSocket>,
    has_tags_told: bool,
    /// Tags that stand in no frame are lost.
    pub loses_tags: bool,
    _program: OwnedFd,
}

impl XdpPort {
    /// For frames of so many bytes.
    pub fn open(name: &str, mode: XdpMode, longest: usize) -> io::Result<Self> {
        if longest > MOST_XDP_BYTES {
            return Err(io::Error::other(format!("frames of {longest} B; AF_XDP takes {MOST_XDP_BYTES} B")));
        }
        let interface = index(name)? as u32;
        let queues = NicIndex::new(interface).queue_counts().map_or(1, |told| told.rx_count().max(1));
        if queues > MOST_QUEUES {
            return Err(io::Error::other(format!(
                "{queues} queues; {MOST_QUEUES} are taken, as `ethtool -L` sets them"
            )));
        }
        let map = bpf::map_of_sockets(queues)?;
        let without_copy = mode == XdpMode::ZeroCopy;
        let open = |queue| QueueSocket::open(interface, queue, longest, without_copy);
        let sockets = (0..queues).map(open).collect::<io::Result<Vec<_>>>()?;
        for (queue, socket) in (0..).zip(&sockets) {
            bpf::put_socket(&map, queue, socket.descriptor())?;
        }
        let flags = mode.attach_flags();
        let telling = || {
            let program = bpf::load(&program::telling(&map)?, LICENSE, Some(interface)).ok()?;
            bpf::attach(&program, interface, flags).ok()
        };
        if let Some(link) = telling() {
            return Ok(Self { sockets, has_tags_told: true, loses_tags: false, _program: link });
        }
        let link = bpf::attach(&bpf::load(&program::plain(&map), LICENSE, None)?, interface, flags)?;
        // A veth keeps the tag apart that its peer's host has not written into the frame.
        let loses_tags = takes_tags_off(name).unwrap_or(true) || driver(name).is_ok_and(|driver| driver == "veth");
        Ok(Self { sockets, has_tags_told: false, loses_tags, _program: link })
    }

    /// Gives some of the frames that have come.
    pub fn receive(&mut self, take: &mut TakesFrame) -> usize {
        self.sockets.iter_mut().map(|socket| socket.receive(self.has_tags_told, take)).sum()
    }

    /// Sends frames in their order, [`crate::BATCH`] at most; gives how many, one at least unless that failed.
    pub fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        match self.sockets.first_mut() {
            Some(socket) => socket.send(frames),
            None => Err(io::Error::from_raw_os_error(libc::ENODEV)),
        }
    }

    /// Frames that found no room so far, or were longer than any.
    pub fn overruns(&self) -> u64 {
        self.sockets.iter().map(QueueSocket::overruns).sum()
    }

    /// What frames come by.
    pub fn readable(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(QueueSocket::descriptor)
    }
}
