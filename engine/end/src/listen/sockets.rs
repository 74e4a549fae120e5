// SPDX-License-Identifier: Apache-2.0
//! The listener's sockets: one for all frames of the interface, or one for each UDP port.
use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;

use nix::poll::{poll, PollFd, PollFlags, PollTimeout};

use crate::clock;
use crate::frame::Carrier;
use crate::plan::{Mode, Plan, Receive};
use crate::station::{kernel, EndError, Interface};
use penstock_sys::{Message, Socket};

/// So many frames are taken before the end of listening is thought of again.
const AT_ONCE: usize = 1024;

/// A frame, or a datagram where `datagram` says to which port it came.
pub struct Arrived<'a> {
    pub bytes: &'a [u8],
    pub message: Message,
    pub user_tai_ns: u64,
    pub datagram: Option<Carrier>,
}

pub struct Sockets {
    packet: Option<Socket>,
    /// Where frames are taken by the packet socket, these only keep the kernel from answering that nobody listens.
    udp: Vec<(u16, Socket, Cell<u32>)>,
    read_udp: bool,
}

impl Sockets {
    pub fn open(plan: &Plan, interface: &Interface) -> Result<Sockets, EndError> {
        let read_udp = plan.listen.receive == Receive::Udp;
        let mut sockets = Sockets { packet: None, udp: Vec::new(), read_udp };
        if !read_udp {
            let socket = Socket::packet(interface.index, true).map_err(kernel("packet socket"))?;
            socket.enlarge_buffers();
            socket.stamp_received().map_err(kernel("SO_TIMESTAMPING"))?;
            for address in plan.streams.iter().filter_map(|stream| stream.destination_mac) {
                if address != interface.address {
                    socket.join(interface.index, address).map_err(kernel(format!("reception of {address}")))?;
                }
            }
            sockets.packet = Some(socket);
        }
        let udp = plan.streams.iter().filter(|stream| stream.mode == Mode::Udp);
        let ports: BTreeSet<u16> = udp.filter_map(|stream| stream.destination_port).collect();
        for port in ports {
            let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
            let socket = Socket::udp(&plan.interface, any).map_err(kernel(format!("UDP port {port}")))?;
            socket.enlarge_buffers();
            socket.stamp_received().map_err(kernel("SO_TIMESTAMPING"))?;
            sockets.udp.push((port, socket, Cell::new(0)));
        }
        Ok(sockets)
    }

    /// Returns when something came or the time is over; a signal ends it early.
    pub fn wait(&self, time_ns: u64) -> Result<(), EndError> {
        let packet = self.packet.iter();
        let all = packet.chain(self.udp.iter().filter(|_| self.read_udp).map(|(_, socket, _)| socket));
        let mut polled: Vec<PollFd<'_>> = all.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        let ms = u16::try_from(time_ns.div_ceil(1_000_000)).unwrap_or(u16::MAX);
        match poll(&mut polled, PollTimeout::from(ms)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(kernel("poll")(error.into())),
        }
    }

    /// Hands on what is there, but not for ever.
    pub fn drain(&self, buffer: &mut [u8], take: &mut dyn FnMut(Arrived<'_>)) -> Result<(), EndError> {
        if let Some(socket) = &self.packet {
            read(socket, buffer, &mut |bytes, message, user_tai_ns| {
                take(Arrived { bytes, message, user_tai_ns, datagram: None })
            })?;
        }
        for (port, socket, drops) in &self.udp {
            let carrier = Carrier::Udp { destination: Ipv4Addr::UNSPECIFIED, destination_port: *port };
            read(socket, buffer, &mut |bytes, message, user_tai_ns| {
                if !self.read_udp {
                    return;
                }
                drops.set(message.drops.unwrap_or(drops.get()));
                take(Arrived { bytes, message, user_tai_ns, datagram: Some(carrier) })
            })?;
        }
        Ok(())
    }

    /// Frames that found no room so far.
    pub fn drops(&self) -> u64 {
        let packet = self.packet.as_ref().and_then(|socket| socket.packet_drops().ok()).unwrap_or(0);
        u64::from(packet) + self.udp.iter().map(|(_, _, drops)| u64::from(drops.get())).sum::<u64>()
    }
}

fn read(socket: &Socket, buffer: &mut [u8], take: &mut dyn FnMut(&[u8], Message, u64)) -> Result<(), EndError> {
    for _ in 0..AT_ONCE {
        match socket.receive(buffer) {
            Ok(None) => return Ok(()),
            Ok(Some(message)) => {
                let now = clock::now_tai_ns();
                let length = message.length.min(buffer.len());
                take(&buffer[..length], message, now);
            }
            // The interface went down; it may come up again.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => return Ok(()),
            Err(error) => return Err(kernel("reception")(error)),
        }
    }
    Ok(())
}
