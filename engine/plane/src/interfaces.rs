// SPDX-License-Identifier: Apache-2.0
//! Ports that are interfaces of this machine, by packet sockets.
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use penstock_frame::VLAN_ETHERTYPE;
use penstock_sys::{self as sys, Arrivals, Socket, VIRTUAL_HEADER_BYTES};

use crate::drive::{Got, Ports};
use crate::offload;

struct Interface {
    name: String,
    receives: Socket,
    sends: Socket,
}

impl Interface {
    fn open(name: &str) -> io::Result<Self> {
        let index = sys::index(name)?;
        let receives = Socket::packet(index, true)?;
        receives.tell_offloads()?;
        receives.join_all(index)?;
        receives.enlarge_buffers();
        let sends = Socket::packet(index, false)?;
        sends.bypass_qdisc()?;
        Ok(Self { name: name.to_owned(), receives, sends })
    }
}

/// All ports of a plane. Promiscuous mode ends with the sockets, however the program ends.
pub struct Interfaces {
    each: Vec<Interface>,
    arrivals: Arrivals,
    /// Frames that found no room in the sockets.
    overruns: Vec<u64>,
}

impl Interfaces {
    /// For frames of so many bytes.
    pub fn open(names: &[String], longest: usize) -> Result<Self, (String, io::Error)> {
        let open = |name: &String| Interface::open(name).map_err(|error| (name.clone(), error));
        let each = names.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { overruns: vec![0; each.len()], each, arrivals: Arrivals::new(VIRTUAL_HEADER_BYTES + longest) })
    }

    /// The sockets of a port that frames come by.
    pub fn readable(&self, port: usize) -> BorrowedFd<'_> {
        self.each[port].receives.as_fd()
    }

    /// Opens an interface again that was down or gone; false: it still is.
    pub fn reopen(&mut self, port: usize) -> bool {
        let name = &self.each[port].name;
        match sys::is_up(name).and_then(|is_up| if is_up { Interface::open(name).map(Some) } else { Ok(None) }) {
            Ok(Some(opened)) => {
                self.each[port] = opened;
                true
            }
            _ => false,
        }
    }

    /// Frames of a port that found no room in its socket so far.
    pub fn overruns(&mut self, port: usize) -> u64 {
        self.overruns[port] += self.each[port].receives.packet_drops().map_or(0, u64::from);
        self.overruns[port]
    }
}

impl Ports for Interfaces {
    fn receive(&mut self, port: usize, take: &mut dyn FnMut(&Got)) -> io::Result<usize> {
        let count = self.each[port].receives.receive_many(&mut self.arrivals)?;
        for (bytes, message) in self.arrivals.iter() {
            let Some((offload, frame)) = offload::split(bytes) else { continue };
            let tag = message.stripped_tci.map(|tci| (message.stripped_tpid.unwrap_or(VLAN_ETHERTYPE), tci));
            take(&Got { bytes: frame, is_cut: message.length > bytes.len(), tag, offload });
        }
        Ok(count)
    }

    fn send(&mut self, port: usize, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize> {
        self.each[port].sends.send_many(frames)
    }
}

/// The interfaces by which default routes lead, which are not a plane's to take.
pub fn of_default_route() -> Vec<String> {
    let mut found = Vec::new();
    for line in fs::read_to_string("/proc/net/route").unwrap_or_default().lines().skip(1) {
        let words: Vec<_> = line.split_whitespace().collect();
        if let [name, "00000000", .., "00000000", _, _, _] = words[..] {
            found.push(name.to_owned());
        }
    }
    for line in fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default().lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let ["00000000000000000000000000000000", "00", .., name] = words[..] {
            found.push(name.to_owned());
        }
    }
    found.retain(|name| name != "lo");
    found
}
