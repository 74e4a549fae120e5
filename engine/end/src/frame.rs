// SPDX-License-Identifier: Apache-2.0
//! Frames: built for raw sockets, and read from what a packet socket gives. Reading is a pure function of bytes.
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{de, Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::header::{Header, HeaderError};
use crate::rtp;

/// IEEE 802 local experimental EtherType 1, of raw frames unless the plan says otherwise.
pub const LOCAL_ETHERTYPE: u16 = 0x88B5;
pub const VLAN_ETHERTYPE: u16 = 0x8100;
pub const IPV4_ETHERTYPE: u16 = 0x0800;
pub const ADDRESSES_BYTES: usize = 12;
pub const ETHERTYPE_BYTES: usize = 2;
pub const TAG_BYTES: usize = 4;
pub const FCS_BYTES: usize = 4;
/// IPv4 without options, and UDP.
pub const IPV4_UDP_BYTES: usize = 20 + 8;
const PROTOCOL_UDP: u8 = 17;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[derive(Debug, Error)]
#[error("\"{0}\" is no Ethernet address; allowed: six pairs of hexadecimal digits, as 02:00:00:00:00:01")]
pub struct MacAddressError(String);

impl FromStr for MacAddress {
    type Err = MacAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || MacAddressError(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().ok_or_else(fault)?;
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(fault());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| fault())?;
        }
        if parts.next().is_some() {
            return Err(fault());
        }
        Ok(MacAddress(bytes))
    }
}

impl Serialize for MacAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MacAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The tag of 802.1Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub vlan: u16,
    pub pcp: u8,
}

impl Tag {
    /// From the tag control information; the drop eligible indicator does not matter here.
    pub fn from_tci(tci: u16) -> Tag {
        Tag { vlan: tci & 0xFFF, pcp: (tci >> 13) as u8 }
    }

    fn tci(self) -> u16 {
        (u16::from(self.pcp) << 13) | (self.vlan & 0xFFF)
    }
}

/// The bytes of a raw frame before its payload.
pub fn link_header(destination: MacAddress, source: MacAddress, tag: Option<Tag>, ethertype: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(18);
    bytes.extend(destination.0);
    bytes.extend(source.0);
    if let Some(tag) = tag {
        bytes.extend(VLAN_ETHERTYPE.to_be_bytes());
        bytes.extend(tag.tci().to_be_bytes());
    }
    bytes.extend(ethertype.to_be_bytes());
    bytes
}

/// What carries the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Raw { ethertype: u16 },
    Udp { destination: Ipv4Addr, destination_port: u16 },
}

/// A frame of a talker, as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub destination: MacAddress,
    pub source: MacAddress,
    pub tag: Option<Tag>,
    pub carrier: Carrier,
    pub header: Header,
}

/// Why a frame is none of a talker's.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    #[error("shorter than its own headers say")]
    Truncated,
    #[error("more than one VLAN tag")]
    DoubleTag,
    #[error("another protocol")]
    Foreign,
    #[error("a fragment or options of IPv4")]
    Ipv4Form,
    #[error("{0}")]
    Header(#[from] HeaderError),
}

/// Reads a frame without FCS. `stripped` is the tag control information that the kernel took out of it.
///
/// Frames of other protocols are `Foreign`; whether the stream is expected is not decided here.
pub fn parse(bytes: &[u8], stripped: Option<u16>) -> Result<Received, Fault> {
    let (addresses, rest) = bytes.split_first_chunk::<ADDRESSES_BYTES>().ok_or(Fault::Truncated)?;
    let (mut ethertype, mut rest) = take_u16(rest)?;
    let mut tag = stripped.map(Tag::from_tci);
    if ethertype == VLAN_ETHERTYPE {
        if tag.is_some() {
            return Err(Fault::DoubleTag);
        }
        let (tci, behind) = take_u16(rest)?;
        tag = Some(Tag::from_tci(tci));
        (ethertype, rest) = take_u16(behind)?;
        if ethertype == VLAN_ETHERTYPE {
            return Err(Fault::DoubleTag);
        }
    }
    let (carrier, payload) = if ethertype == IPV4_ETHERTYPE {
        ipv4_udp(rest)?
    } else if ethertype >= 0x0600 {
        (Carrier::Raw { ethertype }, rest)
    } else {
        return Err(Fault::Foreign);
    };
    let header = match rtp::find_header(payload) {
        Err(HeaderError::NotOurs) => return Err(Fault::Foreign),
        other => other?,
    };
    Ok(Received {
        destination: MacAddress(std::array::from_fn(|n| addresses[n])),
        source: MacAddress(std::array::from_fn(|n| addresses[6 + n])),
        tag,
        carrier,
        header,
    })
}

fn take_u16(bytes: &[u8]) -> Result<(u16, &[u8]), Fault> {
    let (number, rest) = bytes.split_first_chunk::<2>().ok_or(Fault::Truncated)?;
    Ok((u16::from_be_bytes(*number), rest))
}

fn ipv4_udp(bytes: &[u8]) -> Result<(Carrier, &[u8]), Fault> {
    let (ip, rest) = bytes.split_first_chunk::<20>().ok_or(Fault::Truncated)?;
    if ip[0] >> 4 != 4 || ip[9] != PROTOCOL_UDP {
        return Err(Fault::Foreign);
    }
    let fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3FFF;
    if ip[0] & 0xF != 5 || fragment != 0 {
        return Err(Fault::Ipv4Form);
    }
    let (udp, rest) = rest.split_first_chunk::<8>().ok_or(Fault::Truncated)?;
    // What is behind the datagram is padding.
    let length = usize::from(u16::from_be_bytes([udp[4], udp[5]])).checked_sub(8).ok_or(Fault::Truncated)?;
    let payload = rest.get(..length).ok_or(Fault::Truncated)?;
    let destination = Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]);
    Ok((Carrier::Udp { destination, destination_port: u16::from_be_bytes([udp[2], udp[3]]) }, payload))
}
