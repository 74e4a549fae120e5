// SPDX-License-Identifier: Apache-2.0
//! The socket of a stream and the frame that it sends again and again, with another header each time.
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use super::schedule::Slot;
use crate::frame::{link_header, Tag};
use crate::header::{Header, HEADER_BYTES};
use crate::plan::{Mode, Plan, Send, Stream};
use crate::station::{kernel, EndError, Interface};
use crate::sys::{ErrorMessage, Socket, TxTimeFlags};

pub struct Sender {
    socket: Socket,
    bytes: Vec<u8>,
    header_at: usize,
    stream: u16,
    run: u16,
    clock: u64,
}

impl Sender {
    pub fn open(plan: &Plan, stream: &Stream, interface: &Interface, run: u16, clock: u64) -> Result<Sender, EndError> {
        let what = |what: &str| kernel(format!("stream {}: {what}", stream.name));
        let (socket, mut bytes) = match stream.mode {
            Mode::Raw => {
                (Socket::packet(interface.index, false).map_err(what("packet socket"))?, link(stream, interface))
            }
            Mode::Udp => (udp(plan, stream).map_err(what("UDP socket"))?, Vec::new()),
        };
        let header_at = bytes.len();
        bytes.resize(header_at + stream.payload_bytes(), 0);
        socket.enlarge_buffers();
        let priority = stream.priority.unwrap_or(u32::from(stream.pcp));
        socket.set_priority(priority).map_err(what("SO_PRIORITY"))?;
        if plan.send == Send::LaunchTime {
            let flags =
                TxTimeFlags { deadline_mode: plan.launch.deadline_mode, report_errors: plan.launch.report_errors };
            socket.use_launch_times(flags).map_err(what("SO_TXTIME on CLOCK_TAI"))?;
        }
        socket.stamp_sent().map_err(what("SO_TIMESTAMPING"))?;
        Ok(Sender { socket, bytes, header_at, stream: stream.id, run, clock })
    }

    pub fn send(&mut self, slot: Slot, now_tai_ns: u64, flags: u8, launch_tai_ns: Option<u64>) -> io::Result<()> {
        let header = Header {
            flags,
            stream: self.stream,
            run: self.run,
            sequence: slot.sequence as u32,
            construction_tai_ns: now_tai_ns,
            due_tai_ns: slot.due_tai_ns,
            clock: self.clock,
        };
        self.bytes[self.header_at..self.header_at + HEADER_BYTES].copy_from_slice(&header.encode());
        self.socket.send(&self.bytes, launch_tai_ns)
    }

    pub fn error_message(&self) -> io::Result<Option<ErrorMessage>> {
        self.socket.error_message()
    }
}

fn link(stream: &Stream, interface: &Interface) -> Vec<u8> {
    let tag = stream.vlan.map(|vlan| Tag { vlan, pcp: stream.pcp });
    let destination = stream.destination_mac.unwrap_or_default();
    link_header(destination, stream.source_mac.unwrap_or(interface.address), tag, stream.ethertype())
}

fn udp(plan: &Plan, stream: &Stream) -> io::Result<Socket> {
    let local = SocketAddrV4::new(stream.source.unwrap_or(Ipv4Addr::UNSPECIFIED), stream.source_port);
    let socket = Socket::udp(&plan.interface, local)?;
    let to = stream.destination.unwrap_or(Ipv4Addr::UNSPECIFIED);
    socket.connect(SocketAddrV4::new(to, stream.destination_port.unwrap_or(0)))?;
    Ok(socket)
}
