// SPDX-License-Identifier: Apache-2.0
//! Frames made from a description.
use std::net::Ipv4Addr;

use thiserror::Error;

use crate::link::{append_link_header, link_header_bytes, MacAddress, Tag, IPV4_ETHERTYPE};
use crate::{append_fcs, FCS_BYTES, MIN_FRAME_BYTES};

/// IPv4 without options, and UDP.
pub const IPV4_UDP_BYTES: u32 = 20 + 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Udp {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub source_port: u16,
    pub destination_port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    Ipv4Udp(Ipv4Udp),
    /// Nothing but an EtherType.
    Raw {
        ethertype: u16,
    },
}

/// What all frames of a generated stream have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSpec {
    pub destination: MacAddress,
    pub source: MacAddress,
    pub tag: Option<Tag>,
    pub payload: Payload,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum BuildError {
    #[error("MAC address \"{0}\": six pairs of hexadecimal digits with colons between are wanted")]
    Mac(String),
    #[error("frame of {bytes} bytes: {least} to {most} are allowed here")]
    Length { bytes: u32, least: u32, most: u32 },
    #[error("VLAN {0}: 0 to 4094 are allowed")]
    Vlan(u16),
    #[error("PCP {0}: 0 to 7 are allowed")]
    Pcp(u8),
}

impl FrameSpec {
    /// The longest frame that any build makes; what a switch accepts is for the switch to say.
    pub const MAX_FRAME_BYTES: u32 = 9_216;

    /// Bytes before the content.
    fn header_bytes(&self) -> u32 {
        let inner = match self.payload {
            Payload::Ipv4Udp(_) => IPV4_UDP_BYTES,
            Payload::Raw { .. } => 0,
        };
        link_header_bytes(self.tag.is_some()) as u32 + inner
    }

    pub fn check(&self, frame_bytes: u32) -> Result<(), BuildError> {
        let least = MIN_FRAME_BYTES.max(self.header_bytes() + FCS_BYTES);
        if !(least..=Self::MAX_FRAME_BYTES).contains(&frame_bytes) {
            return Err(BuildError::Length { bytes: frame_bytes, least, most: Self::MAX_FRAME_BYTES });
        }
        match self.tag {
            Some(Tag { vlan, .. }) if vlan > 4094 => Err(BuildError::Vlan(vlan)),
            Some(Tag { pcp, .. }) if pcp > 7 => Err(BuildError::Pcp(pcp)),
            _ => Ok(()),
        }
    }

    /// Also whether so much content has room.
    pub fn check_content(&self, frame_bytes: u32, content_bytes: u32) -> Result<(), BuildError> {
        self.check(frame_bytes)?;
        let least = self.header_bytes().saturating_add(content_bytes).saturating_add(FCS_BYTES);
        if frame_bytes < least {
            return Err(BuildError::Length { bytes: frame_bytes, least, most: Self::MAX_FRAME_BYTES });
        }
        Ok(())
    }

    /// A frame of `frame_bytes` with FCS. The content begins with `number`, as far as there is room for it, so that
    /// no two frames of a stream are equal.
    pub fn build(&self, frame_bytes: u32, number: u64) -> Result<Vec<u8>, BuildError> {
        let mut frame = Vec::new();
        self.build_into(frame_bytes, number, &mut frame)?;
        Ok(frame)
    }

    /// Into a buffer whose content is replaced.
    pub fn build_into(&self, frame_bytes: u32, number: u64, frame: &mut Vec<u8>) -> Result<(), BuildError> {
        self.check(frame_bytes)?;
        // A frame padded to the shortest length carries its padding as content: simpler, and as valid.
        self.build_around(frame_bytes, frame_bytes - FCS_BYTES - self.header_bytes(), &number.to_be_bytes(), frame)
    }

    /// A frame with `content_bytes` behind its headers, which begin with `lead` and go on with zeros; what is left of
    /// the frame is padding. Errs if there is no room for the content.
    pub fn build_around(
        &self,
        frame_bytes: u32,
        content_bytes: u32,
        lead: &[u8],
        frame: &mut Vec<u8>,
    ) -> Result<(), BuildError> {
        self.check_content(frame_bytes, content_bytes)?;
        let body = (frame_bytes - FCS_BYTES) as usize;
        frame.clear();
        frame.reserve(frame_bytes as usize);
        let ethertype = match self.payload {
            Payload::Raw { ethertype } => ethertype,
            Payload::Ipv4Udp(_) => IPV4_ETHERTYPE,
        };
        append_link_header(frame, self.destination, self.source, self.tag, ethertype);
        if let Payload::Ipv4Udp(ip) = self.payload {
            append_ipv4_udp(frame, ip, content_bytes);
        }
        frame.extend_from_slice(&lead[..lead.len().min(content_bytes as usize)]);
        frame.resize(body, 0);
        append_fcs(frame);
        Ok(())
    }
}

/// Appends the IPv4 and UDP headers before a content of so many bytes.
fn append_ipv4_udp(frame: &mut Vec<u8>, ip: Ipv4Udp, content_bytes: u32) {
    let total = (IPV4_UDP_BYTES + content_bytes) as u16; // no build is longer than MAX_FRAME_BYTES
    let mut header = [0_u8; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[6] = 0x40; // do not fragment
    header[8] = 64;
    header[9] = 17;
    header[12..16].copy_from_slice(&ip.source.octets());
    header[16..20].copy_from_slice(&ip.destination.octets());
    let mut sum: u32 = header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    frame.extend_from_slice(&header);
    frame.extend_from_slice(&ip.source_port.to_be_bytes());
    frame.extend_from_slice(&ip.destination_port.to_be_bytes());
    frame.extend_from_slice(&(total - 20).to_be_bytes());
    frame.extend_from_slice(&[0, 0]); // no UDP checksum, as RFC 768 allows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> FrameSpec {
        FrameSpec {
            destination: MacAddress([2, 0, 0, 0, 0, 2]),
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            tag: Some(Tag { vlan: 10, pcp: 3 }),
            payload: Payload::Ipv4Udp(Ipv4Udp {
                source: Ipv4Addr::new(10, 0, 0, 1),
                destination: Ipv4Addr::new(10, 0, 0, 2),
                source_port: 4000,
                destination_port: 5000,
            }),
        }
    }

    #[test]
    fn headers_stand_where_they_should() {
        let frame = spec().build(128, 7).unwrap();
        assert_eq!(frame.len(), 128);
        assert_eq!(&frame[12..18], &[0x81, 0, 0x60, 10, 8, 0]);
        assert_eq!(u16::from_be_bytes([frame[20], frame[21]]), 128 - 18 - 4);
        let sum: u32 = frame[18..38].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF);
        assert_eq!(&frame[46..54], &7_u64.to_be_bytes());
        assert!(crate::fcs_is_good(&frame));
    }

    #[test]
    fn padding_is_no_content() {
        let mut frame = Vec::new();
        spec().build_around(64, 5, &[1, 2, 3, 4, 5, 6, 7], &mut frame).unwrap();
        assert_eq!(frame.len(), 64);
        assert_eq!(u16::from_be_bytes([frame[20], frame[21]]), 28 + 5);
        assert_eq!(u16::from_be_bytes([frame[42], frame[43]]), 8 + 5);
        assert_eq!(&frame[46..60], &[1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(crate::fcs_is_good(&frame));
        let long = spec().build_around(64, 15, &[], &mut frame);
        assert_eq!(long, Err(BuildError::Length { bytes: 64, least: 65, most: 9216 }));
    }

    #[test]
    fn lengths_are_checked() {
        assert!(matches!(spec().build(63, 0), Err(BuildError::Length { least: 64, .. })));
        assert_eq!(spec().build(64, 0).unwrap().len(), 64);
        assert!(spec().build(9217, 0).is_err());
    }
}
