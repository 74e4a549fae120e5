// SPDX-License-Identifier: Apache-2.0
//! Frames of talkers, read from what a packet socket gives: a pure function of bytes.
use std::net::Ipv4Addr;

use penstock_frame::{MacAddress, Tag, ADDRESSES_BYTES, IPV4_ETHERTYPE, VLAN_ETHERTYPE};
use thiserror::Error;

use crate::header::{Header, HeaderError};
use crate::rtp;

/// IEEE 802 local experimental EtherType 1, of raw frames unless the plan says otherwise.
pub const LOCAL_ETHERTYPE: u16 = 0x88B5;
const PROTOCOL_UDP: u8 = 17;

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
