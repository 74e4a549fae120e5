// SPDX-License-Identifier: Apache-2.0
//! Ports that are interfaces of this machine.
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use penstock_sys::{self as sys, Arrivals, VIRTUAL_HEADER_BYTES};

use crate::drive::{Got, Ports};
use crate::link::{Chosen, Link, Sockets};

struct Interface {
    name: String,
    wanted: Sockets,
    /// None: it is down or gone.
    link: Option<Link>,
    chosen: Chosen,
    /// Frames that found no room in links of before.
    overruns: u64,
    /// And in this one.
    own_overruns: u64,
}

/// All ports of a plane.
pub struct Interfaces {
    each: Vec<Interface>,
    arrivals: Arrivals,
    longest: usize,
}

impl Interfaces {
    /// For frames of so many bytes.
    pub fn open(wanted: &[(String, Sockets)], longest: usize) -> Result<Self, (String, io::Error)> {
        let open = |(name, wanted): &(String, Sockets)| {
            let link = Link::open(name, *wanted, longest).map_err(|error| (name.clone(), error))?;
            let chosen = link.chosen.clone();
            let (name, wanted) = (name.clone(), *wanted);
            Ok(Interface { name, wanted, link: Some(link), chosen, overruns: 0, own_overruns: 0 })
        };
        let each = wanted.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { each, arrivals: Arrivals::new(VIRTUAL_HEADER_BYTES + longest), longest })
    }

    /// What frames come by, of a port.
    pub fn readable(&self, port: usize) -> Vec<BorrowedFd<'_>> {
        self.each[port].link.as_ref().map_or_else(Vec::new, Link::readable)
    }

    /// How frames of a port come and go.
    pub fn chosen(&self, port: usize) -> &Chosen {
        &self.each[port].chosen
    }

    pub fn is_up(&self, port: usize) -> bool {
        sys::is_up(&self.each[port].name).unwrap_or(false)
    }

    /// Lets go of an interface that is down or gone.
    pub fn close(&mut self, port: usize) {
        self.overruns(port);
        let interface = &mut self.each[port];
        interface.link = None;
        interface.overruns += std::mem::take(&mut interface.own_overruns);
    }

    /// Opens an interface again that was down or gone; false: it still is.
    pub fn reopen(&mut self, port: usize) -> bool {
        if !self.is_up(port) {
            return false;
        }
        self.close(port);
        let interface = &mut self.each[port];
        let Ok(link) = Link::open(&interface.name, interface.wanted, self.longest) else { return false };
        interface.chosen = link.chosen.clone();
        interface.link = Some(link);
        true
    }

    /// Frames of a port that found no room in the kernel's buffer so far.
    pub fn overruns(&mut self, port: usize) -> u64 {
        let interface = &mut self.each[port];
        if let Some(link) = &interface.link {
            interface.own_overruns = link.overruns(interface.own_overruns);
        }
        interface.overruns + interface.own_overruns
    }
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ENODEV)
}

impl Ports for Interfaces {
    fn receive(&mut self, port: usize, take: &mut dyn FnMut(&Got)) -> io::Result<usize> {
        self.each[port].link.as_mut().ok_or_else(gone)?.receive(&mut self.arrivals, take)
    }

    fn send(&mut self, port: usize, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize> {
        self.each[port].link.as_mut().ok_or_else(gone)?.send(frames)
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
