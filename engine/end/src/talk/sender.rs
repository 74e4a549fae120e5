// SPDX-License-Identifier: Apache-2.0
//! The socket of a stream and the frame that it sends again and again, with another header each time.
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use penstock_frame::{append_link_header, Tag};

use super::content::Content;
use super::schedule::Slot;
use crate::header::{Header, HEADER_BYTES};
use crate::plan::{Mode, Plan, Send, Stream};
use crate::rtp;
use crate::station::{kernel, EndError, Interface};
use penstock_sys::{ErrorMessage, Socket, TxTimeFlags};

pub struct Sender {
    socket: Socket,
    bytes: Vec<u8>,
    /// Where the payload begins.
    payload_at: usize,
    /// What others put around it: FCS, and headers of IP.
    around: usize,
    content: Content,
    stream: u16,
    run: u16,
    clock: u64,
}

impl Sender {
    pub fn open(plan: &Plan, stream: &Stream, interface: &Interface, run: u16, clock: u64) -> Result<Sender, EndError> {
        let what = |what: &str| kernel(format!("stream {}: {what}", stream.name));
        let content = Content::of(plan, stream)?;
        let (socket, mut bytes) = match stream.mode {
            Mode::Raw => {
                (Socket::packet(interface.index, false).map_err(what("packet socket"))?, link(stream, interface))
            }
            Mode::Udp => (udp(plan, stream).map_err(what("UDP socket"))?, Vec::new()),
        };
        let payload_at = bytes.len();
        let around = stream.overhead_bytes() - payload_at;
        bytes.resize(stream.bytes as usize - around, 0);
        socket.enlarge_buffers();
        let priority = stream.priority.unwrap_or(u32::from(stream.pcp));
        socket.set_priority(priority).map_err(what("SO_PRIORITY"))?;
        if stream.send(plan) == Send::LaunchTime {
            let flags =
                TxTimeFlags { deadline_mode: plan.launch.deadline_mode, report_errors: plan.launch.report_errors };
            socket.use_launch_times(flags).map_err(what("SO_TXTIME on CLOCK_TAI"))?;
        }
        socket.stamp_sent().map_err(what("SO_TIMESTAMPING"))?;
        Ok(Sender { socket, bytes, payload_at, around, content, stream: stream.id, run, clock })
    }

    /// Sends the frame of a slot with a length from destination address to FCS.
    pub fn send(
        &mut self,
        slot: Slot,
        frame_bytes: u32,
        now_tai_ns: u64,
        flags: u8,
        launch_tai_ns: Option<u64>,
    ) -> io::Result<()> {
        let header = Header {
            flags,
            stream: self.stream,
            run: self.run,
            sequence: slot.sequence as u32,
            construction_tai_ns: now_tai_ns,
            due_tai_ns: slot.due_tai_ns,
            clock: self.clock,
        };
        let payload = &mut self.bytes[self.payload_at..];
        match &mut self.content {
            Content::Zeros => payload[..HEADER_BYTES].copy_from_slice(&header.encode()),
            Content::Sound(sound, samples) => {
                rtp::write_around(payload, &header, *samples);
                sound.fill(&mut payload[rtp::AROUND_BYTES..]);
            }
            Content::Captured(frames) => {
                let frame = &frames[slot.sequence as usize % frames.len()];
                return self.socket.send(frame, launch_tai_ns);
            }
        }
        self.socket.send(&self.bytes[..frame_bytes as usize - self.around], launch_tai_ns)
    }

    pub fn error_message(&self) -> io::Result<Option<ErrorMessage>> {
        self.socket.error_message()
    }
}

fn link(stream: &Stream, interface: &Interface) -> Vec<u8> {
    let tag = stream.vlan.map(|vlan| Tag { vlan, pcp: stream.pcp });
    let destination = stream.destination_mac.unwrap_or_default();
    let mut bytes = Vec::new();
    append_link_header(
        &mut bytes,
        destination,
        stream.source_mac.unwrap_or(interface.address),
        tag,
        stream.ethertype(),
    );
    bytes
}

fn udp(plan: &Plan, stream: &Stream) -> io::Result<Socket> {
    let local = SocketAddrV4::new(stream.source.unwrap_or(Ipv4Addr::UNSPECIFIED), stream.source_port);
    let socket = Socket::udp(&plan.interface, local)?;
    let to = stream.destination.unwrap_or(Ipv4Addr::UNSPECIFIED);
    socket.connect(SocketAddrV4::new(to, stream.destination_port.unwrap_or(0)))?;
    Ok(socket)
}
