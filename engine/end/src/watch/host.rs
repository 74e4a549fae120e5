// SPDX-License-Identifier: Apache-2.0
//! Links, rules, neighbours and routes of IPv4 as the kernel has them. The numbers are of `<linux/rtnetlink.h>` and of
//! the headers beside it.
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::io;
use std::net::Ipv4Addr;

use penstock_frame::MacAddress;
use penstock_sys::netlink::{Attribute, Attributes, Body, Connection, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};

/// RTMGRP_LINK.
pub const LINKS: u32 = 1;
/// Who made a rule, a route or a neighbour, as `penstock torus apply` says it.
const OURS: u8 = 80;

const LINK: u16 = 16; // RTM_NEW*; one more deletes, two more lists
const ROUTE: u16 = 24;
const NEIGHBOUR: u16 = 28;
const RULE: u16 = 32;
const LIST: u16 = 2;
const DELETE: u16 = 1;

const INET: u8 = 2; // AF_INET
const LINK_BYTES: usize = 16; // struct ifinfomsg
const OTHER_BYTES: usize = 12; // struct rtmsg, ndmsg, fib_rule_hdr
const UP: u32 = 1; // IFF_UP
const LINK_NAME: u16 = 3; // IFLA_IFNAME
const RULE_PROTOCOL: u16 = 21; // FRA_PROTOCOL
const NEIGHBOUR_ADDRESS: u16 = 1; // NDA_*
const NEIGHBOUR_MAC: u16 = 2;
const NEIGHBOUR_PROTOCOL: u16 = 12;
const PERMANENT: u16 = 0x80; // NUD_PERMANENT
const DESTINATION: u16 = 1; // RTA_*
const INTERFACE: u16 = 4;
const GATEWAY: u16 = 5;
const PRIORITY: u16 = 6;
const SOURCE: u16 = 7;
const TABLE: u16 = 15;
const UNICAST: u8 = 1; // RTN_UNICAST
const ON_LINK: u32 = 4; // RTNH_F_ONLINK
const ADDRESS_BITS: u8 = 32;

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub index: u32,
    pub is_up: bool,
}

/// A neighbour that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Neighbour {
    pub index: u32,
    pub address: Ipv4Addr,
    pub mac: MacAddress,
}

/// A route to one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    pub table: u32,
    pub destination: Ipv4Addr,
    pub metric: u32,
    pub index: u32,
    pub gateway: Ipv4Addr,
    pub source: Ipv4Addr,
}

/// All interfaces by name.
pub fn links(kernel: &mut Connection) -> io::Result<HashMap<String, Link>> {
    let listed = kernel.dump(LINK + LIST, &Body(vec![0; LINK_BYTES]))?;
    Ok(listed.iter().filter_map(|message| link(message)).collect())
}

/// Whether the host is a node: it has a rule of ours.
pub fn is_node(kernel: &mut Connection) -> io::Result<bool> {
    let listed = kernel.dump(RULE + LIST, &of_inet())?;
    Ok(listed.iter().any(|message| attributes(message, OTHER_BYTES).get(RULE_PROTOCOL) == Some(&[OURS])))
}

/// Our neighbours.
pub fn neighbours(kernel: &mut Connection) -> io::Result<HashSet<Neighbour>> {
    Ok(kernel.dump(NEIGHBOUR + LIST, &of_inet())?.iter().filter_map(|message| neighbour(message)).collect())
}

/// Our routes, whether their links have a carrier or not.
pub fn routes(kernel: &mut Connection) -> io::Result<HashSet<Route>> {
    Ok(kernel.dump(ROUTE + LIST, &of_inet())?.iter().filter_map(|message| route(message)).collect())
}

/// What can be put and taken away.
pub trait Entry: Debug {
    /// Makes it.
    fn put(&self, kernel: &mut Connection) -> io::Result<()>;
    /// Deletes it.
    fn take(&self, kernel: &mut Connection) -> io::Result<()>;
}

impl Entry for Neighbour {
    fn put(&self, kernel: &mut Connection) -> io::Result<()> {
        kernel.request(NEIGHBOUR, NLM_F_CREATE | NLM_F_REPLACE, &self.body())
    }

    fn take(&self, kernel: &mut Connection) -> io::Result<()> {
        kernel.request(NEIGHBOUR + DELETE, 0, &self.body())
    }
}

impl Neighbour {
    fn body(&self) -> Body {
        let mut header = vec![INET, 0, 0, 0];
        header.extend(self.index.to_ne_bytes());
        header.extend(PERMANENT.to_ne_bytes());
        header.resize(OTHER_BYTES, 0);
        Body(header).with(&[
            Attribute::new(NEIGHBOUR_ADDRESS, self.address.octets().to_vec()),
            Attribute::new(NEIGHBOUR_MAC, self.mac.0.to_vec()),
            Attribute::new(NEIGHBOUR_PROTOCOL, vec![OURS]),
        ])
    }
}

impl Entry for Route {
    fn put(&self, kernel: &mut Connection) -> io::Result<()> {
        kernel.request(ROUTE, NLM_F_CREATE | NLM_F_EXCL, &self.body())
    }

    fn take(&self, kernel: &mut Connection) -> io::Result<()> {
        kernel.request(ROUTE + DELETE, 0, &self.body())
    }
}

impl Route {
    fn body(&self) -> Body {
        let mut header = vec![INET, ADDRESS_BITS, 0, 0, 0, OURS, 0, UNICAST];
        header.extend(ON_LINK.to_ne_bytes());
        let number = |kind, value: u32| Attribute::new(kind, value.to_ne_bytes().to_vec());
        let address = |kind, value: Ipv4Addr| Attribute::new(kind, value.octets().to_vec());
        Body(header).with(&[
            number(TABLE, self.table),
            address(DESTINATION, self.destination),
            number(PRIORITY, self.metric),
            number(INTERFACE, self.index),
            address(GATEWAY, self.gateway),
            address(SOURCE, self.source),
        ])
    }
}

fn of_inet() -> Body {
    let mut header = vec![0; OTHER_BYTES];
    header[0] = INET;
    Body(header)
}

fn link(message: &[u8]) -> Option<(String, Link)> {
    let name = attributes(message, LINK_BYTES).text(LINK_NAME)?;
    Some((name, Link { index: word(message, 4)?, is_up: word(message, 8)? & UP != 0 }))
}

fn neighbour(message: &[u8]) -> Option<Neighbour> {
    let told = attributes(message, OTHER_BYTES);
    let mac = MacAddress(told.get(NEIGHBOUR_MAC)?.try_into().ok()?);
    let is_ours = told.get(NEIGHBOUR_PROTOCOL) == Some(&[OURS]);
    let is_lasting = message.get(8..10) == Some(&PERMANENT.to_ne_bytes());
    let found = Neighbour { index: word(message, 4)?, address: address(told.get(NEIGHBOUR_ADDRESS))?, mac };
    (is_ours && is_lasting).then_some(found)
}

fn route(message: &[u8]) -> Option<Route> {
    let told = attributes(message, OTHER_BYTES);
    let is_ours = message.get(1) == Some(&ADDRESS_BITS) && message.get(5) == Some(&OURS);
    let found = Route {
        table: told.number(TABLE)?,
        destination: address(told.get(DESTINATION))?,
        metric: told.number(PRIORITY)?,
        index: told.number(INTERFACE)?,
        gateway: address(told.get(GATEWAY))?,
        source: address(told.get(SOURCE))?,
    };
    is_ours.then_some(found)
}

fn attributes(message: &[u8], header_bytes: usize) -> Attributes<'_> {
    Attributes(message.get(header_bytes..).unwrap_or_default())
}

fn word(message: &[u8], at: usize) -> Option<u32> {
    message.get(at..at + 4)?.first_chunk().map(|&bytes| u32::from_ne_bytes(bytes))
}

fn address(bytes: Option<&[u8]>) -> Option<Ipv4Addr> {
    <[u8; 4]>::try_from(bytes?).ok().map(Ipv4Addr::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_put_is_what_is_read_again() {
        let [destination, gateway, source] = [4, 2, 1].map(|last| Ipv4Addr::new(10, 0, 1, last));
        let there = Route { table: 7003, destination, metric: 11, index: 9, gateway, source };
        assert_eq!(route(&there.body().0), Some(there));
        let near = Neighbour { index: 9, address: gateway, mac: MacAddress([2, 0, 0, 1, 1, 2]) };
        assert_eq!(neighbour(&near.body().0), Some(near));
    }

    #[test]
    fn what_others_made_is_not_ours() {
        let any = Ipv4Addr::LOCALHOST;
        let mut body = Route { table: 1, destination: any, metric: 1, index: 1, gateway: any, source: any }.body().0;
        body[5] = 3;
        assert_eq!(route(&body), None);
        let mut body = Neighbour { index: 9, address: any, mac: MacAddress([2; 6]) }.body().0;
        body[8] = 2;
        assert_eq!(neighbour(&body), None, "one that was learned");
    }

    proptest! {
        /// Whatever the kernel says, nothing panics.
        #[test]
        fn strange_answers_are_read(message in proptest::collection::vec(0_u8..40, 0..80)) {
            _ = (link(&message), neighbour(&message), route(&message));
        }
    }
}
