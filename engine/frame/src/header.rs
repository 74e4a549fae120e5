// SPDX-License-Identifier: Apache-2.0
//! What bridges read of a frame, as `pen_ingress_port` reads it.
use crate::ptp::on_ethernet;
use crate::{Tag, FCS_BYTES, IPV4_ETHERTYPE, R_TAG_BYTES, R_TAG_ETHERTYPE, VLAN_ETHERTYPE};

pub(crate) const UDP: u8 = 17;
const TCP: u8 = 6;

/// What identifies a stream by IPv4; the ports are 0 where there are none, and in fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ipv4Fields {
    pub source: u32,
    pub destination: u32,
    pub protocol: u8,
    pub source_port: u16,
    pub destination_port: u16,
}

impl Ipv4Fields {
    /// As the hardware compares them: {source, destination, protocol, source port, destination port}.
    pub fn key(&self) -> u128 {
        u128::from(self.source) << 72
            | u128::from(self.destination) << 40
            | u128::from(self.protocol) << 32
            | u128::from(self.source_port) << 16
            | u128::from(self.destination_port)
    }
}

/// How a frame goes on, as the host of a bridge says that gives it to the bridge. Twin of `host_way_t` and `pen_host_rx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostWay {
    /// Forwarded as if it had been received at this port.
    ReceivedAt(u16),
    /// It leaves by these ports (bit p: port p) and in this class, whatever it says itself.
    Direct { ports: u64, traffic_class: u8 },
}

impl HostWay {
    /// Of the header before a frame, at a bridge with so many ports. A port that the bridge does not have leads nowhere.
    pub fn parse(header: [u8; 4], ports: u16) -> Self {
        let [kind, place, traffic_class, _] = header;
        if kind & 1 == 0 && u16::from(place) < ports {
            return Self::ReceivedAt(place.into());
        }
        let mask = if kind & 1 == 1 { u64::from(place) } else { 0 };
        Self::Direct { ports: mask, traffic_class: traffic_class & 7 }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// The first octet on the wire in bits 47:40.
    pub destination: u64,
    pub source: u64,
    pub tag: Option<Tag>,
    /// An R-TAG stands behind its tag or else its addresses.
    pub has_r_tag: bool,
    /// An event message of PTP, in which a transparent clock counts the time that it was inside.
    pub is_ptp_event: bool,
    pub ipv4: Option<Ipv4Fields>,
    /// None: it came from a wire.
    pub host: Option<HostWay>,
}

/// The group bit of an address.
const GROUP: u64 = 1 << 40;
/// 01-80-C2-00-00-00 to -0F.
const RESERVED: u64 = 0x0180_C200_0000 >> 4;

impl Header {
    /// Its destination is an address that no bridge forwards (802.1Q table 8-1).
    pub fn is_reserved(&self) -> bool {
        self.destination >> 4 == RESERVED
    }

    /// The reserved address that it has, 0 to 15.
    pub fn reserved_number(&self) -> Option<u8> {
        self.is_reserved().then_some((self.destination & 0xF) as u8)
    }

    /// Its source is a group, which no station is.
    pub fn is_from_group(&self) -> bool {
        self.source & GROUP != 0
    }

    /// Of the bytes from the destination address to the FCS; what a frame is too short for reads as zero or none.
    pub fn parse(frame: &[u8]) -> Self {
        let tagged = frame.get(12..14) == Some(&VLAN_ETHERTYPE.to_be_bytes()) && frame.len() > 14;
        let at = |index: usize| frame.get(index).copied().unwrap_or(0);
        let tag = tagged.then(|| Tag { pcp: at(14) >> 5, vlan: u16::from_be_bytes([at(14) & 0xF, at(15)]) });
        let ethertype = if tagged { 16 } else { 12 };
        let ipv4 = if frame.get(ethertype..ethertype + 2) == Some(&IPV4_ETHERTYPE.to_be_bytes()) {
            ipv4(&frame[ethertype + 2..])
        } else {
            None
        };
        let [a, b] = R_TAG_ETHERTYPE.to_be_bytes();
        let has_r_tag = frame.get(ethertype..ethertype + R_TAG_BYTES).is_some_and(|r_tag| r_tag[..4] == [a, b, 0, 0]);
        Self {
            destination: address(frame, 0),
            source: address(frame, 6),
            tag,
            has_r_tag,
            is_ptp_event: on_ethernet(frame).is_some(),
            ipv4,
            host: None,
        }
    }
}

fn address(frame: &[u8], from: usize) -> u64 {
    (from..from + 6).fold(0, |value, index| value << 8 | u64::from(frame.get(index).copied().unwrap_or(0)))
}

/// None unless all that counts stands before the FCS.
fn ipv4(packet: &[u8]) -> Option<Ipv4Fields> {
    let head: &[u8; 20] = packet.first_chunk()?;
    let words = usize::from(head[0] & 0xF);
    if head[0] >> 4 != 4 || words < 5 {
        return None;
    }
    let later_fragment = u16::from_be_bytes([head[6] & 0x1F, head[7]]) != 0;
    let protocol = head[9];
    let has_ports = (protocol == UDP || protocol == TCP) && !later_fragment;
    let ports = 4 * words;
    if packet.len() < ports + if has_ports { 4 } else { 0 } + FCS_BYTES as usize {
        return None;
    }
    let word = |at: usize| u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
    let both = if has_ports { word(ports) } else { 0 };
    Some(Ipv4Fields {
        source: word(12),
        destination: word(16),
        protocol,
        source_port: (both >> 16) as u16,
        destination_port: both as u16,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tag: Option<[u8; 2]>, ihl: u8, protocol: u8, fragment: u16, bytes: usize) -> Vec<u8> {
        let mut f = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if let Some(tag) = tag {
            f.extend([0x81, 0, tag[0], tag[1]]);
        }
        f.extend([8, 0]);
        let start = f.len();
        f.extend([0x40 | ihl, 0, 0, 0, 0, 0]);
        f.extend(fragment.to_be_bytes());
        f.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        f.resize(start + 4 * usize::from(ihl), 0);
        f.extend([0x12, 0x34, 0x56, 0x78]);
        f.resize(bytes, 0);
        f
    }

    #[test]
    fn fields_stand_where_they_should() {
        let header = Header::parse(&frame(Some([0x60, 10]), 5, 17, 0, 64));
        assert_eq!((header.destination, header.source), (0x0200_0000_0001, 0x0200_0000_0002));
        assert_eq!(header.tag, Some(Tag { pcp: 3, vlan: 10 }));
        let ipv4 = header.ipv4.unwrap();
        assert_eq!((ipv4.source, ipv4.destination, ipv4.protocol), (0x0A00_0001, 0x0A00_0002, 17));
        assert_eq!((ipv4.source_port, ipv4.destination_port), (0x1234, 0x5678));
        assert_eq!(ipv4.key() >> 72, 0x0A00_0001);
    }

    #[test]
    fn what_the_host_says_leads_to_ports_that_there_are() {
        assert_eq!(HostWay::parse([0, 3, 7, 0], 4), HostWay::ReceivedAt(3));
        assert_eq!(HostWay::parse([0, 4, 15, 0], 4), HostWay::Direct { ports: 0, traffic_class: 7 });
        assert_eq!(HostWay::parse([0xFF, 0xF0, 2, 0], 4), HostWay::Direct { ports: 0xF0, traffic_class: 2 });
    }

    #[test]
    fn fragments_and_other_protocols_have_no_ports() {
        for (protocol, fragment) in [(1, 0), (17, 1), (6, 0x1FFF)] {
            let ipv4 = Header::parse(&frame(None, 5, protocol, fragment, 64)).ipv4.unwrap();
            assert_eq!((ipv4.source_port, ipv4.destination_port), (0, 0));
        }
        // "Don't fragment" and the first fragment still have them.
        assert_eq!(Header::parse(&frame(None, 5, 6, 0x6000, 64)).ipv4.unwrap().source_port, 0x1234);
    }

    #[test]
    fn all_of_it_has_to_stand_before_the_fcs() {
        // Options push the ports out of a short frame: 14 + 60 + 4 + 4 bytes are needed.
        assert!(Header::parse(&frame(None, 15, 17, 0, 82)).ipv4.is_some());
        let mut short = frame(None, 15, 17, 0, 82);
        short.pop();
        assert!(Header::parse(&short).ipv4.is_none());
        assert!(Header::parse(&frame(None, 4, 17, 0, 64)).ipv4.is_none());
    }

    #[test]
    fn an_r_tag_has_zeros_behind_its_type() {
        for tag in [None, Some([0x60, 10])] {
            let mut frame = frame(tag, 5, 17, 0, 64);
            let at = if tag.is_some() { 16 } else { 12 };
            assert!(!Header::parse(&frame).has_r_tag);
            frame[at..at + 6].copy_from_slice(&[0xF1, 0xC1, 0, 0, 1, 2]);
            assert!(Header::parse(&frame).has_r_tag && !Header::parse(&frame[..at + 5]).has_r_tag);
            for wrong in at..at + 4 {
                let mut other = frame.clone();
                other[wrong] ^= 1;
                assert!(!Header::parse(&other).has_r_tag);
            }
        }
    }

    #[test]
    fn nothing_is_too_short() {
        let whole = frame(Some([0, 1]), 6, 6, 0, 80);
        for length in 0..80 {
            Header::parse(&whole[..length]);
        }
    }
}
