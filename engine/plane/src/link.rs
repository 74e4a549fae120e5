// SPDX-License-Identifier: Apache-2.0
//! How the frames of an interface come and go: by AF_XDP where it works, else by packet sockets.
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use penstock_frame::VLAN_ETHERTYPE;
use penstock_sys::{self as sys, Arrivals, Socket, XdpMode, XdpPort};
use serde::{Deserialize, Serialize};

use crate::drive::Got;
use crate::offload::{self, Offload};

/// What a port is told to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sockets {
    /// The first of these that works and loses nothing.
    #[default]
    Auto,
    ZeroCopy,
    Native,
    Generic,
    /// AF_PACKET.
    Packet,
}

impl Sockets {
    pub const ALLOWED: &'static str = "auto, zero_copy, native, generic or packet";

    fn mode(self) -> Option<XdpMode> {
        match self {
            Self::ZeroCopy => Some(XdpMode::ZeroCopy),
            Self::Native => Some(XdpMode::Native),
            Self::Generic => Some(XdpMode::Generic),
            Self::Auto | Self::Packet => None,
        }
    }
}

impl std::str::FromStr for Sockets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Auto, Self::ZeroCopy, Self::Native, Self::Generic, Self::Packet];
        let found = known.into_iter().find(|sockets| sockets.to_string() == text);
        found.ok_or_else(|| format!("\"{text}\"; allowed: {}", Self::ALLOWED))
    }
}

impl fmt::Display for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::ZeroCopy => "zero_copy",
            Self::Native => "native",
            Self::Generic => "generic",
            Self::Packet => "packet",
        })
    }
}

/// What a port uses, and why nothing faster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Chosen {
    pub sockets: Sockets,
    pub why: Option<String>,
}

enum Way {
    Packet { receives: Socket, sends: Socket },
    Xdp { port: Box<XdpPort>, _promiscuous: Socket, has_open_checksums: bool },
}

/// Promiscuous mode and programs end with it, however the plane ends.
pub struct Link {
    way: Way,
    pub chosen: Chosen,
}

impl Link {
    /// Of an interface, for frames of so many bytes with FCS.
    pub fn open(name: &str, wanted: Sockets, longest: usize) -> io::Result<Self> {
        let interface = sys::index(name)?;
        if wanted == Sockets::Packet {
            return Self::by_packets(interface, None);
        }
        if let Some(mode) = wanted.mode() {
            return Self::by_xdp(name, mode, wanted, longest);
        }
        let mut why = String::new();
        for sockets in [Sockets::ZeroCopy, Sockets::Native, Sockets::Generic] {
            let Some(mode) = sockets.mode() else { continue };
            match Self::by_xdp(name, mode, sockets, longest) {
                Ok(Self { way: Way::Xdp { port, .. }, .. }) if port.loses_tags => {
                    add(&mut why, sockets, "would lose VLAN tags (`ethtool -K IF rxvlan off`)");
                }
                Ok(mut link) => {
                    link.chosen.why = (!why.is_empty()).then_some(why);
                    return Ok(link);
                }
                Err(error) => add(&mut why, sockets, &error.to_string()),
            }
        }
        Self::by_packets(interface, Some(why))
    }

    fn by_packets(interface: i32, why: Option<String>) -> io::Result<Self> {
        let receives = Socket::packet(interface, true)?;
        receives.tell_offloads()?;
        receives.join_all(interface)?;
        receives.enlarge_buffers();
        let sends = Socket::packet(interface, false)?;
        sends.bypass_qdisc()?;
        Ok(Self { way: Way::Packet { receives, sends }, chosen: Chosen { sockets: Sockets::Packet, why } })
    }

    fn by_xdp(name: &str, mode: XdpMode, sockets: Sockets, longest: usize) -> io::Result<Self> {
        let port = Box::new(XdpPort::open(name, mode, longest)?);
        let promiscuous = Socket::packet(sys::index(name)?, false)?;
        promiscuous.join_all(sys::index(name)?)?;
        let has_open_checksums = sys::driver(name).is_ok_and(|driver| driver == "veth");
        let way = Way::Xdp { port, _promiscuous: promiscuous, has_open_checksums };
        Ok(Self { way, chosen: Chosen { sockets, why: None } })
    }

    /// Gives some of the frames that have come.
    pub fn receive(&mut self, arrivals: &mut Arrivals, take: &mut dyn FnMut(&Got)) -> io::Result<usize> {
        match &mut self.way {
            Way::Packet { receives, .. } => {
                let count = receives.receive_many(arrivals)?;
                for (bytes, message) in arrivals.iter() {
                    let Some((offload, frame)) = offload::split(bytes) else { continue };
                    let tag = message.stripped_tci.map(|tci| (message.stripped_tpid.unwrap_or(VLAN_ETHERTYPE), tci));
                    take(&Got { bytes: frame, is_cut: message.length > bytes.len(), tag, offload });
                }
                Ok(count)
            }
            Way::Xdp { port, has_open_checksums, .. } => Ok(port.receive(&mut |bytes, tag| {
                let checksum = if *has_open_checksums { offload::left_open(bytes) } else { None };
                take(&Got { bytes, is_cut: false, tag, offload: Offload { checksum, is_foreign: false } });
            })),
        }
    }

    pub fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize> {
        match &mut self.way {
            Way::Packet { sends, .. } => sends.send_many(frames),
            Way::Xdp { port, .. } => port.send(frames),
        }
    }

    /// What frames come by.
    pub fn readable(&self) -> Vec<BorrowedFd<'_>> {
        match &self.way {
            Way::Packet { receives, .. } => vec![receives.as_fd()],
            Way::Xdp { port, .. } => port.readable().collect(),
        }
    }

    /// Frames that found no room in the kernel's buffer, since it was asked before.
    pub fn overruns(&self, before: u64) -> u64 {
        match &self.way {
            Way::Packet { receives, .. } => before + receives.packet_drops().map_or(0, u64::from),
            Way::Xdp { port, .. } => port.overruns(),
        }
    }
}

fn add(why: &mut String, sockets: Sockets, what: &str) {
    let between = if why.is_empty() { "" } else { "; " };
    *why += &format!("{between}{sockets}: {what}");
}
